"""Segments of a picture from strokes: here it is, here it is not."""

from lass.learning.segmentation.segmenting import Segmentation, segment

__all__ = ["Segmentation", "segment"]
