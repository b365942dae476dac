"""The out-of-sample map as a distribution over the categories, given neighbours and labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.pictures import COLOURS, MARKS, legend
from benchmarks.common.statistics import standard_error, with_error
from evidence.datasets import digits
from evidence.experiment import Cells, Context, Finding, Result, Table
from evidence.held_out import KINDS, LAMS, HeldOut, agreement, hold_out, own_rows, paths, predictions

TITLE = "The out-of-sample map: a conditional distribution"
Array = NDArray[np.float64]


def run(context: Context) -> Result:
    """Held-out digits with and without labels, against re-training, and paths over lam."""
    size, held = (1_200, 200) if context.quick else (10_000, 1_000)
    images = digits(context)
    X, y, name = images.X[:size], images.truth[:size], images.description
    context.progress("graph of the known items")
    whole = hold_out(X, y, held)
    runs = []
    for number in range(context.runs):
        context.progress(f"labels {number + 1} of {context.runs}")
        runs.append(context.remember(f"run-{number}", partial(predictions, whole, number)))
    context.progress("re-training with single items")
    count = 8 if context.quick else 40
    agreed = context.remember("agreement", partial(agreement, whole, count))
    own = context.remember("own", partial(own_rows, whole))
    followed = context.remember("paths", partial(paths, whole, 6))
    _draw_labels(context, runs)
    _draw_paths(context, followed, whole)
    return Result(
        findings=_findings(runs, agreed, own, followed),
        tables=[_labels_table(runs), _reliability(runs), _agreement_table(agreed)],
        pictures=[
            context.picture(
                "labels",
                f"Error on {held:,} held-out items against the lam of the map, for different labels of them; "
                f"means over {len(runs)} draws of the training labels, bars are standard errors. Left the "
                "expert alone, right the crowd alone: without labels lam does not matter.",
                "Error curves over lam: flat without labels, lower the more labels there are, high at small "
                "lam when they are wrong.",
            ),
            context.picture(
                "paths",
                "Six held-out digits that the crowd (left) gets wrong, and their exact paths to the expert "
                "(right); titles give the labels of each. Dots are breakpoints: between them the "
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
            "the probability that it is right (table on reliability). It is safe for ranking, and no "
            "probability.",
        ],
        data={"runs": runs, "agreement": agreed, "own": own, "paths": followed},
    )


def _findings(runs: Any, agreed: Any, own: Any, followed: Any) -> list[Finding]:
    at_one = LAMS.index(1.0)
    without = _values(runs, "nothing", "error", at_one)
    helped = _values(runs, "five wrong ones denied", "error", at_one)
    sure = max(abs(run["nothing"]["error"][0] - run["nothing"]["error"][-1]) for run in runs)
    return [
        Finding(
            "The map gives a valid assignment, and follows neighbours and labels of an item at once.",
            f"Rows sum to one within {max(run['sums'] for run in runs):.0e}, none is negative. At lam = 1 "
            f"the error is {with_error(without)} % without labels, {with_error(helped)} % when five wrong "
            "categories are denied.",
            bool(np.mean(helped) < np.mean(without)),
        ),
        Finding(
            "Without labels (g = 0) the map is the mean of the neighbours, whatever lam is.",
            f"The error changes by {sure:.1g} over all lams.",
            sure == 0,
        ),
        Finding(
            "The map differs little from training the whole system again with the new item.",
            f"{agreed['count']} items added one by one: the assignments differ by "
            f"{agreed['nothing']['mean']:.4f} on average (half the sum of absolute differences; at most "
            f"{agreed['nothing']['max']:.3f}) without labels, {agreed['right']['mean']:.4f} "
            f"({agreed['right']['max']:.3f}) with one; the top category is the same for "
            f"{agreed['nothing']['same']} and {agreed['right']['same']} of them.",
            min(agreed["nothing"]["same"], agreed["right"]["same"]) >= 0.9 * agreed["count"],
        ),
        Finding(
            "Training again would change the assignments of all items very slightly.",
            f"On average by {agreed['nothing']['others']:.1e} without labels and "
            f"{agreed['right']['others']:.1e} with one, at most by "
            f"{max(agreed['nothing']['others_max'], agreed['right']['others_max']):.2f} on any item.",
            max(agreed["nothing"]["others"], agreed["right"]["others"]) < 1e-2,
        ),
        Finding(
            "The map does not in general give a training item its own assignment back, though nearly.",
            "With its own edges and labels it does, exactly: at an optimum every row is the best one given "
            f"all others, which is what the map computes. Over {own['count']:,} items (lam = 10, relative "
            f"gap {own['gap']:.0e}) the largest difference is {own['own']:.0e}, and {own['itself']:.0e} if "
            "each is its own neighbour too. It differs where the item is treated as new, with the edges to "
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


def _values(runs: Any, kind: str, what: str, place: int) -> list[float]:
    """A figure of all runs."""
    return [run[kind][what][place] for run in runs]


def _labels_table(runs: Any) -> Table:
    chosen = [0.1, 1.0, 10.0]
    rows: Cells = []
    for kind in KINDS:
        cells = [
            with_error(_values(runs, kind, what, LAMS.index(lam)), digits)
            for what, digits in (("error", 1), ("truth", 3))
            for lam in chosen
        ]
        rows.append([kind, *cells])
    columns = [f"error %, lam = {lam:g}" for lam in chosen]
    columns += [f"share of the true one, {lam:g}" for lam in chosen]
    note = f"Means over {len(runs)} draws of the training labels and their standard errors."
    return Table("Held-out items by their labels", ["labels", *columns], rows, note)


def _reliability(runs: Any) -> Table:
    counts = np.sum([run["bins"] for run in runs], axis=0)
    rows: Cells = [
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
        "Reliability without labels: the largest share of an item, and how often it is right",
        ["largest share", "items (all runs)", "mean share", "right"],
        rows,
    )


def _agreement_table(agreed: Any) -> Table:
    rows: Cells = []
    for key, name in (("nothing", "none"), ("right", "the true category affirmed")):
        found = agreed[key]
        rows.append(
            [
                name, f"{found['mean']:.4f}", f"{found['max']:.4f}", f"{found['same']} of {agreed['count']}",
                f"{found['others']:.1e}", f"{found['others_max']:.3f}",
            ]
        )  # fmt: skip
    return Table(
        "The map against training again with the item (lam = 1)",
        [
            "labels",
            "mean difference",
            "largest",
            "same top category",
            "others: mean change",
            "largest change",
        ],
        rows,
        "Differences are half the sum of absolute differences: the share of an item that goes elsewhere.",
    )


def _draw_labels(context: Context, runs: Any) -> None:
    with context.figure("labels", (9.6, 4.8), columns=2) as (figure, axes):
        for n, kind in enumerate(KINDS):
            values = [_values(runs, kind, "error", place) for place in range(len(LAMS))]
            means, spreads = [np.mean(one) for one in values], [standard_error(one) for one in values]
            for axis, wrong in zip(axes, (False, True), strict=True):
                if kind == KINDS[0] or (kind == KINDS[-1]) == wrong:
                    style = {"color": COLOURS[n], "marker": MARKS[n], "capsize": 2}
                    axis.errorbar(LAMS, means, yerr=spreads, label=kind, **style)
        for axis, title in zip(axes, ("Right labels", "Wrong labels"), strict=True):
            axis.set(xscale="log", xlabel="lam of the map", title=title)
            axis.set_ylim(bottom=0)
        axes[0].set_ylabel("error on held-out items, %")
        legend(figure, axes, "lower", columns=3)


def _draw_paths(context: Context, followed: Any, whole: HeldOut) -> None:
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
            axis.set_title(item["labels"], fontsize=10.5)
            axis.legend(fontsize=8.5, loc="upper left", ncols=2, handlelength=1.0, columnspacing=0.8)
            side = int(np.sqrt(whole.X_new.shape[1]))
            picture = axis.inset_axes((0.76, 0.58, 0.22, 0.32))
            picture.imshow(whole.X_new[item["item"]].reshape(side, side), cmap="Greys")
            picture.set_axis_off()
        for axis in axes[3:]:
            axis.set_xlabel("lam (crowd → expert)")
        for axis in axes[::3]:
            axis.set_ylabel("share")
