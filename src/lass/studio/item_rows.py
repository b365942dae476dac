"""Items as the list and the panel show them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, cast

import numpy as np

from lass.collection import Change, Item
from lass.collection.records import PARTS
from lass.collection.records import LoggedAction as Action
from lass.studio.groups import Groups
from lass.studio.messages import (
    AnnotationScore,
    ExplainedSuggestion,
    ExplainedTag,
    ItemDetails,
    ItemRow,
    LoggedAction,
    LoggedChange,
    PersonsAnnotation,
    ReasonPart,
    SuggestedTag,
    Value,
)
from lass.studio.model_details import model_details, tag_annotations
from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

#: suggestions in the list, and the lowest score shown
SHOWN, MIN_SCORE = 5, 0.01
#: characters of the text in the list
SNIPPET = 200
#: changes in the history of an item
CHANGES = 30


def row_of(session: Session, snapshot: Snapshot | None, row: int) -> ItemRow:
    """An item for the list."""
    return rows_of(session, snapshot, [row])[0]


def rows_of(
    session: Session, snapshot: Snapshot | None, rows: Sequence[int], items: Sequence[Item] | None = None
) -> list[ItemRow]:
    """Some items for the list, read unless they are given."""
    items = session.rows(rows) if items is None else items
    # as they are now: annotations that come meanwhile belong to the next answer
    annotations = [session.annotations[row] for row in rows]
    suggested = suggested_tags(session, snapshot, rows)
    doubtful = _doubtful(snapshot, rows, annotations)
    return [
        _row(session, row, item, own, tags, doubtful)
        for row, item, own, tags in zip(rows, items, annotations, suggested, strict=True)
    ]


def _row(
    session: Session, row: int, item: Item, annotations: dict[int, int], suggested: list[SuggestedTag],
    doubtful: Collection[tuple[int, int]],
) -> ItemRow:  # fmt: skip
    return ItemRow(
        row=row, id=item.id, title=item.title or item.id, snippet=_snippet(item),
        annotations=tag_annotations(annotations), suggestions=suggested[:SHOWN],
        doubted=[tag for tag in annotations if (row, tag) in doubtful],
        reason="" if annotations else session.reasons.get(row, ""), picture=has_picture(session),
        flagged=row in session.flagged, disputed=sorted(session.disputed.get(row, ())),
    )  # fmt: skip


def _doubtful(
    snapshot: Snapshot | None, rows: Sequence[int], annotations: Sequence[Mapping[int, int]]
) -> set[tuple[int, int]]:
    """Items and tags that they have though the score is low."""
    having = [
        (row, tag)
        for row, own in zip(rows, annotations, strict=True)
        for tag, value in own.items()
        if value > 0
    ]
    if snapshot is None or not having:
        return set()
    marked = snapshot.doubtful(*np.array(having, np.intp).T).tolist()
    return {pair for pair, doubtful in zip(having, marked, strict=True) if doubtful}


def suggested_tags(
    session: Session, snapshot: Snapshot | None, rows: Sequence[int]
) -> list[list[SuggestedTag]]:
    """Of each of some items the tags with the highest scores, without those that are annotated by now."""
    known = [] if snapshot is None else [row for row in rows if row < len(snapshot)]
    if snapshot is None or not known:
        return [[] for _ in rows]
    percentages, retired = not snapshot.items_until_percentages, session.retired
    best = dict(zip(known, snapshot.best(np.array(known, np.intp)), strict=True))
    found = []
    for row in rows:
        own, disputed = session.annotations[row], session.disputed.get(row, ())
        found.append([
            SuggestedTag(tag=tag, score=score if percentages else None, strength=score)
            for tag, score in best.get(row, ())
            if score >= MIN_SCORE and not (tag in own or tag in disputed or tag in retired)
        ])  # fmt: skip
    return found


def item_details(session: Session, snapshot: Snapshot | None, groups: Groups, row: int) -> ItemDetails:
    """An item with its text, explained suggestions, model details and history."""
    item = session.row(row)
    (found,) = suggested_tags(session, snapshot, [row])
    annotations = session.annotations[row]
    doubtful = _doubtful(snapshot, [row], [annotations])
    plain = _row(session, row, item, annotations, found, doubtful)
    annotation_scores, details, explained = [], None, []
    if snapshot is not None and row < len(snapshot):
        own = [tag for tag, value in annotations.items() if value > 0 and tag < snapshot.tags]
        doubted = [tag for tag in own if tag in plain.doubted]
        suggested = [one.tag for one in found]
        reasons = explained_tags(snapshot, groups, row, suggested + doubted)
        why = {one.tag: one.parts for one in reasons[len(found) :]}
        annotation_scores = [
            AnnotationScore(
                tag=tag, score=snapshot.score(row, tag), mean_score=snapshot.mean_scores[tag],
                why=why.get(tag, []),
            )
            for tag in own
            if not snapshot.items_until_percentages
        ]  # fmt: skip
        details = model_details(session, snapshot, row, {})
        explained = [
            ExplainedSuggestion(**{**dict(reason), **dict(one)})
            for one, reason in zip(found, reasons, strict=False)
        ]
    return ItemDetails(
        **{name: getattr(plain, name) for name in ItemRow.model_fields},
        text=item.text, explained=explained,
        extra={name: value for name, value in item.extra.items() if name != PARTS},
        annotation_scores=annotation_scores, model_details=details,
        people=[
            PersonsAnnotation(tag=tag, value=cast(Literal[-1, 1], value), who=who)
            for tag, people in session.collection.annotations_by_person([row])[row].items()
            for who, value in people.items()
            if tag < len(session.names)
        ],
        history=logged_changes(session, session.collection.history(item.id, limit=CHANGES)),
    )  # fmt: skip


def suggested_if(
    session: Session, snapshot: Snapshot, row: int, changes: dict[int, int]
) -> list[SuggestedTag] | None:
    """The suggestions of an item with some annotations changed; None where that takes a training."""
    known = session.annotations[row]
    tried = {**known, **changes}
    found = None if session.live is None else session.live.scores_if(row, tried)
    if found is None:
        return None
    for tag, value in changes.items():
        if not value and tag in known:  # others still count it: its score is the one that leaves it out
            found[tag] = snapshot.score(row, tag)
    excluded = session.retired | {tag for tag, value in tried.items() if value}
    least = snapshot.suggester.least_scores
    kept = [
        (tag, min(score, 1.0))
        for tag, score in sorted(found.items(), key=lambda pair: -pair[1])
        if tag not in excluded and tag < len(least) and score > max(least[tag], MIN_SCORE)
    ]
    percentages = not snapshot.items_until_percentages
    return [
        SuggestedTag(tag=tag, score=score if percentages else None, strength=score) for tag, score in kept
    ]


def explained_tags(snapshot: Snapshot, groups: Groups, row: int, tags: list[int]) -> list[ExplainedTag]:
    """Why an item probably has some tags; why those that it has are doubted."""
    rows, columns = np.full(len(tags), row), np.array(tags, np.intp)
    because = snapshot.suggester.because(rows, columns)
    scores = [snapshot.shown_score(row, tag) for tag in tags]
    explainer = groups.explainer(snapshot)
    labels, found = explainer.labels(), explainer.explain(rows, columns, because, scores)
    return [
        ExplainedTag(
            tag=tag, parts=[ReasonPart(**part._asdict()) for part in one.parts], terms=list(one.terms),
            points={labels[source]: adds for source, adds in one.points.items()},
        )
        for tag, one in zip(tags, found, strict=True)
    ]  # fmt: skip


def logged_changes(session: Session, changes: list[Change]) -> list[LoggedChange]:
    """Lines of the log; those on an item or tag that is newer than the session are left out."""
    columns = {name: column for column, name in enumerate(session.names)}
    rows = session.rows_of(changes)
    return [
        LoggedChange(
            number=change.number, batch=change.batch, at=change.at, who=change.who,
            row=rows[change.item], item=change.item, tag=columns[change.tag],
            value=cast(Value, change.value), undone=change.undone, undoes=change.undoes is not None,
        )
        for change in changes
        if change.tag in columns and change.item in rows
    ]  # fmt: skip


def logged_actions(session: Session, actions: list[Action]) -> list[LoggedAction]:
    """The log by action."""
    lines = iter(logged_changes(session, [change for action in actions for change in action.changes]))
    line = next(lines, None)
    found = []
    for action in actions:
        own: list[LoggedChange] = []
        numbers = {change.number for change in action.changes}
        while line is not None and line.number in numbers:
            own.append(line)
            line = next(lines, None)
        found.append(
            LoggedAction(
                number=action.number, at=action.at, who=action.who, imported=not action.batch,
                tags=list(action.tags), count=action.count, items=action.items, same=action.same,
                moves=action.moves, undone=action.undone, undoes=action.undoes, again=action.again,
                changes=own,
            )
        )  # fmt: skip
    return found


def _snippet(item: Item) -> str:
    """The beginning of the text, without the title where that is a column of the text as well."""
    begun = " ".join(item.text[: 2 * SNIPPET + len(item.title)].split())
    title = " ".join(item.title.split())
    if title and begun.startswith(f"{title} "):
        begun = begun[len(title) :].lstrip()
    return begun[:SNIPPET]


def has_picture(session: Session) -> bool:
    """Whether items are pictures."""
    return session.collection.settings.features.get("kind") == "images"
