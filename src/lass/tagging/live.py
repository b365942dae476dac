"""The model of a collection in memory, updated after every annotation."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix, CollectionStore
from lass.learning.predictors import LinearPredictor, PredictorFeatures, Scores, score
from lass.model.quadratic_program import Array
from lass.solvers import Step
from lass.solvers.assignments import extended
from lass.solvers.solution import Solution
from lass.solvers.solving import solve
from lass.tagging.completion import GAP_SHARE, MIN_GAP, TagModel, check_memory, complete
from lass.tagging.pipeline import smoothing_of
from lass.tagging.preparation import groups_of, reduced_features
from lass.tagging.progress import Progress, ProgressCallback, ignore_progress
from lass.tagging.storage import FitRecord, load_model, save_model, saved_model

#: an assignment that changes by more counts as changed
MOVED = 1e-3
#: rows that are scored again in an update, at most
NEAR = 1000


class LiveUpdate(NamedTuple):
    """Rows with new assignments or scores after an update (None: possibly all), and its seconds."""

    rows: NDArray[np.intp] | None
    seconds: float


class LiveModel:
    """The model of a collection in memory, updated from its present state.

    An annotation takes effect in two steps: :meth:`update` solves from the present assignments and scores
    the rows nearby again; :meth:`rescore` computes all predictors again on every row. Readers use
    :attr:`state`.

    Parameters
    ----------
    collection : CollectionStore
        Fitted before. If its items x tags do not fit into the memory, it is a ``ValueError``.
    """

    @staticmethod
    def check(shape: tuple[int, int]) -> None:
        """Raise a ``ValueError`` where so many items x tags do not fit into the memory."""
        check_memory(shape, "in the Studio", "use lass fit and lass suggest, which store less")

    def __init__(self, collection: CollectionStore) -> None:
        self.check((len(collection), len(collection.names())))
        self._collection = collection
        #: the model and the annotations it was computed from; replaced together, never changed
        self.state: tuple[TagModel, AnnotationMatrix] = load_model(collection)
        #: whether the assignments were solved again since they were read from the disk
        self.solved = False
        self._linear: LinearPredictor | None = None
        self._predictors: PredictorFeatures | None = None
        #: number of the change of the log up to which all rows are scored
        self.rescored = -1

    @property
    def model(self) -> TagModel:
        """The present model."""
        return self.state[0]

    @property
    def annotations(self) -> AnnotationMatrix:
        """The annotations it was computed from."""
        return self.state[1]

    def update(self, annotations: AnnotationMatrix, report: ProgressCallback = ignore_progress) -> LiveUpdate:
        """Solve for these annotations from the present assignments; score rows near a change again."""
        began = time.perf_counter()
        before = self.model
        G = sp.csr_array(annotations.G[: before.solution.problem.N])
        self.check(G.shape)
        solution = self._solve(G, report)
        model = replace(before, solution=solution)
        rows = self._changed_rows(G, solution.Z)
        if rows is not None and before.scores is not None and before.weights is not None and self._predictors:
            self._predictors.update(G, solution.Z, rows)
            reached = np.concatenate([rows, solution.problem.W[rows[:NEAR]].indices.astype(np.intp)])
            rows = reached[np.sort(np.unique(reached, return_index=True)[1])]
            again = score(self._predictors, G, before.weights, rows=rows[:NEAR])
            model = replace(model, scores=_with_rows(before.scores, again, rows[:NEAR]))
        elif before.scores is not None and G.shape[1] > before.scores.values.shape[1]:
            new_tags = G.shape[1] - before.scores.values.shape[1]
            values = np.pad(before.scores.values, ((0, 0), (0, new_tags)))
            model = replace(model, scores=replace(before.scores, values=values))
            self._predictors = None
        self.state, self.solved = (model, annotations), True
        return LiveUpdate(rows, time.perf_counter() - began)

    def rescore(self, report: ProgressCallback = ignore_progress) -> LiveUpdate:
        """Compute all predictors and scores again on every row; slowest the first time.

        ``report`` is called often, and may raise an error to end the work: nothing has changed then.
        """
        began = time.perf_counter()
        model, annotations = self.state
        pause = partial(report, Progress("scores"))
        pause()
        if model.weights is not None:
            problem = model.solution.problem
            if self._linear is None and self._collection.settings.metric != "precomputed":
                groups = groups_of(self._collection)[1]
                codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups[: problem.N]
                features, _ = reduced_features(self._collection, saved_model(self._collection))
                self._linear = LinearPredictor(features[: problem.N], codes, problem.W)
            predictors = PredictorFeatures(problem.W, problem.G, model.solution.Z, self._linear, pause)
            scores = score(predictors, problem.G, model.weights, pause=pause)
            self._predictors = predictors
            self.state = replace(model, scores=scores), annotations
        self.rescored = annotations.number
        return LiveUpdate(None, time.perf_counter() - began)

    def save(self) -> None:
        """Write the model to the disk, for other programs and the next start."""
        save_model(self._collection, *self.state, saved_model(self._collection) or FitRecord())

    def _solve(self, G: sp.csr_array, report: ProgressCallback) -> Solution:
        solution = self.model.solution
        problem = solution.problem
        stake = problem.stake or 1.0

        def report_gap(step: Step) -> None:
            report(Progress("solve", gap=step.gap / stake))

        report(Progress("solve"))
        if self.solved and G.shape[1] == problem.K:
            after = problem.changed(G=G)
            tol = max(GAP_SHARE * solution.gap / (after.stake or 1.0), MIN_GAP)
            return solve(after, start=solution, tol=tol, callback=report_gap, output="dense")
        smoothing = smoothing_of(self._collection, self._collection.names()[: G.shape[1]])
        start = extended(solution.Z, problem.W, G.shape[1])
        return complete(
            problem.W, G, problem.lam, category_graph=smoothing, start=start, callback=report_gap
        ).solution

    def _changed_rows(self, G: sp.csr_array, Z: Array) -> NDArray[np.intp] | None:
        """Rows with other annotations, then those whose assignments moved, most first; None: maybe all."""
        former = self.model.solution
        if not self.solved or G.shape != former.problem.G.shape:
            return None
        annotated = np.unique((G != former.problem.G).nonzero()[0])
        moved = np.abs(Z - former.Z).max(axis=1)
        others = np.argsort(-moved, kind="stable")[: np.count_nonzero(moved > MOVED)]
        return np.concatenate([annotated, others[~np.isin(others, annotated)]]).astype(np.intp)


def _with_rows(scores: Scores, again: Scores, rows: NDArray[np.intp]) -> Scores:
    """A copy of the scores with some rows replaced; readers of the old ones keep what they have."""
    values, top, parts = scores.values.copy(), scores.top_tags.copy(), scores.contributions.copy()
    values[rows], top[rows], parts[rows] = again.values, again.top_tags, again.contributions
    return Scores(values, top, parts)
