"""The collection that is open: its items in memory, what is said of them, and every change to that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from lass.collection import Collection, Item
from lass.studio.snapshot import Lookout, Outlook
from lass.tagging import Live


class Done(NamedTuple):
    """A change that is on the disk: what it was, in words, and the rows it touched."""

    revision: int
    what: str
    rows: list[int]


class Missing(LookupError):  # noqa: N818
    """Something was asked for that is not there."""


class Desk:
    """What all requests share. Changes go to the disk first, then into memory.

    Parameters
    ----------
    folder : Path
        Of a collection, or where one is to be made.
    changed : function of (who, done, whether tags changed)
        Called after each change, also those of other programs.
    """

    def __init__(self, folder: Path, changed: Callable[[str, Done, bool], None]) -> None:
        self.folder = folder
        self._changed = changed
        self._lock = threading.RLock()
        self._collection: Collection | None = None
        self.items: list[Item] = []
        self.searched: list[str] = []
        self.places: dict[str, int] = {}
        self.names: list[str] = []
        self.retired: set[int] = set()
        #: what is said, by row: {column: +1 or -1}
        self.said: list[dict[int, int]] = []
        self.revision = 0
        self.live: Live | None = None
        #: items to ask about next, as far as the learner came; those that were tagged since are still in it
        self.queue: list[int] | None = None
        self._lookout = Lookout()
        if (folder / "collection.toml").is_file():
            self.open()

    @property
    def collection(self) -> Collection:
        """The collection; ``Missing`` while there is none."""
        if self._collection is None:
            raise Missing("There is no collection here yet; import a table of items first.")
        return self._collection

    @property
    def outlook(self) -> Outlook | None:
        """What the model thinks now; None while there is none."""
        return self._lookout.outlook(self.live)

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
            items = collection.items()
            words = collection.annotations()
            said: list[dict[int, int]] = [{} for _ in words.ids]
            found = words.G.tocoo()
            for row, column, value in zip(*(axis.tolist() for axis in found.coords), found.data, strict=True):
                said[row][column] = int(value)
            self.items, self.said, self.names = items[: len(said)], said, words.names
            self.searched = [f"{item.title}\n{item.id}\n{item.text}".lower() for item in self.items]
            self.places = {item.id: row for row, item in enumerate(self.items)}
            self.retired = set(collection.retired())
            self.revision = words.number

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            if self._collection is not None:
                self._collection.close()

    def row(self, row: int) -> Item:
        """An item, which must be there."""
        if not 0 <= row < len(self.items):
            raise Missing(f"There is no item {row}; there are {len(self.items)}.")
        return self.items[row]

    def tag(self, tag: int) -> str:
        """The name of a tag, which must be there."""
        if not 0 <= tag < len(self.names):
            raise Missing(f"There is no tag {tag}; there are {len(self.names)}.")
        return self.names[tag]

    def say(self, words: Iterable[tuple[int, int, int]], who: str) -> Done:
        """Say words (row, tag, value) as one action."""
        named = [(self.row(row).id, self.tag(tag), value) for row, tag, value in words]
        what = _sentence(named)
        return self._do(lambda collection: collection.annotate_all(named, who=who), what, who)

    def undo(self, who: str) -> Done:
        """Reverse the last action of a person."""
        return self._reverse(lambda collection: collection.undo(who), "Undid", who)

    def redo(self, who: str) -> Done:
        """Reverse the last undo of a person."""
        return self._reverse(lambda collection: collection.redo(who), "Did again", who)

    def add_tag(self, name: str, who: str) -> tuple[int, Done]:
        """Make a tag; its column."""
        made: list[int] = []
        done = self._do(
            lambda collection: made.append(collection.add_tag(name, who=who)), f"New tag {name}", who
        )
        return made[0], done

    def rename_tag(self, tag: int, name: str, who: str) -> Done:
        """Give a tag another name."""
        before = self.tag(tag)
        return self._do(
            lambda collection: collection.rename_tag(before, name, who=who), f"{before} is now {name}", who
        )

    def merge_tags(self, tag: int, into: int, who: str) -> Done:
        """Move all words on a tag to another, and retire it."""
        before, after = self.tag(tag), self.tag(into)
        what = f"{before} merged into {after}"
        return self._do(lambda collection: collection.merge_tags(before, after, who=who), what, who)

    def catch_up(self) -> None:
        """Take in what other programs changed."""
        if self._collection is None or self._collection.revision() == self.revision:
            return
        with self._lock:
            self._take_in("", "Changed by another program")

    def _reverse(self, act: Callable[[Collection], object], verb: str, who: str) -> Done:
        with self._lock:
            before, said = self.revision, list(self.said)
            done = self._do(act, "", who, quiet=True)
            if done.revision == before:
                return Done(before, "Nothing to undo" if verb == "Undid" else "Nothing to do again", [])
            now, then = (self.said, said) if verb == "Did again" else (said, self.said)
            found = [
                (self.items[row].id, self.names[tag], now[row].get(tag, 0))
                for row in done.rows
                for tag in now[row].keys() | then[row].keys()
                if now[row].get(tag, 0) != then[row].get(tag, 0)
            ]
            what = f"{verb}: {_sentence(found)}" if found else f"{verb} a change of tags"
            return self._announce(who, Done(done.revision, what, done.rows), not found)

    def _do(self, act: Callable[[Collection], object], what: str, who: str, *, quiet: bool = False) -> Done:
        with self._lock:
            collection = self.collection
            if collection.revision() != self.revision:
                self._take_in("", "Changed by another program")
            act(collection)
            return self._take_in(who, what, quiet=quiet)

    def _take_in(self, who: str, what: str, *, quiet: bool = False) -> Done:
        """Bring memory up to the disk, and tell everybody."""
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
                words = collection.annotations_of(self.items[row].id)
                self.said[row] = {columns[name]: value for name, value in words.items()}
            self.revision = revision
        done = Done(self.revision, what, rows)
        return done if quiet else self._announce(who, done, tags)

    def _announce(self, who: str, done: Done, tags: bool) -> Done:
        self._changed(who, done, tags)
        return done


def _sentence(words: list[tuple[str, str, int]]) -> str:
    """Words in a few words."""
    signs = {1: "+", -1: "\N{MINUS SIGN}", 0: "no word on "}
    if len(words) == 1:
        item, tag, value = words[0]
        return f"{signs[value]}{tag} on {item}"
    tags, items = {(tag, value) for _, tag, value in words}, {item for item, _, _ in words}
    if len(tags) == 1:
        tag, value = next(iter(tags))
        return f"{signs[value]}{tag} on {len(items):,} items"
    return f"{len(words):,} words on " + (next(iter(items)) if len(items) == 1 else f"{len(items):,} items")
