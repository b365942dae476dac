"""``lass fit --engine ray``, all stages of it, against one process: the answer, memory, seconds and bytes.

    python -m benchmarks.distributed_pipeline                 all Debian packages, or the bundled ones
    python -m benchmarks.distributed_pipeline --bundled       the bundled ones; nothing is written
    python -m benchmarks.distributed_pipeline --resume        goes on where a run was interrupted

The same collection is fitted without the map, each time in a process of its own: by one process with all
threads, then with 2 and 4 workers of one thread, whose work may take no more than a share of what one process
took. What is compared is what was saved. Memory is that of the work: at most, less what the process held
before. ``docs/scale.md`` uses the figures; they are in ``results/distributed.json`` under "pipeline".
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import lass
from benchmarks.command_line import LASS, debian, debian_all
from benchmarks.common import results
from benchmarks.common.data import CACHE
from benchmarks.common.measuring import apart, with_memory
from benchmarks.common.options import parser
from benchmarks.common.parts import Parts
from benchmarks.common.stamp import stamp
from lass.tagging.distributed import Workers
from lass.tagging.storage import load_model

WORKERS = (2, 4)
#: memory limit of a worker, as a share of what one process takes
SHARE = 0.5
#: items whose assignments are compared
COMPARED = 5000


def create(data: Path, folder: Path, bundled: bool) -> None:
    """Make the collection."""
    every = not bundled and (data / "debian" / "packages.parquet").is_file()
    options = (debian_all if every else debian)(data, folder.parent)
    subprocess.run([LASS, "init", str(folder), *options, "--quiet"], check=True)


def fit(folder: Path, workers: int, memory: float | None) -> dict[str, Any]:
    """One fit: in this process with ``workers=0``, else on workers."""
    engine = Workers(workers, memory=memory, out=folder.parent / "suggestions") if workers else None
    with lass.open(folder) as collection:
        result, costs = with_memory(lambda: collection.fit(engine=engine, draw_map=False))
        assert result.model is not None
        edges = collection.graph.nnz
    stages = {name: asdict(cost) for name, cost in result.workers.items()}
    found = {
        "workers": workers, "limit_gib": memory, **costs, "stages_s": result.seconds, "stages": stages,
        "items": result.tags.items, "tags": result.tags.tags, "edges": edges, "lam": result.model.lam,
        "sweeps": result.model.solution.n_iter, "relative_gap": result.model.solution.relative_gap,
    }  # fmt: skip
    if workers:
        files = list((folder.parent / "suggestions").iterdir())
        found |= {"parts": len(files), "largest_mib": max(one["added"] for one in stages.values()) / 2**20}
    return found


def difference(one: Path, other: Path) -> dict[str, Any]:
    """How far the saved models of two folders are apart."""
    with lass.open(one) as a, lass.open(other) as b:
        first, second = load_model(a)[0], load_model(b)[0]
        edges = abs(a.graph - b.graph)
    rows = np.random.default_rng(0).permutation(len(first.solution.Z))[:COMPARED]
    Z, other_Z = (model.solution.Z.rows(rows) for model in (first, second))
    assert first.scores is not None
    assert second.scores is not None
    scores, others = first.scores.values, second.scores.values
    both = scores.multiply(others > 0) - others.multiply(scores > 0)
    apart_by = abs(scores - others)
    return {
        "edges": int((edges > 1e-9).sum()), "assignments": float(np.abs(Z - other_Z).max()),
        "scores": float(abs(both).max()), "scores_of_any": float(apart_by.max()),
        "scores_beyond_0.005": int((apart_by > 0.005).sum()), "scores_stored": int(scores.nnz),
        "top_tags": float((first.scores.top_tags[:, 0] != second.scores.top_tags[:, 0]).mean()),
    }  # fmt: skip


def measure(data: Path, bundled: bool, resume: bool) -> dict[str, Any]:
    """All fits, and how far they are apart; their collections are kept until all are done."""
    place = CACHE / f"distributed-pipeline{'-bundled' * bundled}"
    parts = Parts(place / "parts.json", resume)
    if not parts.known:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    if not (place / "made").is_dir():
        (place / "draft").mkdir(exist_ok=True)
        create(data, place / "draft" / "made", bundled)
        (place / "draft" / "made").rename(place / "made")
    found: dict[str, Any] = {}
    for count in (0, *WORKERS):
        name = str(count) if count else "one"
        limit = SHARE * found["one"]["memory"] / 1024 if count else None
        found[name] = parts.measure(name, partial(measure_fit, place, count, limit))
        show(found[name])
    shutil.rmtree(place)
    return found


def measure_fit(place: Path, count: int, limit: float | None) -> dict[str, Any]:
    """One fit, and how far its model is from that of one process."""
    folder = place / str(count) / "items"
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(place / "made", folder)
    load = round(os.getloadavg()[0], 1)
    run: dict[str, Any] = apart(fit, folder, count, limit) | {"load": load}
    return run | {"difference": apart(difference, place / "0" / "items", folder)} if count else run


def show(run: dict[str, Any]) -> None:
    """One line, and one for each stage."""
    kept = {name: value for name, value in run.items() if name not in ("stages", "stages_s")}
    print(kept, flush=True)
    for name, cost in run["stages"].items():
        added = cost["added"] / 2**20
        print(f"  {name:14} {cost['tasks']:5} tasks {cost['seconds']:7.1f} s {added:6.0f} MiB", flush=True)


def main() -> None:
    """Measure, print and write the numbers."""
    options = parser(__doc__, "resume")
    options.add_argument("--bundled", action="store_true", help="the bundled packages; nothing is written")
    given = options.parse_args()
    found = measure(given.data, given.bundled, given.resume)
    if not given.bundled:
        path = given.out / "distributed.json"
        fresh = found | {"machine": stamp("ray", "pyarrow")}
        results.write(path, results.read(path) | {"pipeline": results.plain(fresh)})


if __name__ == "__main__":
    main()
