"""Reading people's files into items and words; whatever is wrong with them is one ``BadInput``."""

from lass.collection.reading.annotations import Annotation
from lass.collection.reading.errors import BadInput, BadRow
from lass.collection.reading.hierarchy import category_graph, parents
from lass.collection.reading.items import Items, read_items
from lass.collection.reading.tags import Tags, read_tags

__all__ = [
    "BadInput", "Items", "BadRow", "Tags", "Annotation", "category_graph", "parents", "read_items", "read_tags",
]  # fmt: skip
