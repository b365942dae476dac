"""What a solver can do, declared; what it cannot is refused here, before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from lass.model.problem import Problem


@dataclass(frozen=True)
class Capabilities:
    """What a solver can do beside a graph, affinities and 0 < lam < inf.

    What has the default True is done for every solver of dense assignments before it runs:
    :mod:`lass.model.reduction` takes fixed rows and the limits of lam out of the problem.
    """

    category_totals: bool = False  # a prior, Z'1 = N * prior
    category_graph: bool = False
    negative_weights: bool = False
    sparse_output: bool = False
    fixed_rows: bool = True
    ridge: bool = True
    any_laplacian: bool = True  # row sums < 0, as those of a normalized Laplacian
    zero_lam: bool = True
    infinite_lam: bool = True
    harmonic_limit: bool = True  # fixed rows at lam = inf
    warm_start: bool = True

    def lacking(self, problem: Problem, *, sparse: bool = False, warm: bool = False) -> str:
        """The first thing that is needed and not declared, as text; empty where there is nothing."""
        asked = {"sparse_output": sparse, "warm_start": warm}
        for capability in fields(self):
            if not getattr(self, capability.name):
                description, needed = NEEDS[capability.name]
                if asked.get(capability.name, False) or needed(problem):
                    return description
        return ""


#: what each capability is for, as text, and whether a problem needs it
NEEDS: dict[str, tuple[str, Callable[[Problem], bool]]] = {
    "category_totals": ("a prior", lambda problem: problem.category_totals is not None),
    "category_graph": ("a category_graph", lambda problem: problem.C is not None),
    "negative_weights": ("negative weights", lambda problem: not problem.convex),
    "sparse_output": ("output='sparse'", lambda problem: False),
    "fixed_rows": ("fixed rows", lambda problem: len(problem.fixed_rows) > 0),
    "ridge": ("a ridge", lambda problem: problem.ridge > 0),
    "any_laplacian": ("a Laplacian with row sums < 0", lambda problem: not problem.dominant),
    "zero_lam": ("lam = 0", lambda problem: problem.lam == 0),
    "infinite_lam": ("lam = inf", lambda problem: math.isinf(problem.lam)),
    "harmonic_limit": (
        "fixed rows at lam = inf",
        lambda problem: math.isinf(problem.lam) and len(problem.fixed_rows) > 0,
    ),
    "warm_start": ("a start", lambda problem: False),
}


def require(
    label: str, capabilities: Capabilities, problem: Problem, *, sparse: bool = False, warm: bool = False
) -> None:
    """Refuse what was asked for by ``label``, such as ``method='reduced'``, where it cannot do it."""
    if lacking := capabilities.lacking(problem, sparse=sparse, warm=warm):
        raise ValueError(
            f"{label} does not support {lacking}; leave one of the two out. "
            "method='auto' with dense output supports everything"
        )
