"""Assignments and scores that follow what people say, word by word."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import Annotations, Collection
from lass.learning.predictors import Linear, Scores, Witnesses, score
from lass.solvers import Step
from lass.solvers.solution import Solution, solve
from lass.tagging.completion import Completed, certificate, complete
from lass.tagging.memory import check_memory
from lass.tagging.pipeline import smoothing_of
from lass.tagging.saved import compact_features, grown, keep, restored
from lass.tagging.stages import Progress, Report, groups_of, silent

#: a solve goes on until the gap is less than this share of what it was: so every word is taken in, and the
#: gap falls from word to word, down to the least relative gap that is asked for
BETTER, LEAST = 0.98, 1e-6
#: an assignment that moves by more has moved
MOVED = 1e-3
#: rows that are scored again at once
NEAR = 1000


class Learnt(NamedTuple):
    """What :meth:`Live.learn` did: rows with new assignments or scores (None: any), and how long it took."""

    rows: NDArray[np.intp] | None
    seconds: float


class Live:
    """The model of a collection, kept in memory and brought up to date without beginning anew.

    A word is taken in twice: at once by :meth:`learn`, which solves from the present assignments and
    scores the rows nearby again, and thoroughly by :meth:`renew`, which hears every witness anew
    on every row. Readers take :attr:`state`.

    Parameters
    ----------
    collection : Collection
        Fitted before. All its items x tags must fit into the memory, or it is a ``ValueError``.
    """

    @staticmethod
    def check(collection: Collection) -> None:
        """Say so where its items x tags do not fit into the memory."""
        _check(len(collection), len(collection.names()))

    def __init__(self, collection: Collection) -> None:
        self.check(collection)
        self._collection = collection
        #: assignments and scores, and the words they know; replaced as one, never changed
        self.state: tuple[Completed, Annotations] = restored(collection)
        #: whether the assignments were solved for closely, after they were read from the disk
        self.solved = False
        self._linear: Linear | None = None
        self._witnesses: Witnesses | None = None
        #: change of the log that all scores know
        self.renewed = -1

    @property
    def completed(self) -> Completed:
        """Assignments and scores as they are now."""
        return self.state[0]

    @property
    def words(self) -> Annotations:
        """The words they know."""
        return self.state[1]

    @property
    def certificate(self) -> str:
        """How good the assignments are, in one sentence."""
        return certificate(self.completed.solution)

    def learn(self, words: Annotations, report: Report = silent) -> Learnt:
        """Solve for these words from where we are, and score again what is near to a change."""
        began = time.perf_counter()
        before = self.completed
        G = sp.csr_array(words.G[: before.solution.problem.N])
        _check(*G.shape)
        solution = self._solve(G, report)
        completed = replace(before, solution=solution)
        rows = self._touched(before, G, solution.Z)
        if rows is not None and before.scores is not None and before.weights is not None and self._witnesses:
            self._witnesses.follow(G, solution.Z, rows)
            rows = self._with_neighbours(rows)
            again = score(self._witnesses, G, before.weights, rows=rows[:NEAR])
            completed = replace(completed, scores=_patched(before.scores, again, rows[:NEAR]))
        elif before.scores is not None and G.shape[1] > before.scores.values.shape[1]:
            values = np.zeros(G.shape, np.float32)
            values[:, : before.scores.values.shape[1]] = before.scores.values
            completed = replace(completed, scores=replace(before.scores, values=values))
            self._witnesses = None
        self.state, self.solved = (completed, words), True
        return Learnt(rows, time.perf_counter() - began)

    def renew(self, report: Report = silent) -> Learnt:
        """Hear every witness anew on every row; the first time it takes longest.

        ``report`` is called often, and may raise an error to end the work: nothing has changed then.
        """
        began = time.perf_counter()
        completed, words = self.state

        def pause() -> None:
            report(Progress("evidence"))

        pause()
        if completed.weights is not None:
            problem = completed.solution.problem
            if self._linear is None and self._collection.settings.metric != "precomputed":
                groups = groups_of(self._collection)[1]
                codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups[: problem.N]
                compact = compact_features(self._collection, self._collection.stored("assignments"))
                self._linear = Linear(compact["reduced"][: problem.N], codes, problem.W)
            witnesses = Witnesses(problem.W, problem.G, completed.solution.Z, self._linear, pause)
            scores = score(witnesses, problem.G, completed.weights, pause=pause)
            self._witnesses = witnesses
            self.state = replace(completed, scores=scores), words
        self.renewed = words.number
        return Learnt(None, time.perf_counter() - began)

    def save(self) -> None:
        """Keep everything on the disk, so that other programs and the next start have it."""
        former = self._collection.stored("assignments")
        names = ("chosen_with", "reason", "weighed_with", "reduced", "reduced_from")
        beside = {} if former is None else former.beside
        keep(self._collection, *self.state, {name: beside[name] for name in names if name in beside})

    def _solve(self, G: sp.csr_array, report: Report) -> Solution:
        solution = self.completed.solution
        problem = solution.problem
        stake = problem.stake or 1.0

        def told(step: Step) -> None:
            report(Progress("solve", gap=step.gap / stake))

        report(Progress("solve"))
        if self.solved and G.shape[1] == problem.K:
            after = problem.changed(G=G)
            tol = max(BETTER * solution.gap / (after.stake or 1.0), LEAST)
            return solve(after, start=solution, tol=tol, callback=told, output="dense")
        ties = smoothing_of(self._collection, self._collection.names()[: G.shape[1]])
        start = grown(solution.Z, problem.W, G.shape[1])
        return complete(problem.W, G, problem.lam, category_graph=ties, start=start, callback=told).solution

    def _touched(self, before: Completed, G: sp.csr_array, Z: NDArray[np.float64]) -> NDArray[np.intp] | None:
        """Rows whose words or assignments changed; None where that is not the question."""
        former = before.solution
        if not self.solved or G.shape != former.problem.G.shape:
            return None
        difference = sp.csr_array(G - former.problem.G)
        difference.eliminate_zeros()
        said = np.flatnonzero(np.diff(difference.indptr))
        moved = np.abs(Z - former.Z).max(axis=1)
        order = np.argsort(-moved, kind="stable")
        others = order[: np.count_nonzero(moved > MOVED)]
        return np.concatenate([said, others[~np.isin(others, said)]]).astype(np.intp)

    def _with_neighbours(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        W = self.completed.solution.problem.W
        near = W[rows[:NEAR]].indices.astype(np.intp)
        _, first = np.unique(np.concatenate([rows, near]), return_index=True)
        return np.concatenate([rows, near])[np.sort(first)]


def _check(items: int, tags: int) -> None:
    check_memory(items, tags, "in the Studio", "use lass fit and lass suggest, which store less")


def _patched(scores: Scores, again: Scores, rows: NDArray[np.intp]) -> Scores:
    """Scores in which some rows are new; those of before stay as they were for whoever reads them."""
    values, best, parts = scores.values.copy(), scores.best.copy(), scores.parts.copy()
    values[rows], best[rows], parts[rows] = again.values, again.best, again.parts
    return Scores(values, best, parts)
