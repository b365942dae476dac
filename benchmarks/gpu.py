"""The GPU beside cuSPARSE and beside the processor of the same machine.

    python -m benchmarks.gpu                              everything, on an NVIDIA GPU
    python -m benchmarks.gpu --parts million widths       some of it
    python -m benchmarks.gpu --shrink 100 --device cpu    a small version in plain torch, to see that it runs

Items are points of overlapping clouds in ten dimensions, one cloud a category, with edges to about 15
neighbours; one item in a hundred is labelled; lam = 1. Times on the device are between two events
around work whose data is there already; every one is the least of several, and the processor's solve of
a million items, which takes a minute, is one. The peer of an
iteration (gather, gradient, projection, momentum, restart test) is cuSPARSE's product of the same
graph and the same assignments alone, called through torch. Coarser graphs are made in the time of a solve
on the device, whose data is the graph itself; how long that takes is also measured alone. Every part writes
down what it has measured as soon as it has, marked as unfinished until it ends.

A whole fit is one of a collection of vectors, half of them with five tags each: neighbours, lam, assignments,
weights of the predictors and scores, saved at the end; without the map.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

import lass
import lass.solvers.distributed
import lass.solvers.gpu
from benchmarks.common import results
from benchmarks.common.measuring import fastest, iteration_seconds, peak, reset_peak, timed
from benchmarks.common.options import parser, run
from benchmarks.common.stamp import commit, today
from benchmarks.growth import DIMENSIONS, NEIGHBOURS, UNLABELLED, clouds
from lass.collection import CollectionStore, Item, Settings
from lass.graph.weights import symmetrised, weigh
from lass.solvers import Monitor
from lass.solvers.gpu.batch import Batch, padded, upload
from lass.solvers.gpu.descent import Stage, descend, loops
from lass.solvers.gpu.faces import coarse_graphs
from lass.solvers.gpu.nearest import _Search
from lass.tagging import fit as fit_collection

#: what a part has measured so far, again and again
Found = Iterator[dict[str, Any]]

LAM, TOLERANCE = 1.0, 1e-5
REPEAT = 10
#: iterations of problems solved together, at most
MOST_ITERATIONS = 5000
#: columns of the features of whole fits, and how far items are from the middle of their cloud
COLUMNS, SPREAD = 32, 0.6


def labelled_clouds(size: int, categories: int) -> tuple[np.ndarray, sp.csr_array]:
    """Points, and the labels of one in a hundred."""
    rng = np.random.default_rng(0)
    X, truth = clouds(size, categories, rng)
    known = rng.permutation(size)[: size // UNLABELLED]
    return X, sp.csr_array((np.ones(len(known)), (known, truth[known])), shape=(size, categories))


def seconds(work: Callable[[], object], device: torch.device, repeat: int = REPEAT) -> float:
    """The least time of some work on the device, after a first time that compiles and warms up."""
    if device.type == "cpu":
        return fastest(work, repeat).seconds
    work()
    taken = []
    for _ in range(repeat):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end) / 1000.0)
    return min(taken)


def iteration(arrays: Batch, Z: torch.Tensor) -> dict[str, float]:
    """One iteration and cuSPARSE's product, on the assignments after some iterations."""
    single, layout, device = arrays.single(), arrays.layout, Z.device
    stage = Stage(loops(device), arrays, single, Z.clone(), [Monitor()])
    Y, spare = Z.clone(), torch.empty_like(Z)
    for _ in range(4):
        Y, spare = stage.step(Y, spare)
    pointers, columns, weights, _ = single.graph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its CSR matrices a beta version
        W = torch.sparse_csr_tensor(pointers, columns, weights, (layout.rows, layout.rows))
    dense = Y[:, 0, : layout.size].contiguous()
    ours = seconds(lambda: stage.step(Y, spare), device)
    theirs = seconds(lambda: torch.sparse.mm(W, dense), device)
    return {"iteration_seconds": ours, "cusparse_seconds": theirs, "ratio": ours / theirs}


def in_both_orders(problem: lass.Problem, device: torch.device) -> dict[str, Any]:
    """Iterations with the rows as they come, and in the order that a solve puts them into."""
    qp = problem.qp()
    arrays = upload([qp], device)
    Z = padded(arrays.layout, [qp.vertex()], device, torch.float32)
    Stage(loops(device), arrays, arrays.single(), Z, [Monitor()]).run(final=False, rounds=1)
    order = Z[:, 0].argmax(dim=1).sort(stable=True).indices
    as_given = iteration(arrays, Z)
    by_category = iteration(arrays.reordered(order), Z[order])
    return {"as_given": as_given, "by_category": by_category}


def device_solve(problem: lass.Problem, device: torch.device, repeat: int) -> dict[str, Any]:
    """From the start to the tolerance with everything on the device, certificates included."""
    qp = problem.qp()
    arrays = upload([qp], device)
    first = padded(arrays.layout, [qp.vertex()], device, torch.float32)
    last: dict[str, Any] = {}

    def work() -> None:
        monitor = Monitor()
        monitor.begin(2.0 * LAM, TOLERANCE * qp.stake, 0.0)
        descend(arrays, first.clone(), [monitor])
        last.update(iterations=monitor.iterations, relative_gap=monitor.gap / qp.stake)

    taken = seconds(work, device, repeat)
    levels = coarse_graphs(arrays)
    making = None if levels is None else seconds(lambda: coarse_graphs(arrays), device, repeat)
    return {"device_seconds": taken, "coarse_graphs_seconds": making, **last}


def million(device: torch.device, shrink: int) -> Found:
    """One million items, a hundred categories."""
    X, G = labelled_clouds(1_000_000 // shrink, 100)
    W, searched, _ = timed(lambda: lass.solvers.gpu.knn_graph(X, NEIGHBOURS, device=device))
    problem = lass.Problem(W, G, LAM)
    result = {"N": problem.N, "K": problem.K, "edges": W.nnz // 2, "graph_seconds": searched}
    result |= in_both_orders(problem, device) | device_solve(problem, device, 5)
    yield result
    solve = partial(lass.solvers.gpu.solve, problem, tol=TOLERANCE, device=device)
    ours, whole, _ = fastest(solve, 3, warm=False)
    result |= {"whole_call_seconds": whole, "whole_call_relative_gap": ours.relative_gap}
    yield result
    lass.solve(problem, tol=TOLERANCE, max_iter=1)
    theirs, processor, _ = timed(lambda: lass.solve(problem, tol=TOLERANCE))
    yield result | {
        "cpu_seconds": processor, "cpu_iterations": theirs.n_iter, "cpu_relative_gap": theirs.relative_gap,
        "cpu_method": theirs.method, "cpu_cores": len(os.sched_getaffinity(0)),
        "cpu_over_device": processor / result["device_seconds"], "cpu_over_whole_call": processor / whole,
        "objective_difference": abs(ours.objective - theirs.objective) / problem.stake,
    }  # fmt: skip


def forest_graph(X: np.ndarray, device: torch.device, leaves: int) -> sp.csr_array:
    """Neighbours within the leaves of two random trees: near enough for ten million points, and quick."""
    points = torch.from_numpy(X).to(device)
    size, found = len(X), []
    directions = torch.Generator(device).manual_seed(0)
    for _ in range(2):
        order = torch.arange(size, device=device).view(1, -1)
        while len(order) < leaves:
            normal = torch.randn(DIMENSIONS, 1, generator=directions, device=device, dtype=points.dtype)
            along = (points @ normal).ravel()[order]
            order = order.gather(1, along.argsort(dim=1)).view(2 * len(order), -1)
        distances = torch.empty((size, NEIGHBOURS), dtype=torch.float64, device=device)
        which = torch.empty((size, NEIGHBOURS), dtype=torch.int64, device=device)
        for leaf in order:
            distances[leaf], near = _Search(points[leaf], NEIGHBOURS).all()
            which[leaf] = leaf[near]
        found.append((distances, which))
    distances, which = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
    which, by_name = which.sort(dim=1)
    distances = distances.gather(1, by_name)
    distances[:, 1:].masked_fill_(which[:, 1:] == which[:, :-1], float("inf"))
    distances, nearest = distances.sort(dim=1)
    values = weigh(distances[:, :NEIGHBOURS].cpu().numpy(), "self-tuning", 1.0, 1.0)
    columns = which.gather(1, nearest[:, :NEIGHBOURS]).int().cpu().numpy()
    pointers = np.arange(0, values.size + 1, NEIGHBOURS)
    return symmetrised(sp.csr_array((values.ravel(), columns.ravel(), pointers), shape=(size, size)), "mean")


def ten_million(device: torch.device, shrink: int) -> Found:
    """Ten million items, ten categories."""
    X, G = labelled_clouds(10_000_000 // shrink, 10)
    W, searched, _ = timed(lambda: forest_graph(X, device, leaves=128 if shrink == 1 else 4))
    problem = lass.Problem(W, G, LAM)
    result = {"N": problem.N, "K": problem.K, "edges": W.nnz // 2, "graph_seconds": searched}
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    result |= in_both_orders(problem, device) | device_solve(problem, device, 2)
    yield result
    ours, whole, _ = timed(lambda: lass.solvers.gpu.solve(problem, tol=TOLERANCE, device=device))
    result |= {"whole_call_seconds": whole, "whole_call_relative_gap": ours.relative_gap}
    if device.type == "cuda":
        result["device_gib"] = torch.cuda.max_memory_allocated() / 2**30
    yield result


def widths(device: torch.device, shrink: int) -> Found:
    """Iterations from two to some thousands of categories."""
    size = 100_000 // shrink
    result: dict[str, Any] = {"N": size, "categories": {}}
    X, _ = labelled_clouds(size, 10)
    W = lass.solvers.gpu.knn_graph(X, NEIGHBOURS, device=device)
    rng = np.random.default_rng(0)
    for K in (2, 10, 30, 300, 1000, 4000):
        known = rng.permutation(size)[: size // 10]
        G = sp.csr_array((np.ones(len(known)), (known, rng.integers(K, size=len(known)))), shape=(size, K))
        result["categories"][str(K)] = in_both_orders(lass.Problem(W, G, LAM), device)
        yield result


def together(device: torch.device, shrink: int) -> Found:
    """Eight folds of a cross-validation, and eight lam: together, and one after the other."""
    result: dict[str, Any] = {"K": 10, "problems": 8}
    for size in (10_000 // shrink, 100_000 // shrink):
        X, G = labelled_clouds(size, 10)
        first = lass.Problem(lass.solvers.gpu.knn_graph(X, NEIGHBOURS, device=device), G)
        fold = np.random.default_rng(0).integers(8, size=G.nnz)
        held = [np.where(fold == i, 0.0, G.data) for i in range(8)]
        problems = {
            "folds": [first.changed(G=sp.csr_array((data, G.indices, G.indptr), G.shape)) for data in held],
            "lams": [first.changed(lam=float(lam)) for lam in np.geomspace(0.1, 10.0, 8)],
        }
        result[str(size)] = {}
        for name, some in problems.items():
            result[str(size)][name] = at_once_or_in_turn(some, device)
            yield result


def at_once_or_in_turn(problems: list[lass.Problem], device: torch.device) -> dict[str, Any]:
    """Seconds on the device, everything there already."""
    qps = [problem.qp() for problem in problems]
    last: dict[str, Any] = {}

    def ready(chosen: list[int]) -> tuple[list[int], Batch, torch.Tensor]:
        arrays = upload([qps[i] for i in chosen], device)
        first = padded(arrays.layout, [qps[i].vertex() for i in chosen], device, torch.float32)
        return chosen, arrays, first

    def work(chosen: list[int], arrays: Batch, Z: torch.Tensor) -> None:
        monitors = [Monitor(max_iter=MOST_ITERATIONS) for _ in chosen]
        for i, monitor in zip(chosen, monitors, strict=True):
            monitor.begin(2.0 * problems[i].lam, TOLERANCE * qps[i].stake, 0.0)
        descend(arrays, Z.clone(), monitors)
        if len(chosen) > 1:
            last["iterations"] = [monitor.iterations for monitor in monitors]
            last["converged"] = all(monitor.gap <= monitor.target for monitor in monitors)

    everything = list(range(len(problems)))
    whole, single = ready(everything), [ready([i]) for i in everything]
    at_once = seconds(lambda: work(*whole), device, 3)
    in_turn = seconds(lambda: [work(*one) for one in single], device, 3)
    return {"together_seconds": at_once, "in_turn_seconds": in_turn, "ratio": in_turn / at_once, **last}


def partitions(device: torch.device, shrink: int) -> Found:
    """Rows of workers on the device: one, two and four of them in one process, and one machine's processors.

    Border rows go through the host, as between machines.
    """
    X, G = labelled_clouds(500_000 // shrink, 20)
    problem = lass.Problem(lass.solvers.gpu.knn_graph(X, NEIGHBOURS, device=device), G, LAM)
    here = lass.solve(problem, method="gradient", tol=TOLERANCE)
    result: dict[str, Any] = {"N": problem.N, "K": problem.K, "iterations": here.n_iter}
    result["processors"] = _pace(here)
    for count in (1, 2, 4):
        labels = lass.solvers.distributed.partition(problem.W, count)
        found = lass.solvers.distributed.solve(problem, partitions=labels, tol=TOLERANCE, device=str(device))
        result[f"workers_{count}"] = _pace(found) | {
            "iterations": found.n_iter,
            "objective_difference": abs(found.objective - here.objective) / problem.stake,
            "largest_difference": float(np.abs(found.Z - here.Z).max()),
        }
        yield result


def _pace(solution: lass.Solution) -> dict[str, float]:
    """Seconds of an iteration, certificates included: the least between two of them."""
    return {"iteration_seconds": min(iteration_seconds(solution.history)), "seconds": solution.seconds}


def tagged_clouds(size: int, tags: int) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Points of clouds, ten a tag, and tags of half of them.

    About five tags an item: four of the eight that its cloud has, one of any; all drawn by Zipf's law.
    """
    rng = np.random.default_rng(0)
    clouds = 10 * tags
    frequency = 1.0 / np.arange(1, tags + 1)
    cumulative = np.cumsum(frequency / frequency.sum())
    usual = np.minimum(np.searchsorted(cumulative, rng.random((clouds, 8))), tags - 1)
    cloud = rng.integers(clouds, size=size)
    X = rng.standard_normal((clouds, COLUMNS), np.float32)[cloud]
    X += SPREAD * rng.standard_normal((size, COLUMNS), np.float32)
    known = rng.permutation(size)[: size // 2]
    some = rng.permuted(np.tile(np.arange(8), (len(known), 1)), axis=1)[:, :4]
    other = np.minimum(np.searchsorted(cumulative, rng.random((len(known), 1))), tags - 1)
    named = np.hstack([np.take_along_axis(usual[cloud[known]], some, 1), other])
    pairs = np.unique(known[:, None] * tags + named)
    return X, [(f"{pair // tags:07}", f"tag{pair % tags:04}") for pair in pairs.tolist()]


def whole_fit(
    folder: Path, size: int, tags: int, device: str | None, lam: float | str = "auto"
) -> tuple[dict[str, Any], sp.csr_array]:
    """A collection made and fitted, stage by stage, and its scores; without a device on the processors."""
    X, pairs = tagged_clouds(size, tags)
    ids = [f"{n:07}" for n in range(size)]
    made = partial(
        CollectionStore.create, folder / f"{size}-{device}", [Item(one) for one in ids],
        sorted({tag for _, tag in pairs}), [(one, tag, 1) for one, tag in pairs],
        settings=Settings(
            features={"kind": "vectors"}, n_neighbors=NEIGHBOURS, metric="euclidean", lam=lam
        ),
    )  # fmt: skip
    collection, creating, _ = timed(made)
    with collection:
        collection.save_features(X)
        before = reset_peak()
        found, taken, _ = timed(lambda: fit_collection(collection, device=device, draw_map=False))
        assert found.model is not None
        assert found.model.scores is not None
        solution = found.model.solution
        result = {
            "N": size, "K": tags, "columns": COLUMNS, "annotations": len(pairs), "edges": found.graph.n_edges,
            "creating_seconds": creating, "fit_seconds": taken, "stages": found.seconds,
            "host_gib": (peak() - before) / 2**30, "lam": found.model.lam, "method": solution.method,
            "relative_gap": solution.relative_gap, "iterations": solution.n_iter,
            "scores": found.model.scores.values.nnz,
        }  # fmt: skip
        if device is not None and torch.device(device).type == "cuda":
            result["device_gib"] = torch.cuda.max_memory_allocated() / 2**30
        print(result, flush=True)
        return result, found.model.scores.values


def fit(device: torch.device, shrink: int) -> Found:
    """Whole fits: a million items on the device, a tenth of that there and on its processors.

    The first fits compile kernels and are compared by their scores.
    """
    size, tags = 1_000_000 // shrink, max(1000 // shrink, 100)
    result: dict[str, Any] = {"cpu_cores": len(os.sched_getaffinity(0))}
    with TemporaryDirectory() as name:
        folder = Path(name)
        first, scores = whole_fit(folder, size // 100, tags, str(device))
        _, others = whole_fit(folder, size // 100, tags, None, lam=first["lam"])
        difference = abs(scores - others)
        result["scores_compared"] = {
            "N": size // 100, "K": tags, "largest": float(difference.max()),
            "mean": float(difference.sum() / others.nnz),
            "share_within_0.005": float(1.0 - (difference > 0.005).sum() / others.nnz),
        }  # fmt: skip
        yield result
        for which, count, place in (
            ("device_small", size // 10, str(device)),
            ("device_large", size, str(device)),
            ("processors_small", size // 10, None),
        ):
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            result[which], _ = whole_fit(folder, count, tags, place)
            yield result
        result["fit_ratio"] = (
            result["processors_small"]["fit_seconds"] / result["device_small"]["fit_seconds"]
        )
        yield result


PARTS: dict[str, Callable[[torch.device, int], Found]] = {
    "fit": fit, "partitions": partitions, "million": million, "ten_million": ten_million, "widths": widths,
    "together": together,
}  # fmt: skip


def _keep_origins(path: Path) -> None:
    """Note with every part when it was measured: the stamp of the file is that of the last one."""
    former = results.read(path)
    for part in PARTS.keys() & former.keys():
        for fact in ("date", "commit"):
            former[part].setdefault(fact, former["machine"][fact])
    if former:
        results.write(path, former)


def main() -> None:
    """Measure the parts that are asked for and write them down one by one."""
    options = parser(__doc__)
    options.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    options.add_argument("--device", default="cuda")
    options.add_argument("--shrink", type=int, default=1, help="divide all numbers of items by this")
    arguments = options.parse_args()
    device = torch.device(arguments.device)
    path = arguments.out / ("gpu.json" if arguments.shrink == 1 else f"gpu-{arguments.shrink}.json")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "plain torch"
    _keep_origins(path)
    for part in arguments.parts:
        began, found = time.perf_counter(), {"device": name, "date": today(), "commit": commit()}

        def write(found: dict[str, Any], part: str = part) -> None:
            new = {part: found, "tolerance": TOLERANCE, "lam": LAM}
            everything = results.add(path, new, packages=("torch", "triton"))
            everything["machine"]["device"] = name
            results.write(path, everything)

        for so_far in PARTS[part](device, arguments.shrink):
            found |= so_far
            write(found | {"unfinished": True})
        write(found)
        print(f"{part}, {name}, {time.perf_counter() - began:.0f} s in all: {found}", flush=True)


if __name__ == "__main__":
    run(main)
