"""Reading people's files into items and annotations; whatever is wrong with them is one ``BadInput``."""

from lass.collection.reading.errors import BadInput, BadRow
from lass.collection.reading.hierarchy import category_graph, facet_names, parents
from lass.collection.reading.items import read_items
from lass.collection.reading.results import Items, Tags
from lass.collection.reading.tag_tables import read_tags

__all__ = [
    "BadInput",
    "BadRow",
    "Items",
    "Tags",
    "category_graph",
    "facet_names",
    "parents",
    "read_items",
    "read_tags",
]
