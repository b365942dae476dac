"""The file behind an item that is a picture."""

from __future__ import annotations

from pathlib import Path

from lass.studio.item_rows import has_picture
from lass.studio.session import Desk, Missing

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")


def picture_of(desk: Desk, row: int) -> Path:
    """The file; it must lie within the folder of the pictures, whatever the id of the item says."""
    item = desk.row(row)
    if not has_picture(desk):
        raise Missing("Items of this collection are not pictures.")
    home = Path(str(desk.collection.settings.features.get("folder", ""))).resolve()
    path = (home / item.id).resolve()
    if not path.is_relative_to(home) or path.suffix.lower() not in ENDINGS or not path.is_file():
        raise Missing(f"The picture of {item.id!r} is not there.")
    return path
