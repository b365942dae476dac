"""``lass suggest``: tags to add, tags to doubt, and who speaks for them."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.group import Command
from lass.cli.output import Talk, caption, count, folder_argument, json_option, opened, talking
from lass.collection.writing import check_ending, write_delimited, write_rows
from lass.tagging.tables import DOUBTS, SUGGESTIONS, as_rows

if TYPE_CHECKING:
    from lass.tagging import Doubt, Suggestion

#: items on a terminal, unless --limit says otherwise
SHOWN = 15


EXAMPLES = [
    "lass suggest packages/ --top 5 --out suggestions.csv",
    "lass suggest packages/ --untagged --min-score 0.1 | head",
]


@click.command(cls=Command, examples=EXAMPLES)
@folder_argument
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Tags an item at most.")
@click.option("--untagged", is_flag=True, help="Only items without any tag.")
@click.option("--tag", help="Only this tag, where it is among the top of an item.")
@click.option("--item", "items", multiple=True, help="Only this item; may be given several times.")
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.0, help="Only scores from here on.")
@click.option("--limit", type=click.IntRange(1), help="So many items at most, the surest first.")
@click.option("--doubts", is_flag=True, help="Stated tags to doubt, instead of tags to add.")
@click.option("--out", type=click.Path(path_type=Path), help="A file: .csv, .tsv, .jsonl, .json or .parquet.")
@json_option
@talking
def suggest(
    talk: Talk, folder: Path, top: int, untagged: bool, tag: str | None, items: tuple[str, ...],
    min_score: float, limit: int | None, doubts: bool, out: Path | None,
) -> None:  # fmt: skip
    """Say which tags to add to the items of FOLDER, and which of their tags to doubt.

    The score of a tag says how likely it is: of suggestions at 0.8, four out of five are right, as far
    as hidden tags can tell. Behind it stand who speaks for the tag (the crowd of similar items, its
    reach through the graph, direct neighbours, the item's features, the company of its other tags) and the
    neighbours with their share of what the crowd says. A table on a terminal; all of it as CSV in a pipe.
    """
    if out is not None:
        check_ending(out)
    whole = out is not None or talk.as_json or not sys.stdout.isatty()
    if limit is None and not whole:
        limit = SHOWN
    with opened(folder) as collection:
        from lass.tagging import Opinions

        for name, why in collection.stale().items():
            talk.say(f"note: {name} out of date ({why}); lass fit {folder} brings them up to date")
        opinions = Opinions.of(collection)
        if opinions.completed.note:
            talk.say(f"note: {opinions.completed.note}")
        chosen: dict[str, Any] = {"tag": tag, "items": items or None}
        added: list[Suggestion] = []
        doubted: list[Doubt] = []
        if not doubts:
            added = opinions.suggestions(
                top=top, min_score=min_score, untagged=untagged, limit=limit, **chosen
            )
        if doubts or not (whole or untagged):
            doubted = opinions.doubts(limit=limit if doubts else 5, **chosen)
        if whole:
            _write(talk, doubted if doubts else added, DOUBTS if doubts else SUGGESTIONS, out)
        else:
            titles = {item.id: caption(item) for item in collection.items({row.item for row in added})}
            show(talk, added, doubted, titles)


def _write(talk: Talk, found: Any, columns: tuple[str, ...], out: Path | None) -> None:
    if out is not None:
        write_rows(out, columns, as_rows(found))
        items = count(len({row.item for row in found}), "item")
        talk.result(f"{out}: {count(len(found), 'row')} on {items}", out=str(out), rows=len(found))
    elif talk.as_json:
        talk.json(list(as_rows(found)))
    else:
        write_delimited(None, columns, as_rows(found))


def show(
    talk: Talk, added: list[Suggestion], doubted: list[Doubt], titles: dict[str, str] | None = None
) -> None:
    """Lines on the terminal: an item, then a line a tag."""
    tags = [row.tag for row in added] + [doubt.tag for doubt in doubted]
    width = max(map(len, tags), default=0)
    if not added:
        talk.out.print("No tags to add.")
    for item, rows in groupby(added, key=lambda row: row.item):
        title = (titles or {}).get(item, "")
        _line(talk, (item, "bold"), (f"  {title}", "dim"))
        for row in rows:
            loudest = list(row.because.items())[:2]
            loud = [name for name, part in loudest if part > 0.5 and name != "frequency"]
            near = [f"{who.item} {who.share:.0%}" for who in row.neighbours if who.share >= 0.01]
            who = "  ".join([", ".join(loud), ", ".join(near)]).strip()
            _line(talk, (f"  {row.score:.3f}  ", "cyan"), (f"{row.tag:<{width}}", ""), (f"  {who}", "dim"))
    if doubted:
        note = "  everybody else says less for them than usual"
        _line(talk, ("\nStated tags to doubt", "bold"), (note, "dim"))
    for doubt in doubted:
        score = f"  {doubt.score:.3f}  "
        _line(talk, (score, "yellow"), (f"{doubt.tag:<{width}}  ", ""), (doubt.item, "bold"))


def _line(talk: Talk, *parts: tuple[str, str]) -> None:
    from rich.text import Text

    talk.out.print(Text.assemble(*parts), overflow="ellipsis", no_wrap=True)
