"""The assignment of one item: its path from expert to crowd, and numbers that add up to it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.newitems.out_of_sample import NewItem
from lass.studio.messages import Assignment, Flip, Neighbour, Stated
from lass.studio.session import Desk
from lass.studio.snapshot import Outlook

#: tags and neighbours shown
TAGS, NEIGHBOURS = 12, 15
#: a share below this is not seen
SEEN = 1e-4


def assignment_of(desk: Desk, outlook: Outlook, row: int, other: dict[int, int]) -> Assignment:
    """The assignment of an item if these were its words; tags not named in ``other`` keep theirs.

    ``z = Proj(zbar + gamma g)``, its neighbours held as they are. What is sent is exact:
    straight lines between the breakpoints, so that the page needs no more requests.
    """
    problem = outlook.completed.solution.problem
    W, lam = problem.W, problem.lam
    g = np.zeros(outlook.tags)
    for tag, value in {**desk.said[row], **other}.items():
        if tag < outlook.tags:
            g[tag] = value
    item = NewItem(W[[row]], outlook.Z)
    path = item.path(g)
    degree = item.degree
    finite = degree > 0 and 0 < lam < math.inf
    gamma = 0.5 / (lam * degree) if finite else 0.0
    shares = path(lam)
    tags = _chosen(path.assignments, shares, g)
    crowd, expert = path.zbar, gamma * g
    threshold = float(shares @ (crowd + expert - shares))
    low, high = W.indptr[row], W.indptr[row + 1]
    return Assignment(
        tags=tags.tolist(), shares=shares[tags].tolist(), gamma=gamma, lam=min(lam, 1e300), degree=degree,
        gammas=path.gammas.tolist(), path=path.assignments[:, tags].tolist(),
        crowd=crowd[tags].tolist(), expert=expert[tags].tolist(), threshold=threshold,
        neighbours=_neighbours(desk, outlook, W.indices[low:high], W.data[low:high], tags),
        flip=_flip(crowd + expert, gamma) if finite and outlook.tags > 1 else None,
        note=_note(degree, g, problem.C is not None),
    )  # fmt: skip


def stated_of(said: dict[int, int]) -> list[Stated]:
    """What is said of an item, what it is before what it is not."""
    return [
        Stated(tag=tag, value=1 if value > 0 else -1)
        for tag, value in sorted(said.items(), key=lambda word: (-word[1], word[0]))
    ]


def _chosen(path: Array, shares: Array, g: Array) -> NDArray[np.intp]:
    """Tags that come up anywhere on the path or are spoken of, the largest now first."""
    highest = np.maximum(path.max(axis=0), shares)
    spoken = np.flatnonzero(g)
    seen = np.flatnonzero(highest > SEEN)
    most = seen[np.argsort(-highest[seen], kind="stable")][:TAGS]
    tags = np.union1d(spoken, most)
    return tags[np.lexsort((tags, -highest[tags], -shares[tags]))]


def _neighbours(
    desk: Desk, outlook: Outlook, near: NDArray[np.int32], weights: Array, tags: NDArray[np.intp]
) -> list[Neighbour]:
    order = np.argsort(-weights, kind="stable")[:NEIGHBOURS]
    total = float(weights.sum()) or 1.0
    result = []
    for place in order.tolist():
        row, share = int(near[place]), float(weights[place]) / total
        item = desk.row(row)
        result.append(
            Neighbour(
                row=row, id=item.id, title=item.title or item.id, share=share,
                stated=stated_of(desk.said[row]),
                adds=(share * outlook.Z[row, tags]).tolist(),
            )
        )  # fmt: skip
    return result


def _flip(reach: Array, gamma: float) -> Flip:
    """The smallest change of one word for another tag to come out on top."""
    second, top = np.argsort(reach, kind="stable")[-2:].tolist()
    return Flip(top=top, runner_up=second, change=float(reach[top] - reach[second]) / gamma)


def _note(degree: float, g: Array, tied: bool) -> str:
    if degree == 0.0:
        return "No similar item is known: words alone decide."
    if not g.any():
        return "Nobody said anything of this item: the crowd alone decides."
    return "Similar tags have their say too, which this picture leaves out." if tied else ""
