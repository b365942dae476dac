"""Who speaks for a tag of an item, and how much each is to be believed."""

from lass.learning.predictors.features import COLUMNS, WITNESSES, Witnesses
from lass.learning.predictors.linear import Linear
from lass.learning.predictors.scoring import hear
from lass.learning.predictors.training import learn
from lass.learning.predictors.weights import Scores, Weights, score

__all__ = ["COLUMNS", "WITNESSES", "Linear", "Scores", "Weights", "Witnesses", "hear", "learn", "score"]
