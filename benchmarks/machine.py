"""What a measurement was taken on, and how results are kept."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

PACKAGES = (
    "lass", "numpy", "scipy", "numba", "scikit-learn", "osqp", "osqp-mkl", "mkl", "scs", "clarabel",
    "proxsuite", "piqp",
)  # fmt: skip


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit() -> str:
    """Name the commit measured, marked where files differ from it; empty outside a repository."""
    here = Path(__file__).parent
    try:
        name = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "../src"], cwd=here).returncode
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{name} with changes" if changed else name


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def facts() -> dict[str, Any]:
    """Processor, cores, memory, versions, date and commit."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
        "date": today(),
        "commit": commit(),
    }


def write_json(path: Path, content: Any) -> None:
    """Replace the file in one move, so that a run that is stopped leaves a whole one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    draft.replace(path)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
