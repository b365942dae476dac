"""Collections of kinds that differ from texts: LASS and what people use for each kind.

    python -m benchmarks.kinds                             all parts and sets
    python -m benchmarks.kinds edges --sets ppi --draws 2 --resume

Each part is a module with ``SETS``, ``DRAWS`` and ``measure(data, out, sets, draws, resume)``, which says
what is measured and how; results are in ``kinds_<part>.json``, kept draw by draw: ``--resume`` goes on.
What cannot run here, for want of a package or of data, says so and is left out. Sets measured side by side
need a folder each (``--out``); ``--merge FOLDERS`` puts their results into one.
"""

from __future__ import annotations

import sys
from functools import reduce
from importlib import import_module
from pathlib import Path

if __package__ in (None, ""):  # called as a file: the folder above is not on the path then
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common.data import MissingDataError
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.results import merged, read, write

#: name -> module
PARTS = {
    "edges": "benchmarks.kinds_edges",
    "embeddings": "benchmarks.kinds_embeddings",
    "both": "benchmarks.kinds_both",
    "numbers": "benchmarks.kinds_numbers",
    "one tag": "benchmarks.kinds_one_tag",
}


def main() -> None:
    """Run the parts that are asked for."""
    options = parser(__doc__, "resume")
    options.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; by default all")
    options.add_argument("--sets", nargs="*", default=[], help="of the part; by default all")
    options.add_argument("--draws", type=int, help="by default as many as the part says")
    options.add_argument("--merge", type=Path, nargs="*", default=[], help="folders whose results are taken")
    given = options.parse_args()
    if given.merge:
        merge(given.merge, given.out)
        return
    for part in chosen(PARTS, given.parts, "part"):
        try:
            module = import_module(PARTS[part])
        except ImportError as error:
            print(f"part {part} is left out: {error}", flush=True)
            continue
        draws = module.DRAWS if given.draws is None else given.draws
        for name in chosen(module.SETS, given.sets, "set"):
            try:
                module.measure(given.data, given.out, [name], draws, given.resume)
            except (ImportError, MissingDataError) as error:
                print(f"part {part}, set {name} is left out: {error}", flush=True)


def merge(folders: list[Path], out: Path) -> None:
    """Results of folders beside those in ``out``, set by set; pictures are drawn anew."""
    for name in PARTS.values():
        path = out / f"{name.rpartition('.')[2]}.json"
        found = [read(folder / path.name) for folder in folders]
        if any(found):
            write(path, reduce(merged, [one for one in found if one], read(path)), depth=4)
            module = import_module(name)
            if hasattr(module, "picture"):
                module.picture(path)


if __name__ == "__main__":
    run(main)
