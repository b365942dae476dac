"""Figures of many runs: means with standard errors, and the best value of a parameter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def error_rate(found: NDArray[Any], y: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Per cent of the items without a label (-1 in ``y``) that are not given their class.

    ``found`` holds classes, or one row of scores an item.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.common.statistics import error_rate
    >>> error_rate(np.array([0, 1, 1]), np.array([0, -1, -1]), np.array([0, 1, 0]))
    50.0
    """
    classes = found if found.ndim == 1 else found.argmax(axis=1)
    return 100.0 * float(np.mean(classes[y < 0] != truth[y < 0]))


def standard_error(values: Sequence[float] | NDArray[Any], single: float = 0.0) -> float:
    """Standard error of a mean; ``single`` for one value.

    Examples
    --------
    >>> from benchmarks.common.statistics import standard_error
    >>> standard_error([1.0, 3.0])
    1.0
    """
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else single


def with_error(values: Sequence[float], digits: int = 1, scale: float = 1.0, sign: str = "") -> str:
    """Mean and, of several values, standard error, as people read it.

    Examples
    --------
    >>> from benchmarks.common.statistics import with_error
    >>> with_error([12.0, 13.0]), with_error([0.12], scale=100, sign="+")
    ('12.5 ± 0.5', '+12.0')
    """
    error = f" ± {scale * standard_error(values):.{digits}f}" if len(values) > 1 else ""
    return f"{scale * float(np.mean(values)):{sign}.{digits}f}{error}"


class Sheet:
    """What one run came to: a figure for each method and value of its parameter, and seconds.

    Parameters
    ----------
    figure : callable
        The figure of scores.

    Examples
    --------
    >>> from benchmarks.common.statistics import Sheet
    >>> sheet = Sheet(max)
    >>> sheet.add("SVM", "10", [0.25, 0.5])
    >>> sheet.figures
    {'SVM': {'10': 0.5}}
    """

    def __init__(self, figure: Callable[[Any], Any]) -> None:
        self.figure = figure
        self.figures: dict[str, dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def add(self, method: str, parameter: str, scores: Any) -> None:
        """Write down a figure; the time since the last one is the method's. Without a parameter it is ""."""
        spent = time.perf_counter() - self._began
        self.seconds[method] = self.seconds.get(method, 0.0) + spent
        self.figures.setdefault(method, {})[parameter] = self.figure(scores)
        self._began = time.perf_counter()

    def plain(self) -> dict[str, Any]:
        """Figures, and seconds for one value of the parameter (up to a space in its text)."""
        values = {name: len({key.split(" ")[0] for key in found}) for name, found in self.figures.items()}
        seconds = {name: self.seconds[name] / values[name] for name in values}
        return {"figures": self.figures, "seconds": seconds}


@dataclass(frozen=True)
class Best:
    """The value of a parameter that is best in the mean over all runs, and its figure in each run."""

    parameter: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the mean; zero for a single run."""
        return standard_error(self.values)

    def __str__(self) -> str:
        """Mean and standard error without spaces, so that no cell of a table breaks."""
        return with_error(self.values).replace(" ", "")


def best(figures: Sequence[Mapping[str, float]], largest: bool = False) -> Best:
    """Of figures a run by the value of a parameter: the value with the least (or largest) mean.

    Examples
    --------
    >>> from benchmarks.common.statistics import best
    >>> best([{"1": 0.5, "10": 0.25}, {"1": 0.25, "10": 0.0}])
    Best(parameter='10', values=(0.25, 0.0))
    """
    means = {parameter: np.mean([run[parameter] for run in figures]) for parameter in figures[0]}
    chosen = (max if largest else min)(means, key=lambda parameter: means[parameter])
    return Best(chosen, tuple(float(run[chosen]) for run in figures))


def difference(ours: Best, theirs: Best) -> tuple[float, float]:
    """Mean difference, ours less theirs, and its standard error over the same runs."""
    gaps = np.subtract(ours.values, theirs.values)
    return float(np.mean(gaps)), standard_error(gaps)
