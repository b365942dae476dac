"""Candidates, predictor features and scores of parts: the functions of one machine, some rows at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors import PredictorFeatures, Predictors, Weights, score
from lass.learning.predictors.co_occurrence import CoOccurrence
from lass.learning.predictors.features import COLUMNS, FLOOR, FREQUENT
from lass.learning.predictors.linear import STEPS, LinearPredictor, Models
from lass.learning.predictors.prior import default_prior
from lass.learning.predictors.propagation import scaled, tags_each
from lass.learning.predictors.tag_lists import TagLists, Values
from lass.learning.predictors.voters import Voters
from lass.model.quadratic_program import Array
from lass.solvers.sparse import SparseAssignments
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.linear import predictor
from lass.tagging.distributed.local_graph import LocalGraph
from lass.tagging.distributed.propagation import Walks, visits_of
from lass.tagging.distributed.workspace import Arrays, Rows, Workspace, as_csr

#: table of what trees say, the same in all runs
TREE_SHARES = "trees"
#: names of what the kernel of co-occurrence reads
CO_OCCURRENCE = ("ridge", "place", "starts", "tags", "lifts", "alone")


def write_summary(
    space: Workspace, run: str, G: sp.csr_array, walks: Walks, models: Models | None, typical_weight: float,
    *, trees: bool = False,
) -> None:  # fmt: skip
    """What all tasks of a run must know of the tags: frequencies, co-occurrence and models. By the driver."""
    T = sp.csr_array((G > 0).astype(np.float32))
    T.sort_indices()
    counts, tagged = np.bincount(T.indices, minlength=G.shape[1]), np.count_nonzero(np.diff(T.indptr))
    frequency = (counts + 0.5) / (tagged + 1.0)
    together, each = CoOccurrence(T, frequency), tags_each(T)
    often = scaled(FREQUENT, each, T.shape[1])
    arrays: Arrays = {
        "frequency": frequency,
        "frequent": np.argsort(-counts, kind="stable")[:often].astype(np.int32),
        "harmonic_mean": walks.mean_shares + FLOOR * frequency,
        "numbers": np.array([each, typical_weight, walks.smoothing]),
        "proposed_data": together.proposed.data, "proposed_indices": together.proposed.indices,
        "proposed_indptr": together.proposed.indptr,
    }  # fmt: skip
    arrays |= dict(zip((f"together_{name}" for name in CO_OCCURRENCE), together.arrays, strict=True))
    if trees:
        arrays["trees"] = np.ones(1)
    if models is not None:
        arrays |= {"weights": np.stack(models.weights), "place": models.place, "tags": models.tags}
    space.write(f"{run}/summary", 0, **arrays)


class LocalWalks(NamedTuple):
    """The parts of :class:`lass.learning.predictors.propagation.Propagation` that features need."""

    stepped: sp.csr_array
    walked: sp.csr_array
    harmonic: sp.csr_array
    visits: Array
    returns: Array
    smoothing: float


class PartFeatures(PredictorFeatures):
    """Predictor features of some rows, in local numbers, from the files of a run."""

    def __init__(self, space: Workspace, run: str, rows: Rows) -> None:
        local = LocalGraph.load(space, rows)
        summary = space.read(f"{run}/summary", 0, changeable=True)
        self.own, self.W, self.sums = local.own, local.W, local.sums
        K = len(summary["frequency"])
        Z = space.take(f"{run}/assignments", local.known)
        self._set_annotations(
            space.csr(f"{run}/annotations", local.known, K), SparseAssignments(as_csr(Z, K), Z["background"])
        )
        self._each, self.typical_weight, smoothing = summary["numbers"].tolist()
        self.frequency, self.frequent = summary["frequency"], summary["frequent"]
        self.harmonic_mean = summary["harmonic_mean"]
        tagged = (self.tag_counts[local.own] > 0).astype(float)
        visits, returns = visits_of(space, run, rows, tagged, smoothing)
        walked = space.csr(f"{run}/walked", rows, K)
        self.propagation: Any = LocalWalks(
            space.csr(f"{run}/walk-{STEPS - 1}", local.known, K), _embedded(walked, local),
            space.csr(f"{run}/harmonic", local.known, K), _placed(visits, local), _placed(returns, local),
            smoothing,
        )  # fmt: skip
        proposed = tuple(summary[f"proposed_{name}"] for name in ("data", "indices", "indptr"))
        self.co_occurrence = CoOccurrence.restored(
            tuple(summary[f"together_{name}"] for name in CO_OCCURRENCE), sp.csr_array(proposed, shape=(K, K))
        )
        if "trees" in summary:
            self.trees = _embedded(space.csr(TREE_SHARES, rows, K), local)
        self.linear = self.models = None
        if "weights" in summary:
            self.linear = PartPredictor(predictor(space, rows), local)
            self.models = Models(list(summary["weights"]), summary["place"], summary["tags"])


class PartPredictor(LinearPredictor):
    """Linear models whose rows have local numbers; features are held for the rows alone."""

    def __init__(self, own: LinearPredictor, local: LocalGraph) -> None:
        self._place = np.full(len(local.known), -1, np.intp)
        self._place[local.own] = np.arange(len(local.own))
        self.features, self.near, self.penalties = own.features, own.near, own.penalties
        self.fold = _placed(own.fold, local)

    def view(self, number: int, rows: Rows) -> NDArray[np.float32]:
        """As of the rows themselves."""
        return super().view(number, self._place[rows])


def _placed(values: NDArray[Any], local: LocalGraph) -> NDArray[Any]:
    """Numbers of the rows at their local places, zero elsewhere."""
    result = np.zeros(len(local.known), values.dtype)
    result[local.own] = values
    return result


def _embedded(matrix: sp.csr_array, local: LocalGraph) -> sp.csr_array:
    """The same for rows of a matrix."""
    lengths = np.zeros(len(local.known), np.int64)
    lengths[local.own] = np.diff(matrix.indptr)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_array((matrix.data, matrix.indices, pointers), shape=(len(local.known), matrix.shape[1]))


class FeaturesOnWorkers:
    """Predictor features of a run, computed by workers: as training wants them."""

    def __init__(self, cluster: Cluster, space: Workspace, run: str, G: sp.csr_array) -> None:
        self.cluster, self.space, self.run = cluster, space, run
        self.tags = G.shape[1]
        self.tag_counts = np.diff(sp.csr_array(G > 0).indptr)

    def _pieces(self, rows: Rows) -> list[Rows]:
        """Places of rows, those of a part and block together, in rising order of the rows."""
        order = np.argsort(rows, kind="stable")
        cuts = np.searchsorted(rows[order], self.space.bounds)
        return [
            order[begin : min(begin + self.space.block, high)]
            for low, high in pairwise(cuts)
            for begin in range(low, high, self.space.block)
        ]

    def candidates(self, rows: Rows) -> TagLists:
        """Candidate tags of some rows."""
        pieces = self._pieces(rows)
        calls = [(self.space, self.run, rows[piece]) for piece in pieces]
        found = self.cluster.map("candidates", candidates_of, calls)
        lengths = np.zeros(len(rows), np.int64)
        for piece, (starts, _) in zip(pieces, found, strict=True):
            lengths[piece] = np.diff(starts)
        result = TagLists(rows, np.concatenate([[0], np.cumsum(lengths)]), np.empty(lengths.sum(), np.int32))
        for piece, (_, tags) in zip(pieces, found, strict=True):
            result.tags[_pairs(result, piece)] = tags
        return result

    def compute(self, lists: TagLists) -> NDArray[np.float32]:
        """Features of pairs of items and tags, of shape (pairs, len(COLUMNS))."""
        pieces, calls = self._pieces(lists.rows), []
        for piece in pieces:
            lengths = np.diff(lists.starts)[piece]
            starts = np.concatenate([[0], np.cumsum(lengths)])
            calls.append((self.space, self.run, lists.rows[piece], starts, lists.tags[_pairs(lists, piece)]))
        found = self.cluster.map("candidates", features_of, calls)
        result = np.empty((len(lists.tags), len(COLUMNS)), np.float32)
        for piece, values in zip(pieces, found, strict=True):
            result[_pairs(lists, piece)] = values
        return result


def _pairs(lists: TagLists, places: Rows) -> NDArray[np.intp]:
    """Where the pairs of some rows of lists are, row by row."""
    lengths = np.diff(lists.starts)[places]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(lists.starts[:-1][places] - begins[:-1], lengths) + np.arange(begins[-1])


def candidates_of(space: Workspace, run: str, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Candidate tags of some rows of a part."""
    features = PartFeatures(space, run, rows)
    found = features.candidates(features.own)
    return found.starts, found.tags


def features_of(
    space: Workspace, run: str, rows: Rows, starts: NDArray[np.int64], tags: NDArray[np.int32]
) -> Values:
    """Predictor features of pairs of some rows of a part."""
    features = PartFeatures(space, run, rows)
    # what Ray passes on may not be changed, and the kernels do not take it
    return features.compute(TagLists(features.own, starts.copy(), tags.copy()))


def score_parts(cluster: Cluster, space: Workspace, run: str, weights: Weights) -> None:
    """Scores of all items, into the table ``scores``."""
    cluster.map("scores", score_part, [(space, run, part, weights) for part in space.parts])


def score_part(space: Workspace, run: str, part: int, weights: Weights) -> None:
    """Scores of the items of a part."""
    found = []
    nobody, prior = Voters(np.zeros(0, np.intp), np.zeros(0, np.intp), 0), default_prior()
    for rows in space.blocks(part):
        features = PartFeatures(space, run, rows)
        predictors = Predictors(features, None, None, np.zeros(0, np.intp), prior, nobody)
        found.append(score(predictors, features.G, weights, rows=features.own))
    values = sp.csr_array(sp.vstack([one.values for one in found], format="csr"))
    top = np.concatenate([one.top_tags for one in found])
    contributions = np.concatenate([one.contributions for one in found]).astype(np.float16)
    space.write_csr("scores", part, values, top_tags=top, contributions=contributions)
