"""``lass report``: one page on a collection."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, folder_argument, json_option, opened, with_output
from lass.model.atomic import atomic_path


@click.command(cls=Command, examples=["lass report packages/ --out report.html"])
@folder_argument
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True,
    help="The page to write.",
)  # fmt: skip
@json_option
@with_output
def report(output: Output, folder: Path, out: Path) -> None:
    """Write one HTML page on the collection in FOLDER that needs nothing else.

    How many items, tags and annotations there are, how far to trust the scores, tags to add and stated tags
    to check with their supporting neighbours, items to tag next, and the last evaluation if there was one.
    The collection must be fitted.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out must end in .html; found {str(out)!r}")
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {str(out.parent)!r}")
    with opened(folder) as collection:
        from lass.report import write_report

        page = write_report(collection).encode()
    with atomic_path(out) as draft:
        draft.write_bytes(page)
    output.result(f"{out}: {len(page) / 1e6:.1f} MB", out=str(out), bytes=len(page))
