"""The context of a request: session, trainer, events and uploads."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from anyio import CapacityLimiter
from fastapi import Depends, Request
from numpy.typing import NDArray

import lass
from lass.studio.access import visitor
from lass.studio.events import Events
from lass.studio.groups import Groups
from lass.studio.item_rows import has_picture, row_of, rows_of
from lass.studio.messages import AnnotationCounts, ChangeResult, ItemRow, Person, StudioState
from lass.studio.session import AppliedChange, Session
from lass.studio.snapshot import Snapshot
from lass.studio.thumbnails import Thumbnails
from lass.studio.trainer import Trainer
from lass.studio.uploads import Uploads

#: rows sent back with a change, at most
MAX_ROWS = 200
#: changes that are answered at once
WRITERS = 8


@dataclass
class Context:
    """The parts of a running Studio."""

    session: Session
    trainer: Trainer
    events: Events
    uploads: Uploads
    groups: Groups
    thumbnails: Thumbnails
    started: str = field(default_factory=lambda: secrets.token_hex(8))
    #: threads for what is stored, which need not wait until a thread for reading is free
    writers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(WRITERS))
    _map: tuple[float, NDArray[np.float32]] | None = None

    @property
    def snapshot(self) -> Snapshot | None:
        """The predictions of the model as it is now; None while there is none."""
        return self.session.snapshot

    def row(self, row: int) -> ItemRow:
        """An item for the list."""
        return row_of(self.session, self.snapshot, row)

    def rows(self, rows: list[int]) -> list[ItemRow]:
        """Some items for the list."""
        return rows_of(self.session, self.snapshot, rows)

    def result(self, change: AppliedChange) -> ChangeResult:
        """The answer to a change."""
        rows = self.rows(change.rows[:MAX_ROWS])
        return ChangeResult(revision=change.revision, what=change.what, rows=rows, change=change.change)

    def points(self) -> NDArray[np.float32] | None:
        """(N, 2) where the items are on the map; None while there is none for all of them."""
        if self.session.is_empty:
            return None
        file = self.session.folder / "arrays" / "map.npz"
        try:
            written = file.stat().st_mtime
        except OSError:
            return None
        if self._map is None or self._map[0] != written:
            try:
                stored = self.session.collection.saved_array("map")
            except ValueError:  # damaged: the next fit draws it again
                stored = None
            if stored is None:
                return None
            self._map = written, np.ascontiguousarray(stored.matrix, np.float32)
        return self._map[1] if len(self._map[1]) == len(self.session.items) else None

    def state(self) -> StudioState:
        """The collection and its model, in numbers."""
        session = self.session
        known = session.annotations
        counts = {
            "is": int(known.having.sum()), "is_not": int(known.not_having.sum()),
            "tagged": int(np.count_nonzero(known.is_tagged)),
        }  # fmt: skip
        name = "" if session.is_empty else session.collection.settings.name
        people = session.people()
        asking = visitor()
        # where it lies on this machine is nothing for others
        folder = session.folder.resolve().name if asking.own_link else str(session.folder)
        return StudioState(
            started=f"{self.started}-{session.returns}",
            you=asking.name, own_link=asking.own_link, key=asking.key,
            people=[Person(name=who, colour=colour) for colour, who in enumerate(people)],
            disputed=sum(map(len, session.disputed.values())),
            name=name or session.folder.resolve().name, folder=folder, version=lass.__version__,
            items=len(session.items), tags=len(session.names) - len(session.retired),
            revision=session.revision, model=self.trainer.model,
            annotations=AnnotationCounts(**counts),
            map=self.points() is not None, pictures=not session.is_empty and has_picture(session),
            notice=session.notice,
        )  # fmt: skip


async def _context(request: Request) -> Context:  # else it would wait for a thread
    found: Context = request.app.state.context
    return found


#: an argument of a route
RequestContext = Annotated[Context, Depends(_context)]
