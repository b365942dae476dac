"""One house style for all pictures of the evidence: readable on a phone, in print, and colour-blind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lass.tagging.evaluation.figure import pyplot

#: colours that people with any kind of colour blindness can tell apart (Okabe and Ito), ours first
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5C6670", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE = {
    "font.family": "DejaVu Sans", "font.size": 11, "axes.titlesize": 12, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#E3E6EA", "grid.linewidth": 0.8, "lines.linewidth": 1.8,
    "lines.markersize": 5.5, "legend.frameon": False, "figure.facecolor": "white",
}  # fmt: skip


@contextmanager
def drawn(
    path: Path, size: tuple[float, float], rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Any, list[Any]]]:
    """A figure and its axes, written to a PNG if nothing went wrong; the same figures give the same file."""
    plt = pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            rows, columns, figsize=size, layout="constrained", squeeze=False, **options
        )
        try:
            yield figure, list(axes.ravel())
            figure.savefig(path, dpi=160, metadata={"Software": None})
        finally:
            plt.close(figure)


def curves(
    axis: Any,
    places: Sequence[float],
    series: Mapping[str, tuple[Sequence[float], Sequence[float] | None]],
    legend: bool = True,
) -> None:
    """A line for each name, with its (means, standard errors); the first is ours and is drawn on top.

    Colours and marks go by the place of a name in ``series``: keep one order for all panels.
    """
    for number, (name, (means, errors)) in enumerate(series.items()):
        axis.errorbar(
            places, means, yerr=errors, label=name, color=COLOURS[number % len(COLOURS)],
            marker=MARKS[number % len(MARKS)], capsize=2, zorder=3 if number == 0 else 2,
            linewidth=2.6 if number == 0 else 1.6,
        )  # fmt: skip
    if legend:
        axis.legend()
