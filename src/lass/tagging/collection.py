"""Collections in Python: make or open one, fit, look at suggestions, tag."""

from __future__ import annotations

from lass.collection import CollectionStore


class Collection(CollectionStore):
    """A collection that fits itself and suggests tags."""
