"""What is saved with the arrays of a collection: the same after reading, also what lass 0.1.0 wrote."""

import csv
import shutil
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lass.collection import CollectionStore, Settings
from lass.learning.predictors import PREDICTORS
from lass.learning.predictors.voters import find_voters
from lass.tagging import LiveModel, TagSuggester, features_of, fit, graph_of, load_model, map_of
from lass.tagging.storage import SavedFeatures, SavedGraph, SavedMap, SavedModel, saved_model

V0_1_0 = Path(__file__).parents[1] / "fixtures" / "v0_1_0"
#: names of predictors in 0.1.0
RENAMED = {"reach": "propagation", "company": "co-occurrence"}


@pytest.fixture
def old(tmp_path):
    """A copy of the collection that 0.1.0 wrote."""
    folder = shutil.copytree(V0_1_0 / "collection", tmp_path / "collection")
    with CollectionStore.open(folder) as collection:
        yield collection


@pytest.mark.parametrize(
    "state",
    [
        SavedFeatures(n_fitted=7, extractor={"terms": np.arange(3), "idf": np.ones(2)}, sorted_by="id"),
        SavedGraph(n_fitted=3, sorted_by="id"),
        SavedMap(n_drawn=5, n_fitted=4),
        SavedModel(lam=0.5, gaps=np.array([1.0, 0.1]), lam_reason="set", trained_on="abc", seconds=2.5),
        SavedModel(
            lam=0.5, gaps=np.zeros(2), weights="{}", scores=np.zeros((2, 3), np.float16),
            top_tags=np.zeros((2, 1), np.int32), contributions=np.zeros((2, len(PREDICTORS)), np.float16),
            reduced_features=np.ones((2, 2), np.float32), reduced_from="abc",
        ),
    ],
)  # fmt: skip
def test_a_state_is_the_same_after_reading(state):
    again = type(state).from_arrays(state.to_arrays())
    for one in fields(state):
        before, after = getattr(state, one.name), getattr(again, one.name)
        if isinstance(before, dict):
            assert before.keys() == after.keys()
            assert all((after[key] == value).all() for key, value in before.items())
        elif sp.issparse(before):
            assert (before != after).nnz == 0
        else:
            assert np.array_equal(before, after), one.name
        assert type(before) is type(after), one.name


@pytest.mark.parametrize("kind", [SavedFeatures, SavedGraph, SavedMap, SavedModel])
def test_an_array_saved_by_itself_has_no_state_and_a_newer_one_is_refused(kind):
    assert kind.from_arrays({}) is None
    with pytest.raises(ValueError, match=r"newer version of lass \(format 99"):
        kind.from_arrays({"version": np.asarray(99)})


def test_suggestions_from_the_files_of_0_1_0_are_those_it_printed(old):
    found = TagSuggester.from_collection(old).suggestions(top=5)
    with (V0_1_0 / "expected-suggestions.csv").open(encoding="utf-8", newline="") as file:
        expected = list(csv.DictReader(file))
    # since then tags are suggested only above their mean score; others move up
    names, saved = old.names(), saved_model(old).scores.astype(float)
    mean = dict(zip(names, saved.mean(axis=0), strict=True))
    above = [row for row in expected if float(row["score"]) > mean[row["tag"]] * (1 + 1e-4)]
    assert 0.5 * len(expected) < len(above) < len(expected)
    last = {row["item"]: float(row["score"]) for row in expected}
    printed_pairs = {(row["item"], row["tag"]) for row in expected}
    kept = [row for row in found if (row.item, row.tag) in printed_pairs]
    # and equal scores are in the order of names, so that others may be the last ones
    higher = {(row["item"], row["tag"]) for row in above if float(row["score"]) > last[row["item"]] * 1.001}
    assert len(higher) > 0.5 * len(above)
    assert higher <= {(row.item, row.tag) for row in kept} <= {(row["item"], row["tag"]) for row in above}
    assert all(one.score >= other.score for one, other in pairwise(found) if one.item == other.item)
    assert all(row.score <= last[row.item] * (1 + 1e-5) for row in found if row not in kept)
    for item in last:
        ranks = [row.rank for row in found if row.item == item]
        assert ranks == list(range(1, len(ranks) + 1))
    lines = {(row["item"], row["tag"]): row for row in expected}
    for row in kept:
        printed = lines[row.item, row.tag]
        assert row.score == pytest.approx(float(printed["score"]), rel=1e-5)
        because = dict(part.split("=") for part in printed["because"].split())
        assert {RENAMED.get(name, name): f"{float(value):+.2f}" for name, value in because.items()} == {
            name: f"{value:+.2f}" for name, value in row.because.items()
        }
        # it also named neighbours that do not have the tag; others take their places
        then = dict(one.split("=") for one in printed["neighbours"].split())
        now = {one.item: f"{one.share:.2f}" for one in row.neighbours}
        assert {item: share for item, share in then.items() if item in now}.items() <= now.items()


def test_a_fit_computes_what_0_1_0_wrote_again_in_the_order_of_the_ids_and_once(old):
    before = load_model(old)[0]
    assert not before.retrained
    assert saved_model(old).lam_reason
    assert (before.scores.values.data > 0.1).any()
    assert len(old.map) == 150
    tokens = {name: old.saved_array(name).stamp.token for name in ("features", "graph")}
    result = fit(old)
    assert {name for name in tokens if old.saved_array(name).stamp.token == tokens[name]} == set()
    assert "it depended on the order of the items" in result.recomputed["features"]
    after, state = load_model(old)[0], saved_model(old)
    assert after.retrained
    assert state.trained_on
    assert state.seconds > 0
    assert old.saved_array("assignments").extras["version"] == 1
    tokens = {name: old.saved_array(name).stamp.token for name in ("features", "graph", "map")}
    features_of(old)
    map_of(old, graph_of(old))
    assert tokens == {name: old.saved_array(name).stamp.token for name in tokens}


def test_items_are_added_to_features_graph_and_map_of_0_1_0(old):
    points, items = old.map, old.get_items()
    old.add_items([type(items[0])("new", text=items[0].text)])
    grown = graph_of(old)
    assert grown[[150]].nnz >= 30
    np.testing.assert_array_equal(map_of(old, grown)[:150], points)
    drawn = SavedMap.from_arrays(old.saved_array("map").extras)
    assert (drawn.n_drawn, drawn.n_fitted) == (150, 150)


def test_sparse_assignments_of_0_1_0_are_read(old):
    shutil.copy(V0_1_0 / "assignments-sparse.npz", old.path / "arrays" / "assignments.npz")
    model, annotations = load_model(old)
    assert model.scores is None  # it had no other predictors then
    assert model.lam == saved_model(old).lam
    found = TagSuggester.from_collection(old).suggestions(top=3)
    assert len(found) > 100
    W, Z = model.solution.problem.W.toarray(), model.solution.Z.to_dense()
    for row in found[::10]:
        n, k = annotations.ids.index(row.item), annotations.names.index(row.tag)
        assert row.score == pytest.approx(W[n] @ Z[:, k] / W[n].sum(), abs=1e-6)


def test_a_live_model_keeps_the_record_of_the_fit(old):
    before = saved_model(old)
    live = LiveModel(old)
    live.update(old.annotation_matrix())
    live.save()
    after = saved_model(old)
    assert after.lam_reason == before.lam_reason
    assert after.trained_on == ""
    assert after.weights  # in the form of today
    np.testing.assert_array_equal(after.reduced_features, before.reduced_features)
    live.retrain()
    live.save()
    assert saved_model(old).trained_on
    assert load_model(old)[0].retrained


@pytest.mark.parametrize("count", [1, 3, 9, 14])
def test_scores_from_few_tags_are_the_same_when_read_again(tmp_path, programs, count):
    items, topics = programs(40)
    annotations = [(f"p{n}", topics[n], 1) for n in range(count)] + [("p39", topics[39], 1)]
    settings = Settings(features={"kind": "text"}, n_neighbors=5)
    folder = tmp_path / "c"
    with CollectionStore.create(folder, items, annotations=annotations, settings=settings) as made:
        fitted = fit(made).model
        before = TagSuggester(fitted, made.annotation_matrix()).suggestions(top=1)
    with CollectionStore.open(folder) as read:
        model = load_model(read)[0]
        after = TagSuggester.from_collection(read).suggestions(top=1)
        again = LiveModel(read)
        again.rescore()
    assert model.weights == fitted.weights
    assert bool(model.weights.mixture)
    clusters = find_voters(model.solution.problem.W, model.solution.problem.G).clusters
    assert 1 < clusters <= count + 1
    assert model.weights.is_trained == (clusters >= 10)
    assert model.items_until_percentages == max(0, 12 - count - 1, 10 - clusters)
    values = fitted.scores.values.toarray()
    np.testing.assert_array_equal(model.scores.values.toarray(), values)
    np.testing.assert_allclose(again.model.scores.values.toarray(), values, atol=1e-3)
    assert [(row.item, row.score is None) for row in after] == [
        (row.item, row.score is None) for row in before
    ]
    assert np.mean([one.tag == other.tag for one, other in zip(after, before, strict=True)]) > 0.9
