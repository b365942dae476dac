"""An evaluation as tables for a terminal: the best figure of each column in bold, whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lass.tagging.evaluation.result import OURS, Evaluation, Outcome

if TYPE_CHECKING:
    from rich.table import Table

#: heading -> metric
COLUMNS = {
    "F1@{top}": "f1", "precision": "precision", "recall": "recall", "MRR": "reciprocal_rank",
    "AP": "average_precision", "nDCG": "ndcg", "micro F1": "micro_f1", "macro F1": "macro_f1",
    "coverage": "coverage",
}  # fmt: skip

WORDS = {
    "scattered": "some tags of every item hidden",
    "items": "all tags of some items hidden",
}


def tables(evaluation: Evaluation) -> list[Table]:
    """One table a situation, the methods in the order of their F1."""
    return [_table(name, outcome, evaluation) for name, outcome in evaluation.situations.items()]


def summary(evaluation: Evaluation) -> list[str]:
    """What was done, and what to think of it, in sentences."""
    groups = f", items with the same {evaluation.group} together" if evaluation.group else ""
    seeds = "one draw" if evaluation.seeds == 1 else f"{evaluation.seeds} draws, ± standard error over them"
    lines = [
        f"{evaluation.hide:.0%} hidden{groups}; {seeds}. Figures in per cent, at {evaluation.top} "
        "suggestions an item among tags nothing was said about."
    ]
    for name, outcome in evaluation.situations.items():
        lines.append(f"{name}: {verdict(outcome)}")
    picked = evaluation.picked_lam()
    if picked is not None:
        lines.append(
            f"lam with the highest F1 over all draws, in hindsight: {picked:.3g} (--set-lam keeps it)"
        )
    return lines


def verdict(outcome: Outcome) -> str:
    """Who is ahead, and by how much against what chance can do."""
    ranked = outcome.ranked()
    if ranked[0] == OURS:
        other, first = ranked[1], f"{OURS} is ahead of {ranked[1]}"
    else:
        other, first = ranked[0], f"{ranked[0]} is ahead of {OURS}"
    pairs = zip(outcome.methods[OURS]["f1"].seeds, outcome.methods[other]["f1"].seeds, strict=True)
    differences = [100 * (ours - theirs) for ours, theirs in pairs]
    always = "in every draw" if len({value > 0 for value in differences}) == 1 else "but not in every draw"
    by = abs(sum(differences) / len(differences))
    told = f"{first} by {by:.1f} points of F1" + (f", {always}" if len(differences) > 1 else "")
    return f"{told} (lam {outcome.chosen:.3g})"


def _table(name: str, outcome: Outcome, evaluation: Evaluation) -> Table:
    from rich.table import Table
    from rich.text import Text

    judged = round(sum(outcome.judged) / len(outcome.judged))
    hidden = round(sum(outcome.hidden) / len(outcome.hidden))
    table = Table(
        title=f"{name}: {WORDS.get(name, '')} ({judged:,} items judged, {hidden:,} words hidden)",
        title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    table.add_column("method", no_wrap=True)
    for heading in COLUMNS:
        table.add_column(heading.format(top=evaluation.top), justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", style="dim", no_wrap=True)
    best = {
        metric: max(f"{100 * row[metric].mean:5.1f}" for row in outcome.methods.values())
        for metric in COLUMNS.values()
    }
    for method in outcome.ranked():
        cells = []
        for metric in COLUMNS.values():
            figure = outcome.methods[method][metric]
            shown = str(figure) if metric == "f1" else f"{100 * figure.mean:.1f}"
            cells.append(Text(shown, "bold green" if f"{100 * figure.mean:5.1f}" == best[metric] else ""))
        style = "cyan" if method == OURS else ""
        table.add_row(Text(method, style), *cells, f"{outcome.seconds[method]:.1f}")
    return table
