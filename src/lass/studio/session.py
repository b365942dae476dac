"""The open collection: its annotations in memory, its items by row, and every change to them."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.collection import Change, Item, LastChange
from lass.collection.backups import quick_check
from lass.collection.database import Moved
from lass.collection.records import News
from lass.collection.search import MIN_INDEXED, Found, near_terms, parts_of, with_near
from lass.collection.store import DATABASE, SETTINGS
from lass.studio.annotations import Annotations
from lass.studio.items import Items
from lass.studio.snapshot import Snapshot, SnapshotCache
from lass.tagging import Collection, LiveModel
from lass.tagging.reasons import named

logger = logging.getLogger(__name__)

#: rows from which on all annotations are read again rather than row by row
MANY_ROWS = 50_000
#: seconds after the opening until texts are indexed for the search, so that the first view comes first
INDEX_AFTER = 5.0
#: seconds after the opening until the database is checked and copied
CARE_AFTER = 2.0
#: spellings of what is looked for that are looked up in names of tags at most
MANY_SPELLINGS = 100
#: what a change of another program is announced as
OTHERS = "Changed by another program"
#: what is announced when the folder is there again
BACK, REPLACED = "The folder is there again", "The collection was replaced; this is what it holds now"


class AppliedChange(NamedTuple):
    """A change that is on the disk: a sentence for people, and the rows it touched."""

    revision: int
    what: str
    rows: list[int]
    #: whether there are more items than before
    items: bool = False
    #: the number of its first change of annotations, by which its action is undone; 0 where there is none
    change: int = 0


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
        self.items = Items()
        self.names: list[str] = []
        self.retired: set[int] = set()
        #: other names of tags, by column
        self.synonyms: dict[int, list[str]] = {}
        #: by row: {column: +1 or -1}
        self.annotations = Annotations()
        #: rows of flagged items, the latest flag first
        self.flagged: dict[int, None] = {}
        #: by row: tags on which people differ
        self.disputed: dict[int, frozenset[int]] = {}
        self.revision = 0
        self.live: LiveModel | None = None
        #: items to label next, as the trainer ranked them last; those that were tagged since are still in it
        self.queue: list[int] | None = None
        #: why an item of the queue is proposed, by row
        self.reasons: dict[int, str] = {}
        self._snapshots = SnapshotCache()
        self._by_name = np.zeros(0, np.int64)
        #: as of a change of the log
        self._last_changes: tuple[int, list[LastChange]] = -1, []
        #: annotations before the last change, of the rows that it changed at least
        self._former: Mapping[int, dict[int, int]] | Annotations = {}
        #: what is wrong with the database, once that is known
        self.damage = ""
        #: that the folder was moved or deleted, until it is there again; and how often it came back
        self.away, self.returns = "", 0
        #: the files as they were at the last look, while it is away
        self._seen: tuple[object, ...] = ()
        self._people: list[str] = []
        self._closing = threading.Event()
        self._indexing: threading.Thread | None = None
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
    def notice(self) -> str:
        """What people must know of the files, in a sentence: that they are read-only, or damaged."""
        if self._collection is not None and self._collection.is_read_only:
            why = self._collection.why_read_only
            return f"This collection is open read-only ({why}): nothing can be stored."
        return self.away or self.damage

    def people(self) -> list[str]:
        """Who has annotated, in the order in which they began; those of before while the folder is away."""
        if self._collection is not None and not self.away:
            with suppress(Moved):
                self._people = self._collection.people()
        return self._people

    @property
    def is_empty(self) -> bool:
        """Whether there is no collection yet."""
        return self._collection is None

    def open(self) -> None:
        """Read the collection from the disk, for the first time or again."""
        with self._lock:
            if self._collection is None:
                self._collection = Collection.open_readable(self.folder)
            self._read(self._collection)
            idle = self._indexing is None or not self._indexing.is_alive()
            if idle:
                self._indexing = threading.Thread(target=self._care, name="care of the files", daemon=True)
                self._indexing.start()

    def _read(self, collection: Collection) -> None:
        entries, names = collection.annotation_entries(), collection.names()
        self.annotations = Annotations(entries, len(names))
        self.items = Items(collection, range(len(self.annotations)))
        self._by_name = np.zeros(0, np.int64)
        self.names, self.retired, self.synonyms = names, set(collection.retired()), collection.synonyms()
        self.flagged = dict.fromkeys(collection.flagged_rows())
        self.disputed = collection.disputed()
        self.revision = entries.number

    def _care(self) -> None:
        """Look for damage, make the copy of the day, and index the texts of a large collection."""
        if self._closing.wait(CARE_AFTER):
            return
        path = self.folder / DATABASE
        if not path.is_file():
            return  # the trainer will find that it is gone
        try:
            if not self.collection.is_read_only and (problems := quick_check(path)):
                raise ValueError(f"{path} is damaged ({problems[0]})")
            self.collection.back_up()
        except ValueError as error:
            self.damage = f"{error}. Close the Studio, and run lass check {self.folder}."
            self._changed("", AppliedChange(self.revision, self.damage, [], items=True), True)
        except OSError as error:  # no room for a copy
            logger.warning("%s", error)
        if len(self.items) >= MIN_INDEXED:
            self._index_texts()

    def _index_texts(self) -> None:
        """Index the texts of a large collection, half of the time at most."""

        def proceed(seconds: float) -> bool:
            time.sleep(min(seconds, 1.0))
            return not self._closing.is_set()

        if not self._closing.wait(INDEX_AFTER - CARE_AFTER):
            with suppress(ValueError, OSError):  # the search goes through all items then
                self.collection.index_texts(proceed)

    def close(self) -> None:
        """Close the files."""
        self._closing.set()
        if self._indexing is not None:
            self._indexing.join(timeout=5.0)
        with self._lock:
            if self._collection is not None:
                self._collection.close()

    def row(self, row: int) -> Item:
        """An item; ``NotFound`` where there is none."""
        self.check_rows([row])
        return self.items[row]

    def names_of_rows(self, rows: Sequence[int]) -> list[str]:
        """What to call some items in a sentence."""
        return [named(item) for item in self.rows(rows)]

    def rows(self, rows: Sequence[int]) -> list[Item]:
        """Some items, read together; ``NotFound`` where one does not exist."""
        self.check_rows(rows)
        return self.items.several(rows)

    def check_rows(self, rows: Iterable[int]) -> None:
        """``NotFound`` where one of the items does not exist."""
        for row in rows:
            if not 0 <= row < len(self.items):
                raise NotFound(f"There is no item {row}; there are {len(self.items)}.")

    def search(self, text: str) -> Found:
        """The items found by a text, see :meth:`lass.collection.CollectionStore.search`."""
        found = self.collection.search(text)
        return found._replace(ranks=found.ranks[: len(self.items)])

    def tags_named(self, text: str) -> list[int]:
        """Tags in use with a text in their name or a synonym, from the beginning of a word."""
        pattern = re.compile(rf"(?:^|[\s:_\-/.]){re.escape(' '.join(text.lower().split()))}")
        return [
            tag for tag, names in self._tag_names().items()
            if any(pattern.search(name.lower()) for name in names)
        ]  # fmt: skip

    def _tag_names(self) -> dict[int, tuple[str, ...]]:
        """The name and the synonyms of each tag in use."""
        return {
            tag: (name, *self.synonyms.get(tag, ()))
            for tag, name in enumerate(self.names) if tag not in self.retired
        }  # fmt: skip

    def tags_nearly_named(self, text: str) -> dict[str, list[int]]:
        """Tags in use with a near word in their name or a synonym, by what they have."""
        texts = list(chain.from_iterable(self._tag_names().values()))
        alternatives = with_near(text, lambda term: near_terms(term, texts))
        given = parts_of(text)
        meant = (one for one in islice(product(*alternatives), MANY_SPELLINGS) if one != given)
        return {" ".join(one): tags for one in meant if (tags := self.tags_named(" ".join(one)))}

    def by_name(self) -> NDArray[np.int64]:
        """(items,) the place of each item in the order of their names."""
        if len(self._by_name) != len(self.items):
            order = np.array(self.collection.rows_by_name(), np.int64)
            places = np.empty(len(order), np.int64)
            places[order] = np.arange(len(order))
            self._by_name = places[: len(self.items)]
        return self._by_name

    def last_changes(self) -> list[LastChange]:
        """Who changed the annotations of each item last, the latest first."""
        known, found = self._last_changes
        if known != self.revision:
            known = self.revision
            found = [change for change in self.collection.last_changes() if change.row < len(self.items)]
            self._last_changes = known, found
        return found

    def recently_changed(self, limit: int) -> list[int]:
        """Items that the last changes were about, the latest first."""
        found = self.collection.recently_changed(limit)
        return [row for row in found if row < len(self.items)]

    def rows_of(self, changes: Iterable[Change]) -> dict[str, int]:
        """The rows of the items that some changes were about, by id."""
        found = self.collection.rows_of({change.item for change in changes})
        return {item: row for item, row in found.items() if row < len(self.items)}

    def tag(self, tag: int) -> str:
        """The name of a tag; ``NotFound`` where there is none."""
        if not 0 <= tag < len(self.names):
            raise NotFound(f"There is no tag {tag}; there are {len(self.names)}.")
        return self.names[tag]

    def annotate(self, changes: Iterable[tuple[int, int, int]], who: str) -> AppliedChange:
        """Store annotations (row, tag, value) as one action."""
        changes = list(changes)
        self.check_rows(row for row, _, _ in changes)
        with self._noticing():
            ids = self.collection.ids_of([row for row, _, _ in changes])
        named = [(item, self.tag(tag), value) for item, (_, tag, value) in zip(ids, changes, strict=True)]
        what = _sentence(named)
        numbers: list[int] = []
        done = self._do(lambda collection: numbers.extend(collection.annotate_all(named, who=who)), what, who)
        stays = self._not_withdrawn(changes)
        return done._replace(what=stays or what, change=numbers[0] if numbers else 0)

    def _not_withdrawn(self, changes: list[tuple[int, int, int]]) -> str:
        """What to tell somebody who withdrew an annotation that others made: it stays."""
        withdrawn = {(row, tag) for row, tag, value in changes if not value}
        kept = sorted((row, tag) for row, tag in withdrawn if tag in self.annotations[row])
        if not kept:
            return ""
        (row, tag), names = kept[0], self.names
        people = self.collection.annotations_by_person([row])[row].get(tag, {})
        more = f" (and {len(kept) - 1:,} more)" if len(kept) > 1 else ""
        who = " and ".join(sorted(people)) or "others"
        return f"{names[tag]} stays{more}: {who} stated it. Say no to it if you disagree"

    def tag_items(self, rows: Iterable[int], name: str, who: str) -> AppliedChange:
        """Give a tag, which may be a new one, to items as one action; items annotated with it keep that."""
        column = self.names.index(name) if name in self.names else -1
        rows = list(dict.fromkeys(rows))
        self.check_rows(rows)
        without = [row for row in rows if column not in self.annotations[row]]
        with self._noticing():
            named = [(item, name, 1) for item in self.collection.ids_of(without)]
        what = _sentence(named) if named else f"All of them are annotated with {name} already"
        return self._do(lambda collection: collection.annotate_all(named, who=who, new=True), what, who)

    def flag(self, row: int, flagged: bool, who: str) -> None:
        """Mark an item to come back to, or take the mark away."""
        item = self.row(row).id
        with self._lock, self._noticing():
            self.collection.flag(item, flagged, who=who)
            others = {other: None for other in self.flagged if other != row}
            self.flagged = {row: None, **others} if flagged else others

    def undo(self, who: str, change: int | None = None) -> AppliedChange:
        """Reverse the last action of a person, or that of one change."""
        return self._reverse(lambda collection: collection.undo(who, change=change), "Undid", who)

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

    def delete_tag(self, tag: int, who: str) -> AppliedChange:
        """Withdraw all annotations of a tag, and retire it."""
        name = self.tag(tag)
        return self._do(lambda collection: collection.delete_tag(name, who=who), f"Tag {name} deleted", who)

    def catch_up(self) -> None:
        """Read what other programs changed."""
        if self._collection is None:
            return
        with self._lock:
            try:
                news = self._collection.news(self.revision, MANY_ROWS)
            except Moved:
                self._follow()
                return
            if self.away:  # it is the same as before: nothing was stored meanwhile
                self._return(BACK)
            if (news.number, news.items) != (self.revision, len(self.items)):
                self._take(news, "", OTHERS)
            elif news.flagged != list(self.flagged):
                self.flagged = dict.fromkeys(news.flagged)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Whatever the trainer is busy with, people see at once why a change is refused."""
        try:
            yield
        except Moved:
            with self._lock:
                self._follow()
            raise

    def _follow(self) -> None:
        """The files were moved, deleted or replaced: open what is there now, or say that nothing is."""
        name = self.folder.resolve().name  # where it lies is nothing for other people
        before, self._seen = self._seen, _state_of_files(self.folder)
        why = f"There is no collection in {name} any more: it was moved or deleted; move it back"
        if None not in self._seen:
            why = f"The collection in {name} was replaced and is being read"
            if self._seen == before and (problems := quick_check(self.folder / DATABASE)):
                why = f"What is in {name} now is damaged ({problems[0]})"
            elif self._seen == before:  # nobody is still copying it
                try:
                    found = Collection.open_readable(self.folder)
                    if found.settings.created == self.collection.settings.created:
                        self._replace(found)
                        return
                    found.close()  # pages of the former one would tag its rows
                    why = f"Another collection is in {name} now; to open that, start the Studio again"
                except (ValueError, OSError) as error:
                    why = f"What is in {name} now cannot be opened ({error})"
        away = f"{why}. Nothing can be stored; the Studio goes on when the collection is there again."
        if away != self.away:
            self.away = away
            self._announce("", AppliedChange(self.revision, away, [], items=True), True)

    def _replace(self, found: Collection) -> None:
        """Go on with another collection in the same folder, such as one that lass restore put there."""
        try:
            self._read(found)
        except BaseException:
            found.close()
            raise
        former, self._collection = self._collection, found
        self.live, self.queue, self.reasons, self._last_changes = None, None, {}, (-1, [])
        self._former, self.damage = self.annotations, ""
        if former is not None:
            former.close()
        self._return(REPLACED)
        self.open()

    def _return(self, what: str) -> None:
        self.away, self._seen = "", ()
        self.returns += 1
        self._announce("", AppliedChange(self.revision, what, [], items=True), True)

    def _reverse(self, act: Callable[[Collection], list[int]], verb: str, who: str) -> AppliedChange:
        with self._lock:
            before, items = self.revision, len(self.items)
            names, retired = list(self.names), set(self.retired)
            numbers: list[int] = []
            done = self._do(lambda collection: numbers.extend(act(collection)), "", who, quiet=True)
            if done.revision == before:
                what = "Nothing to undo" if verb == "Undid" else "Nothing to do again"
                return AppliedChange(before, what, [])
            # what a person stated, which what others stated may hide
            stated = self.collection.reversed_values(numbers)
            found = []
            for row in (row for row in done.rows if row < items):
                now, then = self._former[row], self.annotations[row]
                if verb != "Undid":
                    now, then = then, now
                found += [
                    (row, self._own_name(tag), stated.get((row, tag), now.get(tag, 0)))
                    for tag in now.keys() | then.keys()
                    if now.get(tag, 0) != then.get(tag, 0)
                ]
            ids = self.collection.ids_of({row for row, _, _ in found[:1]})
            named = [(ids[0], tag, value) for _, tag, value in found] if len(done.rows) == 1 else found
            of_tags = self._of_tags(names, retired, {tag for _, tag, _ in found}, verb == "Undid")
            what = f"{verb}: {', '.join([*of_tags, *([_sentence(named)] if found else [])])}"
            if done.rows and not found and not of_tags:
                what = f"{verb} your annotation; what others stated counts as before"
            return self._announce(who, AppliedChange(done.revision, what, done.rows), not done.rows)

    def _own_name(self, tag: int) -> str:
        """The name of a tag as people know it, retired or not."""
        return self.names[tag].removesuffix(f" (retired {tag})")

    def _of_tags(self, names: list[str], retired: set[int], annotated: set[str], undone: bool) -> list[str]:
        """What an action did to tags, which was just undone, or done again, by what they were before."""
        back, gone = retired - self.retired, self.retired - retired
        removed, made = (back, gone) if undone else (gone, back)
        # a retired tag has another name, so that its own is free
        own = {tag: (self.names if tag in back else names)[tag] for tag in removed | made}
        found = []
        for tag, (old, new) in enumerate(zip(names, self.names, strict=False)):
            if old != new and tag not in own:
                found.append(f"{new} renamed to {old}" if undone else f"{old} renamed to {new}")
        for tag in sorted(removed):
            others = annotated - {names[tag], self.names[tag]}
            into = f"merged into {min(others)}" if len(others) == 1 else "removed"
            found.append(f"{own[tag]} {into}")
        return found + [f"new tag {own[tag]}" for tag in sorted(made)]

    def _do(
        self, act: Callable[[Collection], object], what: str, who: str, *, quiet: bool = False
    ) -> AppliedChange:
        with self._lock:
            collection = self.collection
            with self._noticing():
                news = collection.news(self.revision, MANY_ROWS)
            if (news.number, news.items) != (self.revision, len(self.items)):
                self._take(news, "", OTHERS)
            act(collection)
            return self._take(collection.news(self.revision, MANY_ROWS), who, what, quiet=quiet)

    def _take(self, news: News, who: str, what: str, *, quiet: bool = False) -> AppliedChange:
        """Bring memory up to the disk, and announce what changed."""
        collection, tags, items = self.collection, news.names is not None, news.items != len(self.items)
        if items:
            self._former = self.annotations
            self.open()
            tags = True
        elif news.annotations is None:
            self._former = self.annotations
            self._read(collection)
        else:
            if news.names is not None:
                self.names, self.retired, self.synonyms = news.names, news.retired, news.synonyms
            self._former = self.annotations.update(news.annotations, len(self.names))
            self.flagged = dict.fromkeys(news.flagged)
            others = {row: tags for row, tags in self.disputed.items() if row not in news.annotations}
            self.disputed = others | news.disputed
            self.revision = news.number
        done = AppliedChange(self.revision, what, news.rows, items)
        return done if quiet else self._announce(who, done, tags)

    def _announce(self, who: str, done: AppliedChange, tags: bool) -> AppliedChange:
        self._changed(who, done, tags)
        return done


def _state_of_files(folder: Path) -> tuple[object, ...]:
    """What tells the files of a collection from others, and from themselves while they are being written."""

    def state(name: str) -> tuple[int, ...] | None:
        try:
            found = (folder / name).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    return state(SETTINGS), state(DATABASE)


def _sentence(changes: Sequence[tuple[Hashable, str, int]]) -> str:
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
