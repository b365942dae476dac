"""A real collection that comes with the package: programs of Debian, some tagged by its crowd, some not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Files(NamedTuple):
    """Two tables in the form that ``lass init`` reads."""

    items: Path
    tags: Path


def debian() -> Files:
    """The files of 6,000 Debian packages: what they are, and the tags that volunteers gave them.

    ``items`` has the columns package, source, section, summary and description; ``tags`` has
    item, tag and value. The data card ``debian-card.md`` in the same folder describes where they come
    from and how they were chosen.

    Examples
    --------
    >>> import gzip
    >>> from lass.collection.bundled import debian
    >>> with gzip.open(debian().tags, "rt", encoding="utf-8") as file:
    ...     print(file.readline().strip())
    item,tag,value
    """
    folder = Path(__file__).parent
    return Files(folder / "items.csv.gz", folder / "tags.csv.gz")
