"""The fit of a collection on workers: the driver sends stages to them and saves nothing before the last.

The driver itself holds the graph, the annotations, the assignments and the scores, mapped from files where it
can; it chooses lam on a sample, solves problems of few items x tags, and adds up sums of parts.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix, CollectionStore
from lass.collection.features import TextFeatures
from lass.graph.joining import join_graphs
from lass.graph.laplacians import csr_of
from lass.learning.features_and_edges import GRAPHS, choose_graph
from lass.learning.predictors import Scores, Weights, tag_assignments
from lass.learning.predictors.few_tags import FewTags
from lass.learning.predictors.linear import STEPS, Models
from lass.learning.predictors.training import enough_to_train, train
from lass.learning.predictors.trees import MAX_ITEMS, tree_shares
from lass.learning.predictors.voters import find_voters
from lass.model.atomic import draft_of
from lass.model.problem import Problem
from lass.solvers import Callback
from lass.solvers.solution import Solution
from lass.tagging.canonical import CanonicalOrder, by_id, fingerprint, inverse, permuted
from lass.tagging.completion import TagModel, choose_lam, with_scores
from lass.tagging.distributed import features, linear, neighbours
from lass.tagging.distributed.cluster import Cluster, StageCost, Workers
from lass.tagging.distributed.local_graph import GRAPH
from lass.tagging.distributed.propagation import Walks, propagate
from lass.tagging.distributed.scoring import TREE_SHARES, FeaturesOnWorkers, score_parts, write_summary
from lass.tagging.distributed.sizes import Shape, cut
from lass.tagging.distributed.solving import SparseOnWorkers
from lass.tagging.distributed.workspace import Workspace, bounds_of
from lass.tagging.facet_choice import ON
from lass.tagging.feature_choice import MEANING, way_of
from lass.tagging.preparation import (
    compared_by,
    edges_beside,
    features_of,
    graph_of,
    graph_state,
    groups_of,
    has_dense_numbers,
    outdated,
    reduced_features,
    reduced_from,
    reduces_here,
    smoothing_of,
)
from lass.tagging.progress import Progress, ProgressCallback
from lass.tagging.storage import (
    FitRecord,
    SavedFeatures,
    SavedGraph,
    SavedPredictors,
    save_model,
    saved_model,
)

#: items whose texts tell how long texts are
LOOKED_AT = 1000


@dataclass
class FittedParts:
    """What workers computed, in canonical order; it can be saved as long as its context lasts."""

    order: CanonicalOrder
    #: the graph in the order of the collection
    W: sp.csr_array
    space: Workspace
    #: what is saved with a new graph, how it was made of features and edges, and what made new features
    new_graph: SavedGraph | None = None
    edges_reason: str = ""
    texts: TextFeatures | None = None
    canonical: TagModel | None = None
    model: TagModel | None = None
    record: FitRecord = field(default_factory=FitRecord)
    predictors: SavedPredictors | None = None
    #: stage -> what it took, and tasks that were run again
    costs: dict[str, StageCost] = field(default_factory=dict)
    lost: int = 0

    def save(self, collection: CollectionStore, annotations: AnnotationMatrix) -> None:
        """Put everything into the collection, as an ordinary fit does."""
        if self.texts is not None:
            X = self.space.whole(features.FEATURES, len(self.texts.terms))
            state = SavedFeatures(
                n_fitted=self.space.size, extractor=self.texts.state(), sorted_by="id", way=way_of(collection)
            )
            collection.save_features(permuted(X, inverse(self.order.rows)), **state.to_arrays())
        if self.new_graph is not None:
            collection.save_graph(self.W, **self.new_graph.to_arrays())
        if self.model is not None:
            token = "" if self.record.reduced_features is None else reduced_from(collection)
            record = replace(self.record, reduced_from=token)
            save_model(collection, self.model, annotations, record, self.predictors)


@contextmanager
def fitted_on_workers(
    collection: CollectionStore, annotations: AnnotationMatrix, workers: Workers, report: ProgressCallback,
    tol: float,
) -> Iterator[FittedParts]:  # fmt: skip
    """Compute features, graph and model of a collection on workers; its working folder is gone afterwards."""
    if collection.settings.facets == ON:
        raise ValueError(
            'facets = "on" cannot be done on workers, where all tags share one distribution; set facets to '
            "auto or off, or leave the engine out"
        )
    order = CanonicalOrder.of(annotations, smoothing=bool(collection.settings.smoothing))
    shape = _shape(collection, len(order.rows), len(order.columns))
    parts, block = cut(shape, workers.count, workers.parts, workers.memory)
    with _working_folder(collection) as folder, Cluster(workers) as cluster:
        space = Workspace(str(folder), bounds_of(shape.items, parts), block)
        fit = _Fit(collection, annotations, order, cluster, space, report, tol)
        yield fit.run()


@contextmanager
def _working_folder(collection: CollectionStore) -> Iterator[Path]:
    """A folder that all nodes see; if the process is killed, the next fit removes it."""
    folder = draft_of(Path(collection.path) / "fit")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shape(collection: CollectionStore, items: int, tags: int) -> Shape:
    """The size of the work, with features as long as some texts or the given rows are."""
    saved = collection.saved_array("features")
    if saved is not None:
        X = saved.matrix
        each = 8.0 * X.nnz / max(X.shape[0], 1) if sp.issparse(X) else 4.0 * X.shape[1]
    else:
        some = collection.get_rows(range(min(items, LOOKED_AT)))
        each = 3.0 * sum(len(item.text) for item in some) / max(len(some), 1)
    return Shape(items, max(tags, 1), collection.settings.n_neighbors, each)


@dataclass
class _Fit:
    """One fit, stage after stage."""

    collection: CollectionStore
    annotations: AnnotationMatrix
    order: CanonicalOrder
    cluster: Cluster
    space: Workspace
    report: ProgressCallback
    tol: float
    #: columns of the features; 0 where there are none
    width: int = 0

    def run(self) -> FittedParts:
        """All stages."""
        space, order = self.space, self.order
        texts, new_graph = self._features_and_graph()
        new_graph, reason = self._joined(new_graph)
        W = space.whole(GRAPH, space.size)
        back = inverse(order.rows)
        result = FittedParts(order, permuted(W, back, back), space, new_graph, reason, texts)
        if self.annotations.G.nnz:
            self._train(result, W)
        result.costs, result.lost = self.cluster.costs, self.cluster.lost
        return result

    def _features_and_graph(self) -> tuple[TextFeatures | None, SavedGraph | None]:
        """Put features and edges of all parts into the tables; new text features, and what a new graph is."""
        collection, space, settings = self.collection, self.space, self.collection.settings
        order, why = by_id(collection.ids()[: space.size]), outdated(collection)
        given = settings.metric == "precomputed"
        of_texts = settings.features.get("kind", "text") == "text" and "features" in why and not given
        of_texts = of_texts and way_of(collection) != MEANING
        texts = None
        if of_texts:
            features.write_items(collection, space, order)
            self.report(Progress("features", why["features"]))
            texts = features.text_features(self.cluster, space)
            self.width = len(texts.terms)
        elif not given:
            X = features_of(collection, self.report)
            features.write_rows(space, X, order)
            self.width = X.shape[1]
        if given or (texts is None and "graph" not in outdated(collection)):
            neighbours.cut_graph(space, permuted(graph_of(collection, self.report), order, order))
            return texts, None
        self.report(Progress("neighbours", why.get("graph", "")))
        state = graph_state(collection, space.size)
        count = min(settings.n_neighbors, space.size - 1)
        if not count:
            neighbours.cut_graph(space, sp.csr_array((1, 1)))
            return texts, state
        neighbours.build_graph(self.cluster, space, self.width, count, settings.metric)
        return texts, state

    def _joined(self, new: SavedGraph | None) -> tuple[SavedGraph | None, str]:
        """Join edges that were given beside features to the neighbours by these, as hidden tags say.

        What is saved with the graph if it is new, and a sentence on the choice. The driver does that: it
        holds the graph.
        """
        collection, space, rows = self.collection, self.space, self.order.rows
        edges, saved = edges_beside(collection, space.size), collection.saved_array("graph")
        if edges is None:
            return new, ""
        self.report(Progress("graph"))
        state = SavedGraph.from_arrays(saved.extras) if new is None and saved is not None else None
        if state is not None and state.neighbours is not None:
            near = permuted(sp.csr_array(state.neighbours), rows, rows)
        elif new is not None:
            near = sp.csr_array(space.whole(GRAPH, space.size), copy=True)  # its files are written again
        else:
            return None, ""
        given, G = permuted(edges, rows, rows), permuted(self.annotations.G, rows)
        choice = choose_graph(near, given, sp.csr_array(G), compared_by(collection))
        if new is not None:
            back = inverse(rows)
            new = replace(new, neighbours=permuted(near, back, back), made_of=choice.graph)
        elif state is not None and choice.graph != state.made_of:
            new = replace(state, made_of=choice.graph)
        if new is not None:
            neighbours.cut_graph(space, join_graphs(near, given, *GRAPHS[choice.graph]))
        return new, choice.reason

    def _train(self, result: FittedParts, W: sp.csr_array) -> None:
        """Choose lam, solve, train weights and score, as :func:`lass.tagging.pipeline.train`."""
        began, settings = time.perf_counter(), self.collection.settings
        G = self.order.annotations(self.annotations.G)
        lam, reason, choice = settings.lam, "set in collection.toml", None
        if lam == "auto":
            self.report(Progress("lam"))
            choice = choose_lam(W, G, pause=partial(self.report, Progress("lam")))
            lam, reason = choice.lam, choice.reason
        self.report(Progress("solve"))
        similar = smoothing_of(self.collection, [self.annotations.names[tag] for tag in self.order.columns])
        problem = Problem(W, G, float(lam), category_graph=similar)
        walks = self._propagated("all", G)

        def solved(step: Any) -> None:
            self.report(Progress("solve", gap=step.gap / (problem.stake or 1.0)))

        tol = tag_assignments.tolerance(problem, self.tol)
        solution = self._assigned(problem, tol, "all", solved)
        model = TagModel(solution, problem.lam, choice)
        self.report(Progress("scores"))
        reduced = self._reduced(result.texts is None)
        codes = self.order.groups(groups_of(self.collection)[1])
        result.canonical = model = self._scored(result, model, walks, reduced, codes)
        back = inverse(self.order.rows)
        result.record = FitRecord(
            lam_reason=reason, trained_on=fingerprint(self.annotations, settings),
            reduced_features=None if reduced is None else permuted(reduced, back),
            seconds=time.perf_counter() - began,
        )  # fmt: skip
        own = model.solution.problem
        if not self.order.is_identity:
            own = Problem(
                result.W, self.annotations.G, model.lam,
                category_graph=self.order.tags_in_collection(similar),
            )  # fmt: skip
        result.model = self.order.restored(model, own)

    def _propagated(self, run: str, G: sp.csr_array) -> Walks:
        features.write_rows(self.space, G, np.arange(self.space.size), f"{run}/annotations")
        return propagate(self.cluster, self.space, run, G)

    def _assigned(self, problem: Problem, tol: float, run: str, callback: Callback) -> Solution:
        """As :func:`~lass.learning.predictors.tag_assignments.assign_tags`; sparse sweeps on workers."""
        sweeps = SparseOnWorkers(self.cluster, self.space, run) if 0 < problem.lam < np.inf else None
        return tag_assignments.assign_tags(problem, tol, callback=callback, engine=sweeps)

    def _reduced(self, former_holds: bool) -> NDArray[np.float32] | None:
        """Put features in few columns into the tables, those of the former fit if they still hold."""
        space, former = self.space, saved_model(self.collection) if former_holds else None
        if reduces_here(self.collection):
            embedded, _ = reduced_features(self.collection, former)
            if embedded is None:
                return None
            features.write_rows(space, embedded, self.order.rows, features.REDUCED)
            return space.joined(features.REDUCED)["rows"]
        if not self.width:
            return None
        stamp = self.collection.saved_stamp("features") if former_holds else None
        if (
            former is not None and former.reduced_features is not None and stamp is not None
            and former.reduced_from == stamp.token
        ):  # fmt: skip
            features.write_rows(space, former.reduced_features, self.order.rows, features.REDUCED)
        else:
            features.reduce_features(self.cluster, space, self.width)
        return space.joined(features.REDUCED)["rows"]

    def _scored(
        self, result: FittedParts, model: TagModel, walks: Walks, reduced: Any, groups: Any
    ) -> TagModel:
        """The model with scores, if it can have any."""
        space, cluster, problem = self.space, self.cluster, model.solution.problem
        G, pause = problem.G, partial(self.report, Progress("scores"))
        codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups
        small = reduced is not None and problem.N <= MAX_ITEMS
        dense = small and has_dense_numbers(self.collection, reduced)
        if FewTags.possible(G, find_voters(problem.W, G)):
            of_graph = self.collection.settings.metric == "precomputed"
            return with_scores(
                model, features=reduced, groups=groups, trees=dense, of_graph=of_graph, pause=pause
            )
        if not (G.data > 0).any() or not enough_to_train(G, codes):
            return model
        typical = float(np.median(problem.W.data)) if problem.W.nnz else 1.0
        if reduced is not None:
            linear.prepare(cluster, space, codes)
        # trees are for collections that one machine holds with ease: the driver grows them
        shares = tree_shares(reduced, sp.csr_array(G > 0), codes, pause=pause) if dense else None
        if shares is not None:
            for part in space.parts:
                low, high = space.bounds[part : part + 2]
                space.write_csr(TREE_SHARES, part, sp.csr_array(shares[low:high]))

        def at(run: str, visible: sp.csr_array, walks: Walks, solution: Solution) -> Models | None:
            """Put what tasks must know of a run into the tables; its linear models."""
            Z = solution.Z
            entries = Z.to_csr()
            for part in space.parts:
                low, high = space.bounds[part : part + 2]
                space.write_csr(
                    f"{run}/assignments", part, entries[low:high], background=Z.background[low:high]
                )
            counts = np.bincount(sp.csr_array(visible > 0).indices, minlength=visible.shape[1])
            models = None if reduced is None else linear.fit_models(cluster, space, run, counts)
            write_summary(space, run, visible, walks, models, typical, trees=shares is not None)
            return models

        rounds = iter(range(1000))

        def compute(visible: sp.csr_array) -> FeaturesOnWorkers:
            number = next(rounds)
            space.remove(f"round-{number - 1}")
            run = f"round-{number}"
            pause()
            carried = self._propagated(run, visible)
            changed = problem.changed(G=visible)
            tol = tag_assignments.held_out_tolerance(problem, model.solution.tol)
            solved = self._assigned(changed, tol, run, lambda _: bool(pause()) and False)
            at(run, visible, carried, solved)
            return FeaturesOnWorkers(cluster, space, run, visible)

        models = at("all", G, walks, model.solution)
        current = FeaturesOnWorkers(cluster, space, "all", G)
        weights = train(compute, current, G, codes, pause=pause)
        if weights is None:
            return model
        score_parts(cluster, space, "all", weights)
        result.predictors = replace(self._predictors(walks, models), tree_shares=shares)
        return replace(model, weights=weights, scores=self._scores(weights, G.shape[1]))

    def _scores(self, weights: Weights, tags: int) -> Scores:
        """The scores of all parts."""
        found = self.space.joined("scores")
        shape = self.space.size, tags
        values = csr_of(found["data"], found["indices"], found["indptr"], shape)
        return Scores(values, found["top_tags"], found["contributions"].astype(np.float32))

    def _predictors(self, walks: Walks, models: Models | None) -> SavedPredictors:
        """What predictors computed, to be saved with the model."""
        space, tags = self.space, len(self.order.columns)
        G, last, walked = (
            space.joined(f"all/{name}") for name in ("annotations", f"walk-{STEPS - 1}", "walked")
        )
        positive = np.diff(sp.csr_array(_csr(G, tags) > 0).indptr) > 0
        found = SavedPredictors(
            counted_tags=self.order.columns, stepped=_csr(last, tags), walked=_csr(walked, tags),
            harmonic=space.whole("all/harmonic", tags), returns=walked["returns"], smoothing=walks.smoothing,
            visits=last["visits"] - walked["returns"] * positive + walks.smoothing,
        )  # fmt: skip
        if models is None:
            return found
        return replace(
            found, near_features=space.joined(linear.NEAR)["rows"],
            fold=space.joined(linear.FOLD)["fold"].astype(np.int8), linear_weights=np.stack(models.weights),
            linear_place=models.place, linear_tags=models.tags,
        )  # fmt: skip


def _csr(arrays: Any, tags: int) -> sp.csr_array:
    return sp.csr_array(
        (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(len(arrays["indptr"]) - 1, tags)
    )
