"""Result files: JSON that is replaced in one move, so that a run that is stopped leaves a whole one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.stamp import ROOT, stamp
from lass.model.atomic import atomic_path

RESULTS = ROOT / "benchmarks" / "results"
#: of each file, keys that version 0.1.0 wrote -> what they are called now
OLD_KEYS = {
    "solvers": {"ties": "edges", "informed": "labelled"},
    **{name: {"ties": "edges"} for name in ("growth", "gpu", "distributed")},
    "update": {"words": "annotations"},
    "studio": {"words": "annotations", "word": "annotate", "learnt": "trained", "crowd": "clients_at_once"},
    "estimator": {"parted": "differing"},
}


def plain(value: Any) -> Any:
    """The same value in the types of JSON; a number that is not finite becomes None.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.common.results import plain
    >>> plain({"x": np.arange(3), 2: float("nan"), "y": np.float64(0.5)})
    {'x': [0, 1, 2], '2': None, 'y': 0.5}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inside) for key, inside in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(path: Path, value: Any, depth: int = 3) -> None:
    """Put JSON into a file, whole or not at all.

    Values that lie deeper than ``depth`` share a line, so that files stay short and a change shows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft:
        draft.write_text(_text(plain(value), depth) + "\n", encoding="utf-8")


def _text(value: Any, depth: int, indent: str = "") -> str:
    rows = isinstance(value, list) and value and isinstance(value[0], dict)
    if not depth or not value or not (isinstance(value, dict) or rows):
        return json.dumps(value, allow_nan=False)
    inner = indent + " "
    if rows:
        lines = [_text(inside, depth - 1, inner) for inside in value]
    else:
        lines = [f"{json.dumps(key)}: {_text(inside, depth - 1, inner)}" for key, inside in value.items()]
    opening, closing = "[]" if rows else "{}"
    return f"{opening}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{closing}"


def read(path: Path) -> Any:
    """The content of a result file, its keys as they are called now; empty if there is no file."""
    names = OLD_KEYS.get(path.stem, {})
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return json.loads(text, object_hook=lambda found: {names.get(key, key): v for key, v in found.items()})


def measured(path: Path) -> Any:
    """What :func:`read` gives, or a clear end of the program where nothing was measured yet."""
    found = read(path)
    if not found:
        raise SystemExit(f"error: {path} not found; nothing was measured yet")
    return found


def add(path: Path, new: Mapping[str, Any], levels: int = 1, depth: int = 3, packages: Any = ()) -> Any:
    """Put new values beside the old ones of a result file, with the stamp of now; return everything.

    Dictionaries are merged down to ``levels``; what lies deeper replaces what was there.
    """
    everything = merged(read(path), plain(new), levels) | {"machine": stamp(*packages)}
    write(path, everything, depth)
    return everything


def merged(old: Mapping[str, Any], new: Mapping[str, Any], levels: int = 1) -> dict[str, Any]:
    """Two dictionaries of dictionaries as one.

    Examples
    --------
    >>> from benchmarks.common.results import merged
    >>> merged({"a": {"x": {"p": 1}}}, {"a": {"x": {"q": 2}, "y": 3}}, levels=2)
    {'a': {'x': {'q': 2}, 'y': 3}}
    """
    below = {
        key: merged(old[key], value, levels - 1)
        for key, value in new.items()
        if levels > 1 and isinstance(value, Mapping) and isinstance(old.get(key), Mapping)
    }
    return {**old, **new, **below}


def flat(tree: Mapping[str, Any], levels: int) -> dict[Any, Any]:
    """A tree of dictionaries as one, with tuples of keys.

    Examples
    --------
    >>> from benchmarks.common.results import flat
    >>> flat({"a": {"x": 1, "y": 2}}, 2)
    {('a', 'x'): 1, ('a', 'y'): 2}
    """
    if levels == 1:
        return {(key,): value for key, value in tree.items()}
    return {(key, *more): v for key, inside in tree.items() for more, v in flat(inside, levels - 1).items()}
