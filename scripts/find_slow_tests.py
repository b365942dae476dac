"""Write ``tests/slow.txt``: the tests that ``make quick`` leaves out.

    python scripts/find_slow_tests.py            # runs all tests once, one after the other

A test function is slow if one of its cases, or all of them together, take long. Files that are named as a
whole stay in the list: they need torch, Ray or a browser, or take minutes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "slow.txt"
#: seconds of one case, and of all cases of a function
ONE, ALL = 0.2, 1.0
LINE = re.compile(r"([\d.]+)s call +((?:tests|src)/\S+?)::(\w+)")


def slow(output: str) -> list[str]:
    """Test functions that took long, from what ``pytest --durations=0`` prints."""
    times: dict[str, list[float]] = defaultdict(list)
    for seconds, file, name in LINE.findall(output):
        times[f"{file}::{name}"].append(float(seconds))
    return sorted(name for name, spent in times.items() if max(spent) > ONE or sum(spent) > ALL)


def main() -> None:
    """Run, and replace the list."""
    kept = [name for name in LIST.read_text(encoding="utf-8").split() if "::" not in name]
    command = [sys.executable, "-m", "pytest", "-q", "--durations=0", "--durations-min=0.01"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [name for name in slow(ended.stdout) if name.split("::")[0] not in kept]
    LIST.write_text("\n".join([*kept, *found]) + "\n", encoding="utf-8")
    print(ended.stdout.splitlines()[-1])
    print(f"{len(found)} slow test functions beside {len(kept)} files")


if __name__ == "__main__":
    main()
