"""LASS: complete the tags of a collection from a few words and many similarities."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ConvergenceWarning": "lass.solution",
    "LASS": "lass.estimator",
    "LaplacianKModes": "lass.clustering",
    "NewItem": "lass.mapping",
    "Problem": "lass.problem",
    "Segmentation": "lass.segmentation",
    "Solution": "lass.solution",
    "assign": "lass.mapping",
    "explain": "lass.explanation",
    "flips": "lass.explanation",
    "influence": "lass.influences",
    "knn_graph": "lass.graph",
    "path": "lass.mapping",
    "project_simplex": "lass.simplex",
    "segment": "lass.segmentation",
    "solve": "lass.solution",
    "sources": "lass.influences",
    "spread": "lass.spreads",
}

_ROOMS = ("active", "baselines", "collection", "distributed", "gpu", "graph", "many", "solvers")

__all__ = [
    "LASS",
    "ConvergenceWarning",
    "LaplacianKModes",
    "NewItem",
    "Problem",
    "Segmentation",
    "Solution",
    "active",
    "assign",
    "baselines",
    "collection",
    "distributed",
    "explain",
    "flips",
    "gpu",
    "graph",
    "influence",
    "knn_graph",
    "many",
    "path",
    "project_simplex",
    "segment",
    "solve",
    "solvers",
    "sources",
    "spread",
]

if TYPE_CHECKING:
    from lass import active, baselines, collection, distributed, gpu, graph, many, solvers
    from lass.clustering import LaplacianKModes
    from lass.estimator import LASS
    from lass.explanation import explain, flips
    from lass.graph import knn_graph
    from lass.influences import influence, sources
    from lass.mapping import NewItem, assign, path
    from lass.problem import Problem
    from lass.segmentation import Segmentation, segment
    from lass.simplex import project_simplex
    from lass.solution import ConvergenceWarning, Solution, solve
    from lass.spreads import spread


def __getattr__(name: str) -> Any:
    """Load a part when it is first asked for, so that ``import lass`` takes no time."""
    if name in _ROOMS:
        return import_module(f"lass.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'lass' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
