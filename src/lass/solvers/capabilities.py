"""What a solver can do, declared; what it cannot is refused here, before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from lass.model.problem import Problem


def _needed(what: str, by: Callable[[Problem], bool], default: bool = True) -> Any:
    return field(default=default, metadata={"what": what, "by": by})


@dataclass(frozen=True)
class Capabilities:
    """What a solver can do beside a graph, affinities and 0 < lam < inf.

    What has the default True is done for every solver of dense assignments before it runs:
    :mod:`lass.model.reduction` takes fixed rows and the limits of lam out of the problem.
    """

    category_totals: bool = _needed("a prior", lambda p: p.category_totals is not None, False)
    category_graph: bool = _needed("a category_graph", lambda p: p.category_laplacian is not None, False)
    negative_weights: bool = _needed("negative weights", lambda p: not p.convex, False)
    fixed_rows: bool = _needed("fixed rows", lambda p: len(p.fixed_rows) > 0)
    ridge: bool = _needed("a ridge", lambda p: p.ridge > 0)
    any_laplacian: bool = _needed("a Laplacian with row sums < 0", lambda p: not p.dominant)
    zero_lam: bool = _needed("lam = 0", lambda p: p.lam == 0)
    infinite_lam: bool = _needed("lam = inf", lambda p: math.isinf(p.lam))
    harmonic_limit: bool = _needed(
        "fixed rows at lam = inf", lambda p: math.isinf(p.lam) and len(p.fixed_rows) > 0
    )
    smooth_limit: bool = _needed(
        "a category_graph at lam = inf", lambda p: math.isinf(p.lam) and p.category_laplacian is not None
    )
    #: these two are no matter of the problem, but of how it is to be solved
    sparse_output: bool = _needed("output='sparse'", lambda p: False, False)
    warm_start: bool = _needed("a start", lambda p: False)

    def lacking(self, problem: Problem, *, sparse: bool = False, warm: bool = False) -> str:
        """The first thing that is needed and not declared, as text; empty where there is nothing."""
        asked = {"sparse_output": sparse, "warm_start": warm}
        for capability in fields(self):
            name, needed = capability.name, capability.metadata["by"]
            if not getattr(self, name) and (asked.get(name, False) or needed(problem)):
                return str(capability.metadata["what"])
        return ""


def require(
    label: str, capabilities: Capabilities, problem: Problem, *, sparse: bool = False, warm: bool = False
) -> None:
    """Refuse what was asked for by ``label``, such as ``method='reduced'``, where it cannot do it."""
    if lacking := capabilities.lacking(problem, sparse=sparse, warm=warm):
        raise ValueError(
            f"{label} does not support {lacking}; leave one of the two out. "
            "method='auto' with dense output supports everything"
        )
