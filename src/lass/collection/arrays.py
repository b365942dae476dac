"""The arrays of a collection, each in a file with a stamp of what it was made from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    #: what can be saved with an array under a name
    Extra: TypeAlias = NDArray[Any] | sp.csr_array

Result = TypeVar("Result")


@dataclass(frozen=True)
class Stamp:
    """What an array was made from.

    Attributes
    ----------
    items, categories : int
        How many there were.
    changes : int
        The last change of the log that it takes into account.
    settings : dict
        Those that matter for this array.
    source : str
        The token of the array that this one was made from, empty if none.
    token : str
        Unlike that of any other array ever saved.
    """

    items: int
    categories: int = 0
    changes: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    token: str = field(default_factory=lambda: os.urandom(16).hex())


@dataclass(frozen=True)
class SavedArray:
    """An array, its stamp, and the named arrays saved with it."""

    matrix: Any
    stamp: Stamp
    extras: dict[str, Extra]


def save(path: Path, matrix: Any, stamp: Stamp, extras: Mapping[str, Any]) -> None:
    """Write an array, dense, CSR or sparse assignments, whole or not at all."""
    import numpy as np
    import scipy.sparse as sp

    from lass.model.files import pack_matrix, write
    from lass.solvers.assignments import is_sparse

    arrays: dict[str, Any] = {}
    if is_sparse(matrix):
        arrays["background"], matrix = matrix.background, matrix.to_csr()
    for name, value in (("matrix", matrix), *((f"extra_{name}", value) for name, value in extras.items())):
        pack_matrix(arrays, name, sp.csr_array(value) if sp.issparse(value) else value)
    for name, value in arrays.items():
        if value.dtype.kind not in "biufU":
            raise ValueError(f"{name} must hold numbers or text; found {value.dtype}")
    if not _is_finite(matrix) or not _is_finite(arrays.get("background", 0.0)):
        raise ValueError("an array of a collection must be finite; found NaN or infinity")
    arrays["stamp"] = np.asarray(json.dumps(asdict(stamp)))
    arrays["names"] = np.asarray(json.dumps(list(extras)))
    path.parent.mkdir(exist_ok=True)
    write(path, arrays)


def load(path: Path) -> SavedArray | None:
    """What :func:`save` wrote, or None if there is no file; any other file is a ``ValueError``."""
    return _guarded(path, lambda: _whole(path))


def stamp_of(path: Path) -> Stamp | None:
    """The stamp alone, without reading the array behind it."""
    return _guarded(path, lambda: _stamp_alone(path))


def _guarded(path: Path, reading: Callable[[], Result]) -> Result | None:
    if not path.exists():
        return None
    try:
        return reading()
    except Exception as error:  # a foreign archive can fail in any of a dozen ways
        message = str(error)
        if str(path) not in message:
            message = f"{path} is not a saved array ({message or type(error).__name__})"
        raise ValueError(message) from None


def _whole(path: Path) -> SavedArray:
    from lass.model.files import read

    return read(path, _stored, "array")


def _stored(data: dict[str, Any]) -> SavedArray:
    from lass.model.files import unpack_matrix

    stamp, matrix = _stamp(data), unpack_matrix(data, "matrix")
    if matrix.ndim != 2 or matrix.shape[0] != stamp.items or matrix.dtype.kind not in "biuf":
        raise ValueError("the array does not fit its stamp")
    if not _is_finite(matrix):
        raise ValueError("the array is not finite")
    if "background" in data:
        from lass.solvers.assignments import unpacked

        matrix = unpacked(matrix, data["background"])
    # version 0.1.0 wrote "beside_" where later ones write "extra_"
    data = {name.replace("beside_", "extra_", 1): value for name, value in data.items()}
    extras = {name: unpack_matrix(data, f"extra_{name}") for name in json.loads(str(data["names"]))}
    return SavedArray(matrix, stamp, extras)


def _is_finite(matrix: Any) -> bool:
    import numpy as np
    import scipy.sparse as sp

    return bool(np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all())


def _stamp_alone(path: Path) -> Stamp:
    import numpy as np

    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        return _stamp(file)


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
