"""README and docs: links lead somewhere, commands exist with these options, code runs as it stands."""

import csv
import doctest
import gzip
import importlib.util
import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest

import lass
from lass.cli import group

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += [ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "tutorials").glob("*.md"))
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
BUNDLED = ROOT / "src" / "lass" / "collection" / "bundled"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def links(text: str) -> list[str]:
    without_code = re.sub(r"^```(?!\{).*?^```|`[^`\n]*`", "", text, flags=re.S | re.M)
    found = re.findall(r"\]\(([^)\s]+)\)", without_code)
    found += re.findall(r"^```\{(?:image|include|figure)\} (\S+)", text, flags=re.M)
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def missing(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if (ROOT / "docs" / "gallery") in target.parents:  # pages that are made from the examples
        return not (ROOT / "examples" / "gallery" / f"{target.name}.py").exists()
    if not target.exists():
        return True
    return bool(anchor) and anchor not in anchors(text_of(target))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    assert [link for link in links(text_of(page)) if missing(page, link)] == []


@pytest.mark.parametrize("link", ["nowhere.md", "scale.md#no-such-heading", "gallery/plot_nothing"])
def test_a_link_to_nothing_is_found(link):
    assert missing(ROOT / "docs" / "index.md", link)


def commands(text: str) -> list[str]:
    lines = re.findall(r"^    (?=lass |make |python |ssh )(.+)$", text, flags=re.M)
    return [line.removeprefix("ssh -L 8765:127.0.0.1:8765 you@there ") for line in lines]


def check_lass(arguments: list[str]) -> None:
    """Raise where there is no such command, or it has no such option."""
    context = click.Context(group, info_name="lass")
    command = group.get_command(context, arguments[0])
    assert command is not None, f"no command {arguments[0]}"
    inner = click.Context(command, info_name=arguments[0], parent=context, **command.context_settings)
    values, rest, _ = command.make_parser(inner).parse_args(arguments[1:])
    assert rest == []
    for parameter in command.params:
        assert not parameter.required or values.get(parameter.name) is not None, parameter.name


def check_command(line: str) -> None:
    program, *arguments = shlex.split(line, comments=True)
    if program == "lass":
        check_lass(arguments)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), flags=re.M)
        assert arguments[0] in targets
    elif arguments[0] == "-m":
        assert importlib.util.find_spec(arguments[1]) is not None
    else:
        assert (ROOT / arguments[0]).exists()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_exist_with_these_options(page):
    for line in commands(text_of(page)):
        check_command(line)


@pytest.mark.parametrize("line", ["lass fit packages --no-such", "lass embroider", "make tea"])
def test_a_command_that_does_not_exist_is_found(line):
    with pytest.raises((AssertionError, click.UsageError)):
        check_command(line)


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M)


def bundled_rows(name: str) -> list[list[str]]:
    with gzip.open(BUNDLED / name, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def write_rows(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def names_of_the_examples(tmp_path, monkeypatch):
    """What the pages take for granted: two tables in the folder, features, labels, affinities."""
    header, *rows = bundled_rows("items.csv.gz")
    some = [row for row in rows if "minimap2" in row] + rows[:70]
    ids = {row[header.index("package")] for row in some}
    write_rows(tmp_path / "items.csv", [header, *some])
    head, *tags = bundled_rows("tags.csv.gz")
    write_rows(tmp_path / "tags.csv", [head, *(row for row in tags if row[0] in ids)])
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 4)) * 4
    truth = np.arange(60) % 3
    X = centres[truth] + rng.normal(size=(60, 4))
    y = np.where(np.arange(60) < 12, truth, -1)
    G = np.zeros((60, 3))
    G[np.arange(12), truth[:12]] = 1
    return {"lass": lass, "X": X, "y": y, "G": G, "W": lass.knn_graph(X)}


WITH_CODE = [page for page in PAGES if blocks(text_of(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_runs_as_it_stands(page, names_of_the_examples, capsys):
    for code in blocks(text_of(page)):
        if code.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
            assert result.failed == 0, capsys.readouterr().out
        else:
            exec(compile(code, str(page), "exec"), names_of_the_examples)
