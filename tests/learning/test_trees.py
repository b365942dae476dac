"""Trees of dense features: what they know, and that they never know an item's own tags."""

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import lass
from lass.cli import group
from lass.learning.predictors import PREDICTORS, TREES
from lass.learning.predictors import trees as grown
from lass.learning.predictors.affinities import Affinities
from lass.learning.predictors.few_tags import TREE_VOTE, FewTags
from lass.learning.predictors.prior import default_prior
from lass.learning.predictors.training import train
from lass.learning.predictors.trees import are_dense, tree_affinities, tree_shares
from lass.tagging import LiveModel, complete, fit, load_model, preparation, with_scores
from lass.tagging.live import update_fit
from lass.tagging.preparation import has_dense_numbers


def checkerboard(items=400, seed=0):
    """Two of four columns decide by the sign of their product: no linear model of them knows the tag."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(items, 4))
    alike = X[:, 0] * X[:, 1] > 0
    return X, sp.csr_array(np.column_stack([alike, ~alike]).astype(float))


def own_shares(shares, T):
    """The mean share of the tags that items have."""
    return float(shares.toarray()[T.toarray() > 0].mean())


def test_no_item_is_scored_by_a_tree_that_knows_its_tags():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 6)), sp.csr_array(np.eye(5)[rng.integers(5, size=300)])
    # tags are drawn at random, so that an item's own are as likely as any
    assert own_shares(tree_shares(X, T, np.arange(300)), T) == pytest.approx(0.2, abs=0.03)


def test_one_more_tagged_item_changes_shares_less_than_other_trees_do(monkeypatch):
    monkeypatch.setattr(grown, "ROWS", 150)  # of more tagged items some are drawn
    X, T = checkerboard(500)
    T = T.toarray() * (np.arange(500) % 2)[:, None]
    before, others = (tree_shares(X, sp.csr_array(T), np.arange(500), seed).toarray() for seed in (0, 1))
    T[100] = [1.0, 0.0]
    after = tree_shares(X, sp.csr_array(T), np.arange(500)).toarray()
    assert np.abs(after - before).mean() < 0.5 * np.abs(others - before).mean()


def test_no_item_is_scored_by_near_copies_of_its_group():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(150, 6)), 2, axis=0)
    T = sp.csr_array(np.repeat(np.eye(5)[rng.integers(5, size=150)], 2, axis=0))
    apart, together = (tree_shares(X, T, groups) for groups in (np.arange(300), np.arange(300) // 2))
    assert own_shares(apart, T) > 0.35
    assert own_shares(together, T) < 0.23


def test_shares_are_distributions_where_each_item_has_one_tag():
    X, T = checkerboard(200)
    T = sp.csr_array(sp.diags_array((np.arange(200) < 120).astype(float)) @ T)
    T.eliminate_zeros()
    found = tree_shares(X, T, np.arange(200))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    right = found.toarray()[120:].argmax(axis=1) == checkerboard(200)[1].toarray()[120:].argmax(axis=1)
    assert right.mean() > 0.8


def test_of_many_tags_the_likeliest_are_kept():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(300, 6)), sp.csr_array((rng.random((300, 100)) < 0.2).astype(float))
    found = tree_shares(X, T, np.arange(300))
    assert np.diff(found.indptr).max() <= 48
    assert np.array_equal(found.toarray(), tree_shares(X, T, np.arange(300)).toarray())


def test_trees_of_few_tagged_items_are_grown_once(monkeypatch):
    X, T = checkerboard(150)
    others = np.random.default_rng(0).random((150, 9)) < 0.3  # no two items are annotated alike
    T = sp.csr_array(sp.diags_array((np.arange(150) < 60).astype(float)) @ sp.hstack([T, others]))
    T.eliminate_zeros()
    items = np.arange(60)
    together = tree_affinities(X, T[items].toarray(), items, items)
    shares = tree_shares(X, T, np.arange(150), together=together).toarray()
    np.testing.assert_allclose(shares, tree_shares(X, T, np.arange(150)).toarray(), atol=1e-6)
    sizes, grow = [], grown._grow
    monkeypatch.setattr(grown, "_grow", lambda *args: sizes.append(len(args[1])) or grow(*args))
    found = with_scores(complete(lass.knn_graph(X, 8), T, 0.5), features=X, trees=True)
    assert found.weights.uses(TREES)
    assert TREE_VOTE in found.weights.mixture
    assert sizes == [60]


def test_units_of_the_columns_do_not_matter():
    X, T = checkerboard(100)
    found = tree_shares(X, T, np.arange(100))
    scaled = tree_shares(X * np.array([1024.0, 0.25, 2.0, 1.0]), T, np.arange(100))
    assert np.array_equal(found.toarray(), scaled.toarray())


def test_nothing_grows_where_it_is_not_worth_it(monkeypatch):
    X, T = checkerboard(60)
    assert tree_shares(X[:30], T[:30], np.arange(30)) is None
    assert tree_shares(np.full_like(X, np.inf), T, np.arange(60)) is None
    monkeypatch.setattr(grown, "MAX_ITEMS", 50)
    assert tree_shares(X, T, np.arange(60)) is None
    assert not are_dense(sp.csr_array(X))
    assert not are_dense(np.eye(100))
    assert not are_dense(np.zeros((0, 3)))


def test_scores_follow_trees_where_nothing_else_knows_the_tag():
    X, T = checkerboard(600)
    G = sp.csr_array(sp.diags_array((np.arange(600) < 400).astype(float)) @ T)
    G.eliminate_zeros()
    X[:, 2:] *= 4.0  # neighbours are alike in what does not matter
    model = complete(lass.knn_graph(X, 8), G, 0.5)
    truth = T.toarray()[400:].argmax(axis=1)
    right = {}
    for trees in (False, True):
        found = with_scores(model, features=X, trees=trees)
        right[trees] = np.mean(found.scores.values[400:].toarray().argmax(axis=1) == truth)
        assert found.weights.uses(TREES) == trees
    assert right[True] > 0.85 > right[False] + 0.05
    place = list(PREDICTORS).index(TREES)
    assert np.median(found.scores.contributions[400:, 0, place]) > 0.5


def numbers(folder, items=500, tagged=300):
    """A collection of dense numbers; other tags are random, so that no items are annotated alike."""
    X, T = checkerboard(items)
    others = np.random.default_rng(1).random((items, 9)) < 0.3
    rows = [{"id": f"{n:04d}", **dict(zip("abcd", row, strict=True))} for n, row in enumerate(X.tolist())]
    tags = {
        f"{n:04d}": ["alike" if T[n, 0] else "unlike", *(f"t{k}" for k in np.flatnonzero(others[n]))]
        for n in range(tagged)
    }
    return lass.create(folder, rows, numeric=list("abcd"), tags=tags)


def test_a_fit_grows_trees_and_an_update_keeps_them(tmp_path):
    with numbers(tmp_path / "numbers") as collection:
        assert has_dense_numbers(collection)
        first = fit(collection)
        assert first.comparisons == ("items are compared by numbers, each column standardised",)
        assert first.trees == "trees grown on the features count beside linear models"
        assert first.trees in repr(first)
        before = load_model(collection)[0]
        assert before.weights.uses(TREES)
        live = LiveModel(collection)
        kept = live._canonical.predictors.trained.trees
        assert kept is not None
        collection.tag("0400", "alike")
        assert update_fit(collection) is not None
        after = load_model(collection)[0]
        changed = abs(after.scores.values - before.scores.values).sum(axis=1) > 0
        assert changed[400]
        assert changed.sum() < 250  # rows far from the change are scored as they were
        reasons = collection.suggest(items=["0450"], top=1)[0].because
        assert TREES in reasons


def test_the_same_numbers_give_the_same_scores_whatever_came_first(tmp_path):
    with numbers(tmp_path / "one") as one:
        fit(one)
        first = load_model(one)[0].scores.values
        one.tag("0400", "alike")
        fit(one)
        one.undo()
        fit(one)
        assert (first != load_model(one)[0].scores.values).nnz == 0


def test_no_trees_for_texts(tmp_path):
    texts = [f"word{n % 7} word{n % 5} word{n % 3}" for n in range(60)]
    with lass.create(
        tmp_path / "texts", texts, tags={str(n): [f"t{n % 7}"] for n in range(50)}
    ) as collection:
        assert not has_dense_numbers(collection)
        assert fit(collection).trees == ""
        assert not load_model(collection)[0].weights.uses(TREES)
        assert TREES not in collection.suggest(top=1)[0].because


def test_items_without_tags_keep_their_own_weights_where_all_have_one():
    """They are not scaled down with those of tagged items, of which hardly a second tag is expected."""
    from lass.learning.predictors import PredictorFeatures

    X, T = checkerboard(300)
    W = lass.knn_graph(X, 8)

    def compute(visible):
        return PredictorFeatures(W, visible, lass.solve(W, visible, 0.5, tol=1e-4).Z, None)

    weights = train(compute, compute(T), T, np.arange(300))
    assert weights.tagged != weights.untagged


def test_few_tagged_items_vote_by_trees_too():
    """Neighbours and linear models know nothing of these tags."""
    X, T = checkerboard(400)
    X[:, 2:] *= 4.0
    G = sp.csr_array(sp.diags_array((np.arange(400) < 150).astype(float)) @ T)
    G.eliminate_zeros()
    affinities = Affinities(lass.knn_graph(X, 8), X.astype(np.float32))
    few = FewTags(affinities, G, np.arange(400), trees=True)
    weights = few.train()
    assert weights[TREE_VOTE] > 0.5
    odds = few.evidence(np.arange(150, 400), weights, default_prior())[0]
    assert np.mean(odds.argmax(axis=1) == T.toarray()[150:].argmax(axis=1)) > 0.7
    assert TREE_VOTE not in FewTags(affinities, G, np.arange(400)).train()
    # the votes for an annotated item are of trees that were grown without it
    itself = few.columns[TREES][few.items, np.arange(len(few.items))]
    np.testing.assert_array_equal(itself, 0.0)


def test_a_fit_says_why_trees_are_left_out(tmp_path, monkeypatch):
    with numbers(tmp_path / "few", items=60, tagged=6) as collection:
        assert fit(collection, draw_map=False).trees == "trees are left out: too few items are tagged"
    monkeypatch.setattr(preparation, "MAX_ITEMS", 50)
    monkeypatch.setattr(grown, "MAX_ITEMS", 50)
    with numbers(tmp_path / "many", items=60, tagged=50) as collection:
        assert fit(collection, draw_map=False).trees == "trees are left out: there are more than 50 items"
    zeros = np.eye(40)
    with lass.create(
        tmp_path / "zeros", [f"item {n}" for n in range(40)], vectors=zeros, tags={"0": ["a"], "1": ["b"]}
    ) as collection:
        found = fit(collection, draw_map=False)
        assert found.comparisons == ("items are compared by the vectors that were given",)
        assert found.trees == "trees are left out: most numbers of the features are zero"


def test_the_command_says_what_was_chosen(tmp_path):
    with numbers(tmp_path / "numbers", items=100, tagged=80):
        pass
    printed = CliRunner().invoke(group, ["fit", str(tmp_path / "numbers"), "--no-map"]).output
    assert "Items are compared by numbers, each column standardised\n" in printed
    assert "Trees grown on the features count beside linear models\n" in printed
