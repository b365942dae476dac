"""``lass suggest`` and ``lass next``: tags to add, stated tags to check, and items to tag next."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.output import Output, caption, command, count, in_columns, opened, table_option
from lass.collection.records import command_line, visible
from lass.collection.writing import check_ending, nested, write_delimited, write_rows
from lass.tagging.export_rows import DOUBTFUL_TAG_COLUMNS, explained_columns, suggestion_rows

if TYPE_CHECKING:
    from lass.tagging import DoubtfulTag, Suggestion

#: items on a terminal, unless there is a --limit
SHOWN = 15


@command(
    "lass suggest packages/ --top 5 --out suggestions.csv",
    "lass suggest packages/ --untagged --min-score 0.1 | head",
)
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Tags an item, at most.")
@click.option("--untagged", is_flag=True, help="Only items without any tag.")
@click.option("--tag", help="Only this tag, where it is among the top of an item.")
@click.option("--item", "items", multiple=True, help="Only this item; may be given several times.")
@click.option(
    "--min-score", type=click.FloatRange(0, 1), default=0.0, help="Leave lower scores (or strengths) out."
)
@click.option("--limit", type=click.IntRange(1), help="Items, at most: those with the highest scores.")
@click.option("--explain", is_flag=True, help="Say in a sentence why each tag is suggested.")
@click.option("--doubts", is_flag=True, help="Stated tags to check, instead of tags to add.")
@table_option
def suggest(
    output: Output, folder: Path, top: int, untagged: bool, tag: str | None, items: tuple[str, ...],
    min_score: float, limit: int | None, explain: bool, doubts: bool, out: Path | None,
) -> None:  # fmt: skip
    """Suggest tags to add to the items of FOLDER, and stated tags to check.

    The score of a tag is its probability: of suggestions at 0.8, four out of five are right, measured on
    hidden tags. With about a dozen tagged items or fewer too little is known for that: there is no score
    then, and strength orders the tags. With it come the parts of the predictors (the crowd of similar items,
    propagation through the graph, direct neighbours, the item's features by linear models and, of dense
    numbers, by trees, co-occurrence with its other tags, frequency) and the supporting neighbours with their
    shares. A table on a terminal; all of it as CSV in a pipe. With --explain a sentence names the terms, the
    similar items and the tags behind it: under each tag, and in the column "why".
    """
    if out is not None:
        check_ending(out)
    whole = out is not None or output.as_json or not sys.stdout.isatty()
    if limit is None and not whole:
        limit = SHOWN
    with _no_cycles(), opened(folder) as collection:
        retrained, newer = collection.is_retrained(), collection.newer_than_suggestions()
        if newer:
            output.note(f"note: suggestions are older than {newer}; run {command_line('fit', folder)}")
        elif not retrained:
            output.note(f"note: scores rest on earlier annotations; run {command_line('fit', folder)}")
        chosen: dict[str, Any] = {"tag": tag, "items": items or None}
        suggestions: list[Suggestion] = []
        doubtful: list[DoubtfulTag] = []
        if not doubts:
            suggestions = collection.suggest(
                top=top, min_score=min_score, untagged=untagged, limit=limit, explain=explain, **chosen
            )
        if doubts or not (whole or untagged):
            doubtful = collection.doubtful_tags(limit=limit if doubts else 5, **chosen)
        more = collection.items_until_percentages()
        if more:
            output.note(f"note: too little known for percentages: {collection.needed_for_percentages()}")
        if whole:
            columns = DOUBTFUL_TAG_COLUMNS if doubts else explained_columns(explain)
            _write(output, doubtful if doubts else suggestions, columns, out, more)
        else:
            named = collection.get_items({row.item for row in suggestions})
            print_suggestions(output, suggestions, doubtful, {item.id: caption(item) for item in named})


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Do not look for cycles of references: tables of many rows hold none, and it is a fifth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _write(output: Output, found: Any, columns: tuple[str, ...], out: Path | None, more: int) -> None:
    if out is not None:
        write_rows(out, columns, suggestion_rows(found))
        items = count(len({row.item for row in found}), "item")
        output.result(f"{out}: {count(len(found), 'row')} on {items}", out=str(out), rows=len(found))
    elif output.as_json:
        output.json([{**nested(row), "items_until_percentages": more} for row in suggestion_rows(found)])
    else:
        write_delimited(columns, suggestion_rows(found))


def print_suggestions(
    output: Output, suggestions: list[Suggestion], doubtful: list[DoubtfulTag], titles: dict[str, str]
) -> None:
    """Lines on the terminal: an item, then a line a tag."""
    tags = [row.tag for row in suggestions] + [row.tag for row in doubtful]
    width = max(map(len, tags), default=0)
    if not suggestions:
        output.out.print("No tags to add.")
    for item, rows in groupby(suggestions, key=lambda row: row.item):
        _line(output, (item, "bold"), (f"  {titles.get(item, '')}", "dim"))
        for row in rows:
            score = "    -" if row.score is None else f"{row.score:.3f}"
            reasons = "" if row.why else f"  {_reasons(row)}"
            _line(output, (f"  {score}  ", "cyan"), (f"{row.tag:<{width}}", ""), (reasons, "dim"))
            if row.why:
                _folded(output, row.why)
    if doubtful:
        note = "  less than half as likely as on an average item"
        output.out.print()
        _line(output, ("Stated tags to check", "bold"), (note, "dim"))
    for doubt in doubtful:
        score = f"  {doubt.score:.3f}  "
        _line(output, (score, "yellow"), (f"{doubt.tag:<{width}}  ", ""), (doubt.item, "bold"))


def _reasons(row: Suggestion) -> str:
    """The two predictors that add most, and the supporting neighbours with their shares."""
    strongest = list(row.because.items())[:2]
    predictors = [name for name, part in strongest if part > 0.5 and name != "frequency"]
    near = [f"{other.item} {other.share:.0%}" for other in row.neighbours if other.share >= 0.01]
    return "  ".join([", ".join(predictors), ", ".join(near)]).strip()


def _folded(output: Output, sentence: str) -> None:
    """A sentence in as many lines as it takes, further in than the tags."""
    from rich.padding import Padding
    from rich.text import Text

    output.out.print(Padding(Text(visible(sentence), "dim"), (0, 0, 0, 9)))


def _line(output: Output, *parts: tuple[str, str]) -> None:
    from rich.text import Text

    output.out.print(
        Text.assemble(*((visible(text), style) for text, style in parts)), overflow="ellipsis", no_wrap=True
    )


@command("lass next packages/ --top 5", name="next")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Items, at most.")
def next_items(output: Output, folder: Path, top: int) -> None:
    """List the untagged items of FOLDER whose tags would help most with the others, each with a reason.

    The first are typical items that together cover the collection, and need neither tags nor a fit; with more
    items tagged come undecided ones whose tags tell most of the others.
    """
    with opened(folder) as collection:
        with output.progress() as making:
            found = collection.next_items(top, report=making)
        items = collection.get_items([row.item for row in found])
    rows = [
        {"item": row.item, "title": caption(item), "score": row.score, "reason": row.reason}
        for row, item in zip(found, items, strict=True)
    ]
    if output.as_json:
        output.json(rows)
    else:
        lines = in_columns([[str(row[name]) for name in ("item", "title", "reason")] for row in rows])
        click.echo(lines or "Every item has an annotation already.")
