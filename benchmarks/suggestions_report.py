"""Figures, tables and the picture of ``suggestions.py``, and how its numbers are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.pictures import OURS as OUR_COLOUR
from benchmarks.common.pictures import drawn, legend, pyplot
from benchmarks.common.results import add, flat, read
from benchmarks.common.statistics import standard_error, with_error
from lass.learning.predictors import Scores
from lass.learning.predictors.holdout import Split
from lass.learning.predictors.tag_lists import pair_values
from lass.tagging.evaluation.metrics import average_precision, precision_recall_f1, rank_tags

OURS = "LASS"
#: what the tables show, in percent
FIGURES = {
    "map": "Mean average precision",
    "f1": "F1 at 5",
    "precision": "Precision at 1",
    "recall": "Recall at 10",
}
#: share of the visible tags that a person would review
DOUBTED = 0.1
#: wrong tags planted for each visible one
PLANTED = 0.05
#: what the situations are, from above in the picture
SITUATION_TEXTS = {
    "a": "half of the\ntags hidden", "d": "one tag\nan item", "b": "a fifth of the\nitems hidden",
    "c5": "5 % of the\nitems tagged", "c2": "2 % of the\nitems tagged",
}  # fmt: skip
#: (set, situation, method) -> seed -> figure -> value
Results = dict[tuple[str, str, str], dict[int, dict[str, float]]]


def figures(scores: NDArray[Any], parts: Split, seed: int) -> dict[str, float]:
    """Mean average precision, F1 at 5, precision at 1 and recall at 10 of the evaluated items."""
    if np.isnan(scores).any():
        raise ValueError("scores must be numbers; found NaN")
    truth = parts.hidden[parts.rows].toarray().astype(np.int8)
    place = rank_tags(
        scores.astype(float), sp.csr_array(parts.visible[parts.rows]), np.random.default_rng(seed)
    )
    return {
        "map": average_precision(truth, place),
        "f1": precision_recall_f1(truth, place < 5)["f1"],
        "precision": precision_recall_f1(truth, place < 1)["precision"],
        "recall": precision_recall_f1(truth, place < 10)["recall"],
    }


def calibration_error(scores: Scores, parts: Split, top: int = 5, bins: int = 10) -> float:
    """How far scores of the tags shown are from the share of them that is right, over bins by score."""
    shown = scores.top_tags[parts.rows][:, :top]
    item, place = np.nonzero(shown >= 0)
    tags = shown[item, place]
    claimed = pair_values(scores.values, parts.rows[item], tags).astype(float)
    right = pair_values(parts.hidden, parts.rows[item], tags)
    which = np.minimum((bins * claimed).astype(int), bins - 1)
    return float(np.abs(np.bincount(which, claimed - right, bins)).sum() / len(claimed))


def plant(G: sp.csr_array, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The annotations with wrong tags added to a share of the tagged items, and the wrong tags alone."""
    generator = np.random.default_rng(seed)
    item = (G > 0).nonzero()[0]
    chosen = generator.permutation(item)[: round(PLANTED * len(item))]
    wrong = sp.csr_array(
        (np.ones(len(chosen)), (chosen, generator.integers(G.shape[1], size=len(chosen)))), G.shape
    )
    wrong = sp.csr_array((wrong - wrong.multiply(G != 0)) > 0).astype(float)
    wrong.eliminate_zeros()
    return sp.csr_array(G + wrong), wrong


def doubts_found(values: sp.csr_array, annotations: sp.csr_array, wrong: sp.csr_array) -> dict[str, float]:
    """Share of the wrong tags among the tenth of all tags that is doubted most.

    Doubted by the score over the frequency of the tag, and by the score alone.
    """
    item, tag = (annotations > 0).nonzero()
    planted = np.asarray(wrong[item, tag]).ravel() > 0
    often = np.bincount(tag, minlength=annotations.shape[1]) / len(np.unique(item))
    reviewed = round(DOUBTED * len(item))
    score = pair_values(values, item, tag).astype(float)
    ways = {"doubts": score / often[tag], "doubts_by_score": score}
    return {
        way: float(planted[np.argsort(size, kind="stable")[:reviewed]].sum() / planted.sum())
        for way, size in ways.items()
    }


def load(path: Path) -> Results:
    """What was measured before; nothing if there is no file."""
    kept = flat(read(path).get("results", {}), 3)
    cells = sorted(kept.items(), key=lambda cell: cell[0][:2])
    return {key: {int(seed): found for seed, found in seeds.items()} for key, seeds in cells}


def save(path: Path, name: str, situation: str, method: str, seed: int, found: dict[str, float]) -> None:
    """Put the figures of one draw beside what is there."""
    rounded = {key: round(value, 5) for key, value in found.items()}
    add(path, {"results": {name: {situation: {method: {seed: rounded}}}}}, levels=5, depth=4)


def table(results: Results, figure: str) -> str:
    """Ours and the best baseline of every cell, over the draws that all methods have."""
    lines = [
        "| set | situation | LASS | best baseline | | difference | draws |",
        "|---|---|---|---|---|---|---|",
    ]
    verdicts = []
    for name, situation in dict.fromkeys((name, situation) for name, situation, _ in results):
        cell = {
            method: found for (one, two, method), found in results.items() if (one, two) == (name, situation)
        }
        others = [method for method in cell if method != OURS]
        if OURS not in cell or not others:
            continue
        seeds = sorted(set.intersection(*(set(found) for found in cell.values())))
        if not seeds:
            continue
        values = {method: np.array([found[seed][figure] for seed in seeds]) for method, found in cell.items()}
        best = max(others, key=lambda method: float(values[method].mean()))
        differences = values[OURS] - values[best]
        lead, error = differences.mean(), standard_error(differences)
        own, other = (with_error(values[method], scale=100) for method in (OURS, best))
        own = f"**{own}**" if lead >= 0 else own
        difference = with_error(differences, scale=100, sign="+")
        lines.append(f"| {' | '.join([name, situation, own, other, best, difference, str(len(seeds))])} |")
        verdicts.append("ahead" if lead >= 0 else "level" if lead > -error else "behind")
    counts = {verdict: verdicts.count(verdict) for verdict in ("ahead", "level", "behind")}
    lines += [
        "",
        f"Of {len(verdicts)} cells LASS is at or above the best baseline in {counts['ahead']}, less than one "
        f"standard error of the difference below it in {counts['level']}, behind in {counts['behind']}.",
    ]
    return "\n".join(lines)


def candidate_table(results: Results) -> str:
    """Candidates alone, which are all that a fit scores, beside scores of every tag."""
    head = " | ".join(f"{title}, candidates | all tags | difference" for title in FIGURES.values())
    lines = [f"| set | situation | {head} |", f"|---|---|{'---|' * 3 * len(FIGURES)}"]
    most = dict.fromkeys(FIGURES, 0.0)
    for (name, situation, method), found in results.items():
        draws = [one for one in found.values() if all(f"{figure}_of_candidates" in one for figure in FIGURES)]
        if method != OURS or not draws:
            continue
        cells = [name, situation]
        for figure in FIGURES:
            alone, every = (
                np.array([one[key] for one in draws]) for key in (f"{figure}_of_candidates", figure)
            )
            most[figure] = max(most[figure], float((every - alone).mean()))
            cells += [f"{100 * alone.mean():.1f}", f"{100 * every.mean():.1f}"]
            cells.append(with_error(alone - every, scale=100, sign="+"))
        lines.append(f"| {' | '.join(cells)} |")
    behind = ", ".join(f"{title} {100 * most[figure]:.2f}" for figure, title in FIGURES.items())
    return "\n".join([*lines, "", f"Candidates are at most so many points behind: {behind}."])


def other_table(results: Results) -> str:
    """Calibration of the tags shown, and planted tags found."""
    lines = ["| set | situation | figure | mean |", "|---|---|---|---|"]
    texts = {
        "calibration": "calibration error of the 5 tags shown, of 100",
        "doubts": "planted tags among the 10 % most doubted, by score over frequency, %",
        "doubts_by_score": "the same by score alone, %",
    }
    for (name, situation, method), found in results.items():
        for figure, text in texts.items():
            values = [one[figure] for one in found.values() if figure in one]
            if method == OURS and values:
                lines.append(f"| {name} | {situation} | {text} | {with_error(values, scale=100)} |")
    return "\n".join(lines)


def report(results: Results, path: Path) -> None:
    """Print all tables, keep them beside the numbers, and draw the picture."""
    parts = [f"## {title}, %\n\n{table(results, figure)}" for figure, title in FIGURES.items()]
    text = (
        "\n\n".join(
            [
                "# Suggestions",
                *parts,
                f"## Candidates alone, %\n\n{candidate_table(results)}",
                f"## Calibration and doubts\n\n{other_table(results)}",
            ]
        )
        + "\n"
    )
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    draw(results, path.with_suffix(".png"))


def draw(results: Results, path: Path) -> None:
    """Mean average precision, a panel a set, a row a situation, a mark a method."""
    cells = [key for key, found in results.items() if "map" in next(iter(found.values()))]
    names, methods = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 2))
    others = [method for method in methods if method != OURS]
    colours = pyplot().get_cmap("viridis")(np.linspace(0.0, 0.92, len(others)))
    rows = list(SITUATION_TEXTS)[::-1]
    with drawn(path, (1.0 + 3.6 * len(names), 5.2), columns=len(names)) as (figure, panels):
        for axes, name in zip(panels, names, strict=True):
            for place, method in enumerate([*others, OURS]):
                found = [(row, results[name, row, method]) for row in rows if (name, row, method) in results]
                means = [100 * np.mean([one["map"] for one in seeds.values()]) for _, seeds in found]
                heights = np.array([rows.index(row) for row, _ in found], float)
                if method == OURS:
                    axes.vlines(means, heights - 0.4, heights + 0.4, color=OUR_COLOUR, lw=2.6, label=OURS)
                    continue
                # one below the other in the order of the legend, so that equal ones do not hide each other
                heights += 0.36 - 0.066 * place
                axes.plot(means, heights, "osD^vP*X<>hp"[place % 12], color=colours[place], label=method)
            labels = [SITUATION_TEXTS[row] for row in rows] if name == names[0] else rows
            axes.set_yticks(range(len(rows)), labels)
            axes.set_ylim(-0.5, len(rows) - 0.5)
            axes.grid(visible=False)
            axes.hlines(np.arange(len(rows) - 1) + 0.5, *axes.get_xlim(), color="#d9d9d9", lw=0.7, zorder=1)
            axes.margins(x=0.03)
            axes.set(title=name, xlabel="mean average precision, %")
        legend(figure, panels, "lower", columns=4, fontsize=9)
