"""The output of commands: results on stdout, all else on stderr, as much as was asked for."""

from __future__ import annotations

import functools
import json
import logging
import os
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

    from lass.collection import Item
    from lass.tagging import Collection, Progress

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass
class Output:
    """What a command prints, and where."""

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
        """For notes and progress."""
        from rich.console import Console

        return Console(stderr=True, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line for people, unless --quiet."""
        if not self.quiet:
            self.err.print(text, markup=False)

    def detail(self, text: str) -> None:
        """A line for people, if --verbose."""
        if self.verbose:
            self.note(text)

    def result(self, text: str, **data: Any) -> None:
        """The result: as text, or as one JSON document."""
        if self.as_json:
            self.json(data)
        elif not self.quiet:
            self.out.print(text, markup=False, soft_wrap=True)

    def json(self, data: Any) -> None:
        """One JSON document on stdout."""
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))

    @contextmanager
    def progress(self) -> Iterator[Callable[[Progress], None]]:
        """A callback that shows each stage as it runs on a terminal, or with --verbose as lines."""
        if self.quiet or not sys.stderr.isatty():
            last = ""

            def report(progress: Progress) -> None:
                nonlocal last
                line = f"{progress.stage} {progress.note}".rstrip()
                if line != last:
                    self.detail(line)
                last = line

            yield report
            return
        from lass.cli.progress import Stages

        with Stages(self.err) as stages:
            yield stages.report


def with_output(command: Command) -> Command:
    """Give a command the options --quiet and --verbose, and a :class:`Output` as its first argument."""

    @functools.wraps(command)
    def run(*arguments: Any, quiet: bool, verbose: bool, as_json: bool = False, **options: Any) -> Any:
        output = Output(quiet, verbose, as_json)
        logger = logging.getLogger("lass")
        before = logger.level
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: output.note(f"note: {message}")
            try:
                logger.setLevel(logging.ERROR if quiet else before)
                return command(output, *arguments, **options)
            finally:
                logger.setLevel(before)

    decorated: Any = run
    decorated = click.option("--verbose", is_flag=True, help="Print more.")(decorated)
    return click.option("--quiet", is_flag=True, help="Print nothing but results and errors.")(decorated)


#: the option --json
json_option = click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")

#: the argument that names a collection
folder_argument = click.argument("folder", type=click.Path(path_type=Path), default=".")


@contextmanager
def opened(folder: Path) -> Iterator[Collection]:
    """A collection, closed at the end; read-only where the folder cannot be written."""
    from lass.tagging import Collection

    if not (folder / "collection.toml").is_file():
        raise ValueError(f"{folder} is not the folder of a collection; make one: lass init --help")
    with Collection.open(folder, read_only=not os.access(folder, os.W_OK)) as collection:
        yield collection


def caption(item: Item) -> str:
    """What to show an item by, next to its id: its title, or the first line of its text."""
    if item.title not in ("", item.id):
        return item.title
    return item.text.partition("\n")[0]


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
