"""The model of a collection in memory, updated after every annotation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix, CollectionStore
from lass.collection.arrays import relevant
from lass.graph import health
from lass.graph.laplacians import csr_of
from lass.learning.predictors import Predictors, Scores, score
from lass.learning.predictors.few_tags import FewTags
from lass.learning.predictors.prior import default_prior
from lass.learning.predictors.tag_assignments import ROUGHER
from lass.learning.predictors.tag_facets import FacetedProblem, FacetedSolution, update_facets
from lass.learning.predictors.voters import find_voters
from lass.model.facets import Facets
from lass.model.mapped_arrays import release, return_freed
from lass.model.problem import Problem
from lass.solvers.solution import Solution
from lass.solvers.sparse.certificate import certify_near, certify_rows
from lass.solvers.sparse.local import LEAST, update_near
from lass.solvers.sparse.storage import with_rows
from lass.tagging.canonical import CanonicalOrder, fingerprint, permuted, with_certificate
from lass.tagging.completion import TagModel, complete, with_scores
from lass.tagging.facet_choice import facets_of
from lass.tagging.pipeline import (
    FitResult,
    choose_comparisons,
    saved_predictors,
    solve_progress,
    train,
)
from lass.tagging.preparation import (
    graph_of,
    groups_of,
    outdated,
    predictor_inputs,
    reduced_features,
    smoothing_of,
)
from lass.tagging.progress import Progress, ProgressCallback, StageTimer, ignore_progress
from lass.tagging.storage import FitRecord, SavedPredictors, StoredModel, read_model, save_model
from lass.tagging.tag_counts import count_tags

#: rows that are scored again in an update, at most
NEAR = 1000
#: stored shares up to which the model of the last training is kept, for annotations that are withdrawn
KEPT = 2_000_000


class LiveUpdate(NamedTuple):
    """Rows with new assignments or scores after an update (None: possibly all), and its seconds."""

    rows: NDArray[np.intp] | None
    seconds: float


class LiveModel:
    """The model of a collection in memory, updated from its present state.

    An annotation takes effect in three steps: :meth:`update` solves from the present assignments and scores
    the rows nearby again; :meth:`rescore` computes all predictors again on every row; :meth:`retrain`
    computes what :func:`lass.tagging.fit` computes, from the annotations alone. Until then scores rest on
    lam and weights of earlier annotations, and :attr:`retrained` is False. Readers use :attr:`state`.

    Parameters
    ----------
    collection : CollectionStore
        Fitted before.
    """

    def __init__(self, collection: CollectionStore) -> None:
        #: held while predictors change in place, or are read by another thread than that of updates
        self._lock = threading.Lock()
        #: with the settings and arrays that the model was computed from
        self._collection = collection if collection.is_staged else collection.staged()
        stored = read_model(self._collection)
        annotations = stored.annotations
        self._record: FitRecord = stored.state.record
        self._problem = stored.problem
        self._order = self._order_of(annotations)
        #: the edges, and the same model in canonical order, with which everything is computed
        self._edges = self._order.graph(self._problem.W)
        solution = self._solution_of(stored)
        stored.release()
        model = stored.model((solution.objective, solution.stationarity))
        with_certificate(model.solution, solution)
        #: the model and the annotations it was computed from; replaced together, never changed
        self.state: tuple[TagModel, AnnotationMatrix] = model, annotations
        self._canonical = replace(model, solution=solution, scores=None, predictors=None)
        #: whether the scores of the model are those of before, until all are computed again
        self._scores_of_before = False
        #: reduced features as they were given and in canonical order, and groups, kept between updates
        self._permuted: tuple[Any, Any] = None, None
        self._groups: NDArray[np.intp] | None = None
        stored.release()
        self._restore_predictors(stored.predictors)
        #: the last that was trained, and its fingerprint
        self._trained: tuple[str, TagModel] | None = None
        if model.retrained and self._is_small and (found := self._order.scores(model.scores)) is not None:
            self._keep_trained(replace(self._canonical, scores=found))
        #: canonical rows whose annotations changed since the model was saved
        self._changed_since = self._find_changed()
        #: whether the assignments were solved again since they were read from the disk, or need not be
        self.solved = model.retrained
        #: number of the change of the log up to which all rows are scored
        self.rescored = -1
        if model.retrained and self._canonical.predictors is not None:
            self.rescored = annotations.number
        stored.release()
        self.release()

    @property
    def model(self) -> TagModel:
        """The present model."""
        return self.state[0]

    @property
    def annotations(self) -> AnnotationMatrix:
        """The annotations it was computed from."""
        return self.state[1]

    @property
    def retrained(self) -> bool:
        """Whether assignments and scores are those of a training with the present annotations."""
        return self.model.retrained

    @property
    def is_superseded(self) -> bool:
        """Whether settings or arrays that the model was computed from have been changed since by others."""
        return self._collection.is_superseded

    @property
    def collection(self) -> CollectionStore:
        """A staged collection with the settings and arrays that the model was computed from."""
        return self._collection.restaged()

    @property
    def has_changed(self) -> bool:
        """Whether annotations changed since the model was saved."""
        return not self.solved and len(self._changed_since) > 0

    @property
    def can_update(self) -> bool:
        """Whether annotations can be taken over by their neighbourhoods alone."""
        return self._canonical.predictors is not None

    @property
    def training_seconds(self) -> float:
        """How long the last training took; 0 if unknown."""
        return self._record.seconds

    @property
    def lam_reason(self) -> str:
        """How lam was chosen."""
        return self._record.lam_reason

    @property
    def comparisons(self) -> list[str]:
        """How items are compared, and why, a sentence each."""
        return self._record.comparisons.splitlines()

    def update(
        self, annotations: AnnotationMatrix, report: ProgressCallback = ignore_progress, whole: bool = False
    ) -> LiveUpdate:
        """Solve for these annotations from the present assignments; score rows near a change again.

        With ``whole`` every row is solved, and all near a change are scored; else no more than
        :data:`NEAR`. If they are those of the last training, its model is taken again. Without any annotation
        there is no model: a ``ValueError``.
        """
        began = time.perf_counter()
        before, order = self._canonical, self._order_of(annotations)
        if not len(order.columns):
            raise ValueError(f"{self._collection.path} has no annotations left; tag a few items first")
        same = np.array_equal(order.columns, self._order.columns)
        former, scores = None if self._scores_of_before else self.model.scores, None
        G = order.annotations(annotations.G)
        if self._trained and self._trained[0] == self._fingerprint(annotations):
            model, rows = replace(self._trained[1], predictors=before.predictors if same else None), None
            if model.predictors is not None:
                anew = self._annotated_anew(G)
                with self._lock:
                    model.predictors.update(G, model.solution.Z, anew)
        else:
            annotated = self._annotated_anew(G) if same else None
            solution, rows = self._solve(order, G, annotated, report, whole)
            model = replace(before, solution=solution, retrained=False)
            if FewTags.possible(G, find_voters(self._edges, G)):  # one annotation of few changes all scores
                model, rows = self._scored(model, order), None
            elif annotated is None or rows is None or former is None or before.predictors is None:
                model, rows = replace(model, scores=None, predictors=None), None
            else:
                with self._lock:
                    before.predictors.update(G, solution.Z, annotated)
                rows = _distinct(annotated, self._edges[annotated].indices, rows)
                some = rows if whole else rows[:NEAR]
                assert model.weights is not None
                again = order.restored_scores(score(before.predictors, G, model.weights, rows=some))
                former = former.widened(again.shape[1])  # tags that nobody has used may be new
                scores = former.with_rows(order.rows[some], again)
        shown = self.model.scores
        self._set(order, model, annotations, scores)
        if self.model.scores is None and shown is not None:
            self._keep_scores(shown)
        self.solved = True
        self.release()
        return LiveUpdate(None if rows is None else order.rows[rows], time.perf_counter() - began)

    def scores_if(self, row: int, annotations: Mapping[int, int]) -> dict[int, float] | None:
        """Scores of the likeliest tags of an item if these were all its annotations, the likeliest first.

        All else stays as it is, and nothing is stored. By column; None where no predictors are known. May be
        called from any thread.
        """
        with self._lock:
            order, model = self._order, self._canonical
            predictors, weights, problem = model.predictors, model.weights, model.solution.problem
            places = np.flatnonzero(order.rows == row)
            if predictors is None or weights is None or not len(places):
                return None
            columns = {int(column): place for place, column in enumerate(order.columns)}
            tried = {columns[tag]: value for tag, value in annotations.items() if tag in columns and value}
            tags = np.array(sorted(tried), np.int32)
            values = np.array([tried[tag] for tag in tags.tolist()], problem.G.dtype)
            own = csr_of(values, tags, np.array([0, len(tags)]), (1, problem.K))
            G = with_rows(problem.G, places, own)
            if predictors.trained is not None:
                predictors = replace(predictors, trained=predictors.trained.with_annotations(G))
            found = score(predictors, G, weights, rows=places)
        top = found.top_tags[0]
        known = found.values.toarray()[0]
        return {int(order.columns[tag]): float(known[tag]) for tag in top if tag >= 0}

    def release(self) -> None:
        """Take what lies in files out of the memory until it is used again, and return what is free.

        Nobody changes what lies in files in place.
        """
        shown = self.model.scores
        release(self._edges.data, self._edges.indices, *(() if shown is None else shown.arrays))
        predictors = self._canonical.predictors
        if predictors is not None and predictors.trained is not None:
            predictors.trained.release()
            propagation = predictors.trained.propagation
            for matrix in (propagation.stepped, propagation.walked):
                release(matrix.data, matrix.indices)
        if not self._is_small:
            return_freed()

    def rescore(self, report: ProgressCallback = ignore_progress) -> LiveUpdate:
        """Compute all predictors and scores again on every row, with the weights as they are.

        ``report`` is called often, and may raise an error to end the work: nothing has changed then.
        """
        began = time.perf_counter()
        annotations, order, model = self.annotations, self._order, self._canonical
        pause = partial(report, Progress("scores"))
        pause()
        if model.weights is not None:
            self._set(order, self._scored(model, order, pause), annotations)
        self.rescored = annotations.number
        return LiveUpdate(None, time.perf_counter() - began)

    def _scored(self, model: TagModel, order: CanonicalOrder, pause: Callable[[], object] = int) -> TagModel:
        """The model with scores of all rows, by the weights it has."""
        inputs, _ = predictor_inputs(self._collection, self._record)
        inputs = inputs._replace(features=self._in_order(order, inputs.features))
        if self._groups is None:
            self._groups = groups_of(self._collection)[1]
        return with_scores(
            model, **inputs._asdict(), groups=order.groups(self._groups), weights=model.weights, pause=pause
        )

    def retrain(self, report: ProgressCallback = ignore_progress) -> LiveUpdate:
        """Choose lam, solve, train and score anew, as :func:`lass.tagging.fit` does; nothing is saved.

        ``report`` is called often, and may raise an error to end the work: nothing has changed then.
        """
        began = time.perf_counter()
        annotations = self.annotations
        chosen = choose_comparisons(self._collection, annotations, report)
        W = graph_of(self._collection, report)
        if not self._collection.is_read_only:
            self._collection.publish()
        if W.shape[0] != len(annotations.ids):
            raise ValueError(f"items were added to {self._collection.path}; run lass fit again")
        order, canonical, model, self._record = train(
            self._collection, annotations, W, report, chosen=chosen, edges_reason=self._record.edges_reason
        )
        self._edges = canonical.solution.problem.W
        self._problem, self._order = model.solution.problem, order
        self._canonical, self._scores_of_before = replace(canonical, scores=None), False
        self._keep_trained(canonical)
        self.state, self.solved, self.rescored = (model, annotations), True, annotations.number
        return LiveUpdate(None, time.perf_counter() - began)

    def save(self) -> None:
        """Write the model to the disk, for other programs and the next start."""
        self.saving()()

    def saving(self) -> Callable[[], None]:
        """Writes the model as it is now, from any thread and whatever becomes of it meanwhile.

        :class:`~lass.collection.staging.Superseded` where others have changed what it was computed from.
        """
        model, annotations = self.state
        collection = self.collection
        predictors, record = saved_predictors(self._canonical, self._order), self._record
        if predictors is not None:  # an update changes these shares in place
            shares = predictors.harmonic
            shares = csr_of(shares.data.copy(), shares.indices, shares.indptr, shares.shape)
            predictors = replace(predictors, harmonic=shares)

        def write() -> None:
            trained = self._fingerprint(annotations) if model.retrained else ""
            save_model(collection, model, annotations, replace(record, trained_on=trained), predictors)
            collection.publish()

        return write

    def _fingerprint(self, annotations: AnnotationMatrix) -> str:
        return fingerprint(annotations, self._collection.settings, self._problem.N)

    def _order_of(self, annotations: AnnotationMatrix) -> CanonicalOrder:
        smoothing = bool(self._collection.settings.smoothing)
        known = getattr(self, "_order", None)
        rows = known.rows if known is not None and len(known.rows) == self._problem.N else None
        return CanonicalOrder.of(annotations, self._problem.N, smoothing=smoothing, rows=rows)

    def _smoothing(self, order: CanonicalOrder, names: list[str]) -> sp.csr_array | None:
        return smoothing_of(self._collection, [names[column] for column in order.columns])

    def _facets(self, order: CanonicalOrder, names: list[str]) -> Facets:
        return facets_of([names[column] for column in order.columns], self._collection.settings)

    def _solution_of(self, stored: StoredModel) -> Solution:
        """The assignments from the disk in canonical order, certified."""
        order, problem = self._order, stored.problem
        if isinstance(problem, FacetedProblem):
            same = problem.quadratic if self._edges is problem.W else self._edges
            G, facets = order.annotations(problem.G), self._facets(order, stored.annotations.names)
            return FacetedSolution(
                FacetedProblem(same, G, problem.lam, facets), order.shares(stored.Z), tol=1e-3,
                method="saved", n_iter=0, seconds=0.0, history=[],
            )  # fmt: skip
        similar = self._smoothing(order, stored.annotations.names)
        checked = self._edges is problem.W and similar is None
        inner = Problem(
            problem.quadratic if checked else self._edges, order.annotations(problem.G), problem.lam,
            category_graph=similar,
        )  # fmt: skip
        Z = order.assignments(stored.Z)
        return Solution(inner, Z, tol=1e-3, method="saved", n_iter=0, seconds=0.0, history=[])

    def _restore_predictors(self, saved: SavedPredictors | None) -> None:
        """Take the predictors that were saved with the model, so that the first update can use them."""
        model, order = self._canonical, self._order
        if saved is None or model.weights is None or not np.array_equal(saved.counted_tags, order.columns):
            return
        features = self._in_order(order, reduced_features(self._collection, self._record)[0])
        solution = model.solution
        found = saved.restored(self._edges, solution.problem.G, solution.Z, features)
        if found is not None:
            voters = find_voters(self._edges, solution.problem.G)
            groups = np.zeros(0, np.intp)  # only the mixture of few tags needs them
            predictors = Predictors(found, None, None, groups, default_prior(), voters)
            self._canonical = replace(model, predictors=predictors)

    def _in_order(self, order: CanonicalOrder, features: Any) -> Any:
        """Reduced features in canonical order, the same array while they are the same."""
        if features is not None and self._permuted[0] is not features:
            self._permuted = features, permuted(features[: len(order.rows)], order.rows)
        return None if features is None else self._permuted[1]

    @property
    def _is_small(self) -> bool:
        """Whether the model of the last training is kept, so that it can be taken again."""
        return bool(self._canonical.solution.Z.stored <= KEPT)

    def _keep_trained(self, canonical: TagModel) -> None:
        """Keep the canonical model, which is trained, unless it is large."""
        self._trained = (self._record.trained_on, canonical) if self._is_small else None

    def _set(
        self, order: CanonicalOrder, model: TagModel, annotations: AnnotationMatrix,
        scores: Scores | None = None,
    ) -> None:  # fmt: skip
        """Take over a model in canonical order; with ``scores`` of the collection if it has none."""
        if order.is_identity:
            self._problem = model.solution.problem
        elif np.array_equal(order.columns, self._order.columns) and order.n_tags == self._problem.K:
            G = sp.csr_array(annotations.G[: self._problem.N])
            self._problem = self._problem.changed(G=G, lam=model.lam)
        else:
            similar = order.tags_in_collection(self._smoothing(order, annotations.names))
            G = sp.csr_array(annotations.G[: self._problem.N])
            self._problem = Problem(self._problem.W, G, model.lam, category_graph=similar)
            if isinstance(model.solution, FacetedSolution):
                facets = facets_of(annotations.names, self._collection.settings)
                self._problem = FacetedProblem(self._problem.quadratic, G, model.lam, facets)
        self._order, self._canonical, self._scores_of_before = order, replace(model, scores=None), False
        self._changed_since = self._changed_since[:0]
        restored = order.restored(model, self._problem)
        self.state = restored if scores is None else replace(restored, scores=scores), annotations

    def _keep_scores(self, former: Scores) -> None:
        """Show the scores of before until all are computed again; new tags have none."""
        model, annotations = self.state
        tags = model.solution.Z.shape[1]
        self._scores_of_before = True
        self.state = replace(model, scores=former.widened(tags)), annotations

    def _solve(
        self, order: CanonicalOrder, G: sp.csr_array, annotated: NDArray[np.intp] | None,
        report: ProgressCallback, whole: bool,
    ) -> tuple[Solution, NDArray[np.intp] | None]:  # fmt: skip
        """A solution for these annotations, and further rows it concerns, most first; None: possibly all."""
        solution = self._canonical.solution
        problem = solution.problem
        report(Progress("solve"))
        known = (self.solved or len(self._changed_since) > 0) and problem.category_laplacian is None
        if isinstance(solution, FacetedSolution):
            return self._solve_facets(solution, order, G, annotated, report, whole)
        if annotated is not None and known and not whole and 0 < problem.lam < np.inf:
            after = problem.changed(G=G)
            # rows nearby alone: the next training places every row
            Z, moved, reached = update_near(after, solution.Z, annotated)
            terms = certify_rows(problem, solution.Z) if solution.row_terms is None else solution.row_terms
            found = Solution(
                after, Z, tol=ROUGHER, method="update", n_iter=0, seconds=0.0, history=[],
                certificate=certify_near(after, Z, np.union1d(moved, annotated), terms),
            )  # fmt: skip
            near = np.flatnonzero(reached > LEAST)
            return found, np.concatenate([near[np.argsort(-reached[near], kind="stable")], moved])
        start = order.assignments(self.state[0].solution.Z)
        similar = self._smoothing(order, self._collection.names())
        callback = solve_progress(G, report)
        found = complete(
            self._edges, G, problem.lam, category_graph=similar, start=start, callback=callback
        ).solution
        return found, np.zeros(0, np.intp) if known and annotated is not None else None

    def _solve_facets(
        self, solution: FacetedSolution, order: CanonicalOrder, G: sp.csr_array,
        annotated: NDArray[np.intp] | None, report: ProgressCallback, whole: bool,
    ) -> tuple[Solution, NDArray[np.intp] | None]:  # fmt: skip
        """:meth:`_solve` within facets: only those where annotations differ are solved again."""
        if annotated is not None and not whole:
            found = update_facets(replace(solution, tol=ROUGHER), G, annotated)
            near = np.flatnonzero(found.reached > LEAST)
            by_reach = near[np.argsort(-found.reached[near], kind="stable")]
            return found.solution, np.concatenate([by_reach, found.moved])
        facets = self._facets(order, self._collection.names())
        anew = complete(
            self._edges if annotated is None else solution.problem.quadratic, G, solution.problem.lam,
            facets=facets, start=None if annotated is None else solution,
            callback=solve_progress(G, report),
        ).solution  # fmt: skip
        return anew, None if annotated is None else np.zeros(0, np.intp)

    def _annotated_anew(self, G: sp.csr_array) -> NDArray[np.intp]:
        """Rows whose annotations differ from those of the present model."""
        differ = (G != self._canonical.solution.problem.G).nonzero()[0].astype(np.intp)
        return np.unique(np.concatenate([differ, self._changed_since]))

    def _find_changed(self) -> NDArray[np.intp]:
        """Canonical rows whose annotations changed after the saved model; none where not all are known."""
        stamp = self._collection.saved_stamp("assignments")
        if self._canonical.predictors is None or self.model.retrained or stamp is None:
            return np.zeros(0, np.intp)
        place = np.argsort(self._order.rows)
        rows = np.asarray(self._collection.changed_since(stamp.changes).rows, np.intp)
        return place[rows[rows < len(place)]]


def update_fit(collection: CollectionStore, report: ProgressCallback = ignore_progress) -> FitResult | None:
    """Take new annotations over into the saved model, with lam and weights as they are; save it.

    Many times as fast as a fit, and marked as resting on earlier annotations until the next. None where it
    cannot be done: nothing was fitted, items or settings have changed, or no predictors are saved.
    """
    stamp, graph_stamp = collection.saved_stamp("assignments"), collection.saved_stamp("graph")
    if stamp is None or graph_stamp is None or outdated(collection):
        return None
    if stamp.settings != relevant("assignments", collection.settings) or stamp.source != graph_stamp.token:
        return None
    timer = StageTimer(report)
    timer.report(Progress("saved model"))
    live = LiveModel(collection)
    if not live.can_update:
        return None
    annotations = collection.annotation_matrix()
    if live.has_changed:
        live.update(annotations, timer.report, whole=True)
        timer.report(Progress("saving"))
        live.save()
    model, W = live.model, live.model.solution.problem.W
    graph = health(W, np.diff(annotations.G.indptr) > 0)
    return FitResult(model, live.lam_reason, {}, timer.stop(), graph, count_tags(annotations))


def _distinct(*rows: NDArray[Any]) -> NDArray[np.intp]:
    """Rows in the order in which they are named first."""
    named = np.concatenate(rows).astype(np.intp)
    return named[np.sort(np.unique(named, return_index=True)[1])]
