"""The output of commands: results on stdout, all else on stderr, as much as was asked for."""

from __future__ import annotations

import functools
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.group import Command

if TYPE_CHECKING:
    from rich.console import Console

    from lass.collection import Item
    from lass.tagging import Collection, Progress

#: the type of arguments and options that name a file or folder
PATH = click.Path(path_type=Path)
#: the option --out of commands that write a table
table_option = click.option("--out", type=PATH, help="A file: .csv, .tsv, .xlsx, .jsonl, .json or .parquet.")
#: seconds between two lines on one stage of long work
EVERY = 10.0
_FOLDER = click.Argument(["folder"], type=PATH, default=".")
_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Write the result as JSON.")
_PRINTING = (
    click.Option(["--quiet"], is_flag=True, help="Print nothing but results and errors."),
    click.Option(["--verbose"], is_flag=True, help="Print more."),
)


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
            from lass.collection.records import visible

            self.err.print(visible(text), markup=False)

    def detail(self, text: str) -> None:
        """A line for people, if --verbose."""
        if self.verbose:
            self.note(text)

    def result(self, text: str, **data: Any) -> None:
        """The result: as text, or as one JSON document."""
        if self.as_json:
            self.json(data)
        elif not self.quiet:
            self.line(text)

    def line(self, text: str, style: str | None = None) -> None:
        """A line of the result, as it is."""
        self.out.print(_printable(text), style=style, markup=False, soft_wrap=True)

    def json(self, data: Any) -> None:
        """One JSON document on stdout."""
        click.echo(json.dumps(data, ensure_ascii=False, indent=2))

    @contextmanager
    def progress(self) -> Iterator[Callable[[Progress], None]]:
        """A callback that shows each stage as it runs: on a terminal with its time, elsewhere as lines."""
        if self.quiet or not sys.stderr.isatty():
            from lass.tagging.progress import STAGES

            show = self.lines()

            def report(progress: Progress) -> None:
                gap = "" if progress.gap is None else f"relative gap {progress.gap:.1e}"
                show(STAGES.get(progress.stage, progress.stage), progress.note, gap)

            yield report
            return
        from lass.cli.progress import Stages

        with Stages(self.err) as stages:
            yield stages.report

    def lines(self) -> Callable[[str, str, str], None]:
        """A callback for progress in a file or pipe, which gets a stage, a note on it, and how far it is.

        It writes a line where a stage begins, and within it at most one each :data:`EVERY` seconds; with
        --verbose also each new note.
        """
        before, written = ("", ""), 0.0

        def show(stage: str, note: str, how_far: str) -> None:
            nonlocal before, written
            now, is_new = time.monotonic(), self.verbose and (stage, note) != before
            if stage != before[0] or is_new or now >= written + EVERY:
                before, written = (stage, note), now
                self.note(": ".join(filter(None, (stage, note or how_far))))

        return show


def _printable(text: str) -> str:
    """Lines for people, in which nothing moves the cursor."""
    from lass.collection.records import visible

    return "\n".join(map(visible, text.split("\n")))


def command(
    *examples: str, options: Iterable[click.Parameter] = (), folder: bool = True, as_json: bool = True,
    **settings: Any,
) -> Callable[[Callable[..., Any]], Command]:  # fmt: skip
    """Make a command of a function, which gets an :class:`Output` and the arguments of the command line.

    All commands have --quiet and --verbose, most the argument FOLDER and the option --json.
    """

    def decorate(function: Callable[..., Any]) -> Command:
        @functools.wraps(function)
        def run(*, quiet: bool, verbose: bool, as_json: bool = False, **arguments: Any) -> Any:
            output = Output(quiet, verbose, as_json)
            logger = logging.getLogger("lass")
            before = logger.level
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: output.note(f"note: {message}")
                try:
                    logger.setLevel(logging.ERROR if quiet else before)
                    return function(output, **arguments)
                finally:
                    logger.setLevel(before)

        made = click.command(cls=Command, examples=examples, **settings)(run)
        made.params = [*([_FOLDER] if folder else []), *options, *made.params]
        made.params += [*([_JSON] if as_json else []), *_PRINTING]
        return made

    return decorate


@contextmanager
def opened(folder: Path) -> Iterator[Collection]:
    """A collection, closed at the end; read-only where it cannot be written."""
    from lass.tagging import Collection

    if not (folder / "collection.toml").is_file():
        raise ValueError(f"{folder} is not the folder of a collection; make one: lass init --help")
    with Collection.open_readable(folder) as collection:
        yield collection


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, a line each: in columns on a terminal, else with tabs between the cells."""
    from lass.collection.records import visible

    cells = [[visible(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )
    return "\n".join("\t".join(row) for row in cells)


def caption(item: Item) -> str:
    """What to show an item by, next to its id: its title, or the first line of its text."""
    if item.title not in ("", item.id):
        return item.title
    return item.text.partition("\n")[0]


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
