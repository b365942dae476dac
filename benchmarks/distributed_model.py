"""What an iteration of the Ray engine should cost, from measured constants; the figures of ``docs/scale.md``.

python -m benchmarks.distributed_model      from results/distributed.json, and the graph in the cache
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from benchmarks.common import results
from benchmarks.common.options import parser
from benchmarks.distributed import CATEGORIES, WORKERS, build

#: bytes of a number
NUMBER = 8


class Constants(NamedTuple):
    """Seconds: of an edge and a row for each category on one core, a byte of halo, a round, a worker."""

    edge: float
    row: float
    byte: float
    round: float
    worker: float


class Shape(NamedTuple):
    """The rows of one partition."""

    rows: float
    edges: float
    halo: float


def shapes(folder: Path, workers: int) -> list[Shape]:
    """Read rows, edges and halo of each partition."""
    found = []
    for number in range(workers):
        edges = pq.read_table(folder / str(workers) / "edges" / f"part-{number:05d}.parquet")
        away = edges["home"].to_numpy() != number
        items = pq.read_metadata(folder / str(workers) / "nodes" / f"part-{number:05d}.parquet").num_rows
        found.append(Shape(items, len(away), len(np.unique(edges["other"].to_numpy()[away]))))
    return found


def constants(results: dict[str, Any]) -> Constants:
    """Edges and rows from two workers on the clouds and on the path; rounds from those with nothing to do."""
    clouds, path = results["iterations"]["2"], results["carried"]
    edges, items = results["runs"]["one"]["edges"], results["items"]
    products = CATEGORIES * np.array([[edges, items], [400_000, 200_000]])
    edge, row = np.linalg.solve(products, [clouds["kernel_processor"], path["kernel_processor"]])
    counts = np.array([int(count) for count in results["rounds"]])
    worker, base = np.polyfit(counts, [found["iteration_s"] for found in results["rounds"].values()], 1)
    carried = NUMBER * CATEGORIES * 200_000
    idle = results["rounds"]["2"]["worker_processor"]
    byte = (path["worker_processor"] - path["kernel_processor"] - idle) / carried
    return Constants(float(edge), float(row), float(byte), float(base), float(worker))


def processor(known: Constants, parts: list[Shape], numbers: float, idle: float) -> tuple[float, float]:
    """Processor seconds of all workers in one iteration: kernels, and everything else."""
    kernels = sum(numbers * (known.edge * part.edges + known.row * part.rows) for part in parts)
    return kernels, NUMBER * numbers * known.byte * sum(part.halo for part in parts) + idle


def main() -> None:
    """Print the constants, and what they predict beside what was measured."""
    found = results.measured(parser(__doc__).parse_args().out / "distributed.json")
    known, folder = constants(found), build(found["items"])
    print({name: f"{value:.3g}" for name, value in known._asdict().items()})
    for workers in WORKERS:
        parts, measured = shapes(folder, workers), found["iterations"][str(workers)]
        idle = found["rounds"][str(workers)]["worker_processor"]
        kernels, rest = processor(known, parts, CATEGORIES, idle)
        halo = sum(part.halo for part in parts)
        extra = measured["worker_processor"] - measured["kernel_processor"]
        print(
            f"{workers} workers: halo {halo:,.0f} rows, {NUMBER * CATEGORIES * halo / 1e6:.0f} MB; "
            f"processor ms, model: kernels {1e3 * kernels:.0f}, the rest {1e3 * rest:.1f}; "
            f"measured: kernels {1e3 * measured['kernel_processor']:.0f}, the rest {1e3 * extra:.1f}"
        )


if __name__ == "__main__":
    main()
