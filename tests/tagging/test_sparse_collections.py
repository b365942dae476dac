"""Collections whose items x tags do not fit into the memory: the same results, from sparse assignments."""

import csv
import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from command_line import ITEMS, TAGS, run
from lass.collection import CollectionStore, Item, Settings
from lass.learning.coverage import propose
from lass.solvers.assignments import extended
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, TagSuggester, complete, fit, load_model, next_items, scores
from lass.tagging.canonical import CanonicalOrder
from lass.tagging.completion import choose_lam
from lass.tagging.suggestions import blocks

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


def test_the_same_suggestions_and_doubtful_tags_as_from_dense_assignments(collection, tiny):
    result = fit(collection, tol=1e-13)
    sparse = TagSuggester.from_collection(collection)
    assert result.model.is_sparse
    assert isinstance(sparse.scores, SparseAssignments)
    assert result.model.weights is None
    annotations = collection.annotation_matrix()
    tiny.delenv("LASS_MEMORY_GIB")
    order = CanonicalOrder.of(annotations)
    model = complete(order.graph(collection.graph), order.annotations(annotations.G), 0.1, tol=1e-13)
    model = order.restored(model, lass.Problem(collection.graph, annotations.G, 0.1))
    assert isinstance(model.solution.Z, np.ndarray)
    dense = TagSuggester(model, annotations)
    ways = [{}, {"top": 2}, {"untagged": True}, {"tag": "tag1"}, {"items": ["i4", "i9"]}]
    for way in [*ways, {"min_score": 0.1}, {"neighbours": 0}]:
        # shares below the tolerance are in no certain order
        one, other = ([r for r in o.suggestions(**way) if r.score > 1e-5] for o in (sparse, dense))
        assert one
        assert [(*row[:2], row.rank) for row in one] == [(*row[:2], row.rank) for row in other]
        np.testing.assert_allclose([r.score for r in one], [r.score for r in other], rtol=0, atol=1e-6)
        assert [row.neighbours[:1] and row.neighbours[0].item for row in one] == [
            row.neighbours[:1] and row.neighbours[0].item for row in other
        ]
        assert not any(row.because for row in one)
    # items with equal scores may change places
    first = [[r.score for r in o.suggestions(limit=7) if r.rank == 1] for o in (sparse, dense)]
    np.testing.assert_allclose(*first, rtol=0, atol=1e-6)
    assert len(first[0]) == 7
    asked = {row.item for row in sparse.suggestions()}
    assert not asked & {f"i{n}" for n in (ALONE, *PAIR)}  # they have no evidence
    # nor have tags with the background value: of thousands with equal scores none is suggested
    place = {name: k for k, name in enumerate(NAMES)}
    for row in sparse.suggestions(top=K):
        assert row.score > sparse.scores.background[int(row.item[1:])]
        assert row.score == sparse.scores[int(row.item[1:]), place[row.tag]]
    for way in ({}, {"tag": "tag0"}, {"items": ["i0", "i2", "i4"]}):
        one, other = sparse.doubtful_tags(**way), dense.doubtful_tags(**way)
        assert sorted(pairs(one)) == sorted(pairs(other))
        by_name = {row[:2]: row for row in other}
        for row in one:
            same = by_name[row[:2]]
            assert row[2:4] == pytest.approx((same.score, same.mean_score), abs=1e-6)
            assert row.rank == same.rank or row.score < 1e-5
    doubtful = sparse.doubtful_tags()
    assert doubtful[:5] == sparse.doubtful_tags(limit=5)
    above = [row.score - sparse.scores.background[int(row.item[1:])] for row in doubtful]
    assert above[0] == 0  # the background value is the lowest score
    assert above == sorted(above)
    problem, labelled = model.solution.problem, np.flatnonzero(np.diff(annotations.G.indptr))
    expected = propose(problem.W, labelled, model.solution, 5)
    assert [one.item for one in next_items(collection, 5)] == [annotations.ids[one.row] for one in expected]


@pytest.mark.parametrize("budget", ["0", "8"])
def test_items_without_evidence_get_no_suggestions_and_retired_tags_are_never_suggested(
    collection, monkeypatch, budget
):
    monkeypatch.setenv("LASS_MEMORY_GIB", budget)
    collection.merge_tags("tag4", "tag5")
    annotations = collection.annotation_matrix()
    model = complete(collection.graph, annotations.G, 0.1)
    assert model.is_sparse == (budget == "0")
    found = TagSuggester(model, annotations).suggestions(top=K)
    assert not {row.item for row in found} & {f"i{n}" for n in (ALONE, *PAIR)}
    assert not {row.tag for row in found} & {annotations.names[4]}


def test_blocks_of_rows_take_16_mib_at_most():
    assert [len(some) for some in blocks(np.arange(8), 2**21 // 3)] == [3, 3, 2]
    assert [len(some) for some in blocks(np.arange(1000), 5000)] == [419, 419, 162]
    assert [len(some) for some in blocks(np.arange(2), 10**9)] == [1, 1]
    np.testing.assert_array_equal(np.concatenate(list(blocks(np.arange(8), 2**21 // 3))), np.arange(8))


def test_assignments_come_back_from_the_disk_as_they_were(collection, tiny):
    result = fit(collection)
    Z, stored = result.model.solution.Z, collection.saved_array("assignments")
    for back in (collection.assignments, stored.matrix, load_model(collection)[0].solution.Z):
        assert isinstance(back, SparseAssignments)
        assert back.stored == Z.stored
        np.testing.assert_allclose(back.to_dense(), Z.to_dense(), rtol=0, atol=1e-15)
    assert stored.stamp.categories == K
    assert not {"scores", "weights", "reduced_features"} & stored.extras.keys()
    assert not collection.stale()


def test_the_form_follows_the_present_memory_limit(collection, tiny):
    fit(collection)
    tiny.delenv("LASS_MEMORY_GIB")
    model, _ = load_model(collection)
    assert isinstance(model.solution.Z, np.ndarray)
    assert not model.note
    np.testing.assert_allclose(model.solution.Z, collection.assignments.to_dense(), atol=1e-15)
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    result = fit(collection)
    assert result.model.scores is not None  # dense assignments fit now
    tiny.setenv("LASS_MEMORY_GIB", "0")
    model, _ = load_model(collection)
    assert model.is_sparse
    assert model.scores is None
    np.testing.assert_allclose(model.solution.Z.to_dense(), result.model.solution.Z, atol=1e-6)
    assert fit(collection).model.is_sparse


def test_growth_by_items_and_tags(tiny):
    W = edges()
    Z = lass.solve(W[:100][:, :100], sp.csr_array(np.eye(100, K)), 0.3, output="sparse").Z
    sparse = extended(Z, W, K + 3)
    assert isinstance(sparse, SparseAssignments)
    assert sparse.shape == (N, K + 3)
    assert sparse.feasible
    assert isinstance(extended(Z.to_dense(), W, K + 3), SparseAssignments)
    np.testing.assert_array_equal(sparse[ALONE], np.full(K + 3, 1 / (K + 3)))
    tiny.delenv("LASS_MEMORY_GIB")
    dense = extended(Z, W, K + 3)
    assert isinstance(dense, np.ndarray)
    found = sparse.to_dense()
    # where every tag has a share, a new one has it as well; elsewhere it has none, as in dense form
    even = Z.background > 1e-12
    assert 0 < even.sum() < 50
    np.testing.assert_allclose(found[:100][~even], dense[:100][~even], rtol=0, atol=1e-12)
    assert found[:100][~even, K:].max() < 1e-15
    np.testing.assert_allclose(found[:100][even, K:], sparse.background[:100][even, None].repeat(3, 1))
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
    assert TagSuggester.from_collection(collection).scores[near, K] > 0
    afresh = lass.solve(W, collection.annotation_matrix().G, 0.1, tol=1e-9)
    assert second.model.solution.objective - afresh.objective <= 2e-3 * afresh.problem.stake


def test_one_annotation_among_very_many_takes_effect(tmp_path, tiny):
    """It changes the gap by less than the tolerance, and must not be left out for that."""
    tiny.setattr("lass.tagging.pipeline.map_of", lambda *_: None)
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
        assert scores(result.model)[1000, 3] > 0.05


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
    items, tags = 3000, 20_000
    W, pairs = synthetic(items, tags, np.random.default_rng(0))
    monkeypatch.setenv("LASS_MEMORY_GIB", "1")
    how = Settings(metric="precomputed", lam=0.05)
    names = [f"t{k}" for k in range(tags)]
    annotations = [(str(n), names[k], 1) for n, k in sorted(pairs)]
    with CollectionStore.create(
        tmp_path / "wide", [Item(str(n)) for n in range(items)], names, annotations, settings=how, graph=W
    ) as made:
        monkeypatch.setattr("lass.tagging.pipeline.map_of", lambda *_: None)
        tracemalloc.start()
        try:
            result = fit(made)
            suggester = TagSuggester.from_collection(made)
            found, doubtful = suggester.suggestions(top=5), suggester.doubtful_tags()
            next_items(made, 3)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert result.model.is_sparse
    assert len(found) > items
    assert doubtful
    assert peak < items * tags * 8 / 4
    for item in ("0", "103", "104", "2999"):  # rows are scored in blocks, which change nothing
        assert suggester.suggestions(top=5, items=[item]) == [row for row in found if row.item == item]


def test_lam_is_chosen_on_a_sample_that_fits(monkeypatch):
    W, pairs = synthetic(3000, 20_000, np.random.default_rng(0))
    rows, columns = np.array(sorted(pairs)).T
    G = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(3000, 20_000))
    monkeypatch.setenv("LASS_MEMORY_GIB", "0.1")
    tracemalloc.start()
    try:
        choice = choose_lam(W, G)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sample = int(choice.reason.split("tried on ")[1].split(" of ")[0].replace(",", ""))
    assert 100 <= sample < 3000
    assert peak < 0.1 * 2**30
    monkeypatch.setenv("LASS_MEMORY_GIB", "0")
    assert "tried on 100 of 3,000 items" in choose_lam(W, G).reason


def test_commands_from_a_table_to_a_report(tmp_path, tiny):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "tags.csv").write_text(TAGS)
    folder = tmp_path / "packages"
    run(
        "init", folder, "--items", tmp_path / "items.csv", "--id", "package", "--text", "summary",
        "--tags", tmp_path / "tags.csv", "--neighbors", 3,
    )  # fmt: skip
    note = "8 items x 4 tags do not fit into 0 GiB in full"
    fitted = run("fit", folder, "--lam", 0.1)
    assert note in fitted.stdout
    assert fitted.stdout.count("other predictors are not used.") == 1
    data = json.loads(run("fit", folder, "--json").stdout)
    assert data["note"].startswith(note)
    assert data["converged"]
    asked = run("suggest", folder, "--top", 2, "--json")
    assert note in asked.stderr
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
    assert note in page.read_text()
    assert "mean share among similar items" in page.read_text()
    assert len(json.loads(run("next", folder, "--top", 2, "--json").stdout)) == 2
    shares = json.loads(run("export", folder, "--what", "assignments", "--min-share", 0, "--json").stdout)
    total = sum(row["share"] for row in shares if row["item"] == "mutt")
    assert total == pytest.approx(1.0)
    run("tag", folder, "pine", "+use::mail")
    assert "converged" in run("fit", folder, "--json").stdout
    assert "pine,use::mail" not in run("suggest", folder, "--item", "pine").stdout


def test_what_needs_dense_assignments_is_refused(collection, tiny):
    fit(collection)
    needed = "120 items x 30 tags need about 0.0 GiB of memory"
    for arguments, advice in [
        (("evaluate",), "to be evaluated"),
        (("fit", "--smoothing", 1), "set smoothing to 0"),
        (("fit", "--engine", "ray"), "solve on this machine"),
    ]:
        line = run(arguments[0], collection.path, *arguments[1:], code=2).stderr
        assert needed in line
        assert advice in line
        assert "LASS_MEMORY_GIB" in line
    assert collection.settings.smoothing == 0
    with pytest.raises(ValueError, match=f"{needed} in the Studio.*use lass fit and lass suggest"):
        LiveModel(collection)


def test_a_live_model_refuses_a_tag_too_many(collection, monkeypatch):
    fit(collection)
    live = LiveModel(collection)
    collection.annotate("i2", {"one more": 1}, new=True)
    monkeypatch.setenv("LASS_MEMORY_GIB", str(8 * 8 * N * K / 2**30))
    with pytest.raises(ValueError, match="120 items x 31 tags"):
        live.update(collection.annotation_matrix())
