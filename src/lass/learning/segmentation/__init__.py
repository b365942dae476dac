"""Segments of an image from positive and negative strokes."""

from lass.learning.segmentation.segmenting import Segmentation, segment

__all__ = ["Segmentation", "segment"]
