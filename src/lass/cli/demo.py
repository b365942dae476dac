"""``lass demo``: the tags of real Debian packages, completed."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.fit import run, show
from lass.cli.group import Command
from lass.cli.init import make
from lass.cli.output import Talk, caption, json_option, opened, talking
from lass.cli.studio import serving_options, start
from lass.cli.suggest import show as show_suggestions
from lass.collection.importing import read
from lass.tagging.tables import as_rows

EXAMPLES = ["lass demo", "lass demo --no-studio", "lass demo all-packages/ --data debian/"]


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path), default="debian-packages")
@click.option("--data", type=click.Path(path_type=Path), help="Folder with packages.parquet: the full set.")
@click.option("--no-studio", is_flag=True, help="Show some suggestions here, and open nothing.")
@serving_options
@json_option
@talking
def demo(talk: Talk, folder: Path, data: Path | None, no_studio: bool, port: int, no_browser: bool) -> None:
    """Complete the tags of real Debian packages in FOLDER, and open them in the Studio.

    Makes a collection out of data that comes with lass (with --data, out of all packages), fits it, shows
    some suggestions, and opens the browser. A collection that is there already is used as it is.
    """
    if not (folder / "collection.toml").is_file():
        _make(talk, folder, data)
    with opened(folder) as collection:
        if collection.stale():
            done = run(talk, collection)
            if not (talk.as_json or talk.quiet):
                show(talk, done)
        from lass.tagging import Opinions

        opinions = Opinions.of(collection)
        added = opinions.suggestions(top=3, limit=8, untagged=True)
        doubted = opinions.doubts(limit=5)
        titles = {item.id: caption(item) for item in collection.items({row.item for row in added})}
    if talk.as_json:
        talk.json({"collection": str(folder), "suggestions": list(as_rows(added))})
        return
    show_suggestions(talk, added, doubted, titles)
    if not no_studio:
        start(talk, folder, port, no_browser)
    elif not talk.quiet:
        example = added[0] if added else opinions.suggestions(top=1, limit=1)[0]
        talk.out.print("\nNow try:")
        for line in (
            f"studio {folder}",
            f"suggest {folder} --item {example.item}",
            f"tag {folder} {example.item} +{example.tag}",
            f"fit {folder}",
            f"next {folder}",
            f"suggest {folder} --out suggestions.csv",
        ):
            talk.out.print(f"  lass {line}", markup=False, soft_wrap=True)


def _make(talk: Talk, folder: Path, data: Path | None) -> None:
    from lass.collection import Settings

    if data is None:
        from lass.collection.bundled import debian

        items, tags = debian()
    else:
        items, tags = data / "packages.parquet", None
        if not items.is_file():
            raise ValueError(f"--data must be a folder with packages.parquet; found none in {data}")
    talk.say("reading the packages ...")
    text = ("summary", "description")
    imported = read(
        items=items, id="package", title=None, text=text, numeric=(), tags=tags, layout="auto", value=None,
        tag_column="tags" if data else None, separator=None, encoding=None, skip_bad=False,
    )  # fmt: skip
    settings = Settings(features={"kind": "text", "columns": list(text), "id": "package"})
    make(Talk(quiet=True), folder, imported, settings)
