"""Pages that were built from other sources than those of the checkout."""

import json
import runpy
import shutil
from pathlib import Path

from lass.studio.app import openapi_schema, stale_pages

ROOT = Path(__file__).parents[2]


def test_pages_of_another_version_are_named(tmp_path):
    for name in ("scripts", "web"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules"))
    assert stale_pages(tmp_path) == ""  # none were built
    mark = tmp_path / "src/lass/studio/static/built-from.txt"
    mark.parent.mkdir(parents=True)
    made = runpy.run_path(str(tmp_path / "scripts" / "build_web.py"))
    mark.write_text(made["sources_mark"](json.dumps(openapi_schema(), indent=1)) + " checked")
    assert stale_pages(tmp_path) == ""
    changed = tmp_path / "web" / "src" / "App.svelte"
    changed.write_text(changed.read_text() + "<!-- -->")
    assert "run: make web" in stale_pages(tmp_path)
