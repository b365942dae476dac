"""A collection: a folder with settings, what people said, and arrays made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from lass.collection import log, store, tags
from lass.collection.creation import SETTINGS, build
from lass.collection.records import Item
from lass.collection.settings import Settings
from lass.collection.shelf import Shelf


class CollectionStore(Shelf):
    """Items and what people say of them, in a folder that several programs may have open at once.

    Made by :meth:`create` or :meth:`open`. Every method that changes something returns
    after the change is on the disk; nothing that was said is ever deleted.

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

    @classmethod
    def open(cls, path: str | Path) -> CollectionStore:
        """The collection in a folder, brought to the present format if it is older."""
        return cls(path)

    @classmethod
    def create(
        cls,
        path: str | Path,
        items: Iterable[Item],
        categories: Iterable[str] = (),
        annotations: Iterable[tuple[str, str, float]] = (),
        *,
        settings: Settings | None = None,
        features: Any = None,
        graph: Any = None,
    ) -> CollectionStore:
        """Make a new folder, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Where nothing is yet, or an empty folder.
        items : iterable of Item
        categories : iterable of str
            All tags; by default those of the words, in the order in which they come.
        words : iterable of (id, tag, value)
            What is known from the start; it cannot be undone.
        settings : Settings, optional
        features, graph : matrices, optional
            Given ones, which nothing on the disk says how to make again.
        """

        def finish(draft: Path) -> None:
            with cls(draft) as collection:
                if features is not None:
                    collection.save_features(features)
                if graph is not None:
                    collection.save_graph(graph)

        build(Path(path), items, categories, annotations, Settings() if settings is None else settings, finish)
        return cls(path)

    def annotate(
        self, item: str, words: Mapping[str, float], *, who: str = "", new: bool = False
    ) -> list[int]:
        """Say of an item that it is about some tags (+1) and not about others (-1); 0 withdraws.

        Returns the numbers of the changes, which are on the disk by then. Tags that are not
        there yet are made if ``new``, and retired ones brought back; an undo retires them again.
        """
        if not isinstance(words, Mapping):
            raise ValueError(f"words must be a mapping from tags to +1 or -1; found {words!r}")
        return self.annotate_all(((item, tag, value) for tag, value in words.items()), who=who, new=new)

    def annotate_all(
        self, words: Iterable[tuple[str, str, float]], *, who: str = "", new: bool = False
    ) -> list[int]:
        """Say several words (id, tag, value) on any items as one action, which is undone as one."""
        words = list(words)
        with self._database.writing() as connection:
            action = log.Action(connection, who)
            return action.say(_placed(connection, words, action, new))

    def withdraw(self, item: str, tag: str, *, who: str = "") -> list[int]:
        """Take back what is said of an item and a tag."""
        return self.annotate(item, {tag: 0}, who=who)

    def add_tag(self, name: str, *, who: str = "") -> int:
        """Make a tag that no item has yet; its column.

        The name of a retired tag brings that one back, in its old column.
        """
        with self._database.writing() as connection:
            return tags.add(connection, name, log.Action(connection, who))

    def rename_tag(self, tag: str, name: str, *, who: str = "") -> list[int]:
        """Call a tag by a name that no other tag in use has; the number of the change."""
        with self._database.writing() as connection:
            return tags.rename(connection, tag, name, log.Action(connection, who))

    def merge_tags(self, tag: str, into: str, *, who: str = "") -> list[int]:
        """Move what is said with a tag to another, and retire it; the numbers of the changes.

        Where something is said with the other already, that stays.
        """
        with self._database.writing() as connection:
            return tags.merge(connection, tag, into, log.Action(connection, who))

    def undo(self, who: str | None = None) -> list[int]:
        """Reverse the last action that was not reversed yet; the numbers of the changes, if any.

        With ``who``, the last action of that person: words of others that came later stay, and so
        does a tag that others said something with. Where somebody else took the name of a tag that
        would come back, or retired one that words would come back on, a ``ValueError`` tells so
        and nothing changes.
        """
        with self._database.writing() as connection:
            return log.undo(connection, who)

    def redo(self, who: str | None = None) -> list[int]:
        """Reverse the last undo, unless something new was said since; the numbers of the changes, if any."""
        with self._database.writing() as connection:
            return log.redo(connection, who)

    def add_items(
        self,
        items: Iterable[Item],
        annotations: Iterable[tuple[str, str, float]] = (),
        *,
        who: str = "",
        new: bool = False,
    ) -> int:
        """Put items behind those that are there, with words on them or others; how many there are then."""
        items, words = list(items), list(annotations)
        with self._database.writing() as connection:
            count = store.add_items(connection, items)
            action = log.Action(connection, who, log.IMPORT)
            action.say(_placed(connection, words, action, new))
        return count

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


def _placed(
    connection: Connection, words: Iterable[tuple[str, str, float]], action: log.Action, new: bool
) -> dict[tuple[int, int], int]:
    """Words by row and column; tags that are not in use are made as a part of the action, if ``new``."""
    make = partial(tags.find_or_add, connection, action=action)
    return store.placed(connection, words, make if new else partial(tags.find, connection))
