"""Problems and solutions in plain ``.npz`` files: written whole or not at all, never unpickled."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import as_weights
from lass.model.atomic import atomic_path
from lass.model.checks import check_semidefinite, fixed_rows, number
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.terms import Constraints, QuadraticTerm

Thing = TypeVar("Thing")

FORMAT = 1
PARTS = ("data", "indices", "indptr")
#: what NumPy, zipfile and zlib raise for a file that is damaged or of another kind
WRONG = (
    LookupError, OSError, TypeError, ValueError, AttributeError, EOFError, BadZipFile,
    RuntimeError, MemoryError, zlib.error,
)  # fmt: skip


def pack(problem: Problem) -> dict[str, Any]:
    """The arrays that make up a problem."""
    arrays: dict[str, Any] = {f"W_{part}": getattr(problem.W, part) for part in PARTS}
    arrays |= {f"G_{part}": getattr(problem.G, part) for part in PARTS}
    if problem.category_laplacian is not None:
        arrays |= {f"C_{part}": getattr(problem.category_laplacian, part) for part in PARTS}
    for name in ("diagonal", "lam", "ridge", "convex", "fixed_rows", "fixed_Z", "category_totals"):
        value = getattr(problem, name)
        if value is not None:
            arrays[name] = np.asarray(value)
    return arrays


def unpack(
    data: Mapping[str, Any], shape: tuple[int, ...], quadratic: QuadraticTerm | None = None
) -> Problem:
    """A problem from its arrays; every check is made again, since the file may come from anywhere.

    With a ``quadratic`` term, which was checked, it is on that graph.
    """
    N, K = shape
    quadratic = _quadratic(data, shape) if quadratic is None else quadratic
    # version 0.1.0 wrote "masses"
    totals = _of_categories(data, "category_totals" if "category_totals" in data else "masses", (K,))
    if totals is not None and totals.min() < 0:
        raise ValueError("category totals are negative")
    rows, Z = fixed_rows((data["fixed_rows"].tolist(), data["fixed_Z"]), N, K)
    G = _matrix(data, "G", (N, K))
    return Problem(quadratic, G, float(data["lam"]), fixed=Constraints(rows, Z, totals))


def _quadratic(data: Mapping[str, Any], shape: tuple[int, ...]) -> QuadraticTerm:
    """What lam weighs, from its arrays."""
    N, K = shape
    convex = bool(data["convex"])
    W = as_weights(_matrix(data, "W", (N, N)), allow_negative=not convex)
    diagonal = np.asarray(data["diagonal"], float)
    if diagonal.shape != (N,) or not np.isfinite(diagonal).all():
        raise ValueError("the diagonal does not fit the graph")
    if convex:
        check_semidefinite(W, diagonal)
    C = _category_laplacian(data, K)
    return QuadraticTerm(W, diagonal, number(data["ridge"], "ridge"), C, convex)


def _category_laplacian(data: Mapping[str, Any], categories: int) -> sp.csr_array | None:
    shape = (categories, categories)
    if "C" in data:  # of version 0.1.0
        return sp.csr_array(_of_categories(data, "C", shape))
    found = _matrix(data, "C", shape) if "C_data" in data else None
    if found is not None and not np.isfinite(found.data).all():
        raise ValueError("C does not fit the categories")
    return found


def _of_categories(data: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Array | None:
    given = data.get(name)
    if given is not None and (given.shape != shape or not np.isfinite(given).all()):
        raise ValueError(f"{name} does not fit the categories")
    return given


def pack_matrix(arrays: dict[str, Any], name: str, matrix: Any) -> None:
    """Put a matrix, dense or CSR, among the arrays of a file."""
    if sp.issparse(matrix):
        arrays |= {f"{name}_{part}": getattr(matrix, part) for part in PARTS}
        arrays[f"{name}_shape"] = np.asarray(matrix.shape)
    else:
        arrays[name] = np.asarray(matrix)


def unpack_matrix(data: Mapping[str, Any], name: str) -> Any:
    """What :func:`pack_matrix` put there; sparse ones are checked."""
    if name in data:
        return data[name]
    rows, columns = (int(size) for size in data[f"{name}_shape"])
    matrix = _matrix(data, name, (rows, columns))
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} must be finite")
    return matrix


def _matrix(data: Mapping[str, Any], name: str, shape: tuple[int, int]) -> sp.csr_array:
    matrix = sp.csr_array(tuple(data[f"{name}_{part}"] for part in PARTS), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def write(path: Path, arrays: Mapping[str, Any]) -> None:
    """Put the arrays into a file, whole or not at all."""
    with atomic_path(path) as draft, draft.open("xb") as file:
        np.savez(file, format=FORMAT, **arrays)


def read(path: Path, build: Callable[[dict[str, Any]], Thing], kind: str) -> Thing:
    """Build something from the arrays of a file; whatever is wrong with it is one ``ValueError``."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            data = dict(file)
        if int(data["format"]) != FORMAT:
            raise ValueError(f"format {data['format']} instead of {FORMAT}")
        return build(data)
    except FileNotFoundError:
        raise
    except WRONG as error:
        raise ValueError(f"{path} is not a saved {kind} ({error})") from None
