"""What an iteration of the Ray engine should cost, from measured constants; the figures of ``docs/scale.md``.

python benchmarks/distributed_model.py      from results/distributed.json, and the graph in the cache
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from distributed import CATEGORIES, RESULTS, WORKERS, build
from machine import read_json

#: bytes of a number
NUMBER = 8


class Constants(NamedTuple):
    """Seconds: a tie and a row for each category on one core; a byte of halo; a round, and a worker in it."""

    tie: float
    row: float
    byte: float
    round: float
    worker: float


class Shape(NamedTuple):
    """The rows of one partition."""

    rows: float
    ties: float
    halo: float


def shapes(folder: Path, workers: int) -> list[Shape]:
    """Read rows, ties and halo of each partition."""
    found = []
    for number in range(workers):
        edges = pq.read_table(folder / str(workers) / "edges" / f"part-{number:05d}.parquet")
        away = edges["home"].to_numpy() != number
        items = pq.read_metadata(folder / str(workers) / "nodes" / f"part-{number:05d}.parquet").num_rows
        found.append(Shape(items, len(away), len(np.unique(edges["other"].to_numpy()[away]))))
    return found


def constants(results: dict[str, Any]) -> Constants:
    """Ties and rows from two workers on the clouds and on the path; rounds from those with nothing to do."""
    clouds, path = results["iterations"]["2"], results["carried"]
    ties, items = results["runs"]["one"]["ties"], results["items"]
    products = CATEGORIES * np.array([[ties, items], [400_000, 200_000]])
    tie, row = np.linalg.solve(products, [clouds["kernel_processor"], path["kernel_processor"]])
    counts = np.array([int(count) for count in results["rounds"]])
    worker, base = np.polyfit(counts, [found["iteration_s"] for found in results["rounds"].values()], 1)
    carried = NUMBER * CATEGORIES * 200_000
    idle = results["rounds"]["2"]["worker_processor"]
    byte = (path["worker_processor"] - path["kernel_processor"] - idle) / carried
    return Constants(float(tie), float(row), float(byte), float(base), float(worker))


def processor(known: Constants, parts: list[Shape], numbers: float, idle: float) -> tuple[float, float]:
    """Processor seconds of all workers in one iteration: kernels, and everything else."""
    kernels = sum(numbers * (known.tie * part.ties + known.row * part.rows) for part in parts)
    return kernels, NUMBER * numbers * known.byte * sum(part.halo for part in parts) + idle


def main() -> None:
    results = read_json(RESULTS)
    known, folder = constants(results), build(results["items"])
    print({name: f"{value:.3g}" for name, value in known._asdict().items()})
    for workers in WORKERS:
        parts, measured = shapes(folder, workers), results["iterations"][str(workers)]
        idle = results["rounds"][str(workers)]["worker_processor"]
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
