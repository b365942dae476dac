"""Choose the bundled collection out of all Debian packages.

    python scripts/make_debian.py --data DIR      # a folder with packages.parquet

Writes ``items.csv.gz`` and ``tags.csv.gz`` into ``src/lass/bundled``, the same bytes every time. How the
packages are chosen, and what follows from it, stands in ``src/lass/bundled/debian-card.md``.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

TAGGED, UNTAGGED = 4_500, 1_500
#: most packages of one source, the first by name: its packages are near copies of each other
MOST_OF_A_SOURCE = 3
#: every tag that is kept has this many packages at least
FEWEST_PACKAGES = 15
#: a description is cut after the last sentence, or else the last word, within this many characters
LONGEST_DESCRIPTION = 400
#: every tagged package carries it because it was chosen by it: to guess it would be no achievement
CHOSEN_BY = "role::program"

PROGRAM_SECTIONS = {
    "admin", "comm", "database", "editors", "education", "electronics", "games", "gnome", "graphics",
    "hamradio", "kde", "mail", "math", "misc", "net", "news", "science", "shells", "sound", "text", "utils",
    "vcs", "video", "web", "x11", "xfce",
}  # fmt: skip
NO_PROGRAM_NAME = re.compile(
    r"^(lib|python3?-|ruby-|golang-|haskell-|node-|php-|r-|elpa-|fonts?-|ttf-|gir1|task-|education-|med-)"
    r"|-(common|data|dbg|dbgsym|dev|docs?|extras?|examples|headers|l10n|libs?|locales?|music|plugins?|sounds?)$"
    r"|-(dev|doc|l10n|plugin|plugins|theme|themes)-|-(theme|themes|module|modules|backend)$"
)
NO_PROGRAM_SUMMARY = re.compile(
    r"\b(transitional|dummy|meta[- ]?package|documentation|debug|development files|data files|sound files|"
    r"common files|arch(itecture)?-independent|header files|plugins? for|librar(y|ies)|"
    r"bindings|module|theme)\b",
    re.IGNORECASE,
)

Package = dict[str, Any]


def is_program(package: Package) -> bool:
    """Whether section, name and summary say that somebody would start it."""
    return (
        package["section"] in PROGRAM_SECTIONS
        and not NO_PROGRAM_NAME.search(package["package"])
        and not NO_PROGRAM_SUMMARY.search(package["summary"])
    )


def cut(description: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """The beginning of a description as one line."""
    text = " ".join(description.split())
    if len(text) <= longest:
        return text
    head = text[: longest + 1]
    sentence = max(head.rfind(end) for end in (". ", "! ", "? "))
    if sentence >= longest // 2:
        return head[: sentence + 1]
    return head[: head.rfind(" ")].rstrip(" ,;:-") + " ..."


def in_order(packages: Iterable[Package]) -> list[Package]:
    """By the digest of the source: an order without meaning in which a source stays together."""
    ordered = sorted(
        packages, key=lambda one: (hashlib.sha256(one["source"].encode()).digest(), one["package"])
    )
    seen: Counter[str] = Counter()
    kept = []
    for package in ordered:
        seen[package["source"]] += 1
        if seen[package["source"]] <= MOST_OF_A_SOURCE:
            kept.append(package)
    return kept


def choose(packages: Sequence[Package], tagged: int = TAGGED, untagged: int = UNTAGGED) -> list[Package]:
    """Programs with tags beside the one they are chosen by, and programs that nobody tagged."""
    programs = [package for package in packages if is_program(package)]
    with_tags = in_order(
        one for one in programs if one["tags"] and CHOSEN_BY in one["tags"] and len(one["tags"]) > 1
    )[:tagged]
    without = in_order(one for one in programs if not one["tags"])[:untagged]
    return sorted([*with_tags, *without], key=lambda one: str(one["package"]))


def tags_of(packages: Sequence[Package], fewest: int = FEWEST_PACKAGES) -> list[tuple[str, str]]:
    """Pairs of package and tag, for the tags that enough packages carry."""
    counts = Counter(tag for package in packages for tag in package["tags"] or ())
    kept = {tag for tag, count in counts.items() if count >= fewest} - {CHOSEN_BY}
    return [
        (package["package"], tag) for package in packages for tag in sorted(kept & set(package["tags"] or ()))
    ]


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A compressed CSV without name or time in it, so that the same rows give the same file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


def main() -> None:
    """Choose, write, and say what was chosen."""
    import pyarrow.parquet

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with packages.parquet")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/lass/bundled")
    arguments = parser.parse_args()
    chosen = choose(pyarrow.parquet.read_table(arguments.data / "packages.parquet").to_pylist())
    columns = ("package", "source", "section", "summary")
    items = [(*(" ".join(one[name].split()) for name in columns), cut(one["description"])) for one in chosen]
    tags = tags_of(chosen)
    write(arguments.out / "items.csv.gz", (*columns, "description"), items)
    write(arguments.out / "tags.csv.gz", ("item", "tag", "value"), ((*pair, 1) for pair in tags))
    carried = Counter(item for item, _ in tags)
    size = sum((arguments.out / f"{name}.csv.gz").stat().st_size for name in ("items", "tags"))
    print(
        f"{len(items):,} packages of {len({one['source'] for one in chosen}):,} sources, "
        f"{len(carried):,} with tags, {len(tags) / len(carried):.2f} each; "
        f"{len({tag for _, tag in tags})} tags; {size / 1e6:.2f} MB"
    )


if __name__ == "__main__":
    main()
