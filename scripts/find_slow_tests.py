"""Write ``tests/slow.txt``: the tests that ``make quick`` leaves out.

    python scripts/find_slow_tests.py            # runs all tests once, one after the other

A test function is slow if one of its cases, or all of them together, take long; a file is if its fixtures do.
Files in the list stay there: some need torch, Ray or a browser.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "slow.txt"
#: seconds of one case, of all cases of a function, and of the fixtures of a file
ONE, ALL, FIXTURES = 0.3, 1.5, 1.5
LINE = re.compile(r"([\d.]+)s (call|setup) +(tests/\S+?)::(\w+)")


def slow(output: str) -> list[str]:
    """Files and test functions that took long, from what ``pytest --durations=0`` prints."""
    calls: dict[str, list[float]] = defaultdict(list)
    fixtures: dict[str, float] = defaultdict(float)
    for seconds, phase, file, name in LINE.findall(output):
        if phase == "call":
            calls[f"{file}::{name}"].append(float(seconds))
        else:
            fixtures[file] += float(seconds)
    files = [file for file, spent in fixtures.items() if spent > FIXTURES]
    functions = [name for name, spent in calls.items() if max(spent) > ONE or sum(spent) > ALL]
    return sorted(files) + sorted(functions)


def main() -> None:
    """Run, and replace the list."""
    kept = {name for name in LIST.read_text(encoding="utf-8").split() if "::" not in name}
    command = [sys.executable, "-m", "pytest", "-q", "--durations=0", "--durations-min=0.01"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = slow(ended.stdout)
    files = kept | {name for name in found if "::" not in name}
    functions = [name for name in found if "::" in name and name.split("::")[0] not in files]
    LIST.write_text("\n".join([*sorted(files), *functions]) + "\n", encoding="utf-8")
    print(ended.stdout.splitlines()[-1])
    print(f"{len(functions)} slow test functions beside {len(files)} files")


if __name__ == "__main__":
    main()
