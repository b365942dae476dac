"""The arrays of a collection, each in a file with a stamp of what it was made from, by which it gets old."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lass.collection.array_files import read_arrays, write_draft
from lass.collection.settings import Settings

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    #: what can be saved with an array under a name
    Extra: TypeAlias = NDArray[Any] | sp.csr_array

#: array -> the array it is made from, in the order of making
MADE_FROM = {"features": "", "edges": "", "graph": "features", "assignments": "graph", "map": "graph"}


@dataclass(frozen=True)
class Stamp:
    """What an array was made from: so many items and categories, the log up to change ``changes``, the
    ``settings`` that matter for it, and the array with the token ``source``, if any.

    Arrays have the same ``token`` only if they are the same, and those that they were made from are.
    """

    items: int
    categories: int = 0
    changes: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    token: str = ""


@dataclass(frozen=True)
class SavedArray:
    """An array, its stamp, and the named arrays saved with it."""

    matrix: Any
    stamp: Stamp
    extras: dict[str, Extra]


def packed(matrix: Any, extras: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """An array, dense, CSR or sparse assignments, and others as the arrays of a file."""
    import numpy as np

    from lass.model.files import pack_matrix
    from lass.model.mapped_arrays import CsrPieces, Pieces
    from lass.solvers.assignments import is_sparse

    arrays: dict[str, Any] = {}
    if is_sparse(matrix):
        arrays["background"], matrix = matrix.background, matrix.pieces()
    for name, value in (("matrix", matrix), *((f"extra_{name}", value) for name, value in extras.items())):
        value = in_32_bits(value)
        if isinstance(value, CsrPieces):
            arrays |= {f"{name}_{part}": getattr(value, part) for part in ("data", "indices", "indptr")}
            arrays[f"{name}_shape"] = np.array(value.shape)
        elif isinstance(value, Pieces):
            arrays[name] = value
        else:
            pack_matrix(arrays, name, value)
    for name, value in arrays.items():
        if value.dtype.kind not in "biufU":
            raise ValueError(f"{name} must hold numbers or text; found {value.dtype}")
    if not _is_finite(matrix) or not _is_finite(arrays.get("background", 0.0)):
        raise ValueError("an array of a collection must be finite; found NaN or infinity")
    return {**arrays, "names": np.asarray(json.dumps(list(extras)))}


def in_32_bits(value: Any) -> Any:
    """A sparse matrix as CSR with indices in 32 bits, as it is used when it is mapped from a file."""
    import scipy.sparse as sp

    from lass.graph.laplacians import csr_of
    from lass.model.mapped_arrays import CsrPieces

    if isinstance(value, CsrPieces):
        return value.in_32_bits()
    if not sp.issparse(value):
        return value
    value = sp.csr_array(value)
    return csr_of(value.data, value.indices, value.indptr, value.shape)


def token_of(arrays: Mapping[str, NDArray[Any]], source: str) -> str:
    """The token of what :func:`packed` gave, made from the array with the token ``source``."""
    import numpy as np

    from lass.model.mapped_arrays import chunks_of

    digest = hashlib.blake2b(source.encode(), digest_size=16)
    for name, value in arrays.items():
        digest.update(f"{name} {value.dtype.str} {value.shape}".encode())
        for chunk in chunks_of(value):
            digest.update(chunk.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def save(draft: Path, arrays: Mapping[str, NDArray[Any]], stamp: Stamp) -> None:
    """Write what :func:`packed` gave to a new file."""
    import numpy as np

    write_draft(draft, {**arrays, "stamp": np.asarray(json.dumps(asdict(stamp)))})


def load(path: Path, *, verify: bool = False) -> SavedArray | None:
    """What :func:`save` wrote, or None if there is no file; any other file is a ``ValueError``.

    Large arrays are mapped into memory, and then only shapes are checked; if ``verify``, every number is.
    """
    if not path.exists():
        return None
    with _named_errors(path):
        return _stored(*read_arrays(path, verify=verify))


def stamp_of(path: Path) -> Stamp | None:
    """The stamp alone, without reading the array behind it."""
    if not path.exists():
        return None
    import numpy as np

    with _named_errors(path), path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return _stamp(file)


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # a foreign archive can fail in any of a dozen ways
        # what NumPy says of the first bytes of anything else would be bad advice
        message = "" if "pickle" in str(error) else str(error)
        if str(path) not in message:
            message = f"{path} is not a saved array ({message or 'its content is none'})"
        raise ValueError(f"{message}; run lass fit again") from None


def _stored(data: dict[str, Any], mapped: set[str]) -> SavedArray:
    # version 0.1.0 wrote "beside_" where later ones write "extra_"
    data = {name.replace("beside_", "extra_", 1): value for name, value in data.items()}
    mapped = {name.replace("beside_", "extra_", 1) for name in mapped}
    stamp, matrix, large = _stamp(data), _matrix(data, "matrix", mapped), _is_mapped("matrix", mapped)
    if matrix.ndim != 2 or matrix.shape[0] != stamp.items or matrix.dtype.kind not in "biuf":
        raise ValueError("the array does not fit its stamp")
    if not large and not _is_finite(matrix):
        raise ValueError("the array is not finite")
    if "background" in data:
        from lass.solvers.assignments import unpacked
        from lass.solvers.sparse.storage import SparseAssignments

        if large and not matrix.has_canonical_format:
            raise ValueError("a row holds a category twice, or not in order")
        matrix = (SparseAssignments if large else unpacked)(matrix, data["background"])
    extras = {name: _matrix(data, f"extra_{name}", mapped) for name in json.loads(str(data["names"]))}
    return SavedArray(matrix, stamp, extras)


def _is_mapped(name: str, mapped: set[str]) -> bool:
    from lass.model.files import PARTS

    return not mapped.isdisjoint({name, *(f"{name}_{part}" for part in PARTS)})


def _matrix(data: Mapping[str, Any], name: str, mapped: set[str]) -> Any:
    """A matrix, dense or CSR; the numbers of one that was read are checked, of a mapped one the shapes."""
    from lass.model.files import PARTS, unpack_matrix

    if name in data or not _is_mapped(name, mapped):
        return unpack_matrix(data, name)
    import numpy as np
    import scipy.sparse as sp

    values, indices, indptr = (data[f"{name}_{part}"] for part in PARTS)
    rows, columns = (int(size) for size in data[f"{name}_shape"])
    if (
        {indices.dtype.kind, indptr.dtype.kind} != {"i"} or values.dtype.kind not in "biuf"
        or (values.shape, indptr.shape) != (indices.shape, (rows + 1,)) or indices.ndim != 1
        or (indptr[0], indptr[-1]) != (0, len(indices)) or (np.diff(indptr) < 0).any()
    ):  # fmt: skip
        raise ValueError(f"{name} is not a CSR matrix of shape ({rows}, {columns})")
    return sp.csr_array((values, indices, indptr), shape=(rows, columns))


def _is_finite(matrix: Any) -> bool:
    import numpy as np
    import scipy.sparse as sp

    from lass.model.mapped_arrays import CsrPieces, chunks_of

    values = matrix.data if sp.issparse(matrix) or isinstance(matrix, CsrPieces) else matrix
    return all(np.isfinite(chunk).all() for chunk in chunks_of(values))


def _stamp(data: Mapping[str, Any]) -> Stamp:
    stamp = Stamp(**json.loads(str(data["stamp"])))
    counts = (stamp.items, stamp.categories, stamp.changes)
    if (
        not all(isinstance(count, int) and count >= 0 for count in counts)
        or not all(isinstance(text, str) for text in (stamp.source, stamp.token))
        or not isinstance(stamp.settings, dict)
    ):
        raise ValueError("the stamp makes no sense")
    return stamp


def _shown(settings: Mapping[str, Any], key: str) -> str:
    return repr(settings[key]) if key in settings else "not set"


def facet_settings(settings: Settings) -> dict[str, Any]:
    """The settings of facets that are not as they were before there were any."""
    found: dict[str, Any] = {} if settings.facets == "auto" else {"facets": settings.facets}
    return found | ({"facet_tags": dict(settings.facet_tags)} if settings.facet_tags else {})


def relevant(name: str, settings: Settings) -> dict[str, Any]:
    """The settings that matter for one array beyond those of the array it is made from."""
    known: dict[str, dict[str, Any]] = {
        "features": dict(settings.features),
        "graph": {"n_neighbors": settings.n_neighbors, "metric": settings.metric},
        "assignments": {"lam": settings.lam, "smoothing": settings.smoothing, **facet_settings(settings)},
    }
    return known.get(name, {})


def changed_settings(name: str, stamp: Stamp, settings: Settings) -> list[str]:
    """Settings that an array was made with, and that are others now."""
    then, now = stamp.settings, relevant(name, settings)
    return [
        f"{key} was {_shown(then, key)}, now {_shown(now, key)}"
        for key in sorted(then.keys() | now.keys())
        if _shown(then, key) != _shown(now, key)
    ]


def stale(
    stamps: dict[str, Stamp | None], settings: Settings, items: int, tags: int, needed: int, last: int,
    damaged: Collection[str] = (),
) -> dict[str, str]:  # fmt: skip
    """The arrays that must be made anew, each with all its reasons; empty when everything is fresh.

    Assignments must be made after change ``needed``, and not after one beyond the ``last``.
    """
    given = settings.metric == "precomputed"
    result: dict[str, str] = {}
    for name, source in MADE_FROM.items():
        stamp, before = stamps[name], stamps.get(source)
        if name == "edges" or (name == "features" and given):  # edges are given, and never made
            continue
        if stamp is None:
            result[name] = f"{name}.npz is damaged" if name in damaged else f"no {name} yet"
            continue
        why = []
        if stamp.items != items:
            why.append(f"made for {stamp.items} items, now {items}")
        if name == "assignments" and stamp.categories != tags:
            why.append(f"made for {stamp.categories} tags, now {tags}")
        if name == "assignments" and not needed <= stamp.changes <= last:
            why.append(f"made after change {stamp.changes}, now {needed}")
        why += changed_settings(name, stamp, settings)
        if source in result:
            why.append(f"the {source} must be made anew")
        elif before is not None and stamp.source != before.token and not (source == "features" and given):
            why.append(f"the {source} {'have' if source == 'features' else 'has'} been made anew")
        if why:
            result[name] = "; ".join(why)
    return result
