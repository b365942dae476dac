"""README and docs: links lead somewhere, commands exist with these options, code runs as it stands."""

import csv
import doctest
import gzip
import importlib.util
import re
import shlex
import tomllib
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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
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


#: what the commands of the pages begin with
KNOWN = "lass |make |pip |python |ssh "


def commands(text: str) -> list[str]:
    lines = re.findall(rf"^    (?={KNOWN})(.+)$", text, flags=re.M)
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


def check_pip(arguments: list[str]) -> None:
    """Raise where this installs another distribution, or an extra that there is not."""
    install, requirement = arguments
    name, _, extras = requirement.removesuffix("]").partition("[")
    assert (install, name) == ("install", PROJECT["name"])
    assert set(filter(None, extras.split(","))) <= set(PROJECT["optional-dependencies"]), extras


def check_command(line: str) -> None:
    program, *arguments = shlex.split(line, comments=True)
    if program == "pip":
        check_pip(arguments)
    elif program == "lass":
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


@pytest.mark.parametrize(
    "line",
    [
        "lass fit packages --no-such",
        "lass embroider",
        "make tea",
        "pip install lass",
        'pip install "lass-tags[tea]"',
    ],
)
def test_a_command_that_does_not_exist_is_found(line):
    with pytest.raises((AssertionError, click.UsageError)):
        check_command(line)


def unknown_code(text: str) -> list[str]:
    """Indented lines that are no commands, and fenced blocks in a language that no test runs."""
    found, before, fence = [], "", None
    for line in text.splitlines():
        if line.startswith("```"):
            fence = line[3:] if fence is None else None
            if fence is not None and not re.match(r"\{|(python|toml)$", fence):
                found.append(line)
        elif fence is None and line.startswith("    ") and before in ("", "code"):
            found += [] if re.match(KNOWN, line.strip()) else [line.strip()]
            line = "code"
        before = line
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_all_code_of_the_pages_is_tested(page):
    assert unknown_code(text_of(page)) == []
    for block in re.findall(r"^```toml\n(.*?)^```", text_of(page), flags=re.S | re.M):
        tomllib.loads(block)


@pytest.mark.parametrize("code", ["\n\n    sol = lass.solve(W, G)\n", "```bash\nls\n```\n"])
def test_code_that_no_test_knows_is_found(code):
    assert unknown_code(f"Like this:{code}")


def test_every_command_has_its_place_and_picture():
    text = text_of(ROOT / "docs" / "commands.md")
    for name in group.list_commands(click.Context(group)):
        part = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert f"    lass {name}" in part, name
        assert f"](pictures/command-{name}.svg)" in part, name


def test_every_picture_of_the_studio_is_on_its_page():
    shown = text_of(ROOT / "docs" / "studio.md")
    pictures = {path.name for path in (ROOT / "docs" / "pictures").glob("studio-*.png")}
    assert {name for name in pictures if f"pictures/{name}" not in shown} == set()


def test_every_page_is_in_a_list():
    listed = set()
    for page in (ROOT / "docs").glob("**/*.md"):
        for block in re.findall(r"^```\{toctree\}(.*?)^```", text_of(page), flags=re.S | re.M):
            lines = [line for line in block.splitlines() if line and not line.startswith(":")]
            names = [line.rpartition("<")[2].rstrip(">") for line in lines]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    assert {page.name for page in pages if page not in listed} == {"index.md"}


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
