"""``lass fit`` from beginning to end on real collections: stages, seconds, memory, and an SVM beside it.

    python -m benchmarks.pipeline                                 all sets
    python -m benchmarks.pipeline --sets debian-all               one of them
    python -m benchmarks.pipeline --resume                        goes on where a run was interrupted
    python -m benchmarks.pipeline --redraw                        the table and the picture again

Files that ``lass init`` reads are prepared from the data folder. Then, each a process of its own: a fit
without the map, suggestions for all items as a file, an update (``--update``) and a second fit after a
hundred new annotations, the map.
Where items are texts, what people would use instead runs beside it: TF-IDF and a linear SVM for every tag.
Seconds, processor seconds and peak memory are those of the processes, start included; the stages are those
that the fit reports. With ``--before`` a fit by the code of an earlier commit, map included, is added.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import lass
from benchmarks import command_line
from benchmarks.command_line import command, write, write_edges
from benchmarks.common import results
from benchmarks.common.data import CACHE
from benchmarks.common.measuring import apart, with_memory
from benchmarks.common.options import parser, run
from benchmarks.common.parts import Parts
from benchmarks.common.pictures import drawn
from benchmarks.common.stamp import ROOT

#: annotations added before the second fit
ADDED = 100
#: stages in the order in which they run, and their colours
STAGES = {
    "features": "#9ecae1", "neighbours": "#6baed6", "graph": "#4292c6", "lam": "#fdae6b", "solve": "#e6550d",
    "scores": "#31a354", "saving": "#969696",
}  # fmt: skip


def lastfm_all(data: Path, folder: Path) -> list[str]:
    """All artists with every tag that anybody gave them, joined to those that the same people play."""
    tables = ("artists", "tags", "tagged", "listens")
    artists, tags, tagged, listens = (pd.read_parquet(data / "lastfm" / f"{name}.parquet") for name in tables)
    place = {artist: row for row, artist in enumerate(artists["id"])}
    names = dict(zip(tags["id"], tags["tag"].str.lstrip("-"), strict=True))
    given = {(place[artist], names[tag]) for artist, tag in zip(tagged["artist"], tagged["tag"], strict=True)
             if artist in place}  # fmt: skip
    rows = ((n, tag, 1) for n, tag in sorted(given))
    tag_file = write(folder / "tags.csv", ["item", "tag", "value"], rows)
    items = write(folder / "items.csv", ["id", "name"], enumerate(artists["name"]))
    users = listens["user"].astype("category").cat.codes.to_numpy()
    ends = listens["artist"].map(place).to_numpy(), users
    plays = sp.csr_array((np.log1p(listens["weight"].to_numpy(float)), ends), (len(place), users.max() + 1))
    edges = write_edges(folder, sp.triu(lass.knn_graph(plays, 15, metric="cosine")))
    return ["--items", items, "--title", "name", "--edges", edges, "--tags", tag_file]


SETS = {
    "debian": command_line.debian,
    "delicious": command_line.delicious,
    "lastfm-all": lastfm_all,
    "debian-all": command_line.debian_all,
}
#: sets of texts, for which the SVM runs
TEXTS = ("debian", "debian-all")


def add_annotations(folder: str) -> None:
    """Give tags to items that have none, as many as are added before the second fit."""
    rng = np.random.default_rng(0)
    with lass.open(folder) as collection:
        G = collection.annotation_matrix().G
        names, ids = collection.names(), collection.ids()
        counts = Counter(G.indices.tolist())
        frequent = [names[tag] for tag, _ in counts.most_common(50)]
        for row in rng.permutation(np.flatnonzero(np.diff(G.indptr) == 0))[:ADDED].tolist():
            collection.tag(ids[row], frequent[int(rng.integers(len(frequent)))])


def svm(folder: str) -> dict[str, float]:
    """TF-IDF and a linear SVM for every tag, fitted to the tagged items; scores of all items, in blocks."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    with lass.open(folder) as collection:
        texts = [item.text for item in collection.get_items()]
        T = collection.annotation_matrix().G > 0

    def fit_and_score() -> None:
        X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts)
        tagged = np.flatnonzero(np.diff(T.indptr))
        for tag in range(T.shape[1]):
            target = T[tagged][:, [tag]].toarray().ravel()
            if 0 < target.sum() < len(target):
                LinearSVC().fit(X[tagged], target).decision_function(X)

    return with_memory(fit_and_score)[1]


def measure(name: str, data: Path) -> dict[str, Any]:
    """One set, from its files to its suggestions."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        collection = str(folder / "collection")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            given = pool.submit(SETS[name], data, folder).result()
        found: dict[str, Any] = {}
        _, found["init"] = command("init", collection, "--name", name, *given, "--quiet")
        written, found["fit"] = command("fit", collection, "--no-map", "--json")
        fitted = json.loads(written)
        found |= {key: fitted[key] for key in ("items", "tags", "relative_gap")}
        found["edges"] = fitted["graph"]["n_edges"]
        found["positive"] = fitted["tag_counts"]["positive"]
        found["stages"] = fitted["seconds"]
        out = str(folder / "suggestions.csv")
        _, found["suggest"] = command("suggest", collection, "--out", out, "--quiet")
        apart(add_annotations, collection)
        _, found["update"] = command("fit", collection, "--update", "--json")
        written, found["second_fit"] = command("fit", collection, "--no-map", "--json")
        found["second_stages"] = json.loads(written)["seconds"]
        written, found["fit_with_map"] = command("fit", collection, "--json")
        found["map"] = sum(json.loads(written)["seconds"].get(stage, 0.0) for stage in ("groups", "map"))
        if name in TEXTS:
            found["svm"] = apart(svm, collection)
        return found


def before(name: str, data: Path, commit: str) -> dict[str, Any]:
    """Seconds and memory of the fit of an earlier commit, with its map, on the same machine."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        packed = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x", "-C", place], input=packed.stdout, check=True)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            given = pool.submit(SETS[name], data, folder).result()
        collection = str(folder / "collection")
        command("init", collection, *given, "--quiet", source=folder / "src")
        _, spent = command("fit", collection, "--json", source=folder / "src")
        return spent | {"commit": commit}


def summary(rows: dict[str, dict[str, Any]]) -> str:
    """One line a set."""
    columns = "fit s  processor s  GiB   SVM processor s  update s  second fit s  map s  suggest s"
    lines = [f"set          items x tags      {columns}"]
    for name, row in rows.items():
        peer = f"{row['svm']['processor']:.1f}" if "svm" in row else "-"
        lines.append(
            f"{name:12} {row['items']:6,} x {row['tags']:5,} {row['fit']['seconds']:9.1f} "
            f"{row['fit']['processor_seconds']:12.1f} {row['fit']['peak_gib']:5.2f} {peer:>16} "
            f"{row['update']['seconds']:8.1f} {row['second_fit']['seconds']:13.1f} {row['map']:6.1f} "
            f"{row['suggest']['seconds']:10.1f}"
        )
    return "\n".join(lines)


def draw(rows: dict[str, dict[str, Any]], path: Path) -> None:
    """The stages of each fit, one bar a set, and of the second fit below it."""
    with drawn(path, (9, 1.0 + 0.75 * len(rows)), columns=1) as (_, (axes,)):
        labels, place = [], 0.0
        for name, row in rows.items():
            for key, what in (("stages", "first fit"), ("second_stages", "after 100 annotations")):
                left = 0.0
                for stage, colour in STAGES.items():
                    seconds = row[key].get(stage, 0.0)
                    axes.barh(place, seconds, left=left, color=colour, label=stage if not place else None)
                    left += seconds
                labels.append((place, f"{name}, {what}"))
                place -= 1.0
            place -= 0.4
        axes.set_yticks([at for at, _ in labels], [text for _, text in labels])
        axes.set_xlabel("seconds")
        axes.legend(loc="upper right", ncols=2)


def main() -> None:
    """Measure, print the table, write the numbers, draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    options.add_argument("--before", metavar="COMMIT", help="fit with the code of that commit alone")
    arguments = options.parse_args()
    path = arguments.out / "pipeline.json"
    known = results.measured(path)["sets"] if path.is_file() else {}
    parts = Parts(CACHE / "pipeline-parts.json", arguments.resume)
    for name in [] if arguments.redraw else arguments.sets:
        if arguments.before:
            found = known[name] | {"before": before(name, arguments.data, arguments.before)}
        else:
            found = parts.measure(name, partial(measure, name, arguments.data))
            found |= {"before": known[name]["before"]} if "before" in known.get(name, {}) else {}
        results.add(path, {"sets": {name: found}}, levels=2)
        print(summary({name: found}), flush=True)
    if not arguments.redraw:
        parts.end()
    rows = results.measured(path)["sets"]
    rows = {name: rows[name] for name in SETS if name in rows}
    print(summary(rows))
    draw(rows, path.with_suffix(".png"))


if __name__ == "__main__":
    run(main)
