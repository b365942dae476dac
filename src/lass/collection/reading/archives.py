"""Texts and pictures out of a ZIP file or an upload, into a folder: bounded, and never outside of it."""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO

from lass.collection.reading.errors import BadInput, BadRow, reason_of, shown
from lass.collection.reading.folders import IMAGES, TEXTS
from lass.collection.reading.lines import fault

#: files, bytes of one, and bytes of all together that are unpacked
MOST_FILES, MOST_BYTES, MOST_TOGETHER = 200_000, 100 * 2**20, 2 * 2**30


def safe_name(name: str) -> str:
    r"""The path of a file within a folder, whatever it is called; ``ValueError`` where it leads out of it.

    Examples
    --------
    >>> from lass.collection.reading.archives import safe_name
    >>> safe_name("pictures\\./a.png")
    'pictures/a.png'
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if name[:1] in ("/", "\\") or ".." in parts or not parts or re.match(r"^[A-Za-z]:", parts[0]):
        raise ValueError(f"the name {shown(name)} leads out of its folder")
    if message := fault(name):
        raise ValueError(f"the name {shown(name)} cannot be used: {message}")
    return "/".join(parts)


def is_wanted(name: str) -> bool:
    """Whether a file is a text or a picture, and not hidden."""
    parts = PurePosixPath(name).parts
    return PurePosixPath(name).suffix.lower() in (*TEXTS, *IMAGES) and not any(
        part.startswith(".") or part == "__MACOSX" for part in parts
    )


def unpack(path: Path, folder: Path, called: str) -> list[BadRow]:
    """Write the texts and pictures of a ZIP file into a folder; what was left out.

    No more is written than the bounds allow, whatever the file says of itself. Names that lead out of the
    folder, links and encrypted files are left out.
    """
    left: list[BadRow] = []
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_FILES:
                raise BadInput(called, None, f"holds more than {MOST_FILES:,} files; split it")
            total = 0
            for part in parts:
                if part.is_dir():
                    continue
                try:
                    name = safe_name(part.filename)
                    if stat.S_IFMT(part.external_attr >> 16) not in (0, stat.S_IFREG):
                        raise ValueError(f"{shown(name)} is a link or no file at all")
                    if not is_wanted(name):
                        continue
                    if part.flag_bits & 1:
                        raise ValueError(f"{shown(name)} is encrypted")
                    with archive.open(part) as packed:
                        total += _written(packed, folder / name, MOST_TOGETHER - total, called)
                except (
                    ValueError, OSError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile
                ) as error:  # fmt: skip
                    if isinstance(error, BadInput):
                        raise
                    left.append(BadRow(called, None, f"{error}"[:300]))
    except BadInput:
        raise
    except Exception as error:  # a damaged archive may raise anything
        raise BadInput(called, None, f"not a sound ZIP file ({reason_of(error)}); pack it again") from None
    return left


def _written(packed: IO[bytes], target: Path, most: int, called: str) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    try:
        with target.open("xb") as file:
            while piece := packed.read(2**18):
                size += len(piece)
                if size > most:
                    raise BadInput(
                        called, None, f"unpacks to more than {MOST_TOGETHER // 2**20:,} MB; split it"
                    )
                if size > MOST_BYTES:
                    raise ValueError(
                        f"{shown(target.name)} is larger than {MOST_BYTES // 2**20} MB, the most that is read"
                    )
                file.write(piece)
    except FileExistsError:
        raise ValueError(f"{shown(target.name)} is in it twice, or is a folder as well") from None
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return size


def without_common_folder(folder: Path) -> Path:
    """The folder that holds everything, where there is but one in it."""
    while True:
        inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
        if len(inside) != 1 or not inside[0].is_dir():
            return folder
        folder = inside[0]


def copy_into(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files by their paths within a folder."""
    for name in names:
        place = target / safe_name(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, place)
