"""Methods compared over random partitions: gathering, choosing, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common.pictures import curves, legend, ticks
from benchmarks.common.statistics import Best, best, difference
from evidence.experiment import Context, Table

#: two methods are level within so many points of error, or one standard error of their difference
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """Errors in per cent of ``methods``, by the number of labels: one sheet a run.

    Every method has at each number of labels the value of its parameter with the least mean error.
    """

    methods: Sequence[str]
    sheets: Mapping[int, Sequence[Mapping[str, Any]]]

    @property
    def counts(self) -> list[int]:
        """Numbers of labels."""
        return list(self.sheets)

    @cached_property
    def cells(self) -> dict[int, dict[str, Best]]:
        """The best of each method at each number of labels."""
        return {
            count: {name: best([sheet["figures"][name] for sheet in found]) for name in self.methods}
            for count, found in self.sheets.items()
        }

    def line(self, name: str) -> list[Best]:
        """A method over all numbers of labels."""
        return [self.cells[count][name] for count in self.counts]

    def along(self, name: str, values: Sequence[float], count: int) -> list[Best]:
        """A method at one number of labels over the values of its parameter, which keys begin with."""
        found = [sheet["figures"][name] for sheet in self.sheets[count]]
        return [
            best([{key: v for key, v in run.items() if key.split(" ")[0] == f"{value:g}"} for run in found])
            for value in values
        ]

    def seconds(self, name: str, count: int) -> float:
        """Median time of one fit: other work on the machine makes some runs slow."""
        return float(np.median([sheet["seconds"][name] for sheet in self.sheets[count]]))

    def lead(self, name: str, peers: Sequence[str], count: int) -> int:
        """1 where a method is ahead of its best peer, 0 where they are level, -1 where it is behind."""
        row = self.cells[count]
        gap, error = difference(row[name], min((row[other] for other in peers), key=lambda one: one.mean))
        return int(abs(gap) > max(LEVEL, error)) * (1 if gap < 0 else -1)

    def wins(self, name: str, peers: Sequence[str]) -> list[int]:
        """Numbers of labels at which a method is level with the best peer, or better."""
        return [count for count in self.counts if self.lead(name, peers, count) >= 0]

    def nearly_all(self, name: str, peers: Sequence[str]) -> bool:
        """Whether a method wins at four in five numbers of labels."""
        return len(self.wins(name, peers)) >= 0.8 * len(self.counts)

    def standing(self, name: str, peers: Sequence[str]) -> str:
        """How often a method is ahead of all peers, how often level, and where behind whom."""
        leads = {count: self.lead(name, peers, count) for count in self.counts}
        behind = []
        for count in (count for count, lead in leads.items() if lead < 0):
            row = self.cells[count]
            first = min(peers, key=lambda other: row[other].mean)
            behind.append(f"{count}: {row[name].mean:.1f} against {row[first].mean:.1f} of {first}")
        found = list(leads.values())
        counts = f"{found.count(1)} of {len(found)} numbers of labels, level at {found.count(0)}"
        losses = f", behind at {', '.join(behind)}" if behind else ""
        return f"ahead of {', '.join(peers)} at {counts}{losses}"

    def gaps(self, name: str, other: str) -> str:
        """Differences in points at all numbers of labels, with standard errors over the same runs."""
        pairs = [difference(row[name], row[other]) for row in self.cells.values()]
        return ", ".join(f"{mean:+.1f} ± {error:.1f}" for mean, error in pairs)

    def rising(self) -> list[str]:
        """Methods whose error grows somewhere with the number of labels."""
        return [name for name in self.methods if (np.diff([one.mean for one in self.line(name)]) > 0).any()]

    def tables(self, what: str, grids: Sequence[str], note: str) -> list[Table]:
        """Errors, the values chosen by the methods that have a grid, and seconds."""
        heads = ["method", *(f"{count} a {what}" for count in self.counts)]
        return [
            Table(
                "Error in %",
                heads,
                [[name, *map(str, self.line(name))] for name in self.methods],
                "Mean and standard error; with a grid, the value of the best mean at each number of labels.",
            ),
            Table(
                "Values chosen",
                heads,
                [[name, *(one.parameter for one in self.line(name))] for name in grids],
                note,
            ),
            Table(
                "Seconds",
                heads,
                [[name, *(round(self.seconds(name, c), 3) for c in self.counts)] for name in self.methods],
                "Median of one fit, at one value of the grid; building the graph is not timed.",
            ),
        ]

    def draw_strengths(self, context: Context, grid: Sequence[float], unit: str) -> None:
        """LASS with and without a prior along its grid, at a few, some and many labels."""
        counts, names = self.counts, ("LASS", "LASS + prior")
        picked = sorted({counts[1], counts[len(counts) // 2], counts[-1]})
        with context.figure("strength", (9.6, 3.9), columns=len(picked)) as (figure, axes):
            for axis, count in zip(axes, picked, strict=True):
                curves(axis, grid, {name: self.along(name, grid, count) for name in names})
                axis.set(xscale="log", xlabel="2 lam d", title=f"{count} {unit}")
                ticks(axis, grid[::2])
            axes[0].set_ylabel("error, %")
            legend(figure, axes[:1])


def with_graph(
    context: Context, load: Callable[[Context], Any], neighbours: int, **options: Any
) -> Callable[[], tuple[Any, sp.csr_array]]:
    """Data and the graph of their neighbours, loaded and built when they are first asked for."""

    @cache
    def given() -> tuple[Any, sp.csr_array]:
        found = load(context)
        context.progress(f"{found.description}; building the graph")
        return found, lass.knn_graph(found.X, neighbours, **options)

    return given


def compare(
    context: Context, methods: Sequence[str], counts: Sequence[int], measure: Callable[[int, int], Any]
) -> Comparison:
    """Gather ``measure(count, seed)`` for all runs; what was measured before is read."""
    sheets: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    for number in range(context.runs):
        for count in counts:
            make = partial(measure, count, number)
            sheets[count].append(context.remember(f"labels-{count}-run-{number}", make))
        context.progress(f"run {number + 1} of {context.runs}")
    return Comparison(methods, sheets)
