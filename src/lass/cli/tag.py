"""``lass tag``: say what an item is about."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, json_option, opened, talking

EXAMPLES = [
    "lass tag packages/ mutt +mail::imap -game::strategy",
]


# a word with a minus in front looks like an option: a short option would take its first letter
@click.command(context_settings={"ignore_unknown_options": True}, cls=Command, examples=EXAMPLES)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FOLDER] ITEM +TAG -TAG ...")
@click.option("--withdraw", multiple=True, metavar="TAG", help="Take back what is said of a tag.")
@click.option("--new", is_flag=True, help="Make tags that are not there yet.")
@click.option("--who", help="Who says so; by default the name of the user.")
@json_option
@talking
def tag(talk: Talk, words: tuple[str, ...], withdraw: tuple[str, ...], new: bool, who: str | None) -> None:
    """Say of an ITEM that it is about some tags and not about others.

    Once this returns, the words are on the disk. Without FOLDER, the collection is the folder where
    you are.
    """
    given = bool(words) and (Path(words[0]) / "collection.toml").is_file()
    folder, rest = (Path(words[0]), words[1:]) if given else (Path(), words)
    if not rest or (rest[0][:1] in "+-" and len(rest) == 1):
        raise click.UsageError("name an item and what to say of it: ITEM +TAG -TAG", None)
    if not given and not Path("collection.toml").is_file():
        raise ValueError(f"{words[0]} is not the folder of a collection; make one: lass init --help")
    item, said = rest[0], dict.fromkeys(withdraw, 0)
    for word in rest[1:]:
        if word[:1] not in ("+", "-") or not word[1:]:
            raise ValueError(f"a word is +TAG or -TAG; found {word!r}")
        if said.setdefault(word[1:], 1 if word[0] == "+" else -1) != (1 if word[0] == "+" else -1):
            raise ValueError(f"words contradict each other on tag {word[1:]!r}; keep one of them")
    if not said:
        raise ValueError(f"nothing is said of item {item!r}; add +TAG, -TAG or --withdraw TAG")
    with opened(folder) as collection:
        numbers = collection.annotate(item, said, who=_user() if who is None else who, new=new)
        state = dict(collection.annotations_of(item))
    signs = " ".join(f"{'+' if value > 0 else '-'}{name}" for name, value in state.items())
    talk.result(f"{item}: {signs or 'nothing is said'}", item=item, changes=numbers, words=state)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as containers have
        return ""
