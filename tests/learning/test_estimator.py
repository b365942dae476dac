"""The scikit-learn estimator as people use it, against formulas written out."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

import lass
from estimator_data import NAMES, NAN, NEW, TAGS, TRUTH, X, Y, check_simplex, neighbours, project
from lass.learning.graph_mixture import LEANING
from lass.learning.priors import shares_of_labels, slide, whole_counts
from oracle import Case, check_against_oracle


@pytest.mark.parametrize(
    "y",
    [
        np.where(Y < 0, NAN, Y),
        np.where(Y < 0, None, Y),
        [None if k < 0 else int(k) for k in Y],
        pd.Series(Y),
        pd.Series(np.where(Y < 0, NAN, Y)),
        pd.Series([pd.NA if k < 0 else k for k in Y], dtype="Int64"),
    ],
)
def test_unknown_labels_can_be_written_in_many_ways(y):
    expected = lass.LASS().fit(X, Y)
    model = lass.LASS().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.assignments_, expected.assignments_)


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        lambda labels: np.array(labels, dtype=object),
        lambda labels: [-1 if label is None else label for label in labels],
        lambda labels: [NAN if label is None else label for label in labels],
        pd.Series,
        lambda labels: pd.Series(labels, dtype="string"),
        lambda labels: pd.Series(labels, dtype="category"),
        lambda labels: pd.Series([pd.NA if label is None else label for label in labels], dtype=object),
    ],
)
def test_labels_can_be_text(wrap):
    labels = [None if k < 0 else str(NAMES[k]) for k in Y]
    expected = lass.LASS().fit(X, Y)
    model = lass.LASS().fit(X, wrap(labels))
    assert model.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(model.assignments_, expected.assignments_)
    np.testing.assert_array_equal(model.transduction_, NAMES[expected.transduction_])
    np.testing.assert_array_equal(model.predict(NEW), NAMES[expected.predict(NEW)])


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning):
        model = lass.LASS(lam=1.0).fit(X, Y[:, None])
    np.testing.assert_array_equal(model.transduction_, lass.LASS(lam=1.0).fit(X, Y).transduction_)


@pytest.mark.parametrize("lam", ["auto", 1.0, 0.0, np.inf])
def test_one_label_a_class_all_labels_and_one_class(lam):
    once = np.full(60, -1)
    for k in range(3):
        once[np.flatnonzero(k == TRUTH)[0]] = k
    for y in (once, TRUTH, np.where(TRUTH == 2, 2, -1)):
        model = lass.LASS(lam=lam).fit(X, y)
        check_simplex(model.assignments_)
        assert model.classes_.tolist() == np.unique(y[y >= 0]).tolist()
    assert (model.predict(NEW) == 2).all()
    assert (lass.LASS(lam=0.0).fit(X, TRUTH).transduction_ == TRUTH).all()


def test_one_and_minus_one_alone_are_perhaps_meant_as_two_classes():
    y = np.where(TRUTH == 1, 1, -1)
    with pytest.warns(UserWarning, match="y holds 1 and -1 alone: -1 means that an item has no label"):
        assert lass.LASS(lam=1.0).fit(X, y).classes_.tolist() == [1]
    named = np.where(TRUTH == 1, "yes", "no")
    assert lass.LASS(lam=1.0).fit(X, named).classes_.tolist() == ["no", "yes"]


def test_dates_may_be_labels_and_not_a_time_is_unknown():
    y = np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="datetime64[D]")[TRUTH]
    model = lass.LASS(lam=1.0).fit(X, y)
    assert model.classes_.tolist() == y[TRUTH < 2][np.unique(y[TRUTH < 2], return_index=True)[1]].tolist()
    masked = np.ma.masked_array(TRUTH, mask=TRUTH == 2)
    assert lass.LASS(lam=1.0).fit(X, masked).classes_.tolist() == [0, 1]


def test_items_that_no_label_reaches_are_even():
    far = np.concatenate([X, 1e4 + X[:20]])
    y = np.concatenate([TRUTH, np.full(20, -1)])
    for lam in ("auto", 1.0):
        model = lass.LASS(lam=lam, features=None).fit(far, y)
        np.testing.assert_allclose(model.assignments_[60:], 1 / 3)
        assert model.health_.n_unlabelled_items == 20


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(60, -1), "label of at least one item"),
        (np.linspace(0, 1, 60), "continuous"),
        (["a", 1] + [None] * 58, "text beside numbers"),
        (np.where(Y < 0, np.inf, Y), "infinity"),
        ([[1]] * 60, "one label an item"),
        ([["a"], ["a", "b"]] + [[]] * 58, "one label an item"),
        ([["a", "b"]] * 60, "y must be a two-dimensional array"),
        (Y[:59], "inconsistent numbers of samples"),
        (TAGS[:59], "inconsistent numbers of samples"),
        (np.where(TAGS > 0, NAN, 0), "y must be finite"),
        (None, "requires y"),
    ],
)
def test_y_that_cannot_be_meant(y, message):
    with pytest.raises(ValueError, match=message):
        lass.LASS().fit(X, y)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"lam": "large"}, "lam must be 'auto' or a number"),
        ({"lam": -1}, "lam must be a number from 0"),
        ({"lam": NAN}, "lam must be a number from 0"),
        ({"lam": None}, "lam must be a number"),
        ({"lam": [1.0, 2.0]}, "lam must be a number"),
        ({"prior": "even"}, "prior must be None, 'labels'"),
        ({"prior": [0.5, 0.5]}, "prior must hold 3 shares"),
        ({"prior": [1, 1, -1]}, "prior must hold 3 shares"),
        ({"prior": [0, 0, 0]}, "prior must hold 3 shares"),
        ({"prior": [1, 1, NAN]}, "prior must hold 3 shares"),
        ({"prior": {"a": 1}}, "prior must be an array of numbers"),
        ({"sharpen": 0}, "sharpen must be"),
        ({"sharpen": np.int64(-1)}, "sharpen must be"),
        ({"sharpen": "much"}, "sharpen must be"),
        ({"sharpen": [1]}, "sharpen must be"),
        ({"contrast": 0}, "contrast must be"),
        ({"contrast": "2"}, "contrast must be"),
        ({"contrast": NAN}, "contrast must be"),
        ({"n_neighbors": 0}, "n_neighbors must be"),
        ({"n_neighbors": 2.5}, "n_neighbors must be"),
        ({"n_neighbors": None}, "n_neighbors must be"),
        ({"tol": -1}, "tol must be"),
        ({"metric": "nearness"}, "metric"),
    ],
)
def test_settings_that_cannot_be_meant(setting, message):
    with pytest.raises(ValueError, match=message):
        lass.LASS(**setting).fit(X, Y)


@pytest.mark.parametrize(
    "confidence", [np.ones(59), -np.ones(60), np.full(60, NAN), 1.0, "high", np.where(Y < 0, 1.0, 0.0)]
)
def test_confidence_that_cannot_be_meant(confidence):
    with pytest.raises(ValueError, match="confidence must"):
        lass.LASS().fit(X, Y, confidence=confidence)


def test_confidence_and_prior_where_y_holds_affinities():
    with pytest.raises(ValueError, match="confidence is for labels"):
        lass.LASS().fit(X, TAGS, confidence=np.ones(60))
    with pytest.raises(ValueError, match="needs a positive affinity"):
        lass.LASS(prior="labels").fit(X, -np.abs(TAGS))


def test_graph_is_self_tuned_and_raised_to_the_contrast():
    directed = neighbours(X, X, 7, self_too=False)
    W = (directed + directed.T) / 2
    for contrast, y in ((None, Y), (2.0, TAGS), (3.0, Y)):
        power = 2.0 if contrast is None else contrast
        steep = W**power * (W.sum() / (W**power).sum())
        model = lass.LASS(1.0, n_neighbors=7, contrast=contrast).fit(X, y)
        np.testing.assert_allclose(model.graph_.toarray(), steep, rtol=1e-9, atol=1e-12)
    for contrast, y in ((None, TAGS), (1.0, Y)):
        model = lass.LASS(1.0, n_neighbors=7, contrast=contrast).fit(X, y)
        np.testing.assert_allclose(model.graph_.toarray(), W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lam", ["auto", 0.1, 2.0])
@pytest.mark.parametrize("y", [Y[::2], TAGS[::2]], ids=["labels", "affinities"])
def test_solution_is_optimal(lam, y):
    """Against an interior-point method; the certificate is as small as asked for and bounds the error."""
    model = lass.LASS(lam, n_neighbors=5, tol=1e-8).fit(X[::2], y)
    assert model.solution_.relative_gap <= 1e-8
    assert model.solution_.problem.lam == model.lam_
    case = Case(model.graph_.toarray(), model.affinities_.toarray(), model.lam_)
    check_against_oracle(model.solution_, case, share=1e-7)
    check_simplex(model.assignments_)
    np.testing.assert_array_equal(model.transduction_, model.classes_[model.assignments_.argmax(axis=1)])


@pytest.mark.parametrize(
    "form",
    [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array, lambda y: y.tolist(), pd.DataFrame],
)
@pytest.mark.parametrize("lam", [0.05, 1.0])
def test_affinities_are_taken_as_they_are(form, lam):
    """Their magnitude is the confidence: nothing is scaled or balanced."""
    W, signed = lass.knn_graph(X, 6), TAGS * np.linspace(0.1, 3.0, 60)[:, None]
    model = lass.LASS(lam, metric="precomputed").fit(W, form(signed))
    direct = lass.solve(W, signed, lam)
    assert abs(model.solution_.objective - direct.objective) <= model.solution_.gap + direct.gap
    np.testing.assert_array_equal(model.affinities_.toarray(), signed)
    np.testing.assert_allclose(model.assignments_, direct.Z, atol=0.01)


def test_a_data_frame_names_the_categories():
    names = ["jazz", "rock", "folk", "loud"]
    frame = pd.DataFrame(X, columns=["tempo", "volume"])
    model = lass.LASS(1.0, n_neighbors=6).fit(frame, pd.DataFrame(TAGS, columns=names))
    assert model.classes_.tolist() == names
    assert model.get_feature_names_out().tolist() == names
    assert model.feature_names_in_.tolist() == ["tempo", "volume"]
    assert set(model.transduction_) <= set(names)
    table = model.set_output(transform="pandas").transform(frame[:5])
    assert table.columns.tolist() == names
    np.testing.assert_array_equal(table.to_numpy(), model.predict_proba(frame[:5]))
    way = model.path(frame[:1], np.zeros(4))
    np.testing.assert_allclose(way(1.0), model.predict_proba(frame[:1])[0], atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["volume", "tempo"]])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X[:2])


def test_confidence_weighs_labels():
    """A doubtful label between two sure ones of another class gives way."""
    W = np.eye(7, k=1) + np.eye(7, k=-1)
    y = np.array([0, -1, 0, 1, 0, -1, 1])
    doubtful = np.where(np.arange(7) == 3, 0.01, 1.0)
    sure, unsure = (lass.LASS(0.2, metric="precomputed").fit(W, y, confidence=c) for c in (None, doubtful))
    assert sure.transduction_[3] == 1
    assert unsure.transduction_[3] == 0
    np.testing.assert_allclose(unsure.affinities_[3, 1], 0.01 * unsure.affinities_[6, 1])


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("y", [Y, TAGS], ids=["labels", "affinities"])
@pytest.mark.parametrize("prior", [None, "labels"])
def test_chosen_lam_follows_the_scale_of_the_graph(factor, y, prior):
    W = lass.knn_graph(X, 8)
    model, scaled = (
        lass.LASS(metric="precomputed", prior=prior, tol=1e-8).fit(V, y) for V in (W, factor * W)
    )
    np.testing.assert_allclose(scaled.lam_ * factor, model.lam_, rtol=1e-6)
    np.testing.assert_array_equal(scaled.transduction_, model.transduction_)
    assert model.lam_ in model.choice_.lams
    assert str(model.choice_).startswith(f"lam = {model.lam_:.4g}: ")


def test_fit_is_deterministic_and_clones_fit_alike():
    for settings_ in ({}, {"prior": "labels", "sharpen": 0.5}):
        model = lass.LASS(**settings_)
        first = model.fit(X, Y).assignments_
        np.testing.assert_array_equal(first, clone(model).fit(X, Y).assignments_)
        np.testing.assert_array_equal(first, model.fit(X, Y).assignments_)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50.0))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_decisions_follow_a_prior_of_any_sum(seed, total):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(50, 2))
    y = np.full(50, -1)
    y[:6] = [0, 1, 2, 0, 1, 2]
    q = 0.1 + 0.7 * rng.dirichlet(np.ones(3))
    q /= q.sum()
    model = lass.LASS(1.0, n_neighbors=6, prior=total * q).fit(points, y)
    counts = np.bincount(model.transduction_, minlength=3)
    assert np.abs(counts - whole_counts(q, 50)).max() <= 2
    check_simplex(model.assignments_)
    np.testing.assert_allclose(model.assignments_, project(model.solution_.Z + model.shift_), atol=1e-12)
    # new items move by the same shift
    new = rng.normal(size=(9, 2))
    free = clone(model).set_params(prior=None).fit(points, y)
    np.testing.assert_array_equal(free.solution_.Z, model.solution_.Z)
    np.testing.assert_allclose(
        model.predict_proba(new), project(free.predict_proba(new) + model.shift_), atol=1e-9
    )


def test_decisions_lean_to_a_prior_where_lam_is_chosen():
    wanted = whole_counts([0.6, 0.2, 0.2], len(X))
    free = lass.LASS(features=None).fit(X, Y)
    model = lass.LASS(features=None, prior=[3, 1, 1]).fit(X, Y)
    exact = slide(model.mixture_.scores(), [0.6, 0.2, 0.2])
    np.testing.assert_allclose(model.shift_, LEANING * exact, atol=1e-9)
    apart = [np.abs(np.bincount(one.transduction_, minlength=3) - wanted).sum() for one in (model, free)]
    assert apart[0] <= apart[1]


def uneven_stars(size=40):
    """Two groups around a middle each, joined by weak edges; the label of the second is at its border."""
    W = np.zeros((2 * size, 2 * size))
    for first in (0, size):
        W[first, first + 1 : first + size] = 1.0
        ring = np.arange(first + 1, first + size)
        W[ring, np.roll(ring, 1)] = 0.3
    W[np.arange(1, size), np.arange(size + 1, 2 * size)] = 0.2
    codes = np.full(2 * size, -1)
    codes[0], codes[-1] = 0, 1
    return W + W.T, codes, np.repeat([0, 1], size)


def test_categories_are_compared_with_their_own_mean_where_lam_is_chosen():
    """One label a category: the one with more neighbours pulls most of the items to itself."""
    W, y, truth = uneven_stars()
    model = lass.LASS(metric="precomputed").fit(W, y)
    Z = model.solution_.Z
    assert (Z.argmax(axis=1) != truth).mean() > 0.3
    np.testing.assert_array_equal(model.transduction_, truth)
    np.testing.assert_allclose(model.category_weights_ * Z.mean(axis=0), [0.5, 0.5])
    np.testing.assert_allclose(model.mixture_.weights[0], model.category_weights_, rtol=1e-4)
    np.testing.assert_allclose(model.assignments_, project(model.mixture_.scores()))
    check_simplex(model.assignments_)
    # the other way round: nothing hangs on the order of items and categories
    back = np.arange(len(y))[::-1]
    other = lass.LASS(metric="precomputed").fit(W[np.ix_(back, back)], np.where(y < 0, -1, 1 - y)[back])
    np.testing.assert_allclose(other.assignments_[::-1, ::-1], model.assignments_, atol=1e-3)
    # new items are compared with the same means, and a lam that is given is taken as it is
    new = np.eye(len(y))[[1, 50]]
    apart = model.predict_proba(new) - project(model.mixture_.of_new(sp.csr_array(new), None, model.lam_))
    assert np.abs(apart).max() < 1e-12
    given_ = lass.LASS(model.lam_, metric="precomputed").fit(W, y)
    assert given_.category_weights_ is None
    np.testing.assert_array_equal(given_.assignments_, given_.solution_.Z)


def test_weights_of_categories_survive_updates_and_files(tmp_path):
    W, y, _ = uneven_stars()
    model = lass.LASS(metric="precomputed").fit(W, y).update({3: 0})
    shares = shares_of_labels(model._codes, 2)
    np.testing.assert_allclose(shares, [0.6, 0.4])
    np.testing.assert_allclose(model.category_weights_ * model.solution_.Z.mean(axis=0), shares)
    model.save(tmp_path / "model.npz")
    again = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.assignments_, model.assignments_)
    np.testing.assert_array_equal(again.predict_proba(W[:4]), model.predict_proba(W[:4]))


def test_prior_of_the_labels():
    y = np.array([0, 0, 0, 1, *[-1] * 56])
    named, given_ = (lass.LASS(0.5, prior=q).fit(X, y) for q in ("labels", [3.0, 1.0]))
    np.testing.assert_array_equal(named.assignments_, given_.assignments_)
    assert np.abs(np.bincount(named.transduction_) - [45, 15]).max() <= 2
    positive = np.maximum(TAGS, 0).sum(axis=0)
    tags, shares = (lass.LASS(0.5, prior=q).fit(X, TAGS) for q in ("labels", positive))
    np.testing.assert_array_equal(tags.assignments_, shares.assignments_)


def test_fewer_items_than_neighbours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = lass.LASS(1.0).fit([[0.0], [1.0], [5.0]], ["a", None, "b"])
    assert model.transduction_.tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("sharpen", [None, "auto"])
def test_verbose_says_what_is_done_and_quiet_says_nothing(sharpen, capsys):
    lass.LASS(sharpen=sharpen).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    lass.LASS(sharpen=sharpen, verbose=True).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "finding 10 neighbours of 60 items" in err
    assert "lam = " in err
    assert "of the stake from the optimum" in err
    assert ("step 12 of 12" in err) == (sharpen is not None)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_graph_in_pieces(seed):
    """Forty components, some of one item: the coarsest graph has as many null vectors."""
    rng = np.random.default_rng(seed)
    blocks = []
    for size in rng.integers(1, 150, 40):
        ends = rng.integers(size, size=(2, 3 * size))
        block = sp.csr_array(sp.coo_array((np.ones(3 * size), ends), (size, size)))
        block.setdiag(0.0)
        blocks.append(block + block.T)
    W = sp.csr_array(sp.block_diag(blocks, format="csr"))
    y = np.full(W.shape[0], -1)
    labelled = rng.permutation(len(y))[:80]
    y[labelled] = rng.integers(5, size=80)
    model = lass.LASS(metric="precomputed").fit(W, y)
    assert model.solution_.converged
    np.testing.assert_allclose(model.assignments_.sum(axis=1), 1.0)
