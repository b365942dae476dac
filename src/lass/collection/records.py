"""What a collection holds, as plain records, and the checks of what people pass in."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: the key in ``extra`` of the lengths of the texts that an item's text was joined from
PARTS = "lass:parts"
#: what a terminal obeys or shows in another order: control characters but for tabs, line ends, directions
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
#: characters of the name of a tag that people make, at most
MAX_TAG = 200


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


class Annotation(NamedTuple):
    """What a person stated of an item and a tag: it has the tag (+1), has it not (-1), or between.

    ``who`` is empty where it came with the items, or without a name.
    """

    item: str
    tag: str
    value: float
    who: str = ""


@dataclass(frozen=True)
class Change:
    """One line of the log: an annotation that somebody made, or took back.

    Attributes
    ----------
    number : int
        Its place in the log, counted from 1.
    batch : int
        The action it was part of; 0 for what came with the items.
    at : str
        When, in UTC.
    value : int
        The annotation from then on: +1, -1, or 0 where there was none any more.
    undoes : int or None
        The change it reverses.
    undone : bool
        Whether it has been reversed since.
    person : str
        Whose annotation it is, which ``who`` changed; empty for what came with the items.
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
    person: str = ""


@dataclass(frozen=True)
class TagChange:
    """One line of the log of tags: one was made, renamed, merged or retired, or that was taken back.

    Attributes
    ----------
    number, batch, at, who, undoes, undone
        As for a :class:`Change`; no two changes of either kind have the same number.
    column : int
        Of the tag, for ever.
    before : str or None
        What it was called until then; None if it was not in use.
    name : str or None
        What it is called from then on; None if it is not in use any more.
    into : str or None
        The tag that it was merged into, by its name of today.
    """

    number: int
    batch: int
    at: str
    who: str
    column: int
    before: str | None
    name: str | None
    into: str | None
    undoes: int | None
    undone: bool

    def __str__(self) -> str:
        if self.before is None:
            back = f"tag {self.name} " + ("added" if self.undoes is None else "is back")
            return back if self.name else f"tag {self.column} stays retired"
        if self.name is None:
            return f"tag {self.before} " + (f"merged into {self.into}" if self.into else "retired")
        return f"tag {self.before} " + ("stays" if self.name == self.before else f"renamed to {self.name}")


@dataclass(frozen=True)
class LoggedAction:
    """What was done together, and is undone together: some changes of annotations and of tags.

    Attributes
    ----------
    number : int
        Of its last change.
    batch, at, who
        As for a :class:`Change`.
    tags : tuple of str
        What was done to tags, such as "merged a into b"; of an undo, what was undone.
    count : int
        How many annotations changed.
    items : int or None
        On how many items; None for an import.
    same : bool
        Whether the same tag was added, rejected or withdrawn on all of them.
    changes : tuple of Change
        Its last few changes of annotations, the latest first.
    undone, undoes, again : bool
        Whether all of it has been reversed, whether it reverses another action, and whether that was an undo.
    moves : bool
        Whether the annotations changed because a tag was merged or deleted.
    """

    number: int
    batch: int
    at: str
    who: str
    tags: tuple[str, ...]
    count: int
    items: int | None
    same: bool
    changes: tuple[Change, ...]
    undone: bool = False
    undoes: bool = False
    again: bool = False
    moves: bool = False


class Moment(NamedTuple):
    """How many annotations there were at some time, and how many items with at least one tag (+1)."""

    at: str
    annotations: int
    tagged: int


class LastChange(NamedTuple):
    """Who changed the annotations of an item last, and when."""

    row: int
    number: int
    at: str
    who: str


class Since(NamedTuple):
    """What changed after some change: the rows of items with other annotations, and whether any tag was
    renamed, made or retired.
    """

    rows: list[int]
    tags: bool


class News(NamedTuple):
    """What changed after some change, all of one moment.

    ``annotations`` are those of the changed rows by row and column, None where there are very many;
    ``names`` are None where no tag changed; ``disputed`` has the columns on which people
    differ, by changed row.
    """

    number: int
    items: int
    rows: list[int]
    annotations: dict[int, dict[int, int]] | None
    names: list[str] | None
    retired: set[int]
    synonyms: dict[int, list[str]]
    flagged: list[int]
    disputed: dict[int, frozenset[int]]


def check_text(value: Any, name: str, *, empty: bool = False) -> str:
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


def check_new_text(value: Any, name: str, *, empty: bool = False) -> str:
    """:func:`check_text` of what is stored from now on: without NUL, at which other programs stop."""
    if "\0" in check_text(value, name, empty=empty):
        raise ValueError(f"{name} holds a NUL, which no table can hold; found {value[:60]!r}")
    return str(value)


def check_person(value: Any, name: str = "who") -> str:
    """The name of a person, or none: on one line, and nothing that a terminal would obey."""
    if _CONTROL.search(check_text(value, name, empty=True)) or "\t" in value:
        raise ValueError(f"{name} holds a line break or a control character; found {visible(value[:60])!r}")
    return str(value)


def visible(text: str) -> str:
    r"""A text for a line on a terminal: control characters and line breaks are written as escapes.

    >>> print(visible("a\x1b[2J\nb"))
    a\x1b[2J\nb
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def command_line(*arguments: object) -> str:
    """A command of ``lass`` as one types it in a shell: names with spaces and the like are quoted.

    >>> print(command_line("fit", "my packages"))
    lass fit 'my packages'
    """
    return shlex.join(["lass", *map(str, arguments)])


def check_sign(value: Any, item: Any, tag: Any) -> int:
    """+1, -1 or 0."""
    for known in (1, -1, 0):
        if value == known:
            return known
    raise ValueError(
        f"an annotation must be +1 (has the tag), -1 (has it not) or 0 (withdrawn); "
        f"found {value!r} for item {item!r} and tag {tag!r}"
    )


def near_names(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    """Up to three of the known names that look like a misspelt one, the nearest first."""
    lowered: dict[str, str] = {}
    for other in known:
        lowered.setdefault(other.lower(), other)
    return [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, cutoff=cutoff)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message: which of the known names may have been meant; empty where none is near."""
    near = near_names(name, known)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
