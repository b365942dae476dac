"""The table and the picture of ``solvers.py``, from its numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.pictures import drawn

Cell = dict[str, Any]
OURS = "auto"
#: the two sets on which the best general solver is compared
SMALL_SETS = ("mnist-2k", "mnist-5k")

#: how a method is called and drawn: label, colour, marker
LOOKS: dict[str, tuple[str, str, str]] = {
    "auto": ("LASS, auto", "#b5123e", "o"),
    "face": ("LASS, face", "#e0607e", "o"),
    "gradient": ("LASS, gradient", "#f0a35e", "o"),
    "reduced": ("LASS, reduced", "#8f5fbf", "o"),
    "admm-star": ("ADMM, rho*", "#1f4e8c", "s"),
    "admm-grid": ("ADMM, best rho", "#58a1dd", "s"),
    "osqp": ("OSQP", "#2a7f62", "^"),
    "osqp-cg": ("OSQP, MKL-CG", "#63b58b", "v"),
    "scs": ("SCS, direct", "#6b6b3a", "<"),
    "scs-cg": ("SCS, CG", "#a8a24f", ">"),
    "clarabel": ("Clarabel", "#444444", "D"),
    "proxqp": ("ProxQP", "#7d7d7d", "p"),
    "piqp": ("PIQP", "#b0b0b0", "h"),
}
GENERAL = ("osqp", "osqp-cg", "scs", "scs-cg", "clarabel", "proxqp", "piqp")
REASONS = {"not installed": "absent", "inaccurate": "no gap"}


def _number(value: float) -> str:
    if value < 0.0995:
        return f"{value:.4f}"
    return f"{value:.2f}" if value < 9.995 else f"{value:.0f}"


def seconds(cell: Cell | None) -> str:
    """Seconds of a cell, or why there are none."""
    if cell is None:
        return ""
    if cell["status"] == "solved":
        return _number(cell["seconds"])
    if cell["status"] == "timeout":
        return f">{_number(cell.get('limit', cell['seconds']))}"
    return REASONS.get(cell["status"], cell["status"])


def _ratio(cell: Cell | None, ours: Cell | None) -> tuple[float, bool]:
    """How many times as long as ours, and whether that is only a lower bound; nan where unknown."""
    if not cell or not ours or ours["status"] != "solved":
        return math.nan, False
    if cell["status"] == "timeout":
        return cell["limit"] / ours["seconds"], True
    return (cell["seconds"] / ours["seconds"] if cell["status"] == "solved" else math.nan), False


def _times(ratio: float, bound: bool) -> str:
    if math.isnan(ratio):
        return ""
    return f"{'>' if bound else ''}{ratio:.2g}x" if ratio < 9.95 else f"{'>' if bound else ''}{ratio:.0f}x"


def table(results: dict[str, Any]) -> str:
    """Seconds and, below them, how many times as long as ours; then the summary."""
    cells = results["cells"]
    methods = [method for method in LOOKS if any(method in row for row in cells.values())]
    width = max((len(name) for name in cells), default=3)
    heads = {method: max(9, len(method) + 1) for method in methods}
    lines = [
        f"Seconds to a certified relative gap of {results['tolerance']:g}; below, times as long as auto.",
        " " * width + "".join(f"{method:>{heads[method]}}" for method in methods),
    ]
    for name, row in cells.items():
        ours = row.get(OURS)
        lines.append(f"{name:{width}}" + "".join(f"{seconds(row.get(m)):>{heads[m]}}" for m in methods))
        ratios = [_times(*_ratio(row.get(m), ours)) if m != OURS else "" for m in methods]
        lines.append(" " * width + "".join(f"{r:>{heads[m]}}" for r, m in zip(ratios, methods, strict=True)))
    return "\n".join([*lines, "", *_summary(cells)])


def _mean(cells: dict[str, dict[str, Cell]], peer: str) -> str:
    """Average the ratios to ours geometrically; the two small sets are compared apart."""
    rows = [row for name, row in cells.items() if name not in SMALL_SETS and peer in row]
    ratios = [_ratio(row[peer], row.get(OURS)) for row in rows]
    known = [(ratio, bound) for ratio, bound in ratios if not math.isnan(ratio)]
    if not known:
        return "not measured"
    mean = math.exp(sum(math.log(ratio) for ratio, _ in known) / len(known))
    return f"{_times(mean, any(bound for _, bound in known))} over {len(known)} sets"


def _best(row: dict[str, Cell], peers: tuple[str, ...]) -> str:
    """Name the fastest peer, with its ratio to ours."""
    solved = [peer for peer in peers if row.get(peer, {}).get("status") == "solved"]
    if not solved:
        return "none solved it"
    best = min(solved, key=lambda peer: row[peer]["seconds"])
    return f"{best}, {_times(*_ratio(row[best], row.get(OURS)))}"


def _summary(cells: dict[str, dict[str, Cell]]) -> list[str]:
    lines = [
        f"Geometric mean, ADMM at rho* (eigenvalues not charged): {_mean(cells, 'admm-star')}",
        f"Geometric mean, ADMM at the best rho of a grid:          {_mean(cells, 'admm-grid')}",
    ]
    for name in SMALL_SETS:
        if name in cells:
            lines.append(f"Best general solver at {name}, lam=1: {_best(cells[name], GENERAL)}")
    peers = ("admm-star", "admm-grid", *GENERAL)
    lines += [f"Fastest peer at {name}: {_best(row, peers)}" for name, row in cells.items()]
    return lines


LOWEST = 1e-9  # gaps below are drawn here: the picture is about the way to 1e-6


def _panel(axes: Any, name: str, facts: dict[str, Any], row: dict[str, Cell], tolerance: float) -> None:
    """One set: a line for every method that reports its gaps, a mark for every solution."""
    axes.axhspan(LOWEST / 10, tolerance, color="#2e8b57", alpha=0.07, lw=0)
    axes.axhline(tolerance, color="#2e8b57", lw=0.8, ls=(0, (4, 3)))
    for method, (_, colour, marker) in reversed(LOOKS.items()):
        cell = row.get(method)
        if not cell:
            continue
        style = {"color": colour, "zorder": 9 if method == OURS else 5}
        if steps := cell.get("history"):
            when, gap = np.array(steps).T
            axes.plot(when, np.maximum(gap, LOWEST), lw=2.6 if method == OURS else 1.3, **style)
        elif tries := [t for t in cell.get("tries", []) if "relative_gap" in t]:
            when = np.array([t["seconds"] for t in tries])
            gap = np.array([t["relative_gap"] for t in tries])
            axes.plot(when, np.maximum(gap, LOWEST), lw=0.7, ls=":", **style)
            axes.plot(when, np.maximum(gap, LOWEST), ls="", marker=marker, ms=4, mfc="white", **style)
        if cell["status"] == "solved":
            size = 9 if method == OURS else 6
            at = max(cell["relative_gap"], LOWEST)
            axes.plot([cell["seconds"]], [at], ls="", marker=marker, ms=size, mec="white", mew=0.8, **style)
    axes.set_title(name, fontsize=11, pad=16)
    size = f"{facts['N']:,} x {facts['K']},  {facts['labelled']:,} labelled"
    axes.text(0, 1.015, size, transform=axes.transAxes, fontsize=8.5, color="#666666", va="bottom")
    absent = [LOOKS[m][0] for m, c in row.items() if c["status"] in ("timeout", "memory", "failed")]
    if absent:
        text = "not within limits:\n" + "\n".join(absent)
        axes.text(
            0.985, 0.98, text, transform=axes.transAxes, ha="right", va="top", fontsize=6.5, color="#777777"
        )


def _legend(axes: Any, methods: list[str]) -> None:
    from matplotlib.lines import Line2D

    axes.axis("off")
    handles = []
    for method in methods:
        (label, colour, marker), ours = LOOKS[method], method == OURS
        width = 0.0 if method in GENERAL else 2.6 if ours else 1.3
        style = {"color": colour, "marker": marker, "mec": "white", "ms": 9 if ours else 7, "lw": width}
        handles.append(Line2D([], [], label=label, **style))
    axes.legend(handles=handles, loc="center", fontsize=10, labelspacing=0.5)


def draw(results: dict[str, Any], path: Path) -> None:
    """Gap against seconds, one panel a set, on common axes."""
    from matplotlib.ticker import LogLocator, NullFormatter

    cells, machine = results["cells"], results["machine"]
    methods = [method for method in LOOKS if any(method in row for row in cells.values())]
    columns = min(4, len(cells) + 1)
    lines = -(-(len(cells) + 1) // columns)
    size = (3.7 * columns, 3.5 * lines + 0.7)
    with drawn(path, size, lines, columns, sharex=True, sharey=True) as (figure, panels):
        for axes, (name, row) in zip(panels, cells.items(), strict=False):
            _panel(axes, name, results["sets"][name], row, results["tolerance"])
            axes.set(xscale="log", yscale="log", ylim=(LOWEST / 2, 30.0))
            axes.xaxis.set_major_locator(LogLocator(numticks=12))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.yaxis.set_major_locator(LogLocator(base=1000.0, numticks=8))
            axes.tick_params(labelsize=9, labelbottom=True)
        for axes in panels[len(cells) : -1]:
            axes.axis("off")
        _legend(panels[-1], methods)
        figure.supxlabel("seconds, set-up included")
        figure.supylabel("certified relative gap")
        where = f"{machine['processor']}, {machine['cores']} cores"
        figure.suptitle(f"To a certified gap of {results['tolerance']:g}: {where}", fontsize=13)
