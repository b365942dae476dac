"""lass.create, lass.open and what they return, as people use them in a notebook."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lass
from command_line import ITEMS, TAGS, run
from lass.collection import Annotation, CollectionStore

RECORDS = [{"package": line.split(",")[0], "summary": line.split(",")[1]} for line in ITEMS.splitlines()[1:]]
ROWS = [tuple(line.split(",")) for line in TAGS.splitlines()[1:]]
PAIRS = {(item, tag): int(value) for item, tag, value in ROWS}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "tags.csv").write_text(TAGS)
    return tmp_path


@pytest.fixture
def programs(files):
    with lass.create(
        files / "programs", files / "items.csv", text="summary", tags=files / "tags.csv", n_neighbors=3
    ) as collection:
        yield collection


PEOPLE = [("b", "c"), ("c", "d"), ("d", "e", 2.0)]


@pytest.mark.parametrize("form", ["list", "frame", "file", "matrix"])
def test_edges_alone_name_the_items(tmp_path, form):
    edges = [(*edge, 1.0)[:3] for edge in PEOPLE]
    frame = pd.DataFrame(edges, columns=["from", "to", "weight"])
    frame.to_csv(tmp_path / "edges.csv", index=False)
    run("init", tmp_path / "command", "--edges", tmp_path / "edges.csv")
    line = np.diag([1.0, 1.0, 2.0], 1)
    given = {"list": edges, "frame": frame, "file": tmp_path / "edges.csv", "matrix": line + line.T}[form]
    with (
        lass.create(tmp_path / "c", edges=given) as made,
        lass.open(tmp_path / "command") as command,
    ):
        assert made.ids() == (["0", "1", "2", "3"] if form == "matrix" else command.ids())
        assert made.settings.features == command.settings.features
        np.testing.assert_array_equal(made.graph.toarray(), line + line.T)
        np.testing.assert_array_equal(made.graph.toarray(), command.graph.toarray())


def test_the_names_of_columns_are_no_edge_of_a_list(tmp_path):
    with lass.create(tmp_path / "c", [{"id": name} for name in "abc"], edges=[("a", "c")]) as made:
        assert made.graph.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def by_item():
    tags = {}
    for (item, tag), value in PAIRS.items():
        tags.setdefault(item, []).append(tag if value > 0 else f"-{tag}")
    return tags


@pytest.mark.parametrize(
    "items", [RECORDS, pd.DataFrame(RECORDS), pd.DataFrame(RECORDS).set_index("package")]
)
@pytest.mark.parametrize(
    "tags",
    [
        ROWS,
        [(item, tag, float(value)) for item, tag, value in ROWS],
        [(item, tag if value == "1" else f"-{tag}") for item, tag, value in ROWS],
        by_item(),
        pd.DataFrame(ROWS, columns=["item", "tag", "value"]),
        [{"item": item, "tag": tag, "value": value} for item, tag, value in ROWS],
    ],
    ids=["texts", "numbers", "signs", "mapping", "frame", "records"],
)
def test_tables_in_memory_and_files_give_the_same(programs, files, items, tags):
    with lass.create(files / "again", items, id="package", text="summary", tags=tags) as other:
        assert other.items == [
            item.__class__(item.id, item.title, item.text) for item in programs.items
        ]  # the file has a column more
        assert other.annotations == programs.annotations
        assert other.tags == programs.tags


def test_texts_alone_and_single_values(tmp_path):
    with lass.create(tmp_path / "texts", ["reads mail", "a game"], tags={"1": "game"}) as texts:
        assert [(item.id, item.text) for item in texts.items] == [("0", "reads mail"), ("1", "a game")]
        assert texts.annotations == [Annotation("1", "game", 1)]
        assert texts.settings.features == {"kind": "text", "columns": ["text"]}


def test_missing_values_of_a_frame_are_unknown(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "x": [1.5, np.nan, 2.0],
            "n": pd.array([1, None, 3], "Int64"),
            "t": ["u", None, ""],
        }
    )
    with lass.create(tmp_path / "frame", frame, numeric="x") as made:
        assert [item.extra for item in made.items] == [{"x": 1.5, "n": 1, "t": "u"}, {}, {"x": 2.0, "n": 3}]
        assert made.settings.features == {"kind": "numeric", "columns": ["x"]}


EDGES = [("mutt", "pine", 1.0), ("pine", "tin", 2.0), ("xchess", "gnugo", 1.0)]


def test_given_vectors_and_edges(tmp_path):
    vectors = np.eye(8, 3) + 1
    with lass.create(tmp_path / "v", RECORDS, vectors=vectors, tags=ROWS) as made:
        np.testing.assert_array_equal(made.features, vectors)
        assert made.settings.features == {"kind": "vectors"}
    ids = [record["package"] for record in RECORDS]
    W = np.zeros((8, 8))
    for a, b, weight in EDGES:
        W[ids.index(a), ids.index(b)] = W[ids.index(b), ids.index(a)] = weight
    for n, edges in enumerate([EDGES, pd.DataFrame(EDGES, columns=["a", "b", "weight"]), W, sp.csr_array(W)]):
        with lass.create(tmp_path / str(n), RECORDS, edges=edges, tags=ROWS) as made:
            np.testing.assert_array_equal(made.graph.toarray(), W)
            made.fit(lam=1.0)
            assert made.suggest(items=["pine"], top=1)[0].tag == "use::mail"


def test_from_fit_to_suggestions(programs):
    result = programs.fit(lam=0.1)
    assert result.model.solution.converged
    assert repr(result).startswith("The assignments are certified optimal")
    assert programs.settings.lam == 0.1
    found = programs.suggest(top=2)
    best = {row.item: row.tag for row in found if row.rank == 1}
    assert best["angband"] == "game::dungeon"
    assert best["gnugo"] == "game::board"
    assert not PAIRS.keys() & {(row.item, row.tag) for row in found}
    assert {row.item for row in programs.suggest(items=["gnugo"])} == {"gnugo"}
    assert programs.suggest(items=[]) == []
    frame = found.to_pandas()
    assert list(frame.columns) == ["item", "tag", "score", "rank", "because", "neighbours", "strength"]
    assert frame.item.tolist() == [row.item for row in found]
    lines = repr(found).splitlines()
    assert len(lines) == len(found)
    assert lines[0].split()[:2] == [found[0].item, found[0].tag]
    assert repr(programs.suggest(items=[])) == "no suggestions"
    assert "\n... and" in repr(type(found)(found * 4))


def test_the_command_line_gives_the_same(programs):
    programs.fit(lam=0.1)
    data = json.loads(run("suggest", programs.path, "--top", 3, "--json").stdout)
    assert [(row["item"], row["tag"], row["score"]) for row in data] == [
        (row.item, row.tag, row.score) for row in programs.suggest(top=3)
    ]


def test_suggestions_follow_annotations_and_fits(programs):
    programs.fit(lam=0.1)
    (first,) = programs.suggest(items=["tin"], top=1)
    programs.tag("tin", f"-{first.tag}")
    assert programs.suggest(items=["tin"], top=1)[0].tag != first.tag
    with lass.open(programs.path) as other:  # what another program did counts too
        other.undo()
        assert programs.suggest(items=["tin"], top=1)[0].tag == first.tag
        other.tag("tin", "use::news")
        other.fit()
        fresh = other.suggest()
    assert programs.suggest() == fresh != []
    assert "use::news" not in {row.tag for row in fresh if row.item == "tin"}
    assert programs.stale() == {}


def test_tag_undo_and_what_is_there(programs):
    numbers = programs.tag("pine", "use::mail", "-game::board", who="ann")
    assert programs.annotations_of("pine") == {"use::mail": 1, "game::board": -1}
    assert [change.number for change in programs.history("pine")] == numbers[::-1]
    assert Annotation("pine", "game::board", -1, "ann") in programs.annotations
    assert programs.undo()
    assert programs.annotations_of("pine") == {}
    programs.tag("pine", "use::postcards", new=True)
    assert "use::postcards" in programs.tags
    programs.undo()
    assert "use::postcards" not in programs.tags
    assert len(programs.items) == len(programs) == 8


def test_export_evaluate_and_next_items(programs, tmp_path):
    assert programs.export(tmp_path / "tags.csv") == len(PAIRS)
    with lass.create(tmp_path / "again", RECORDS, text="summary", tags=tmp_path / "tags.csv") as again:
        assert again.annotations == programs.annotations
    programs.fit(lam=0.1)
    assert programs.export(tmp_path / "shares.jsonl", what="assignments", min_share=0.2)
    assert {row.item for row in programs.next_items(3)} <= {"pine", "tin", "angband", "gnugo"}
    evaluation = programs.evaluate(seeds=1, situations=["items"], group="")
    assert "LASS" in evaluation.situations["items"].methods


def test_values_of_a_mapping_count(tmp_path):
    with lass.create(tmp_path / "c", ["a", "b"], tags={"0": {"x": -1}, "1": {"x": 1}}) as c:
        assert [(one.item, one.value) for one in c.annotations] == [("0", -1), ("1", 1)]
    with lass.create(tmp_path / "d", ["a"], tags=[("0", ["x", "-y"])]) as d:
        assert [(one.tag, one.value) for one in d.annotations] == [("x", 1), ("y", -1)]


def test_a_failed_fit_leaves_the_settings_of_others(programs):
    with lass.open(programs.path) as other:
        programs.fit(lam=9.0)
        with pytest.raises(ValueError, match="engine"):
            other.fit(lam=7.0, engine="nowhere")
    assert programs.change_settings().lam == 9.0


def test_evaluation_where_no_item_has_two_tags(tmp_path):
    texts = ["reads mail", "mail and news", "mail", "a chess game", "a card game", "chess game"]
    known = [(str(n), "mail" if n < 3 else "game") for n in range(6)]
    with lass.create(tmp_path / "c", texts, tags=known, n_neighbors=2) as c:
        assert list(c.evaluate(seeds=1).situations) == ["items"]
        with pytest.raises(ValueError, match="choose another situation"):
            c.evaluate(seeds=1, situations=["scattered"])


def test_data_frames_without_pandas(programs, monkeypatch):
    programs.fit()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas: pip install pandas"):
        programs.suggest().to_pandas()


def test_settings_with_which_nothing_can_be_fitted_do_not_stay(programs):
    before = (programs.path / "collection.toml").read_bytes()
    with pytest.raises(ValueError, match="metric"):
        programs.fit(metric="smell", lam=3.0)
    assert (programs.path / "collection.toml").read_bytes() == before
    assert programs.settings.metric == "cosine"


@pytest.mark.parametrize(("name", "meant"), [("facet", "facets"), ("n_neighbours", "n_neighbors")])
def test_unknown_settings_of_a_fit_are_named(programs, name, meant):
    with pytest.raises(ValueError, match=f"takes the settings lam, .*found '{name}'; did you mean '{meant}'"):
        programs.fit(**{name: 3})


def test_bad_rows_are_left_out_with_a_warning(tmp_path):
    with (
        pytest.warns(UserWarning, match="1 bad rows left out; the first: tags, line 2: item 'nobody'"),
        lass.create(
            tmp_path / "p", RECORDS, text="summary", tags=[ROWS[0], ("nobody", "x", 1)], skip_bad=True
        ) as made,
    ):
        assert len(made.annotations) == 1


MISTAKES = {
    "items must be a table": (
        lambda path: lass.create(path, 3),
        "items: must be a path, a data frame or a list",
    ),
    "no items": (lambda path: lass.create(path, []), "items: is empty"),
    "mixed items": (
        lambda path: lass.create(path, ["a", {"id": "b"}]),
        "items, line 1: must hold dictionaries",
    ),
    "no such file": (lambda path: lass.create(path, "none.csv"), "none.csv: cannot be read"),
    "no such column": (
        lambda path: lass.create(path, RECORDS, text="sumary"),
        "no column 'sumary'.*'summary'",
    ),
    "no texts": (lambda path: lass.create(path, [{"id": "a"}]), "items: nothing to compare items by.*text="),
    "unknown item": (
        lambda path: lass.create(path, ["a"], tags=[("7", "x")]),
        "tags, line 1: item '7' is not in the collection",
    ),
    "two ways": (
        lambda path: lass.create(path, ["a"], vectors=np.eye(1), numeric="size"),
        "found numeric and vectors. Leave all but one out",
    ),
    "vectors": (
        lambda path: lass.create(path, ["a", "b"], vectors=np.eye(3)),
        "vectors: has 3 rows for 2 items",
    ),
    "edges": (lambda path: lass.create(path, ["a", "b"], edges=np.eye(3)), "edges: has 3 rows for 2 items"),
    "metric": (
        lambda path: lass.create(path, ["a"], metric="smell"),
        "metric .*must be one of.*found 'smell'",
    ),
    "half a tag": (
        lambda path: lass.create(path, ["a"], tags=[("0", "x", 0.5)]),
        r"must be \+1 or -1; found 0.5",
    ),
    "None for items": (lambda path: lass.create(path, None), "items must be a path.*found None"),
    "no columns": (lambda path: lass.create(path, [{}]), "items: has no columns"),
    "no columns of tags": (
        lambda path: lass.create(path, ["a"], tags=pd.DataFrame()),
        "tags: has no columns",
    ),
    "tags of another kind": (
        lambda path: lass.create(path, ["a"], tags={"0": 5}),
        "tags: must map items to lists of tags.*found 5",
    ),
    "a value of seven": (
        lambda path: lass.create(path, ["a"], tags={"0": {"x": 7}}),
        r"must be \+1 or -1; found 7",
    ),
    "text that is a number": (
        lambda path: lass.create(path, RECORDS, text=5),
        "text must be a list.*found 5",
    ),
    "id that is a number": (lambda path: lass.create(path, RECORDS, id=5), "id must be a text; found 5"),
    "unknown argument": (lambda path: lass.create(path, ["a"], zzz=1), "no argument 'zzz'.*encoding"),
    "a name that no file can hold": (
        lambda path: lass.create(path / "deep", ["a"], name="\ud800"),
        "name holds a character",
    ),
    "no folder": (lambda path: lass.open(None), "folder must be a path; found None"),
    "no collection": (
        lambda path: lass.open(path),
        "not the folder of a collection; make one with lass.create",
    ),
}


@pytest.mark.parametrize(("action", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_name_the_argument_and_make_nothing(tmp_path, action, message):
    with pytest.raises(ValueError, match=message):
        action(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda c: c.suggest(), "has no assignments yet"),
        (lambda c: c.suggest(items="mutt"), r"items must be a list.*Pass a list such as \['mutt'\]"),
        (lambda c: c.suggest(items=[5]), "items must be a list of texts; found 5 in it"),
        (lambda c: c.suggest(top="3"), "top must be a whole number; found '3'"),
        (lambda c: c.suggest(top=True), "top must be a whole number; found True"),
        (lambda c: c.suggest(min_score="x"), "min_score must be a number; found 'x'"),
        (lambda c: c.evaluate(seeds=1.5), "seeds must be a whole number; found 1.5"),
        (lambda c: c.evaluate(situations=5), "situations must be a list of texts; found 5"),
        (lambda c: c.next_items("x"), "top must be a whole number; found 'x'"),
        (lambda c: c.export(5), "path must be a path; found 5"),
        (lambda c: c.fit(report=5), "report must be callable; found 5"),
        (lambda c: c.tag("mutt"), "tags must name at least one"),
        (lambda c: c.tag("mutt", "-"), "tags must be texts .*found '-'"),
        (lambda c: c.tag("mutt", 3), "found 3"),
        (lambda c: c.tag("mut", "use::mail"), "no item 'mut'; did you mean 'mutt'"),
        (lambda c: c.tag("mutt", "use::mial"), "no tag 'use::mial'; did you mean 'use::mail'.*new=True"),
        (lambda c: c.tag("mutt", "use::news", "-use::news"), "contradict each other"),
        (lambda c: c.export("tags.doc"), "path must end in .csv"),
        (
            lambda c: c.export("tags.csv", what="words"),
            "what must be annotations, people, table, .* or assignments; found 'words'",
        ),
        (lambda c: c.fit(neighbours=3), "takes the settings .*neighbours"),
    ],
)
def test_mistakes_change_nothing(programs, action, message):
    before = programs.annotations, programs.tags, programs.settings
    with pytest.raises(ValueError, match=message):
        action(programs)
    assert (programs.annotations, programs.tags, programs.settings) == before


def test_it_is_a_collection_store_and_loads_no_arrays(programs):
    assert isinstance(programs, CollectionStore)
    code = (
        "import sys, lass; c = lass.open(sys.argv[1]); c.tag('pine', 'use::mail'); c.undo(); len(c.items);"
        "print({'numpy', 'scipy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(programs.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_suggestions_load_neither_optimisers_nor_scikit_learn(programs):
    programs.fit()
    code = (
        "import sys, lass; lass.open(sys.argv[1]).suggest(top=1);"
        "print({'scipy.optimize', 'sklearn', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(programs.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
