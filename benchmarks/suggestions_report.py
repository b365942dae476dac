"""Figures, tables and the picture of ``suggestions.py``, and how its numbers are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors import Scores
from lass.learning.predictors.holdout import Split
from lass.tagging.evaluation.metrics import average_precision, places, suggestion_figures
from machine import read_json

OURS = "LASS"
#: what the tables show, in percent
FIGURES = {
    "map": "Mean average precision",
    "f1": "F1 at 5",
    "precision": "Precision at 1",
    "recall": "Recall at 10",
}
#: share of the stated tags that somebody would look at
DOUBTED = 0.1
#: wrong tags planted for each stated one
PLANTED = 0.05
#: situations in words, from above in the picture
WORDS = {
    "a": "half of the\ntags hidden", "d": "one tag\nan item", "b": "a fifth of the\nitems hidden",
    "c5": "5 % of the\nitems tagged", "c2": "2 % of the\nitems tagged",
}  # fmt: skip
#: (set, situation, method) -> seed -> figure -> value
Results = dict[tuple[str, str, str], dict[int, dict[str, float]]]


def figures(scores: NDArray[Any], parts: Split, seed: int) -> dict[str, float]:
    """Mean average precision, F1 at 5, precision at 1 and recall at 10 of the judged items."""
    if np.isnan(scores).any():
        raise ValueError("scores must be numbers: what is not one has no place in a list")
    truth = parts.hidden[parts.rows].toarray().astype(np.int8)
    place = places(scores.astype(float), sp.csr_array(parts.visible[parts.rows]), np.random.default_rng(seed))
    return {
        "map": average_precision(truth, place),
        "f1": suggestion_figures(truth, place < 5)["f1"],
        "precision": suggestion_figures(truth, place < 1)["precision"],
        "recall": suggestion_figures(truth, place < 10)["recall"],
    }


def calibration_error(scores: Scores, parts: Split, top: int = 5, bins: int = 10) -> float:
    """How far scores of the tags shown are from the share of them that is right, over bins by score."""
    shown = scores.best[parts.rows][:, :top]
    claimed = np.take_along_axis(scores.values[parts.rows], shown, 1).ravel().astype(float)
    right = np.take_along_axis(parts.hidden[parts.rows].toarray(), shown, 1).ravel()
    which = np.minimum((bins * claimed).astype(int), bins - 1)
    return float(np.abs(np.bincount(which, claimed - right, bins)).sum() / len(claimed))


def plant(G: sp.csr_array, seed: int) -> tuple[sp.csr_array, sp.csr_array]:
    """The words with wrong tags added to a share of the stated ones' items, and the wrong tags alone."""
    generator = np.random.default_rng(seed)
    item = (G > 0).nonzero()[0]
    chosen = generator.permutation(item)[: round(PLANTED * len(item))]
    wrong = sp.csr_array(
        (np.ones(len(chosen)), (chosen, generator.integers(G.shape[1], size=len(chosen)))), G.shape
    )
    wrong = sp.csr_array((wrong - wrong.multiply(G != 0)) > 0).astype(float)
    wrong.eliminate_zeros()
    return sp.csr_array(G + wrong), wrong


def doubts_found(values: NDArray[Any], words: sp.csr_array, wrong: sp.csr_array) -> dict[str, float]:
    """Share of the wrong tags among the tenth of the stated ones that is doubted most.

    Doubted by the score over the frequency of the tag, and by the score alone.
    """
    item, tag = (words > 0).nonzero()
    planted = np.asarray(wrong[item, tag]).ravel() > 0
    often = np.bincount(tag, minlength=words.shape[1]) / len(np.unique(item))
    looked_at = round(DOUBTED * len(item))
    score = values[item, tag].astype(float)
    ways = {"doubts": score / often[tag], "doubts_by_score": score}
    return {
        way: float(planted[np.argsort(size, kind="stable")[:looked_at]].sum() / planted.sum())
        for way, size in ways.items()
    }


def load(path: Path) -> Results:
    """Read what was measured before; nothing if there is no file."""
    kept = read_json(path)["results"] if path.exists() else {}
    return {
        (name, situation, method): {int(seed): found for seed, found in seeds.items()}
        for name, situations in kept.items()
        for situation, methods in situations.items()
        for method, seeds in methods.items()
    }


def save(path: Path, results: Results, machine: dict[str, Any]) -> None:
    """Write all results beside what is there, one line a method of a cell."""
    everything = load(path)
    for key, seeds in results.items():
        rounded = {seed: {k: round(value, 5) for k, value in found.items()} for seed, found in seeds.items()}
        everything[key] = everything.get(key, {}) | rounded
    tree: dict[str, dict[str, list[str]]] = {}
    for (name, situation, method), seeds in sorted(everything.items(), key=lambda pair: pair[0][:2]):
        line = f"    {json.dumps(method)}: {json.dumps(dict(sorted(seeds.items())))}"
        tree.setdefault(name, {}).setdefault(situation, []).append(line)
    blocks = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(
            f"   {json.dumps(one)}: {{\n" + ",\n".join(lines) + "\n   }" for one, lines in cells.items()
        )
        + "\n  }"
        for name, cells in tree.items()
    ]
    text = f'{{\n "machine": {json.dumps(machine)},\n "results": {{\n' + ",\n".join(blocks) + "\n }\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def mean_and_error(values: NDArray[np.float64]) -> tuple[float, float]:
    """The mean and its standard error; NaN for one draw."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def shown(value: float, error: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.1f}" + (f" ± {100 * error:.1f}" if np.isfinite(error) else "")


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
        difference, error = mean_and_error(values[OURS] - values[best])
        own, other = (shown(*mean_and_error(values[method])) for method in (OURS, best))
        own = f"**{own}**" if difference >= 0 else own
        cells = [name, situation, own, other, best, shown(difference, error, "+"), str(len(seeds))]
        lines.append(f"| {' | '.join(cells)} |")
        verdicts.append(
            "ahead" if difference >= 0 else "level" if difference > -np.nan_to_num(error) else "behind"
        )
    counts = {verdict: verdicts.count(verdict) for verdict in ("ahead", "level", "behind")}
    lines += [
        "",
        f"Of {len(verdicts)} cells LASS is at or above the best baseline in {counts['ahead']}, less than one "
        f"standard error of the difference below it in {counts['level']}, behind in {counts['behind']}.",
    ]
    return "\n".join(lines)


def other_table(results: Results) -> str:
    """Calibration of the tags shown, and planted tags found."""
    lines = ["| set | situation | figure | mean |", "|---|---|---|---|"]
    words = {
        "calibration": "calibration error of the 5 tags shown, of 100",
        "doubts": "planted tags among the 10 % most doubted, by score over frequency, %",
        "doubts_by_score": "the same by score alone, %",
    }
    for (name, situation, method), found in results.items():
        for figure, told in words.items():
            values = [one[figure] for one in found.values() if figure in one]
            if method == OURS and values:
                lines.append(
                    f"| {name} | {situation} | {told} | {shown(*mean_and_error(np.array(values)))} |"
                )
    return "\n".join(lines)


def report(results: Results, path: Path) -> None:
    """Print all tables, keep them beside the numbers, and draw the picture."""
    parts = [f"## {title}, %\n\n{table(results, figure)}" for figure, title in FIGURES.items()]
    text = (
        "\n\n".join(["# Suggestions", *parts, f"## Calibration and doubts\n\n{other_table(results)}"]) + "\n"
    )
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    draw(results, path.with_suffix(".png"))


def draw(results: Results, path: Path) -> None:
    """Mean average precision, a panel a set, a row a situation, a mark a method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cells = [key for key, found in results.items() if "map" in next(iter(found.values()))]
    names, methods = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 2))
    others = [method for method in methods if method != OURS]
    colours = dict(zip(others, plt.get_cmap("viridis")(np.linspace(0.0, 0.92, len(others))), strict=True))
    figure, panels = plt.subplots(
        1, len(names), figsize=(1.0 + 3.6 * len(names), 5.2), layout="constrained", squeeze=False
    )
    for axes, name in zip(panels[0], names, strict=True):
        rows = list(WORDS)[::-1]
        for place, method in enumerate([*others, OURS]):
            found = [(row, results[name, row, method]) for row in rows if (name, row, method) in results]
            means = [100 * np.mean([one["map"] for one in seeds.values()]) for _, seeds in found]
            # one below the other in the order of the legend, so that equal ones can be told apart
            heights = [
                rows.index(row) + (0.36 - 0.066 * place if method != OURS else 0.0) for row, _ in found
            ]
            style = {"marker": "osD^vP*X<>hp"[place % 12], "color": colours.get(method, "#b5123e")}
            size = 30 if method != OURS else 0
            axes.scatter(means, heights, s=size, label=method if method != OURS else None, zorder=2, **style)
            if method == OURS:
                low, high = ([height + side for height in heights] for side in (-0.4, 0.4))
                axes.vlines(means, low, high, color="#b5123e", lw=2.6, label=OURS, zorder=3)
        axes.set_yticks(range(len(rows)), [WORDS[row] for row in rows] if axes is panels[0][0] else rows)
        axes.set_ylim(-0.5, len(rows) - 0.5)
        axes.hlines(np.arange(len(rows) - 1) + 0.5, *axes.get_xlim(), color="#d9d9d9", lw=0.7, zorder=1)
        axes.margins(x=0.03)
        axes.set_title(name, loc="left", fontweight="bold")
        axes.set_xlabel("mean average precision, %")
        axes.spines[["top", "right"]].set_visible(False)
    handles: dict[str, Any] = {}
    for axes in panels[0]:
        handles |= dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)
