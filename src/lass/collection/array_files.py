"""Named arrays in an ``.npz`` file, written so that large ones can be mapped into memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from lass.model.atomic import atomic_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: version of the files, which is that of :mod:`lass.model.files`
FORMAT = 1
#: bytes from which on an array is mapped; a smaller one is read, and its checksum verified
MIN_MAPPED = 2**20
#: where the numbers of an array begin in the file, as a multiple
ALIGNMENT = 64

#: of a zip file: the fixed part of the header before a member, the field of its long sizes, and the
#: identifier of a field that only fills up space
_HEADER, _LONG_SIZES, _FILLER = 30, 20, 0xD935
_ENDING = ".npy"


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Put arrays into a file, whole or not at all; :func:`numpy.load` reads it too."""
    with atomic_path(path) as draft:
        write_draft(draft, arrays)


def write_draft(draft: Path, arrays: Mapping[str, Any]) -> None:
    """Put arrays into a new file, all of which is on the disk then."""
    with draft.open("xb") as file:
        with ZipFile(file, "w", ZIP_STORED, allowZip64=True) as archive:
            for name, value in {"format": FORMAT, **arrays}.items():
                member = ZipInfo(f"{name}{_ENDING}")
                begin = file.tell() + _HEADER + len(member.filename.encode()) + _LONG_SIZES + 4
                missing = -begin % ALIGNMENT
                member.extra = struct.pack("<HH", _FILLER, missing) + bytes(missing)
                with archive.open(member, "w", force_zip64=True) as part:
                    _write(part, value)
        file.flush()
        os.fsync(file.fileno())


def _write(file: IO[bytes], value: Any) -> None:
    """An array as NumPy writes it, or what is read in pieces as if it were one."""
    import numpy as np

    from lass.model.mapped_arrays import Pieces

    if not isinstance(value, Pieces):
        np.lib.format.write_array(file, np.asanyarray(value), allow_pickle=False)
        return
    described = np.lib.format.dtype_to_descr(value.dtype)
    header = {"descr": described, "fortran_order": False, "shape": value.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for chunk in value.chunks():
        file.write(chunk.data)


def read_arrays(path: Path, *, verify: bool = False) -> tuple[dict[str, NDArray[Any]], set[str]]:
    """All arrays of a file by name, and the names of those that are mapped rather than read.

    A mapped array takes no memory until it is used, and can be changed without changing the file. Only its
    place and size are checked: if ``verify``, everything is read, and checksums are verified. Any error
    that a foreign file can cause in NumPy or zipfile comes through.
    """
    import numpy as np

    found: dict[str, NDArray[Any]] = {}
    mapped: set[str] = set()
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        for member in archive.zip.infolist():
            name = member.filename.removesuffix(_ENDING)
            array = None if verify else _mapped(file, member)
            if array is not None:
                mapped.add(name)
            found[name] = archive[name] if array is None else array
    if int(found["format"]) != FORMAT:
        raise ValueError(f"format {found['format']} instead of {FORMAT}")
    return found, mapped


def _mapped(file: IO[bytes], member: ZipInfo) -> NDArray[Any] | None:
    """The numbers of one array where they are in the file; None where it must be read."""
    import numpy as np

    # on Windows a file that is mapped could not be replaced by a new one
    if member.file_size < MIN_MAPPED or member.compress_type != ZIP_STORED or os.name == "nt":
        return None
    file.seek(member.header_offset)
    header = file.read(_HEADER)
    if header[:4] != b"PK\x03\x04":
        raise ValueError(f"{member.filename} is not where the file says")
    begin = member.header_offset + _HEADER + sum(struct.unpack("<HH", header[26:30]))
    file.seek(begin)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        return None
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    offset, size = file.tell(), int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject or offset % max(dtype.alignment, 1):
        return None
    if offset + size != begin + member.file_size or offset + size > os.fstat(file.fileno()).st_size:
        raise ValueError(f"{member.filename} is not as long as the file says")
    # changes go to a copy of the page, as if the array had been read
    array = np.memmap(file, dtype, "c", offset, shape, "F" if fortran else "C")
    return array.view(np.ndarray)
