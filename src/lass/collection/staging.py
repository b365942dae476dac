"""Arrays computed from one state of settings and arrays, and saved only if that state still holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lass.collection.arrays import MADE_FROM, SavedArray, Stamp, relevant
from lass.collection.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: arrays that others are computed from
SOURCES = tuple(dict.fromkeys(source for source in (*MADE_FROM.values(), "edges") if source))


class Superseded(ValueError):  # noqa: N818
    """Settings or arrays were changed by another program while something was computed from them."""


class Basis(NamedTuple):
    """What arrays are computed from: the settings that matter, and the tokens of the arrays on the disk."""

    settings: Mapping[str, Mapping[str, Any]]
    tokens: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings, stamps: Mapping[str, Stamp | None]) -> Basis:
        """The basis of these settings and saved arrays."""
        tokens = {name: stamp.token if (stamp := stamps[name]) else "" for name in SOURCES}
        return cls({name: relevant(name, settings) for name in MADE_FROM}, tokens)


class Staged(NamedTuple):
    """An array that is not on the disk yet, as it is and as it will be written."""

    array: SavedArray
    packed: Mapping[str, NDArray[Any]]
    #: whether it must not take the place of what is on the disk by then
    yields_to: Callable[[SavedArray], bool] | None = None


@dataclass
class Stage:
    """The basis of a computation, and what it saved so far (None: what is to be deleted)."""

    basis: Basis
    #: settings to be written with the arrays
    changes: Mapping[str, Any]
    saved: dict[str, Staged | None] = field(default_factory=dict)
