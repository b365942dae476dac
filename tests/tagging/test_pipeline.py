"""Fitting a collection: certified, saved, warm, and recomputed only where something changed."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.collection import CollectionStore, Item, Settings, arrays
from lass.learning.coverage import propose
from lass.tagging import complete, count_tags, fit, load_model, next_items, with_scores
from lass.tagging.storage import SavedModel, saved_model


def test_fit_certifies_and_saves(program_collection):
    collection = program_collection
    seen = []
    result = fit(collection, seen.append)
    solution = result.model.solution
    problem = lass.Problem(collection.graph, collection.annotation_matrix().G, result.model.lam)
    assert problem.gap(solution.Z.to_dense()) == pytest.approx(solution.gap, abs=1e-12)
    assert solution.relative_gap <= 1e-3
    assert "certified optimal" in result.certificate
    np.testing.assert_allclose(collection.assignments.to_dense(), solution.Z.to_dense(), atol=1e-6)
    assert collection.stale() == {}
    assert set(result.recomputed) == {"features", "graph", "assignments"}
    assert list(dict.fromkeys(step.stage for step in seen)) == list(result.seconds)
    assert {"features", "neighbours", "lam", "solve", "scores", "saving"} <= set(result.seconds)

    collection.annotate("p7", {"mail": 1})
    assert not load_model(collection)[0].retrained
    again = fit(collection)
    assert set(again.recomputed) == {"assignments"}
    assert {"lam", "solve", "scores"} <= set(again.seconds)
    assert not {"features", "neighbours"} & set(again.seconds)
    assert again.model.solution.Z[7].argmax() == 0
    assert load_model(collection)[0].retrained


def test_fit_with_a_lam_that_is_set(program_collection):
    collection = program_collection
    collection.change_settings(lam=0.25)
    result = fit(collection)
    assert result.model.lam == 0.25
    assert result.lam_reason == "set in collection.toml"
    other = lass.solve(collection.graph, collection.annotation_matrix().G, 0.25, tol=1e-9)
    assert result.model.solution.objective - other.objective <= result.model.solution.gap + 1e-9


def test_smoothing_pulls_siblings_together(tmp_path, programs):
    items, _ = programs(30)
    annotations = [("p0", "a::x", 1), ("p1", "b", 1)]
    with CollectionStore.create(tmp_path / "c", items, ["a::x", "a::y", "b"], annotations) as collection:
        collection.change_settings(lam=1.0, n_neighbors=15)
        plain = fit(collection).model.solution.Z.to_dense()
        collection.change_settings(smoothing=2.0)
        assert "smoothing was 0.0, now 2.0" in collection.stale()["assignments"]
        smooth = fit(collection).model.solution.Z.to_dense()
    assert plain[:, 1].sum() == pytest.approx(0, abs=1e-6)
    assert smooth[:, 1].sum() > 1


def test_what_cannot_be_fitted_is_an_error(tmp_path):
    with (
        CollectionStore.create(tmp_path / "a", [Item("x")]) as none,
        pytest.raises(ValueError, match="texts must hold words"),
    ):
        fit(none)
    with CollectionStore.create(tmp_path / "b", [Item("x", text="one")], annotations=[("x", "t", 1)]) as one:
        assert fit(one).model.solution.Z.to_dense().tolist() == [[1.0]]
    unknown = Settings(features={"kind": "smell"})
    with CollectionStore.create(
        tmp_path / "c", [Item("x")], annotations=[("x", "t", 1)], settings=unknown
    ) as odd:
        with pytest.raises(ValueError, match="features of kind 'smell' are not known"):
            fit(odd)
        with pytest.raises(ValueError, match="no assignments yet; make them: lass fit"):
            load_model(odd)


def test_tags_and_annotations_are_counted(program_collection):
    collection = program_collection
    collection.annotate("p2", {"mail": 1, "new": 1}, new=True)
    counts = count_tags(collection.annotation_matrix())
    assert (counts.items, counts.tagged, counts.positive, counts.negative) == (60, 21, 22, 1)
    assert counts.rare == ["new"]
    assert "21 of 60 items have tags, 1.0 each; 1 negative annotation" in str(counts)
    assert "1 of 4 tags have one or two items only: new" in str(counts)


def test_next_items_are_untagged_and_say_why(program_collection):
    collection = program_collection
    before = next_items(collection, 4)  # needs no fit
    fit(collection)
    asked = next_items(collection, 4)
    model, annotations = load_model(collection)
    labelled = np.flatnonzero(np.diff(annotations.G.indptr))
    expected = propose(model.solution.problem.W, labelled, model.solution, 4)
    assert [one.item for one in asked] == [annotations.ids[one.row] for one in expected]
    typical = [one for one in asked if one.reason.startswith("typical of ")]
    assert 0 < len(typical) < 4  # with many tagged items the others come for what they tell
    assert typical == before[: len(typical)]
    assert all(one.reason.startswith("undecided") for one in asked if one not in typical)
    assert not any(collection.annotations_of(one.item) for one in asked)
    collection.annotate_all(
        [(item.id, "mail", 1) for item in collection.get_items() if not collection.annotations_of(item.id)]
    )
    fit(collection)
    assert next_items(collection, 4) == []
    with pytest.raises(ValueError, match="top must be"):
        next_items(collection, 0)


def test_damaged_assignments_are_an_error(program_collection):
    collection = program_collection
    result = fit(collection)
    state = SavedModel(lam=result.model.lam, gaps=np.zeros(2))
    collection.save_assignments(np.zeros((60, 3)), collection.annotation_matrix().number, **state.to_arrays())
    with pytest.raises(ValueError, match="are damaged"):
        load_model(collection)


def test_the_certificate_says_where_annotations_decide_nothing(tmp_path):
    items = [Item("a", text="mail"), Item("b", text="mail too")]
    with CollectionStore.create(tmp_path / "one", items, annotations=[("a", "mail", 1)]) as made:
        assert fit(made).certificate == "Only one tag is used so far: every assignment is optimal."
        made.annotate("a", {"mail": 0})
        made.annotate("a", {"news": -1, "mail": -1}, new=True)
        assert "do not prefer any tag" in fit(made).certificate


@pytest.mark.parametrize("tags", [[], ["mail", "news"]])
def test_without_annotations_there_is_a_graph_and_no_model(tmp_path, programs, tags):
    items, _ = programs(40)
    with CollectionStore.create(tmp_path / "none", items, tags) as made:
        result = fit(made)
        assert result.model is None
        assert "No annotations yet" in result.certificate
        assert "No annotations yet" in repr(result)
        assert made.graph.shape == (40, 40)
        assert made.assignments is None
        assert made.stale_map() is None
        with pytest.raises(ValueError, match=r"has no annotations yet.*lass tag"):
            load_model(made)
        made.annotate("p0", {"game": 1}, new=True)
        fitted = fit(made)
        assert fitted.model is not None
        assert not {"features", "neighbours", "map"} & set(fitted.seconds)
        made.undo()
        assert fit(made).model is None
        assert made.assignments is None
        with pytest.raises(ValueError, match="has no annotations yet"):
            load_model(made)


def test_a_fit_notes_that_tags_are_missing(program_collection):
    collection = program_collection
    result = fit(collection)
    weights = result.model.weights
    assert weights is not None
    assert (result.note == "") == (weights.completeness == 1.0)
    half = replace(result, model=replace(result.model, weights=replace(weights, completeness=0.512)))
    assert half.note.startswith("At most 51% of the tags")


def test_weights_of_another_version_are_trained_again(program_collection):
    collection = program_collection
    first = fit(collection)
    state = replace(saved_model(collection), weights='{"version": 99}', trained_on="")
    number = collection.annotation_matrix().number
    collection.save_assignments(collection.assignments, number, **state.to_arrays())
    with pytest.raises(ValueError, match="another version of lass"):
        load_model(collection)
    again = fit(collection)
    np.testing.assert_allclose(again.model.weights.tagged, first.model.weights.tagged, atol=0.05)


def _damage(path, how):
    data = path.read_bytes()
    if how in ("empty", "half"):
        path.write_bytes(data[: len(data) // 2] if how == "half" else b"")
    else:
        path.write_bytes(path.with_name(f"{how}.npz").read_bytes())


@pytest.mark.parametrize("name", ["features", "graph", "assignments", "map"])
@pytest.mark.parametrize("how", ["empty", "half", "features", "graph", "assignments", "map"])
def test_a_fit_recomputes_damaged_arrays_and_says_so(program_collection, name, how):
    collection = program_collection
    expected = fit(collection).model.solution.Z.to_dense()
    if not (collection.path / "arrays" / "map.npz").exists():
        collection.save_map(np.zeros((60, 2)))
    _damage(collection.path / "arrays" / f"{name}.npz", how)
    if how in ("empty", "half"):
        with pytest.raises(ValueError, match=rf"{name}\.npz is not a saved array .*; run lass fit again$"):
            collection.saved_array(name)
        why = collection.stale_map() if name == "map" else collection.stale()[name]
        assert why == f"{name}.npz is damaged"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = fit(collection)
    lines = [str(one.message) for one in warned]
    if how in ("empty", "half") or (name == "assignments" != how):
        assert result.recomputed[name] == f"{name}.npz was damaged"
        assert lines == [f"{collection.path / 'arrays' / name}.npz is damaged; it is made again"]
    np.testing.assert_allclose(result.model.solution.Z.to_dense(), expected, atol=2e-2)
    assert collection.stale() == {}


def test_assignments_of_more_tags_do_not_fit(program_collection):
    collection = program_collection
    fit(collection)
    wide = np.full((60, 9), 1 / 9)
    with pytest.raises(ValueError, match="one column a tag, 3 at most"):
        collection.save_assignments(wide, 0)
    path = collection.path / "arrays" / "assignments.npz"
    path.unlink()
    arrays.save(path, arrays.packed(wide, {}), arrays.Stamp(60, 9))
    with pytest.warns(UserWarning, match=r"assignments\.npz is damaged; it is made again"):
        assert fit(collection).recomputed == {"assignments": "assignments.npz was damaged"}


def test_arrays_of_more_items_are_not_called_damaged(tmp_path):
    """As after a copy from before some items were added is put back."""
    items = [
        {"id": f"{n}", "text": f"{'mail filter' if n % 2 else 'chess game'} number {n}"} for n in range(40)
    ]
    tags = [(f"{n}", "even" if n % 2 == 0 else "odd") for n in range(30)]
    for name, count in (("more", 40), ("fewer", 39)):
        with lass.create(tmp_path / name, items[:count], text="text", tags=tags) as made:
            if name == "more":
                made.fit(draw_map=False)
    (tmp_path / "more" / "arrays").rename(tmp_path / "fewer" / "arrays")
    with lass.open(tmp_path / "fewer") as made, warnings.catch_warnings():
        warnings.simplefilter("error")
        recomputed = made.fit(draw_map=False).recomputed
    assert recomputed["features"] == "features.npz made for 40 items, now 39"


def test_given_edges_that_are_damaged_stay_and_must_be_given_again(tmp_path):
    edges = [("0", "1"), ("1", "2")]
    with lass.create(tmp_path / "c", ["a", "b", "c"], tags=[("0", "x"), ("2", "y")], edges=edges) as made:
        made.fit()
        path = made.path / "arrays" / "graph.npz"
        path.write_bytes(path.read_bytes()[:100])
        for _ in range(2):
            with pytest.raises(ValueError, match=r"graph\.npz is damaged; give it again: lass add --edges"):
                made.fit()
        assert path.stat().st_size == 100


def test_few_tags_of_items_with_edges_alone_are_scored_by_the_graph(tmp_path):
    rng = np.random.default_rng(0)
    group = np.arange(60) % 3
    upper = np.triu((group[:, None] == group) & (rng.random((60, 60)) < 0.3), 1)
    W = sp.csr_array((upper | upper.T).astype(float))
    items = [Item(f"{n:02d}") for n in range(60)]
    known = [("00", "a", 1), ("01", "b", 1), ("02", "c", 1), ("03", "a", 1)]
    how = Settings(metric="precomputed", lam=0.1)
    with CollectionStore.create(
        tmp_path / "edges", items, ["a", "b", "c"], known, settings=how, graph=W
    ) as made:
        found = fit(made, draw_map=False).model
        G = made.annotation_matrix().G
    plain = with_scores(complete(W, G, lam=0.1))
    np.testing.assert_allclose(found.scores.values.toarray(), plain.scores.values.toarray(), atol=1e-6)
