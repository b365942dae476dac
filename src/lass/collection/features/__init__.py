"""What items are compared by: texts, numbers, pictures, embeddings, given vectors and given edges."""

from lass.collection.features.embeddings import EmbeddingCache, embed_texts
from lass.collection.features.given import edge_items, joined_vectors, read_edges, read_vectors
from lass.collection.features.images import image_features
from lass.collection.features.networks import embed_pictures
from lass.collection.features.numeric import NumericFeatures
from lass.collection.features.text import TextFeatures
from lass.collection.features.words import WordsAndMeaning

__all__ = [
    "EmbeddingCache",
    "NumericFeatures",
    "TextFeatures",
    "WordsAndMeaning",
    "edge_items",
    "embed_pictures",
    "embed_texts",
    "image_features",
    "joined_vectors",
    "read_edges",
    "read_vectors",
]
