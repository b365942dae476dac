"""What one cell of a table holds: a text, a number, some tags."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from lass.collection.reading.errors import shown
from lass.collection.reading.lines import LIMIT, TOO_LONG, fault

YES = frozenset({"x", "true", "yes", "y", "t", "✓", "✔", "+"})
NO = frozenset({"false", "no", "n", "f", "-"})
SEPARATORS = (";", "|", ",")


class BadCell(ValueError):  # noqa: N818
    """A cell that cannot be used; the caller adds the file and the line."""


def text_of(value: Any) -> str:
    """A cell as text; nothing is the empty text, nested values become JSON."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        try:
            text = json.dumps(value, ensure_ascii=False, default=str)
        except (ValueError, RecursionError) as error:
            raise BadCell(f"a nested value that cannot be read ({error})") from None
    else:
        text = str(value)
    if len(text) > LIMIT:
        raise BadCell(f"a text {TOO_LONG}")
    if message := fault(text):
        raise BadCell(message)
    return text


def plain_of(value: Any) -> Any:
    """A cell as it is kept: a text, a truth value, a finite number that fits in 64 bits, or None."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return text_of(value)


def number_of(value: Any, name: str) -> float:
    """A cell of a numeric column; NaN where it is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return math.nan
    if isinstance(value, str) and not value.strip():
        return math.nan
    number = _finite(value)
    if number is None:
        raise BadCell(
            f"column {shown(name)} must hold finite numbers; found {shown(value)}. Empty is unknown"
        )
    return number


def all_numbers(cells: Iterable[Any]) -> bool:
    """Whether each cell is a finite number or empty, and one is no gap."""
    try:
        return not all(math.isnan(number_of(cell, "")) for cell in cells)
    except BadCell:
        return False


def value_of(value: Any, *, no: float = -1.0, empty: float = 1.0) -> float:
    """The value of an annotation: +1, -1, or another number; 0 is none."""
    if value is None:
        return empty
    if isinstance(value, bool):
        return 1.0 if value else no
    if isinstance(value, str):
        text = value.strip().lower()
        if not text:
            return empty
        if text in YES:
            return 1.0
        if text in NO:
            return no
    number = _finite(value)
    if number is None:
        raise BadCell(f"a value must be +1, -1 or another finite number; found {shown(value)}")
    return number


def _finite(value: Any) -> float | None:
    if isinstance(value, str) and "_" in value:  # float() would take 1_000
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def signed_tag(text: str) -> tuple[str, float | None]:
    """The name of a tag, and its sign where one is written in front.

    Examples
    --------
    >>> from lass.collection.reading.cells import signed_tag
    >>> signed_tag("-game::strategy"), signed_tag("role::program"), signed_tag("+-5")
    (('game::strategy', -1.0), ('role::program', None), ('-5', 1.0))
    """
    name = text.strip()
    sign = {"-": -1.0, "+": 1.0}.get(name[:1])
    name = name if sign is None else name[1:].strip()
    if not name:
        raise BadCell(f"a tag without a name; found {shown(text)}")
    return name, sign


def with_sign(name: str, value: float) -> str:
    """A tag as :func:`signed_tag` reads it.

    Examples
    --------
    >>> from lass.collection.reading.cells import with_sign
    >>> with_sign("mail", 1), with_sign("game", -1), with_sign("-5", 1)
    ('mail', '-game', '+-5')
    """
    return f"-{name}" if value < 0 else f"+{name}" if name[:1] in ("+", "-") else name


def joined_tags(tags: Sequence[str], simple: bool) -> str:
    """Some tags as one cell, as :func:`tags_of` reads it; a JSON list where one is not ``simple``."""
    return ";".join(tags) if simple else json.dumps(tags, ensure_ascii=False) if tags else ""


def is_simple(tag: str) -> bool:
    """Whether a tag can stand in a cell beside others, with something between them."""
    return not tag.startswith("[") and not any(sign in tag for sign in SEPARATORS)


def listed(cell: Any) -> list[Any] | None:
    """The tags of a cell that is a list, or a text that holds one as JSON."""
    if isinstance(cell, list):
        return cell
    if isinstance(cell, str) and cell[:1] == "[" and cell.rstrip()[-1:] == "]":
        with suppress(ValueError, RecursionError):
            found = json.loads(cell)
            if isinstance(found, list) and all(isinstance(part, str) for part in found):
                return found
    return None


def separator_of(cells: list[Any]) -> str | None:
    """What separates tags in most of the cells: ; or | or a comma; None where nothing does."""
    texts = [cell for cell in cells if isinstance(cell, str) and listed(cell) is None]
    counts = {sign: sum(sign in cell for cell in texts) for sign in SEPARATORS}
    best = max(SEPARATORS, key=counts.__getitem__)
    return best if counts[best] else None


def tags_of(cell: Any, separator: str | None) -> list[tuple[str, float]]:
    """The tags in one cell, a list or a text with separators; -tag is a tag that the item does not have."""
    found = listed(cell)
    if found is not None:
        parts = [text_of(part) for part in found]
    else:
        text = text_of(cell)
        parts = text.split(separator) if separator else [text]
    signed = (signed_tag(part) for part in parts if part.strip())
    return [(name, 1.0 if sign is None else sign) for name, sign in signed]
