"""``lass studio``: a collection in the browser."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from lass.cli.group import Command
from lass.cli.output import Talk, folder_argument, talking

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

EXAMPLES = ["lass studio packages/", "lass studio packages/ --port 8765 --no-browser"]
NEEDED = ("fastapi", "uvicorn", "multipart")


def serving_options(command: Decorated) -> Decorated:
    """Give a command the options --port and --no-browser."""
    command = click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")(command)
    return click.option(
        "--port", type=click.IntRange(0, 65000), default=8765, show_default=True,
        help="Where to listen; the next free one if it is taken, any with 0.",
    )(command)  # fmt: skip


@click.command(cls=Command, examples=EXAMPLES)
@folder_argument
@serving_options
@talking
def studio(talk: Talk, folder: Path, port: int, no_browser: bool) -> None:
    """Open the collection in FOLDER in the browser: look, search, accept and reject tags.

    Where there is no collection yet, the page asks for a table to make one from. It listens on this
    machine alone, and the address holds a token; who does not know it is refused. Ctrl-C ends it;
    everything that was said is on the disk by then.
    """
    if folder.exists() and not (folder / "collection.toml").is_file() and any(folder.iterdir()):
        raise ValueError(
            f"{folder} holds other files and no collection; name an empty or a new folder to make one in"
        )
    start(talk, folder, port, no_browser)


def start(talk: Talk, folder: Path, port: int, no_browser: bool) -> None:
    """Serve until Ctrl-C."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"the Studio needs {', '.join(missing)}: pip install 'lass[studio]'")
    from lass.studio.serving import serve

    def told(address: str) -> None:
        talk.out.print(f"LASS Studio: {address}", markup=False, soft_wrap=True)
        talk.say("Ctrl-C ends it; everything that was said is on the disk.")
        talk.out.file.flush()

    serve(folder, port, browser=not no_browser, announce=told)
