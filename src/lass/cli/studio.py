"""``lass studio``: a collection in the browser."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from lass.cli.group import Command
from lass.cli.output import Output, folder_argument, with_output

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

EXAMPLES = ["lass studio packages/", "lass studio packages/ --port 8765 --no-browser"]
NEEDED = ("fastapi", "uvicorn", "multipart")


def serving_options(command: Decorated) -> Decorated:
    """Give a command the options --port and --no-browser."""
    command = click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")(command)
    return click.option(
        "--port", type=click.IntRange(0, 65000), default=8765, show_default=True,
        help="Where to listen; the next free one if it is taken, any one with 0.",
    )(command)  # fmt: skip


@click.command(cls=Command, examples=EXAMPLES)
@folder_argument
@serving_options
@with_output
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
        output.out.print(f"LASS Studio: {address}", markup=False, soft_wrap=True)
        output.note("Ctrl-C ends it; all annotations are on the disk.")
        output.out.file.flush()

    serve(folder, port, browser=not no_browser, announce=print_address)
