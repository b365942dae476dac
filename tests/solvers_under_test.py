"""Everything that solves a problem: what a test over all solvers goes through."""

from dataclasses import replace
from importlib.util import find_spec

import pytest

import lass
from lass.solvers import METHODS, Capabilities
from lass.solvers.distributed import Partitions
from lass.solvers.plan import plan

#: how each is asked for
HOW = {
    **{name: {"method": name} for name in ("auto", *METHODS)},
    "sparse": {"output": "sparse"},
    "device": {"device": "cpu"},
    "partitions": {"engine": Partitions(2)},
}

TORCH = find_spec("torch") is not None
NEEDS_TORCH = pytest.mark.skipif(not TORCH, reason="torch is not installed")

#: for ``pytest.mark.parametrize``
SOLVERS = [pytest.param(name, marks=NEEDS_TORCH if name == "device" else ()) for name in HOW]


#: the methods alone, as names
METHOD_NAMES = ("auto", *METHODS)


def solve(name, *problem, **options):
    """What ``lass.solve`` gives, with all N x K numbers."""
    if name == "device":
        import torch

        torch.set_num_threads(1)  # problems are small
    return lass.solve(*problem, **HOW[name], **options).dense()


def capabilities(name):
    """What it declares."""
    if name == "device" and not TORCH:
        return Capabilities()
    nothing_special = lass.Problem([[0.0]], [[0.0]])
    found = plan(nothing_special, **HOW[name]).backend.capabilities
    return replace(found, sparse_output=True) if name == "auto" else found  # it takes any output


def declaring(capability):
    """All that declare a capability, for ``pytest.mark.parametrize``."""
    return [solver for solver in SOLVERS if getattr(capabilities(solver.values[0]), capability)]
