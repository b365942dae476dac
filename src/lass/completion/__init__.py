"""Completing a collection: features, graph, assignments, and what to make of them.

Importing this takes no time: a part is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Completed": "scoring",
    "Doubt": "suggesting",
    "Fit": "fitting",
    "Learnt": "live",
    "Live": "live",
    "Opinions": "suggesting",
    "Progress": "making",
    "Suggestion": "suggesting",
    "TagHealth": "tags",
    "complete": "scoring",
    "features_of": "making",
    "fit": "fitting",
    "graph_of": "making",
    "next_items": "asking",
    "restored": "saved",
    "scores": "scoring",
    "tag_health": "tags",
    "weigh": "scoring",
}

__all__ = [
    "Completed", "Doubt", "Fit", "Learnt", "Live", "Opinions", "Progress", "Suggestion", "TagHealth",
    "complete", "features_of", "fit", "graph_of", "next_items", "restored", "scores", "tag_health", "weigh",
]  # fmt: skip

if TYPE_CHECKING:
    from lass.completion.asking import next_items
    from lass.completion.fitting import Fit, fit
    from lass.completion.live import Learnt, Live
    from lass.completion.making import Progress, features_of, graph_of
    from lass.completion.saved import restored
    from lass.completion.scoring import Completed, complete, scores, weigh
    from lass.completion.suggesting import Doubt, Opinions, Suggestion
    from lass.completion.tags import TagHealth, tag_health


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lass.completion' has no attribute {name!r}")
    return getattr(import_module(f"lass.completion.{_HOME[name]}"), name)
