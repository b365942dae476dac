"""Collections on disk: items, what people said of them, and the arrays made from both.

Importing this takes no time: NumPy and SciPy are loaded when arrays are first asked for.
"""

from lass.collection.collection import CollectionStore
from lass.collection.folder import AnnotationMatrix
from lass.collection.records import Change, Item, Moment, TagChange, Since
from lass.collection.settings import Settings

__all__ = ["AnnotationMatrix", "Change", "CollectionStore", "Item", "Moment", "TagChange", "Settings", "Since"]
