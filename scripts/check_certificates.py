"""Solve random problems and judge in rational arithmetic whether the true error is at most the gap.

python scripts/check_certificates.py --count 10000                     weights of 0 to 30 decades
python scripts/check_certificates.py --count 10000 --decades 0 1       ordinary scales
python scripts/check_certificates.py --forms                           updates, facets, tensors and so on
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import exact
import exact_kinds
import lass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="problems (1000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one (0)")
    parser.add_argument("--decades", type=float, nargs="+", default=[0, 6, 12, 20, 30])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--forms", action="store_true", help="updates, methods, fixed rows, facets, tensors")
    options = parser.parse_args()
    one = check_forms if options.forms else check
    print(json.dumps(one(options.count, tuple(options.decades), options.first, options.seconds)))


def check(
    count: int, decades: tuple[float, ...], first: int = 0, seconds: float = float("inf")
) -> dict[str, float]:
    """How many problems were solved and judged, how many converged, and how many gaps were false."""
    began, judged, converged, false = time.perf_counter(), 0, 0, 0
    for seed in range(first, first + count):
        if time.perf_counter() - began > seconds:
            break
        W, G, lam = exact.random_problem(seed, decades)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lass.ConvergenceWarning)
            solution = lass.solve(W, G, lam, max_iter=2000)
        judged += 1
        converged += solution.converged
        weights = solution.problem.W.toarray()
        if exact.exceeds(solution.objective, solution.gap, solution.Z, weights, G, lam):
            false += 1
            print(f"seed {seed}: the gap {solution.gap:g} is false", file=sys.stderr)
    return {
        "problems": judged, "converged": converged, "false": false, "decades": max(decades),
        "seconds": time.perf_counter() - began,
    }  # fmt: skip


def check_forms(
    count: int, decades: tuple[float, ...], first: int = 0, seconds: float = float("inf")
) -> dict[str, float]:
    """How many problems of other forms were solved, and of how many a claim was false, see exact_kinds."""
    began, judged, false = time.perf_counter(), 0, 0
    for seed in range(first, first + count):
        if time.perf_counter() - began > seconds:
            break
        kind = list(exact_kinds.KINDS)[seed % len(exact_kinds.KINDS)]
        claims = exact_kinds.false_claims(kind, seed, decades)
        judged += 1
        false += bool(claims)
        for claim in claims:
            print(f"{kind}, seed {seed}: {claim} is false", file=sys.stderr)
    return {
        "problems": judged, "false": false, "decades": max(decades), "seconds": time.perf_counter() - began,
    }  # fmt: skip


if __name__ == "__main__":
    main()
