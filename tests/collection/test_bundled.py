import csv
import gzip
import importlib.util
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lass.collection.bundled import debian

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_debian.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("make_debian", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def items():
    return rows(debian().items)


@pytest.fixture(scope="module")
def tags():
    return rows(debian().tags)


def package(name, source=None, section="utils", summary="does a thing", tags=None):
    return {
        "package": name,
        "source": source or name,
        "section": section,
        "summary": summary,
        "description": "Long.",
        "tags": tags,
    }


def test_there_are_thousands_of_packages_with_and_without_tags(items, tags):
    tagged = {row["item"] for row in tags}
    names = [row["package"] for row in items]
    assert list(items[0]) == ["package", "source", "section", "summary", "description"]
    assert len(names) == len(set(names)) >= 4000
    assert tagged < set(names)
    assert len(names) - len(tagged) >= 1000
    assert len(tags) / len(tagged) >= 3


def test_words_come_once_and_every_tag_has_enough_packages(tags, script):
    pairs = [(row["item"], row["tag"]) for row in tags]
    assert len(pairs) == len(set(pairs))
    assert {row["value"] for row in tags} == {"1"}
    assert min(Counter(tag for _, tag in pairs).values()) >= script.FEWEST_PACKAGES
    assert script.CHOSEN_BY not in {tag for _, tag in pairs}


def test_every_cell_is_clean_text(items):
    for row in items:
        for value in row.values():
            assert value
            assert value == " ".join(value.split())


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in debian()) < 1_500_000


def test_the_card_states_the_numbers_of_the_files(items, tags):
    card = debian().items.with_name("debian-card.md").read_text(encoding="utf-8")
    tagged = len({row["item"] for row in tags})
    sources = len({row["source"] for row in items})
    facets = len({row["tag"].split("::")[0] for row in tags})
    assert f"{len(items):,} packages of {sources:,} source packages; {tagged:,} carry tags" in card
    assert f"{len({row['tag'] for row in tags})} in {facets} facets" in card
    assert f"{len(tags):,} annotations" in card


def test_it_is_found_without_loading_anything_heavy():
    program = (
        "import sys; before = set(sys.modules); from lass.collection.bundled import debian; debian();"
        "print({'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_script_takes_programs_and_leaves_libraries(script):
    program = ["role::program", "use::editing"]
    offered = [
        package("editor", tags=program),
        package("libeditor", tags=program),
        package("editor-doc", tags=program),
        package("editor-old", summary="transitional package", tags=program),
        package("python3-editor", section="python"),
        package("bare", tags=["role::program"]),
        package("data", tags=["role::app-data"]),
        package("unknown"),
    ]
    assert [one["package"] for one in script.choose(offered)] == ["editor", "unknown"]


def test_the_script_keeps_few_of_a_source_and_does_not_mind_the_order(script):
    offered = [package(f"tool{i}", source="tools") for i in range(9)] + [
        package(f"other{i}") for i in range(9)
    ]
    chosen = script.choose(offered, untagged=8)
    assert sum(one["source"] == "tools" for one in chosen) <= script.MOST_OF_A_SOURCE
    assert len(chosen) == 8
    assert script.choose(offered[::-1], untagged=8) == chosen


def test_the_script_cuts_at_sentences_and_words(script):
    assert script.cut("One\n two.") == "One two."
    assert script.cut("First one. Second one goes on", longest=16) == "First one."
    assert script.cut("many words, without an end", longest=12) == "many words ..."


def test_the_script_drops_rare_tags(script):
    chosen = [package(f"p{i}", tags=["role::program", "a::b"] + ["c::d"] * (i == 0)) for i in range(3)]
    assert script.tags_of(chosen, fewest=2) == [("p0", "a::b"), ("p1", "a::b"), ("p2", "a::b")]


def test_the_same_rows_give_the_same_bytes(script, tmp_path, items):
    for name in ("a.gz", "b.gz"):
        script.write(tmp_path / name, list(items[0]), (row.values() for row in items))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == gzip.decompress(debian().items.read_bytes())
