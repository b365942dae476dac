"""Fit a collection: features, graph, lam, assignments, scores and map, each only where it is out of date."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from lass.collection import CollectionStore
from lass.collection.reading import category_graph
from lass.graph import Health, health
from lass.learning.predictors import Weights
from lass.model.quadratic_program import row_ranges
from lass.solvers.assignments import extended
from lass.solvers.plan import Engine
from lass.tagging.completion import TagModel, check_form, choose_lam, complete, with_scores
from lass.tagging.map_layout import map_of
from lass.tagging.preparation import graph_of, groups_of, reduced_features
from lass.tagging.progress import Progress, ProgressCallback, StageTimer, ignore_progress
from lass.tagging.storage import FitRecord, SavedModel, save_model
from lass.tagging.tag_counts import TagCounts, count_tags

#: share of the annotations that must change before lam is chosen and weights are trained again
CHANGED = 0.1


@dataclass(frozen=True)
class FitResult:
    """The model that :func:`fit` found, its certificate, and statistics of graph and tags."""

    model: TagModel
    #: how lam was chosen
    lam_reason: str
    #: array -> why it was computed again; empty if all were up to date
    recomputed: dict[str, str]
    #: stage -> seconds
    seconds: dict[str, float]
    graph: Health
    tags: TagCounts
    #: whether the solve started from saved assignments
    warm_start: bool

    def __repr__(self) -> str:
        chosen = f"lam = {self.model.lam:.3g}: {self.lam_reason}"
        return "\n".join(filter(None, [self.certificate, chosen, self.note, str(self.tags)]))

    @property
    def certificate(self) -> str:
        """How close to the optimum the assignments are, in one sentence."""
        return self.model.certificate

    @property
    def note(self) -> str:
        """What limits the scores, in one sentence; empty if nothing does."""
        weights = self.model.weights
        if weights is None or weights.completeness == 1.0:
            return self.model.note
        return (
            f"At most {weights.completeness:.0%} of the tags of tagged items seem to be annotated; "
            "scores allow for the missing ones."
        )


def fit(
    collection: CollectionStore,
    report: ProgressCallback = ignore_progress,
    *,
    tol: float = 1e-3,
    engine: Engine | None = None,
) -> FitResult:
    """Bring features, graph, assignments, scores and map of a collection up to date, and save them.

    What is up to date stays. New items are connected to the others, whose edges stay; a solve starts
    from the saved assignments; a lam that was chosen and the weights of the predictors
    (:func:`with_scores`) stay until a tenth of the annotations have changed. The map comes last, and
    only where openTSNE is installed. With an ``engine`` the solve runs elsewhere, as in
    :func:`lass.solve`; all other stages run on this machine. Where all numbers of items x tags do not
    fit into the memory, assignments are stored sparsely and predictors are not used, see ``FitResult.note``.

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
    annotations = collection.annotation_matrix()
    if not annotations.names:
        raise ValueError(f"{collection.path} has no tags yet; add some: lass tag ITEM +tag --new")
    G = annotations.G
    smoothing = smoothing_of(collection, annotations.names)
    check_form(G, smoothing, engine)
    damaged = collection.discard_damaged()
    recomputed = collection.stale() | damaged
    timer = StageTimer(report)
    W = graph_of(collection, timer.report)
    if W.shape[0] != G.shape[0]:
        raise ValueError(f"items were added to {collection.path} in this moment; run it again")
    saved = collection.saved_array("assignments")
    former = None if saved is None else SavedModel.from_arrays(saved.extras)
    start = None if saved is None else extended(saved.matrix, W, G.shape[1])
    automatic = saved is not None and saved.stamp.settings.get("lam") == "auto"
    lam, reason, n_lam = _choose_lam(collection.settings.lam, former if automatic else None, W, G, timer)
    timer.report(Progress("solve"))
    stake = float(row_ranges(G).sum()) or 1.0
    model = complete(
        W, G, lam, tol=tol, category_graph=smoothing, start=start, engine=engine,
        callback=lambda step: timer.report(Progress("solve", gap=step.gap / stake)),
    )  # fmt: skip
    record = FitRecord(lam_reason=reason, n_lam_annotations=n_lam)
    if not model.is_sparse:
        timer.report(Progress("scores"))
        features, token = reduced_features(collection, former)
        weights = _saved_weights(former, G.nnz)
        model = with_scores(model, features=features, groups=groups_of(collection)[1], weights=weights)
        n_weights = G.nnz if former is None or weights is None else former.n_weights_annotations
        record = replace(
            record, n_weights_annotations=n_weights, reduced_features=features, reduced_from=token
        )
    timer.report(Progress("saving"))
    save_model(collection, model, annotations, record)
    map_of(collection, W, timer.report)
    return FitResult(
        model, record.lam_reason, recomputed, timer.stop(),
        health(W, np.diff(G.indptr) > 0), count_tags(annotations), warm_start=saved is not None,
    )  # fmt: skip


def _choose_lam(
    lam: float | str, former: SavedModel | None, W: sp.csr_array, G: sp.csr_array, timer: StageTimer
) -> tuple[float, str, int]:
    """The lam of the settings, of the former fit, or chosen now; how, and with how many annotations."""
    if lam != "auto":
        return float(lam), "set in collection.toml", G.nnz
    if former is not None and _still_valid(former.n_lam_annotations, G.nnz):
        return former.lam, former.lam_reason, former.n_lam_annotations
    timer.report(Progress("lam"))
    choice = choose_lam(W, G)
    return choice.lam, choice.reason, G.nnz


def _saved_weights(former: SavedModel | None, n_annotations: int) -> Weights | None:
    """The weights of the last fit, unless too many annotations have changed."""
    if former is not None and former.weights and _still_valid(former.n_weights_annotations, n_annotations):
        with suppress(ValueError):  # saved by a version with other predictors
            return Weights.from_json(former.weights)
    return None


def _still_valid(then: int, now: int) -> bool:
    """Whether a choice made with ``then`` annotations still holds with ``now``."""
    return then > 0 and abs(now - then) <= CHANGED * then


def smoothing_of(collection: CollectionStore, names: list[str]) -> sp.csr_array | None:
    """Edges between tags with the same parent, as the settings ask for; None if they do not."""
    strength = collection.settings.smoothing
    return category_graph(names) * strength if strength else None
