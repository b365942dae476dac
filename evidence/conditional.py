"""The out-of-sample map as a distribution over the categories, given neighbours and words."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.drawing import COLOURS, MARKS
from evidence.frame import Context, Finding, Outcome, Table
from evidence.heldout import LAMS, WORDS, Split, agreement, own_rows, paths, predictions, split
from evidence.sources import digits

TITLE = "The out-of-sample map: a conditional distribution"
Array = NDArray[np.float64]


def run(context: Context) -> Outcome:
    """Held-out digits with and without words, against re-training, and paths over lam."""
    size, held = (1_200, 200) if context.quick else (10_000, 1_000)
    images = digits(context)
    X, y, name = images.X[:size], images.truth[:size], images.words
    context.tell("graph of the known items")
    whole = split(X, y, held)
    runs = []
    for number in range(context.runs):
        context.tell(f"labels {number + 1} of {context.runs}")
        runs.append(context.remember(f"run-{number}", partial(predictions, whole, number)))
    context.tell("re-training with single items")
    count = 8 if context.quick else 40
    agreed = context.remember("agreement", partial(agreement, whole, count))
    own = context.remember("own", partial(own_rows, whole))
    followed = context.remember("paths", partial(paths, whole, 6))
    _draw_words(context, runs)
    _draw_paths(context, followed, whole)
    return Outcome(
        findings=_findings(runs, agreed, own, followed),
        tables=[_words_table(runs), _reliability(runs), _agreement_table(agreed)],
        pictures=[
            context.picture(
                "words",
                f"Error on {held:,} held-out items against the lam of the map, for different words on them; "
                f"means over {len(runs)} draws of the labels, bars are standard errors. Left the expert "
                "alone, right the crowd alone: without words lam does not matter.",
                "Error curves over lam: flat without words, lower the more the words say, high at small lam "
                "when they are wrong.",
            ),
            context.picture(
                "paths",
                "Six held-out digits that the crowd (left) gets wrong, and their exact paths to the expert "
                "(right); the title tells what was said of each. Dots are breakpoints: between them the "
                "path is a straight line in 1 / lam.",
                "Six panels with lines of assignments over falling lam, each with a small picture of the "
                "digit.",
            ),
        ],
        notes=[
            f"{name}; {held:,} of them held out (seed 0), 10 labels a class among the others, drawn anew in "
            f"each of {len(runs)} runs; 10 neighbours, self-tuned weights, trained at lam = 1 to a relative "
            "gap of 1e-6.",
            "An assignment is a share and not a probability: with few labels the largest share is far below "
            "the chance that it is right (table on reliability). Ranking by it is safe, reading it as a "
            "probability is not.",
        ],
        data={"runs": runs, "agreement": agreed, "own": own, "paths": followed},
    )


def _findings(runs: Any, agreed: Any, own: Any, followed: Any) -> list[Finding]:
    at_one = LAMS.index(1.0)
    silent = _mean(runs, "nothing", "error", at_one)
    helped = _mean(runs, "five wrong ones denied", "error", at_one)
    sure = max(abs(run["nothing"]["error"][0] - run["nothing"]["error"][-1]) for run in runs)
    return [
        Finding(
            "The map gives a valid assignment, and follows neighbours and words of an item at once.",
            f"Rows sum to one within {max(run['sums'] for run in runs):.0e}, none is negative. At lam = 1 "
            f"the error is {_told(silent)} % without words, {_told(helped)} % when five wrong categories "
            "are denied.",
            helped[0] < silent[0],
        ),
        Finding(
            "Without words (g = 0) the map is the mean of the neighbours, whatever lam is.",
            f"The error changes by {sure:.1g} over all lams.",
            sure == 0,
        ),
        Finding(
            "The map differs little from training the whole system again with the new item.",
            f"{agreed['count']} items added one by one: the assignments differ by "
            f"{agreed['nothing']['mean']:.4f} on average (half the sum of absolute differences; at most "
            f"{agreed['nothing']['max']:.3f}) without words, {agreed['right']['mean']:.4f} "
            f"({agreed['right']['max']:.3f}) with one; the top category is the same for "
            f"{agreed['nothing']['same']} and {agreed['right']['same']} of them.",
            min(agreed["nothing"]["same"], agreed["right"]["same"]) >= 0.9 * agreed["count"],
        ),
        Finding(
            "Training again would change the assignments of all items very slightly.",
            f"On average by {agreed['nothing']['others']:.1e} without words and "
            f"{agreed['right']['others']:.1e} with one, at most by "
            f"{max(agreed['nothing']['others_max'], agreed['right']['others_max']):.2f} on any item.",
            max(agreed["nothing"]["others"], agreed["right"]["others"]) < 1e-2,
        ),
        Finding(
            "The map does not in general give a training item its own assignment back, though nearly.",
            "With its own ties and words it does, exactly: at an optimum every row is the best answer to "
            f"all others, which is what the map computes. Over {own['count']:,} items (lam = 10, relative "
            f"gap {own['gap']:.0e}) the largest difference is {own['own']:.0e}, and {own['itself']:.0e} if "
            "each is its own neighbour too. It differs where the item is treated as new, with the ties to "
            f"its own neighbours alone: by {own['new']:.3f} on average, at most {own['new_max']:.2f}.",
            own["own"] > 1e-6,
        ),
        Finding(
            "Over lam the map is a piecewise linear path, with exact zeros or ones.",
            f"Exact: the paths of {len(followed)} items with {min(p['breaks'] for p in followed)} to "
            f"{max(p['breaks'] for p in followed)} breakpoints agree with the map at 200 values of lam to "
            f"{max(p['difference'] for p in followed):.0e}; they are linear in 1 / lam. All end in exact "
            "zeros.",
            max(p["difference"] for p in followed) < 1e-9,
        ),
        Finding(
            "(Not stated.) What the map costs.",
            f"{1e6 * np.mean([run['seconds'] for run in runs]):.1f} microseconds of processor time an item "
            "once its neighbours are known; training again from the earlier solution takes "
            f"{agreed['seconds']:.2f} s.",
            None,
        ),
    ]


def _mean(runs: Any, words: str, what: str, place: int) -> tuple[float, float]:
    """A mean over the runs and its standard error."""
    values = np.array([run[words][what][place] for run in runs])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _told(pair: tuple[float, float], digits: int = 1) -> str:
    return f"{pair[0]:.{digits}f} ± {pair[1]:.{digits}f}"


def _words_table(runs: Any) -> Table:
    chosen = [0.1, 1.0, 10.0]
    rows: list[list[str | float]] = [
        [
            words,
            *(_told(_mean(runs, words, "error", LAMS.index(lam))) for lam in chosen),
            *(_told(_mean(runs, words, "truth", LAMS.index(lam)), 3) for lam in chosen),
        ]
        for words in WORDS
    ]
    columns = [f"error %, lam = {lam:g}" for lam in chosen] + [
        f"share of the true one, {lam:g}" for lam in chosen
    ]
    return Table(
        "Held-out items by what was said of them", ["words", *columns], rows,
        f"Means over {len(runs)} draws of the labels and their standard errors.",
    )  # fmt: skip


def _reliability(runs: Any) -> Table:
    counts = np.sum([run["bins"] for run in runs], axis=0)
    rows: list[list[str | float]] = [
        [
            f"{low / 10:.1f} to {(low + 1) / 10:.1f}",
            int(number),
            round(share / number, 3),
            round(right / number, 3),
        ]
        for low, (number, share, right) in enumerate(counts)
        if number
    ]
    return Table(
        "Reliability without words: the largest share of an item, and how often it is right",
        ["largest share", "items (all runs)", "mean share", "right"],
        rows,
    )


def _agreement_table(agreed: Any) -> Table:
    rows: list[list[str | float]] = []
    for key, name in (("nothing", "no words"), ("right", "the true category named")):
        found = agreed[key]
        rows.append(
            [
                name, f"{found['mean']:.4f}", f"{found['max']:.4f}", f"{found['same']} of {agreed['count']}",
                f"{found['others']:.1e}", f"{found['others_max']:.3f}",
            ]
        )  # fmt: skip
    return Table(
        "The map against training again with the item (lam = 1)",
        ["words", "mean difference", "largest", "same top category", "others: mean change", "largest change"],
        rows,
        "Differences are half the sum of absolute differences: the share of an item that goes elsewhere.",
    )


def _draw_words(context: Context, runs: Any) -> None:
    with context.figure("words", (9.6, 4.8), columns=2) as (figure, (right, wrong)):
        for n, words in enumerate(WORDS):
            pairs = [_mean(runs, words, "error", place) for place in range(len(LAMS))]
            for axis in (right, wrong):
                if words == "nothing" or (words == "a wrong one named") == (axis is wrong):
                    axis.errorbar(
                        LAMS, [pair[0] for pair in pairs], yerr=[pair[1] for pair in pairs], label=words,
                        color=COLOURS[n], marker=MARKS[n], capsize=2,
                    )  # fmt: skip
        for axis, title in ((right, "Said what is true"), (wrong, "Said what is wrong")):
            axis.set(xscale="log", xlabel="lam of the map", title=title)
            axis.set_ylim(bottom=0)
        right.set_ylabel("error on held-out items, %")
        lines: dict[str, Any] = {}
        for axis in (right, wrong):
            handles, names = axis.get_legend_handles_labels()
            lines |= dict(zip(names, handles, strict=True))
        figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3)


def _draw_paths(context: Context, followed: Any, whole: Split) -> None:
    with context.figure("paths", (9.6, 6.2), rows=2, columns=3, sharex=True, sharey=True) as (_, axes):
        for axis, item in zip(axes, followed, strict=True):
            lams, Z = np.array(item["lams"]), np.array(item["Z"])
            breaks, at = np.array(item["break_lams"]), np.array(item["break_Z"])
            for n, k in enumerate(np.argsort(-Z.max(axis=0))[:5]):
                if Z[:, k].max() < 0.03:
                    continue
                axis.plot(lams, Z[:, k], color=COLOURS[n], label=str(k))
                seen = (breaks > lams.min()) & (breaks < lams.max())
                axis.plot(breaks[seen], at[seen, k], "o", color=COLOURS[n], markersize=4)
            axis.set(xscale="log", ylim=(-0.02, 1.02), xlim=(lams.max(), lams.min()))
            axis.set_title(item["told"], fontsize=10.5)
            axis.legend(fontsize=8.5, loc="upper left", ncols=2, handlelength=1.0, columnspacing=0.8)
            side = int(np.sqrt(whole.X_new.shape[1]))
            picture = axis.inset_axes((0.76, 0.58, 0.22, 0.32))
            picture.imshow(whole.X_new[item["item"]].reshape(side, side), cmap="Greys")
            picture.set_axis_off()
        for axis in axes[3:]:
            axis.set_xlabel("lam (crowd → expert)")
        for axis in axes[::3]:
            axis.set_ylabel("share")
