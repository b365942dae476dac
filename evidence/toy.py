"""The illustrative example of the paper: fourteen items, four categories that overlap, three tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lass
from evidence.drawing import COLOURS
from evidence.frame import Context, Finding, Outcome, Table
from lass.baselines import harmonic, labels_from_affinities

TITLE = "The illustrative example"
#: a quick run is no smaller
ALWAYS_WHOLE = True
LETTERS = "abcdefg"
CATEGORIES = ["C1", "C2", "C3", "C4"]
TRUTH = {"a": [1], "b": [1, 2], "c": [1, 3], "d": [1, 4], "e": [1, 3, 4], "f": [1, 3], "g": [1, 3, 4]}
POSITIVE = {"a": [1], "b": [2], "c": [1], "d": [4], "e": [1, 3], "f": [3], "g": [3, 4]}
NEGATIVE = {"a": [2], "d": [3]}
#: the paper shows its graph in a picture alone; these ties give its tables back
TIES = [("a", "b"), ("a", "d"), ("d", "e"), ("e", "c"), ("c", "f"), ("e", "g")]
#: the most that print may differ: half of its last digit, and what its stopping rule leaves
BAR = 0.0075

PRINTED: dict[str, list[list[float]]] = {
    "SSL": [
        [1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0.5, 0, 0.5, 0], [0, 0, 1, 0],
        [0, 0, 0.5, 0.5],
    ],
    "LASS, positive words": [
        [0.57, 0.28, 0.10, 0.05], [0.40, 0.60, 0, 0], [0.30, 0, 0.70, 0], [0.36, 0.08, 0.33, 0.23],
        [0.29, 0, 0.68, 0.03], [0.05, 0, 0.95, 0], [0, 0, 0.82, 0.18],
    ],
    "LASS, positive and negative words": [
        [0.90, 0, 0, 0.10], [0.70, 0.30, 0, 0], [0.60, 0, 0.40, 0], [0.70, 0, 0, 0.30],
        [0.57, 0, 0.37, 0.07], [0.35, 0, 0.65, 0], [0.24, 0, 0.53, 0.23],
    ],
}  # fmt: skip
#: where the items are drawn
PLACES = {
    "a": (3.1, 4.4), "b": (1.5, 3.9), "c": (6.4, 1.5), "d": (6.3, 5.0), "e": (6.7, 3.6), "f": (4.9, 1.6),
    "g": (8.1, 3.3),
}  # fmt: skip
PRIMED = {
    "a": (-0.5, 0.8), "b": (0.1, -0.9), "c": (0.9, -0.3), "d": (1.0, 0.35), "e": (-0.6, -0.55),
    "f": (-0.35, 0.8), "g": (-0.3, -0.75),
}  # fmt: skip

Array = NDArray[np.float64]


def problem(negative: bool) -> tuple[Array, Array]:
    """The graph and the affinities: items a-g, then a'-g', each of these tied to its own letter."""
    W, G = np.zeros((14, 14)), np.zeros((14, 4))
    for one, other in TIES:
        i, j = LETTERS.index(one), LETTERS.index(other)
        W[i, j] = W[j, i] = 1.0
    for i in range(7):
        W[i, i + 7] = W[i + 7, i] = 1.0
    for words, sign in ((POSITIVE, 1.0), (NEGATIVE if negative else {}, -1.0)):
        for letter, categories in words.items():
            G[LETTERS.index(letter), [k - 1 for k in categories]] = sign
    return W, G


def run(context: Context) -> Outcome:
    """The three tables beside the printed ones, entry by entry."""
    W, G = problem(negative=False)
    solutions = {
        "LASS, positive words": lass.solve(W, G, 1.0, tol=1e-12),
        "LASS, positive and negative words": lass.solve(*problem(negative=True), 1.0, tol=1e-12),
    }
    found = {"SSL": harmonic(W, labels_from_affinities(G))}
    found |= {name: solution.Z for name, solution in solutions.items()}
    differences = {name: np.abs(Z[7:] - PRINTED[name]) for name, Z in found.items()}
    right = {name: _mass_on_truth(Z[7:]) for name, Z in found.items()}
    _draw(context, found)
    outcome = Outcome(
        findings=_findings(found, differences, right, solutions),
        tables=[_table(name, found[name][7:], differences[name]) for name in found],
        pictures=[
            context.picture(
                "venn",
                "The four categories, the fourteen items and the graph; the bars are the assignments of "
                "each letter (the primed items have the same). The paper draws its graph and does not print "
                "it: these ties are those that give its tables back.",
                "Venn diagram: C1 holds C2, C3 and C4, of which C3 and C4 overlap; items a to g as filled "
                "circles, a' to g' as hollow ones tied to their letters.",
            )
        ],
        notes=[
            "Ties of weight one, lam = 1. The graph was found by asking which ties give both LASS tables "
            f"back: {', '.join('-'.join(tie) for tie in TIES)}, and each primed item with its letter.",
            "Solved to a relative gap of "
            f"{max(solution.relative_gap for solution in solutions.values()):.1e}; what is left of the "
            "differences is the rounding of the print and, in the last digit, its stopping rule.",
        ],
        data={"found": {name: Z[7:].tolist() for name, Z in found.items()}, "printed": PRINTED},
    )
    return outcome


def _mass_on_truth(Z: Array) -> Array:
    """What each item gives to categories it belongs to."""
    return np.array([Z[n, [k - 1 for k in TRUTH[letter]]].sum() for n, letter in enumerate(LETTERS)])


def _even_truth() -> Array:
    """Equal shares of the categories that each item belongs to."""
    shares = np.zeros((7, 4))
    for n, letter in enumerate(LETTERS):
        shares[n, [k - 1 for k in TRUTH[letter]]] = 1.0 / len(TRUTH[letter])
    return shares


def _missed(Z: Array) -> int:
    """True pairs of a primed item and a category that get nothing."""
    return int((Z[7:][_even_truth() > 0] < 1e-6).sum())


def _findings(
    found: dict[str, Array], differences: dict[str, Array], right: dict[str, Array], solutions: dict[str, Any]
) -> list[Finding]:
    worst = {name: float(difference.max()) for name, difference in differences.items()}
    printed = [
        Finding(
            f"The table of assignments of a' to g' by {name}.",
            f"28 entries; the largest difference from print is {worst[name]:.4f}, allowed are {BAR}.",
            worst[name] <= BAR,
        )
        for name in found
    ]
    positive, both = found["LASS, positive words"], found["LASS, positive and negative words"]
    own = max(float(np.abs(Z[7:] - Z[:7]).max()) for Z in (positive, both))
    before, after = right["LASS, positive words"], right["LASS, positive and negative words"]
    far = [np.abs(Z[7:] - _even_truth()).sum(axis=1) / 2 for Z in (positive, both)]
    unique = all(solution.uniqueness().unique for solution in solutions.values())
    return [
        *printed,
        Finding(
            "An item without words inherits exactly the assignment of the one item it is tied to.",
            f"Largest difference between a primed item and its letter: {own:.1e}.",
            own < 1e-6,
        ),
        Finding(
            "With positive words alone LASS gives items to categories they do not belong to, such as a' to "
            "C2 and d' to C3; negative words cut that off.",
            f"a' in C2: {positive[7, 1]:.2f}, then {both[7, 1]:.2f}. d' in C3: {positive[10, 2]:.2f}, then "
            f"{both[10, 2]:.2f}.",
            bool(positive[7, 1] > 0.05 and positive[10, 2] > 0.05 and max(both[7, 1], both[10, 2]) < 1e-6),
        ),
        Finding(
            "With SSL the items just inherit the labels and miss many assignments.",
            f"Of the {sum(map(len, TRUTH.values()))} true pairs of a' to g' and a category, SSL leaves "
            f"{_missed(found['SSL'])} at zero, LASS with positive words {_missed(positive)}, with both "
            f"{_missed(both)}.",
            _missed(found["SSL"]) > max(_missed(positive), _missed(both)),
        ),
        Finding(
            "With negative words the assignments are closer to the truth for all items.",
            f"The share given to true categories is {before.mean():.3f} on average with positive words, "
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
    rows: list[list[str | float]] = []
    for n, letter in enumerate(LETTERS):
        cells = [f"{value:.3f} ({print_:.2f})" for value, print_ in zip(Z[n], PRINTED[name][n], strict=True)]
        rows.append([f"{letter}'", *cells, float(round(difference[n].max(), 4))])
    return Table(f"{name}: found (printed)", ["item", *CATEGORIES, "largest difference"], rows)


def _draw(context: Context, found: dict[str, Array]) -> None:
    from matplotlib.patches import Ellipse

    with context.figure("venn", (9.6, 7.0), rows=1, columns=2, width_ratios=[1.75, 1]) as (_, (venn, bars)):
        venn.set_axis_off()
        venn.set_xlim(-0.6, 10.6)
        venn.set_ylim(-0.7, 7.4)
        venn.set_title("Categories, items and ties")
        shapes = [
            ((5, 3.3), 10.6, 7.6),
            ((1.6, 3.5), 2.0, 2.7),
            ((6.4, 2.4), 5.6, 3.8),
            ((7.4, 4.1), 4.6, 3.8),
        ]
        labels = [(4.2, 6.3), (1.6, 5.05), (3.7, 0.75), (5.2, 5.8)]
        for (centre, width, height), place, colour, category in zip(
            shapes, labels, COLOURS, CATEGORIES, strict=False
        ):
            venn.add_patch(Ellipse(centre, width, height, facecolor=colour, edgecolor=colour, alpha=0.13))
            venn.add_patch(Ellipse(centre, width, height, fill=False, edgecolor=colour, linewidth=2))
            venn.text(*place, category, color=colour, fontweight="bold", fontsize=14, ha="center")
        primed = {letter: (x + PRIMED[letter][0], y + PRIMED[letter][1]) for letter, (x, y) in PLACES.items()}
        ties = [(PLACES[one], PLACES[other]) for one, other in TIES]
        ties += [(PLACES[letter], primed[letter]) for letter in LETTERS]
        for (x, y), (u, v) in ties:
            venn.plot([x, u], [y, v], color="#333333", linewidth=1.4, zorder=2)
        for letter in LETTERS:
            for (x, y), filled in ((PLACES[letter], True), (primed[letter], False)):
                venn.plot(x, y, "o", markersize=19, color="#222222" if filled else "white", zorder=3,
                          markeredgecolor="#222222", markeredgewidth=1.6)  # fmt: skip
                venn.text(x, y, letter if filled else f"{letter}'", color="white" if filled else "#222222",
                          ha="center", va="center", fontsize=12, zorder=4)  # fmt: skip
        _bars(bars, found)


def _bars(axis: Any, found: dict[str, Array]) -> None:
    """Assignments of every letter, three bars each."""
    names = {"SSL": "SSL", "LASS, positive words": "+", "LASS, positive and negative words": "+ and -"}
    for n in range(7):
        for m, name in enumerate(found):
            left = 0.0
            for k, colour in enumerate(COLOURS[:4]):
                value = found[name][n, k]
                axis.barh(4 * n + m, value, left=left, color=colour, height=0.85)
                left += value
    axis.set_yticks(
        [4 * n + m for n in range(7) for m in range(3)], [word for _ in LETTERS for word in names.values()]
    )
    axis.tick_params(axis="y", length=0, labelsize=8.5)
    for n, letter in enumerate(LETTERS):
        axis.text(1.03, 4 * n + 1, letter, fontweight="bold", va="center")
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.set_xlim(0, 1.1)
    axis.set_xlabel("share of C1, C2, C3, C4")
    axis.set_title("Assignments")
