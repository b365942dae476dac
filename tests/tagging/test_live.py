"""The model that is updated after every annotation, against one fitted from nothing."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass import Collection
from lass.collection import Item
from lass.learning.predictors.tag_assignments import ROUGHER
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, Progress, load_model
from lass.tagging.canonical import CanonicalOrder


@pytest.fixture
def collection(own_packages):
    with Collection.open(own_packages) as found:
        yield found


def untagged(live):
    G = live.model.solution.problem.G
    return int(np.flatnonzero(np.diff(G.indptr) == 0)[0])


def test_an_annotation_takes_effect_and_the_gap_is_certified(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    before = live.model.solution
    row = untagged(live)
    tag = live.annotations.names[int(live.model.scores.top_tags[row, 3])]
    collection.annotate(collection.ids()[row], {tag: 1})
    annotations = collection.annotation_matrix()
    updated = live.update(annotations)
    after = live.model.solution
    column = annotations.names.index(tag)
    assert live.annotations.number == collection.revision()
    assert row in updated.rows
    assert after.Z[row, column] > before.Z[row, column] + 0.05
    fresh = lass.solve(after.problem, tol=1e-9)
    assert after.objective - fresh.objective <= after.gap + 1e-9 * after.problem.stake
    assert after.relative_gap <= max(1e-3, before.relative_gap)
    assert abs(after.problem.G - annotations.G).nnz == 0


def test_an_update_scores_rows_nearby_almost_as_a_full_rescore(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.rescore()
    row = untagged(live)
    tag = live.annotations.names[int(live.model.scores.top_tags[row, 0])]
    collection.annotate(collection.ids()[row], {tag: 1})
    before = live.model.scores.values.copy()
    updated = live.update(collection.annotation_matrix())
    quick = live.model.scores.values[updated.rows[:50]]
    live.rescore()
    thorough = live.model.scores.values[updated.rows[:50]]
    assert np.abs(quick - thorough).max() < 0.15
    own = list(updated.rows[:50]).index(row)
    moved = np.abs(thorough[own] - before[row])
    assert moved.max() > 0.02, "the first annotation of an item changes its other scores"
    assert np.abs(quick[own] - thorough[own]).max() < 0.5 * moved.max()


def test_readers_keep_what_they_have(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.rescore()
    model, annotations = live.state
    Z, scores = model.solution.Z.to_dense(), model.scores.values.toarray()
    row = untagged(live)
    collection.annotate(collection.ids()[row], {annotations.names[0]: 1})
    live.update(collection.annotation_matrix())
    assert live.model.solution.Z[row].tolist() != Z[row].tolist()
    assert (model.solution.Z.to_dense() == Z).all()
    assert (model.scores.values.toarray() == scores).all()


def test_a_new_tag_and_an_undo_take_effect(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.rescore()
    count = len(live.annotations.names)
    item = collection.ids()[untagged(live)]
    collection.annotate(item, {"mood::sunny": 1}, new=True)
    live.update(collection.annotation_matrix())
    assert live.model.solution.Z.shape[1] == count + 1
    assert live.model.scores.values.shape[1] == count + 1
    live.rescore()
    row = collection.ids().index(item)
    assert live.model.solution.Z[row, count] > 0.3
    collection.undo()
    live.update(collection.annotation_matrix())
    assert live.model.solution.Z[row, count] < 0.01


@pytest.mark.parametrize("before", [0, 1])
def test_annotations_are_taken_over_beside_a_tag_that_nobody_uses_yet(collection, before):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.rescore()
    names, ids = live.annotations.names, collection.ids()
    rows = np.flatnonzero(np.diff(live.model.solution.problem.G.indptr) == 0)

    def annotate(row):
        collection.annotate(ids[row], {names[int(live.model.scores.top_tags[row, 0])]: 1})
        live.update(collection.annotation_matrix())

    for row in rows[:before]:
        annotate(row)
    collection.add_tag("mood::sunny")
    for row in rows[1:3]:
        annotate(row)
    assert live.model.scores.shape[1] == len(names) + 1
    assert live.model.scores.values.shape == live.model.scores.shape
    assert live.model.scores.values[rows[2]].nnz > 1
    new = len(names)
    np.testing.assert_array_equal(live.model.scores.at(rows[1:3], np.array([new, new])), 0)


def test_rescoring_can_be_ended_and_changes_nothing_then(collection):
    class Enough(Exception):  # noqa: N818
        pass

    live = LiveModel(collection)
    assert live.rescored == collection.revision()  # as it was fitted
    collection.annotate(collection.ids()[untagged(live)], {live.annotations.names[0]: 1})
    live.update(collection.annotation_matrix())
    before, calls = live.rescored, []

    def report(progress: Progress):
        calls.append(progress)
        if len(calls) == 3:
            raise Enough

    state = live.state
    with pytest.raises(Enough):
        live.rescore(report)
    assert live.state is state
    assert live.rescored == before < collection.revision()
    live.rescore()
    assert live.rescored == collection.revision()


def test_what_changes_nothing_moves_nothing(collection):
    """The same annotations again, before anything was trained with them."""
    live = LiveModel(collection)
    collection.annotate(collection.ids()[untagged(live)], {live.annotations.names[0]: 1})
    live.update(collection.annotation_matrix())
    before = live.model
    collection.annotate(collection.ids()[0], {live.annotations.names[1]: -1})
    collection.undo()
    updated = live.update(collection.annotation_matrix())
    assert not live.retrained
    assert len(updated.rows) == 0
    np.testing.assert_array_equal(live.model.solution.Z.to_dense(), before.solution.Z.to_dense())
    np.testing.assert_array_equal(live.model.scores.values.toarray(), before.scores.values.toarray())


def test_many_annotations_at_once_are_near_a_solve_from_nothing(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    ids, names = collection.ids(), collection.names()
    generator = np.random.default_rng(0)
    annotations = {
        (ids[n], names[k]): 1 for n, k in generator.integers((len(ids), len(names)), size=(200, 2))
    }
    collection.annotate_all([(item, tag, value) for (item, tag), value in annotations.items()])
    live.update(collection.annotation_matrix())
    solution = live.model.solution
    fresh = lass.solve(solution.problem, tol=1e-9)
    assert solution.relative_gap < ROUGHER
    assert solution.objective - fresh.objective <= solution.gap + 1e-9 * solution.problem.stake
    assert sp.issparse(solution.problem.G)


def test_a_model_says_whether_it_was_retrained_and_an_undo_takes_it_back(collection):
    live = LiveModel(collection)
    assert live.retrained
    assert live.solved
    assert live.training_seconds > 0
    model, _ = live.state
    item = collection.ids()[untagged(live)]
    collection.add_tag("nobody::uses it")
    live.update(collection.annotation_matrix())
    assert live.retrained, "a tag without annotations changes nothing"
    collection.annotate(item, {live.annotations.names[3]: 1})
    live.update(collection.annotation_matrix())
    assert not live.retrained
    live.save()
    assert not load_model(collection)[0].retrained
    collection.undo()
    live.update(collection.annotation_matrix())
    assert live.retrained
    count = model.scores.values.shape[1]
    Z, values = live.model.solution.Z.to_dense(), live.model.scores.values.toarray()
    np.testing.assert_allclose(Z[:, :count], model.solution.Z.to_dense(), atol=1e-6)
    np.testing.assert_array_equal(values[:, :count], model.scores.values.toarray())
    assert not Z[:, count:].any()
    live.save()
    assert load_model(collection)[0].retrained


def test_retraining_gives_what_a_fit_gives_and_can_be_ended(collection):
    class Enough(Exception):  # noqa: N818
        pass

    live = LiveModel(collection)
    collection.annotate(collection.ids()[untagged(live)], {"mood::sunny": 1, "a": -1}, new=True)
    live.update(collection.annotation_matrix())
    state, stages = live.state, []

    def report(progress: Progress):
        stages.append(progress.stage)
        if stages.count("scores") == 4:
            raise Enough

    with pytest.raises(Enough):
        live.retrain(report)
    assert live.state is state
    assert not live.retrained
    assert {"lam", "solve", "scores"} == set(stages)
    live.retrain()
    assert live.retrained
    assert live.rescored == collection.revision()
    kept, fitted = live.model, collection.fit().model
    read, _ = load_model(collection)
    np.testing.assert_allclose(read.solution.Z.to_dense(), fitted.solution.Z.to_dense(), atol=1e-12)
    np.testing.assert_array_equal(read.scores.values.toarray(), fitted.scores.values.toarray())
    assert kept.lam == fitted.lam
    np.testing.assert_array_equal(kept.solution.Z.to_dense(), fitted.solution.Z.to_dense())
    np.testing.assert_array_equal(kept.scores.values.toarray(), fitted.scores.values.toarray())
    # and it goes on from there
    row = untagged(live)
    collection.annotate(collection.ids()[row], {live.annotations.names[0]: 1})
    assert row in live.update(collection.annotation_matrix()).rows


def test_one_more_annotation_changes_few_suggestions_of_the_next_training(collection):
    live = LiveModel(collection)
    live.retrain()

    def likely():
        scores = live.model.scores.values.toarray()
        return (scores >= 0.5) & (live.model.solution.problem.G.toarray() == 0)

    before, changed = likely(), []
    sure = np.argwhere(before)
    for row, tag in sure[:: max(1, len(sure) // 4)][:4].tolist():
        collection.annotate(collection.ids()[row], {live.annotations.names[tag]: 1})
        live.update(collection.annotation_matrix())
        live.retrain()
        changed.append(int(np.delete(likely() != before, row, axis=0).sum()))
        collection.undo()
    assert np.mean(changed) < 0.05 * len(sure)


def test_items_that_were_added_come_in_when_it_is_retrained(collection):
    live = LiveModel(collection)
    text = collection.get_items()[0].text
    collection.add_items([Item("aaa", "", text)], [("aaa", live.annotations.names[0], 1)])
    live.update(collection.annotation_matrix())
    assert len(live.model.solution.Z) == 500
    live.retrain()
    assert len(live.model.solution.Z) == 501
    assert live.model.solution.Z[500, 0] > 0.2


def test_without_any_annotation_there_is_no_model(tmp_path):
    texts = ["one text", "one more"]
    with lass.create(tmp_path / "c", texts, tags=[("0", "a")], n_neighbors=1) as collection:
        collection.fit()
        live = LiveModel(collection)
        collection.annotate("0", {"a": 0})
        with pytest.raises(ValueError, match="no annotations left"):
            live.update(collection.annotation_matrix())
        with pytest.raises(ValueError, match="has no annotations yet"):
            LiveModel(collection)


def test_an_update_of_the_saved_model_is_marked_and_a_fit_gives_its_own_answer_again(collection):
    collection.fit(draw_map=False)
    before = load_model(collection)[0]
    row, G = untagged(LiveModel(collection)), before.solution.problem.G
    item = collection.ids()[row]
    named = before.scores.top_tags[row, :2].tolist()
    tags = [collection.names()[column] for column in named]
    collection.annotate(item, {tags[0]: 1, tags[1]: -1})
    result = collection.fit(update=True)
    updated = load_model(collection)[0]
    assert not collection.is_retrained()
    assert result.seconds.keys() == {"saved model", "solve", "saving"}
    assert abs(updated.solution.problem.G - G).nnz == 2
    assert updated.weights == before.weights
    assert updated.solution.Z[row, named[0]] > before.solution.Z[row, named[0]] + 0.05
    moved = np.abs((updated.scores.values - before.scores.values)[row]).max()
    assert moved > 0.02, "other tags of the item are scored again"
    collection.fit(draw_map=False)
    whole = load_model(collection)[0]
    assert collection.is_retrained()
    own = LiveModel(collection)
    own.retrain()
    assert abs(own.model.scores.values - whole.scores.values).max() <= 0.005
    # nothing is new: the saved model stays
    again = collection.fit(update=True)
    assert again.seconds.keys() == {"saved model"}
    assert collection.is_retrained()


def test_where_an_update_cannot_be_done_everything_is_fitted(collection):
    collection.fit(draw_map=False)
    collection.annotate(collection.ids()[0], {"made just now": 1}, new=True)
    result = collection.fit(update=True, draw_map=False)
    assert {"solve", "scores"} <= result.seconds.keys()
    assert collection.is_retrained()
    collection.change_settings(lam=0.3)
    assert collection.fit(update=True, draw_map=False).model.lam == 0.3, "lam is another, so it is no update"
    with pytest.raises(ValueError, match="an update changes no settings"):
        collection.fit(update=True, lam=0.5)


def test_a_zero_that_is_stored_stays_one_when_its_tag_comes_into_use():
    """Rows with a background store zeros of tags that nobody uses."""
    stored = sp.csr_array((np.array([0.4, 0.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 4))
    Z = SparseAssignments(stored, np.array([0.3]))
    order = CanonicalOrder(np.array([0]), np.arange(4), 4)
    assert order.assignments(Z).to_dense().tolist() == [[0.4, 0.3, 0.0, 0.3]]


def test_trying_an_annotation_scores_as_making_it_does_and_changes_nothing(collection):
    live = LiveModel(collection)
    live.update(collection.annotation_matrix())
    live.rescore()
    row = untagged(live)
    before = live.model.scores.values[[row]].toarray()[0]
    tag = int(live.model.scores.top_tags[row, 0])
    tried = live.scores_if(row, {tag: 1})
    nothing = live.scores_if(row, {})
    assert max(abs(score - before[column]) for column, score in nothing.items()) < 1e-5
    assert tag not in tried
    collection.annotate(collection.ids()[row], {live.annotations.names[tag]: 1})
    live.update(collection.annotation_matrix())
    after = live.model.scores.values[[row]].toarray()[0]
    moved = max(abs(after[column] - before[column]) for column in tried)
    assert moved > 0.02
    assert max(abs(score - after[column]) for column, score in tried.items()) < 0.1 * moved


def test_what_cannot_be_tried_is_none(collection):
    live = LiveModel(collection)
    assert live.scores_if(10**6, {}) is None
