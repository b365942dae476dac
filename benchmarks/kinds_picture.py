"""The picture of a part of the kinds: a row for each set and situation, a mark for each method."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.common.pictures import COLOURS, MARKS, drawn, legend
from benchmarks.suggestions_report import OURS


def draw(path: Path, cells: Mapping[str, Mapping[str, list[float]]], what: str) -> None:
    """Means over the draws, ours with its standard error; ``cells`` are by a label and a method."""
    methods = [OURS, *dict.fromkeys(name for cell in cells.values() for name in cell if name != OURS)]
    with drawn(path, (8.0, 1.6 + 0.32 * len(cells))) as (figure, (axis,)):
        places = np.arange(len(cells))
        for number, method in enumerate(methods):
            known = [(place, cell[method]) for place, cell in zip(places, cells.values(), strict=True)
                     if method in cell]  # fmt: skip
            means = [np.mean(found) for _, found in known]
            errors = [np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
                      for _, found in known]  # fmt: skip
            ours = method == OURS
            axis.errorbar(
                means, [place for place, _ in known], xerr=errors if ours else None, linestyle="none",
                marker=MARKS[number % len(MARKS)], color=COLOURS[number % len(COLOURS)], label=method,
                zorder=3 if ours else 2, markersize=8 if ours else 5.5,
            )  # fmt: skip
        axis.set_yticks(places, list(cells))
        axis.invert_yaxis()
        axis.set_xlabel(what)
        legend(figure, [axis], columns=3)
