"""LASS: complete the tags of a collection from a few words and many similarities."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ConvergenceWarning": "lass.solution",
    "Problem": "lass.problem",
    "Solution": "lass.solution",
    "knn_graph": "lass.graph",
    "project_simplex": "lass.simplex",
    "solve": "lass.solution",
    "solvers": "lass",
}

__all__ = ["ConvergenceWarning", "Problem", "Solution", "knn_graph", "project_simplex", "solve", "solvers"]

if TYPE_CHECKING:
    from lass import solvers
    from lass.graph import knn_graph
    from lass.problem import Problem
    from lass.simplex import project_simplex
    from lass.solution import ConvergenceWarning, Solution, solve


def __getattr__(name: str) -> Any:
    """Load a part when it is first asked for, so that ``import lass`` takes no time."""
    if name not in _HOME:
        raise AttributeError(f"module 'lass' has no attribute {name!r}")
    if name == "solvers":
        return import_module("lass.solvers")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
