"""An evaluation as tables for a terminal, the best value of each column in bold, and as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lass.tagging.evaluation.result import OURS, Evaluation, SituationResult

if TYPE_CHECKING:
    from rich.table import Table

#: heading -> metric
COLUMNS = {
    "F1@{top}": "f1", "precision": "precision", "recall": "recall", "MRR": "reciprocal_rank",
    "AP": "average_precision", "nDCG": "ndcg", "micro F1": "micro_f1", "macro F1": "macro_f1",
    "coverage": "coverage",
}  # fmt: skip

SITUATION_TITLES = {
    "scattered": "some tags of every item hidden",
    "items": "all tags of some items hidden",
}


def metric_tables(evaluation: Evaluation) -> list[Table]:
    """One table a situation, with methods in the order of F1."""
    return [_table(name, result, evaluation) for name, result in evaluation.situations.items()]


def summary(evaluation: Evaluation) -> list[str]:
    """The protocol and the result, in sentences."""
    groups = f", items with the same {evaluation.group} together" if evaluation.group else ""
    seeds = "one draw" if evaluation.seeds == 1 else f"{evaluation.seeds} draws, ± standard error over them"
    lines = [
        f"{evaluation.hide:.0%} hidden{groups}; {seeds}. Values in per cent, at {evaluation.top} "
        "suggestions an item among tags without a visible annotation."
    ]
    lines += [f"{name}: {verdict(result)}" for name, result in evaluation.situations.items()]
    if (lam := evaluation.best_lam()) is not None:
        lines.append(f"lam with the highest F1 over all draws, in hindsight: {lam:.3g} (--set-lam keeps it)")
    return lines


def verdict(result: SituationResult) -> str:
    """Which method is ahead, by how much, and whether in every draw."""
    ranked = result.ranked()
    other = ranked[1] if ranked[0] == OURS else ranked[0]
    first = f"{OURS} is ahead of {other}" if ranked[0] == OURS else f"{other} is ahead of {OURS}"
    pairs = zip(result.methods[OURS]["f1"].seeds, result.methods[other]["f1"].seeds, strict=True)
    differences = [100 * (ours - theirs) for ours, theirs in pairs]
    always = "in every draw" if len({value > 0 for value in differences}) == 1 else "but not in every draw"
    by = abs(sum(differences) / len(differences))
    lead = f"{first} by {by:.1f} points of F1" + (f", {always}" if len(differences) > 1 else "")
    return f"{lead} (lam {result.lam:.3g})"


def _table(name: str, result: SituationResult, evaluation: Evaluation) -> Table:
    from rich.table import Table
    from rich.text import Text

    evaluated = round(sum(result.evaluated) / len(result.evaluated))
    hidden = round(sum(result.hidden) / len(result.hidden))
    counts = f"({evaluated:,} items evaluated, {hidden:,} tags hidden)"
    table = Table(
        title=f"{name}: {SITUATION_TITLES.get(name, '')} {counts}",
        title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    table.add_column("method", no_wrap=True)
    for heading in COLUMNS:
        table.add_column(heading.format(top=evaluation.top), justify="right", no_wrap=True)
    table.add_column("seconds", justify="right", style="dim", no_wrap=True)
    best = {
        metric: max(f"{100 * row[metric].mean:5.1f}" for row in result.methods.values())
        for metric in COLUMNS.values()
    }
    for method in result.ranked():
        cells = []
        for metric in COLUMNS.values():
            values = result.methods[method][metric]
            shown = str(values) if metric == "f1" else f"{100 * values.mean:.1f}"
            cells.append(Text(shown, "bold green" if f"{100 * values.mean:5.1f}" == best[metric] else ""))
        style = "cyan" if method == OURS else ""
        table.add_row(Text(method, style), *cells, f"{result.seconds[method]:.1f}")
    return table
