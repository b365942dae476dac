"""The paper's evidence, reproduced: one file an experiment."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: the experiments in the order of the report
NAMES = ("toy", "extremes", "rho", "mnist", "newsgroups", "tagging", "runtime", "conditional")


def load(name: str) -> ModuleType:
    """The module of an experiment: ``TITLE`` and ``run(context) -> Outcome``."""
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"evidence.{name}")
