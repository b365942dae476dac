"""Problems and solutions in plain ``.npz`` files: written whole or not at all, never unpickled."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacian import as_weights
from lass.model.checks import check_semidefinite
from lass.model.problem import Problem

Thing = TypeVar("Thing")

FORMAT = 1
PARTS = ("data", "indices", "indptr")
#: what NumPy, zipfile and zlib raise for a file that is damaged or somebody else's
WRONG = (
    LookupError, OSError, TypeError, ValueError, AttributeError, EOFError, BadZipFile,
    RuntimeError, MemoryError, zlib.error,
)  # fmt: skip


def pack(problem: Problem) -> dict[str, Any]:
    """The arrays that make up a problem."""
    arrays: dict[str, Any] = {f"W_{part}": getattr(problem.W, part) for part in PARTS}
    arrays |= {f"G_{part}": getattr(problem.G, part) for part in PARTS}
    for name in ("diagonal", "lam", "ridge", "convex", "fixed_rows", "fixed_Z", "C", "category_totals"):
        value = getattr(problem, name)
        if value is not None:
            arrays[name] = np.asarray(value)
    return arrays


def unpack(data: Mapping[str, Any], shape: tuple[int, ...]) -> Problem:
    """A problem from its arrays; every check is made anew, since the file may be anybody's."""
    N, K = shape
    W, G = _matrix(data, "W", (N, N)), _matrix(data, "G", (N, K))
    problem = Problem.__new__(Problem)
    problem.convex = bool(data["convex"])
    problem.W = as_weights(W, allow_negative=not problem.convex)
    diagonal = np.asarray(data["diagonal"], float)
    if diagonal.shape != (N,) or not np.isfinite(diagonal).all():
        raise ValueError("the diagonal does not fit the graph")
    ridge = float(data["ridge"])
    fixed = (data["fixed_rows"].tolist(), data["fixed_Z"])
    problem.complete(diagonal - ridge, G, float(data["lam"]), fixed, None, ridge, None)
    former = {"category_totals": "masses"}  # what version 0.1.0 called it
    for name, expected in (("C", (K, K)), ("category_totals", (K,))):
        given = data.get(name, data.get(former.get(name, name)))
        if given is not None and (given.shape != expected or not np.isfinite(given).all()):
            raise ValueError(f"{name} does not fit the categories")
        setattr(problem, name, given)
    if problem.category_totals is not None and problem.category_totals.min() < 0:
        raise ValueError("category totals are negative")
    if problem.convex:
        check_semidefinite(problem.W, problem.diagonal)
    return problem


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
    """Put the arrays into a new file and only then into the place of the old one."""
    with NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            np.savez(file, format=FORMAT, **arrays)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


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
