"""What commands say: results on stdout, all else on stderr, as loud as was asked for."""

from __future__ import annotations

import functools
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from lass.collection import Collection, Item
    from lass.tagging.stages import Progress

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Talk:
    """Where a command speaks."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False

    @cached_property
    def out(self) -> Console:
        """For results."""
        from rich.console import Console

        # what is not a terminal has no width: lines there are not to be broken
        return Console(highlight=False, width=None if sys.stdout.isatty() else 160)

    @cached_property
    def err(self) -> Console:
        """For people who wait."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Something that people may want to know."""
        if not self.quiet:
            self.err.print(text, markup=False)

    def detail(self, text: str) -> None:
        """Something for the curious."""
        if self.verbose:
            self.say(text)

    def result(self, text: str, **data: Any) -> None:
        """What came out: in words, or as one JSON document."""
        if self.as_json:
            self.json(data)
        elif not self.quiet:
            self.out.print(text, markup=False, soft_wrap=True)

    def json(self, data: Any) -> None:
        """One JSON document on stdout."""
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))

    @contextmanager
    def progress(self) -> Iterator[Callable[[Progress], None]]:
        """A report that shows each stage as it runs, on a terminal; in words with --verbose elsewhere."""
        if self.quiet or not sys.stderr.isatty():
            told = ""

            def tell(progress: Progress) -> None:
                nonlocal told
                line = f"{progress.stage} {progress.note}".rstrip()
                if line != told:
                    self.detail(line)
                told = line

            yield tell
            return
        from lass.cli.progress import Stages

        with Stages(self.err) as stages:
            yield stages.report


def talking(command: Command) -> Command:
    """Give a command the options --quiet and --verbose, and a :class:`Talk` as its first argument."""

    @functools.wraps(command)
    def run(*arguments: Any, quiet: bool, verbose: bool, as_json: bool = False, **options: Any) -> Any:
        talk = Talk(quiet, verbose, as_json)
        logger = logging.getLogger("lass")
        before = logger.level
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: talk.say(f"note: {message}")
            try:
                logger.setLevel(logging.ERROR if quiet else before)
                return command(talk, *arguments, **options)
            finally:
                logger.setLevel(before)

    decorated: Any = run
    decorated = click.option("--verbose", is_flag=True, help="Say more.")(decorated)
    return click.option("--quiet", is_flag=True, help="Say nothing but results and errors.")(decorated)


#: the option --json
json_option = click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")

#: the argument that names a collection
folder_argument = click.argument("folder", type=click.Path(path_type=Path), default=".")


@contextmanager
def opened(folder: Path) -> Iterator[Collection]:
    """A collection, closed at the end."""
    from lass.collection import Collection

    if not (folder / "collection.toml").is_file():
        raise ValueError(f"{folder} is not the folder of a collection; make one: lass init --help")
    with Collection.open(folder) as collection:
        yield collection


def caption(item: Item) -> str:
    """What to show an item by, beside its id: its title, or how its text begins."""
    if item.title not in ("", item.id):
        return item.title
    return item.text.partition("\n")[0]


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
