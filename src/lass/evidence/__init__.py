"""Who speaks for a tag of an item, and how much each is to be believed."""

from lass.evidence.hearing import hear
from lass.evidence.learning import learn
from lass.evidence.linear import Linear
from lass.evidence.weighing import Scores, Weights, score
from lass.evidence.witnesses import COLUMNS, WITNESSES, Witnesses

__all__ = ["COLUMNS", "WITNESSES", "Linear", "Scores", "Weights", "Witnesses", "hear", "learn", "score"]
