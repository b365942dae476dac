"""The file behind an item that is a picture."""

from __future__ import annotations

from pathlib import Path

from lass.collection.reading.folders import IMAGES
from lass.studio.item_rows import has_picture
from lass.studio.session import NotFound, Session


def picture_of(session: Session, row: int) -> Path:
    """The file; it must lie within the folder of the pictures, whatever the id of the item is."""
    item = session.row(row)
    if not has_picture(session):
        raise NotFound("Items of this collection are not pictures.")
    folder = session.collection.picture_folder.resolve()
    path = (folder / item.id).resolve()
    if not path.is_relative_to(folder) or path.suffix.lower() not in IMAGES or not path.is_file():
        raise NotFound(f"The picture of {item.id!r} is not there.")
    return path
