"""``lass fit``: features, graph and assignments brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.group import Command
from lass.cli.output import Talk, count, folder_argument, json_option, opened, talking

if TYPE_CHECKING:
    from lass.collection import Collection
    from lass.solvers.placement import Engine
    from lass.tagging import Fit


def _lam(context: click.Context, option: click.Parameter, value: str | None) -> float | str | None:
    """A number, or the word auto."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--lam must be auto or a number >= 0; found {value!r}") from None


def _engine(engine: str | None, address: str | None, workers: int | None) -> Engine | None:
    """What solves on workers, if that is asked for."""
    if engine is None:
        given = {"--address": address, "--workers": workers}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} {value} needs --engine ray")
        return None
    from functools import partial

    from lass.solvers.distributed import solve

    return partial(solve, transport="ray", address=address, partitions=workers or 2)


@click.command(
    cls=Command,
    examples=["lass fit packages/ --neighbors 20", "lass fit packages/ --engine ray --workers 4"],
)
@folder_argument
@click.option(
    "--lam",
    metavar="NUMBER|auto",
    callback=_lam,
    help="Weight of the neighbours; auto tries several values.",
)
@click.option(
    "--smoothing", type=float, help="Tie tags under the same parent (facet::tag, a/b/c); 0 does not."
)
@click.option("--neighbors", type=click.IntRange(1), help="Neighbours of an item.")
@click.option("--metric", help="How rows of features are compared.")
@click.option("--engine", type=click.Choice(["ray"]), help="Find the assignments on Ray workers.")
@click.option("--address", help="Of a Ray cluster, such as auto; by default workers of this machine.")
@click.option("--workers", type=click.IntRange(1), help="Ray workers; 2 unless said otherwise.")
@json_option
@talking
def fit(
    talk: Talk, folder: Path, lam: float | str | None, smoothing: float | None, neighbors: int | None,
    metric: str | None, engine: str | None, address: str | None, workers: int | None,
) -> None:  # fmt: skip
    """Complete the tags of the collection in FOLDER.

    Makes what is out of date, and only that: features, graph, assignments. Options of graph and model
    that are given are written into collection.toml and stay; where it is solved is not. Ends with the
    certificate: how far from the best possible answer this one can be at most.
    """
    given = {"lam": lam, "smoothing": smoothing, "n_neighbors": neighbors, "metric": metric}
    changes = {key: value for key, value in given.items() if value is not None}
    elsewhere = _engine(engine, address, workers)
    with opened(folder) as collection:
        before = {key: getattr(collection.settings, key) for key in changes}
        collection.change_settings(**changes)
        try:
            done = run(talk, collection, elsewhere)
        except BaseException:
            collection.change_settings(**before)  # those with which it cannot be fitted must not stay
            raise
        if talk.as_json:
            talk.json(as_data(folder, done))
        elif not talk.quiet:
            show(talk, done)
            talk.out.print(f"Next: lass suggest {folder}", markup=False)
    if not done.completed.solution.converged:
        raise SystemExit(1)


def run(talk: Talk, collection: Collection, engine: Engine | None = None) -> Fit:
    """Fit with progress."""
    with talk.progress() as report:
        from lass.tagging import fit as fit_collection

        return fit_collection(collection, report, engine=engine)


def show(talk: Talk, done: Fit) -> None:
    """The certificate and the health of graph and tags, in words."""
    out = talk.out
    solution = done.completed.solution
    out.print(
        done.certificate,
        style="bold green" if solution.converged else "bold red",
        markup=False,
        soft_wrap=True,
    )
    out.print(f"lam = {done.completed.lam:.3g}: {done.reason}", markup=False, soft_wrap=True)
    if done.note:
        out.print(done.note, style="yellow", markup=False, soft_wrap=True)
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
    warm = ", from the former assignments" if done.warm else ""
    talk.detail(f"{count(solution.n_iter, 'iteration')}{warm}; {spent}; {solution.method}")
    for name, why in done.remade.items():
        talk.detail(f"{name}: {why}")
    out.print(f"Tags: {done.tags}", markup=False, soft_wrap=True)
    lines = str(done.graph).splitlines()
    shown = lines if talk.verbose else [lines[0], *(line for line in lines if line.startswith("warning"))]
    for line in shown:
        out.print(
            f"Graph: {line}",
            style="yellow" if line.startswith("warning") else None,
            markup=False,
            soft_wrap=True,
        )


def as_data(folder: Path, done: Fit) -> dict[str, Any]:
    """All of it for a program."""
    from dataclasses import asdict

    solution = done.completed.solution
    return {
        "collection": str(folder), "items": solution.problem.N, "tags": solution.problem.K,
        "lam": done.completed.lam, "lam_reason": done.reason,
        "gap": solution.gap, "relative_gap": solution.relative_gap, "converged": solution.converged,
        "iterations": solution.n_iter, "certificate": done.certificate, "note": done.note,
        "seconds": done.seconds,
        "remade": done.remade, "graph": asdict(done.graph), "words": asdict(done.tags),
    }  # fmt: skip
