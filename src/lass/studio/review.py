"""Questions for the review: which suggestions, doubtful and disputed tags to decide on, in which order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.learning.predictors.tag_lists import pair_values
from lass.studio.item_lists import doubted_pairs, list_rows
from lass.studio.item_rows import MIN_SCORE
from lass.studio.messages import (
    MAX_ANNOTATIONS,
    AnnotationChange,
    ReviewAbove,
    ReviewAboveResult,
    ReviewQuery,
    ReviewQuestion,
    ReviewQueue,
)
from lass.studio.session import Session
from lass.studio.snapshot import LIKELY, Snapshot

#: questions in one answer
QUESTIONS = 200
#: score from which on it is asked about a suggestion, and questions about one proposed item at most
LEAST_SCORE, OF_ONE = 0.1, 3
#: items whose scores are looked through together
BLOCK = 65_536
#: scores from which on all suggestions can be accepted together, in per cent
LEVELS = (99, 95, 90, 80)
#: the least sure of these, whose scores are shown
SHOWN = 40


class Pairs(NamedTuple):
    """Items, tags and scores, one entry a pair."""

    rows: NDArray[np.int32]
    tags: NDArray[np.int32]
    scores: NDArray[np.float32]

    def taken(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Pairs:
        """Some of them."""
        return Pairs(self.rows[which], self.tags[which], self.scores[which])


def review_queue(session: Session, snapshot: Snapshot | None, query: ReviewQuery) -> ReviewQueue:
    """The next questions."""
    revision = session.revision
    if query.order in ("doubtful", "disputed"):
        found = (_doubted if query.order == "doubtful" else _disputed)(session, snapshot, query)
        return ReviewQueue(
            questions=found[:QUESTIONS], total=len(found), likely=None, revision=revision, above={}
        )
    if snapshot is None:
        return ReviewQueue(questions=[], total=0, likely=None, revision=revision, above={})
    pairs = open_pairs(session, snapshot, query)
    known, above, likely = not snapshot.items_until_percentages, {}, None
    if known:
        above = {level: int(np.count_nonzero(pairs.scores >= 0.01 * level)) for level in LEVELS}
        likely = int(np.count_nonzero(pairs.scores >= LIKELY))
    total = len(pairs.rows)
    questions = [
        ReviewQuestion(
            row=int(pairs.rows[at]), tag=int(pairs.tags[at]), strength=float(pairs.scores[at]), stated=False,
            score=min(float(pairs.scores[at]), 1.0) if known else None,
        )
        for at in _order(session, pairs, query)[:QUESTIONS].tolist()
    ]  # fmt: skip
    return ReviewQueue(questions=questions, total=total, likely=likely, revision=revision, above=above)


def review_above(session: Session, snapshot: Snapshot | None, query: ReviewAbove) -> ReviewAboveResult:
    """All open suggestions from a score on; none while too little is known for percentages."""
    if snapshot is None or snapshot.items_until_percentages:
        raise ValueError("Too little is known for percentages: decide one by one, or tag more items first.")
    pairs = open_pairs(session, snapshot, query)
    pairs = pairs.taken(np.flatnonzero(pairs.scores >= query.score))
    order = np.lexsort((pairs.tags, pairs.rows, pairs.scores))
    pairs = pairs.taken(order[-MAX_ANNOTATIONS:])  # the surest of them
    return ReviewAboveResult(
        annotations=[
            AnnotationChange(row=row, tag=tag, value=1)
            for row, tag in zip(pairs.rows.tolist(), pairs.tags.tolist(), strict=True)
        ],
        scores=pairs.scores[:SHOWN].tolist(),
        items=len(np.unique(pairs.rows)), tags=len(np.unique(pairs.tags)),
        expected_wrong=float(np.mean(1.0 - pairs.scores.astype(float))) if len(pairs.rows) else 0.0,
    )  # fmt: skip


def open_pairs(session: Session, snapshot: Snapshot, query: ReviewQuery) -> Pairs:
    """Suggestions of the model above the mean of their tags, annotated neither then nor since.

    From :data:`LEAST_SCORE` on, where scores are shown as percentages.
    """
    least = np.maximum(snapshot.suggester.least_scores, MIN_SCORE)
    floor = 0.0 if snapshot.items_until_percentages else LEAST_SCORE
    if query.tag is not None:
        session.tag(query.tag)
    wanted = _wanted_rows(session, snapshot, query)
    found = [Pairs(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))]
    for low, block in snapshot.scores.blocks(BLOCK):  # of very many items a copy of all would take too much
        kept = (block.data >= floor) & (block.data > least[block.indices])
        if query.tag is not None:
            kept &= block.indices == query.tag
        if wanted is not None:
            kept &= np.repeat(wanted[low : low + BLOCK], np.diff(block.indptr))
        at = np.flatnonzero(kept)
        rows = (low + np.searchsorted(block.indptr, at, side="right") - 1).astype(np.int32)
        tags, values = block.indices[at].astype(np.int32, copy=False), block.data[at]
        unstated = pair_values(snapshot.model.solution.problem.G, rows.astype(np.intp), tags) == 0
        found.append(Pairs(rows, tags, values).taken(unstated))
    return _undecided(session, Pairs(*map(np.concatenate, zip(*found, strict=True))))


def _wanted_rows(session: Session, snapshot: Snapshot | None, query: ReviewQuery) -> NDArray[np.bool_] | None:
    """(items of the model, all where there is none) whether they are in question; None: all are."""
    wanted = None
    if query.filter != "all":
        wanted = np.zeros(len(session.items), bool)
        wanted[list_rows(session, snapshot, "", query.filter)] = True
    if query.rows is not None:
        session.check_rows(query.rows)
        chosen = np.zeros(len(session.items), bool)
        chosen[query.rows] = True
        wanted = chosen if wanted is None else wanted & chosen
    return wanted if wanted is None or snapshot is None else wanted[: len(snapshot)]


def _order(session: Session, pairs: Pairs, query: ReviewQuery) -> NDArray[np.intp]:
    """Places of the pairs, the first to ask about first."""
    if query.order == "surest":
        first = _largest(pairs.scores, QUESTIONS)
        return first[np.lexsort((pairs.tags[first], pairs.rows[first], -pairs.scores[first]))]
    proposed = np.array(session.queue or [], np.intp)
    places = np.full(max(len(session.items), int(pairs.rows.max(initial=0)) + 1), len(proposed))
    places[proposed] = np.arange(len(proposed))
    place = places[pairs.rows]
    queued = np.flatnonzero(place < len(proposed))
    queued = queued[np.lexsort((pairs.tags[queued], -pairs.scores[queued], place[queued]))]
    queued = queued[np.arange(len(queued)) - np.searchsorted(place[queued], place[queued]) < OF_ONE]
    uncertain = np.abs(pairs.scores - LIKELY)
    first = _largest(-uncertain, QUESTIONS)
    first = first[np.lexsort((pairs.tags[first], pairs.rows[first], uncertain[first]))]
    return np.concatenate([queued, first[~np.isin(first, queued)]])


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]


def _undecided(session: Session, pairs: Pairs) -> Pairs:
    """Those on which nobody has decided since the model was computed."""
    open_now = session.annotations.at(pairs.rows, pairs.tags) == 0
    open_now &= ~np.isin(pairs.tags, list(session.retired))
    rows = np.array([row for row, tags in session.disputed.items() for _ in tags], np.int64)
    tags = np.array([tag for tags in session.disputed.values() for tag in tags], np.int64)
    if len(rows):
        many = len(session.names)
        open_now &= ~np.isin(pairs.rows.astype(np.int64) * many + pairs.tags, rows * many + tags)
    return pairs.taken(open_now)


def _doubted(session: Session, snapshot: Snapshot | None, query: ReviewQuery) -> list[ReviewQuestion]:
    if snapshot is None:
        return []
    wanted = _wanted_rows(session, snapshot, query)
    return [
        ReviewQuestion(
            row=row, tag=tag, score=snapshot.score(row, tag), strength=snapshot.score(row, tag), stated=True
        )
        for row, tag in doubted_pairs(session, snapshot)
        if (query.tag is None or tag == query.tag) and (wanted is None or wanted[row])
    ]


def _disputed(session: Session, snapshot: Snapshot | None, query: ReviewQuery) -> list[ReviewQuestion]:
    if query.tag is not None:
        session.tag(query.tag)
    wanted = _wanted_rows(session, None, query)
    pairs = [
        (session.annotations[row].get(tag, 0) != 0, row, tag)
        for row, tags in session.disputed.items() for tag in tags
        if tag not in session.retired and query.tag in (None, tag) and (wanted is None or wanted[row])
    ]  # fmt: skip
    known = snapshot is not None and not snapshot.items_until_percentages
    found = []
    for _, row, tag in sorted(pairs):
        scored = snapshot is not None and row < len(snapshot) and tag < snapshot.tags
        strength = snapshot.score(row, tag) if snapshot is not None and scored else 0.0
        found.append(
            ReviewQuestion(
                row=row,
                tag=tag,
                score=strength if known and scored else None,
                strength=strength,
                stated=False,
                differ=True,
            )
        )
    return found
