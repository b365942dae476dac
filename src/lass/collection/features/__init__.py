"""What items are compared by: texts, numbers, pictures, given vectors and given edges."""

from lass.collection.features.given import embed_texts, read_edges, read_vectors
from lass.collection.features.images import image_features
from lass.collection.features.numeric import NumericFeatures, numeric_features
from lass.collection.features.text import TextFeatures, text_features

#: how rows of each kind are compared, for ``metric`` of :func:`lass.knn_graph`
METRICS = {
    "text": TextFeatures.metric, "numeric": NumericFeatures.metric,
    "images": "cosine", "vectors": "cosine", "embeddings": "cosine",
}  # fmt: skip

__all__ = [
    "METRICS", "NumericFeatures", "TextFeatures", "embed_texts", "image_features", "numeric_features",
    "read_edges", "read_vectors", "text_features",
]  # fmt: skip
