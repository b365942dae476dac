"""What an evaluation found, as something to print, to keep and to draw."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: where a collection keeps its last evaluation
FILE = "evaluation.json"
FORMAT = 1
#: the method that the others are held against
OURS = "LASS"
#: the assignments by themselves, without the other witnesses
ALONE = "LASS, its crowd alone"


@dataclass(frozen=True)
class Figure:
    """One metric of one method, seed by seed.

    Examples
    --------
    >>> from lass.tagging.evaluation import Figure
    >>> figure = Figure([0.4, 0.5, 0.6])
    >>> round(figure.mean, 3), round(figure.error, 3)
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
class Outcome:
    """One situation: figures by method and metric, and how LASS depends on lam.

    Attributes
    ----------
    judged, hidden : list of int
        Items judged and words hidden, seed by seed.
    methods : dict
        Method -> metric -> :class:`Figure`.
    seconds : dict
        Method -> seconds a seed, on average.
    chosen : float
        The lam of the method LASS: chosen from what was visible in the first draw, or as it is set.
    curve : dict
        lam -> metric -> :class:`Figure` of LASS at that lam.
    """

    judged: list[int]
    hidden: list[int]
    methods: dict[str, dict[str, Figure]]
    seconds: dict[str, float]
    chosen: float
    curve: dict[float, dict[str, Figure]] = field(default_factory=dict)

    def ranked(self, metric: str = "f1") -> list[str]:
        """The methods, the best first."""
        return sorted(self.methods, key=lambda name: -self.methods[name][metric].mean)

    def best_lam(self) -> float | None:
        """The lam of the grid with the highest F1, in hindsight."""
        return max(self.curve, key=lambda lam: self.curve[lam]["f1"].mean, default=None)


@dataclass(frozen=True)
class Evaluation:
    """Which share of hidden tags comes back, by which method. See :func:`evaluate`."""

    items: int
    tags: int
    words: int
    hide: float
    top: int
    seeds: int
    situations: dict[str, Outcome]
    name: str = ""
    group: str = ""

    def picked_lam(self) -> float | None:
        """The lam of the grid with the highest F1 over all situations and seeds."""
        curves = [outcome.curve for outcome in self.situations.values()]
        lams = set.intersection(*(set(curve) for curve in curves)) if curves else set()
        return max(sorted(lams), key=lambda lam: sum(curve[lam]["f1"].mean for curve in curves), default=None)

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON, with means and standard errors beside the figures of each seed."""
        result = {"format": FORMAT, **asdict(self), "lam": self.picked_lam()}
        for name, outcome in self.situations.items():
            told = result["situations"][name]
            told["methods"] = {method: _figures(row) for method, row in outcome.methods.items()}
            told["curve"] = [{"lam": lam, **_figures(row)} for lam, row in outcome.curve.items()]
        return result

    @classmethod
    def from_dict(cls, data: Any) -> Evaluation:
        """What :meth:`as_dict` gave; anything else is a ``ValueError``."""
        try:
            if data["format"] != FORMAT:
                raise ValueError(f"it has format {data['format']!r}, this version reads {FORMAT}")
            situations = {
                str(name): Outcome(
                    judged=[int(count) for count in told["judged"]],
                    hidden=[int(count) for count in told["hidden"]],
                    methods={str(method): _row(row) for method, row in told["methods"].items()},
                    seconds={str(method): float(value) for method, value in told["seconds"].items()},
                    chosen=float(told["chosen"]),
                    curve={float(row["lam"]): _row(row) for row in told["curve"]},
                )
                for name, told in data["situations"].items()
            }
            return cls(
                situations=situations, name=str(data["name"]), group=str(data["group"]),
                hide=float(data["hide"]),
                **{key: int(data[key]) for key in ("items", "tags", "words", "top", "seeds")},
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this is not an evaluation ({type(error).__name__}: {error})") from None

    def save(self, path: Path) -> None:
        """Write JSON, whole or not at all."""
        draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
        try:
            draft.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: Path) -> Evaluation:
        """What :meth:`save` wrote."""
        try:
            return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}; run lass evaluate again") from None


def _figures(row: dict[str, Figure]) -> dict[str, Any]:
    return {
        metric: {"mean": one.mean, "standard_error": one.error, "seeds": one.seeds}
        for metric, one in row.items()
    }


def _row(row: dict[str, Any]) -> dict[str, Figure]:
    found = {}
    for metric, told in row.items():
        if metric == "lam":
            continue
        seeds = [float(value) for value in told["seeds"]]
        if not seeds or not all(map(math.isfinite, seeds)):
            raise ValueError(f"figures of {metric!r} must be numbers; found {seeds}")
        found[str(metric)] = Figure(seeds)
    return found
