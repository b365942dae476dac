"""What can be wrong with a file: one exception, and the list of rows that were left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lass.collection.records import near_names


class BadRow(NamedTuple):
    """What is wrong in one line of a file (or row of a table without lines); None: in the whole file."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        file = self.file if self.file.isprintable() else shown(self.file, 200)
        place = file if self.line is None else f"{file}, line {self.line}"
        return f"{place}: {self.message}"


class BadInput(ValueError):  # noqa: N818
    """A file that cannot be used as it is: which one, where, what was found and what to do.

    Examples
    --------
    >>> from lass.collection.reading import BadInput
    >>> print(BadInput("items.csv", 7, "found 2 cells instead of 3"))
    items.csv, line 7: found 2 cells instead of 3
    """

    def __init__(self, file: str | Path, line: int | None, message: str) -> None:
        self.bad_row = BadRow(str(file), line, message)
        super().__init__(str(self.bad_row))

    @property
    def file(self) -> str:
        """The file as it was named."""
        return self.bad_row.file

    @property
    def line(self) -> int | None:
        """Where in the file, from 1; None where it is about the whole file."""
        return self.bad_row.line


class BadRowLog:
    """Stops at the first bad row of a file, or lists it in ``skipped`` and goes on, if ``skip_bad``."""

    def __init__(self, file: str | Path, skip_bad: bool = False) -> None:
        self.file = str(file)
        self.skip_bad = skip_bad
        self.skipped: list[BadRow] = []

    @classmethod
    def of(cls, source: Any, name: str, skip_bad: bool = False) -> BadRowLog:
        """The log of a file, or under the name of the argument for a table in memory."""
        return cls(source if isinstance(source, str | Path) else name, skip_bad)

    def error(self, message: str, line: int | None = None) -> BadInput:
        """The exception for what is wrong with the whole file."""
        return BadInput(self.file, line, message)

    def add(self, line: int | None, message: str) -> None:
        """A row that cannot be used."""
        if not self.skip_bad:
            raise self.error(message, line)
        self.skipped.append(BadRow(self.file, line, message))

    def nothing_left(self, what: str) -> BadInput:
        """The exception for a file without a single good row."""
        if not self.skipped:
            return self.error(f"no {what} in it; it has a header at most. Is it the right file?")
        first = self.skipped[0]
        return self.error(
            f"none of its rows can be used; the first of {len(self.skipped)} problems: {first.message}",
            first.line,
        )


def shown(value: object, limit: int = 60) -> str:
    """A value for a message, however long or strange."""
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def reason_of(error: Exception) -> str:
    """What a decoder has to say about damaged bytes, on one line and not too long."""
    return f"{type(error).__name__}: {ascii(str(error).partition(chr(10))[0])[1:-1][:160]}"


def missing_column(name: str, columns: list[str]) -> str:
    """A message about a column that is not there, with those that are, the closest first."""
    near = near_names(name, columns[:1000], cutoff=0.4)
    ordered = near + [column for column in columns if column not in near]
    listing = ", ".join(shown(column) for column in ordered[:12])
    more = f" and {len(ordered) - 12} more" if len(ordered) > 12 else ""
    return f"there is no column {shown(name)}; its columns are {listing}{more}"
