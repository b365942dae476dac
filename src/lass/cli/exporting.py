"""``lass export`` and ``lass report``: the tags as a table, and one page on a collection."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.output import PATH, Output, command, count, opened, table_option
from lass.collection.writing import check_ending, nested, write_delimited
from lass.model.atomic import atomic_path


@command(
    "lass export packages/ --out tags.csv", "lass export packages/ --what table --out packages.xlsx",
)  # fmt: skip
@click.option(
    "--what", type=click.Choice(["annotations", "people", "table", "suggestions", "assignments"]),
    default="annotations", show_default=True,
    help="The annotations that count, one row each; those of each person, with who and when; the table that "
    "the items came from, with a column of their tags; suggestions; or the shares of fitted tags.",
)  # fmt: skip
@click.option(
    "--min-share", type=click.FloatRange(0, 1), default=0.01, show_default=True,
    help="Of assignments: leave smaller shares out.",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="Of suggestions: how many an item."
)
@click.option("--raw", is_flag=True, help="Write texts as they are, also those that a spreadsheet executes.")
@click.option(
    "--semicolons", is_flag=True,
    help="CSV as Excel opens it in languages with a decimal comma; a workbook, .xlsx, opens in all of them.",
)  # fmt: skip
@table_option
def export(
    output: Output, folder: Path, what: str, min_share: float, top: int, raw: bool, semicolons: bool,
    out: Path | None,
) -> None:  # fmt: skip
    """Write the tags of FOLDER as a table; CSV onto stdout where --out names no file.

    Annotations are written as lass init --tags reads them, and the table as lass init --items --tag-column
    does. In CSV and TSV a text that a spreadsheet would execute (one that begins with = + - or @) gets an
    apostrophe in front, which is taken away again where lass reads it. In a workbook it is a text.
    """
    if out is not None:
        check_ending(out)
    if semicolons and (out is None or out.suffix.lower() != ".csv"):
        raise ValueError(f"--semicolons needs --out with a file that ends in .csv; found {str(out or '')!r}")
    with opened(folder) as collection:
        if out is not None:
            rows = collection.export(
                out, what=what, min_share=min_share, top=top, raw=raw, semicolons=semicolons
            )
            output.result(f"{out}: {count(rows, 'row')}", out=str(out), rows=rows)
            return
        columns, table = collection.export_rows(what, min_share, top=top, joined=not output.as_json)
        if output.as_json:
            output.json([nested(row) for row in table])
        else:
            write_delimited(columns, table, raw=raw)


@command("lass report packages/ --out report.html")
@click.option("--out", type=PATH, default=Path("report.html"), show_default=True, help="The page to write.")
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
    output.result(f"{out}: {len(page) / 1e3:,.0f} kB", out=str(out), bytes=len(page))
