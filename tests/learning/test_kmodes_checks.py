"""scikit-learn's own checks of a clusterer."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from lass.learning.clustering import LaplacianKModes


@parametrize_with_checks(
    [LaplacianKModes(n_init=2), LaplacianKModes(n_clusters=2, lam=0.0, homotopy=2, n_init=2)]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
