"""``lass groups``: groups of similar items, named by their own texts, each of which can become a tag."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lass.cli.output import Output, caption, command, count, in_columns, opened
from lass.collection.people_table import user_name

if TYPE_CHECKING:
    from lass.tagging import Collection, ItemGroup


@command(
    "lass groups packages/",
    "lass groups packages/ --items 3",
    'lass groups packages/ --tag 3 --as "use::mail"',
)
@click.option("--items", type=click.IntRange(1), metavar="NUMBER", help="List the items of this group.")
@click.option("--tag", type=click.IntRange(1), metavar="NUMBER", help="Tag all items of this group.")
@click.option("--as", "name", metavar="TAG", help="With --tag: the tag; by default the name of the group.")
@click.option("--who", help="With --tag: who states it; by default the name of the user.")
def groups(
    output: Output, folder: Path, items: int | None, tag: int | None, name: str | None, who: str | None
) -> None:
    """List groups of similar items in FOLDER, named by the terms that set them apart.

    They are found without any tags. With --tag all items of one get a tag, in one action that one lass undo
    takes back. Items that are annotated with the tag already keep their annotation.
    """
    if items is not None and tag is not None:
        raise click.UsageError("choose one of --items and --tag", None)
    if tag is None and (name is not None or who is not None):
        raise click.UsageError("--as and --who need --tag NUMBER", None)
    with opened(folder) as collection:
        from lass.tagging import item_groups

        with output.progress() as making:
            found = item_groups(collection, making)
        if tag is not None:
            _tag(output, collection, _chosen(found, tag), name, user_name() if who is None else who)
        elif items is not None:
            _list_items(output, collection, _chosen(found, items))
        else:
            _list(output, collection, found)


def _chosen(found: list[ItemGroup], number: int) -> ItemGroup:
    if number > len(found):
        raise ValueError(f"there is no group {number}; lass groups lists {count(len(found), 'group')}")
    return found[number - 1]


def _list(output: Output, collection: Collection, found: list[ItemGroup]) -> None:
    ids = collection.ids()
    if output.as_json:
        output.json([
            {
                "group": one.number, "name": one.name, "items": len(one), "terms": list(one.terms),
                "typical_item": ids[one.medoid],
            }
            for one in found
        ])  # fmt: skip
        return
    rest = len(ids) - sum(map(len, found))
    for one in found:
        terms = f"  {', '.join(one.terms[1:])}" if len(one.terms) > 1 else ""
        output.line(f"{one.number:>3}  {count(len(one), 'item'):>12}  {one.name}{terms}  ({ids[one.medoid]})")
    if not found:
        output.line("No groups: too few items are similar.")
    elif rest:
        output.line(f"     {count(rest, 'item'):>12}  in no group")


def _list_items(output: Output, collection: Collection, group: ItemGroup) -> None:
    ids = collection.ids()
    items = collection.get_items([ids[row] for row in group.rows])
    rows = [{"item": item.id, "title": caption(item)} for item in items]
    if output.as_json:
        output.json(rows)
    else:
        click.echo(in_columns([[row["item"], row["title"]] for row in rows]))


def _tag(output: Output, collection: Collection, group: ItemGroup, name: str | None, who: str) -> None:
    if name is None and not group.terms:
        raise ValueError(f"group {group.number} has no name of its own; name its tag with --as TAG")
    name = group.name if name is None else name
    ids = collection.ids()
    open_ = [ids[row] for row in group.rows if name not in collection.annotations_of(ids[row])]
    numbers = collection.annotate_all([(item, name, 1) for item in open_], who=who, new=True)
    kept = len(group) - len(open_)
    note = f"; {kept:,} had an annotation of it already" if kept else ""
    output.result(
        f"+{name} on {count(len(open_), 'item')} of group {group.number}{note}",
        group=group.number, tag=name, items=open_, changes=numbers,
    )  # fmt: skip
