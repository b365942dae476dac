"""How good suggestions are: known tags are hidden, and every method is asked for them.

Importing this takes no time: a part is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Evaluation": "result",
    "FILE": "result",
    "Figure": "result",
    "Outcome": "result",
    "evaluate": "evaluating",
    "evaluate_collection": "on_disk",
    "picture": "drawing",
    "tables": "showing",
}

__all__ = ["FILE", "Evaluation", "Figure", "Outcome", "evaluate", "evaluate_collection", "picture", "tables"]

if TYPE_CHECKING:
    from lass.evaluation.drawing import picture
    from lass.evaluation.evaluating import evaluate
    from lass.evaluation.on_disk import evaluate_collection
    from lass.evaluation.result import FILE, Evaluation, Figure, Outcome
    from lass.evaluation.showing import tables


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lass.evaluation' has no attribute {name!r}")
    return getattr(import_module(f"lass.evaluation.{_HOME[name]}"), name)
