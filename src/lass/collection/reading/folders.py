"""Folders of texts or pictures as items; an item's id is its path within the folder."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadInput, BadRowLog, reason_of
from lass.collection.reading.lines import LIMIT, TOO_LONG, fault, text_lines
from lass.collection.reading.results import Items

TEXTS = (".txt", ".md")
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
#: most pixels of a picture that is opened
MOST_PIXELS = 64_000_000


def read_folder(folder: Path, bad_rows: BadRowLog, encoding: str | None = None) -> Items:
    """Texts or pictures, whichever there are more of; hidden files are not looked at."""
    paths = _files(folder, bad_rows)
    texts, images = ([path for path in paths if path.suffix.lower() in kind] for kind in (TEXTS, IMAGES))
    if not texts and not images:
        raise bad_rows.error(
            f"no texts ({', '.join(TEXTS)}) and no pictures ({', '.join(IMAGES)}) in this folder"
        )
    pictures = len(images) > len(texts)
    items = Items(kind="images", columns={"width": [], "height": []}) if pictures else Items(kind="texts")
    for path in images if pictures else texts:
        name = path.relative_to(folder).as_posix()
        own = BadRowLog(path)
        try:
            if message := fault(name):
                raise own.error(f"the name of the file cannot be an id: {message}")
            title, text = path.stem, ""
            if not path.is_file():  # a pipe would be waited for, for ever
                raise own.error("is no file but a pipe, a device or a broken link; remove it")
            if pictures:
                width, height = check_image(path)
                items.columns["width"].append(width)
                items.columns["height"].append(height)
            else:
                text = read_text(path, own, encoding)
                first = (line.strip(" \t#*=-") for line in text.splitlines())
                title = next(filter(None, first), title)[:200]
        except BadInput as error:
            if not bad_rows.skip_bad:
                raise
            bad_rows.skipped.append(error.bad_row)
            continue
        items.ids.append(name)
        items.titles.append(title)
        items.texts.append(text)
    if not items.ids:
        raise bad_rows.nothing_left("items")
    items.skipped = bad_rows.skipped
    return items


def _files(folder: Path, bad_rows: BadRowLog) -> list[Path]:
    def stop(error: OSError) -> None:
        raise bad_rows.error(f"cannot be read ({error.strerror})")

    paths = []
    for place, folders, names in os.walk(folder, onerror=stop):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(paths, key=lambda path: path.relative_to(folder).as_posix())


def read_text(path: Path, bad_rows: BadRowLog, encoding: str | None = None) -> str:
    """The whole text of one file; line ends become newlines."""
    parts, size = [], 0
    for _, line in text_lines(path, bad_rows, encoding):
        size += len(line)
        if size > LIMIT:
            raise bad_rows.error(f"a text {TOO_LONG}")
        parts.append(line)
    return "".join(parts).replace("\r\n", "\n").replace("\r", "\n")


def open_image(path: Path) -> Any:
    """A picture, its header read and its size bounded, its pixels not yet."""
    try:
        pillow = import_module("PIL.Image")
    except ImportError:
        from lass.model.checks import install_hint

        raise BadInput(path, None, f"pictures need the package Pillow: {install_hint('files')}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            image = pillow.open(path, formats=FORMATS)
        width, height = image.size
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise no_image(path, error) from None
    if width * height > MOST_PIXELS:
        image.close()
        size = f"{width} x {height} pixels are more than {MOST_PIXELS:,}"
        raise BadInput(path, None, f"{size}, the most read; make it smaller")
    return image


def check_image(path: Path) -> tuple[int, int]:
    """Width and height of a picture that can be decoded to its end."""
    with open_image(path) as image:
        size: tuple[int, int] = image.size
        try:
            image.draft("RGB", (64, 64))  # as far as JPEG can be read in a smaller size
            image.load()
        except Exception as error:  # a decoder of damaged bytes may raise anything
            raise no_image(path, error) from None
    return size


def no_image(path: Path, error: Exception) -> BadInput:
    """The exception for a picture that cannot be decoded."""
    return BadInput(path, None, f"not a sound picture ({reason_of(error)}); save it again")
