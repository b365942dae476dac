"""``lass evaluate`` measures what ``lass fit`` does, on dense numbers too."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.collection import AnnotationMatrix
from lass.learning.predictors.holdout import split
from lass.tagging.completion import all_scores
from lass.tagging.evaluation.metrics import compute_metrics
from lass.tagging.pipeline import train
from lass.tagging.preparation import graph_of


def items_with_tags(name):
    """Numbers of very different units, as they come, and the class of each item."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    kept = np.random.default_rng(0).permutation(len(y))[:200]
    columns = [f"x{number:02d}" for number in range(X.shape[1])]
    rows = [dict(zip(columns, row, strict=True)) for row in X[kept].tolist()]
    return columns, [{"id": f"{n:04d}", **row} for n, row in enumerate(rows)], y[kept]


@pytest.mark.parametrize("name", ["wine", "digits"])
def test_the_metrics_are_those_of_a_fit_on_the_visible_tags(tmp_path, name):
    columns, rows, y = items_with_tags(name)
    known = {row["id"]: [f"class {label}"] for row, label in zip(rows, y, strict=True)}
    with lass.create(tmp_path / "first", rows[::-1], numeric=columns, tags=known) as made:
        found = made.evaluate(seeds=1, situations=["items"], hide=0.7, top=1).situations["items"]
    # items in the order of their ids, as a fit takes them
    with lass.create(tmp_path / "second", rows, numeric=columns) as made:
        W, T = graph_of(made), sp.csr_array((y[:, None] == np.unique(y)).astype(float))
        parts = split(T, np.arange(len(y)), "items", 0.7, 0)
        names = [f"class {label}" for label in np.unique(y)]
        fitted = train(made, AnnotationMatrix(parts.visible, made.ids(), names, 0), W)
        expected = compute_metrics(all_scores(fitted.canonical, parts.rows), parts, 1, 0)
    assert {metric: values.seeds[0] for metric, values in found.methods["LASS"].items()} == expected
    assert found.lam == fitted.canonical.lam
