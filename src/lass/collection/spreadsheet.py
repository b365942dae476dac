"""Texts that a spreadsheet would execute: made harmless where a table is written, and read back as they were.

A cell that begins with = + - or @ (or the wide forms of these, or a tab or line end) is taken for a formula,
which can start programs or send data away. An apostrophe in front makes it a text, in all spreadsheets.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
_ESCAPED = re.compile(rf"'(?={_FORMULA.pattern})")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_FIRST = frozenset("='+-@\uff1d\uff0b\uff0d\uff20")


def harmless(text: str) -> str:
    """A text as a cell that no spreadsheet executes; a number stays as it is.

    Examples
    --------
    >>> from lass.collection.spreadsheet import harmless
    >>> harmless("=1+1"), harmless("-game"), harmless("-1.5"), harmless("it's")
    ("'=1+1", "'-game", '-1.5', "it's")
    """
    first = text[:1]
    if (first in _FIRST or first.isspace()) and _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def original(cell: str) -> str:
    """What :func:`harmless` made a cell of.

    Examples
    --------
    >>> from lass.collection.spreadsheet import harmless, original
    >>> original(harmless("'=1+1")), original("'tis")
    ("'=1+1", "'tis")
    """
    return cell[1:] if _ESCAPED.match(cell) else cell
