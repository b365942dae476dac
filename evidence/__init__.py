"""The paper's evidence, reproduced: one module an experiment, run by ``lass reproduce``."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from lass.cli.reproduce import NAMES

__all__ = ["NAMES", "load"]


def load(name: str) -> ModuleType:
    """The module of an experiment: ``TITLE`` and ``run(context) -> Result``."""
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"evidence.{name}")
