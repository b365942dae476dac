"""Numbers about items, brought to one scale that a few wild values do not set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class NumericFeatures:
    """``(x - median) / spread`` for each column, the spread that of the middle half of its values.

    The spread is the interquartile range over 1.349, which is the standard
    deviation of a normal column; where the middle half is constant, the standard
    deviation; where all is constant, one. Unknown values (NaN) get the median, and
    ``filled`` counts them.

    Examples
    --------
    >>> from lass.collection.features import NumericFeatures
    >>> features = NumericFeatures().fit({"size": [1.0, 2.0, 3.0, float("nan")]})
    >>> features.filled
    {'size': 1}
    >>> features.transform({"size": [2.0, float("nan")]}).tolist()
    [[0.0], [0.0]]
    """

    names: list[str]
    centre: Array
    scale: Array

    def __init__(self) -> None:
        self.filled: dict[str, int] = {}

    def fit(self, columns: Mapping[str, Sequence[float]]) -> NumericFeatures:
        """Take centre and spread from these columns."""
        X = _matrix(columns, list(columns))
        self.names = list(columns)
        known = [column[~np.isnan(column)] for column in X.T]
        self.centre = np.array([np.median(values) if len(values) else 0.0 for values in known])
        self.scale = np.array([_spread(values) for values in known])
        return self._note(X)

    def _note(self, X: Array) -> NumericFeatures:
        counts = np.isnan(X).sum(axis=0).tolist()
        self.filled = {name: count for name, count in zip(self.names, counts, strict=True) if count}
        return self

    def transform(self, columns: Mapping[str, Sequence[float]]) -> Array:
        """Rows of items in the fitted columns; ``filled`` is what was unknown among these."""
        X = _matrix(columns, self.names)
        self._note(X)
        X = np.where(np.isnan(X), self.centre, X)
        with np.errstate(over="ignore", invalid="ignore"):
            X = (X - self.centre) / self.scale
        if not np.isfinite(X).all():
            name = self.names[int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])]
            raise ValueError(f"column {name!r} holds numbers too far apart to compare; take logarithms of it")
        return X

    def state(self) -> dict[str, Any]:
        """All of it as plain arrays."""
        names = np.frombuffer(json.dumps(self.names).encode(), np.uint8)
        return {"names": names, "centre": self.centre, "scale": self.scale}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> NumericFeatures:
        """The same features again; ``ValueError`` where the arrays cannot be that."""
        self = cls()
        try:
            names = json.loads(bytes(state["names"]))
            centre, scale = (np.asarray(state[name], np.float64) for name in ("centre", "scale"))
            fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
            fits = fits and centre.shape == scale.shape == (len(names),)
            fits = fits and bool(np.isfinite(centre).all() and np.isfinite(scale).all() and (scale > 0).all())
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"state is not one of numeric features ({error})") from None
        if not fits:
            raise ValueError("state is not one of numeric features: names, centre and scale do not fit")
        self.names, self.centre, self.scale = names, centre, scale
        return self


def _spread(values: Array) -> float:
    if not len(values):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.percentile(values, [25, 75])
        for spread in ((high - low) / 1.349, values.std()):
            if 0 < spread < np.inf:
                return float(spread)
    return 1.0


def _matrix(columns: Mapping[str, Sequence[float]], names: list[str]) -> Array:
    if not names:
        raise ValueError("columns must hold at least one column of numbers; found none")
    arrays = []
    for name in names:
        if name not in columns:
            raise ValueError(f"columns must hold {name!r}; found {', '.join(map(repr, columns)) or 'none'}")
        try:
            values = np.asarray(columns[name], np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r} must hold numbers ({error})") from None
        if values.ndim != 1 or np.isinf(values).any():
            raise ValueError(f"column {name!r} must be a list of finite numbers, NaN where unknown")
        arrays.append(values)
    if len({len(values) for values in arrays}) > 1:
        raise ValueError(f"columns must be of one length; found {sorted({len(values) for values in arrays})}")
    return np.stack(arrays, axis=1)
