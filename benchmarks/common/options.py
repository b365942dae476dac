"""The options that benchmarks share, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.common.data import DATA, MissingDataError
from benchmarks.common.results import RESULTS


def parser(text: str | None, *flags: str) -> argparse.ArgumentParser:
    """A parser with ``--data`` and ``--out``, and ``--resume`` or ``--redraw`` where they are named."""
    found = argparse.ArgumentParser(description=text, formatter_class=argparse.RawTextHelpFormatter)
    found.add_argument("--data", type=Path, default=DATA, help="folder of the data sets (or LASS_DATA)")
    found.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    meanings = {"resume": "measure only what is not there yet", "redraw": "measure nothing"}
    for flag in flags:
        found.add_argument(f"--{flag}", action="store_true", help=meanings[flag])
    return found


def chosen(names: Iterable[str], wanted: Sequence[str], what: str) -> list[str]:
    """Those of the names that are asked for, in full or by how they begin; all if nothing is.

    Examples
    --------
    >>> from benchmarks.common.options import chosen
    >>> chosen(["LASS", "LASS, sizes", "Poisson"], ["LASS", "Poi"], "method")
    ['LASS', 'Poisson']
    """
    names = list(names)
    found: set[str] = set()
    for part in wanted:
        matches = [part] if part in names else [name for name in names if name.startswith(part)]
        if not matches:
            raise SystemExit(f"error: no {what} begins with {part!r}; there are {'; '.join(names)}")
        found.update(matches)
    return [name for name in names if not wanted or name in found]


def run(main: Callable[[], None]) -> None:
    """Run a benchmark; missing data are one line and exit code 2."""
    try:
        main()
    except MissingDataError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
