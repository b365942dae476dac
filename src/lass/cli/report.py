"""``lass report``: one page on a collection, for the people who look after it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, folder_argument, json_option, opened, talking


@click.command(cls=Command, examples=["lass report packages/ --out report.html"])
@folder_argument
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True,
    help="The page to write.",
)  # fmt: skip
@json_option
@talking
def report(talk: Talk, folder: Path, out: Path) -> None:
    """Write one HTML page on the collection in FOLDER that needs nothing else.

    What is in it, how far to trust what was completed, tags to add and to doubt with the neighbours that
    speak for them, where a word would help most, and the last evaluation if there was one. The
    collection must be fitted.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out must end in .html; found {str(out)!r}")
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {str(out.parent)!r}")
    with opened(folder) as collection:
        from lass.report import report as written

        page = written(collection).encode()
    draft = out.with_name(f".{out.name}.{os.urandom(8).hex()}")
    try:
        draft.write_bytes(page)
        draft.replace(out)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    talk.result(f"{out}: {len(page) / 1e6:.1f} MB", out=str(out), bytes=len(page))
