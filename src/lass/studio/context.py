"""What every request finds: the desk, the learner, news and uploads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import Depends, Request
from numpy.typing import NDArray

import lass
from lass.studio.events import Events
from lass.studio.item_rows import has_picture, row_of
from lass.studio.messages import Counts, Row, State, Stored
from lass.studio.session import Desk, Done
from lass.studio.snapshot import Outlook
from lass.studio.trainer import Learner
from lass.studio.uploads import Uploads

#: rows sent back with a change, at most
SENT = 200


@dataclass
class Office:
    """The parts of a running Studio."""

    desk: Desk
    learner: Learner
    events: Events
    uploads: Uploads
    _map: tuple[float, NDArray[np.float32]] | None = None

    @property
    def outlook(self) -> Outlook | None:
        """What the model thinks now; None while there is none."""
        return self.desk.outlook

    def row(self, row: int) -> Row:
        """An item for the list."""
        return row_of(self.desk, self.outlook, row)

    def stored(self, done: Done) -> Stored:
        """The answer to a change."""
        rows = [self.row(row) for row in done.rows[:SENT]]
        return Stored(revision=done.revision, what=done.what, rows=rows)

    def points(self) -> NDArray[np.float32] | None:
        """(N, 2) where the items are on the map; None while there is none for all of them."""
        if self.desk.is_empty:
            return None
        file = self.desk.folder / "arrays" / "map.npz"
        try:
            written = file.stat().st_mtime
        except OSError:
            return None
        if self._map is None or self._map[0] != written:
            stored = self.desk.collection.stored("map")
            if stored is None:
                return None
            self._map = written, np.ascontiguousarray(stored.matrix, np.float32)
        return self._map[1] if len(self._map[1]) == len(self.desk.items) else None

    def state(self) -> State:
        """The collection and its model, in numbers."""
        desk = self.desk
        said = list(desk.said)
        values = [value for words in said for value in words.values()]
        yes = sum(value > 0 for value in values)
        tagged = sum(any(value > 0 for value in words.values()) for words in said)
        name = "" if desk.is_empty else desk.collection.settings.name
        return State(
            name=name or desk.folder.resolve().name, folder=str(desk.folder), version=lass.__version__,
            items=len(desk.items), tags=len(desk.names) - len(desk.retired), revision=desk.revision,
            words=Counts(**{"is": yes}, is_not=len(values) - yes, tagged=tagged), model=self.learner.model,
            map=self.points() is not None, pictures=not desk.is_empty and has_picture(desk),
        )  # fmt: skip


def _office(request: Request) -> Office:
    found: Office = request.app.state.office
    return found


#: an argument of a route
Here = Annotated[Office, Depends(_office)]
