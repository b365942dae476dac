"""One experiment after the other, and the pages on all of them."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from evidence import NAMES, load
from evidence.frame import Context, Outcome
from evidence.keeping import Record, duration, save
from evidence.keeping import load as kept
from evidence.page import page
from evidence.summary import summary

#: repetitions of a quick run
QUICK_RUNS = 2


def reproduce(
    names: Sequence[str],
    out: Path,
    data: Path | None = None,
    *,
    quick: bool = False,
    runs: int = 20,
    fresh: bool = False,
    tell: Callable[[str], None] | None = None,
) -> list[Record]:
    """Run experiments and write their results, ``report.html`` and ``evidence.md`` into ``out``.

    A run that was stopped goes on where it was; ``fresh`` starts anew. With several names, one whose data
    are missing is told as such and the others go on. The pages tell all that ``out`` holds.

    Returns
    -------
    list of Record
        Of the experiments asked for, in the order of the report.
    """
    asked = [name for name in NAMES if name in names]
    done = []
    for name in asked:
        if fresh:
            shutil.rmtree(out / name, ignore_errors=True)
        module = load(name)
        context = Context(name, data, out, quick, QUICK_RUNS if quick else runs, tell)
        context.tell(module.TITLE)
        try:
            outcome, failure = module.run(context), ""
        except ValueError as error:
            if len(asked) == 1:
                raise
            outcome, failure = Outcome(), str(error)
            context.tell(f"not run: {failure}")
        small = quick and not getattr(module, "ALWAYS_WHOLE", False)
        record = Record(name, module.TITLE, outcome, small, context.runs, context.seconds, failure)
        save(record, out)
        context.tell(f"done, {duration(record.seconds)} of work")
        done.append(record)
        _pages(out)
    return done


def _pages(out: Path) -> None:
    records = [record for name in NAMES if (record := kept(name, out)) is not None]
    (out / "report.html").write_text(page(records, out, _machine()), encoding="utf-8")
    (out / "evidence.md").write_text(summary(records), encoding="utf-8")


def _machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("lass", "numpy", "scipy", "scikit-learn"))
    return f"{packages}; Python {platform.python_version()}; {os.cpu_count()} cores ({platform.machine()})"
