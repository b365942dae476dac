"""``lass studio`` and ``lass demo``: a collection in the browser, a given one or real Debian packages."""

from __future__ import annotations

import signal
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

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
    click.Option(["--port"], type=click.IntRange(0, 65000), default=8765, show_default=True,
                 help="Where to listen; the next free one if it is taken, any one with 0."),
    click.Option(["--no-browser"], is_flag=True, help="Print the address, and open nothing."),
)  # fmt: skip


@command(
    "lass studio packages/", "lass studio packages/ --port 8765 --no-browser",
    options=_SERVING, as_json=False,
)  # fmt: skip
def studio(output: Output, folder: Path, port: int, no_browser: bool) -> None:
    """Open the collection in FOLDER in the browser: browse, search, accept and reject tags.

    Where there is no collection yet, the page asks for a table to make one from. It listens on this
    machine alone, and the address holds a token; requests without it are refused. Ctrl-C ends it;
    all annotations are on the disk by then.
    """
    if folder.exists() and not (folder / "collection.toml").is_file() and any(folder.iterdir()):
        raise ValueError(
            f"{folder} holds other files and no collection; name an empty or a new folder to make one in"
        )
    start(output, folder, port, no_browser)


def start(output: Output, folder: Path, port: int, no_browser: bool) -> None:
    """Serve until Ctrl-C."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        from lass.model.checks import install_hint

        raise ValueError(f"the Studio needs {', '.join(missing)}: {install_hint('studio')}")
    from lass.studio.serving import serve

    def print_address(address: str) -> None:
        output.line(f"LASS Studio: {address}")
        output.note("Ctrl-C ends it; all annotations are on the disk.")
        output.out.file.flush()

    def stop(*_: object) -> None:  # the server ends on Ctrl-C, and then raises the signal again
        with suppress(OSError):  # the terminal may be closed
            output.note("The Studio has stopped.")
        raise SystemExit(0)

    for one in heeded():  # the server knows Ctrl-C alone
        signal.signal(one, stop if one == signal.SIGINT else lambda *_: signal.raise_signal(signal.SIGINT))
    serve(folder, port, browser=not no_browser, announce=print_address)


@command(
    "lass demo", "lass demo --no-studio", "lass demo all-packages/ --data debian/", options=_SERVING,
    folder=False,
)  # fmt: skip
@click.argument("folder", type=PATH, default="debian-packages")
@click.option("--data", type=PATH, help="Folder with packages.parquet: the full set.")
@click.option("--no-studio", is_flag=True, help="Print some suggestions, and open nothing.")
def demo(
    output: Output, folder: Path, data: Path | None, no_studio: bool, port: int, no_browser: bool
) -> None:
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
        start(output, folder, port, no_browser)
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
