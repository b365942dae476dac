"""``lass reproduce``: the paper's experiments and figures, at one command."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from lass.cli.output import PATH, Output, command

#: the experiments in the order of the report
NAMES = ("toy", "extremes", "rho", "mnist", "newsgroups", "tagging", "runtime", "conditional")


@command(
    "lass reproduce toy --out out/evidence", "lass reproduce all --quick --out out/evidence",
    "lass reproduce all --data DATA/ --out out/evidence", folder=False,
)  # fmt: skip
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--data", type=PATH, help="The folder of the data sets.")
@click.option("--out", type=PATH, default="out/evidence", show_default=True, help="The folder to write into.")
@click.option("--quick", is_flag=True, help="A small form on bundled data; under a minute in all.")
@click.option("--runs", type=click.IntRange(2), default=20, show_default=True, help="Random repetitions.")
@click.option("--fresh", is_flag=True, help="Start anew, and not where an earlier run was stopped.")
def reproduce(
    output: Output, names: tuple[str, ...], data: Path | None, out: Path, quick: bool, runs: int, fresh: bool
) -> None:
    """Run the experiments NAME..., or all of them, and compare the paper with what comes out.

    There are toy, extremes, rho, mnist, newsgroups, tagging, runtime and conditional. Each writes JSON, CSV
    and pictures into the folder; report.html shows them all, and so does evidence.md. A run that was stopped
    goes on where it was. All but toy need a checkout of the repository; without one, toy prints its tables.
    """
    from lass.collection.records import did_you_mean

    for name in names:
        if name not in (*NAMES, "all"):
            near = did_you_mean(name, NAMES) or f"; there are all, {', '.join(NAMES)}"
            raise ValueError(f"there is no experiment {name!r}{near}")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: there is no folder {str(data)!r}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder; found the file {str(out)!r}")
    asked = NAMES if "all" in names else names
    if not _found_in_checkout():
        _toy_alone(output, asked)
        return
    from evidence.running import reproduce as run

    began = time.monotonic()

    def progress(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        output.note(f"{minutes:3d}:{seconds:02d}  {text}")

    records = run(asked, out, data, quick=quick, runs=runs, fresh=fresh, progress=progress)
    holds = [finding.holds for record in records for finding in record.result.findings]
    missing = [record.name for record in records if record.failure]
    counts = {"hold": holds.count(True), "do not": holds.count(False), "open": holds.count(None)}
    output.result(
        f"{out / 'report.html'}: {counts['hold']} claims hold, {counts['do not']} do not, "
        f"{counts['open']} are open",
        report=str(out / "report.html"), claims=counts, not_run=missing,
    )  # fmt: skip
    if missing:
        raise ValueError(f"not run, see the report for the reasons: {', '.join(missing)}")


def _found_in_checkout() -> bool:
    """Whether the experiments lie beside the source folder of this package; then they can be imported."""
    root = Path(__file__).resolve().parents[3]
    if not all((root / name / "__init__.py").is_file() for name in ("evidence", "benchmarks")):
        return False
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return True


def _toy_alone(output: Output, asked: tuple[str, ...]) -> None:
    """The paper's tables of the toy example, which the installed package has without a checkout."""
    if missing := [name for name in asked if name != "toy"]:
        raise ValueError(
            f"{', '.join(missing)}: only in a checkout of the repository (pip install -e . there, then "
            "lass reproduce); the installed package has toy alone"
        )
    from lass.report.paper_toy import ALLOWED, toy_assignments, toy_differences, toy_text

    found, _ = toy_assignments()
    largest = max(float(difference.max()) for difference in toy_differences(found).values())
    holds = largest <= ALLOWED
    verdict = "holds" if holds else "does not hold"
    text = f"largest difference from print {largest:.4f}, allowed {ALLOWED}: {verdict}"
    output.result(
        f"{toy_text(found)}\n{text}",
        tables={name: Z[7:].round(6).tolist() for name, Z in found.items()},
        largest_difference=largest, claims={"hold": int(holds), "do not": int(not holds), "open": 0},
    )  # fmt: skip
