"""One experiment after the other, and the pages on all of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from evidence import NAMES, load
from evidence.experiment import Context, Record, Result, duration, save, saved
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
    progress: Callable[[str], None] | None = None,
) -> list[Record]:
    """Run experiments and write their results, ``report.html`` and ``evidence.md`` into ``out``.

    A run that was stopped goes on where it was; ``fresh`` starts anew. With several names, one whose data
    are missing is reported as such and the others go on. The pages show all that ``out`` holds.

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
        context = Context(name, data, out, quick, QUICK_RUNS if quick else runs, progress)
        if len(asked) > 1:  # of one alone, the first line may be that its data are missing
            context.progress(module.TITLE)
        try:
            result, failure = module.run(context), ""
        except ValueError as error:
            if len(asked) == 1:
                raise
            result, failure = Result(), str(error)
            context.progress(f"not run: {failure}")
        small = quick and not getattr(module, "ALWAYS_WHOLE", False)
        record = Record(name, module.TITLE, result, small, context.runs, context.seconds, failure)
        save(record, out)
        context.progress(f"done, {duration(record.seconds)} of work")
        done.append(record)
        records = [found for name in NAMES if (found := saved(name, out)) is not None]
        (out / "report.html").write_text(page(records, out), encoding="utf-8")
        (out / "evidence.md").write_text(summary(records), encoding="utf-8")
    return done
