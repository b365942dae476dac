"""The same problems on a GPU, with the same certificate: ``pip install "lass[gpu]"``."""

try:
    import torch  # noqa: F401
except ImportError as missing:
    raise ImportError("lass.solvers.gpu needs torch and triton: pip install 'lass[gpu]'") from missing

from lass.solvers.gpu.search import knn_graph
from lass.solvers.gpu.solving import Device, solve, solve_many

__all__ = ["Device", "knn_graph", "solve", "solve_many"]
