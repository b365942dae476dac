"""scikit-learn's own checks of an estimator."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from lass import LASS

#: checks that cannot hold, each with its reason
EXPECTED = {
    "check_classifiers_classes": "uses the label -1 as a class; here -1 means unknown, "
    "as in scikit-learn's own semi-supervised estimators"
}


@parametrize_with_checks(
    [LASS(), LASS(lam=1.0, prior="labels", sharpen="auto")], expected_failed_checks=lambda _: EXPECTED
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
