"""HTML that cannot be broken by what is written into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already; all other text is escaped on its way into a page."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str) -> Markup:
    """An element; ``class_`` stands for class, ``aria_label`` for aria-label.

    Examples
    --------
    >>> from lass.report.markup import tag
    >>> print(tag("p", "a < b, ", tag("b", "so"), class_="note"))
    <p class="note">a &lt; b, <b>so</b></p>
    """
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    written = "".join(f' {key}="{escape(value)}"' for key, value in named)
    return Markup(f"<{name}{written}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Parts one after the other, what is not HTML escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Markup:
    """A table whose last ``numbers`` columns hold numbers; it scrolls where it is too wide."""
    first = len(heads) - numbers

    def cell(name: str, n: int, inside: str) -> Markup:
        return tag(name, inside, class_="number") if n >= first else tag(name, inside)

    head = tag("tr", *(cell("th", n, text) for n, text in enumerate(heads)))
    body = join(tag("tr", *(cell("td", n, text) for n, text in enumerate(row))) for row in rows)
    return tag("div", tag("table", tag("thead", head), tag("tbody", body)), class_="wide")
