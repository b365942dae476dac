"""Weights of the predictor features, and their form in files."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lass.learning.predictors.features import COLUMNS

#: meaning of the numbers in a file; to be changed with it
VERSION = 3
#: version 2, of lass 0.1.0, had lists in this order instead of names
VERSION_2 = (
    "log_crowd", "crowd", "log_harmonic", "harmonic", "log_neighbours", "neighbours",
    "log_own_features_1", "own_features_1", "ridge", "lift", "log_frequency", "log_walk", "walk",
    "log_harmonic_mean", "log_own_features_10", "own_features_10", "log_near_features_1", "near_features_1",
    "log_near_features_10", "near_features_10", "frequency",
)  # fmt: skip
CONSTANT = "constant"


@dataclass(frozen=True)
class Weights:
    """Evidence for a tag is a weighted sum over the columns of the features, and a constant.

    Attributes
    ----------
    tagged, untagged : list of float
        One weight for each of ``COLUMNS``, then the constant; for items with tags and without.
    mean : list of float
        The mean features: contributions of predictors are counted from there.
    completeness : float
        Share of the tags of a tagged item that seem to be stated, one where none are missing.
    """

    tagged: list[float]
    untagged: list[float]
    mean: list[float]
    completeness: float

    def to_json(self) -> str:
        """As text, for files; weights are by the names of their columns."""
        names = [*COLUMNS, CONSTANT]
        vectors = {"tagged": self.tagged, "untagged": self.untagged, "mean": self.mean}
        named = {name: dict(zip(names, values, strict=False)) for name, values in vectors.items()}
        return json.dumps({"version": VERSION, **named, "completeness": self.completeness})

    @staticmethod
    def from_json(text: str) -> Weights:
        """Read what :meth:`to_json` of this version or of 0.1.0 wrote; anything else is a ``ValueError``.

        A column that the file does not name has no weight.
        """
        try:
            saved = json.loads(text)
            version = saved.get("version", 1)
            if version == 2:
                vectors = [_named(saved[key], key != "usual") for key in ("tagged", "untagged", "usual")]
                completeness = saved["complete"]
            elif version == VERSION:
                vectors = [saved[key] for key in ("tagged", "untagged", "mean")]
                completeness = saved["completeness"]
            else:
                raise ValueError(
                    f"the weights of the predictors are of another version of lass (number {version}, "
                    f"{VERSION} expected); run lass fit again"
                )
            tagged, untagged, mean = vectors
            constant = [CONSTANT]
            return Weights(
                _in_order(tagged, constant),
                _in_order(untagged, constant),
                _in_order(mean, []),
                float(completeness),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"these are not weights ({error!r})") from None


def _named(values: list[float], constant: bool) -> dict[str, float]:
    """A list of version 2 by the names of its columns."""
    names = [*VERSION_2, CONSTANT] if constant else VERSION_2
    if len(values) != len(names):
        raise ValueError(f"these are not weights ({len(VERSION_2)} columns expected)")
    return dict(zip(names, values, strict=True))


def _in_order(weights: dict[str, float], constant: list[str]) -> list[float]:
    names = [*COLUMNS, *constant]
    if not set(constant) <= weights.keys() <= set(names):
        raise ValueError(f"these are not weights (columns {', '.join(weights)})")
    return [float(weights.get(name, 0.0)) for name in names]
