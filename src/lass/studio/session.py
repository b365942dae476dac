"""The open collection: its items and annotations in memory, and every change to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from lass.collection import Item
from lass.studio.snapshot import Snapshot, SnapshotCache
from lass.tagging import Collection, LiveModel


class AppliedChange(NamedTuple):
    """A change that is on the disk: a sentence for people, and the rows it touched."""

    revision: int
    what: str
    rows: list[int]


class NotFound(LookupError):  # noqa: N818
    """A request names something that does not exist."""


class Session:
    """An open collection, shared by all requests. Changes go to the disk first, then into memory.

    Parameters
    ----------
    folder : Path
        Of a collection, or where one is to be made.
    changed : function of (who, change, whether tags changed)
        Called after each change, also those of other programs.
    """

    def __init__(self, folder: Path, changed: Callable[[str, AppliedChange, bool], None]) -> None:
        self.folder = folder
        self._changed = changed
        self._lock = threading.RLock()
        self._collection: Collection | None = None
        self.items: list[Item] = []
        self.search_texts: list[str] = []
        self.rows: dict[str, int] = {}
        self.names: list[str] = []
        self.retired: set[int] = set()
        #: by row: {column: +1 or -1}
        self.annotations: list[dict[int, int]] = []
        self.revision = 0
        self.live: LiveModel | None = None
        #: items to label next, as the trainer ranked them last; those that were tagged since are still in it
        self.queue: list[int] | None = None
        #: why an item of the queue is proposed, by row
        self.reasons: dict[int, str] = {}
        self._snapshots = SnapshotCache()
        if (folder / "collection.toml").is_file():
            self.open()

    @property
    def collection(self) -> Collection:
        """The collection; ``NotFound`` while there is none."""
        if self._collection is None:
            raise NotFound("There is no collection here yet; import a table of items first.")
        return self._collection

    @property
    def snapshot(self) -> Snapshot | None:
        """The predictions of the model as it is now; None while there is none."""
        return self._snapshots.get(self.live)

    @property
    def is_empty(self) -> bool:
        """Whether there is no collection yet."""
        return self._collection is None

    def open(self) -> None:
        """Read the collection from the disk, for the first time or again."""
        with self._lock:
            if self._collection is None:
                self._collection = Collection.open(self.folder)
            collection = self._collection
            items = collection.get_items()
            stored = collection.annotation_matrix()
            annotations: list[dict[int, int]] = [{} for _ in stored.ids]
            found = stored.G.tocoo()
            for row, column, value in zip(*(axis.tolist() for axis in found.coords), found.data, strict=True):
                annotations[row][column] = int(value)
            self.items, self.annotations, self.names = items[: len(annotations)], annotations, stored.names
            self.search_texts = [f"{item.title}\n{item.id}\n{item.text}".lower() for item in self.items]
            self.rows = {item.id: row for row, item in enumerate(self.items)}
            self.retired = set(collection.retired())
            self.revision = stored.number

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            if self._collection is not None:
                self._collection.close()

    def row(self, row: int) -> Item:
        """An item; ``NotFound`` where there is none."""
        if not 0 <= row < len(self.items):
            raise NotFound(f"There is no item {row}; there are {len(self.items)}.")
        return self.items[row]

    def tag(self, tag: int) -> str:
        """The name of a tag; ``NotFound`` where there is none."""
        if not 0 <= tag < len(self.names):
            raise NotFound(f"There is no tag {tag}; there are {len(self.names)}.")
        return self.names[tag]

    def annotate(self, changes: Iterable[tuple[int, int, int]], who: str) -> AppliedChange:
        """Store annotations (row, tag, value) as one action."""
        named = [(self.row(row).id, self.tag(tag), value) for row, tag, value in changes]
        what = _sentence(named)
        return self._do(lambda collection: collection.annotate_all(named, who=who), what, who)

    def tag_items(self, rows: Iterable[int], name: str, who: str) -> AppliedChange:
        """Give a tag, which may be a new one, to items as one action; items annotated with it keep that."""
        column = self.names.index(name) if name in self.names else -1
        items = {row: self.row(row) for row in rows}
        named = [(item.id, name, 1) for row, item in items.items() if column not in self.annotations[row]]
        what = _sentence(named) if named else f"All of them are annotated with {name} already"
        return self._do(lambda collection: collection.annotate_all(named, who=who, new=True), what, who)

    def undo(self, who: str) -> AppliedChange:
        """Reverse the last action of a person."""
        return self._reverse(lambda collection: collection.undo(who), "Undid", who)

    def redo(self, who: str) -> AppliedChange:
        """Reverse the last undo of a person."""
        return self._reverse(lambda collection: collection.redo(who), "Did again", who)

    def add_tag(self, name: str, who: str) -> tuple[int, AppliedChange]:
        """Make a tag; its column."""
        made: list[int] = []
        done = self._do(
            lambda collection: made.append(collection.add_tag(name, who=who)), f"New tag {name}", who
        )
        return made[0], done

    def rename_tag(self, tag: int, name: str, who: str) -> AppliedChange:
        """Give a tag another name."""
        before = self.tag(tag)
        return self._do(
            lambda collection: collection.rename_tag(before, name, who=who), f"{before} is now {name}", who
        )

    def merge_tags(self, tag: int, into: int, who: str) -> AppliedChange:
        """Move all annotations of a tag to another, and retire it."""
        before, after = self.tag(tag), self.tag(into)
        what = f"{before} merged into {after}"
        return self._do(lambda collection: collection.merge_tags(before, after, who=who), what, who)

    def catch_up(self) -> None:
        """Read what other programs changed."""
        if self._collection is None or self._collection.revision() == self.revision:
            return
        with self._lock:
            self._refresh("", "Changed by another program")

    def _reverse(self, act: Callable[[Collection], object], verb: str, who: str) -> AppliedChange:
        with self._lock:
            before, former = self.revision, list(self.annotations)
            done = self._do(act, "", who, quiet=True)
            if done.revision == before:
                what = "Nothing to undo" if verb == "Undid" else "Nothing to do again"
                return AppliedChange(before, what, [])
            now, then = (former, self.annotations) if verb == "Undid" else (self.annotations, former)
            found = [
                (self.items[row].id, self.names[tag], now[row].get(tag, 0))
                for row in done.rows
                for tag in now[row].keys() | then[row].keys()
                if now[row].get(tag, 0) != then[row].get(tag, 0)
            ]
            what = f"{verb}: {_sentence(found)}" if found else f"{verb} a change of tags"
            return self._announce(who, AppliedChange(done.revision, what, done.rows), not found)

    def _do(
        self, act: Callable[[Collection], object], what: str, who: str, *, quiet: bool = False
    ) -> AppliedChange:
        with self._lock:
            collection = self.collection
            if collection.revision() != self.revision:
                self._refresh("", "Changed by another program")
            act(collection)
            return self._refresh(who, what, quiet=quiet)

    def _refresh(self, who: str, what: str, *, quiet: bool = False) -> AppliedChange:
        """Bring memory up to the disk, and announce what changed."""
        collection = self.collection
        revision = collection.revision()
        rows, tags = collection.changed_since(self.revision)
        if len(collection) != len(self.items):
            self.open()
            tags = True
        else:
            if tags or len(collection.names()) != len(self.names):
                tags = True
                self.names, self.retired = collection.names(), set(collection.retired())
            columns = {name: column for column, name in enumerate(self.names)}
            for row in rows:
                stored = collection.annotations_of(self.items[row].id)
                self.annotations[row] = {columns[name]: value for name, value in stored.items()}
            self.revision = revision
        done = AppliedChange(self.revision, what, rows)
        return done if quiet else self._announce(who, done, tags)

    def _announce(self, who: str, done: AppliedChange, tags: bool) -> AppliedChange:
        self._changed(who, done, tags)
        return done


def _sentence(changes: list[tuple[str, str, int]]) -> str:
    """A short description of changed annotations, for people."""
    signs = {1: "+", -1: "\N{MINUS SIGN}", 0: "withdrew "}
    if len(changes) == 1:
        item, tag, value = changes[0]
        return f"{signs[value]}{tag} on {item}"
    tags, items = {(tag, value) for _, tag, value in changes}, {item for item, _, _ in changes}
    if len(tags) == 1:
        tag, value = next(iter(tags))
        return f"{signs[value]}{tag} on {len(items):,} items"
    where = next(iter(items)) if len(items) == 1 else f"{len(items):,} items"
    return f"{len(changes):,} annotations on {where}"
