"""One term a concept: patterns find retired terms; exceptions stand in ``vocabulary.toml`` with reasons."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
FOLDERS = {
    "src": (".py", ".pyi", ".md"), "web/src": (".ts", ".svelte", ".css"), "docs": (".md", ".py", ".js"),
    "examples": (".py", ".rst"), "evidence": (".py",), "benchmarks": (".py", ".md"), "scripts": (".py",),
}  # fmt: skip
PAGES = ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")
#: made by tools from other files that are looked at
MADE = ("static", "gallery", "reference", "results", "openapi.ts")


@cache
def lines():
    """(path, number, text) of everything people read, and the name of each file as its line zero."""
    files = [ROOT / name for name in PAGES]
    for folder, endings in FOLDERS.items():
        files += sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in endings)
    found = []
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        inside = name.split("/")
        if path.is_file() and (not set(MADE).intersection(inside) or name.startswith("docs/static/")):
            numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            found += [(name, 0, path.stem), *((name, number, text) for number, text in numbered)]
    return found


def allowed(term, name, text):
    """Whether an exception covers every use of a term in a line; what exceptions match is taken out of it."""
    for exception in VOCABULARY["exception"]:
        if re.fullmatch(exception.get("file", ".*"), name):
            text = re.sub(exception["text"], "", text, flags=re.IGNORECASE)
    return not re.search(term["pattern"], text)


@pytest.mark.parametrize("term", VOCABULARY["term"], ids=lambda term: term["name"])
def test_retired_terms_are_gone(term):
    pattern = re.compile(term["pattern"])
    found = [
        f"{name}:{number}: {text.strip()[:120]}"
        for name, number, text in lines()
        if pattern.search(text) and not allowed(term, name, text)
    ]
    assert not found, f"say {term['say']!r}:\n" + "\n".join(found)


def test_exceptions_have_a_reason_and_are_needed():
    everything = [(name, text) for name, _, text in lines()]
    for exception in VOCABULARY["exception"]:
        assert exception["reason"]
        file, text = (re.compile(exception.get(key, ".*"), re.IGNORECASE) for key in ("file", "text"))
        assert any(file.fullmatch(name) and text.search(line) for name, line in everything), exception
