"""Lines of methods in pictures: one colour and mark a method, the same in all experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evidence.contest import Contest
from evidence.drawing import COLOURS, MARKS
from evidence.frame import Context
from evidence.grids import Best

#: methods by the place of their colour; what is drawn together has different places
PLACES = {
    "LASS": 0, "LASS + prior": 1, "LASS, defaults": 2, "SSL": 3, "SSL1": 4, "SSL2": 5, "NN": 6, "KSVM": 7,
    "SVM": 7, "Poisson": 6, "most frequent": 7,
}  # fmt: skip


def draw(axis: Any, places: Sequence[float], methods: Mapping[str, Sequence[Best]], **options: Any) -> None:
    """Means of each method with standard errors; ours are thick and on top."""
    for method, found in methods.items():
        ours = method.startswith("LASS")
        axis.errorbar(
            places, [one.mean for one in found], yerr=[one.error for one in found], label=method, capsize=2,
            color=COLOURS[PLACES[method]], marker=MARKS[PLACES[method]], zorder=3 if ours else 2,
            linewidth=2.4 if ours else 1.4, **options,
        )  # fmt: skip


def strengths(context: Context, contest: Contest, grid: Sequence[float], unit: str) -> None:
    """LASS with and without a prior along its grid, at a few, some and many labels."""
    counts, names = contest.counts, ("LASS", "LASS + prior")
    picked = sorted({counts[1], counts[len(counts) // 2], counts[-1]})
    with context.figure("strength", (9.6, 3.9), columns=len(picked)) as (figure, axes):
        for axis, count in zip(axes, picked, strict=True):
            draw(axis, grid, {name: contest.along(name, grid, count) for name in names})
            axis.set(xscale="log", xlabel="2 lam d", title=f"{count} {unit}")
            at(axis, grid[::2])
        axes[0].set_ylabel("error, %")
        legend(figure, axes[0])


def at(axis: Any, places: Sequence[float]) -> None:
    """Ticks at the places that were measured, and nowhere else."""
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.minorticks_off()


def legend(figure: Any, axis: Any) -> None:
    """One legend for all panels, above them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
