"""What items are compared by: texts, numbers, pictures, given vectors and given edges."""

from lass.collection.features.given import embed_texts, joined_vectors, read_edges, read_vectors
from lass.collection.features.images import image_features
from lass.collection.features.numeric import NumericFeatures
from lass.collection.features.text import TextFeatures

__all__ = [
    "NumericFeatures",
    "TextFeatures",
    "embed_texts",
    "image_features",
    "joined_vectors",
    "read_edges",
    "read_vectors",
]
