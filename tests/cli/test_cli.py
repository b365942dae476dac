"""The commands, one after the other, as people use them."""

import csv
import gzip
import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import lass
from command_line import ITEMS, TAGS, run
from lass import Collection
from lass.cli import COMMANDS
from lass.collection.people_table import user_name


@pytest.fixture
def files(tmp_path):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "tags.csv").write_text(TAGS)
    (tmp_path / "sizes.csv").write_text("id,size\na,1\n")
    return tmp_path


@pytest.fixture
def folder(files):
    """Made and fitted as the design says."""
    where = files / "packages"
    run(
        "init", where, "--items", files / "items.csv", "--id", "package", "--text", "summary",
        "--tags", files / "tags.csv", "--neighbors", 3,
    )  # fmt: skip
    run("fit", where, "--lam", 0.1)
    return where


def test_several_tables_of_items_and_tags(files):
    lines = ITEMS.splitlines(keepends=True)
    for name, rows in (("one", lines[1:4]), ("two", lines[4:])):
        (files / f"{name}.csv").write_text(lines[0] + "".join(rows))
    (files / "more.csv").write_text("item,tag\nangband,new::tag\n")
    where = files / "both"
    run(
        "init", where, "--items", files / "one.csv", "--items", files / "two.csv", "--id", "package",
        "--text", "summary", "--tags", files / "tags.csv", "--tags", files / "more.csv",
    )  # fmt: skip
    with lass.open(where) as found:
        assert len(found.items) == len(lines) - 1
        assert ("angband", "new::tag") in {row[:2] for row in found.annotations}
        assert len(found.annotations) == len(TAGS.splitlines())
    again = run("init", files / "no", *(2 * ["--items", files / "one.csv"]), "--id", "package", code=2)
    assert "one.csv" in again.stderr
    assert not (files / "no").exists()


def test_from_a_table_to_suggestions(folder, files):
    out = files / "suggestions.csv"
    result = run("suggest", folder, "--top", 2, "--out", out)
    assert "rows on" in result.stdout
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["item", "tag", "score", "rank", "because", "neighbours", "strength"]
    assert {row["score"] for row in rows} == {""}  # of four tagged items nothing can be known
    assert "too little known for percentages: about 8 more tagged items" in result.stderr
    assert all(0 < float(row["strength"]) < 1 for row in rows)
    best = {row["item"]: row["tag"] for row in rows if row["rank"] == "1"}
    assert best["angband"] == "game::dungeon"
    assert best["gnugo"] == "game::board"
    assert best["pine"] in ("use::mail", "use::news")
    stated = {tuple(line.split(",")[:2]) for line in TAGS.splitlines()}
    assert not stated & {(row["item"], row["tag"]) for row in rows}
    assert max(sum(row["item"] == item for row in rows) for item in best) <= 2


def test_sentences_on_request_are_the_same_in_table_and_terminal_and_python(folder):
    plain = run("suggest", folder, "--top", 1, "--explain").stdout
    rows = list(csv.DictReader(io.StringIO(plain)))
    assert list(rows[0])[-1] == "why"
    with lass.open(folder) as collection:
        assert [row["why"] for row in rows] == [row.why for row in collection.suggest(top=1, explain=True)]
    assert all(row["why"].endswith(".") for row in rows)
    assert "why" not in json.loads(run("suggest", folder, "--top", 1, "--json").stdout)[0]


def rows_of(path):
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    text = path.read_text()
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix == ".tsv" else ","))


def test_every_format_of_suggestions_holds_the_same(folder, files):
    plain = run("suggest", folder, "--min-score", 0.05).stdout
    read = list(csv.DictReader(plain.splitlines()))
    data = json.loads(run("suggest", folder, "--min-score", 0.05, "--json").stdout)
    assert [(row["item"], row["tag"]) for row in read] == [(row["item"], row["tag"]) for row in data]
    assert all(row["score"] is None and row["strength"] >= 0.05 for row in data)
    assert {row.pop("items_until_percentages") for row in data} == {8}
    for ending in ("csv", "tsv", "jsonl", "json", "parquet"):
        out = files / f"s.{ending}"
        run("suggest", folder, "--min-score", 0.05, "--out", out, "--quiet")
        found = rows_of(out)
        assert [(row["item"], row["tag"]) for row in found] == [(row["item"], row["tag"]) for row in data]
        if ending in ("jsonl", "json"):
            assert found == data
        if ending == "parquet":
            pairs = [{part["predictor"]: part["part"] for part in row["because"]} for row in found]
            assert pairs == [row["because"] for row in data]
            assert [row["neighbours"] for row in found] == [row["neighbours"] for row in data]
    assert not [path for path in files.iterdir() if path.name.startswith(".")]


def test_filters_and_doubts(folder):
    one = json.loads(run("suggest", folder, "--item", "gnugo", "--json").stdout)
    assert {row["item"] for row in one} == {"gnugo"}
    tagged = {"mutt", "slrn", "nethack", "xchess"}
    untagged = json.loads(run("suggest", folder, "--untagged", "--json").stdout)
    assert {row["item"] for row in untagged} == {"pine", "tin", "angband", "gnugo"}
    only = json.loads(run("suggest", folder, "--tag", "use::mail", "--limit", 1, "--json").stdout)
    assert [row["tag"] for row in only] == ["use::mail"]
    doubts = json.loads(run("suggest", folder, "--doubts", "--json").stdout)
    assert {row["item"] for row in doubts} <= tagged
    assert all(row["score"] < row["mean_score"] for row in doubts)
    assert run("suggest", folder, "--doubts").stdout.startswith("item,tag,score,mean_score,rank\n")


def test_fit_prints_its_certificate(folder):
    data = json.loads(run("fit", folder, "--json").stdout)
    assert data["converged"] is True
    assert 0 <= data["relative_gap"] <= 1e-3
    assert data["lam"] == 0.1
    assert (data["items"], data["tags"], data["recomputed"]) == (8, 4, {})
    text = run("fit", folder, "--verbose").output
    assert "certified optimal" in text
    assert "4 of 8 items have tags" in text
    assert run("fit", folder, "--quiet").output == ""
    with Collection.open(folder) as collection:
        assert collection.settings.lam == 0.1
        assert collection.stale() == {}


def test_tag_undo_log(folder):
    done = json.loads(
        run("tag", folder, "tin", "+use::mail", "-game::board", "--json", "--who", "ann").stdout
    )
    assert done["annotations"] == {"use::mail": 1, "game::board": -1}
    # letters of options within a tag are its own
    run("tag", folder, "tin", "-quiet::verbose", "--new")
    with Collection.open(folder) as collection:
        assert collection.annotations_of("tin") == {"use::mail": 1, "game::board": -1, "quiet::verbose": -1}
    run("tag", folder, "tin", "--withdraw", "use::mail", "--who", "ann")
    run("undo", folder)
    log = json.loads(run("log", folder, "--item", "tin", "--json").stdout)
    assert [change["value"] for change in log] == [1, 0, -1, -1, 1]
    assert log[1]["undone"]
    assert log[-1]["who"] == "ann"
    assert log[0]["who"] == user_name()  # who undid it
    assert "(undone)" in run("log", folder).stdout
    assert "use::mail: no annotation" in run("undo", folder, "--redo").stdout
    note = run("suggest", folder).stderr
    assert re.search(rf"note: suggestions are older than \d annotations.*; run lass fit {folder}", note)


def test_log_and_undo_of_tags(folder):
    with Collection.open(folder) as collection:
        collection.rename_tag("use::mail", "use::letters", who="ann")
        collection.merge_tags("use::letters", "use::news", who="bob")
    lines = run("log", folder, "--limit", 4).stdout.splitlines()
    assert "bob         tag use::letters merged into use::news" in lines[0]
    assert "+ mutt  use::news" in lines[1]
    assert "ann         tag use::mail renamed to use::letters" in lines[3]
    assert run("undo", folder).stdout.splitlines()[0] == "tag use::letters is back"
    done = json.loads(run("undo", folder, "--json").stdout)
    assert (done["tags"], done["annotations"]) == (["tag use::letters renamed to use::mail"], [])
    assert "(undone)" in run("log", folder).stdout
    assert run("log", folder, "--item", "mutt").stdout.count("tag ") == 0


def test_tag_in_the_folder_itself(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run("tag", "pine", "+use::mail").stdout == "pine: +use::mail\n"
    run("fit")
    assert run("suggest", "--item", "tin").stdout.count("\n") > 1


def test_next_names_untagged_items(folder):
    rows = json.loads(run("next", folder, "--top", 3, "--json").stdout)
    assert len(rows) == 3
    assert {row["item"] for row in rows} <= {"pine", "tin", "angband", "gnugo"}
    assert run("next", folder, "--top", 3).stdout.splitlines()[0].split("\t")[0] == rows[0]["item"]


def test_export_comes_back_as_it_was(folder, files):
    run("export", folder, "--out", files / "out.csv")
    again = files / "again"
    run("init", again, "--items", files / "items.csv", "--id", "package", "--text", "summary",
        "--tags", files / "out.csv")  # fmt: skip
    with Collection.open(folder) as one, Collection.open(again) as two:
        assert (one.annotation_matrix().G - two.annotation_matrix().G).nnz == 0
        assert one.names() == two.names()
        shares = one.assignments.to_dense()
        ids, names = one.ids(), one.names()
    exported = json.loads(run("export", folder, "--what", "assignments", "--json").stdout)
    assert {(row["item"], row["tag"]): pytest.approx(row["share"]) for row in exported} == {
        (ids[n], names[k]): shares[n, k] for n, k in np.argwhere(shares >= 0.01)
    }


def test_add_items_and_tags(folder, files):
    (files / "more.csv").write_text("size,summary,package\n9,reads mail,elm\n")
    (files / "new.csv").write_text("item,tag\nelm,use::mail\npine,use::postcards\n")
    data = json.loads(
        run("add", folder, "--items", files / "more.csv", "--tags", files / "new.csv", "--json").stdout
    )
    assert data == {
        "collection": str(folder), "items": 9, "added": 1, "annotations": 2, "new_tags": 1, "skipped": 0,
        "updated": 0, "left_out": 0,
    }  # fmt: skip
    run("fit", folder)
    with Collection.open(folder) as collection:
        assert collection.assignments.shape == (9, 5)
        assert collection.annotations_of("elm") == {"use::mail": 1}
    again = run("add", folder, "--items", files / "more.csv", code=2)
    assert "'elm' is in the collection already" in again.stderr
    assert "nothing to add" in run("add", folder, code=2).stderr
    assert "not compared by edges" in run("add", folder, "--edges", files / "more.csv", code=2).stderr


@pytest.mark.parametrize("header", ["", "from,to,weight\n", "a,b\n"])
def test_items_of_edges_alone_need_no_table(files, header):
    weight = "" if header == "a,b\n" else ",0.5"
    edges = "".join(f"{a},{b}{weight}\n" for a, b in (("n1", "n2"), ("n2", "n3"), ("n3", "n1"), ("n3", "n4")))
    (files / "edges.csv").write_text(header + edges)
    run("init", files / "network", "--edges", files / "edges.csv")
    with lass.open(files / "network") as collection:
        assert [item.id for item in collection.items] == ["n1", "n2", "n3", "n4"]
        assert collection.graph.nnz == 8
    # nothing in the first line of a chain recurs but one end; a bad weight is no header
    for number, text in enumerate(("a,b\nb,c\n", "1.0,2.0\n3,4\n", "a,b,1e3\nc,d,2\n")):
        (files / "edges.csv").write_text(text)
        run("init", files / f"chain{number}", "--edges", files / "edges.csv")
        with lass.open(files / f"chain{number}") as collection:
            assert collection.graph.nnz == 4
    (files / "edges.csv").write_text("a,b,weight\na,c,1\n")  # an item is called as a column is
    run("init", files / "letters", "--edges", files / "edges.csv")
    with lass.open(files / "letters") as collection:
        assert [item.id for item in collection.items] == ["a", "c"]
    (files / "edges.csv").write_text("a,b,inf\nc,d,2\n")
    assert "line 1" in run("init", files / "infinite", "--edges", files / "edges.csv", code=2).stderr
    assert "--items is missing" in run("init", files / "nothing", code=2).stderr


def test_given_vectors_and_edges_grow_with_the_items(files):
    ids = [line.split(",")[0] for line in ITEMS.splitlines()[1:]]
    np.savez(files / "v.npz", vectors=np.eye(8, 3) + 1, ids=np.array(ids[::-1]))
    where = files / "by-vectors"
    common = ("--items", files / "items.csv", "--tags", files / "tags.csv")
    run("init", where, *common, "--vectors", files / "v.npz", "--neighbors", 2)
    run("fit", where, "--lam", 1)
    with Collection.open(where) as collection:
        np.testing.assert_array_equal(collection.features, (np.eye(8, 3) + 1)[::-1])
    (files / "more.csv").write_text("package,summary\nelm,reads mail\n")
    assert "--vectors" in run("add", where, "--items", files / "more.csv", code=2).stderr
    np.save(files / "more.npy", np.ones((1, 3)))
    run("add", where, "--items", files / "more.csv", "--vectors", files / "more.npy")
    run("fit", where)
    with Collection.open(where) as collection:
        assert collection.features.shape == (9, 3)

    (files / "e.csv").write_text("a,b,weight\nmutt,pine,1\npine,tin,2\nxchess,gnugo,1\n")
    where = files / "by-edges"
    run("init", where, *common, "--edges", files / "e.csv")
    run("fit", where, "--lam", 1)
    (files / "e2.csv").write_text("a,b\nelm,mutt\n")
    run("add", where, "--items", files / "more.csv", "--edges", files / "e2.csv")
    run("fit", where)
    (where / "arrays" / "graph.npz").write_bytes(b"")
    assert "damaged; give it again: lass add --edges" in run("fit", where, code=2).stderr
    (files / "e3.csv").write_text("a,b,weight\nmutt,pine,1\npine,tin,2\nxchess,gnugo,1\nelm,mutt,1\n")
    run("add", where, "--edges", files / "e3.csv")
    run("fit", where)
    with Collection.open(where) as collection:
        assert collection.graph.shape == (9, 9)
        assert collection.graph[8, 0] == collection.graph[0, 1] == 1
        assert collection.graph[1, 3] == 2


def test_numeric_columns_lists_of_tags_and_wide_tables(files):
    where = files / "numbers"
    run("init", where, "--items", files / "items.csv", "--numeric", "size", "--tags", files / "tags.csv")
    note = run("fit", where, "--verbose").stderr
    assert "1 unknown numbers of 'size' were set to its median" in note
    (files / "i.jsonl").write_text(
        '{"id": "a", "text": "x y", "tags": ["p", "-q"]}\n{"id": "b", "text": "y"}\n'
    )
    run("init", files / "lists", "--items", files / "i.jsonl", "--tag-column", "tags")
    (files / "wide.csv").write_text("id,p,q\na,1,-1\nb,,\n")
    (files / "plain.csv").write_text("id,text\na,x y\nb,y\n")
    run("init", files / "wide", "--items", files / "plain.csv", "--tags", files / "wide.csv")
    for name in ("lists", "wide"):
        with Collection.open(files / name) as collection:
            assert collection.annotations_of("a") == {"p": 1, "q": -1}


def test_a_folder_of_texts_and_one_of_pictures(files):
    from PIL import Image

    for kind in ("texts", "pictures"):
        (files / kind).mkdir()
        for n in range(4):
            if kind == "texts":
                (files / kind / f"{n}.txt").write_text("mail reader" if n < 2 else "chess game")
            else:
                Image.new("RGB", (4, 4), (255 * (n > 1), 0, 0)).save(files / kind / f"{n}.png")
        ending = "txt" if kind == "texts" else "png"
        (files / "t.csv").write_text(f"item,tag\n0.{ending},a\n3.{ending},b\n")
        run(
            "init", files / f"of-{kind}", "--items", files / kind, "--tags", files / "t.csv", "--neighbors", 1
        )
        run("fit", files / f"of-{kind}", "--lam", 0.1)
        best = json.loads(run("suggest", files / f"of-{kind}", "--untagged", "--top", 1, "--json").stdout)
        assert [(row["item"], row["tag"]) for row in best] == [(f"1.{ending}", "a"), (f"2.{ending}", "b")]
        first = files / kind / f"0.{ending}"
        (files / kind / f"4.{ending}").write_bytes(first.read_bytes())
        run("add", files / f"of-{kind}", "--items", files / kind)
        run("fit", files / f"of-{kind}")
        late = json.loads(run("suggest", files / f"of-{kind}", "--item", f"4.{ending}", "--json").stdout)
        assert late[0]["tag"] == "a"


def test_compressed_tables_are_read_and_damaged_ones_refused(files):
    packed = gzip.compress(ITEMS.encode())
    (files / "items.csv.gz").write_bytes(packed)
    arguments = ("--items", files / "items.csv.gz", "--text", "summary", "--tags", files / "tags.csv")
    run("init", files / "whole", *arguments)
    run("init", files / "plain", "--items", files / "items.csv", *arguments[2:])
    with Collection.open(files / "whole") as one, Collection.open(files / "plain") as two:
        assert one.items == two.items
    for damage in (packed[:-20], packed[:40] + b"no" + packed[42:], ITEMS.encode(), b"\x1f\x8b"):
        (files / "items.csv.gz").write_bytes(damage)
        assert "items.csv.gz" in run("init", files / "n", *arguments, code=2).stderr
        assert not (files / "n").exists()


def test_bad_rows_are_counted_when_left_out(files):
    with (files / "tags.csv").open("a") as file:
        file.write("nobody,use::mail,1\npine,use::mail,0.5\npine\n")
    common = ("--items", files / "items.csv", "--text", "summary", "--tags", files / "tags.csv")
    refused = run("init", files / "p", *common, code=2)
    assert "tags.csv, line 7: item 'nobody' is not in the collection" in refused.stderr
    assert not (files / "p").exists()
    data = json.loads(run("init", files / "p", *common, "--skip-bad", "--json").stdout)
    assert (data["items"], data["annotations"], data["skipped"]) == (8, 5, 3)
    assert len(data["problems"]) == 3


MISTAKES = {
    ("fit", "nowhere"): "nowhere is not the folder of a collection",
    ("fti", "x"): "no command 'fti'; did you mean 'fit'",
    ("suggest", "{c}", "--top", "0"): "0 is not in the range",
    ("suggest", "{c}", "--tag", "use::mial"): "no tag 'use::mial'; did you mean 'use::mail'",
    ("suggest", "{c}", "--item", "mut"): "no item 'mut'; did you mean 'mutt'",
    ("suggest", "{c}", "--out", "{f}/x.doc"): "must end in .csv",
    ("suggest", "{c}", "--out", "{f}/none/x.csv"): "there is no folder",
    ("suggest", "{c}", "--colour"): "No such option",
    ("fit", "{c}", "--lam", "much"): "--lam must be auto or a number",
    ("fit", "{c}", "--lam", "-1"): "lam must be 'auto' or a number >= 0",
    ("fit", "{c}", "--smoothing", "nan"): "smoothing must be a finite number",
    ("fit", "{c}", "--metric", "smell"): "metric",
    ("fit", "{c}", "--address", "auto"): "--address auto needs --engine ray",
    ("fit", "{c}", "--engine", "steam"): "Invalid value for '--engine'",
    ("fit", "{c}", "--engine", "ray", "--workers", "0"): "Invalid value for '--workers'",
    ("fit", "{c}", "--engine", "ray", "--facets", "on"): 'facets = "on" cannot be done on workers',
    ("fit", "{c}", "--lam", "0.3", "--engine", "ray", "--address", "127.0.0.1:1"): "cannot be reached",
    ("tag", "{c}", "mut", "+use::mail"): "no item 'mut'",
    ("tag", "{c}", "mutt", "+use::mial"): "? To make it, add --new on the command line",
    ("tag", "{c}", "mutt", "use::mail"): "tags are given as +TAG or -TAG; found 'use::mail'",
    ("tag", "{c}", "mutt", "+a", "-a", "--new"): "contradict each other",
    ("tag", "{c}", "mutt"): "there is no tag for item 'mutt'",
    ("tag", "{c}"): "name an item and its tags",
    ("tag",): "name an item and its tags",
    ("init",): "Missing argument 'FOLDER'",
    ("tag", "nowhere", "mutt", "+a"): "nowhere is not the folder",
    ("log", "{c}", "--item", "mut"): "no item 'mut'",
    ("init", "{c}", "--items", "{f}/items.csv"): "needs a new or empty folder",
    ("init", "{f}/n"): "--items is missing",
    ("init", "{f}/n", "--items", "{f}/none.csv"): "none.csv: cannot be read (No such file",
    ("init", "{f}/n", "--items", "{f}/items.csv", "--id", "pakage"): "no column 'pakage'",
    (
        "init",
        "{f}/n",
        "--items",
        "{f}/items.csv",
        "--numeric",
        "size",
        "--vectors",
        "x",
    ): "compared in one way",
    ("init", "{f}/n", "--items", "{f}/sizes.csv"): "nothing to compare items by",
    ("init", "{f}/n", "--items", "{f}/items.csv", "--metric", "smell"): "metric (--metric) must be one of",
    ("demo", "{f}/n", "--data", "{f}"): "packages.parquet",
    ("studio", "{f}"): "holds other files and no collection",
    ("studio", "{f}/items.csv"): "items.csv",
    ("studio", "{c}", "--port", "99999"): "Invalid value for '--port'",
    ("reproduce", "nothing", "--out", "{f}/n"): "no experiment 'nothing'",
    ("reproduce", "mnist", "--data", "{f}/none", "--out", "{f}/n"): "--data: there is no folder",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_line_and_changes_nothing(arguments, folder, files):
    before = {
        path: path.read_bytes() for path in files.rglob("*") if path.is_file() and "sqlite" not in path.name
    }
    result = run(*(argument.format(c=folder, f=files) for argument in arguments), code=2)
    assert MISTAKES[arguments] in result.stderr
    after = {
        path: path.read_bytes() for path in files.rglob("*") if path.is_file() and "sqlite" not in path.name
    }
    changed = {path.name for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not changed


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("evaluate", "report")])
def test_help_ends_with_an_example(name):
    text = run(name, "--help").stdout
    examples = text.partition("For example:\n")[2].strip().splitlines()
    assert examples
    assert all(line.strip().startswith(f"lass {name}") for line in examples)


def test_help_of_all_names_every_command_and_loads_nothing_slow():
    text = run("--help").stdout
    for name in ("demo", "init", "fit", "suggest", "tag", "next", "export"):
        assert f"\n  {name} " in text
    assert "_LASS_COMPLETE=bash_source" in text
    assert run().stdout == text
    slow = ["numpy", "scipy", "sklearn", "numba", "pyarrow", "matplotlib", "rich"]
    code = (
        "import sys, lass.cli; from click.testing import CliRunner; "
        f"CliRunner().invoke(lass.cli.group, ['--help']); print([m for m in {slow} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_demo_makes_completes_and_shows(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [line.split(",")[:2] for line in ITEMS.splitlines()[1:]]
    tags = [["use::mail"], [], ["use::news"], [], ["game::dungeon"], [], ["game::board"], []]
    table = {
        "package": [row[0] for row in rows], "summary": [row[1] for row in rows],
        "description": [""] * 8, "source": ["s"] * 8, "tags": tags,
    }  # fmt: skip
    pq.write_table(pa.table(table), tmp_path / "packages.parquet")
    where = tmp_path / "debian"
    text = run("demo", where, "--data", tmp_path, "--no-studio").stdout
    assert "Suggestions are ready." in text
    assert "certified" not in text
    assert f"lass tag {where} " in text
    with Collection.open(where) as collection:
        assert collection.annotations_of("mutt") == {"use::mail": 1}
        assert collection.get_items(["mutt"])[0].extra == {"source": "s"}
        token = collection.saved_array("assignments").stamp.token
        data = json.loads(run("demo", where, "--json").stdout)
        assert collection.saved_array("assignments").stamp.token == token
    assert {row["item"] for row in data["suggestions"]} <= {"pine", "tin", "angband", "gnugo"}


def test_the_bundled_packages_are_read_as_they_are(tmp_path):
    from lass.collection.bundled import debian

    items, tags = debian()
    where = tmp_path / "debian"
    made = run(
        "init", where, "--items", items, "--id", "package", "--text", "summary", "--tags", tags, "--json"
    )
    with Collection.open(where) as collection:
        assert len(collection) == json.loads(made.stdout)["items"] > 4000
        assert collection.annotation_matrix().G.nnz == json.loads(made.stdout)["annotations"]


def test_rows_stand_in_columns_on_a_terminal_and_are_parted_by_tabs_elsewhere(monkeypatch):
    from lass.cli.output import in_columns

    rows = [["mutt", "reads mail"], ["xchess", "a\tboard"], ["w3m", ""]]
    assert in_columns(rows).splitlines()[0] == "mutt\treads mail"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    lines = in_columns(rows).splitlines()
    assert lines[0] == "mutt    reads mail"
    assert lines[2] == "w3m"
    assert in_columns([]) == ""


def test_init_says_where_texts_are_not_compared(tmp_path):
    (tmp_path / "items.csv").write_text("id,summary\nx,first thing\ny,second thing\n")
    (tmp_path / "edges.csv").write_text("a,b\nx,y\n")
    given = ["--items", tmp_path / "items.csv", "--edges", tmp_path / "edges.csv"]
    done = run("init", tmp_path / "made", *given)
    assert "items are compared by edges alone; add --text summary to compare texts as well" in done.stdout
    both = run("init", tmp_path / "both", *given, "--text", "summary")
    assert "edges alone" not in both.stdout
