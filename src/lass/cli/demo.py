"""``lass demo``: the tags of real Debian packages, completed."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.fit import print_fit, run
from lass.cli.group import Command
from lass.cli.init import make
from lass.cli.output import Output, caption, json_option, opened, with_output
from lass.cli.studio import serving_options, start
from lass.cli.suggest import print_suggestions
from lass.collection.importing import read_new
from lass.tagging.export_rows import suggestion_rows

EXAMPLES = ["lass demo", "lass demo --no-studio", "lass demo all-packages/ --data debian/"]


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path), default="debian-packages")
@click.option("--data", type=click.Path(path_type=Path), help="Folder with packages.parquet: the full set.")
@click.option("--no-studio", is_flag=True, help="Print some suggestions, and open nothing.")
@serving_options
@json_option
@with_output
def demo(
    output: Output, folder: Path, data: Path | None, no_studio: bool, port: int, no_browser: bool
) -> None:
    """Complete the tags of real Debian packages in FOLDER, and open them in the Studio.

    Makes a collection out of data that comes with lass (with --data, out of all packages), fits it, prints
    some suggestions, and opens the browser. A collection that is there already is used as it is.
    """
    if not (folder / "collection.toml").is_file():
        _make(output, folder, data)
    with opened(folder) as collection:
        if collection.stale():
            result = run(output, collection)
            if not (output.as_json or output.quiet):
                print_fit(output, result)
        suggestions = collection.suggest(top=3, limit=8, untagged=True)
        example = suggestions[0] if suggestions else collection.suggest(top=1, limit=1)[0]
        doubtful = collection.doubtful_tags(limit=5)
        titles = {item.id: caption(item) for item in collection.get_items({row.item for row in suggestions})}
    if output.as_json:
        output.json({"collection": str(folder), "suggestions": list(suggestion_rows(suggestions))})
        return
    print_suggestions(output, suggestions, doubtful, titles)
    if not no_studio:
        start(output, folder, port, no_browser)
    elif not output.quiet:
        output.out.print("\nNow try:")
        for line in (
            f"studio {folder}",
            f"suggest {folder} --item {example.item}",
            f"tag {folder} {example.item} +{example.tag}",
            f"fit {folder}",
            f"next {folder}",
            f"suggest {folder} --out suggestions.csv",
        ):
            output.out.print(f"  lass {line}", markup=False, soft_wrap=True)


def _make(output: Output, folder: Path, data: Path | None) -> None:
    if data is None:
        from lass.collection.bundled import debian

        items, tags = debian()
    else:
        items, tags = data / "packages.parquet", None
        if not items.is_file():
            raise ValueError(f"--data must be a folder with packages.parquet; found none in {data}")
    output.note("reading the packages ...")
    new = read_new(
        items=items, id="package", text=("summary", "description"), tags=tags,
        tag_column="tags" if data else None,
    )  # fmt: skip
    make(Output(quiet=True), folder, new)
