"""What a measurement was made on and with: machine, versions, date, commit, hashes of the code."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import lass

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
#: folders whose files decide a result, and what in them does not
TREES, OUTPUTS = ("src", "benchmarks", "evidence"), {"__pycache__", "results", "static"}


def stamp(*packages: str) -> dict[str, Any]:
    """Processor, cores, memory, versions (of ``packages`` too), date, commit and hashes of the code."""
    affinity = getattr(os, "sched_getaffinity", None)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(), "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1), "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {"lass": lass.__version__} | {name: _version(name) for name in (*PACKAGES, *packages)},
        "date": today(), "commit": commit(), "hashes": {tree: tree_hash(ROOT / tree) for tree in TREES},
    }  # fmt: skip


def today() -> str:
    """The date in UTC."""
    return datetime.now(UTC).date().isoformat()


@cache
def commit() -> str:
    """The commit that is checked out, marked where code differs from it; empty outside a repository."""
    try:
        name = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *TREES], cwd=ROOT).returncode
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name} with changes" if changed else name


@cache
def tree_hash(folder: Path) -> str:
    """The first 16 digits of a SHA-256 over names and contents of the files below a folder.

    Results and what is built count for nothing: measuring does not change the hash.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not OUTPUTS.intersection(name.parts):
            digest.update(f"{name.as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
