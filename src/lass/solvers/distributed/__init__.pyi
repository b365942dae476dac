from .backend import Partitions as Partitions
from .files import write_parquet as write_parquet
from .partitioned_graph import knn_parquet as knn_parquet
from .partitioned_graph import write_features as write_features
from .partitioning import partition as partition
from .solving import ParquetSolution as ParquetSolution
from .solving import solve as solve
from .solving import solve_parquet as solve_parquet
