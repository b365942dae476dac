"""Where Chromium is; it is installed where there is none, for a skipped test checks nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
#: WebGL by the processor, the rest of the page without it (20 times as many frames), and no requests
#: of its own
FLAGS = (
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


def find() -> str | None:
    """Chromium's path; None: the one that Playwright brought itself."""
    found = _there()
    if found:
        return found
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False)
        found = _there()
        if found:
            return found
    # does nothing where it is there already
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)
    return None


def _there() -> str | None:
    named = os.environ.get("LASS_CHROMIUM")
    if named:
        return named
    return next((path for path in map(shutil.which, NAMES) if path), None)
