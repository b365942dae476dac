"""One style for all pictures: readable on a phone, in print, and by the colour-blind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common.statistics import Best
from lass.tagging.evaluation.plotting import pyplot

#: colours that people with any kind of colour blindness can tell apart (Okabe and Ito), ours first
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5C6670", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: ours where there are too many others for the colours above, and what is only there for comparison
OURS, OURS_TOO, NEUTRAL = "#b5123e", ("#b5123e", "#e0607e", "#f0a35e"), "#999999"
STYLE = {
    "font.family": "DejaVu Sans", "font.size": 11, "axes.titlesize": 12, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#E3E6EA", "grid.linewidth": 0.8, "lines.linewidth": 1.8,
    "lines.markersize": 5.5, "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip
#: methods by the place of their colour; what is drawn together has different places
PLACES = {
    "LASS": 0, "LASS + prior": 1, "LASS, defaults": 2, "SSL": 3, "SSL1": 4, "SSL2": 5, "NN": 6, "KSVM": 7,
    "SVM": 7, "Poisson": 6, "most frequent": 7,
}  # fmt: skip


@contextmanager
def drawn(
    path: Path, size: tuple[float, float], rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Any, list[Any]]]:
    """A figure and its axes in reading order, written to a PNG if nothing went wrong.

    ``options`` go to ``matplotlib.pyplot.subplots``. The same figures give the same file.
    """
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False, **options
        )
        try:
            yield figure, list(axes.ravel())
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=160, metadata={"Software": None})
        finally:
            plt.close(figure)


def curves(axis: Any, places: Sequence[float], methods: Mapping[str, Sequence[Best]]) -> None:
    """Means of each method with standard errors; ours are thick and on top."""
    for method, found in methods.items():
        ours = method.startswith("LASS")
        axis.errorbar(
            places, [one.mean for one in found], yerr=[one.error for one in found], label=method, capsize=2,
            color=COLOURS[PLACES[method]], marker=MARKS[PLACES[method]], zorder=3 if ours else 2,
            linewidth=2.4 if ours else 1.4,
        )  # fmt: skip


def ticks(axis: Any, places: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Ticks at the places that were measured, and nowhere else."""
    axis.set_xticks(places, labels or [f"{place:g}" for place in places])
    axis.minorticks_off()


def legend(figure: Any, axes: Sequence[Any], place: str = "upper", columns: int = 0, **options: Any) -> None:
    """One legend for all panels, above or below them."""
    handles: dict[str, Any] = {}
    for axis in axes:
        lines, names = axis.get_legend_handles_labels()
        handles |= dict(zip(names, lines, strict=True))
    where = f"outside {place} center"
    figure.legend(handles.values(), handles, loc=where, ncols=columns or len(handles), **options)
