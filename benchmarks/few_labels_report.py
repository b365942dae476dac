"""The tables and the picture of ``few_labels.py``, from its numbers."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.pictures import OURS_TOO, drawn, pyplot, ticks
from benchmarks.common.statistics import standard_error
from benchmarks.few_labels_methods import METHODS, Method

#: the groups that can be compared: those that are given the same
GROUPS = {"labels": "given the labels alone", "class sizes": "given the class sizes as well"}
#: (method, count) -> seed -> error in per cent, seconds
Results = dict[tuple[str, int], dict[int, tuple[float, float]]]


class Row(NamedTuple):
    """One method or family: at each count mean error, standard error, median seconds; NaN if missing."""

    name: str
    errors: NDArray[np.float64]
    spreads: NDArray[np.float64]
    seconds: NDArray[np.float64]
    seeds: int
    ours: bool
    mbo: bool


def rows(results: Results, given: str, counts: list[int]) -> list[Row]:
    """One row a method or family of the group, best first; of a family the best at each count."""
    found: dict[str, list[Method]] = {}
    for method in METHODS:
        if method.given == given:
            found.setdefault(method.family or method.name, []).append(method)
    out = []
    for name, members in found.items():
        columns, seeds = [], []
        for count in counts:
            cells = [
                np.array(list(results[one.name, count].values()))
                for one in members
                if (one.name, count) in results
            ]
            best = min(cells, key=lambda cell: cell[:, 0].mean(), default=np.full((1, 2), np.nan))
            error = best[:, 0]
            columns.append((error.mean(), standard_error(error, np.nan), np.median(best[:, 1])))
            seeds.append(len(error))
        errors, spreads, seconds = np.array(columns).T
        if not np.isnan(errors).all():
            out.append(Row(name, errors, spreads, seconds, min(seeds), members[0].ours, members[0].mbo))
    return sorted(out, key=lambda row: np.nanmean(np.log(row.errors)))


def table(results: Results, counts: list[int]) -> str:
    """Mean error and standard error at each count, group by group, and the marks to beat."""
    lines = []
    for given, title in GROUPS.items():
        group = rows(results, given, counts)
        head = "".join(f"{count:>12}" for count in counts)
        lines += [
            "",
            f"{title.capitalize()}: mean error %, standard error; labels a class",
            f"{'':34}{head}   seconds  seeds",
        ]
        for row in group:
            cells = "".join(
                f"{error:7.2f} ±{spread:4.2f}" if np.isfinite(spread) else f"{error:7.2f}     "
                for error, spread in zip(row.errors, row.spreads, strict=True)
            )
            lines.append(
                f"{'> ' * row.ours + row.name:34}{cells} {np.nanmedian(row.seconds):9.2f} {row.seeds:6}"
            )
        peers = [row for row in group if not row.ours]
        marks = {"best peer": peers}
        if any(row.mbo for row in peers):
            marks["best peer but MBO"] = [row for row in peers if not row.mbo]
        for mark, some in marks.items():
            if some:
                best = np.nanmin([row.errors for row in some], axis=0)
                lines.append(f"{mark:34}" + "".join(f"{error:7.2f}     " for error in best))
    return "\n".join(lines[1:])


class Cell(NamedTuple):
    """One set and number of labels: errors of ours, of the best of the others, and their difference."""

    ours: float
    best: float
    name: str
    #: ours less the other's, mean and standard error over the same draws
    difference: float
    error: float

    @property
    def standing(self) -> str:
        """Ahead, level, behind by more than a standard error, or by more than two and half a point."""
        if self.difference > max(2 * self.error, 0.5):
            return "far behind"
        return (
            "behind"
            if self.difference > self.error
            else "ahead"
            if self.difference < -self.error
            else "level"
        )


#: ours among those given the same; what being given the class sizes adds is the last comparison
COMPARED = {"labels": "LASS, features", "class sizes": "LASS, features, sizes"}
SIZES = "class sizes against labels alone"
#: comparison -> set -> labels a class -> cell
Compared = dict[str, dict[str, dict[int, Cell]]]


def compare_sets(sets: dict[str, Results]) -> Compared:
    """Ours against the best of the others in hindsight, and ours with class sizes against without."""
    found: Compared = {}
    for title, mine, others in (
        *(
            (GROUPS[given], mine, [m.name for m in METHODS if m.given == given and not m.ours])
            for given, mine in COMPARED.items()
        ),
        (SIZES, COMPARED["class sizes"], [COMPARED["labels"]]),
    ):
        for name, results in sets.items():
            for count in sorted({count for _, count in results}):
                own = results.get((mine, count), {})
                cells = [
                    (float(np.mean([them[seed][0] for seed in own])), other, them)
                    for other in others
                    if own and set(own) <= set(them := results.get((other, count), {}))
                ]
                if not cells:
                    continue
                best, other, them = min(cells, key=lambda one: one[0])
                apart = [own[seed][0] - them[seed][0] for seed in own]
                mean = float(np.mean([error for error, _ in own.values()]))
                cell = Cell(mean, best, other, float(np.mean(apart)), standard_error(apart))
                found.setdefault(title, {}).setdefault(name, {})[count] = cell
    return found


def as_numbers(compared: Compared) -> dict[str, Any]:
    """For the result file: cells by their names, with their standings."""
    return {
        title: {
            name: {count: {**cell._asdict(), "standing": cell.standing} for count, cell in cells.items()}
            for name, cells in sets.items()
        }
        for title, sets in compared.items()
    }


def sets_table(compared: Compared) -> str:
    """Errors of ours and of the best of the others in each cell, and how many are ahead, level and behind."""
    marks = {"ahead": "+", "level": "=", "behind": "-", "far behind": "!"}
    lines = []
    for title, sets in compared.items():
        counts = sorted({count for cells in sets.values() for count in cells})
        lines += [
            "",
            f"{title.capitalize()}: error % of ours, of the best other in hindsight; labels a class",
        ]
        lines.append(f"{'':11}" + "".join(f"{count:>25}" for count in counts))
        for name, cells in sets.items():
            line = f"{name:11}"
            for count in counts:
                one = cells.get(count)
                line += " " * 25 if one is None else (
                    f" {one.ours:5.1f} {one.best:5.1f} {marks[one.standing]} {one.name[:10]:10}"
                )  # fmt: skip
            lines.append(line)
        standings = [one.standing for cells in sets.values() for one in cells.values()]
        lines.append(", ".join(f"{standings.count(mark)} {mark} ({sign})" for mark, sign in marks.items()))
    return "\n".join(lines[1:])


def draw_sets(compared: Compared, path: Path) -> None:
    """The difference to the best of the others in every cell, one panel a comparison."""
    with drawn(path, (5.4 * len(compared), 4.8), columns=len(compared), sharey=True) as (_, panels):
        for axes, (title, sets) in zip(panels, compared.items(), strict=True):
            colours = pyplot().get_cmap("tab10")
            counts = sorted({count for cells in sets.values() for count in cells})
            for place, (name, cells) in enumerate(sets.items()):
                at = [counts.index(count) + 0.08 * (place - len(sets) / 2) for count in cells]
                values = [-cell.difference for cell in cells.values()]
                spreads = [cell.error for cell in cells.values()]
                axes.errorbar(at, values, spreads, fmt="o", ms=4, color=colours(place), label=name, lw=1)
            axes.axhline(0.0, color="#5C6670", lw=1)
            axes.set(xlabel="labels a class", title=title)
            ticks(axes, range(len(counts)), [str(count) for count in counts])
        panels[0].set_ylabel("points of accuracy ahead of the best other")
        panels[-1].legend(fontsize=8)


def spaced(places: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Move places apart until neighbours keep the gap, as little as possible: labels do not overlap."""
    order = np.argsort(places)
    blocks: list[tuple[float, int]] = []  # middle and number of labels that touch each other
    for place in places[order]:
        blocks.append((float(place), 1))
        while len(blocks) > 1:
            (low, m), (high, n) = blocks[-2:]
            if high - low >= gap * (m + n) / 2:
                break
            blocks[-2:] = [((m * low + n * high) / (m + n), m + n)]
    moved = [middle + gap * (i - (n - 1) / 2) for middle, n in blocks for i in range(n)]
    out = np.empty_like(places)
    out[order] = moved
    return out


def draw(results: Results, counts: list[int], path: Path, size: int) -> None:
    """Error against labels a class, one panel a group."""
    viridis = pyplot().get_cmap("viridis")
    with drawn(path, (14, 7.5), columns=2, sharey=True) as (_, panels):
        for axes, (given, title) in zip(panels, GROUPS.items(), strict=True):
            group = [row for row in rows(results, given, counts) if np.isfinite(row.errors).all()]
            shades = np.linspace(0.0, 0.85, max(1, sum(not row.ours for row in group)))
            colours, reds = iter(viridis(shades)), cycle(OURS_TOO)
            axes.set(xscale="log", yscale="log", xlabel="labels a class", title=title)
            axes.set_xlim(0.9 * counts[0], 1.1 * counts[-1])
            places = np.exp(spaced(np.log([row.errors[-1] for row in group]), 0.046))
            for row, place in zip(group, places, strict=True):
                draw_row(axes, counts, row, place, next(reds if row.ours else colours))
            ticks(axes, counts)
            axes.set_yticks([5, 10, 20, 40, 80], ["5", "10", "20", "40", "80"])
        panels[0].set_ylabel(f"error on the unlabelled of {size:,} MNIST digits, %")


def draw_row(axes: Any, counts: list[int], row: Row, place: float, colour: Any) -> None:
    """One line with its name at the end; ours bold, threshold dynamics dashed."""
    width, weight, order = (2.6, "bold", 3) if row.ours else (0.9, "normal", 2)
    line = {"color": colour, "lw": width, "ls": "--" if row.mbo else "-", "zorder": order}
    axes.errorbar(counts, row.errors, np.nan_to_num(row.spreads), elinewidth=0.7, **line)
    pointer = {"arrowstyle": "-", "lw": 0.5, "color": colour, "relpos": (0.0, 0.5)}
    axes.annotate(
        row.name, (counts[-1], row.errors[-1]), (1.45 * counts[-1], place), annotation_clip=False,
        va="center", color=colour, fontsize=8, fontweight=weight, arrowprops=pointer,
    )  # fmt: skip
