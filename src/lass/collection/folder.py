"""The folder of a collection, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from sqlite3 import DatabaseError
from typing import TYPE_CHECKING, NamedTuple, Self

from lass.collection import checking, log, store, tags
from lass.collection import history as past
from lass.collection.creation import SETTINGS, TAGS
from lass.collection.database import Database
from lass.collection.records import Change, Item, Moment, TagChange, Since
from lass.collection.settings import Settings

if TYPE_CHECKING:
    import scipy.sparse as sp


class AnnotationMatrix(NamedTuple):
    """What is said: signed affinities with the names of rows and columns, as of a change of the log.

    The columns of retired tags are empty.
    """

    G: sp.csr_array
    ids: list[str]
    names: list[str]
    number: int
    retired: frozenset[int] = frozenset()


class Folder:
    """Settings, items, tags and words as they are on the disk; each answer is of one moment."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise ValueError(
                f"{self.path} is not the folder of a collection; make one with Collection.create"
            )
        for name in (SETTINGS, TAGS):
            if not (self.path / name).is_file():
                raise ValueError(f"{self.path} is not the folder of a collection; it has no {name}")
        self.settings = Settings.read(self.path / SETTINGS)
        self._database = Database(self.path / TAGS)

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return store.count_items(connection)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def ids(self) -> list[str]:
        """The ids of all items, by row."""
        with self._database.reading() as connection:
            return store.ids(connection)

    def names(self) -> list[str]:
        """The tags, by column; all differ, and those of retired tags end in "(retired COLUMN)"."""
        with self._database.reading() as connection:
            return tags.names(connection)

    def retired(self) -> set[int]:
        """The columns of tags that are not in use any more, which have no words."""
        with self._database.reading() as connection:
            return tags.retired(connection)

    def get_items(self, ids: Iterable[str] | None = None) -> list[Item]:
        """All items by row, or those with these ids in this order."""
        with self._database.reading() as connection:
            return store.items(connection, ids)

    def annotation_matrix(self) -> AnnotationMatrix:
        """Everything that is said, as a signed matrix; all parts are of the same moment."""
        import numpy as np
        import scipy.sparse as sp

        with self._database.reading() as connection:
            ids, names, number = store.ids(connection), tags.names(connection), log.last(connection)
            retired = frozenset(tags.retired(connection))
            said = connection.execute("SELECT item, category, value FROM words").fetchall()
            item, category, value = np.array(said, dtype=np.float64).reshape(-1, 3).T
            if said and not (
                item.max() < len(ids) and category.max() < len(names) and (abs(value) == 1).all()
            ):
                raise DatabaseError("words on items or categories that are not there")
        places = item.astype(np.int32), category.astype(np.int32)
        G = sp.csr_array((value, places), shape=(len(ids), len(names)))
        return AnnotationMatrix(G, ids, names, number, retired)

    def annotations_of(self, item: str) -> Mapping[str, int]:
        """What is said of one item, by tag."""
        with self._database.reading() as connection:
            return store.annotations_of(connection, item)

    def history(self, item: str | None = None, limit: int = 100) -> list[Change]:
        """The last changes of words, of all items or one, the latest first."""
        _check_limit(limit)
        with self._database.reading() as connection:
            return past.history(connection, item, limit)

    def tag_changes(self, limit: int = 100) -> list[TagChange]:
        """The last changes of tags (made, renamed, merged, retired), the latest first."""
        _check_limit(limit)
        with self._database.reading() as connection:
            return past.namings(connection, limit)

    def revision(self) -> int:
        """The number of the last change of words or tags, 0 before the first."""
        with self._database.reading() as connection:
            return log.last(connection)

    def changed_since(self, number: int) -> Since:
        """The rows of items whose words changed after change ``number``, and whether any tag did."""
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"number must be that of a change, or 0; found {number!r}")
        with self._database.reading() as connection:
            return past.since(connection, number)

    def moments(self, limit: int = 200) -> list[Moment]:
        """How much was said after each action, oldest first; at most ``limit`` of them, with the last."""
        _check_limit(limit)
        with self._database.reading() as connection:
            return past.moments(connection, limit)

    def check(self) -> list[str]:
        """What is wrong with the database, in words; reads all of it."""
        with self._database.reading() as connection:
            return checking.complaints(connection)


def _check_limit(limit: int) -> None:
    if not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a whole number >= 1; found {limit!r}")
