"""The gradient method on partitions: in one process, or on a Ray cluster, from Parquet to Parquet."""

from __future__ import annotations

from lass.distributed.files import write_parquet
from lass.distributed.neighbours import knn_parquet, write_features
from lass.distributed.partitioning import partition
from lass.distributed.solving import Report, solve, solve_parquet

__all__ = ["Report", "knn_parquet", "partition", "solve", "solve_parquet", "write_features", "write_parquet"]
