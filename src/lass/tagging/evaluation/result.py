"""The result of an evaluation: saved as JSON, and printed as tables and sentences."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lass.model.atomic import atomic_path

if TYPE_CHECKING:
    from rich.table import Table

#: file of a collection with its last evaluation
FILE = "evaluation.json"
FORMAT = 2
#: keys of format 1 (lass 0.1.0) -> keys of today
FORMAT_1_KEYS = {"words": "positive", "judged": "evaluated", "chosen": "lam"}
FORMAT_1_METHODS = {"LASS, its crowd alone": "LASS, crowd only", "chance": "random"}
#: the method that the others are compared with
OURS = "LASS"
#: the assignments by themselves, without the other predictors
CROWD_ONLY = "LASS, crowd only"
#: heading -> metric
COLUMNS = {
    "F1@{top}": "f1", "precision": "precision", "recall": "recall", "MRR": "reciprocal_rank",
    "AP": "average_precision", "nDCG": "ndcg", "micro F1": "micro_f1", "macro F1": "macro_f1",
    "coverage": "coverage",
}  # fmt: skip
#: tags with such a score that it takes for a statement on them
RELIABLE = 50
SITUATION_TITLES = {
    "scattered": "some tags of every item hidden",
    "items": "all tags of some items hidden",
}


@dataclass(frozen=True)
class MetricValues:
    """One metric of one method, seed by seed.

    Examples
    --------
    >>> from lass.tagging.evaluation import MetricValues
    >>> values = MetricValues([0.4, 0.5, 0.6])
    >>> round(values.mean, 3), round(values.error, 3)
    (0.5, 0.058)
    """

    seeds: list[float]

    @property
    def mean(self) -> float:
        """Over seeds."""
        return math.fsum(self.seeds) / len(self.seeds)

    @property
    def error(self) -> float | None:
        """Standard error of the mean over seeds; None where there is one seed."""
        if len(self.seeds) < 2:
            return None
        squares = math.fsum((value - self.mean) ** 2 for value in self.seeds)
        return math.sqrt(squares / (len(self.seeds) - 1) / len(self.seeds))

    def __str__(self) -> str:
        spread = "" if self.error is None else f" ± {100 * self.error:.1f}"
        return f"{100 * self.mean:.1f}{spread}"


@dataclass(frozen=True)
class Reliability:
    """Tags that were not visible and had a score in a range, in all draws together.

    Examples
    --------
    >>> from lass.tagging.evaluation.result import Reliability
    >>> print(Reliability(0.7, 0.9, 0.81, 0.79, 400))
    a score of 81 % is right in 79 of 100
    """

    #: the range, the mean score within it, and the share that were hidden tags
    low: float
    high: float
    score: float
    right: float
    #: how many tags of items had such a score
    count: int

    def __str__(self) -> str:
        return f"a score of {100 * self.score:.0f} % is right in {100 * self.right:.0f} of 100"


@dataclass(frozen=True)
class SituationResult:
    """Metrics of one situation by method, and of LASS by lam."""

    #: items evaluated and tags hidden, seed by seed
    evaluated: list[int]
    hidden: list[int]
    #: method -> metric -> values
    methods: dict[str, dict[str, MetricValues]]
    #: method -> mean seconds a seed
    seconds: dict[str, float]
    #: of the method LASS: chosen from what was visible in the first draw, or as it is set
    lam: float
    #: lam -> metric -> values of LASS at that lam
    curve: dict[float, dict[str, MetricValues]] = field(default_factory=dict)
    #: of LASS, by ranges of scores: how often they were right
    reliability: list[Reliability] = field(default_factory=list)

    def ranked(self, metric: str = "f1") -> list[str]:
        """The methods, best first."""
        return sorted(self.methods, key=lambda name: -self.methods[name][metric].mean)


@dataclass(frozen=True, repr=False)
class Evaluation:
    """How well each method predicts hidden tags, see :func:`evaluate`."""

    items: int
    tags: int
    #: positive annotations
    positive: int
    hide: float
    top: int
    seeds: int
    situations: dict[str, SituationResult]
    name: str = ""
    group: str = ""

    def __str__(self) -> str:
        """The tables and sentences that ``lass evaluate`` prints."""
        from rich.console import Console

        out = io.StringIO()
        console = Console(file=out, width=160, color_system=None, highlight=False)
        for table in metric_tables(self):
            console.print(table, "")
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        return "\n".join([*headlines(self), "", *lines, *summary(self)])

    __repr__ = __str__

    def best_lam(self) -> float | None:
        """The lam of the grid with the highest F1 over all situations and seeds."""
        curves = [outcome.curve for outcome in self.situations.values()]
        lams = set.intersection(*(set(curve) for curve in curves)) if curves else set()
        return max(sorted(lams), key=lambda lam: sum(curve[lam]["f1"].mean for curve in curves), default=None)

    def as_dict(self) -> dict[str, Any]:
        """As a dictionary for JSON, with means and standard errors of all metrics."""
        result = {"format": FORMAT, **asdict(self), "lam": self.best_lam()}
        for name, one in self.situations.items():
            saved = result["situations"][name]
            saved["methods"] = {method: _metrics_as_dict(row) for method, row in one.methods.items()}
            saved["curve"] = [{"lam": lam, **_metrics_as_dict(row)} for lam, row in one.curve.items()]
        return result

    @classmethod
    def from_dict(cls, data: Any) -> Evaluation:
        """What :meth:`as_dict` gave, or lass 0.1.0 wrote; anything else is a ``ValueError``."""
        try:
            if data["format"] == 1:
                data = _from_format_1(data)
            elif data["format"] != FORMAT:
                raise ValueError(f"it has format {data['format']!r}, this version reads {FORMAT}")
            situations = {
                str(name): SituationResult(
                    evaluated=[int(count) for count in one["evaluated"]],
                    hidden=[int(count) for count in one["hidden"]],
                    methods={str(method): _metrics(row) for method, row in one["methods"].items()},
                    seconds={str(method): float(value) for method, value in one["seconds"].items()},
                    lam=float(one["lam"]),
                    curve={float(row["lam"]): _metrics(row) for row in one["curve"]},
                    reliability=[_reliability(row) for row in one.get("reliability", [])],
                )
                for name, one in data["situations"].items()
            }
            return cls(
                situations=situations, name=str(data["name"]), group=str(data["group"]),
                hide=float(data["hide"]),
                **{key: int(data[key]) for key in ("items", "tags", "positive", "top", "seeds")},
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this is not an evaluation ({type(error).__name__}: {error})") from None

    def save(self, path: Path) -> None:
        """Write JSON, whole or not at all."""
        with atomic_path(path) as draft:
            draft.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Evaluation:
        """What :meth:`save` wrote."""
        try:
            return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}; run lass evaluate again") from None


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
        lines.append(
            f"LASS, crowd only has its highest F1 in hindsight at lam {lam:.3g} (lass evaluate --set-lam "
            "keeps it); LASS chooses its own"
        )
    return lines


def headlines(evaluation: Evaluation) -> list[str]:
    """What a curator may expect in each situation: how many suggestions are right, and at which score."""
    found = []
    for name, result in evaluation.situations.items():
        ours = result.methods[OURS]
        each = sum(result.hidden) / max(sum(result.evaluated), 1)
        title = SITUATION_TITLES.get(name, name)
        line = (
            f"{title[:1].upper()}{title[1:]}: {ours['precision'].mean:.0%} of the best suggestions (up to "
            f"{evaluation.top} an item) are right; they hold {ours['recall'].mean:.0%} of the hidden tags, "
            f"{each:.1f} an item"
        )
        sure = [str(one) for one in result.reliability if one.count >= RELIABLE]
        found.append("; ".join([line, *sure[-1:]]) + ".")
    return found


def verdict(result: SituationResult) -> str:
    """Which method is ahead, by how much, and whether in every draw."""
    ranked = result.ranked()
    if len({result.methods[name]["f1"].mean for name in ranked[:2]}) == 1 and OURS in ranked[:2]:
        return f"{ranked[0]} and {ranked[1]} have the same F1 (lam {result.lam:.3g})"
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


def _from_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """The same with the keys and the names of methods of today."""
    situations = {}
    for name, one in data["situations"].items():
        situations[name] = {FORMAT_1_KEYS.get(key, key): value for key, value in one.items()}
        for part in ("methods", "seconds"):
            situations[name][part] = {FORMAT_1_METHODS.get(key, key): row for key, row in one[part].items()}
    return {FORMAT_1_KEYS.get(key, key): value for key, value in data.items()} | {"situations": situations}


def _reliability(row: dict[str, Any]) -> Reliability:
    low, high, score, right = (float(row[key]) for key in ("low", "high", "score", "right"))
    return Reliability(low, high, score, right, int(row["count"]))


def _metrics_as_dict(row: dict[str, MetricValues]) -> dict[str, Any]:
    return {
        metric: {"mean": one.mean, "standard_error": one.error, "seeds": one.seeds}
        for metric, one in row.items()
    }


def _metrics(row: dict[str, Any]) -> dict[str, MetricValues]:
    found = {}
    for metric, values in row.items():
        if metric == "lam":
            continue
        seeds = [float(value) for value in values["seeds"]]
        if not seeds or not all(map(math.isfinite, seeds)):
            raise ValueError(f"values of {metric!r} must be numbers; found {seeds}")
        found[str(metric)] = MetricValues(seeds)
    return found
