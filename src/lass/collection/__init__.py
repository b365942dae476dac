"""Collections on disk: items, annotations, and the arrays made from both.

Importing this takes no time: NumPy and SciPy are loaded when arrays are first asked for.
"""

from lass.collection.records import Annotation, Change, Item, LastChange, Moment, Since, TagChange
from lass.collection.settings import Settings
from lass.collection.store import AnnotationMatrix, CollectionStore

__all__ = [
    "Annotation", "AnnotationMatrix", "Change", "CollectionStore", "Item", "LastChange", "Moment",
    "Settings", "Since", "TagChange",
]  # fmt: skip
