"""Which arrays of a collection are out of date, and why."""

from __future__ import annotations

from typing import Any

from lass.collection.arrays import Stamp
from lass.collection.settings import Settings

#: array -> the array it is made from, in the order of making
MADE_FROM = {"features": "", "graph": "features", "assignments": "graph", "map": "graph"}


def relevant(name: str, settings: Settings) -> dict[str, Any]:
    """The settings that matter for one array beyond those of the array it is made from."""
    if name == "features":
        return dict(settings.features)
    if name == "graph":
        return {"n_neighbors": settings.n_neighbors, "metric": settings.metric}
    if name == "assignments":
        return {"lam": settings.lam, "smoothing": settings.smoothing}
    return {}


def reasons(
    stamps: dict[str, Stamp | None], settings: Settings, items: int, tags: int, needed: int, last: int
) -> dict[str, str]:
    """The arrays that must be made anew, each with all its reasons; empty when everything is fresh.

    Assignments must be made after change ``needed``, and not after one beyond the ``last``.
    """
    result: dict[str, str] = {}
    for name, source in MADE_FROM.items():
        given = settings.metric == "precomputed"
        if name == "features" and given:
            continue
        stamp = stamps[name]
        if stamp is None:
            result[name] = f"no {name} yet"
            continue
        why = []
        if stamp.items != items:
            why.append(f"made for {stamp.items} items, now {items}")
        if name == "assignments":
            if stamp.categories != tags:
                why.append(f"made for {stamp.categories} tags, now {tags}")
            if not needed <= stamp.changes <= last:
                why.append(f"made after change {stamp.changes}, now {needed}")
        why += _differences(stamp.settings, relevant(name, settings))
        if source and not (source == "features" and given):
            before = stamps[source]
            if source in result:
                why.append(f"the {source} must be made anew")
            elif before is not None and stamp.source != before.token:
                why.append(
                    f"the {source} have been made anew"
                    if source == "features"
                    else f"the {source} has been made anew"
                )
        if why:
            result[name] = "; ".join(why)
    return result


def _differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    missing = "nothing"
    return [
        f"{key} was {then.get(key, missing)!r}, now {now.get(key, missing)!r}"
        for key in sorted(then.keys() | now.keys())
        if then.get(key, missing) != now.get(key, missing)
    ]
