"""Predictors of tags, their features and trained weights, and scores that are probabilities."""

from lass.learning.predictors.features import (
    COLUMNS,
    FEATURES,
    PREDICTORS,
    TREES,
    Feature,
    PredictorFeatures,
)
from lass.learning.predictors.linear import LinearPredictor
from lass.learning.predictors.prior import Prior
from lass.learning.predictors.scores import Scores
from lass.learning.predictors.scoring import Predictors, score, score_tags
from lass.learning.predictors.training import train
from lass.learning.predictors.weights import Weights

__all__ = [
    "COLUMNS", "FEATURES", "PREDICTORS", "TREES", "Feature", "LinearPredictor", "PredictorFeatures",
    "Predictors", "Prior", "Scores", "Weights", "score", "score_tags", "train",
]  # fmt: skip
