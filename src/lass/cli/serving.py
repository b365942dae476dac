"""``lass studio`` and ``lass demo``: a collection in the browser, a given one or real Debian packages."""

from __future__ import annotations

import signal
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from lass.cli.fitting import print_fit, run
from lass.cli.group import heeded
from lass.cli.importing import make
from lass.cli.output import PATH, Output, caption, command, opened
from lass.cli.suggesting import print_suggestions
from lass.collection.importing import read_new
from lass.collection.writing import nested
from lass.tagging.export_rows import suggestion_rows

NEEDED = ("fastapi", "uvicorn", "multipart")
_SERVING = (
    click.Option(["--port"], type=click.IntRange(0, 65000), show_default="that of the last time, or 8765",
                 help="Where to listen; the next free one if it is taken, any one with 0."),
    click.Option(["--no-browser"], is_flag=True, help="Print the address, and open nothing."),
    click.Option(["--new-token"], is_flag=True, help="Make a new token: links from before lead nowhere."),
)  # fmt: skip
_TEAM = (
    click.Option(["--host"], default="127.0.0.1", show_default=True, metavar="ADDRESS",
                 help="Listen for other machines: at this address of yours, or at all with 0.0.0.0."),
    click.Option(["--person"], multiple=True, metavar="NAME",
                 help="Print a link for a person, who then works under this name alone; as often as needed."),
    click.Option(["--certificate"], type=PATH, help="PEM file for TLS (https), with --key."),
    click.Option(["--key"], type=PATH, help="PEM file with the private key of the certificate."),
    click.Option(["--name"], multiple=True, metavar="HOST",
                 help="A name under which browsers ask for it, such as that of a proxy."),
    click.Option(["--root-path"], default="", metavar="PATH", help="Path under which a proxy has it: /tags."),
    click.Option(["--proxy"], multiple=True, metavar="ADDRESS",
                 help="Address of a proxy whose X-Forwarded-Host and X-Forwarded-Proto are believed."),
)  # fmt: skip


@command(
    "lass studio packages/", "lass studio packages/ --port 8765 --no-browser",
    "lass studio packages/ --host 0.0.0.0 --person ann --person bob --certificate c.pem --key k.pem",
    options=_SERVING + _TEAM, as_json=False,
)  # fmt: skip
def studio(
    output: Output, folder: Path, port: int | None, no_browser: bool, new_token: bool, host: str,
    person: tuple[str, ...], certificate: Path | None, key: Path | None, name: tuple[str, ...],
    root_path: str, proxy: tuple[str, ...],
) -> None:  # fmt: skip
    """Open the collection in FOLDER in the browser: browse, search, accept and reject tags.

    Where there is no collection yet, the page asks for a table to make one from. It listens on this
    machine alone unless --host is given, and the address holds a token; requests without it are refused.
    Port and token stay the same from one start to the next. Ctrl-C ends it; all annotations are on the
    disk by then.
    """
    if folder.exists() and not (folder / "collection.toml").is_file() and any(folder.iterdir()):
        raise ValueError(
            f"{folder} holds other files and no collection; name an empty or a new folder to make one in"
        )
    team = {
        "host": host, "people": person, "certificate": certificate, "key": key, "names": name,
        "root_path": root_path, "proxies": proxy,
    }  # fmt: skip
    start(output, folder, port, no_browser, new_token, **team)


def start(
    output: Output, folder: Path, port: int | None, no_browser: bool, new_token: bool, **team: Any
) -> None:
    """Serve until Ctrl-C."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        from lass.model.checks import install_hint

        raise ValueError(f"the Studio needs {', '.join(missing)}: {install_hint('studio')}")
    from lass.studio.serving import Links, Serving, serve

    serving = Serving(port=port, new_tokens=new_token, **team)
    serving.check()

    def print_addresses(links: Links) -> None:
        output.line(f"LASS Studio: {links.own}")
        for name, link in links.people.items():
            output.line(f"  for {name}: {link}")
        if not serving.is_local and serving.certificate is None:
            output.note(
                "Without TLS everybody on the network can read what is sent, links included: use it on a "
                "network that you trust, or give --certificate and --key."
            )
        output.note("Ctrl-C ends it; all annotations are on the disk.")
        output.out.file.flush()

    def stop(*_: object) -> None:  # the server ends on Ctrl-C, and then raises the signal again
        with suppress(OSError):  # the terminal may be closed
            output.note("The Studio has stopped.")
        raise SystemExit(0)

    for one in heeded():  # the server knows Ctrl-C alone
        signal.signal(one, stop if one == signal.SIGINT else lambda *_: signal.raise_signal(signal.SIGINT))
    signal.signal(signal.SIGTERM, stop)
    serve(folder, serving, browser=not no_browser, announce=print_addresses, note=output.note)


@command(
    "lass demo", "lass demo --no-studio", "lass demo all-packages/ --data debian/", options=_SERVING,
    folder=False,
)  # fmt: skip
@click.argument("folder", type=PATH, default="debian-packages")
@click.option("--data", type=PATH, help="Folder with packages.parquet: the full set.")
@click.option("--no-studio", is_flag=True, help="Print some suggestions, and open nothing.")
def demo(
    output: Output, folder: Path, data: Path | None, no_studio: bool, port: int | None, no_browser: bool,
    new_token: bool,
) -> None:  # fmt: skip
    """Complete the tags of real Debian packages in FOLDER, and open them in the Studio.

    Makes a collection out of data that comes with lass (with --data, out of all packages), fits it, prints
    some suggestions, and opens the browser. A collection that is there already is used as it is.
    """
    if not (folder / "collection.toml").is_file():
        _make(output, folder, data)
    with opened(folder) as collection:
        if collection.stale():
            result = run(output, collection)
            if not (output.as_json or output.quiet):
                print_fit(output, result)
        suggestions = collection.suggest(top=3, limit=8, untagged=True)
        example = suggestions[0] if suggestions else collection.suggest(top=1, limit=1)[0]
        doubtful = collection.doubtful_tags(limit=5)
        titles = {item.id: caption(item) for item in collection.get_items({row.item for row in suggestions})}
    if output.as_json:
        output.json(
            {"collection": str(folder), "suggestions": [nested(row) for row in suggestion_rows(suggestions)]}
        )
        return
    print_suggestions(output, suggestions, doubtful, titles)
    if not no_studio:
        start(output, folder, port, no_browser, new_token)
    elif not output.quiet:
        output.out.print("\nNow try:")
        for line in (
            f"studio {folder}",
            f"suggest {folder} --item {example.item}",
            f"tag {folder} {example.item} +{example.tag}",
            f"fit {folder}",
            f"next {folder}",
            f"suggest {folder} --out suggestions.csv",
        ):
            output.line(f"  lass {line}")


def _make(output: Output, folder: Path, data: Path | None) -> None:
    if data is None:
        from lass.collection.bundled import debian

        items, tags = debian()
    else:
        items, tags = data / "packages.parquet", None
        if not items.is_file():
            raise ValueError(f"--data must be a folder with packages.parquet; found none in {data}")
    output.note("reading the packages ...")
    new = read_new(
        items=items, id="package", text=("summary", "description"), tags=tags,
        tag_column="tags" if data else None,
    )  # fmt: skip
    make(Output(quiet=True), folder, new)
