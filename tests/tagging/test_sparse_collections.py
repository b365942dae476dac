"""Collections of very many items x tags, however little memory is allowed: nothing holds all of them."""

import csv
import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from command_line import ITEMS, TAGS, run
from lass.collection import CollectionStore, Item, Settings
from lass.learning.predictors import tag_assignments
from lass.solvers.assignments import extended
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, TagSuggester, complete, fit, load_model, next_items, scores
from lass.tagging.completion import choose_lam

N, K = 120, 30
NAMES = [f"tag{k}" for k in range(K)]
#: an item without edges, and two with an edge between them alone; none of them is annotated
ALONE, PAIR = 119, (117, 118)


@pytest.fixture
def tiny(monkeypatch):
    """No budget at all: everything is sparse."""
    monkeypatch.setenv("LASS_MEMORY_GIB", "0")
    return monkeypatch


def edges():
    points = np.random.default_rng(3).normal(size=(N, 2))
    W = np.exp(-2 * ((points[:, None] - points) ** 2).sum(axis=2))
    W[W < 0.4] = 0
    np.fill_diagonal(W, 0)
    W[117:], W[:, 117:] = 0, 0
    W[117, 118] = W[118, 117] = 1.0
    return sp.csr_array(W)


@pytest.fixture
def collection(tmp_path):
    rng = np.random.default_rng(5)
    often = 1.0 / np.arange(1, K + 1)
    annotations = [
        (f"i{n}", NAMES[k], rng.choice([1, 1, 1, 1, -1]))
        for n in range(0, 116, 2)
        for k in rng.choice(K, rng.integers(1, 5), replace=False, p=often / often.sum())
    ]
    items = [Item(f"i{n}") for n in range(N)]
    how = Settings(metric="precomputed", lam=0.1)
    with CollectionStore.create(
        tmp_path / "c", items, NAMES, annotations, settings=how, graph=edges()
    ) as made:
        yield made


def pairs(rows):
    return [row[:2] for row in rows]


def test_the_memory_limit_changes_nothing(collection, monkeypatch):
    found = []
    for limit in ("0", "8"):
        monkeypatch.setenv("LASS_MEMORY_GIB", limit)
        model = fit(collection).model
        assert model.weights is not None  # scores are calibrated
        assert not model.items_until_percentages
        suggester = TagSuggester.from_collection(collection)
        rows = suggester.suggestions(top=4), suggester.doubtful_tags(), next_items(collection, 5)
        assert all(rows)
        assert np.mean([bool(row.because) for row in rows[0]]) > 0.8
        found.append((scores(model).toarray().tolist(), model.solution.Z.to_dense().tolist(), *rows))
    assert found[0] == found[1]


def test_items_without_evidence_get_no_suggestions_and_retired_tags_are_never_suggested(collection):
    collection.merge_tags("tag4", "tag5")
    annotations = collection.annotation_matrix()
    model = complete(collection.graph, annotations.G, 0.1)
    assert model.scores is None
    found = TagSuggester(model, annotations).suggestions(top=K)
    assert not {row.item for row in found} & {f"i{n}" for n in (ALONE, *PAIR)}
    assert not {row.tag for row in found} & {annotations.names[4]}


def test_assignments_come_back_from_the_disk_as_they_were(collection, tiny):
    result = fit(collection)
    Z, stored = result.model.solution.Z, collection.saved_array("assignments")
    for back in (collection.assignments, stored.matrix, load_model(collection)[0].solution.Z):
        assert isinstance(back, SparseAssignments)
        assert back.stored == Z.stored
        np.testing.assert_allclose(back.to_dense(), Z.to_dense(), rtol=0, atol=1e-14)
    assert stored.stamp.categories == K
    assert {"scores", "weights", "top_tags", "contributions"} <= stored.extras.keys()
    read = load_model(collection)[0].scores
    np.testing.assert_array_equal(read.values.toarray(), result.model.scores.values.toarray())
    np.testing.assert_array_equal(read.top_tags, result.model.scores.top_tags)
    assert not collection.stale()


def test_growth_by_items_and_tags():
    W = edges()
    Z = lass.solve(W[:100][:, :100], sp.csr_array(np.eye(100, K)), 0.3, output="sparse").Z
    grown = extended(Z, W, K + 3)
    assert isinstance(grown, SparseAssignments)
    assert grown.shape == (N, K + 3)
    assert grown.feasible
    again = extended(Z.to_dense(), W, K + 3)
    assert isinstance(again, SparseAssignments)
    np.testing.assert_allclose(again.to_dense(), grown.to_dense(), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(grown[ALONE], np.full(K + 3, 1 / (K + 3)))
    found = grown.to_dense()
    # where every tag has a share, a new one has it as well; elsewhere it has none
    even = Z.background > 1e-12
    assert 0 < even.sum() < 50
    np.testing.assert_allclose(found[:100][~even, :K], Z.to_dense()[~even], rtol=0, atol=1e-12)
    assert found[:100][~even, K:].max() < 1e-15
    np.testing.assert_allclose(found[:100][even, K:], grown.background[:100][even, None].repeat(3, 1))
    known = [n for n in range(100, N) if W[[n]].indices.size and not even[W[[n]].indices % 100].any()]
    for n in known:
        near = W[[n], :100].toarray()[0]
        if near.sum():
            np.testing.assert_allclose(found[n], near @ found[:100] / near.sum(), rtol=0, atol=1e-12)


def test_new_annotations_items_and_tags_take_effect(collection, tiny):
    first = fit(collection)
    before = TagSuggester.from_collection(collection)
    near = int(collection.graph[[2]].indices[0])
    collection.annotate("i2", {"brand new": 1}, new=True)
    collection.annotate(f"i{ALONE}", {"tag3": 1})
    collection.add_items([Item("late")])
    suggester = TagSuggester.from_collection(collection)  # not fitted again yet
    assert "brand new" not in {row.tag for row in suggester.suggestions(min_score=1e-6)}
    with pytest.raises(ValueError, match="no item 'late'"):
        suggester.suggestions(items=["late"])
    W = np.zeros((N + 1, N + 1))
    W[:N, :N] = collection.graph.toarray()
    W[N, 2] = W[2, N] = 1.0
    collection.save_graph(sp.csr_array(W))
    second = fit(collection)
    assert second.model.solution.converged
    assert second.model.solution.n_iter <= first.model.solution.n_iter
    Z = second.model.solution.Z
    assert Z.shape == (N + 1, K + 1)
    assert Z[2, K] > 0
    assert Z[N, K] > 0  # its only edge is to the annotated item
    np.testing.assert_array_equal(
        Z[ALONE], np.eye(K + 1)[3]
    )  # no edges, and so a start that no sweep changes
    assert before.scores.shape == (N, K)
    assert TagSuggester.from_collection(collection).scores.row(near)[0][-1] == K
    afresh = lass.solve(W, collection.annotation_matrix().G, 0.1, tol=1e-9)
    assert second.model.solution.objective - afresh.objective <= 2e-3 * afresh.problem.stake


def test_one_annotation_among_very_many_takes_effect(tmp_path, monkeypatch):
    """It changes the gap by less than the tolerance, and must not be left out for that."""
    monkeypatch.setattr("lass.tagging.pipeline.map_of", lambda *_: None)
    n = 8000
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    annotations = [(str(i), f"t{i // 100}", 1) for i in range(0, n, 2)]
    how = Settings(metric="precomputed", lam=0.1)
    items = [Item(str(i)) for i in range(n)]
    with CollectionStore.create(
        tmp_path / "row", items, annotations=annotations, settings=how, graph=W
    ) as made:
        fit(made, tol=1e-6)
        made.annotate("1001", {"t3": 1})
        result = fit(made)
        assert result.model.solution.Z[1001, 3] > 0.1
        assert result.model.solution.crowd()[1000, 3] > 0.05


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data["background"].__setitem__(0, 0.5), "do not sum to one"),
        (lambda data: data["background"].__setitem__(0, np.nan), "not a saved array"),
        (lambda data: data["matrix_data"].__setitem__(0, -1.0), "negative"),
        (lambda data: data["matrix_data"].__setitem__(0, np.inf), "not a saved array"),
        (lambda data: data["matrix_indices"].__setitem__(slice(None), 0), "a category twice"),
        (lambda data: data["matrix_indices"].__setitem__(0, K), "not a saved array"),
        (lambda data: data.__setitem__("background", data["background"][:-1]), "one number a row"),
        (lambda data: data.__setitem__("background", np.array(["a"] * N)), "not a saved array"),
        (lambda data: data.pop("background"), "do not sum to one|damaged|not a saved array"),
    ],
)
def test_damaged_arrays_are_one_clear_error(collection, tiny, spoil, why):
    fit(collection)
    file = collection.path / "arrays" / "assignments.npz"
    with np.load(file) as stored:
        data = dict(stored)
    spoil(data)
    np.savez(file, **data)
    with pytest.raises(ValueError, match=why):
        TagSuggester.from_collection(collection)
    assert "assignments" in run("suggest", collection.path, code=2).stderr


def test_arrays_that_are_not_finite_are_not_saved(collection):
    Z = SparseAssignments(sp.csr_array((N, K)), np.full(N, np.nan))
    with pytest.raises(ValueError, match="must be finite"):
        collection.save_assignments(Z, 0)


def synthetic(items, tags, rng):
    """A ring with three annotations an item, few tags often and very many rarely."""
    rows = np.repeat(np.arange(items), 8)
    W = sp.csr_array((rng.random(len(rows)), (rows, (rows + rng.integers(1, 20, len(rows))) % items)))
    W.resize(items, items)
    pairs = {
        (int(n), int(tags * rng.random() ** 3)) for n in range(0, items, 2) for _ in range(3)
    }  # fmt: skip
    return sp.csr_array(W + W.T), pairs


def test_memory_is_proportional_to_what_is_stored(tmp_path, monkeypatch):
    """Nothing holds all numbers of items x tags; what does not grow with them is made small."""
    monkeypatch.setattr("lass.learning.predictors.training.PAIRS", 20_000)
    monkeypatch.setattr("lass.learning.predictors.training.ITEMS", 500)
    monkeypatch.setattr("lass.learning.predictors.training.ROUNDS", 1)
    monkeypatch.setattr("lass.learning.predictors.co_occurrence.REGRESSED", 256)
    monkeypatch.setattr("lass.learning.predictors.linear.MODELLED", 256)
    items, tags = 5000, 20_000
    W, pairs = synthetic(items, tags, np.random.default_rng(0))
    how = Settings(metric="precomputed", lam=0.05)
    names = [f"t{k}" for k in range(tags)]
    annotations = [(str(n), names[k], 1) for n, k in sorted(pairs)]
    with CollectionStore.create(
        tmp_path / "wide", [Item(str(n)) for n in range(items)], names, annotations, settings=how, graph=W
    ) as made:
        tracemalloc.start()
        try:
            result = fit(made, draw_map=False)
            suggester = TagSuggester.from_collection(made)
            found, _ = suggester.suggestions(top=5), suggester.doubtful_tags()
            next_items(made, 3)
            made.annotate("1", {names[0]: 1, names[7]: -1})
            live = LiveModel(made)
            live.update(made.annotation_matrix())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert result.model.weights.is_trained
    assert len(found) > items
    assert peak < items * tags * 8 / 6
    assert live.model.solution.Z[1, 0] > result.model.solution.Z[1, 0]
    for item in ("0", "103", "104", "2999"):  # rows are scored in blocks, which change nothing
        assert suggester.suggestions(top=5, items=[item]) == [row for row in found if row.item == item]


def test_lam_is_chosen_in_little_memory():
    W, pairs = synthetic(3000, 20_000, np.random.default_rng(0))
    rows, columns = np.array(sorted(pairs)).T
    G = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(3000, 20_000))
    tracemalloc.start()
    try:
        choice = choose_lam(W, G, max_items=2000, sample_size=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "tried on 1,000 of 3,000 items" in choice.reason
    assert peak < 3000 * 20_000 * 8 / 4


def test_commands_from_a_table_to_a_report(tmp_path, tiny):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "tags.csv").write_text(TAGS)
    folder = tmp_path / "packages"
    run(
        "init", folder, "--items", tmp_path / "items.csv", "--id", "package", "--text", "summary",
        "--tags", tmp_path / "tags.csv", "--neighbors", 3,
    )  # fmt: skip
    run("fit", folder, "--lam", 0.1)
    data = json.loads(run("fit", folder, "--json").stdout)
    assert data["note"] == ""
    assert data["converged"]
    asked = run("suggest", folder, "--top", 2, "--json")
    best = {row["item"]: row["tag"] for row in json.loads(asked.stdout) if row["rank"] == 1}
    assert best["angband"] == "game::dungeon"
    assert best["gnugo"] == "game::board"
    for form in (["--untagged"], ["--tag", "use::news"], ["--item", "pine"], ["--doubts"], ["--limit", 2]):
        run("suggest", folder, *form)
    out = tmp_path / "suggestions.csv"
    run("suggest", folder, "--out", out)
    with out.open(newline="") as file:
        assert {row["item"] for row in csv.DictReader(file)} >= {"angband", "gnugo", "pine"}
    page = tmp_path / "report.html"
    run("report", folder, "--out", page)
    assert "</html>" in page.read_text()
    assert len(json.loads(run("next", folder, "--top", 2, "--json").stdout)) == 2
    shares = json.loads(run("export", folder, "--what", "assignments", "--min-share", 0, "--json").stdout)
    total = sum(row["share"] for row in shares if row["item"] == "mutt")
    assert total == pytest.approx(1.0)
    run("tag", folder, "pine", "+use::mail")
    assert "converged" in run("fit", folder, "--json").stdout
    assert "pine,use::mail" not in run("suggest", folder, "--item", "pine").stdout


def test_smoothing_needs_no_array_of_all_numbers(tmp_path, tiny):
    """The same answer as in dense form, to the tolerance, where only the sparse one may be used."""
    folder, items, tags = tmp_path / "programs", tmp_path / "items.csv", tmp_path / "tags.csv"
    items.write_text(ITEMS)
    tags.write_text(TAGS)
    run("init", folder, "--items", items, "--text", "summary", "--tags", tags)
    run("fit", folder, "--smoothing", 1, "--lam", 0.1)
    with lass.open(folder) as programs:
        dense = load_model(programs)[0].solution
        tiny.setattr(tag_assignments, "DENSE", 0)
        assert fit(programs).model.solution.converged
        found = load_model(programs)[0].solution
    assert found.objective <= dense.objective + dense.gap + found.gap
    np.testing.assert_allclose(found.Z.to_dense(), dense.Z.to_dense(), atol=0.02)


def test_a_collection_of_any_size_is_evaluated(collection, tiny):
    fit(collection)
    found = json.loads(
        run("evaluate", collection.path, "--seeds", 1, "--situation", "scattered", "--json").stdout
    )
    methods = found["situations"]["scattered"]["methods"]
    assert methods["LASS"]["f1"]["mean"] > methods["random"]["f1"]["mean"]


def test_a_live_model_of_a_collection_of_any_size(collection, tiny):
    fit(collection)
    live = LiveModel(collection)
    collection.annotate("i2", {"one more": 1}, new=True)
    live.update(collection.annotation_matrix())
    assert live.model.solution.Z[2, K] > 0.1
    live.retrain()
    fitted = fit(collection).model
    np.testing.assert_array_equal(live.model.scores.values.toarray(), scores(fitted).toarray())
