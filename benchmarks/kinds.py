"""Collections of kinds that differ from texts: LASS and what people use for each kind.

    python -m benchmarks.kinds                             all parts and sets
    python -m benchmarks.kinds edges --sets ppi --draws 2 --resume

Each part is a module with ``SETS``, ``DRAWS`` and ``measure(data, out, sets, draws, resume)``, which says
what is measured and how; results are in ``kinds_<part>.json``, kept draw by draw: ``--resume`` goes on.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

if __package__ in (None, ""):  # called as a file: the folder above is not on the path then
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common.options import chosen, parser, run

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
    given = options.parse_args()
    for part in chosen(PARTS, given.parts, "part"):
        module = import_module(PARTS[part])
        draws = module.DRAWS if given.draws is None else given.draws
        module.measure(given.data, given.out, chosen(module.SETS, given.sets, "set"), draws, given.resume)


if __name__ == "__main__":
    run(main)
