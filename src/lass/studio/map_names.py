"""Names on the map at every zoom, and a selection of items in short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lass.studio.groups import Groups
from lass.studio.messages import MapName, SelectedTag, SelectionSummary
from lass.studio.session import Session
from lass.studio.snapshot import LIKELY, Snapshot
from lass.tagging.topics import is_near_duplicate

#: items that a cell has at least to get a name, and cells that get one, at most
LEAST, MOST = 4, 60
#: tags of a selection
TAGS = 6


def map_names(groups: Groups, points: NDArray[np.float32], level: int, cells: Sequence[int]) -> list[MapName]:
    """For the cells of a grid in some columns and rows (from, to, from, to) what sets their items apart.

    A name is given once, to the cell with the most items; a cell that nothing sets apart has none.
    """
    side = 2**level
    place = np.clip(((points + 1.0) * (side / 2)).astype(np.int64), 0, side - 1)
    left, right, bottom, top = cells
    x, y = place.T
    seen = np.flatnonzero((x >= left) & (x <= right) & (y >= bottom) & (y <= top))
    numbers, which, counts = np.unique(x[seen] + side * y[seen], return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:MOST]
    kept = kept[counts[kept] >= LEAST]
    places = np.full(len(numbers), -1)
    places[kept] = np.arange(len(kept))
    part = np.full(len(points), -1, np.intp)
    part[seen] = places[which]
    names: list[MapName] = []
    taken: list[str] = []
    for cell, terms in enumerate(groups.terms_of_parts(part, len(kept))):
        name = next((term for term in terms if not is_near_duplicate(term, taken)), None)
        if name is None:
            continue
        taken.append(name)
        rows = np.flatnonzero(part == cell)
        x_middle, y_middle = np.median(points[rows], axis=0).tolist()
        names.append(MapName(name=name, x=x_middle, y=y_middle, items=len(rows)))
    return names


def selection_summary(session: Session, snapshot: Snapshot | None, rows: Sequence[int]) -> SelectionSummary:
    """The tags that most of some items have, or are likely to have."""
    session.check_rows(rows)
    chosen = np.unique(rows).astype(np.int64)
    having = session.annotations.tag_counts(chosen).astype(np.int64)
    scored = chosen[:0]
    likely = np.zeros(len(having), np.int64)
    if snapshot is not None and not snapshot.items_until_percentages:
        scored = chosen[chosen < len(snapshot)]
        found = snapshot.scores.of_rows(scored)
        likely[: snapshot.tags] = np.bincount(found.indices[found.data >= LIKELY], minlength=snapshot.tags)[
            : len(likely)
        ]
    order = np.argsort(-np.maximum(having, likely), kind="stable")[: 2 * TAGS]
    tags = []
    for tag in order.tolist():
        if tag in session.retired or not having[tag] + likely[tag]:
            continue
        unstated = np.setdiff1d(
            scored, np.r_[session.annotations.with_tag(tag, 1), session.annotations.with_tag(tag, -1)]
        )
        open_rows, expected = unstated[:0], 0.0
        if snapshot is not None and tag < snapshot.tags and len(unstated):
            scores = snapshot.column(tag)[unstated]
            open_rows, expected = unstated[scores >= LIKELY], float(scores[scores >= LIKELY].sum())
        tags.append(
            SelectedTag(
                tag=tag, having=int(having[tag]), likely=open_rows.tolist(), expected_right=expected,
                not_having=int(np.isin(session.annotations.with_tag(tag, -1), chosen).sum()),
            )
        )  # fmt: skip
    tags.sort(key=lambda one: -(one.having + len(one.likely)))
    return SelectionSummary(items=len(chosen), tags=tags[:TAGS])
