"""``lass fit``: features, graph and assignments brought up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.output import Output, command, count, opened
from lass.collection.records import command_line

if TYPE_CHECKING:
    from lass.tagging import Collection, FitResult
    from lass.tagging.distributed import Workers


def _lam(context: click.Context, option: click.Parameter, value: str | None) -> float | str | None:
    """A number, or auto."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--lam must be auto or a number >= 0; found {value!r}") from None


def _workers(
    engine: str | None, address: str | None, workers: int | None, memory: float | None, parquet: Path | None
) -> Workers | None:
    """Ray workers, if they are asked for."""
    if engine is None:
        given = {"--address": address, "--workers": workers, "--memory": memory, "--parquet": parquet}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} {value} needs --engine ray")
        return None
    from lass.tagging.distributed import Workers

    return Workers(workers or 2, address=address, memory=memory, out=parquet)


@command(
    "lass fit packages/ --neighbors 20", "lass fit packages/ --engine ray --workers 4",
    "lass fit packages/ --device cuda", "lass fit packages/ --update",
)  # fmt: skip
@click.option(
    "--lam", metavar="NUMBER|auto", callback=_lam, help="Weight of the neighbours; auto tries several values."
)
@click.option(
    "--smoothing", type=float, help="Weight of edges between tags under the same parent (facet::tag, a/b/c)."
)
@click.option(
    "--facets", type=click.Choice(["auto", "on", "off"]),
    help="One distribution in each facet (facet::tag, a/b/c); auto: where hidden tags say that it helps.",
)  # fmt: skip
@click.option("--neighbors", type=click.IntRange(1), help="Neighbours of an item.")
@click.option("--metric", help="How rows of features are compared.")
@click.option("--embed", metavar="MODEL", help="Model for texts or pictures, as in lass init; none: without.")
@click.option("--engine", type=click.Choice(["ray"]), help="Do all stages but the map on Ray workers.")
@click.option("--address", help="Of a Ray cluster, such as auto; by default workers of this machine.")
@click.option("--workers", type=click.IntRange(1), help="Ray workers; 2 by default.")
@click.option("--memory", type=float, help="GiB that the work of a Ray worker may take; no limit by default.")
@click.option(
    "--parquet",
    type=click.Path(path_type=Path),
    help="Folder for the ten best tags of each item, a file a part.",
)
@click.option("--device", help="cuda: compute neighbours, assignments and scores on a GPU.")
@click.option(
    "--update", is_flag=True, help="Only take new annotations over, with lam and weights as they are."
)
@click.option("--map/--no-map", "draw_map", default=True, help="Draw the map as well, which comes last.")
def fit(
    output: Output, folder: Path, lam: float | str | None, smoothing: float | None, facets: str | None,
    neighbors: int | None, metric: str | None, embed: str | None, engine: str | None, address: str | None,
    workers: int | None, memory: float | None, parquet: Path | None, device: str | None, update: bool,
    draw_map: bool,
) -> None:  # fmt: skip
    """Complete the tags of the collection in FOLDER from its annotations.

    Features and graph are computed where items or settings changed, assignments and scores always and from
    nothing but items, edges, annotations and settings: the same collection gives the same answer, whatever
    was done before. Without annotations there are a graph and a map. Options of graph and model are written
    into collection.toml and stay; those of engine and device do not. --verbose prints the certificate as
    well: how far from the optimum the assignments can be at most.

    With --update only items near new annotations change: several times as fast, and lass suggest says that
    scores rest on earlier annotations until the next fit without it. Up to about 200 tagged items every
    annotation counts everywhere, and everything is fitted.
    """
    given = {"lam": lam, "smoothing": smoothing, "facets": facets, "n_neighbors": neighbors, "metric": metric}
    changes = {key: value for key, value in given.items() if value is not None}
    on_workers = _workers(engine, address, workers, memory, parquet)
    with opened(folder) as collection:
        result = run(
            output, collection, engine=on_workers, device=device, update=update, draw_map=draw_map,
            embed=embed, **changes,
        )  # fmt: skip
        if update and "scores" in result.seconds:
            needs = "an update takes more tagged items, and the same items, tags and settings"
            output.note(f"note: everything was fitted; {needs}")
        try:
            collection.back_up()
        except (ValueError, OSError) as error:
            output.note(f"note: no copy of the database was made: {error}")
        if output.as_json:
            output.json(as_data(folder, result))
        elif not output.quiet:
            print_fit(output, result)
            untagged = (
                f"{command_line('next', folder)} lists items to tag first, "
                f"{command_line('tag', folder, 'ITEM', '+tag', '--new')} tags one"
            )
            following = untagged if result.model is None else command_line("suggest", folder)
            output.line(f"Next: {following}")
    if result.model is not None and not result.model.solution.converged:
        raise SystemExit(1)


def run(output: Output, collection: Collection, **options: Any) -> FitResult:
    """Fit with progress."""
    with output.progress() as report:
        return collection.fit(report=report, **options)


def print_fit(output: Output, result: FitResult) -> None:
    """How items are compared, and how many have tags; with --verbose certificate, lam and graph as well."""
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.seconds.items())
    if result.model is None:
        output.line(result.certificate, "bold green")
        output.detail(spent)
    else:
        solution = result.model.solution
        if solution.converged:
            output.line("Suggestions are ready.", "bold green")
            output.detail(result.certificate)
        else:
            output.line(result.certificate, "bold red")
        output.detail(f"lam = {result.model.lam:.3g}: {result.lam_reason}")
        output.detail(f"{count(solution.n_iter, 'iteration')}; {spent}; {solution.method}")
    for sentence in filter(None, (*result.comparisons, result.trees)):
        output.line(f"{sentence[:1].upper()}{sentence[1:]}")
    if result.note:
        output.line(result.note, "yellow")
    for name, why in result.recomputed.items():
        output.detail(f"{name}: {why}")
    output.line(f"Tags: {result.tags}")
    for line in str(result.graph).splitlines():
        if line.startswith("warning"):
            output.line(line, "yellow")
        else:
            output.detail(f"Graph: {line}")


def as_data(folder: Path, result: FitResult) -> dict[str, Any]:
    """The result as JSON."""
    from dataclasses import asdict

    data: dict[str, Any] = {"collection": str(folder), "items": result.tags.items, "tags": result.tags.tags}
    if result.model is not None:
        solution = result.model.solution
        data |= {
            "lam": result.model.lam, "lam_reason": result.lam_reason,
            "gap": solution.gap, "relative_gap": solution.relative_gap, "converged": solution.converged,
            "iterations": solution.n_iter,
        }  # fmt: skip
    return data | {
        "certificate": result.certificate, "note": result.note, "seconds": result.seconds,
        "comparisons": list(result.comparisons), "trees": result.trees, "recomputed": result.recomputed,
        "graph": asdict(result.graph), "tag_counts": asdict(result.tags),
    }  # fmt: skip
