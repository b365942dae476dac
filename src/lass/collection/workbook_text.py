"""Texts as the cells of workbooks hold them: signs that XML cannot hold, and texts longer than a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

#: most characters of a cell, as Excel counts them: in UTF-16
MOST_CHARACTERS = 32_767
#: characters that fit whatever they are, even if each is written as _xHHHH_
_ALWAYS_FIT = MOST_CHARACTERS // 7
#: what XML cannot hold or would change, and texts that look like an escape
_ESCAPED = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
#: the columns that hold the rest of texts
_CONTINUED = re.compile(r"(.*) \[continued (\d+)\]", re.DOTALL)


def escaped(text: str) -> str:
    r"""A text as Excel writes it: ``_x0008_`` for a control character (ST_Xstring of ECMA-376).

    Examples
    --------
    >>> from lass.collection.workbook_text import escaped, unescaped
    >>> escaped("a\x08b"), escaped("_x0008_"), unescaped(escaped("_x0008_"))
    ('a_x0008_b', '_x005F_x0008_', '_x0008_')
    """
    return _ESCAPED.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def unescaped(text: str) -> str:
    """What :func:`escaped` made a text of; half characters stay as they are written."""
    if "_x" not in text:
        return text
    return _ESCAPE.sub(lambda found: found[0] if found[1][:1] in "dD" and found[1][1] > "7" else chr(
        int(found[1], 16)), text)  # fmt: skip


def pieces(text: str) -> list[str]:
    """A text in parts that each fit into a cell; one where it fits as it is."""
    if 2 * len(text) < MOST_CHARACTERS and not _ESCAPED.search(text):
        return [text]
    if len(text) < MOST_CHARACTERS and len(escaped(text).encode("utf-16-le")) <= 2 * MOST_CHARACTERS:
        return [text]
    plain = text.isascii() and not _ESCAPED.search(text)
    size = MOST_CHARACTERS if plain else _ALWAYS_FIT
    return [text[at : at + size] for at in range(0, len(text), size)]


def continued(name: str, part: int) -> str:
    """What the column is called that holds a further part of the texts of another."""
    return name if part == 1 else f"{name} [continued {part}]"


def joined_columns(names: Sequence[str]) -> list[list[int]]:
    """Which columns hold the parts of each text; one apiece where none is continued.

    Examples
    --------
    >>> from lass.collection.workbook_text import joined_columns
    >>> joined_columns(["id", "text", "text [continued 2]", "tags"])
    [[0], [1, 2], [3]]
    """
    found: list[list[int]] = []
    for at, name in enumerate(names):
        parts = _CONTINUED.fullmatch(name)
        if parts and found and names[found[-1][0]] == parts[1] and len(found[-1]) == int(parts[2]) - 1:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def joined(cells: Sequence[Any], columns: Sequence[Sequence[int]]) -> list[Any]:
    """The cells of a row by the columns that they were before texts were cut."""
    return [
        cells[parts[0]]
        if len(parts) == 1 or cells[parts[1]] in (None, "")
        else "".join("" if cells[at] is None else str(cells[at]) for at in parts)
        for parts in columns
    ]
