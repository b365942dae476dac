"""Real collections through the command line: ``lass init``, ``lass fit``, ``lass evaluate --json``.

    python -m benchmarks.command_line                              the bundled packages
    python -m benchmarks.command_line --sets corel5k lastfm --seeds 3

Files that ``lass init`` reads are prepared from the data folder in a temporary folder and deleted
again: but for the packages of Debian, the sets may not be passed on. Seconds and peak memory are those of
each command, start included.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import data as files
from benchmarks.common import results
from benchmarks.common.options import parser
from benchmarks.common.options import run as run_main

LASS = str(Path(sys.executable).with_name("lass"))
#: neighbours of a picture that are taken from the makers' list, the nearest with weight 1
CLOSEST = 30
#: a tag of an artist is kept if so many users gave it, a tag at all with so many artists
USERS, ARTISTS = 2, 20


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """One CSV file; its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return str(path)


def write_tags(folder: Path, Y: Any, names: Sequence[str]) -> str:
    """The tags of every item, by its number."""
    rows = ((n, names[k], 1) for n, k in zip(*Y.nonzero(), strict=True))
    return write(folder / "tags.csv", ["item", "tag", "value"], rows)


def write_edges(folder: Path, W: sp.csr_array) -> str:
    """The edges of a graph, by the numbers of the items."""
    W = W.tocoo()
    return write(folder / "edges.csv", ["a", "b", "weight"], zip(*W.coords, W.data, strict=True))


def debian(data: Path, folder: Path) -> list[str]:
    """The packages that come with lass."""
    from lass.collection.bundled import debian as bundled

    items, tags = bundled()
    return ["--items", str(items), *PACKAGE_COLUMNS, "--tags", str(tags)]


def debian_all(data: Path, folder: Path) -> list[str]:
    """All packages, libraries too, with all tags."""
    items = str(files.needed(data, "debian/packages.parquet"))
    return ["--items", items, *PACKAGE_COLUMNS, "--tag-column", "tags"]


def corel5k(data: Path, folder: Path) -> list[str]:
    """Pictures by the neighbours their makers give; weights fall from 1 with the place in the list."""
    directed, carries, names = files.corel5k(data, CLOSEST)
    directed.data = directed.data.round(3)
    items = write(folder / "items.csv", ["id"], ([n] for n in range(len(carries))))
    edges, tags = write_edges(folder, directed), write_tags(folder, carries, names)
    return ["--items", items, "--edges", edges, "--tags", tags]


def delicious(data: Path, folder: Path) -> list[str]:
    """Web pages by their 500 terms, as given vectors."""
    X, Y, names = files.delicious(data)
    items = write(folder / "items.csv", ["id"], ([n] for n in range(X.shape[0])))
    np.save(folder / "vectors.npy", X.toarray().astype(np.float32))
    tags = write_tags(folder, Y, names)
    return ["--items", items, "--vectors", str(folder / "vectors.npy"), "--tags", tags]


def lastfm(data: Path, folder: Path) -> list[str]:
    """Artists with edges by who listens to them, and the tags that two users at least gave them."""
    found = files.lastfm(data)
    pairs = [pair for pair, users in found.given.items() if users >= USERS]
    artists = Counter(tag for _, tag in pairs)
    rows = ((n, found.tags[k], 1) for n, k in sorted(pairs) if artists[k] >= ARTISTS)
    tags = write(folder / "tags.csv", ["item", "tag", "value"], rows)
    items = write(folder / "items.csv", ["id", "name"], enumerate(found.names))
    edges = write_edges(folder, sp.triu(lass.knn_graph(found.plays, 15, metric="cosine")))
    return ["--items", items, "--title", "name", "--edges", edges, "--tags", tags]


def newsgroups(data: Path, folder: Path) -> list[str]:
    """Posts without their headers, the later part of them, with the topics that their group is part of."""
    columns = files.newsgroups(data, "id", "text", "group", "split")
    posts = [post for post in zip(*columns, strict=True) if post[3] == "test"]
    rows = ((name, text.split("\n\n", 1)[-1]) for name, text, *_ in posts)
    items = write(folder / "items.csv", ["id", "text"], rows)
    parts = ((name, group.split(".")) for name, _, group, _ in posts)
    topics = ((name, ".".join(part[:depth]), 1) for name, part in parts for depth in range(1, len(part) + 1))
    tags = write(folder / "tags.csv", ["item", "tag", "value"], topics)
    return ["--items", items, "--text", "text", "--tags", tags]


PACKAGE_COLUMNS = ("--id", "package", "--text", "summary", "--text", "description")
SETS: dict[str, Callable[[Path, Path], list[str]]] = {
    "debian": debian, "debian-all": debian_all, "corel5k": corel5k, "delicious": delicious, "lastfm": lastfm,
    "newsgroups": newsgroups,
}  # fmt: skip


def command(*arguments: str, source: Path | None = None) -> tuple[str, dict[str, float]]:
    """Run lass, or that of another source folder; what it wrote, its seconds and its peak memory."""
    began = time.perf_counter()
    program = [LASS] if source is None else [sys.executable, "-m", "lass"]
    environment = os.environ | ({} if source is None else {"PYTHONPATH": str(source)})
    with subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        written = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"lass {arguments[0]} ended with {process.returncode}")
    spent = {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
    }
    return written, spent


def run(name: str, data: Path, seeds: int, situations: Sequence[str], out: Path) -> None:
    """One set, from its files to the result."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        collection = str(folder / "collection")
        spent: dict[str, Any] = {}
        # in a process of its own: what a command is started from counts towards its peak memory
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            files = pool.submit(SETS[name], data, folder).result()
        _, spent["init"] = command("init", collection, "--name", name, *files, "--quiet")
        fitted, spent["fit"] = command("fit", collection, "--json")
        picture = str(out / f"evaluate-{name}.png")
        asked = [part for situation in situations for part in ("--situation", situation)]
        written, spent["evaluate"] = command(
            "evaluate", collection, "--seeds", str(seeds), "--json", "--picture", picture, *asked
        )
    evaluation = json.loads(written)
    fit = {
        key: json.loads(fitted)[key] for key in ("lam", "lam_reason", "relative_gap", "iterations", "seconds")
    }
    content = {"set": name, "commands": spent, "fit": fit, "evaluation": evaluation}
    results.add(out / f"evaluate-{name}.json", content, depth=6)
    sizes = ", ".join(f"{evaluation[what]:,} {what}" for what in ("items", "tags"))
    print(f"{name}: {sizes}, {evaluation['positive']:,} positive annotations")
    for step, cost in spent.items():
        print(f"  {step:9} {cost['seconds']:7.1f} s  {cost['peak_gib']:5.2f} GiB")
    for situation, found in evaluation["situations"].items():
        best = sorted(found["methods"].items(), key=lambda pair: -pair[1]["f1"]["mean"])
        shown = ", ".join(f"{method} {100 * row['f1']['mean']:.1f}" for method, row in best)
        print(f"  {situation:9} F1@{evaluation['top']}: {shown}", flush=True)


def main() -> None:
    """Run the sets that were asked for."""
    options = parser(__doc__)
    options.add_argument("--sets", nargs="+", choices=list(SETS), default=["debian"])
    options.add_argument("--seeds", type=int, default=3, help="draws of hidden tags")
    situations = ["scattered", "items"]
    options.add_argument("--situations", nargs="+", choices=situations, default=situations)
    arguments = options.parse_args()
    for name in arguments.sets:
        run(name, arguments.data, arguments.seeds, arguments.situations, arguments.out)


if __name__ == "__main__":
    run_main(main)
