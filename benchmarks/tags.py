"""Real collections through the command line: ``lass init``, ``lass fit``, ``lass evaluate --json``.

    python benchmarks/tags.py                              # the bundled packages
    python benchmarks/tags.py --sets corel5k lastfm --seeds 3

Files that ``lass init`` reads are prepared from the data folder in a temporary folder and thrown away
again: but for the packages of Debian, the sets may not be passed on. Seconds and peak memory are those of
each command, start included.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from machine import facts, write_json
from sets import DATA, ROOT, load_matrix

LASS = str(Path(sys.executable).with_name("lass"))
#: neighbours of a picture that are taken from the makers' list, the nearest with weight 1
CLOSEST = 30
#: an artist is kept with so many listeners, a tag of it with so many users, a tag at all with so many artists
LISTENERS, USERS, ARTISTS = 3, 2, 20


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def debian(data: Path, folder: Path) -> list[str]:
    """The packages that come with lass."""
    from lass.collection.bundled import debian as bundled

    items, tags = bundled()
    return [
        "--items", str(items), "--id", "package", "--text", "summary", "--text", "description",
        "--tags", str(tags),
    ]  # fmt: skip


def debian_all(data: Path, folder: Path) -> list[str]:
    """All packages, libraries too, with all tags."""
    items = str(data / "debian" / "packages.parquet")
    return [
        "--items", items, "--id", "package", "--text", "summary", "--text", "description",
        "--tag-column", "tags",
    ]  # fmt: skip


def corel5k(data: Path, folder: Path) -> list[str]:
    """Pictures by the neighbours their makers give; weights fall from 1 with the place in the list."""
    with np.load(data / "corel5k" / "corel5k_tagprop.npz", allow_pickle=False) as file:
        near, words, names = file["NN"][:, :CLOSEST], file["Y"], [str(word) for word in file["words"]]
    items = write(folder / "items.csv", ["id"], ([n] for n in range(len(words))))
    ties = (
        (n, m, round(1 - place / CLOSEST, 3)) for n, row in enumerate(near) for place, m in enumerate(row)
    )
    edges = write(folder / "edges.csv", ["a", "b", "weight"], ties)
    said = ((n, names[k], 1) for n, k in zip(*words.nonzero(), strict=True))
    tags = write(folder / "tags.csv", ["item", "tag", "value"], said)
    return ["--items", str(items), "--edges", str(edges), "--tags", str(tags)]


def delicious(data: Path, folder: Path) -> list[str]:
    """Web pages by their 500 words, as given vectors."""
    with np.load(data / "delicious" / "delicious.npz", allow_pickle=False) as file:
        X, Y = (load_matrix(file, part) for part in "XY")
        names = [str(name).removeprefix("TAG_") for name in file["label_names"]]
    items = write(folder / "items.csv", ["id"], ([n] for n in range(X.shape[0])))
    np.save(folder / "vectors.npy", X.toarray().astype(np.float32))
    said = ((n, names[k], 1) for n, k in zip(*Y.nonzero(), strict=True))
    tags = write(folder / "tags.csv", ["item", "tag", "value"], said)
    return ["--items", str(items), "--vectors", str(folder / "vectors.npy"), "--tags", str(tags)]


def lastfm(data: Path, folder: Path) -> list[str]:
    """Artists tied by who listens to them, with the tags that two users at least gave them."""
    import pandas as pd

    artists, tags, tagged, listens = (
        pd.read_parquet(data / "lastfm" / f"{name}.parquet")
        for name in ("artists", "tags", "tagged", "listens")
    )
    heard = listens.groupby("artist").user.nunique()
    kept = artists[artists.id.isin(heard.index[heard >= LISTENERS])].reset_index(drop=True)
    place = pd.Series(kept.index, kept.id)
    listens = listens[listens.artist.isin(kept.id)]
    plays = np.log1p(listens.weight.to_numpy(float))
    X = sp.csr_array((plays, (place[listens.artist].to_numpy(), listens.user.to_numpy())))
    half = sp.triu(lass.knn_graph(X, 15, metric="cosine")).tocoo()
    edges = write(folder / "edges.csv", ["a", "b", "weight"], zip(*half.coords, half.data, strict=True))
    counts = tagged[tagged.artist.isin(kept.id)].groupby(["artist", "tag"]).user.nunique()
    said = (
        counts[counts >= USERS].reset_index().merge(tags, left_on="tag", right_on="id", suffixes=("_id", ""))
    )
    carried = said.groupby("tag").artist.nunique()
    said = said[said.tag.isin(carried.index[carried >= ARTISTS])]
    items = write(folder / "items.csv", ["id", "name"], kept.name.items())
    rows = ((place[artist], tag, 1) for artist, tag in zip(said.artist, said.tag, strict=True))
    words = write(folder / "tags.csv", ["item", "tag", "value"], rows)
    return ["--items", str(items), "--title", "name", "--edges", str(edges), "--tags", str(words)]


def newsgroups(data: Path, folder: Path) -> list[str]:
    """Posts without their headers, the later part of them, with the topics that their group is part of."""
    import pandas as pd

    posts = pd.read_parquet(data / "newsgroups" / "newsgroups.parquet")
    posts = posts[posts.split == "test"]
    rows = ((name, text.split("\n\n", 1)[-1]) for name, text in zip(posts.id, posts.text, strict=True))
    items = write(folder / "items.csv", ["id", "text"], rows)
    parts = ((name, group.split(".")) for name, group in zip(posts.id, posts.group, strict=True))
    said = ((name, ".".join(part[:depth]), 1) for name, part in parts for depth in range(1, len(part) + 1))
    tags = write(folder / "tags.csv", ["item", "tag", "value"], said)
    return ["--items", str(items), "--text", "text", "--tags", str(tags)]


SETS: dict[str, Callable[[Path, Path], list[str]]] = {
    "debian": debian, "debian-all": debian_all, "corel5k": corel5k, "delicious": delicious, "lastfm": lastfm,
    "newsgroups": newsgroups,
}  # fmt: skip


def command(*arguments: str) -> tuple[str, dict[str, float]]:
    """Run lass; what it wrote, its seconds and its peak memory."""
    began = time.perf_counter()
    with subprocess.Popen([LASS, *arguments], stdout=subprocess.PIPE, text=True) as process:
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
    content = {"machine": facts(), "set": name, "commands": spent, "fit": fit, "evaluation": evaluation}
    write_json(out / f"evaluate-{name}.json", content)
    print(
        f"{name}: {evaluation['items']:,} items, {evaluation['tags']:,} tags, {evaluation['words']:,} words"
    )
    for step, cost in spent.items():
        print(f"  {step:9} {cost['seconds']:7.1f} s  {cost['peak_gib']:5.2f} GiB")
    for situation, told in evaluation["situations"].items():
        best = sorted(told["methods"].items(), key=lambda pair: -pair[1]["f1"]["mean"])
        shown = ", ".join(f"{method} {100 * row['f1']['mean']:.1f}" for method, row in best)
        print(f"  {situation:9} F1@{evaluation['top']}: {shown}", flush=True)


def main() -> None:
    """Run the sets that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results"
    )
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=["debian"])
    parser.add_argument("--seeds", type=int, default=3, help="draws of hidden words")
    parser.add_argument(
        "--situations", nargs="+", choices=["scattered", "items"], default=["scattered", "items"]
    )
    arguments = parser.parse_args()
    for name in arguments.sets:
        run(name, arguments.data, arguments.seeds, arguments.situations, arguments.out)


if __name__ == "__main__":
    main()
