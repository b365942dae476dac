"""The whole fit of a collection on Ray workers: features, neighbours, solve, candidates and scores by parts."""

from lass.tagging.distributed.cluster import Workers
from lass.tagging.distributed.fitting import fitted_on_workers

__all__ = ["Workers", "fitted_on_workers"]
