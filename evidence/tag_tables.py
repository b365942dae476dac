"""The figures of the experiment on tagging, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidence.frame import Table
from evidence.grids import Best, best, shown

MEASURES = ("precision", "recall", "F1")
F1 = 2
PEERS = ("SSL", "SSL1", "SSL2")
METHODS = ("LASS", *PEERS, "most frequent")

#: collections whose items may be shown to anybody
FREE = ("debian",)


@dataclass(frozen=True)
class Tagging:
    """One collection: by the number of tags told, a sheet a run with precision, recall, F1 and more."""

    name: str
    sheets: Mapping[int, Sequence[Mapping[str, Any]]]

    @property
    def counts(self) -> list[int]:
        """Numbers of tags told."""
        return list(self.sheets)

    def at(self, method: str, count: int, measure: int = F1) -> Best:
        """A measure at the value of the parameter that is best by F1."""
        runs = [sheet["figures"][method] for sheet in self.sheets[count]]
        chosen = best([{key: row[F1] for key, row in run.items()} for run in runs], largest=True).parameter
        return Best(chosen, tuple(float(run[chosen][measure]) for run in runs))

    def mean(self, method: str, count: int, measure: int = F1) -> float:
        """The mean of :meth:`at`."""
        return self.at(method, count, measure).mean

    def line(self, method: str, measure: int) -> list[Best]:
        """A measure over all numbers of tags."""
        return [self.at(method, count, measure) for count in self.counts]

    def lead(self, count: int) -> float:
        """Points of F1 by which LASS is ahead of the best form of SSL."""
        return self.mean("LASS", count) - max(self.mean(name, count) for name in PEERS)


def tables(found: Tagging) -> list[Table]:
    """F1 with its standard error, and precision and recall, by the number of tags told."""
    heads = ["method", *(f"{count} told" for count in found.counts)]

    def both(method: str, count: int) -> str:
        return "/".join(f"{found.mean(method, count, measure):.1f}" for measure in (0, 1))

    scores: list[list[str | float]] = [[m, *map(shown, found.line(m, F1))] for m in METHODS]
    parts: list[list[str | float]] = [[m, *(both(m, count) for count in found.counts)] for m in METHODS]
    return [
        Table(f"{found.name}: F1 in %", heads, scores),
        Table(f"{found.name}: precision/recall in %", heads, parts),
    ]


def values(found: Sequence[Tagging]) -> Table:
    """The values chosen; a number of tags that a collection was not asked for stays empty."""
    counts = max((one.counts for one in found), key=len)
    rows: list[list[str | float]] = [
        [
            one.name,
            method,
            *(one.at(method, count).parameter if count in one.counts else "" for count in counts),
        ]
        for one in found
        for method in METHODS[:-1]
    ]
    heads = ["collection", "method", *(f"{count} told" for count in counts)]
    return Table("Values chosen", heads, rows, "2 lam d for LASS (d: median degree), eps for the others.")


def samples(found: Tagging, count: int, kept: Mapping[str, Any]) -> Table:
    """Predictions of LASS for a few hidden items beside the truth; mismatches are bold."""
    predicted = kept["predicted"][found.at("LASS", count).parameter]
    rows: list[list[str | float]] = [
        [item, ", ".join(truth), ", ".join(tag if tag in truth else f"**{tag}**" for tag in tags)]
        for item, truth, tags in zip(kept["items"], kept["truth"], predicted, strict=True)
    ]
    pairs = zip(kept["truth"], predicted, strict=True)
    right = np.mean([tag in truth for truth, tags in pairs for tag in tags])
    note = (
        f"Six hidden items drawn at random, not picked; {count} tags told of others. Predictions in their "
        f"order, as many as the truth has, mismatches in bold; {100 * right:.0f} % right."
    )
    columns = ["item", "truth", "predicted"]
    return Table(f"{found.name}: predictions", columns, rows, note, private=found.name not in FREE)
