"""Suggestions of all items as Parquet files, some items a file."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import numpy as np

from lass.model.atomic import atomic_path
from lass.tagging.suggestions import TagSuggester

#: tags of an item at most
TOP = 10


def check_folder(out: Path) -> None:
    """Make the folder, or refuse before the work is done one that files cannot be written into."""
    if out.exists() and not out.is_dir():
        raise ValueError(
            f"{out} is a file; name a folder for the suggestions, which is made where it is missing"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {out} cannot be made ({error.strerror})") from None
    if not os.access(out, os.W_OK):
        raise ValueError(f"the folder {out} cannot be written into")


def write_parts(suggester: TagSuggester, out: Path, parts: int) -> None:
    """What ``lass suggest --top 10`` shows: item, tag, score (None while too little is known) and rank.

    Files are ``part-00000.parquet`` and so on; those of an earlier call are replaced.
    """
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    ids, names = (
        np.array(list(found), object) for found in (suggester.annotations.ids, suggester.annotations.names)
    )
    size = suggester.scores.shape[0]
    for part in range(parts):
        rows = np.arange(size * part // parts, size * (part + 1) // parts)
        n, k, rank = suggester.best(rows, TOP)
        scores = suggester.scores.at(n, k).astype(np.float32)
        unknown = np.full(len(n), bool(suggester.model.items_until_percentages))
        table = arrow.table({
            "item": arrow.array(ids[n], arrow.string()), "tag": arrow.array(names[k], arrow.string()),
            "score": arrow.array(scores, mask=unknown), "rank": arrow.array(rank.astype(np.int32)),
            "strength": arrow.array(scores),
        })  # fmt: skip
        with atomic_path(out / f"part-{part:05d}.parquet") as draft:
            parquet.write_table(table, draft)
    for old in out.glob("part-[0-9][0-9][0-9][0-9][0-9].parquet"):
        if int(old.stem.removeprefix("part-")) >= parts:
            old.unlink()
