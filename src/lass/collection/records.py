"""What a collection holds, as plain records, and the checks of what people pass in."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Item:
    """Something to be tagged.

    Attributes
    ----------
    id : str
        Its name, unlike any other in the collection.
    title, text : str
        What people see, and what similarity is read from.
    extra : dict
        Anything else that JSON can hold.
    """

    id: str
    title: str = ""
    text: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One line of the log: what somebody said of an item and a tag, or took back.

    Attributes
    ----------
    number : int
        Its place in the log, counted from 1.
    batch : int
        The action it was part of; 0 for what came with the items.
    at : str
        When, in UTC.
    value : int
        What the word was from then on: +1, -1, or 0 where nothing was said any more.
    undoes : int or None
        The change it reverses.
    undone : bool
        Whether it has been reversed since.
    """

    number: int
    batch: int
    at: str
    who: str
    item: str
    tag: str
    value: int
    undoes: int | None
    undone: bool


def text(value: Any, name: str, *, empty: bool = False) -> str:
    """``value`` itself if it is text that a file can hold, else ``ValueError``."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text; found {value!r}")
    if not empty and (not value or value != value.strip()):
        raise ValueError(
            f"{name} must be text that neither is empty nor has blanks around it; found {value!r}"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} holds a character that no file can hold ({error})") from None
    return value


def sign(value: Any, item: Any, tag: Any) -> int:
    """+1, -1 or 0."""
    for known in (1, -1, 0):
        if value == known:
            return known
    raise ValueError(
        f"a word must be +1 (is about it), -1 (is not) or 0 (withdrawn); "
        f"found {value!r} for item {item!r} and tag {tag!r}"
    )


def row_of(item: Any) -> tuple[str, str, str, str]:
    """An item as it is stored."""
    if not isinstance(item, Item):
        raise ValueError(f"items must be Item(id, title, text, extra); found {item!r}")
    name = text(item.id, "the id of an item")
    try:
        extra = json.dumps(dict(item.extra), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra of item {name!r} must be a mapping that JSON can hold ({error})") from None
    return (
        name,
        text(item.title, f"the title of item {name!r}", empty=True),
        text(item.text, f"the text of item {name!r}", empty=True),
        text(extra, f"extra of item {name!r}", empty=True),
    )


def close(name: str, known: Iterable[str]) -> str:
    """Words on which of the known names may have been meant; empty where none is near."""
    lowered: dict[str, str] = {}
    for word in known:
        lowered.setdefault(word.lower(), word)
    near = difflib.get_close_matches(name.lower(), lowered, n=3)
    return f"; did you mean {' or '.join(repr(lowered[word]) for word in near)}?" if near else ""
