"""An evaluation as one figure: F1 of every method, and of LASS by lam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lass.model.checks import install_hint
from lass.tagging.evaluation.result import CROWD_ONLY, OURS, SITUATION_TITLES, Evaluation, SituationResult

#: colours that people with any kind of colour blindness can tell apart (Okabe and Ito)
OUR_COLOUR, OTHER_COLOUR = "#0072B2", "#A7ADB5"
LINES = {"scattered": ("#0072B2", "o"), "items": ("#D55E00", "s")}
#: endings that can be written, and what leaves date and version out: the same values give the same file
METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}, ".pdf": {"CreationDate": None},
}  # fmt: skip


def check_plot_path(path: Path) -> None:
    """Raise a ``ValueError``, before the work is done, where the figure could not be drawn or written."""
    if path.suffix.lower() not in METADATA:
        raise ValueError(f"a picture must end in {', '.join(METADATA)}; found {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!r} for the picture")
    pyplot()


def plot_evaluation(evaluation: Evaluation, path: Path | Any) -> None:
    """Draw into a file, or into a buffer as SVG."""
    plain = {
        "font.family": "DejaVu Sans", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
        "svg.fonttype": "path", "svg.hashsalt": "lass",
    }  # fmt: skip
    plt = pyplot()
    situations = evaluation.situations
    curves = any(result.curve for result in situations.values())
    with plt.rc_context(plain):
        panels = len(situations) + curves
        most = max(len(result.methods) for result in situations.values())
        figure, axes = plt.subplots(
            1, panels, figsize=(1.0 + 4.4 * panels, 1.5 + 0.42 * most), layout="constrained", squeeze=False
        )
        try:
            for axis, (name, result) in zip(axes[0], situations.items(), strict=False):
                _bars(axis, name, result, evaluation)
            if curves:
                _curve(axes[0][-1], evaluation)
            ending = Path(path).suffix.lower() if isinstance(path, str | Path) else ".svg"
            figure.savefig(path, format=ending[1:], dpi=160, metadata=METADATA[ending])
        finally:
            plt.close(figure)


def _bars(axis: Any, name: str, result: SituationResult, evaluation: Evaluation) -> None:
    methods = result.ranked()[::-1]
    means = [100 * result.methods[method]["f1"].mean for method in methods]
    errors = [100 * (result.methods[method]["f1"].error or 0.0) for method in methods]
    colours = [OUR_COLOUR if method == OURS else OTHER_COLOUR for method in methods]
    axis.barh(
        range(len(methods)), means, xerr=errors, color=colours, height=0.66, ecolor="#333333", capsize=2
    )
    for place, (mean, error) in enumerate(zip(means, errors, strict=True)):
        axis.annotate(f"{mean:.1f}", (mean + error, place), (5, 0), textcoords="offset points", va="center")
    labels = [method.replace("one-vs-rest logistic", "one-vs-rest logistic\n") for method in methods]
    axis.set_yticks(range(len(methods)), labels)
    for label, method in zip(axis.get_yticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method == OURS else "normal")
    axis.tick_params(axis="y", length=0)
    axis.set_xlim(0, 1.15 * max(*means, 1e-9))
    axis.set_xlabel(f"F1 at {evaluation.top} suggestions, %")
    axis.set_title(SITUATION_TITLES.get(name, name), loc="left", fontweight="bold", fontsize=11)


def _curve(axis: Any, evaluation: Evaluation) -> None:
    from matplotlib.patheffects import withStroke

    drawn = []
    for name, result in evaluation.situations.items():
        if not result.curve:
            continue
        colour, mark = LINES.get(name, ("#009E73", "^"))
        lams = list(result.curve)
        means = [100 * row["f1"].mean for row in result.curve.values()]
        errors = [100 * (row["f1"].error or 0.0) for row in result.curve.values()]
        axis.errorbar(lams, means, yerr=errors, color=colour, marker=mark, markersize=5, capsize=2)
        low, high = np.subtract(means, errors).min(), np.add(means, errors).max()
        drawn.append((sum(means), low, high, lams[0], SITUATION_TITLES.get(name, name), colour))
    floor, ceiling = axis.get_ylim()
    margin = 0.18 * (ceiling - floor)
    axis.set_ylim(max(0.0, floor - margin), ceiling + margin)
    for mean, low, high, lam, title, colour in drawn:
        # above all of the upper line and below all of the lower one, where no line can run through them
        above = mean >= max(other[0] for other in drawn)
        axis.annotate(
            title, (lam, high if above else low), (-4, 6 if above else -6), textcoords="offset points",
            color=colour, ha="left", va="bottom" if above else "top",
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.grid(axis="y", color="#E3E6EA", linewidth=0.8)
    axis.set_xlabel("lam: weight of the neighbours")
    axis.set_title(
        f"{CROWD_ONLY}: F1 at {evaluation.top}, %, by lam", loc="left", fontweight="bold", fontsize=11
    )


def pyplot() -> Any:
    """Matplotlib without a window; a ``ValueError`` that says how to install it where it is missing."""
    try:
        import matplotlib

        matplotlib.use("agg")  # no window, wherever it runs
        import matplotlib.pyplot as plt
    except ImportError:
        raise ValueError(f"pictures need matplotlib: {install_hint('plot')}") from None
    return plt
