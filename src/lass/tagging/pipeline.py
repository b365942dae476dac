"""Fit a collection: features, graph and map where they are out of date; the model always, from the state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lass.collection import AnnotationMatrix, CollectionStore
from lass.collection.staging import Superseded
from lass.graph import Health, health
from lass.kernels.threads import thread_count
from lass.learning.predictors.tag_facets import FacetedProblem
from lass.model.atomic import restored_on_error
from lass.model.problem import Problem
from lass.model.quadratic_program import row_ranges
from lass.solvers import Callback, Step
from lass.solvers.plan import Engine
from lass.tagging.canonical import CanonicalOrder, fingerprint
from lass.tagging.comparison import FILE as COMPARISONS
from lass.tagging.completion import TOL, TagModel, check_memory, choose_lam, complete, with_scores
from lass.tagging.distributed.cluster import StageCost, Workers
from lass.tagging.distributed.fitting import fitted_on_workers
from lass.tagging.facet_choice import choose_facets, facets_of
from lass.tagging.feature_choice import choose_features, comparison_sentence
from lass.tagging.map_layout import map_of
from lass.tagging.preparation import (
    balanced_graph,
    graph_of,
    groups_of,
    outdated,
    predictor_inputs,
    smoothing_of,
    trees_sentence,
)
from lass.tagging.progress import Progress, ProgressCallback, StageTimer, ignore_progress
from lass.tagging.storage import FitRecord, SavedPredictors, save_model, saved_model
from lass.tagging.suggestion_files import check_folder, write_parts
from lass.tagging.suggestions import TagSuggester
from lass.tagging.tag_counts import TagCounts, count_tags

#: how often a fit is begun where other programs change settings or arrays meanwhile
ATTEMPTS = 3


@dataclass(frozen=True)
class FitResult:
    """The model that :func:`fit` found, its certificate, and statistics of graph and tags."""

    #: None where there are no annotations: then only features, graph and map were computed
    model: TagModel | None
    #: how lam was chosen
    lam_reason: str
    #: array -> why it was computed again; empty if all were up to date
    recomputed: dict[str, str]
    #: stage -> seconds
    seconds: dict[str, float]
    graph: Health
    tags: TagCounts
    #: stage -> tasks, their seconds and their memory, of a fit on workers
    workers: dict[str, StageCost] = field(default_factory=dict)
    #: how items are compared, and where that was chosen, why: a sentence each
    comparisons: tuple[str, ...] = ()
    #: whether trees count for suggestions, and why not, in a sentence; empty where they never do
    trees: str = ""

    def __repr__(self) -> str:
        chosen = "" if self.model is None else f"lam = {self.model.lam:.3g}: {self.lam_reason}"
        lines = [self.certificate, chosen, *self.comparisons, self.trees, self.note, str(self.tags)]
        return "\n".join(filter(None, lines))

    @property
    def certificate(self) -> str:
        """How close to the optimum the assignments are, in one sentence."""
        if self.model is None:
            return "No annotations yet: groups and map are ready, and suggestions come with the first tags."
        return self.model.certificate

    @property
    def note(self) -> str:
        """What limits the scores, in one sentence; empty if nothing does."""
        if self.model is None:
            return ""
        if not self.model.retrained:
            return "Scores rest on weights of earlier annotations; a fit without an update trains them again."
        weights = self.model.weights
        if weights is None or weights.completeness == 1.0:
            return ""
        return (
            f"At most {weights.completeness:.0%} of the tags of tagged items seem to be annotated; "
            "scores allow for the missing ones."
        )


def fit(
    collection: CollectionStore,
    report: ProgressCallback = ignore_progress,
    *,
    tol: float = TOL,
    engine: Engine | Workers | None = None,
    draw_map: bool = True,
    device: str | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> FitResult:
    """Bring features, graph, assignments, scores and map of a collection up to date, and save them.

    Features, graph and map stay where they are up to date. The model is computed from nothing but items,
    edges, annotations and settings (:func:`train`): whatever was done before, and in whatever order, the same
    collection gives the same assignments and scores. The map comes last, and only where openTSNE is
    installed; points of earlier items stay where few are new. With ``lass.tagging.distributed.Workers``,
    or "ray", all stages but the map run on Ray workers. With another ``engine`` the solve alone runs
    elsewhere, as in :func:`lass.solve`. With a ``device``, such as "cuda", neighbours of dense features,
    the solve of a large problem, predictors and scores are computed there; neighbours of texts, lam and all
    else on the processors. Nothing holds a number for every tag of every
    item: assignments are sparse, and only candidate tags are scored.

    Without annotations there is no model (``FitResult.model`` is None), only features, graph and map.

    All of it follows from the settings and arrays of one moment: where another program changes them
    meanwhile, it begins again, and after :data:`ATTEMPTS` is a ``ValueError``. Changed ``settings`` are saved
    together with what was computed by them, or not at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import lass
    >>> from lass.tagging import fit
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> known = [("0", "mail"), ("3", "game")]
    >>> with TemporaryDirectory() as folder:
    ...     with lass.create(f"{folder}/programs", texts, tags=known, n_neighbors=2) as programs:
    ...         print(programs.tags, fit(programs).model.solution.Z.argmax(axis=1))
    ['game', 'mail'] [1 1 1 0 0 0]
    """
    if device is not None:
        check_device(device, engine)
    collection.remove_leftovers()
    if engine == "ray":
        engine = Workers(thread_count())
    for attempt in range(1, ATTEMPTS + 1):
        stage = collection.staged(**settings)
        try:
            if isinstance(engine, Workers):
                result = _fit_on_workers(stage, engine, report, tol, draw_map)
            else:
                result = _fit_here(stage, report, tol, engine, draw_map, device)
        except Superseded:
            if attempt == ATTEMPTS:
                raise
            report(Progress("features", "settings or arrays were changed meanwhile; beginning again"))
            continue
        collection.settings = stage.settings
        return result
    raise AssertionError  # the last attempt returns or raises


def _fit_here(
    stage: CollectionStore, report: ProgressCallback, tol: float, engine: Engine | None, draw_map: bool,
    device: str | None,
) -> FitResult:  # fmt: skip
    """The fit of a staged collection in this process, but for the solve with an ``engine``."""
    annotations = stage.annotation_matrix()
    G = annotations.G
    if engine is not None:
        check_memory(G.shape)
    damaged = stage.discard_damaged()
    timer = StageTimer(report)
    with restored_on_error(stage.path / "arrays" / COMPARISONS):
        chosen = choose_comparisons(stage, annotations, timer.report)
        recomputed = outdated(stage) | stage.stale() | damaged
        W = graph_of(stage, timer.report, device)
        if W.shape[0] != G.shape[0]:
            raise ValueError(f"items were added to {stage.path} in this moment; run it again")
        W, edges_reason = balanced_graph(stage, W, G, timer.report)
        comparisons = _comparisons(stage, chosen, edges_reason)
        # a first fit that is killed later need not build them again; others keep what their model belongs to
        if not stage.has_changed_settings and stage.saved_stamp("assignments") is None:
            stage.publish()
        model, reason = None, ""
        if G.nnz:
            trained = train(
                stage, annotations, W, timer.report, tol=tol, engine=engine, device=device,
                chosen=chosen, edges_reason=edges_reason,
            )  # fmt: skip
            model, reason = trained.model, trained.record.lam_reason
            comparisons = (*comparisons, *filter(None, [trained.record.facets_reason]))
            timer.report(Progress("saving"))
            save_model(stage, model, annotations, trained.record, trained.predictors)
        else:
            stage.discard_assignments()
            recomputed.pop("assignments", None)
        stage.publish()
    if draw_map:
        map_of(stage, W, timer.report)
        stage.publish()
    labelled = np.diff(G.indptr) > 0 if G.nnz else None  # without annotations nothing is missing
    return FitResult(
        model, reason, recomputed, timer.stop(), health(W, labelled), count_tags(annotations),
        comparisons=comparisons, trees=trees_sentence(stage, model),
    )  # fmt: skip


def choose_comparisons(
    collection: CollectionStore, annotations: AnnotationMatrix, report: ProgressCallback = ignore_progress
) -> tuple[str, ...]:
    """Choose how items are compared from their tags, where there is a choice; a sentence for each."""
    found = choose_features(collection, annotations, partial(groups_of, collection), report)
    return () if found is None else (found.reason,)


def _comparisons(collection: CollectionStore, chosen: tuple[str, ...], edges_reason: str) -> tuple[str, ...]:
    """How items are compared, and why, whether there was a choice or not."""
    return (*chosen, edges_reason) if edges_reason else chosen or (comparison_sentence(collection),)


def _fit_on_workers(
    stage: CollectionStore, workers: Workers, report: ProgressCallback, tol: float, draw_map: bool
) -> FitResult:
    """The same on workers; nothing is saved before all stages have ended."""
    annotations = stage.annotation_matrix()
    G = annotations.G
    if workers.out is not None:
        check_folder(workers.out)
    damaged = stage.discard_damaged()
    timer = StageTimer(report)
    chosen = choose_comparisons(stage, annotations, timer.report)
    recomputed = outdated(stage) | stage.stale() | damaged
    with fitted_on_workers(stage, annotations, workers, timer.report, tol) as fitted:
        timer.report(Progress("saving"))
        comparisons = _comparisons(stage, chosen, fitted.edges_reason)
        trees = trees_sentence(stage, fitted.model)
        fitted.record = replace(
            fitted.record, comparisons="\n".join(filter(None, (*comparisons, trees))),
            edges_reason=fitted.edges_reason,
        )  # fmt: skip
        fitted.save(stage, annotations)
        if fitted.model is None:
            stage.discard_assignments()
            recomputed.pop("assignments", None)
        stage.publish()
        if fitted.model is not None and workers.out is not None:
            write_parts(TagSuggester(fitted.model, annotations), workers.out, len(fitted.space.parts))
        if draw_map:
            map_of(stage, fitted.W, timer.report)
            stage.publish()
        graph = health(fitted.W, np.diff(G.indptr) > 0 if G.nnz else None)
        return FitResult(
            fitted.model, fitted.record.lam_reason, recomputed, timer.stop(), graph, count_tags(annotations),
            fitted.costs, comparisons, trees,
        )  # fmt: skip


class Training(NamedTuple):
    """A model that was trained, in canonical order and in that of the collection, and how."""

    order: CanonicalOrder
    canonical: TagModel
    model: TagModel
    record: FitRecord

    @property
    def predictors(self) -> SavedPredictors | None:
        """What the predictors computed, to be saved; None where that is done again in a moment."""
        return saved_predictors(self.canonical, self.order)


def saved_predictors(canonical: TagModel, order: CanonicalOrder) -> SavedPredictors | None:
    """What the predictors of a model in canonical order computed; None where there are none, or few tags."""
    predictors = canonical.predictors
    if predictors is None or predictors.trained is None or predictors.few is not None:
        return None
    return SavedPredictors.of(predictors.trained, order.columns)


def train(
    collection: CollectionStore,
    annotations: AnnotationMatrix,
    W: sp.csr_array,
    report: ProgressCallback = ignore_progress,
    *,
    tol: float = TOL,
    engine: Engine | None = None,
    device: str | None = None,
    chosen: tuple[str, ...] = (),
    edges_reason: str = "",
) -> Training:
    """Choose lam, solve, train weights and score: all from the state alone; nothing is saved.

    ``chosen`` and ``edges_reason`` say how items are compared, for the record.

    Items come in the order of their ids, tags in that of their names, and tags without annotations are left
    out (:mod:`lass.tagging.canonical`); the solve starts from nothing. An error that ``report`` raises
    ends the work.
    """
    began = time.perf_counter()
    settings = collection.settings
    order = CanonicalOrder.of(annotations, smoothing=bool(settings.smoothing))
    similar = smoothing_of(collection, [annotations.names[column] for column in order.columns])
    edges, G = order.graph(W), order.annotations(annotations.G)
    lam, reason = settings.lam, "set in collection.toml"
    if lam == "auto":
        report(Progress("lam"))
        choice = choose_lam(edges, G, pause=partial(report, Progress("lam")))
        lam, reason = choice.lam, choice.reason
    inputs, token = predictor_inputs(collection, saved_model(collection))
    ordered, groups = order.inputs(inputs), order.groups(groups_of(collection)[1])
    names = [annotations.names[column] for column in order.columns]
    within = choose_facets(
        collection, edges, G, names, float(lam), ordered, groups,
        elsewhere="" if engine is None else "an engine", pause=partial(report, Progress("facets")),
    )  # fmt: skip
    report(Progress("solve"))
    model = complete(
        edges, G, lam, tol=tol, category_graph=similar, facets=within.facets, engine=engine,
        callback=solve_progress(G, report), device=device,
    )  # fmt: skip
    report(Progress("scores"))
    model = with_scores(
        model, **ordered._asdict(), groups=groups, pause=partial(report, Progress("scores")), device=device
    )
    how = (*_comparisons(collection, chosen, edges_reason), within.reason)
    record = FitRecord(
        lam_reason=reason, trained_on=fingerprint(annotations, settings), reduced_features=inputs.features,
        reduced_from=token, seconds=time.perf_counter() - began,
        comparisons="\n".join(filter(None, (*how, trees_sentence(collection, model)))),
        edges_reason=edges_reason, facets_reason=within.reason,
    )  # fmt: skip
    problem = model.solution.problem
    if not order.is_identity:
        problem = Problem(W, annotations.G, model.lam, category_graph=order.tags_in_collection(similar))
        if within.facets is not None:
            facets = facets_of(annotations.names, settings)
            problem = FacetedProblem(problem.quadratic, annotations.G, model.lam, facets)
    return Training(order, model, order.restored(model, problem), record)


def check_device(device: str, engine: Engine | Workers | None) -> None:
    """Raise an error of one line where a device is not there, or where an engine is asked for as well."""
    if engine is not None:
        raise ValueError("a fit runs on a device or with an engine; give one of the two")
    from lass.solvers.gpu.placement import checked_device

    checked_device(device)


def solve_progress(G: sp.csr_array, report: ProgressCallback) -> Callback:
    """Reports the relative gap after each step of a solve, and never ends it."""
    stake = float(row_ranges(G).sum()) or 1.0

    def step_done(step: Step) -> None:
        report(Progress("solve", gap=step.gap / stake))

    return step_done
