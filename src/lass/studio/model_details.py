"""Model details of one item: its assignment at every lam, and the numbers that add up to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.collection.reading import facet_names
from lass.learning.predictors.tag_facets import FacetedSolution
from lass.model.quadratic_program import Array
from lass.newitems.explanation import Explanation, explain, flips
from lass.newitems.out_of_sample import NewItem
from lass.solvers.solution import Solution
from lass.studio.messages import FacetShares, Flip, ModelDetails, NeighbourDetails, TagAnnotation
from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

#: tags and neighbours shown
TAGS, NEIGHBOURS = 12, 15
SMOOTHED = "Similar tags count too; these numbers leave them out."
#: a share below this cannot be seen
VISIBLE = 1e-4


def model_details(
    session: Session, snapshot: Snapshot, row: int, changes: dict[int, int], facet: str | None = None
) -> ModelDetails:
    """The assignment of an item with some annotations changed; tags not in ``changes`` keep theirs.

    ``z = Proj(zbar + gamma g)``, its neighbours held as they are. Shares and threshold are linear in gamma
    between the breakpoints, so the page can follow its slider without further requests. Where the model has
    facets, this is of one: the named one, else that of the largest change or share.
    """
    solution = snapshot.model.solution
    g = np.zeros(snapshot.tags)
    for tag, value in {**session.annotations[row], **changes}.items():
        if tag < snapshot.tags:
            g[tag] = value
    if not isinstance(solution, FacetedSolution):
        return _details(session, solution, row, g, np.arange(snapshot.tags))
    names = facet_names(snapshot.annotations.names, session.collection.settings.facet_tags)
    bars = _bars(solution, names, snapshot.Z[row], g)
    columns = solution.facets.columns
    known = {names[int(own[0])]: f for f, own in enumerate(columns)}
    if facet not in known:
        tried = [names[tag] for tag in changes if tag < snapshot.tags]
        facet = next(iter([*tried, *(bar.facet for bar in bars)]), names[0])
    f = known[facet]
    part = solution.facet(f)
    details = _details(session, part, row, np.append(g[columns[f]], 0.0), columns[f])
    return details.model_copy(update={"facets": bars, "facet": facet})


def _bars(solution: FacetedSolution, names: list[str], shares: Array, g: Array) -> list[FacetShares]:
    """The shares of an item in each facet where it has any: annotated ones first, then the fullest."""
    bars, annotated = [], {names[tag] for tag in np.flatnonzero(g)}
    for own in solution.facets.columns:
        order = own[np.argsort(-shares[own], kind="stable")][:TAGS]
        visible = order[shares[order] > VISIBLE]
        if len(visible):
            bars.append(
                FacetShares(facet=names[int(own[0])], tags=visible.tolist(), shares=shares[visible].tolist())
            )
    return sorted(bars, key=lambda bar: (bar.facet not in annotated, -bar.shares[0], bar.facet))


def _details(
    session: Session, solution: Solution, row: int, g: Array, columns: NDArray[np.intp]
) -> ModelDetails:
    """Of one distribution over the tags in ``columns``, or these and "none of these"."""
    problem, lam = solution.problem, solution.problem.lam
    item = NewItem(problem.W[[row]], solution.Z)
    path = item.path(g)
    finite = item.degree > 0 and 0 < lam < np.inf
    gamma = 0.5 / (lam * item.degree) if finite else 0.0
    tags = _relevant(path.assignments, path(lam), g)
    tags = tags[tags < len(columns)]
    explanation = explain(solution, row, tags, affinities=g)
    return ModelDetails(
        tags=columns[tags].tolist(), shares=explanation.assignment[tags].tolist(), gamma=gamma,
        lam=min(lam, 1e300), degree=item.degree, gammas=path.gammas.tolist(),
        path=path.assignments[:, tags].tolist(), thresholds=path.thresholds.tolist(),
        affinities=g[tags].tolist(), crowd=path.zbar[tags].tolist(),
        expert=(gamma * g[tags]).tolist(), threshold=explanation.threshold if finite else None,
        neighbours=_neighbours(session, explanation),
        flip=_flip(solution, row, g, columns) if finite and len(columns) > 1 else None,
        note="" if problem.category_laplacian is None else SMOOTHED, facets=[], facet=None,
    )  # fmt: skip


def tag_annotations(annotations: dict[int, int]) -> list[TagAnnotation]:
    """The annotations of an item, positive ones first."""
    return [
        TagAnnotation(tag=tag, value=1 if value > 0 else -1)
        for tag, value in sorted(annotations.items(), key=lambda one: (-one[1], one[0]))
    ]


def _relevant(path: Array, shares: Array, g: Array) -> NDArray[np.intp]:
    """Tags with a share anywhere on the path, or with an annotation; the largest share first."""
    highest = np.maximum(path.max(axis=0), shares)
    visible = np.flatnonzero(highest > VISIBLE)
    largest = visible[np.argsort(-highest[visible], kind="stable")][:TAGS]
    tags = np.union1d(np.flatnonzero(g), largest)
    return tags[np.lexsort((tags, -highest[tags], -shares[tags]))]


def _neighbours(session: Session, explanation: Explanation) -> list[NeighbourDetails]:
    rows = explanation.neighbours.tolist()[:NEIGHBOURS]
    near = zip(rows, session.rows(rows), explanation.shares.tolist(), explanation.crowd, strict=False)
    return [
        NeighbourDetails(
            row=row, id=item.id, title=item.title or item.id, weight=weight,
            annotations=tag_annotations(session.annotations[row]), contributions=adds.tolist(),
        )
        for row, item, weight, adds in near
    ]  # fmt: skip


def _flip(solution: Solution, row: int, g: Array, columns: NDArray[np.intp]) -> Flip | None:
    found = flips(solution, row, affinities=g)
    if max(found.top, found.runner_up) >= len(columns):  # "none of these" is no tag
        return None
    return Flip(
        top=int(columns[found.top]), runner_up=int(columns[found.runner_up]), change=found.smallest,
        possible=float(g[found.runner_up]) + found.smallest <= 1,
    )  # fmt: skip
