"""The estimator on tables of polars and pyarrow."""

import numpy as np
import pytest

import lass

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

X = np.random.default_rng(0).normal(size=(40, 3))
Y = [0, 1] * 5 + [-1] * 30
COLUMNS = {name: X[:, n] for n, name in enumerate("abc")}
TABLES = {
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
    "polars list": pl.DataFrame({"v": X.tolist()}),
    "polars array": pl.DataFrame({"v": X}, schema={"v": pl.Array(pl.Float64, 3)}),
    "pyarrow list": pa.table({"v": X.tolist()}),
    "pyarrow fixed": pa.table({"v": pa.FixedSizeListArray.from_arrays(X.ravel(), 3)}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_array_it_holds(name):
    table, expected = TABLES[name], lass.LASS(n_neighbors=4).fit(X, Y)
    model = lass.LASS(n_neighbors=4).fit(table, Y)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.assignments_, expected.assignments_)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(X))


def test_names_of_columns_are_kept():
    for name in ("polars", "pyarrow"):
        model = lass.LASS(n_neighbors=4).fit(TABLES[name], Y)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        with pytest.raises(ValueError, match="same order"):
            model.predict(TABLES[name].select(["c", "b", "a"]))


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
def test_affinities_in_a_table_name_the_categories(kind):
    G = np.eye(2)[Y] * (np.arange(len(Y)) < 10)[:, None]
    model = lass.LASS(n_neighbors=4).fit(X, kind({"one": G[:, 0], "two": G[:, 1]}))
    assert model.classes_.tolist() == ["one", "two"]
    np.testing.assert_array_equal(model.assignments_, lass.LASS(n_neighbors=4).fit(X, G).assignments_)


BAD = {
    "lazy": (TABLES["polars"].lazy(), r"LazyFrame.*\.collect\(\)"),
    "null": (pl.DataFrame({"a": [None, *X[1:, 0]]}), r"column 'a' has 1 null"),
    "text": (pa.table({"a": X[:, 0], "t": ["x"] * 40}), "column 't' holds string"),
    "polars text": (pl.DataFrame({"t": ["x"] * 40}), "column 't' holds String"),
    "ragged": (pa.table({"v": [[1.0], *X[1:].tolist()]}), "found 1 to 3 numbers"),
    "inner null": (pl.DataFrame({"v": [[None, "x"]] * 40}), "must be flat, of numbers"),
    "nested": (pa.table({"v": [[[1.0], [2.0]]] * 40}), "must be flat"),
    "beside": (pl.DataFrame({"v": X.tolist(), "a": X[:, 0]}), "and 1 others"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_table_must_not_hold(name):
    table, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        lass.LASS(n_neighbors=4).fit(table, Y)
