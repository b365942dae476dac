"""The fit of a collection on Ray workers, all stages of it: rows are cut into parts, and a part is a task."""

from lass.tagging.distributed.cluster import Workers
from lass.tagging.distributed.fitting import fitted_on_workers

__all__ = ["Workers", "fitted_on_workers"]
