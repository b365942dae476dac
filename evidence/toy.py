"""The illustrative example of the paper: fourteen items, four categories that overlap, three tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.pictures import COLOURS
from evidence.experiment import Cells, Context, Finding, Result, Table
from lass.report.paper_toy import (
    ALLOWED,
    CATEGORIES,
    EDGES,
    FROM_BOTH,
    FROM_POSITIVE,
    LETTERS,
    PRINTED,
    SSL,
    toy_assignments,
    toy_differences,
)

TITLE = "The illustrative example"
#: a quick run is no smaller
ALWAYS_WHOLE = True
TRUTH = {"a": [1], "b": [1, 2], "c": [1, 3], "d": [1, 4], "e": [1, 3, 4], "f": [1, 3], "g": [1, 3, 4]}
#: where the items are drawn, the primed ones from their letters
PLACES = {
    "a": (3.1, 4.4), "b": (1.5, 3.9), "c": (6.4, 1.5), "d": (6.3, 5.0), "e": (6.7, 3.6), "f": (4.9, 1.6),
    "g": (8.1, 3.3),
}  # fmt: skip
PRIMED = {
    "a": (-0.5, 0.8), "b": (0.1, -0.9), "c": (0.9, -0.3), "d": (1.0, 0.35), "e": (-0.6, -0.55),
    "f": (-0.35, 0.8), "g": (-0.3, -0.75),
}  # fmt: skip
#: centre, width and height of the categories, and where their names stand
SHAPES: tuple[tuple[Any, ...], ...] = (
    ((5, 3.3), 10.6, 7.6, (4.2, 6.3)), ((1.6, 3.5), 2.0, 2.7, (1.6, 5.05)),
    ((6.4, 2.4), 5.6, 3.8, (3.7, 0.75)), ((7.4, 4.1), 4.6, 3.8, (5.2, 5.8)),
)  # fmt: skip

Array = NDArray[np.float64]


def run(context: Context) -> Result:
    """The three tables beside the printed ones, entry by entry."""
    found, solutions = toy_assignments()
    differences = toy_differences(found)
    _draw(context, found)
    return Result(
        findings=_findings(found, differences, solutions),
        tables=[_table(name, found[name][7:], differences[name]) for name in found],
        pictures=[
            context.picture(
                "venn",
                "The four categories, the fourteen items and the graph; the bars are the assignments of "
                "each letter (the primed items have the same). The paper draws its graph and does not print "
                "it: these edges are those that give its tables back.",
                "Venn diagram: C1 holds C2, C3 and C4, of which C3 and C4 overlap; items a to g as filled "
                "circles, a' to g' as hollow ones with an edge to their letters.",
            )
        ],
        notes=[
            "Edges of weight one, lam = 1. The graph was found by asking which edges give both LASS tables "
            f"back: {', '.join('-'.join(edge) for edge in EDGES)}, and each primed item with its letter.",
            "Solved to a relative gap of "
            f"{max(solution.relative_gap for solution in solutions.values()):.1e}; what is left of the "
            "differences is the rounding of the print and, in the last digit, its stopping rule.",
        ],
        data={"found": {name: Z[7:].tolist() for name, Z in found.items()}, "printed": PRINTED},
    )


def _even_truth() -> Array:
    """Equal shares of the categories that each item belongs to."""
    shares = np.zeros((7, 4))
    for n, letter in enumerate(LETTERS):
        shares[n, np.array(TRUTH[letter]) - 1] = 1.0 / len(TRUTH[letter])
    return shares


def _findings(
    found: dict[str, Array], differences: dict[str, Array], solutions: dict[str, Any]
) -> list[Finding]:
    worst = {name: float(difference.max()) for name, difference in differences.items()}
    printed = [
        Finding(
            f"The table of assignments of a' to g' by {name}.",
            f"28 entries; the largest difference from print is {worst[name]:.4f}, allowed are {ALLOWED}.",
            worst[name] <= ALLOWED,
        )
        for name in found
    ]
    even = _even_truth()
    positive, both = found[FROM_POSITIVE], found[FROM_BOTH]
    own = max(float(np.abs(Z[7:] - Z[:7]).max()) for Z in (positive, both))
    before, after = ((Z[7:] * (even > 0)).sum(axis=1) for Z in (positive, both))
    far = [np.abs(Z[7:] - even).sum(axis=1) / 2 for Z in (positive, both)]
    missed = {name: int((Z[7:][even > 0] < 1e-6).sum()) for name, Z in found.items()}
    unique = all(solution.uniqueness().unique for solution in solutions.values())
    return [
        *printed,
        Finding(
            "An item without affinities inherits exactly the assignment of the one item it has an edge to.",
            f"Largest difference between a primed item and its letter: {own:.1e}.",
            own < 1e-6,
        ),
        Finding(
            "With positive affinities alone LASS gives items to categories they do not belong to, such as a' "
            "to C2 and d' to C3; negative ones prevent that.",
            f"a' in C2: {positive[7, 1]:.2f}, then {both[7, 1]:.2f}. d' in C3: {positive[10, 2]:.2f}, then "
            f"{both[10, 2]:.2f}.",
            bool(positive[7, 1] > 0.05 and positive[10, 2] > 0.05 and max(both[7, 1], both[10, 2]) < 1e-6),
        ),
        Finding(
            "With SSL the items just inherit the labels and miss many assignments.",
            f"Of the {sum(map(len, TRUTH.values()))} true pairs of a' to g' and a category, SSL leaves "
            f"{missed[SSL]} at zero, LASS with positive affinities {missed[FROM_POSITIVE]}, with both "
            f"{missed[FROM_BOTH]}.",
            missed[SSL] > max(missed[FROM_POSITIVE], missed[FROM_BOTH]),
        ),
        Finding(
            "With negative affinities the assignments are closer to the truth for all items.",
            f"The share given to true categories is {before.mean():.3f} on average with positive affinities, "
            f"{after.mean():.3f} with both, and falls for no item. Against even shares of the true "
            f"categories {int((far[1] < far[0]).sum())} of 7 items come closer (b' does not: its mass moves "
            "from C2 to C1, both of them true).",
            bool((after >= before - 1e-9).all()),
        ),
        Finding(
            "(Not stated.) The printed solutions are the only ones.",
            "Both are unique." if unique else "At least one is not unique.",
            unique,
        ),
    ]


def _table(name: str, Z: Array, difference: Array) -> Table:
    rows: Cells = []
    for n, letter in enumerate(LETTERS):
        cells = [f"{value:.3f} ({print_:.2f})" for value, print_ in zip(Z[n], PRINTED[name][n], strict=True)]
        rows.append([f"{letter}'", *cells, float(round(difference[n].max(), 4))])
    return Table(f"{name}: found (printed)", ["item", *CATEGORIES, "largest difference"], rows)


def _draw(context: Context, found: dict[str, Array]) -> None:
    from matplotlib.patches import Ellipse

    with context.figure("venn", (9.6, 7.0), rows=1, columns=2, width_ratios=[1.75, 1]) as (_, (venn, bars)):
        venn.set_axis_off()
        venn.set(xlim=(-0.6, 10.6), ylim=(-0.7, 7.4), title="Categories, items and edges")
        for (*shape, place), colour, category in zip(SHAPES, COLOURS, CATEGORIES, strict=False):
            venn.add_patch(Ellipse(*shape, facecolor=colour, edgecolor=colour, alpha=0.13))
            venn.add_patch(Ellipse(*shape, fill=False, edgecolor=colour, linewidth=2))
            venn.text(*place, category, color=colour, fontweight="bold", fontsize=14, ha="center")
        primed = {n: (x + PRIMED[n][0], y + PRIMED[n][1]) for n, (x, y) in PLACES.items()}
        edges = [(PLACES[edge[0]], PLACES[edge[1]]) for edge in EDGES]
        for one, other in [*edges, *((PLACES[letter], primed[letter]) for letter in LETTERS)]:
            venn.plot(*zip(one, other, strict=True), color="#333333", linewidth=1.4, zorder=2)
        for letter in LETTERS:
            for place, name, dark in ((PLACES[letter], letter, True), (primed[letter], f"{letter}'", False)):
                fill, ink = ("#222222", "white") if dark else ("white", "#222222")
                venn.plot(*place, "o", markersize=19, color=fill, zorder=3, markeredgecolor="#222222",
                          markeredgewidth=1.6)  # fmt: skip
                venn.text(*place, name, color=ink, ha="center", va="center", fontsize=12, zorder=4)
        _bars(bars, found)


def _bars(axis: Any, found: dict[str, Array]) -> None:
    """Assignments of every letter, three bars each."""
    for n, letter in enumerate(LETTERS):
        for m, Z in enumerate(found.values()):
            lefts = np.cumsum(Z[n]) - Z[n]
            axis.barh(4 * n + m, Z[n], left=lefts, color=COLOURS[:4], height=0.85)
        axis.text(1.03, 4 * n + 1, letter, fontweight="bold", va="center")
    axis.set_yticks([4 * n + m for n in range(7) for m in range(3)], ["SSL", "+", "+ and -"] * 7)
    axis.tick_params(axis="y", length=0, labelsize=8.5)
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.set(xlim=(0, 1.1), xlabel="share of C1, C2, C3, C4", title="Assignments")
