"""A collection on disk: a folder with settings, items, tags, annotations, and arrays made from them."""

from __future__ import annotations

import copy
import os
import shutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lass.collection import (
    action_log,
    annotation_table,
    arrays,
    backups,
    change_log,
    integrity,
    item_table,
    people_table,
    tag_table,
)
from lass.collection.database import NOBODY, Database, log_first_names, may_write
from lass.collection.reading.archives import copy_into
from lass.collection.records import (
    Annotation,
    Change,
    Item,
    LastChange,
    LoggedAction,
    Moment,
    News,
    Since,
    TagChange,
    check_person,
    command_line,
)
from lass.collection.search import Found, SearchIndex
from lass.collection.settings import Settings
from lass.collection.staging import SOURCES, Basis, Stage, Staged, Superseded
from lass.model.atomic import FULL, atomic_path, draft_of, make_folder, remove_leftovers

if TYPE_CHECKING:
    import scipy.sparse as sp

SETTINGS, DATABASE = "collection.toml", "tags.sqlite"
#: the folder of pictures that were copied into the collection
PICTURES = "pictures"
#: item, tag and value of an annotation, perhaps with who made it
Given = tuple[str, str, float] | tuple[str, str, float, str]
#: answers of the search that are kept
SEARCHES = 8
#: annotations from which on they are imported as arrays
MANY = 10_000


class AnnotationMatrix(NamedTuple):
    """All annotations as a signed matrix, with the names of rows and columns, as of change ``number``.

    The columns of retired tags are empty.
    """

    G: sp.csr_array
    ids: list[str]
    names: list[str]
    number: int
    retired: frozenset[int] = frozenset()


@dataclass
class _Known:
    """What was read of an earlier moment, brought up to date when asked for, only within a transaction.

    A collection and those staged on it have the same: of a million items ids alone take 74 MB.
    """

    ids: list[str] = field(default_factory=list)
    entries: annotation_table.Entries | None = None


class CollectionStore:
    """Items, tags and annotations in a folder that several programs may have open at once.

    Every method that changes something returns after the change is on the disk; annotations are
    logged and never deleted. :class:`lass.Collection` adds fitting and suggesting to it.

    Parameters
    ----------
    path : str or Path
        The folder, made by :meth:`create`. A database of an older format is brought to the present one.
    read_only : bool
        Read the state of this moment and change nothing, not even the format; methods that change something
        are refused.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import CollectionStore, Item
    >>> with TemporaryDirectory() as folder:
    ...     songs = CollectionStore.create(f"{folder}/songs", [Item("a"), Item("b")], ["jazz", "loud"])
    ...     songs.annotate("a", {"jazz": 1, "loud": -1}, who="ann")
    ...     songs.undo()
    ...     songs.redo()
    ...     print(songs.annotation_matrix().G.toarray())
    ...     songs.close()
    [1, 2]
    [3, 4]
    [5, 6]
    [[ 1. -1.]
     [ 0.  0.]]
    """

    def __init__(
        self, path: str | Path, *, read_only: bool = False, why: str = "", full: bool = False
    ) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise ValueError(f"{self.path} is not the folder of a collection; make one with lass.create")
        for name in (SETTINGS, DATABASE):
            if not (self.path / name).is_file():
                why = f"{self.path} is not the folder of a collection; it has no {name}"
                if name == DATABASE and (self.path / backups.FOLDER).is_dir():
                    raise ValueError(f"{why}; databases to put back lists: {command_line('restore', path)}")
                raise ValueError(why)
        self.settings = Settings.read(self.path / SETTINGS)
        self._database = Database(self.path / DATABASE, read_only=read_only, why=why, full=full)
        #: why a collection that could not be opened for writing is read-only; empty for any other
        self.why_read_only = why
        self._known = _Known()
        self._index = SearchIndex(self.path, self._texts, writable=not (read_only or full))
        self._found: dict[str, Found] = {}
        #: array -> state of its file, and the stamp in it
        self._stamps: dict[str, tuple[Any, arrays.Stamp | None]] = {}
        #: of what :meth:`staged` gives
        self._stage: Stage | None = None

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Self:
        """The collection in a folder."""
        return cls(path, read_only=read_only)

    @classmethod
    def open_readable(cls, path: str | Path) -> Self:
        """The collection in a folder; read-only where rights or a full disk do not allow more.

        It can be written as soon as a disk that was full has space again.
        """
        if not (Path(path) / DATABASE).is_file():
            return cls(path)
        if not may_write(Path(path) / DATABASE):
            return cls(path, read_only=True, why="you may not write to it")
        try:
            return cls(path)
        except TimeoutError:
            raise
        except OSError as error:
            if error.errno in FULL:
                return cls(path, why="the disk is full; it goes on when there is space again", full=True)
            return cls(path, read_only=True, why=f"{error.strerror or error}")

    @classmethod
    def create(
        cls, path: str | Path, items: Iterable[Item], tags: Iterable[str] = (),
        annotations: Iterable[Given] = (), *, settings: Settings | None = None,
        features: Any = None, graph: Any = None, edges: Any = None, pictures: Path | None = None,
    ) -> Self:  # fmt: skip
        """Make a new folder, whole or not at all: as a hidden one next to it, which is renamed at the end.

        Parameters
        ----------
        path : str or Path
            Where nothing is yet, or an empty folder.
        items : iterable of Item
        tags : iterable of str
            All tags; by default those of the annotations, in the order in which they come.
        annotations : iterable of (id, tag, value) or (id, tag, value, who)
            Those known from the start; they cannot be undone. Without a name they count where no person
            has annotated the same.
        settings : Settings, optional
        features, graph : matrices, optional
            Given ones, which cannot be made from the items.
        pictures : Path, optional
            A folder with files named by the ids of the items, to be copied into that of the collection.
        """
        _check_free(Path(path))
        folder = Path(path).resolve()
        folder.parent.mkdir(parents=True, exist_ok=True)
        settings = settings or Settings()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        settings = replace(settings, name=settings.name or folder.name, created=settings.created or now)
        remove_leftovers(folder.parent, of=folder.name)
        draft = draft_of(folder)
        draft.mkdir()
        try:
            if pictures is not None:
                items = list(items)
                copy_into(pictures, draft / PICTURES, (item.id for item in items))
                settings = replace(settings, features={**settings.features, "folder": PICTURES})
            settings.write(draft / SETTINGS)
            with closing(Database(draft / DATABASE, new=True)) as database:
                with database.writing() as connection:
                    if not item_table.add(connection, items):
                        raise ValueError("items must hold at least one; found none")
                    tag_table.insert_all(connection, tags)
                    new = not tag_table.names(connection)
                    _import(connection, annotations, None, new)
                database.finish()
            with cls(draft) as collection:
                collection.annotation_entries()  # kept in a file where there are many
                if features is not None:
                    collection.save_features(features)
                if graph is not None:
                    collection.save_graph(graph)
                if edges is not None:
                    collection.save_edges(edges)
            _to_disk(draft)
            _check_free(folder)
            if folder.is_dir() and os.name == "nt":  # elsewhere an empty folder is replaced by the renaming
                folder.rmdir()
            draft.rename(folder)
            _to_disk(folder.parent)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return cls(path)

    @property
    def picture_folder(self) -> Path:
        """Where the pictures are, if the items are pictures; their ids are paths within it."""
        return self.path / str(self.settings.features.get("folder", ""))

    def close(self) -> None:
        """Let go of the files."""
        self._index.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self._database.read(item_table.count)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    # ---- items, tags and annotations: each answer is of one moment

    def ids(self) -> list[str]:
        """The ids of all items, by row."""
        with self._database.reading() as connection:
            return self._known_ids(connection).copy()

    def get_items(self, ids: Iterable[str] | None = None) -> list[Item]:
        """All items by row, or those with these ids in this order."""
        return self._database.read(item_table.items, ids)

    def get_rows(self, rows: Iterable[int]) -> list[Item]:
        """The items in some rows, in this order."""
        with self._database.looking() as connection:
            return item_table.items_of(connection, _checked_rows(connection, rows))

    def ids_of(self, rows: Iterable[int]) -> list[str]:
        """The ids of the items in some rows, in this order."""
        with self._database.looking() as connection:
            return item_table.ids_of(connection, _checked_rows(connection, rows))

    def rows_by_name(self) -> list[int]:
        """All rows in the order of their titles, or ids where there are none."""
        return self._database.read(item_table.rows_by_name)

    def rows_of(self, ids: Iterable[str]) -> dict[str, int]:
        """The rows of items by id; ids that there are not are left out."""
        with self._database.looking() as connection:
            return item_table.rows_of(connection, ids)

    def search(self, text: str) -> Found:
        """The items that hold all parts of a text, in any case; those in quotation marks as they stand.

        Returns
        -------
        Found
            ``ranks``, of shape (number of items,): 0 if the id or title begins with the text, 1 if these have
            it from the beginning of a word, 2 if the text has, 4 if all parts are in id and title, 5 if they
            are anywhere in the item, 6 if near words are, 7 where it is not found. ``terms``: the parts;
            ``near``: near words that were found, where few items have all parts.
        """
        text, items = " ".join(text.lower().split()), len(self)
        found = self._found.get(text)
        if found is None or len(found.ranks) != items:
            found = self._index.find(text, items)
            found.ranks.flags.writeable = False
            self._found = {**dict(list(self._found.items())[1 - SEARCHES :]), text: found}
        return found

    def index_texts(self, proceed: Callable[[float], bool] = lambda _: True) -> bool:
        """Make :meth:`search` fast in a large collection, or bring that up to date; whether it is done.

        Parameters
        ----------
        proceed : function of the seconds that the last few thousand items took
            Called again and again; where it says False, the rest is left for another time.
        """
        return self._index.extend(len(self), proceed)

    def _texts(self, first: int, size: int) -> list[tuple[int, str, str, str]]:
        with self._database.looking() as connection:
            return item_table.pages(connection, first, size)

    def add_items(
        self, items: Iterable[Item], annotations: Iterable[Given] = (), *, who: str = "",
        new: bool = False, changed: Iterable[Item] = (),
    ) -> int:  # fmt: skip
        """Append items, with annotations of them or others; how many items there are then.

        Items that are there already may come as ``changed``, with another title, text or extra: what is
        computed from these is computed anew by the next fit.
        """
        items, annotations, changed = list(items), list(annotations), list(changed)
        if changed:
            self._next_edition()
        with self._database.writing() as connection:
            item_table.change(connection, changed)
            count = item_table.add(connection, items)
            _import(connection, annotations, change_log.Action(connection, who, change_log.IMPORT), new)
        if changed:
            # before and after: nothing computed from former items counts as fresh, killed or not
            self._next_edition()
            self._index.discard()
            self._found = {}
        return count

    def _next_edition(self) -> None:
        edition = self.settings.features.get("edition", 0)
        number = edition + 1 if isinstance(edition, int) else 1
        self.change_settings(features={**self.settings.features, "edition": number})

    def names(self) -> list[str]:
        """The tags, by column; all differ, and those of retired tags end in "(retired COLUMN)"."""
        return self._database.read(tag_table.names)

    def retired(self) -> set[int]:
        """The columns of tags that are not in use any more, which have no annotations."""
        return self._database.read(tag_table.retired)

    def add_tag(self, name: str, *, who: str = "") -> int:
        """Make a tag that no item has yet; its column.

        The name of a retired tag brings that one back, in its old column.
        """
        with self._database.writing() as connection:
            return tag_table.add(connection, name, change_log.Action(connection, who))

    def rename_tag(self, tag: str, name: str, *, who: str = "") -> list[int]:
        """Give a tag a name that no other tag in use has; the number of the change."""
        with self._database.writing() as connection:
            return tag_table.rename(connection, tag, name, change_log.Action(connection, who))

    def merge_tags(self, tag: str, into: str, *, who: str = "") -> list[int]:
        """Move the annotations of a tag to another, and retire it; the numbers of the changes.

        Where the same person has annotated an item with the other tag already, that one stays.
        """
        with self._database.writing() as connection:
            return tag_table.merge(connection, tag, into, change_log.Action(connection, who))

    def delete_tag(self, tag: str, *, who: str = "") -> list[int]:
        """Withdraw all annotations of a tag, and retire it; the numbers of the changes."""
        with self._database.writing() as connection:
            return tag_table.delete(connection, tag, change_log.Action(connection, who))

    def synonyms(self) -> dict[int, list[str]]:
        """Other names of tags, by column: those that a tag had, and those of tags merged into it.

        They follow from the log: what is undone is no synonym any more, nor is a name that a tag in use has.
        """
        return self._database.read(tag_table.synonyms)

    def annotation_matrix(self) -> AnnotationMatrix:
        """All annotations as a signed matrix; all parts are of the same moment.

        Of several people's annotations of an item and a tag, it holds the sign of their sum, nothing where
        they balance. What has no name, as what came with the items, counts where no person has annotated
        the same.
        """
        import numpy as np
        import scipy.sparse as sp

        with self._database.reading() as connection:
            entries = self._known_entries(connection)
            ids, names = self._known_ids(connection), tag_table.names(connection)
            retired = frozenset(tag_table.retired(connection))
        small = len(entries.indices) < 2**31
        parts = (
            entries.values.astype(np.float64), entries.indices.copy(),
            entries.indptr.astype(np.int32 if small else np.int64),
        )  # fmt: skip
        G = sp.csr_array(parts, shape=(len(ids), len(names)))
        G.has_canonical_format = True
        return AnnotationMatrix(G, ids.copy(), names, entries.number, retired)

    def annotation_entries(self) -> annotation_table.Entries:
        """All annotations as the parts of a CSR matrix, without the names; not to be changed in place."""
        with self._database.reading() as connection:
            return self._known_entries(connection)

    def annotations_of_rows(self, rows: Iterable[int]) -> dict[int, dict[int, int]]:
        """The annotations of some rows, those of all people together: {row: {column: +1 or -1}}."""
        with self._database.reading() as connection:
            return annotation_table.of_rows(connection, _checked_rows(connection, rows))

    def annotations_by_person(self, rows: Iterable[int]) -> dict[int, dict[int, dict[str, int]]]:
        """What each person stated of some rows: {row: {column: {name: +1 or -1}}}.

        The name is empty for what came with the items, or without a name.
        """
        with self._database.reading() as connection:
            names = people_table.names(connection)
            found = annotation_table.by_person(connection, _checked_rows(connection, rows))
        return {
            row: {column: {names[who]: value for who, value in one.items()} for column, one in tags.items()}
            for row, tags in found.items()
        }

    def disputed(self) -> dict[int, frozenset[int]]:
        """The columns of the tags on which people differ, by row, also where most of them agree."""
        found: dict[int, set[int]] = {}
        for pair in self.annotation_entries().disputed.tolist():
            found.setdefault(pair >> 32, set()).add(pair & (2**32 - 1))
        return {row: frozenset(columns) for row, columns in found.items()}

    def each_annotation(self) -> list[tuple[Annotation, str]]:
        """Every person's annotation, in the order of the items, and when it was made."""
        with self._database.reading() as connection:
            ids, names = self._known_ids(connection), tag_table.names(connection)
            return [
                (Annotation(ids[row], names[column], value, who), at)
                for row, column, who, value, at in annotation_table.each(connection)
            ]

    def people(self) -> list[str]:
        """Who has annotated, by name, in the order in which they began."""
        return [name for name in self._database.read(people_table.names).values() if name]

    def _known_ids(self, connection: Connection) -> list[str]:
        """The ids of all items: only those that are new since the last time are read."""
        ids, count = self._known.ids, item_table.count(connection)
        if len(ids) != count:
            self._known.ids = ids = ids[:count] + item_table.ids(connection, min(len(ids), count))
        return ids

    def _known_entries(self, connection: Connection) -> annotation_table.Entries:
        """All annotations: only rows that changed since the last time, or since the file, are read."""
        file, known = self.path / "arrays" / "annotations.npz", self._known.entries
        from_file = known is None and file.is_file()
        if from_file:
            known = annotation_table.kept(connection, file)
        if known is None:
            entries, changed = annotation_table.read(connection), annotation_table.MAX_CHANGED + 1
        else:
            entries, rows = annotation_table.updated(connection, known)
            changed = len(rows) if from_file else 0
        self._known.entries = entries
        many = len(entries.indices) >= annotation_table.MIN_KEPT
        if many and changed > annotation_table.MAX_CHANGED and not self._database.read_only:
            annotation_table.keep(connection, file, entries)
        return entries

    def annotations_of(self, item: str) -> dict[str, int]:
        """The annotations of one item, those of all people together, by tag."""
        with self._database.reading() as connection:
            return tag_table.annotations_of(connection, item_table.find(connection, item))

    def annotate(
        self, item: str, values: Mapping[str, float], *, who: str = "", new: bool = False
    ) -> list[int]:
        """State of an item that it has some tags (+1) and does not have others (-1); 0 withdraws.

        Every person has annotations of their own: those of others stay. Withdrawing what came with the
        items, or without a name, is up to everybody.

        Returns the numbers of the changes, which are on the disk by then. Tags that are not
        there yet are made if ``new``, and retired ones brought back; an undo retires them again.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"values must be a mapping from tags to +1 or -1; found {values!r}")
        return self.annotate_all(((item, tag, value) for tag, value in values.items()), who=who, new=new)

    def annotate_all(self, annotations: Iterable[Given], *, who: str = "", new: bool = False) -> list[int]:
        """Make several annotations (id, tag, value) of any items as one action, which is undone as one."""
        annotations = list(annotations)
        with self._database.writing() as connection:
            action = change_log.Action(connection, who)
            return action.annotate(_located(connection, annotations, action, new))

    def withdraw(self, item: str, tag: str, *, who: str = "") -> list[int]:
        """Take back the annotation of an item and a tag."""
        return self.annotate(item, {tag: 0}, who=who)

    def undo(
        self, who: str | None = None, *, by: str | None = None, change: int | None = None
    ) -> list[int]:  # fmt: skip
        """Reverse the last action that was not reversed yet; the numbers of the changes, if any.

        With ``who``, the last action of that person: later annotations of others stay, and so does a
        tag that others used. With ``change``, the number of a change, the action that it belongs to, unless
        it is reversed. Where somebody else took the name of a tag that would come back, or retired one that
        annotations would come back on, it is a ``ValueError`` and nothing changes.
        The log has it under ``by``: that person, by default, or the user of this machine.
        """
        with self._database.writing() as connection:
            return change_log.undo(connection, who, _reverser(who, by), change)

    def redo(self, who: str | None = None, *, by: str | None = None) -> list[int]:
        """Reverse the last undo, of an action of ``who`` if named, unless there was a new action since.

        Returns the numbers of the changes, if any.
        """
        with self._database.writing() as connection:
            return change_log.redo(connection, who, _reverser(who, by))

    def reversed_values(self, numbers: Iterable[int]) -> dict[tuple[int, int], int]:
        """What was taken or brought back by these changes of one undo or redo, by (row, column)."""
        with self._database.looking() as connection:
            return change_log.reversed_values(connection, numbers)

    def flag(self, item: str, flagged: bool = True, *, who: str = "") -> None:
        """Mark an item to come back to, or take the mark away; it is no annotation and changes no model."""
        with self._database.writing() as connection:
            row = item_table.find(connection, item)
            connection.execute("DELETE FROM flags WHERE item = ?", (row,))
            if flagged:
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                connection.execute("INSERT INTO flags VALUES (?, ?, ?)", (row, now, who))

    def flagged_rows(self) -> list[int]:
        """The rows of the items that are flagged, the latest flag first."""
        return self._database.read(_flagged)

    # ---- the log of changes

    def revision(self) -> int:
        """The number of the last change of annotations or tags, 0 before the first."""
        return self._database.read(change_log.last)

    def history(self, item: str | None = None, limit: int = 100) -> list[Change]:
        """The last changes of annotations, of all items or one, the latest first."""
        _check_limit(limit)
        with self._database.looking() as connection:
            row = None if item is None else item_table.find(connection, item)
            return change_log.changes(connection, row, limit)

    def tag_changes(self, limit: int = 100) -> list[TagChange]:
        """The last changes of tags (made, renamed, merged, retired), the latest first."""
        _check_limit(limit)
        return self._database.read(change_log.tag_changes, limit)

    def actions(self, limit: int = 100) -> list[LoggedAction]:
        """The last actions, the latest first: what was done together is one of them."""
        _check_limit(limit)
        return self._database.read(action_log.actions, limit)

    def changed_since(self, number: int) -> Since:
        """The rows of items whose annotations changed after change ``number``, and whether any tag did."""
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"number must be that of a change, or 0; found {number!r}")
        return self._database.read(change_log.since, number)

    def news(self, number: int, limit: int) -> News:
        """What changed after change ``number``; with more rows than ``limit``, without their annotations."""
        with self._database.reading() as connection:
            latest, items = change_log.last(connection), item_table.count(connection)
            rows, tags = change_log.since(connection, number) if latest != number else Since([], False)
            return News(
                latest, items, rows,
                annotation_table.of_rows(connection, rows) if len(rows) <= limit else None,
                tag_table.names(connection) if tags else None,
                tag_table.retired(connection) if tags else set(),
                tag_table.synonyms(connection) if tags else {},
                _flagged(connection),
                annotation_table.disputed(connection, rows) if len(rows) <= limit else {},
            )  # fmt: skip

    def recently_changed(self, limit: int = 100) -> list[int]:
        """The rows that the last changes of annotations were about, the latest first.

        Annotations that came with the items are none, but count for ``limit``.
        """
        _check_limit(limit)
        return self._database.read(change_log.recent_rows, limit)

    def last_changes(self) -> list[LastChange]:
        """Who changed the annotations of each item last, the latest first; not what came with the items."""
        return self._database.read(change_log.last_changes)

    def moments(self, limit: int = 200) -> list[Moment]:
        """How many annotations there were after each action, oldest first; ``limit`` of them at most."""
        _check_limit(limit)
        with self._database.reading() as connection:
            entries = self._known_entries(connection)
            tags = annotation_table.tags_of_items(entries)
            return change_log.moments(connection, limit, tags, len(entries.indices))

    def back_up(self, *, always: bool = False) -> Path | None:
        """Copy the database into the folder ``backups``, once a day where it changed; the copy, if any.

        The latest :data:`~lass.collection.backups.KEPT` stay; ``lass restore`` puts one back. A damaged
        database is a ``ValueError``, and never takes the place of an older copy.
        """
        if self.is_read_only:
            return None
        return backups.back_up(self.path / DATABASE, self.revision(), always=always)

    def check(self) -> list[str]:
        """What is wrong with the database and the arrays, in sentences; reads all of them."""
        with self._database.reading() as connection:
            found = integrity.problems(connection)
            file = self.path / "arrays" / "annotations.npz"
            kept = annotation_table.kept(connection, file) if file.is_file() else None
            if kept and not _equal(annotation_table.updated(connection, kept)[0], connection):
                found.append(f"{file} differs from the database; delete it, and it is made again")
        for name in arrays.MADE_FROM:
            try:
                arrays.load(self._file(name), verify=True)
            except ValueError as error:
                found.append(str(error))
        return found

    # ---- settings, and arrays made under them

    def change_settings(self, **changes: Any) -> Settings:
        """Replace some of the settings, on the disk and here."""
        with self._database.writing():  # so that of two programs neither overwrites what the other wrote
            try:
                settings = replace(Settings.read(self.path / SETTINGS), **changes)
            except TypeError as error:
                raise ValueError(f"settings: {error}") from None
            settings.write(self.path / SETTINGS)
        self.settings = settings
        return settings

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be changed."""
        return self._database.read_only

    @property
    def is_staged(self) -> bool:
        """Whether arrays are kept until :meth:`publish`."""
        return self._stage is not None

    @property
    def has_changed_settings(self) -> bool:
        """Whether :meth:`publish` would change settings."""
        return self._stage is not None and bool(self._stage.changes)

    def staged(self, **changes: Any) -> Self:
        """The same collection with the settings and arrays of this moment, and with changed settings.

        Its settings stay as they are whatever others do, and arrays are saved in memory, with the stamps of
        what they are computed from, until :meth:`publish`. It is not to be closed.
        """
        stage = copy.copy(self)
        before = Settings.read(self.path / SETTINGS)
        try:
            stage.settings = replace(before, **changes)
        except TypeError as error:
            raise ValueError(f"settings: {error}") from None
        changed = {key: value for key, value in changes.items() if value != getattr(before, key)}
        stage._stage = Stage(self._basis(before), changed)
        return stage

    def restaged(self) -> Self:
        """Another staged collection on the same settings and arrays, for which nothing is saved yet."""
        assert self._stage is not None
        stage = copy.copy(self)
        stage._stage = replace(self._stage, saved={})
        return stage

    @property
    def is_superseded(self) -> bool:
        """Whether a staged collection rests on settings or arrays that others have changed by now."""
        assert self._stage is not None
        return self.basis() != self._stage.basis

    def basis(self) -> Basis:
        """The settings and arrays on the disk that others are computed from; cheap."""
        return self._basis(Settings.read(self.path / SETTINGS))

    def publish(self) -> None:
        """Write what a staged collection saved, and its changed settings: all of it or nothing.

        :class:`~lass.collection.staging.Superseded` where settings or arrays that it was computed from have
        changed meanwhile, or a newer model was saved: nothing is written then.
        """
        stage = self._stage
        assert stage is not None
        if not (stage.saved or stage.changes):
            return
        self._database.check_writable()
        with ExitStack() as files:
            if stage.changes:
                current = replace(Settings.read(self.path / SETTINGS), **stage.changes)
                files.enter_context(atomic_path(self.path / SETTINGS)).write_bytes(current.to_toml().encode())
            for name, staged in stage.saved.items():
                if staged is not None:
                    file = self._file(name)
                    make_folder(file.parent)
                    draft = files.enter_context(atomic_path(file))
                    arrays.save(draft, staged.packed, staged.array.stamp)
            with self._database.writing():  # one program at a time
                self._check_current(stage)
                for name, staged in stage.saved.items():
                    if staged is None:
                        self._file(name).unlink(missing_ok=True)
                files.close()
                basis = self._basis(Settings.read(self.path / SETTINGS))
        self._stage = Stage(basis, {})

    def _check_current(self, stage: Stage) -> None:
        if self._basis(Settings.read(self.path / SETTINGS)) != stage.basis:
            raise Superseded(
                f"settings or arrays of {self.path} were changed by another program meanwhile; run it again"
            )
        for name, staged in stage.saved.items():
            if staged is None or staged.yields_to is None:
                continue
            try:
                standing = arrays.load(self._file(name))
            except ValueError:  # damaged
                continue
            if standing is not None and staged.yields_to(standing):
                raise Superseded(
                    f"a newer model of {self.path} was saved by another program meanwhile; run it again"
                )

    def _basis(self, settings: Settings) -> Basis:
        return Basis.of(settings, {name: self._stamp_on_disk(name) for name in SOURCES})

    def _stamp_on_disk(self, name: str) -> arrays.Stamp | None:
        """The stamp; None where there is no such array, or a damaged one."""
        file = self._file(name)
        try:
            found = file.stat()
        except OSError:
            return None
        state = found.st_mtime_ns, found.st_size, found.st_ino
        if self._stamps.get(name, (None,))[0] != state:
            try:
                self._stamps[name] = state, arrays.stamp_of(file)
            except ValueError:
                self._stamps[name] = state, None
        return self._stamps[name][1]

    def saved_array(self, name: str) -> arrays.SavedArray | None:
        """One of features, edges, graph, assignments and map with its stamp and extras; None if not there.

        A damaged file is a ``ValueError``; in a staged collection it is as if there was none, unless what it
        held was given and cannot be computed again.
        """
        if self._stage is not None and name in self._stage.saved:
            staged = self._stage.saved[name]
            return None if staged is None else staged.array
        try:
            return arrays.load(self._file(name))
        except ValueError as error:
            self._leave_out(name, error)
            return None

    def saved_stamp(self, name: str) -> arrays.Stamp | None:
        """The stamp of one of the arrays alone; as for :meth:`saved_array`."""
        if self._stage is not None and name in self._stage.saved:
            staged = self._stage.saved[name]
            return None if staged is None else staged.array.stamp
        try:
            return arrays.stamp_of(self._file(name))
        except ValueError as error:
            self._leave_out(name, error)
            return None

    def _leave_out(self, name: str, error: ValueError, why: str = "was damaged") -> None:
        """Take a damaged file for one that is not there, and say so, where it can be made again."""
        if self._stage is None:
            raise error
        kind, given = self.settings.features.get("kind"), self.settings.metric == "precomputed"
        options = {"features": "--vectors" if kind == "vectors" else "", "graph": "--edges" if given else ""}
        options["edges"] = "--edges"
        if option := options.get(name):
            message = f"{self._file(name)} is damaged; give it again: lass add {option}"
            raise ValueError(message) from error
        if why == "was damaged":
            warnings.warn(f"{self._file(name)} is damaged; it is made again", stacklevel=4)
        self._stage.saved[name] = None

    @property
    def features(self) -> Any:
        """The features of the items, dense or CSR, one row an item; None if not there."""
        return self._matrix("features")

    @property
    def graph(self) -> Any:
        """The weights of the edges between items, CSR; None if not there."""
        return self._matrix("graph")

    @property
    def assignments(self) -> Any:
        """The assignments, one row an item and one column a tag; None if not there.

        An array, or :class:`lass.solvers.sparse.Assignments` where all numbers did not fit into the memory.
        """
        return self._matrix("assignments")

    @property
    def map(self) -> Any:
        """A point from -1 to 1 for each item, similar ones side by side; None if not there."""
        return self._matrix("map")

    def save_features(self, X: Any, **extras: Any) -> None:
        """Keep features made under the present settings, with named arrays that belong to them."""
        self._save("features", X, 0, extras)

    def save_edges(self, W: Any) -> None:
        """Keep edges that were given beside features; the graph, which is made from both, is deleted."""
        self._save("edges", W, 0, {}, discarded="graph")

    def save_graph(self, W: Any, **extras: Any) -> None:
        """Keep a graph made from the saved features under the present settings."""
        self._save("graph", W, 0, extras)

    def save_assignments(
        self, Z: Any, number: int, yields_to: Callable[[arrays.SavedArray], bool] | None = None,
        **extras: Any,
    ) -> None:  # fmt: skip
        """Keep assignments made from the saved graph and the annotations as of change ``number``.

        Not where it ``yields_to`` those that are there by then.
        """
        self._save("assignments", Z, number, extras, yields_to=yields_to)

    def discard_assignments(self) -> None:
        """Delete the assignments, if there are any: they follow from annotations that are gone."""
        if self._stage is not None:
            self._stage.saved["assignments"] = None
            return
        self._database.check_writable()
        self._file("assignments").unlink(missing_ok=True)

    def save_map(self, points: Any, **extras: Any) -> None:
        """Keep points drawn from the saved graph."""
        self._save("map", points, 0, extras)

    def stale(self) -> dict[str, str]:
        """The arrays that must be made anew, each with the reason; empty if all are fresh.

        Nothing else is made from the map, and it may be missing: see :meth:`stale_map`.
        """
        found = self._stale()
        found.pop("map", None)
        return found

    def newer_than_suggestions(self) -> str:
        """What the saved suggestions do not include, for people; empty if they are of the present state.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import lass
        >>> texts = ["reads mail", "mail and news", "news reader", "a chess game"]
        >>> with TemporaryDirectory() as folder:
        ...     with lass.create(f"{folder}/programs", texts, tags={"0": ["mail"]}) as programs:
        ...         _ = programs.fit()
        ...         _ = programs.tag("1", "mail", "news", new=True)
        ...         programs.newer_than_suggestions()
        '2 annotations and 1 tag'
        """
        stale = self.stale()
        if not stale:
            return ""
        stamps = {}
        for name in stale:
            with suppress(ValueError):  # damaged
                stamps[name] = self.saved_stamp(name)
        newer = {}
        if (stamp := stamps.get("assignments")) is not None:
            with self._database.reading() as connection:
                newer = {
                    "annotation": change_log.count_after(connection, stamp.changes),
                    "item": item_table.count(connection) - stamp.items,
                    "tag": len(tag_table.names(connection)) - stamp.categories,
                }
        parts = [f"{n:,} {what}{'s' if n > 1 else ''}" for what, n in newer.items() if n > 0]
        settings = [
            one for name, stamp in stamps.items() if stamp is not None
            for one in arrays.changed_settings(name, stamp, self.settings)
        ]  # fmt: skip
        if settings:
            parts.append(f"the settings ({', '.join(settings)})")
        if not parts:  # damaged, or of another copy of the database
            return f"what they are computed from ({'; '.join(stale.values())})"
        return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))

    def stale_map(self) -> str | None:
        """Why the map must be drawn anew; None if it is fresh."""
        return self._stale().get("map")

    def remove_leftovers(self) -> None:
        """Delete what programs on this machine left half written when they were killed."""
        for folder in (Path(self.path), Path(self.path) / "arrays"):
            if folder.is_dir():
                remove_leftovers(folder)

    def discard_damaged(self) -> dict[str, str]:
        """Leave arrays of a staged collection out that are damaged or do not fit; each with the reason.

        Vectors or edges that were given cannot be computed again: they stay, and it is a ``ValueError``.
        """
        import scipy.sparse as sp

        from lass.solvers.assignments import is_feasible

        found = {}
        for name in arrays.MADE_FROM:
            why = "was damaged"
            try:
                if (saved := arrays.load(self._file(name), verify=True)) is None:
                    continue
                matrix = saved.matrix
                if saved.stamp.items > len(self):  # a copy with fewer items was restored
                    why = f"made for {saved.stamp.items} items, now {len(self)}"
                self._check_shape(name, matrix)
                if name == "assignments" and (sp.issparse(matrix) or not is_feasible(matrix, tol=1e-3)):
                    raise ValueError("rows are not on the simplex")
            except ValueError as error:
                self._leave_out(name, error, why)
                found[name] = f"{name}.npz {why}"
        return found

    def _stale(self) -> dict[str, str]:
        stamps, damaged = {}, []
        for name in arrays.MADE_FROM:
            try:
                stamps[name] = self.saved_stamp(name)
            except ValueError:
                stamps[name] = None
                damaged.append(name)
        if self._stage is None:
            self.settings = Settings.read(self.path / SETTINGS)
        with self._database.reading() as connection:
            items, tags = item_table.count(connection), len(tag_table.names(connection))
            last = change_log.last(connection)
            # smoothing connects tags of the same parent, and facets join them: names matter as annotations do
            named = self.settings.smoothing or self.settings.facets == "on"
            needed = last if named else change_log.last(connection, logs=["changes"])
        return arrays.stale(stamps, self.settings, items, tags, needed, last, damaged)

    def _file(self, name: str) -> Path:
        if name not in arrays.MADE_FROM:
            known = ", ".join(map(repr, arrays.MADE_FROM))
            raise ValueError(f"name must be one of {known}; found {name!r}")
        return self.path / "arrays" / f"{name}.npz"

    def _matrix(self, name: str) -> Any:
        saved = self.saved_array(name)
        return None if saved is None else saved.matrix

    def _check_shape(self, name: str, matrix: Any) -> tuple[int, ...]:
        shape: tuple[int, ...] = getattr(matrix, "shape", ())
        items = len(self)
        if len(shape) != 2 or shape[0] > items:
            raise ValueError(
                f"{name} must be a matrix with one row an item, {items} at most; found shape {shape}"
            )
        if name == "map" and shape[1] != 2:
            raise ValueError(f"a map must have two columns; found shape {shape}")
        if name in ("graph", "edges") and shape[0] != shape[1]:
            raise ValueError(f"a graph must be square, one row and column an item; found shape {shape}")
        if name == "assignments" and shape[1] > (tags := len(self.names())):
            raise ValueError(f"assignments must have one column a tag, {tags} at most; found shape {shape}")
        return shape

    def _save(
        self, name: str, matrix: Any, number: int, extras: Mapping[str, Any], *, discarded: str = "",
        yields_to: Callable[[arrays.SavedArray], bool] | None = None,
    ) -> None:  # fmt: skip
        """Stage an array; at once on the disk if this collection is not staged itself."""
        if self._stage is None:
            self._database.check_writable()
            stage = self.staged()
            stage._save(name, matrix, number, extras, discarded=discarded, yields_to=yields_to)
            stage.publish()
            self.settings = stage.settings
            return
        shape, latest = self._check_shape(name, matrix), self.revision()
        if not isinstance(number, int) or not 0 <= number <= latest:
            raise ValueError(f"number must be that of a change, {latest} at most; found {number!r}")
        source = arrays.MADE_FROM[name]
        made_from = self._stage_stamp(source) if source else None
        matrix = arrays.in_32_bits(matrix)
        packed, source_token = arrays.packed(matrix, extras), made_from.token if made_from else ""
        stamp = arrays.Stamp(
            items=shape[0],
            categories=shape[1] if name == "assignments" else 0,
            changes=number,
            settings=arrays.relevant(name, self.settings),
            source=source_token,
            token=arrays.token_of(packed, source_token),
        )
        saved = arrays.SavedArray(matrix, stamp, dict(extras))
        self._stage.saved[name] = Staged(saved, packed, yields_to)
        if discarded:
            self._stage.saved[discarded] = None

    def _stage_stamp(self, name: str) -> arrays.Stamp | None:
        staged = self._stage.saved.get(name) if self._stage else None
        return self._stamp_on_disk(name) if staged is None else staged.array.stamp


def _flagged(connection: Connection) -> list[int]:
    return [row for (row,) in connection.execute("SELECT item FROM flags ORDER BY at DESC, item")]


def _located(
    connection: Connection, annotations: Iterable[Any], action: change_log.Action, new: bool
) -> dict[tuple[int, int, int], int]:
    """Annotations by row, column and person; if ``new``, unused tags are made within the action."""
    find_tag, find_person = _tag_finder(connection, action, new), _person_finder(connection, action)
    return item_table.locate(connection, annotations, find_tag, find_person)


def _tag_finder(connection: Connection, action: change_log.Action | None, new: bool) -> Callable[[Any], int]:
    make = partial(tag_table.find_or_add, connection, action=action)
    instead = "add --new on the command line, new=True in Python"
    return make if new else partial(tag_table.find, connection, instead=instead)


def _person_finder(connection: Connection, action: change_log.Action | None) -> Callable[[str], int]:
    """The number of a person; without a name, that of who acts, or nobody's where items come."""

    def find(name: str) -> int:
        if name:
            return people_table.find_or_add(connection, check_person(name))
        return NOBODY if action is None else action.person

    return find


def _reverser(who: str | None, by: str | None) -> str:
    return by if by is not None else who if who is not None else people_table.user_name()


def _import(
    connection: Connection, annotations: Iterable[Any], action: change_log.Action | None, new: bool
) -> None:
    """Store annotations that come with items; without an action, those of a new collection.

    What its tags are called is then logged before them, as that is no change.
    """
    annotations = annotations if isinstance(annotations, Sized) else list(annotations)
    find = _tag_finder(connection, action, new), _person_finder(connection, action)
    located: Any
    if many := len(annotations) > MANY:
        located = item_table.locate_many(connection, annotations, *find)
    else:
        located = item_table.locate(connection, annotations, *find)
    if action is None:
        log_first_names(connection)
        action = change_log.Action(connection, "", change_log.IMPORT)
    if many:
        action.annotate_many(*located)
    else:
        action.annotate(located)


def _equal(entries: annotation_table.Entries, connection: Connection) -> bool:
    import numpy as np

    others = annotation_table.read(connection)
    return all(np.array_equal(entries[part], others[part]) for part in (0, 1, 2, 4))


def _checked_rows(connection: Connection, rows: Iterable[int]) -> list[int]:
    found, items = [int(row) for row in rows], item_table.count(connection)
    for row in found:
        if not 0 <= row < items:
            raise ValueError(f"rows must be from 0 to {items - 1}; found {row}")
    return found


def _check_limit(limit: int) -> None:
    if not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a whole number >= 1; found {limit!r}")


def _check_free(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"a new collection needs a new or empty folder; {path} is there and not empty")


def _to_disk(folder: Path) -> None:
    """Make sure that the names in a folder survive a loss of power, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
