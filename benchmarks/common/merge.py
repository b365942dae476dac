"""Put results of several runs together, such as one run a set on a machine of many cores.

    python -m benchmarks.few_labels --sets usps --out one        each run has a folder of its own
    python -m benchmarks.few_labels --sets mnist --out two
    python -m benchmarks.common.merge one two --out benchmarks/results

Of every result file in the folders there is one in ``--out`` then, with all cells. All must be of the same
code, and no cell may be measured twice with another outcome. What was in ``--out`` is replaced, unless it is
named among the folders, too. Pictures, and summaries of all cells: run the benchmark with ``--redraw`` then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import results
from benchmarks.common.results import RESULTS

#: of the stamp, what must be equal, and the key of the stamp
SAME, STAMP = ("commit", "hashes"), "machine"
#: what is computed from all cells, and again by --redraw
COMPUTED = ("summary", "compared")


class DifferentResultsError(ValueError):
    """Two files that cannot be put together."""


def merge(trees: Mapping[str, Any]) -> dict[str, Any]:
    """Several results, by the name of their files, as one.

    Examples
    --------
    >>> from benchmarks.common.merge import merge
    >>> merge({"one": {"sets": {"usps": {"1": 5.0}}}, "two": {"sets": {"usps": {"2": 4.0}, "mnist": {}}}})
    {'sets': {'usps': {'1': 5.0, '2': 4.0}, 'mnist': {}}}
    """
    found: dict[str, Any] = {}
    first = next(iter(trees), "")
    for name, tree in trees.items():
        made, here = found.get(STAMP, {}), tree.get(STAMP, {})
        for key in SAME:
            if made and here and made.get(key) != here.get(key):
                raise DifferentResultsError(
                    f"{first} and {name} are of different code: {key} {made.get(key)} and {here.get(key)}; "
                    "measure both with the same"
                )
        cells = {key: value for key, value in tree.items() if key not in (STAMP, *COMPUTED)}
        found = _merged(found, cells, name, ()) | ({STAMP: made | here} if made or here else {})
    return found


def _merged(old: Any, new: Any, name: str, keys: tuple[str, ...]) -> Any:
    """Two trees as one; a leaf that both have must be the same."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        both = {
            key: _merged(old[key], value, name, (*keys, key)) if key in old else value
            for key, value in new.items()
        }
        return {**old, **both}
    if old != new:
        place = " / ".join(keys)
        raise DifferentResultsError(
            f"{name} has another value of {place} than the files before it; keep one of them"
        )
    return old


def merge_folders(folders: Sequence[Path], out: Path) -> list[Path]:
    """Merge the files of the same name; the files that were written."""
    for folder in folders:
        if not folder.is_dir():
            raise DifferentResultsError(f"{folder} is no folder")
    names = sorted({path.name for folder in folders for path in folder.glob("*.json")})
    if not names:
        raise DifferentResultsError(f"no result file in {', '.join(map(str, folders))}")
    found = {}
    for name in names:
        paths = [folder / name for folder in folders if (folder / name).exists()]
        found[out / name] = merge({str(path): results.read(path) for path in paths})
    for path, tree in found.items():
        results.write(path, tree, depth=5)
    return list(found)


def main() -> None:
    """Merge what the command line names."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, prog="benchmarks.common.merge"
    )
    options.add_argument("folders", nargs="+", type=Path, help="with results of the same code")
    options.add_argument("--out", type=Path, default=RESULTS, help="folder of the merged results")
    arguments = options.parse_args()
    try:
        written = merge_folders(arguments.folders, arguments.out)
    except DifferentResultsError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for path in written:
        print(path)


if __name__ == "__main__":
    main()
