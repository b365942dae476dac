"""``lass tag``, ``undo`` and ``log``: annotate an item, take that back, list who did what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lass.cli.output import Output, command, opened
from lass.collection import Change, TagChange
from lass.collection.people_table import user_name
from lass.collection.records import visible

if TYPE_CHECKING:
    from lass.tagging import Collection


# a tag with a minus in front looks like an option: a short option would take its first letter
@command(
    "lass tag packages/ mutt +mail::imap -game::strategy", folder=False,
    context_settings={"ignore_unknown_options": True},
)  # fmt: skip
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[FOLDER] ITEM +TAG -TAG ...")
@click.option("--withdraw", multiple=True, metavar="TAG", help="Take back the annotation of a tag.")
@click.option("--new", is_flag=True, help="Make tags that are not there yet.")
@click.option("--who", help="Who states it; by default the name of the user.")
def tag(
    output: Output, arguments: tuple[str, ...], withdraw: tuple[str, ...], new: bool, who: str | None
) -> None:
    """State which tags an ITEM has (+TAG) and which it does not have (-TAG).

    Once this returns, the annotations are on the disk. Without FOLDER, the collection is the folder where
    you are.
    """
    given = bool(arguments) and (Path(arguments[0]) / "collection.toml").is_file()
    folder, rest = (Path(arguments[0]), arguments[1:]) if given else (Path(), arguments)
    if not rest or (rest[0][:1] in "+-" and len(rest) == 1):
        raise click.UsageError("name an item and its tags: ITEM +TAG -TAG", None)
    if not given and not Path("collection.toml").is_file():
        raise ValueError(f"{arguments[0]} is not the folder of a collection; make one: lass init --help")
    item, *signed = rest
    annotations = [(item, name, 0) for name in withdraw]
    for text in signed:
        if text[:1] not in ("+", "-") or not text[1:]:
            raise ValueError(f"tags are given as +TAG or -TAG; found {text!r}")
        annotations.append((item, text[1:], 1 if text[0] == "+" else -1))
    if not annotations:
        raise ValueError(f"there is no tag for item {item!r}; add +TAG, -TAG or --withdraw TAG")
    who = user_name() if who is None else who
    with opened(folder) as collection:
        _check_withdrawn(collection, item, withdraw, who)
        numbers = collection.annotate_all(annotations, who=who, new=new)
        state = collection.annotations_of(item)
    signs = " ".join(f"{'+' if value > 0 else '-'}{name}" for name, value in state.items())
    output.result(
        visible(f"{item}: {signs or 'no annotations'}"), item=item, changes=numbers, annotations=state
    )


def _check_withdrawn(collection: Collection, item: str, tags: Iterable[str], who: str) -> None:
    """Only one's own annotations can be withdrawn, and those without a name."""
    names = collection.names()
    for row in collection.rows_of([item]).values():
        for column, people in collection.annotations_by_person([row])[row].items():
            if names[column] in tags and not {who, ""} & people.keys():
                raise ValueError(
                    f"item {item!r} has no annotation of tag {names[column]!r} by {who or 'you'}, but by "
                    f"{' and '.join(people)}: state the opposite, or name with --who whose to withdraw"
                )


@command("lass undo packages/")
@click.option("--who", help="The last action of this person; by default of anybody.")
@click.option("--redo", is_flag=True, help="Bring back what the last undo took.")
def undo(output: Output, folder: Path, who: str | None, redo: bool) -> None:
    """Take back the last change of annotations or tags in FOLDER; the log has it under your name."""
    with opened(folder) as collection:
        numbers = (collection.redo if redo else collection.undo)(who, by=user_name())
        limit = max(len(numbers), 1)
        changes = [change for change in collection.history(limit=limit) if change.number in numbers]
        tags = [str(change) for change in collection.tag_changes(limit) if change.number in numbers]
    annotations = [{"item": change.item, "tag": change.tag, "value": change.value} for change in changes]
    signs = {1: "yes", -1: "no", 0: "no annotation"}
    lines = tags + [f"{change.item} {change.tag}: {signs[change.value]}" for change in changes]
    output.result(
        "\n".join(map(visible, lines)) or "There is nothing to take back.",
        changes=numbers, annotations=annotations, tags=tags,
    )  # fmt: skip


@command("lass log packages/ --item mutt")
@click.option("--item", help="Only annotations of this item.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Changes, at most.")
def log(output: Output, folder: Path, item: str | None, limit: int) -> None:
    """List the last changes of annotations and tags in FOLDER, the latest first."""
    with opened(folder) as collection:
        changes: list[Change | TagChange] = [*collection.history(item, limit)]
        if item is None:
            changes += collection.tag_changes(limit)
    changes = sorted(changes, key=lambda change: -change.number)[:limit]
    if output.as_json:
        output.json([asdict(change) for change in changes])
    else:
        click.echo("\n".join(visible(_line(change)) for change in changes) or "No changes yet.")


def _line(change: Change | TagChange) -> str:
    if isinstance(change, TagChange):
        what = str(change)
    else:
        sign = {1: "+", -1: "-", 0: "0"}[change.value]
        whose = "" if change.person in ("", change.who) else f"  (of {change.person})"
        what = f"{sign} {change.item}  {change.tag}{whose}"
    note = f"  (undoes {change.undoes})" if change.undoes else "  (undone)" if change.undone else ""
    return f"{change.number:>6}  {change.at[:19]}  {change.who or '-':<10}  {what}{note}"
