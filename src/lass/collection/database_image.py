"""The bytes of a SQLite file as of one moment, read without a lock and without writing anything.

SQLite itself needs files beside a database in WAL mode: on a disk that is full or read-only it may not open
it, and whoever closes it last writes the log back. Here the pages that the log holds are put into a copy.
See https://www.sqlite.org/fileformat2.html#the_write_ahead_log for the format.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path

#: of the log: bytes of its header and of the header of a page, and its first number but for the last bit
_HEADER, _FRAME, _MAGIC = 32, 24, 0x377F0682
#: bytes of the header of a database
_HEADER_OF_DATABASE = 100
#: seconds in which two changes may get the same time of change, and tries
_TICK, _TRIES = 0.02, 50


def read_image(path: Path) -> bytearray:
    """A whole database in its own file; ``OSError`` where another program writes all the time.

    ``ValueError`` where it is empty.
    """
    log = path.with_name(f"{path.name}-wal")
    for _ in range(_TRIES):
        before = _state(path)
        image = bytearray(path.read_bytes())
        frames = log.read_bytes() if log.exists() else b""
        if _state(path) == before and time.time() - before[1] / 1e9 > _TICK:
            _apply(image, frames)
            if not image:
                raise ValueError(f"{path} is empty")
            if image[18:20] == b"\x02\x02":  # of a database with a log, which one in memory cannot have
                image[18:20] = b"\x01\x01"
            return image
        time.sleep(_TICK)  # the log was written back meanwhile
    raise OSError(f"{path} is written all the time; try again")


def padded(image: bytearray) -> bytearray:
    """The image of a file that was cut off, with zeros up to the pages that its header counts.

    SQLite reads nothing of a file that is shorter than its header says.
    """
    if len(image) >= _HEADER_OF_DATABASE and image[24:28] == image[92:96]:  # else the count does not hold
        size, count = struct.unpack(">H", image[16:18])[0], struct.unpack(">I", image[28:32])[0]
        image.extend(bytes(max(0, count * (65536 if size == 1 else size) - len(image))))
    return image


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


def _apply(image: bytearray, log: bytes) -> None:
    """Put the pages of all whole transactions of a log into the image."""
    if len(log) < _HEADER:
        return
    magic, _, size, _, salt1, salt2, *sums = struct.unpack(">8I", log[:_HEADER])
    if magic & ~1 != _MAGIC or size < 512:
        return
    order = ">" if magic & 1 else "<"
    check = _checksum(order, log[: _HEADER - 8], (0, 0))
    if list(check) != sums:
        return
    pages: dict[int, int] = {}
    at = _HEADER
    while at + _FRAME + size <= len(log):
        number, total, *rest = struct.unpack(">6I", log[at : at + _FRAME])
        check = _checksum(order, log[at : at + 8], check)
        check = _checksum(order, log[at + _FRAME : at + _FRAME + size], check)
        if rest != [salt1, salt2, *check] or number < 1:
            return  # the end, or a transaction that was not finished
        pages[number] = at + _FRAME
        at += _FRAME + size
        if total:  # the last page of a transaction, with the pages that the database has then
            length = total * size
            if len(image) < length:
                image.extend(bytes(length - len(image)))
            del image[length:]
            for page, begin in pages.items():
                if page <= total:
                    image[(page - 1) * size : page * size] = log[begin : begin + size]
            pages = {}


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, other in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second
