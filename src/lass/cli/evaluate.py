"""``lass evaluate``: hide known tags and see who brings them back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, folder_argument, json_option, opened, talking

EXAMPLES = [
    "lass evaluate packages/ --seeds 3 --picture evaluation.png",
    "lass evaluate packages/ --situation items --group source --json",
]


@click.command(cls=Command, examples=EXAMPLES)
@folder_argument
@click.option("--hide", type=float, default=0.5, show_default=True, help="The share of known tags to hide.")
@click.option(
    "--situation", "situations", multiple=True, type=click.Choice(["scattered", "items"]),
    help="Hide some tags of every item, or all tags of some items; by default both, one after the other.",
)  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="How often to draw.")
@click.option(
    "--group", metavar="COLUMN", help="Field of the items; those with the same value stay together. By "
    "default group or source, where items have it; '' for none.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Suggestions an item.")
@click.option("--picture", type=click.Path(path_type=Path), help="Draw it: .png, .svg or .pdf.")
@click.option("--set-lam", is_flag=True, help="Keep the lam with the highest F1 in collection.toml.")
@json_option
@talking
def evaluate(
    talk: Talk, folder: Path, hide: float, situations: tuple[str, ...], seeds: int, group: str | None,
    top: int, picture: Path | None, set_lam: bool,
) -> None:  # fmt: skip
    """Hide known tags of the collection in FOLDER, and see which method brings most of them back.

    Compares LASS with popularity, the vote of the neighbours, harmonic label propagation, logistic regression
    on the features and chance, whoever is best. Methods see what is left visible and nothing else;
    tags somebody spoke of are not suggested again. The same seeds hide the same words. The result is kept
    in FOLDER for lass report.
    """
    if not 0 < hide < 1:
        raise ValueError(f"--hide must be a share between 0 and 1; found {hide:g}")
    with opened(folder) as collection:
        from lass.learning.predictors.holdout import SITUATIONS
        from lass.tagging.evaluation import evaluate_collection, tables
        from lass.tagging.evaluation import picture as draw
        from lass.tagging.evaluation.figure import check_ending
        from lass.tagging.evaluation.tables import summary

        if picture is not None:
            check_ending(picture)
        with talk.progress() as making:
            from lass.tagging import graph_of

            if collection.stale().keys() & {"features", "graph"}:
                graph_of(collection, making)
        with _steps(talk) as report:
            found = evaluate_collection(
                collection, hide=hide, situations=tuple(dict.fromkeys(situations)) or tuple(SITUATIONS),
                seeds=seeds, group=group, top=top, report=report,
            )  # fmt: skip
        if picture is not None:
            draw(found, picture)
        lam = found.picked_lam()
        if set_lam and lam is not None:
            collection.change_settings(lam=lam)
    if talk.as_json:
        talk.json(found.as_dict())
        return
    for table in tables(found):
        talk.out.print(table)
        talk.out.print()
    for line in summary(found):
        talk.out.print(line, markup=False)
    if picture is not None:
        talk.out.print(f"Picture: {picture}", markup=False)
    if set_lam:
        talk.out.print(
            f"lam = {lam:.3g} is in {folder / 'collection.toml'} now; next: lass fit {folder}", markup=False
        )


@contextmanager
def _steps(talk: Talk) -> Iterator[Callable[[str, int, int], None]]:
    """A bar with the method at work, on a terminal; in words with --verbose elsewhere."""
    if talk.quiet or not sys.stderr.isatty():
        yield lambda what, done, total: talk.detail(f"{done + 1} of {total}: {what}")
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=talk.err, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(task, description=what, completed=done, total=total)
