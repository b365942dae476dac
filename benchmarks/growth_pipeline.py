"""How the seconds and the memory of ``lass fit`` grow with the number of items, at ten thousand tags.

    python -m benchmarks.growth_pipeline                          10,000 to 160,000 items
    python -m benchmarks.growth_pipeline --million                one million as well
    python -m benchmarks.growth_pipeline --updates                updates of the models fitted before
    python -m benchmarks.growth_pipeline --million --resume       goes on where a run was interrupted

Items are points of many clouds in 32 dimensions, given as vectors. Half of them are tagged, with five tags on
average that depend on the cloud; frequencies of tags follow Zipf. Every size is a process of its
own: ``lass fit`` without the map, neighbours included, at one lam; then updates as the Studio makes them
after opening the collection.
"""

from __future__ import annotations

import json
import resource
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import lass
from benchmarks.command_line import command
from benchmarks.common import results
from benchmarks.common.data import CACHE, RECIPE
from benchmarks.common.measuring import apart, growth
from benchmarks.common.options import parser, run
from benchmarks.common.parts import Parts
from benchmarks.common.pictures import NEUTRAL, OURS, drawn, ticks
from lass.collection import CollectionStore, Item, Settings

TAGS = 10_000
DIMENSIONS = 32
#: items of a cloud, tags that a cloud chooses from, and tags of an item on average
CLOUD, CHOICE, EACH = 200, 40, 5.0
#: weight of the neighbours, the same at all sizes: a fit that chooses it tries four, on a sample of the items
LAM = 0.6
SIZES = (10_000, 20_000, 40_000, 80_000, 160_000)
#: annotations after which the model in memory is updated
UPDATES = 20


def build(size: int) -> str:
    """Make the collection of that size, or find it in the cache."""
    folder = CACHE / f"growth-pipeline-{size}-r{RECIPE}"
    if folder.exists():
        return str(folder)
    rng = np.random.default_rng(0)
    clouds = max(size // CLOUD, 2)
    centres = rng.standard_normal((clouds, 8)) @ rng.standard_normal((8, DIMENSIONS))
    cloud = rng.integers(clouds, size=size)
    X = (centres[cloud] + 0.6 * rng.standard_normal((size, DIMENSIONS))).astype(np.float32)
    frequency = 1.0 / np.arange(1, TAGS + 1)
    frequency /= frequency.sum()
    of_cloud = rng.choice(TAGS, size=(clouds, CHOICE), p=frequency)
    count = np.where(rng.random(size) < 0.5, 0, 1 + rng.poisson(EACH - 1.0, size))
    item = np.repeat(np.arange(size), count)
    place = np.minimum(rng.geometric(0.12, len(item)) - 1, CHOICE - 1)
    pairs = np.unique(item * TAGS + of_cloud[cloud[item], place])
    ids, names = [f"item{n:07d}" for n in range(size)], [f"tag{k:05d}" for k in range(TAGS)]
    annotations = ((ids[pair // TAGS], names[pair % TAGS], 1) for pair in pairs.tolist())
    settings = Settings(features={"kind": "vectors"}, metric="euclidean")
    new = folder.with_suffix(".new")
    items = [Item(name) for name in ids]
    CollectionStore.create(new, items, names, list(annotations), settings=settings, features=X).close()
    new.rename(folder)
    return str(folder)


def updates(folder: str) -> dict[str, Any]:
    """Open the fitted collection and annotate items, as the Studio's background thread does."""
    from lass.tagging import LiveModel

    rng = np.random.default_rng(1)
    began = time.perf_counter()
    with lass.open(folder) as collection:
        live = LiveModel(collection)
        opened = time.perf_counter() - began
        names, size, seconds = collection.names(), len(collection), []
        for _ in range(UPDATES):
            item = collection.ids()[int(rng.integers(size))]
            collection.tag(item, names[int(rng.integers(100))])
            before = time.perf_counter()
            live.update(collection.annotation_matrix())
            seconds.append(time.perf_counter() - before)
        collection.undo(UPDATES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"open": opened, "update_median": float(np.median(seconds)), "peak_gib": peak,
            "update_95": float(np.quantile(seconds, 0.95))}  # fmt: skip


def measure(size: int) -> dict[str, Any]:
    """Fit one collection and update its model."""
    folder = apart(build, size)
    for name in ("graph", "assignments"):
        (Path(folder) / "arrays" / f"{name}.npz").unlink(missing_ok=True)
    written, cost = command("fit", folder, "--no-map", "--lam", str(LAM), "--json")
    fitted = json.loads(written)
    return {
        "N": size, "K": TAGS, "annotations": fitted["tag_counts"]["positive"],
        "edges": fitted["graph"]["n_edges"], "stages": fitted["seconds"], **cost,
        "live": apart(updates, folder),
    }  # fmt: skip


def measure_updates(size: int, before: dict[str, Any]) -> dict[str, Any]:
    """The same with updates alone measured again, of a collection that is fitted."""
    return before | {"live": apart(updates, apart(build, size))}


def summary(rows: list[dict[str, Any]]) -> str:
    """One size a line, and how seconds grow."""
    lines = ["    items   annotations       edges  seconds  processor s    GiB  update s (95 %)  open s"]
    for row in rows:
        lines.append(
            f"{row['N']:9,} {row['annotations']:13,} {row['edges']:11,} {row['seconds']:8.1f} "
            f"{row['processor_seconds']:12.1f} {row['peak_gib']:6.2f} {row['live']['update_95']:16.2f} "
            f"{row['live']['open']:7.2f}"
        )
    if len(rows) > 1:
        work = [row["annotations"] + row["edges"] for row in rows]
        exponent = growth(work, [row["processor_seconds"] for row in rows])
        lines.append(f"Processor seconds grow as (annotations + edges)^{exponent:.2f}")
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and memory against the number of items."""
    sizes = np.array([row["N"] for row in rows])
    ours = {"color": OURS, "marker": "o", "lw": 2, "mec": "white"}
    with drawn(path, (10, 4.2), columns=2) as (_, (left, right)):
        for axes, key, title in (
            (left, "processor_seconds", "processor seconds"), (right, "peak_gib", "peak memory, GiB"),
        ):  # fmt: skip
            values = np.array([row[key] for row in rows])
            straight = values[-1] * sizes / sizes[-1]
            axes.plot(sizes, straight, ls="--", color=NEUTRAL, lw=1, label="in proportion")
            axes.plot(sizes, values, label="lass fit", **ours)
            axes.set(xscale="log", yscale="log", xlabel="items", title=title)
            ticks(axes, sizes, [f"{size // 1000:,}k" for size in sizes])
            axes.legend()


def main() -> None:
    """Measure every size, print the table, write the numbers and draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of items")
    options.add_argument("--million", action="store_true", help="one million items as well")
    options.add_argument("--updates", action="store_true", help="updates alone, of what was fitted before")
    arguments = options.parse_args()
    path = arguments.out / "growth_pipeline.json"
    parts = Parts(CACHE / "growth-pipeline-parts.json", arguments.resume)
    for size in [] if arguments.redraw else arguments.sizes + [1_000_000] * arguments.million:
        known = results.measured(path)["rows"][str(size)] if arguments.updates else {}
        work = partial(measure_updates, size, known) if arguments.updates else partial(measure, size)
        found = parts.measure(f"{size}{' updates' * arguments.updates}", work)
        results.add(path, {"rows": {str(size): found}, "K": TAGS}, levels=2)
        print(summary([found]), flush=True)
    if not arguments.redraw:
        parts.end()
    rows = sorted(results.measured(path)["rows"].values(), key=lambda row: row["N"])
    print(summary(rows))
    draw(rows, path.with_suffix(".png"))


if __name__ == "__main__":
    run(main)
