"""``lass tag``: annotate an item."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, json_option, opened, with_output

EXAMPLES = ["lass tag packages/ mutt +mail::imap -game::strategy"]


# a tag with a minus in front looks like an option: a short option would take its first letter
@click.command(context_settings={"ignore_unknown_options": True}, cls=Command, examples=EXAMPLES)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[FOLDER] ITEM +TAG -TAG ...")
@click.option("--withdraw", multiple=True, metavar="TAG", help="Take back the annotation of a tag.")
@click.option("--new", is_flag=True, help="Make tags that are not there yet.")
@click.option("--who", help="Who states it; by default the name of the user.")
@json_option
@with_output
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
    with opened(folder) as collection:
        numbers = collection.annotate_all(annotations, who=_user() if who is None else who, new=new)
        state = collection.annotations_of(item)
    signs = " ".join(f"{'+' if value > 0 else '-'}{name}" for name, value in state.items())
    output.result(f"{item}: {signs or 'no annotations'}", item=item, changes=numbers, annotations=state)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as containers have
        return ""
