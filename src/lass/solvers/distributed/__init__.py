"""The gradient method on partitions: in one process, or on a Ray cluster, from Parquet to Parquet."""

from __future__ import annotations

from lass.solvers.distributed.files import write_parquet
from lass.solvers.distributed.neighbours import knn_parquet, write_features
from lass.solvers.distributed.partitioning import partition
from lass.solvers.distributed.solving import Report, solve, solve_parquet

__all__ = ["Report", "knn_parquet", "partition", "solve", "solve_parquet", "write_features", "write_parquet"]
