"""``lass evaluate``: hide known tags, and measure how well methods predict them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lass.cli.output import PATH, Output, command, opened
from lass.collection.records import command_line


@command(
    "lass evaluate packages/ --seeds 3 --picture evaluation.png",
    "lass evaluate packages/ --situation items --group source --json",
)
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
@click.option("--picture", type=PATH, help="Draw it: .png, .svg or .pdf.")
@click.option("--set-lam", is_flag=True, help="Keep the lam with the highest F1 in collection.toml.")
def evaluate(
    output: Output, folder: Path, hide: float, situations: tuple[str, ...], seeds: int, group: str | None,
    top: int, picture: Path | None, set_lam: bool,
) -> None:  # fmt: skip
    """Hide known tags of the collection in FOLDER, and measure which method predicts most of them.

    Compares LASS with the frequency of tags, the vote of the neighbours, harmonic label propagation, logistic
    regression on the features, and random tags. Methods see the visible annotations and nothing else; tags
    with a visible annotation are not suggested again. The same seeds hide the same tags. The result is
    saved in FOLDER for lass report.
    """
    if not 0 < hide < 1:
        raise ValueError(f"--hide must be a share between 0 and 1; found {hide:g}")
    with opened(folder) as collection:
        from lass.tagging.evaluation import metric_tables, plot_evaluation
        from lass.tagging.evaluation.plotting import check_plot_path
        from lass.tagging.evaluation.result import headlines, summary

        if picture is not None:
            check_plot_path(picture)
        with output.progress() as making:
            from lass.tagging import graph_of

            if collection.stale().keys() & {"features", "graph"}:
                graph_of(collection, making)
        with _steps(output) as report:
            found = collection.evaluate(
                hide=hide, situations=tuple(dict.fromkeys(situations)), seeds=seeds, group=group, top=top,
                report=report,
            )  # fmt: skip
        if picture is not None:
            plot_evaluation(found, picture)
        lam = found.best_lam()
        if set_lam and lam is not None:
            collection.change_settings(lam=lam)
    if output.as_json:
        output.json(found.as_dict())
        return
    for line in headlines(found):
        output.line(line, "bold")
    output.out.print()
    for table in metric_tables(found):
        output.out.print(table)
        output.out.print()
    for line in summary(found):
        output.line(line)
    if picture is not None:
        output.line(f"Picture: {picture}")
    if set_lam:
        following = command_line("fit", folder)
        output.line(f"lam = {lam:.3g} is in {folder / 'collection.toml'} now. Next: {following}")


@contextmanager
def _steps(output: Output) -> Iterator[Callable[[str, int, int], None]]:
    """A callback that shows the steps: as a bar on a terminal, elsewhere as lines."""
    if output.quiet or not sys.stderr.isatty():
        show = output.lines()
        yield lambda what, done, total: show("comparing methods", f"{done + 1} of {total}: {what}", "")
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=output.err, transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda what, done, total: bars.update(task, description=what, completed=done, total=total)
