"""The arrays of a collection, kept with what they were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lass.collection import arrays, log, store, tags
from lass.collection.creation import SETTINGS
from lass.collection.folder import Folder
from lass.collection.freshness import CHAIN, reasons, relevant
from lass.collection.settings import Settings

ARRAYS = "arrays"


class Shelf(Folder):
    """A folder with features, graph, assignments and map, each in a file of its own or not there yet."""

    def saved_array(self, name: str) -> arrays.SavedArray | None:
        """One of the arrays with its stamp and whatever was saved beside; None if not there."""
        return arrays.load(self._file(name))

    @property
    def features(self) -> Any:
        """The features of the items, dense or CSR, one row an item; None if not there."""
        return _matrix(self.saved_array("features"))

    @property
    def graph(self) -> Any:
        """The weights of the ties between items, CSR; None if not there."""
        return _matrix(self.saved_array("graph"))

    @property
    def assignments(self) -> Any:
        """The assignments, one row an item and one column a category; None if not there.

        An array, or :class:`lass.solvers.sparse.Assignments` where all numbers did not fit into the memory.
        """
        return _matrix(self.saved_array("assignments"))

    @property
    def map(self) -> Any:
        """A point from -1 to 1 for each item, similar ones side by side; None if not there."""
        return _matrix(self.saved_array("map"))

    def save_features(self, X: Any, **extras: Any) -> None:
        """Keep features made under the present settings, with anything that belongs to them."""
        self._save("features", X, 0, extras)

    def save_graph(self, W: Any, **extras: Any) -> None:
        """Keep a graph made from the saved features under the present settings."""
        self._save("graph", W, 0, extras)

    def save_assignments(self, Z: Any, number: int, **extras: Any) -> None:
        """Keep assignments made from the saved graph and the words as of change ``number``."""
        self._save("assignments", Z, number, extras)

    def save_map(self, points: Any, **extras: Any) -> None:
        """Keep points drawn from the saved graph."""
        self._save("map", points, 0, extras)

    def stale(self) -> dict[str, str]:
        """The arrays that must be made anew, each with the reason in words; empty if all are fresh.

        Nothing else is made from the map, and it may be missing: :meth:`stale_map` tells of it.
        """
        found = self._reasons()
        found.pop("map", None)
        return found

    def stale_map(self) -> str | None:
        """Why the map must be drawn anew; None if it is fresh."""
        return self._reasons().get("map")

    def _reasons(self) -> dict[str, str]:
        stamps = {name: arrays.stamp_of(self._file(name)) for name in CHAIN}
        self.settings = Settings.read(self.path / SETTINGS)
        with self._database.reading() as connection:
            items, categories = store.count_items(connection), len(tags.names(connection))
            last, word = log.last(connection), log.last_word(connection)
        # tags of the same parent are tied where there is smoothing: then names matter as words do
        matter = last if self.settings.smoothing else word
        return reasons(stamps, self.settings, items, categories, matter, last)

    def _file(self, name: str) -> Path:
        if name not in CHAIN:
            raise ValueError(f"name must be one of {', '.join(map(repr, CHAIN))}; found {name!r}")
        return self.path / ARRAYS / f"{name}.npz"

    def _save(self, name: str, matrix: Any, number: int, extras: dict[str, Any]) -> None:
        shape: tuple[int, ...] = getattr(matrix, "shape", ())
        with self._database.reading() as connection:
            items, latest = store.count_items(connection), log.last(connection)
        if len(shape) != 2 or shape[0] > items:
            raise ValueError(
                f"{name} must be a matrix with one row an item, {items} at most; found shape {shape}"
            )
        if name == "map" and shape[1] != 2:
            raise ValueError(f"a map must have two columns; found shape {shape}")
        if name == "graph" and shape[0] != shape[1]:
            raise ValueError(f"a graph must be square, one row and column an item; found shape {shape}")
        if not isinstance(number, int) or not 0 <= number <= latest:
            raise ValueError(f"number must be that of a change, {latest} at most; found {number!r}")
        rows, columns = shape
        source = arrays.stamp_of(self._file(CHAIN[name])) if CHAIN[name] else None
        stamp = arrays.Stamp(
            items=rows,
            categories=columns if name == "assignments" else 0,
            changes=number,
            settings=relevant(name, self.settings),
            source=source.token if source else "",
        )
        arrays.save(self._file(name), matrix, stamp, extras)


def _matrix(stored: arrays.SavedArray | None) -> Any:
    return None if stored is None else stored.matrix
