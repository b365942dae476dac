"""``lass reproduce``: the paper's experiments and figures, at one command."""

from __future__ import annotations

import time
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, json_option, with_output

EXAMPLES = [
    "lass reproduce toy --out evidence/",
    "lass reproduce all --quick --out evidence/",
    "lass reproduce all --data DATA/ --out evidence/",
]


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--data", type=click.Path(path_type=Path), help="The folder of the data sets.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("evidence"), show_default=True,
    help="The folder to write into.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="A small form on data that comes along; under a minute in all.")
@click.option("--runs", type=click.IntRange(2), default=20, show_default=True, help="Random repetitions.")
@click.option("--fresh", is_flag=True, help="Begin anew, and not where an earlier run was stopped.")
@json_option
@with_output
def reproduce(
    output: Output, names: tuple[str, ...], data: Path | None, out: Path, quick: bool, runs: int, fresh: bool
) -> None:
    """Run the experiments NAME..., or all of them, and hold the paper against what comes out.

    There are toy, extremes, rho, mnist, newsgroups, tagging, runtime and conditional. Each leaves JSON, CSV
    and pictures in the folder; report.html tells them all, and so does evidence.md. A run that was stopped
    goes on where it was.
    """
    from evidence import NAMES
    from lass.collection.records import did_you_mean

    for name in names:
        if name not in (*NAMES, "all"):
            near = did_you_mean(name, NAMES) or f"; there are all, {', '.join(NAMES)}"
            raise ValueError(f"there is no experiment {name!r}{near}")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: there is no folder {str(data)!r}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder; found the file {str(out)!r}")
    from evidence.running import reproduce as run

    began = time.monotonic()

    def tell(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        output.note(f"{minutes:3d}:{seconds:02d}  {text}")

    asked = NAMES if "all" in names else names
    records = run(asked, out, data, quick=quick, runs=runs, fresh=fresh, tell=tell)
    holds = [finding.holds for record in records for finding in record.outcome.findings]
    missing = [record.name for record in records if record.failure]
    counts = {"hold": holds.count(True), "do not": holds.count(False), "open": holds.count(None)}
    output.result(
        f"{out / 'report.html'}: {counts['hold']} claims hold, {counts['do not']} do not, "
        f"{counts['open']} are open",
        report=str(out / "report.html"), claims=counts, not_run=missing,
    )  # fmt: skip
    if missing:
        raise ValueError(f"not run, see the report for the reasons: {', '.join(missing)}")
