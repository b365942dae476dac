"""Reading people's files into items and words; whatever is wrong with them is one ``BadInput``."""

from lass.collection.reading.hierarchy import category_graph, parents
from lass.collection.reading.items import Items, read_items
from lass.collection.reading.tags import Tags, read_tags
from lass.collection.reading.trouble import BadInput, Problem
from lass.collection.reading.words import Word

__all__ = [
    "BadInput", "Items", "Problem", "Tags", "Word", "category_graph", "parents", "read_items", "read_tags",
]  # fmt: skip
