"""Tables and the picture of ``first_tags.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.pictures import COLOURS, MARKS, drawn, legend, ticks
from benchmarks.common.results import add
from benchmarks.common.statistics import standard_error

OURS = "LASS"
#: what is compared, in percent
FIGURES = {"map": "Mean average precision", "precision": "Precision of the first suggestion"}
#: numbers of tagged items at which calibration counts
FEW = ("3", "5", "8", "12", "20")
#: from so many tagged items on percentages should be shown
SHOWN_FROM = ("12", "20", "40")
#: a cell is far behind from two standard errors and so much on
FAR = 0.01

Cells = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


class Compared(NamedTuple):
    """Ours and the best baseline of one cell over the same draws."""

    name: str
    cell: str
    best: str
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]

    @property
    def lead(self) -> float:
        """Mean difference."""
        return float((self.ours - self.theirs).mean())

    @property
    def error(self) -> float:
        """Standard error of the mean difference."""
        return standard_error(self.ours - self.theirs)

    @property
    def level(self) -> bool:
        """No worse than one standard error; equal up to rounding counts as level."""
        return self.lead >= -self.error - 1e-9

    @property
    def far_behind(self) -> bool:
        """Worse by more than two standard errors and one point."""
        return self.lead < -2.0 * self.error - FAR


def values_of(found: Mapping[str, Mapping[str, float]], figure: str) -> NDArray[np.float64]:
    """A figure in the order of the draws."""
    return np.array([found[draw][figure] for draw in sorted(found, key=int)])


def best_baseline(methods: Mapping[str, Any], figure: str) -> str:
    """The baseline, with its parameter, that has the highest mean in a cell."""
    others = [method for method in methods if not method.startswith(OURS)]
    return max(others, key=lambda method: float(values_of(methods[method], figure).mean()))


def compared(results: Mapping[str, Cells], figure: str, ours: str = OURS) -> Iterator[Compared]:
    """All cells that ours was measured in."""
    for name, found in results.items():
        for cell, methods in found.items():
            if ours in methods:
                best = best_baseline(methods, figure)
                both = (values_of(methods[method], figure) for method in (ours, best))
                yield Compared(name, cell, best, *both)


def falls(cells: Cells, ours: str = OURS) -> Iterator[tuple[str, float, float]]:
    """Where more tagged items give less: the number, the mean change, its standard error.

    Over all tags of a fixed sample of items: the tags seen are more with more tagged items, another task.
    """
    counts = [cell for cell in cells if cell.isdigit() and ours in cells[cell]]
    for fewer, more in pairwise(counts):
        change = np.subtract(*(values_of(cells[cell][ours], "map_all") for cell in (more, fewer)))
        if change.mean() < -standard_error(change):
            yield more, float(change.mean()), standard_error(change)


def summary(results: Mapping[str, Cells], ours: str = OURS) -> dict[str, Any]:
    """What the issue is judged by: counts of cells, calibration, percentages, falls of the curve."""
    text: dict[str, Any] = {}
    for figure in FIGURES:
        rows = list(compared(results, figure, ours))
        text[figure] = {
            "cells": len(rows), "level_or_ahead": sum(row.level for row in rows),
            "share": round(sum(row.level for row in rows) / max(len(rows), 1), 3),
            "far_behind": [f"{row.name} {row.cell}" for row in rows if row.far_behind],
            "mean_lead": round(float(np.mean([row.lead for row in rows])), 4) if rows else None,
        }  # fmt: skip
    errors = {name: _mean(found, FEW, "calibration", ours) for name, found in results.items()}
    errors = {name: value for name, value in errors.items() if value is not None}
    pooled = {name: _pooled(found, ours) for name, found in results.items()}
    shown = {name: _mean(found, SHOWN_FROM, "percentages", ours) for name, found in results.items()}
    dropped = {name: list(falls(found, ours)) for name, found in results.items()}
    return text | {
        "calibration": {
            "mean": round(float(np.mean(list(errors.values()))), 4) if errors else None,
            "pooled": {name: value for name, value in pooled.items() if value is not None},
            **errors,
        },
        "percentages_shown": shown,
        "falls": {name: found for name, found in dropped.items() if found},
    }


def _pooled(cells: Cells, ours: str) -> float | None:
    """The calibration error of all draws of a number of tagged items together, mean over these numbers."""
    found = []
    for cell in FEW:
        if ours in cells.get(cell, {}):
            bins = np.array([one["bins"] for one in cells[cell][ours].values()])
            found.append(np.abs(bins.mean(axis=0)).sum())
    return round(float(np.mean(found)), 4) if found else None


def _mean(cells: Cells, names: tuple[str, ...], figure: str, ours: str) -> float | None:
    found = [values_of(cells[cell][ours], figure).mean() for cell in names if ours in cells.get(cell, {})]
    return round(float(np.mean(found)), 4) if found else None


def table(results: Mapping[str, Cells], figure: str) -> str:
    """Ours against the best baseline of every cell."""
    lines = [
        "| set | tagged | LASS | best baseline | | difference | calibration error |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in compared(results, figure):
        own = f"{100 * row.ours.mean():.1f}"
        mark = " (behind)" if not row.level else ""
        mark = " (**far behind**)" if row.far_behind else mark
        difference = f"{100 * row.lead:+.1f} ± {100 * row.error:.1f}{mark}"
        error = values_of(results[row.name][row.cell][OURS], "calibration").mean()
        parts = [
            row.name,
            row.cell,
            own,
            f"{100 * row.theirs.mean():.1f}",
            row.best,
            difference,
            f"{error:.3f}",
        ]
        lines.append(f"| {' | '.join(parts)} |")
    return "\n".join(lines)


def report(content: dict[str, Any], path: Path) -> None:
    """Print the tables, keep them and the summary beside the numbers, and draw the picture."""
    results = content.get("results", {})
    names = dict.fromkeys(
        method for found in results.values() for cell in found.values() for method in cell
        if method.startswith(OURS)
    )  # fmt: skip
    summaries = {name: summary(results, name) for name in names}
    parts = [f"## {title}, %\n\n{table(results, figure)}" for figure, title in FIGURES.items()]
    path.with_suffix(".md").write_text("\n\n".join(["# First tags", *parts]) + "\n", encoding="utf-8")
    print("\n\n".join(parts))
    for name, found in summaries.items():
        print(name, *(f"  {key}: {value}" for key, value in found.items()), sep="\n")
    add(path, {"summary": summaries}, depth=5)
    if results:
        draw(results, path.with_suffix(".png"))


def draw(results: Mapping[str, Cells], path: Path) -> None:
    """Mean average precision over the number of tagged items, a panel a set."""
    rows = 2 if len(results) > 4 else 1
    columns = -(-len(results) // rows)
    size = (1.0 + 3.7 * columns, 1.2 + 3.3 * rows)
    with drawn(path, size, rows, columns) as (figure, panels):
        for axis, (name, cells) in zip(panels, results.items(), strict=False):
            counts = [cell for cell in cells if cell.isdigit()]
            for place, method in enumerate(_methods(results)):
                found = [_best_of(cells[cell], method) for cell in counts]
                known = [(int(cell), one) for cell, one in zip(counts, found, strict=True) if one is not None]
                if not known:
                    continue
                mine = method == OURS
                axis.errorbar(
                    [count for count, _ in known], [100 * one.mean() for _, one in known],
                    yerr=[100 * standard_error(one) for _, one in known], label=method, capsize=2,
                    color=COLOURS[place % 8], marker=MARKS[place % 8], linewidth=2.6 if mine else 1.3,
                    zorder=3 if mine else 2, linestyle="--" if method.startswith(OURS) and not mine else "-",
                )  # fmt: skip
            axis.set_xscale("log")
            ticks(axis, [int(cell) for cell in counts])
            axis.set(title=name, xlabel="tagged items", ylabel="mean average precision, %")
        for axis in panels[len(results) :]:
            axis.set_axis_off()
        legend(figure, panels[: len(results)], "lower", columns=4, fontsize=9)


def _methods(results: Mapping[str, Cells]) -> list[str]:
    """Ours first, then the baselines without their parameters."""
    names = {
        method.split(":")[0] for cells in results.values() for found in cells.values() for method in found
    }
    return sorted(names, key=lambda name: (name != OURS, not name.startswith(OURS), name))


def _best_of(methods: Mapping[str, Any], name: str) -> NDArray[np.float64] | None:
    """The figures of a method with its best parameter in a cell."""
    found = [values_of(one, "map") for method, one in methods.items() if method.split(":")[0] == name]
    return max(found, key=lambda values: float(values.mean())) if found else None
