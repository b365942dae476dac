"""Draw which package of lass imports which, from the code itself.

    python scripts/draw_imports.py            # docs/pictures/imports.svg
    python scripts/draw_imports.py --check    # fail where the picture is not that of the code

Packages stand in the order of the layers contract in ``pyproject.toml``; an arc goes from a package to one
that it imports, as wide as the number of imports between their modules.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "imports.svg"
STEP, LEFT, TOP, WIDTH = 46, 210, 30, 440
COLOURS = ("#b5123e", "#1f4e8c", "#2a7f62", "#8f5fbf", "#c07a1e", "#58808c")


def layers() -> list[str]:
    """The packages from the lowest to the highest, as the contract names them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(one for one in settings["contracts"] if one["type"] == "layers")
    return list(reversed(contract["layers"]))


def imports() -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """How many imports go from package to package, and how many modules each has."""
    graph = grimp.build_graph("lass", cache_dir=None)
    sizes: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        if module.count(".") == 0:
            continue
        package = module.split(".")[1]
        sizes[package] += 1
        for other in graph.find_modules_directly_imported_by(module):
            target = other.split(".")[1] if "." in other else ""
            if target not in ("", package):
                pairs[package, target] += 1
    return pairs, sizes


def picture() -> str:
    """The drawing as SVG: the lowest layer below, arcs on both sides."""
    names = layers()
    pairs, sizes = imports()
    height = 2 * TOP + STEP * (len(names) - 1)
    place = {name: height - TOP - STEP * number for number, name in enumerate(names)}
    parts = []
    for (package, target), count in sorted(pairs.items()):
        if package not in place or target not in place:
            continue
        top, bottom = place[package], place[target]
        side = 1 if names.index(package) % 2 else -1
        start = LEFT + side * 62
        bend = start + side * (26 + 0.42 * abs(bottom - top))
        colour = COLOURS[names.index(package) % len(COLOURS)]
        parts.append(
            f'<path d="M{start} {top} C{bend:.0f} {top}, {bend:.0f} {bottom}, {start} {bottom}" fill="none" '
            f'stroke="{colour}" stroke-opacity="0.55" stroke-width="{1 + 0.6 * count**0.5:.1f}">'
            f"<title>{package} imports {target}: {count}</title></path>"
        )
    for name, y in place.items():
        parts.append(
            f'<rect x="{LEFT - 62}" y="{y - 15}" width="124" height="30" rx="6" fill="#ffffff" '
            f'stroke="{COLOURS[names.index(name) % len(COLOURS)]}" stroke-width="1.5"/>'
            f'<text x="{LEFT}" y="{y + 4}" text-anchor="middle">{name} '
            f'<tspan fill="#888888" font-size="10">{sizes[name]}</tspan></text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="13" role="img" '
        'aria-label="Packages of lass and their imports">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    """Write the picture, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where it differs")
    drawn = picture()
    if not parser.parse_args().check:
        PICTURE.write_text(drawn, encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != drawn:
        sys.exit(f"{PICTURE.relative_to(ROOT)} is not that of the code: run `make pages`")


if __name__ == "__main__":
    main()
