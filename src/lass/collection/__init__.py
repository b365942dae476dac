"""Collections on disk: items, what people said of them, and the arrays made from both.

Importing this takes no time: NumPy and SciPy are loaded when arrays are first asked for.
"""

from lass.collection.collection import Collection
from lass.collection.folder import Annotations
from lass.collection.records import Change, Item, Moment, Naming, Since
from lass.collection.settings import Settings

__all__ = ["Annotations", "Change", "Collection", "Item", "Moment", "Naming", "Settings", "Since"]
