"""Small copies of pictures, made once and kept with the derived files of the collection."""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Literal

from lass.collection.reading import BadInput
from lass.collection.reading.folders import no_image, open_image
from lass.model.atomic import atomic_path
from lass.studio.session import NotFound

Size = Literal["small", "large"]
#: the longer side, in pixels
SIDES: dict[Size, int] = {"small": 256, "large": 1280}
#: bytes of a picture that is opened, and of all copies on the disk together
MOST_BYTES, MOST_KEPT = 64 * 2**20, 2**30
#: pictures that are decoded at a time, and seconds that a request waits for its turn
AT_A_TIME, PATIENCE = 2, 30.0
#: broken pictures that are remembered, so that each is opened once
MOST_BROKEN = 10_000
FOLDER = "thumbnails"
#: formats of pictures that may be drawings: copies of these are kept without loss where that takes at most so
#: many times the bytes
TIMES = 2.0
LOSSLESS = ("PNG", "GIF", "BMP", "WEBP", "TIFF")


class Thumbnails:
    """Copies of pictures on white ground; a changed file gets a new one.

    JPEG, or PNG where that is about as small: lines and flat colours, which JPEG would blur.

    The time for one is bounded by the bytes and pixels that are read (see ``MOST_BYTES`` and
    :data:`lass.collection.reading.folders.MOST_PIXELS`): decoders are linear in both.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._turns = threading.BoundedSemaphore(AT_A_TIME)
        self._lock = threading.Lock()
        self._broken: OrderedDict[str, str] = OrderedDict()
        self._kept: int | None = None

    def get(self, picture: Path, size: Size) -> bytes:
        """The copy of a picture; ``NotFound`` where the file is broken, too large or gone."""
        try:
            stat = picture.stat()
        except OSError:
            raise NotFound(f"The picture {picture.name!r} is not there.") from None
        key = hashlib.sha256(f"{picture}\0{stat.st_mtime_ns}\0{stat.st_size}\0{size}".encode()).hexdigest()
        kept = self._folder / key[:2] / f"{key}.copy"
        with suppress(OSError):
            return kept.read_bytes()
        with self._lock:
            known = self._broken.get(key)
        if known is not None:
            raise NotFound(known)
        if not self._turns.acquire(timeout=PATIENCE):
            raise TimeoutError("Many pictures are being read; try again.")
        try:
            with suppress(OSError):  # another request made it meanwhile
                return kept.read_bytes()
            if stat.st_size > MOST_BYTES:
                most = MOST_BYTES // 2**20
                raise BadInput(picture, None, f"more than {most} MB, the most read; make it smaller")
            made = shrunk(picture, SIDES[size])
        except BadInput as error:
            message = f"{picture.name}: {error.bad_row.message}"
            with self._lock:
                self._broken[key] = message
                if len(self._broken) > MOST_BROKEN:
                    self._broken.popitem(last=False)
            raise NotFound(message) from None
        finally:
            self._turns.release()
        self._keep(kept, made)
        return made

    def _keep(self, path: Path, content: bytes) -> None:
        """Store a copy; a disk that is full or read-only only means that it is made again."""
        with suppress(OSError), self._lock:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path) as draft:
                draft.write_bytes(content)
            if self._kept is None:
                self._kept = sum(found.stat().st_size for found in self._folder.glob("*/*.copy"))
            else:
                self._kept += len(content)
            if self._kept > MOST_KEPT:
                self._kept = _remove_oldest(self._folder, MOST_KEPT // 2)


def shrunk(picture: Path, side: int) -> bytes:
    """A picture within ``side`` x ``side`` pixels; ``BadInput`` if broken."""
    try:
        with open_image(picture) as image:
            image.draft("RGB", (side, side))
            # through RGBA: a palette may hold transparency
            small = image if image.mode in ("RGB", "L") else image.convert("RGBA")
            small.thumbnail((side, side))
            if small.mode == "RGBA":
                ground = small.copy()
                ground.paste((255, 255, 255, 255), (0, 0, *small.size))
                ground.alpha_composite(small)
                small = ground.convert("RGB")
            # nothing but the pixels: no position, no camera, no profile
            kind, small.info = image.format, {}
            jpeg, png = io.BytesIO(), io.BytesIO()
            small.save(jpeg, "JPEG", quality=82)
            if kind in LOSSLESS:
                small.save(png, "PNG")
    except BadInput:
        raise
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise no_image(picture, error) from None
    exact = 0 < png.tell() <= TIMES * jpeg.tell()
    return (png if exact else jpeg).getvalue()


def media_type(content: bytes) -> str:
    """What a copy is."""
    return "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"


def _remove_oldest(folder: Path, most: int) -> int:
    """Remove copies, the oldest first, until they take ``most`` bytes; how many they take then."""
    found = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in folder.glob("*/*.copy"))
    total = sum(size for _, size, _ in found)
    for _, size, path in found:
        if total <= most:
            break
        path.unlink(missing_ok=True)
        total -= size
    return total
