"""A collection completed: features, graph and assignments, made anew only where something changed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lass.collection import Collection
from lass.collection.arrays import Stored
from lass.collection.reading import category_graph
from lass.graph import Health, health
from lass.learning.predictors import Weights
from lass.model.quadratic_program import row_ranges
from lass.solvers import Step
from lass.solvers.placement import Engine
from lass.tagging.completion import Completed, certificate, check_form, choose, complete, weigh
from lass.tagging.layout import map_of
from lass.tagging.saved import compact_features, grown, keep
from lass.tagging.stages import Progress, Report, graph_of, groups_of, silent
from lass.tagging.tag_counts import TagHealth, tag_health

#: share of the words that must change before lam is chosen again
CHANGED = 0.1


@dataclass(frozen=True)
class Fit:
    """What :func:`fit` did, with the certificate and the health of graph and tags."""

    completed: Completed
    #: why lam is what it is
    reason: str
    #: why each array was made anew; empty if all were fresh
    remade: dict[str, str]
    #: what each stage took
    seconds: dict[str, float]
    graph: Health
    tags: TagHealth
    #: whether it started from former assignments
    warm: bool

    @property
    def certificate(self) -> str:
        """How good the answer is, in one sentence."""
        return certificate(self.completed.solution)

    @property
    def note(self) -> str:
        """What to know of the scores, in one sentence; empty where there is nothing to say."""
        weights = self.completed.weights
        if weights is None or weights.complete == 1.0:
            return self.completed.note
        return (
            f"At most {weights.complete:.0%} of the tags that belong to tagged items seem to be stated; "
            "scores count on the others."
        )


def fit(
    collection: Collection, report: Report = silent, *, tol: float = 1e-3, engine: Engine | None = None
) -> Fit:
    """Bring features, graph, assignments and map of a collection up to date, and save them.

    What is fresh stays. New items are tied to those that are there; a solve starts from the
    former assignments where there are some; a lam that was chosen, and what each witness is
    worth (:func:`weigh`), stay until a tenth of the words have changed. The map comes last,
    and only where openTSNE is installed. With an ``engine`` the assignments are found elsewhere,
    as in :func:`lass.solve`; all other stages stay on this machine. Where all numbers of items x tags do
    not fit into the memory, assignments are stored sparsely and nothing is weighed: ``Fit.note`` says so.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import Collection, Item, Settings
    >>> from lass.tagging import fit
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> items = [Item(str(n), text=text) for n, text in enumerate(texts)]
    >>> with TemporaryDirectory() as folder:
    ...     words = [("0", "mail", 1), ("3", "game", 1)]
    ...     how = Settings(n_neighbors=2)
    ...     with Collection.create(f"{folder}/programs", items, words=words, settings=how) as programs:
    ...         done = fit(programs)
    ...         Z = programs.assignments
    >>> Z.argmax(axis=1).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    words = collection.annotations()
    if not words.names:
        raise ValueError(f"{collection.path} has no tags yet; say some: lass tag ITEM +tag --new")
    ties = smoothing_of(collection, words.names)
    check_form(words.G, ties, engine)
    remade = collection.stale()
    clock = Clock(report)
    W = graph_of(collection, clock.report)
    if W.shape[0] != words.G.shape[0]:
        raise ValueError(f"items were added to {collection.path} in this moment; run it again")
    former = collection.stored("assignments")
    start = None if former is None else grown(former.matrix, W, words.G.shape[1])
    lam, reason, chosen_with = _lam(collection, former, words.G.nnz)
    if lam == "auto":
        clock.report(Progress("lam"))
        choice = choose(W, words.G)
        lam, reason = choice.lam, choice.reason
    clock.report(Progress("solve"))
    stake = float(row_ranges(words.G).sum()) or 1.0

    def told(step: Step) -> None:
        clock.report(Progress("solve", gap=step.gap / stake))

    completed = complete(
        W, words.G, lam, tol=tol, category_graph=ties, start=start, callback=told, engine=engine
    )
    compact = {}
    if not completed.is_sparse:
        clock.report(Progress("evidence"))
        compact = compact_features(collection, former)
        completed = weigh(
            completed, features=compact.get("reduced"), groups=groups_of(collection)[1],
            weights=_weights(former, words.G.nnz),
        )  # fmt: skip
    clock.report(Progress("saving"))
    beside = {"chosen_with": np.asarray(chosen_with), "reason": np.asarray(reason), **compact}
    if completed.weights is not None:
        beside["weighed_with"] = np.asarray(_weighed_with(former, completed.weights, words.G.nnz))
    keep(collection, completed, words, beside)
    map_of(collection, W, clock.report)
    seconds = clock.stop()
    graph, tags = health(W, np.diff(words.G.indptr) > 0), tag_health(words)
    return Fit(completed, reason, remade, seconds, graph, tags, former is not None)


class Clock:
    """Passes reports on, and takes the time of every stage."""

    def __init__(self, report: Report) -> None:
        self.seconds: dict[str, float] = {}
        self._report, self._stage, self._began = report, "", time.perf_counter()

    def report(self, progress: Progress) -> None:
        """Take note of a stage."""
        if progress.stage != self._stage:
            self.stop()
            self._stage = progress.stage
        self._report(progress)

    def stop(self) -> dict[str, float]:
        """The seconds of all stages so far."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._began
        self._began = now
        return self.seconds


def _lam(collection: Collection, former: Stored | None, said: int) -> tuple[float | str, str, int]:
    """The lam to use, why, and how many words were known when it was chosen."""
    lam = collection.settings.lam
    if (
        lam == "auto"
        and former is not None
        and former.stamp.settings.get("lam") == "auto"
        and "lam" in former.beside
    ):
        chosen_with = int(former.beside.get("chosen_with", 0))
        if chosen_with and abs(said - chosen_with) <= CHANGED * chosen_with:
            return float(former.beside["lam"]), str(former.beside.get("reason", "")), chosen_with
    return lam, "as collection.toml says", said


def _weights(former: Stored | None, said: int) -> Weights | None:
    """What the witnesses were worth when they were weighed last, unless too many words have changed."""
    if former is None or "weights" not in former.beside:
        return None
    then = int(former.beside.get("weighed_with", 0))
    if abs(said - then) > CHANGED * then:
        return None
    try:
        return Weights.from_json(str(former.beside["weights"]))
    except ValueError:  # another version heard other witnesses
        return None


def _weighed_with(former: Stored | None, weights: Weights, said: int) -> int:
    """How many words were known when these weights were learnt."""
    if former is not None and _weights(former, said) == weights:
        return int(former.beside["weighed_with"])
    return said


def smoothing_of(collection: Collection, names: list[str]) -> sp.csr_array | None:
    """Ties between tags of the same parent, by the settings; None where they are not wanted."""
    strength = collection.settings.smoothing
    return category_graph(names) * strength if strength else None
