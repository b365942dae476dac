"""Write every measured number of README and docs from ``benchmarks/results``.

    python scripts/make_benchmark_pages.py            # fill the pages
    python scripts/make_benchmark_pages.py --check    # fail where a page and the results differ

A page holds blocks ``<!-- results: NAME -->`` ... ``<!-- end -->``; what stands between them is made by the
function of that name in ``benchmark_tables.py``. Figures with a unit that were typed by hand are an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from benchmark_tables import BLOCKS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: a figure that somebody measured: a number and its unit, or per cent
TYPED = re.compile(r"(?<![\w./-])\d[\d.,]* ?(ms|s|seconds|minutes|microseconds|times|x|[kKMGT]i?B|%)(?!\w)")
#: pages with limits and settings, which are no measurements
LIMITS = ("studio.md",)
#: code, formulas, addresses
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|^    [^\n]*$|\]\([^)\n]*\)", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """The README and the documentation, without the paper's evidence, which ``lass reproduce`` writes."""
    found = [path for path in (ROOT / "docs").glob("**/*.md") if "gallery" not in path.parts]
    return [ROOT / "README.md", *sorted(path for path in found if path.name != "evidence.md")]


def filled(text: str) -> str:
    """The text with its blocks made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]]()}\n\n{found[3]}", text)


def typed(text: str) -> list[str]:
    """Measured figures that stand outside of blocks."""
    return [found[0] for found in TYPED.finditer(QUOTED.sub("", BLOCK.sub("", text)))]


def main() -> None:
    """Fill or check all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where something differs")
    check = parser.parse_args().check
    wrong = []
    for path in pages():
        name, before = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        after = filled(before)
        if after != before and check:
            wrong.append(f"{name} differs from benchmarks/results: run `make pages`")
        elif after != before:
            path.write_text(after, encoding="utf-8")
            print(f"{name} written")
        figures = [] if path.name in LIMITS else typed(after)
        wrong += [f"{name}: typed by hand, not from benchmarks/results: {figure!r}" for figure in figures]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
