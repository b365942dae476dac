"""The settings of a collection, in a small TOML file that people can read and edit."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from lass.collection.database import migrations
from lass.collection.records import command_line, did_you_mean
from lass.model.atomic import atomic_path

FORMAT = 1
#: what facets may be
FACETS = ("auto", "on", "off")

Plain = str | bool | int | float | list[str]

#: format -> what turns the tables of a settings file of that format into those of the next
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


@dataclass(frozen=True)
class Settings:
    """How the items of a collection are compared, and how its tags are completed.

    Attributes
    ----------
    name : str
    created : str
        When, in UTC; filled in by :meth:`Collection.create`.
    features : dict
        The kind of features and their settings: text, numbers, truth values or lists of text.
    n_neighbors : int
    metric : str
        As in :func:`lass.knn_graph`; with "precomputed" the graph is given and needs no features.
    lam : float or "auto"
        As in :class:`lass.LASS`.
    smoothing : float
        Weight of the edges between tags under the same parent (``facet::tag``, ``a/b/c``); 0 for none.
    facets : {"auto", "on", "off"}
        Whether assignments are distributions within each facet of the tags, as their names give them
        (``facet::tag``, ``a/b/c``); with "auto" only where hidden tags say that it helps.
    facet_tags : dict
        Facets of tags whose names give none, or others: lists of tags by the name of the facet.
    table : dict
        The columns of the table that the items came from, in their order, and those of the id, the title, the
        texts and the tags.

    Examples
    --------
    >>> print(Settings(name="songs", features={"kind": "text"}).to_toml())
    format = 1
    name = "songs"
    created = ""
    <BLANKLINE>
    [features]
    kind = "text"
    <BLANKLINE>
    [graph]
    n_neighbors = 30
    metric = "cosine"
    <BLANKLINE>
    [model]
    lam = "auto"
    smoothing = 0.0
    facets = "auto"
    <BLANKLINE>
    """

    name: str = ""
    created: str = ""
    features: Mapping[str, Plain] = field(default_factory=dict)
    n_neighbors: int = 30
    metric: str = "cosine"
    lam: float | str = "auto"
    smoothing: float = 0.0
    facets: str = "auto"
    facet_tags: Mapping[str, list[str]] = field(default_factory=dict)
    table: Mapping[str, Plain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (
            not isinstance(self.n_neighbors, int)
            or isinstance(self.n_neighbors, bool)
            or self.n_neighbors < 1
        ):
            raise ValueError(f"n_neighbors must be a whole number >= 1; found {self.n_neighbors!r}")
        if self.lam != "auto" and (not _is_number(self.lam) or not self.lam >= 0):  # type: ignore[operator]
            raise ValueError(f"lam must be 'auto' or a number >= 0; found {self.lam!r}")
        if not _is_number(self.smoothing) or not 0 <= self.smoothing < math.inf:
            raise ValueError(f"smoothing must be a finite number >= 0; found {self.smoothing!r}")
        if self.facets not in FACETS:
            raise ValueError(
                f"facets must be one of {', '.join(FACETS)}; found {self.facets!r}"
                f"{did_you_mean(str(self.facets), FACETS)}"
            )
        _check_facet_tags(self.facet_tags)
        for name in ("name", "created", "metric"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be text; found {getattr(self, name)!r}")
        for name in ("features", "table"):
            table = getattr(self, name)
            if not isinstance(table, Mapping):
                raise ValueError(f"{name} must be a table of settings; found {table!r}")
            for key, value in table.items():
                if not isinstance(key, str) or not _is_plain(value):
                    raise ValueError(
                        f"{name} must be text, finite numbers, truth values or lists of text; "
                        f"found {value!r} for {key!r}"
                    )

    def to_toml(self) -> str:
        """The text of the settings file."""
        tables = {title: {key: getattr(self, key) for key in keys} for title, keys in _TABLES.items()}
        plain = {"name": self.name, "created": self.created, "features": self.features}
        plain |= {"table": self.table} if self.table else {}
        plain |= {"facet_tags": self.facet_tags} if self.facet_tags else {}
        return tomli_w.dumps({"format": FORMAT, **plain, **tables})

    def write(self, path: Path) -> None:
        """Put the settings into a file, whole or not at all."""
        with atomic_path(path) as draft:
            draft.write_bytes(self.to_toml().encode())

    @staticmethod
    def read(path: Path) -> Settings:
        """Settings from a file; whatever is wrong with it is a ``ValueError`` that names it."""
        try:
            tables = tomllib.loads(path.read_bytes().decode())
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{path} cannot be read as TOML ({error}); mend it, or run: "
                f"{command_line('repair', path.parent)}"
            ) from None
        for migrate in migrations(tables.pop("format", None), path, FORMAT, MIGRATIONS):
            tables = migrate(tables)
        try:
            return Settings(**_flat(tables))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None


def rescued(text: str, stamps: Mapping[str, Mapping[str, Any]]) -> Settings:
    r"""What can be read of a damaged settings file; for the rest, settings that arrays were made with.

    ``stamps`` holds the latter by the name of the array.

    Examples
    --------
    >>> from lass.collection.settings import rescued
    >>> found = rescued('name = "songs"\n[features]\nkind = "te', {"features": {"kind": "text"}})
    >>> found.name, found.features
    ('songs', {'kind': 'text'})
    """
    known: dict[str, Any] = {"features": dict(stamps.get("features", {}))}
    known |= {**stamps.get("graph", {}), **stamps.get("assignments", {})}
    settings = Settings()
    for key, value in known.items():
        settings = _with(settings, key, value)
    entries = list(_legible(text))
    if any(section == "facet_tags" for section, _, _ in entries):
        settings = replace(settings, facet_tags={})  # those of arrays may have been moved since
    for section, key, value in entries:
        if section in _TABLES and key in _TABLES[section]:
            settings = _with(settings, key, value)
        elif section in ("features", "table", "facet_tags"):
            former = getattr(settings, section)
            if section == "facet_tags" and isinstance(value, list):
                taken = {tag for tags in former.values() for tag in tags}
                texts = dict.fromkeys(tag for tag in value if isinstance(tag, str))
                value = [tag for tag in texts if tag not in taken]
            settings = _with(settings, section, {**former, key: value})
        elif not section and key in ("name", "created"):
            settings = _with(settings, key, value)
    return settings


def _legible(text: str) -> Iterator[tuple[str, str, Any]]:
    """Table, key and value of each setting that can be read; by parts where not all of the text can."""
    if (whole := _parsed(text)) is not None:
        for title, table in whole.items():
            if isinstance(table, dict):
                yield from ((title, key, value) for key, value in table.items())
            else:
                yield "", title, table
        return
    section = ""
    for block in re.split(r"\n(?=\[|[\w\"'-]+ *=)", text.replace("\r\n", "\n")):
        if block.lstrip().startswith("["):
            header, _, block = block.lstrip().partition("\n")
            named = re.fullmatch(r"\[ *(\w+) *\] *(#.*)?", header)
            section = named[1] if named else "unreadable"
        yield from ((section, key, value) for key, value in (_parsed(block) or {}).items())


def _parsed(text: str) -> dict[str, Any] | None:
    """A text as TOML; None where it is none, or where bytes of it were no text."""
    try:
        return None if "\ufffd" in text else tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _with(settings: Settings, key: str, value: Any) -> Settings:
    """The settings with another value, unless that is none."""
    try:
        return replace(settings, **{key: value})
    except (TypeError, ValueError):
        return settings


_TABLES = {"graph": ("n_neighbors", "metric"), "model": ("lam", "smoothing", "facets")}


def _flat(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables of a file as arguments of Settings; what is not known is most likely misspelt."""
    known = {"name", "created", "features", "table", "facet_tags", *_TABLES}
    result: dict[str, Any] = {}
    for title, table in tables.items():
        if title not in known:
            raise ValueError(f"there is no setting {title!r}{did_you_mean(title, known)}")
        if title not in _TABLES:
            result[title] = table
            continue
        if not isinstance(table, dict):
            raise ValueError(f"{title} must be a table; found {table!r}")
        for key, value in table.items():
            if key not in _TABLES[title]:
                raise ValueError(
                    f"there is no setting {key!r} in [{title}]{did_you_mean(key, _TABLES[title])}"
                )
            result[key] = value
    return result


def _check_facet_tags(given: Any) -> None:
    """Raise an error where facets are not lists of tags, each in one of them."""
    if not isinstance(given, Mapping):
        raise ValueError(f"facet_tags must be a table with a list of tags for each facet; found {given!r}")
    facet_of: dict[str, str] = {}
    for facet, tags in given.items():
        if not isinstance(facet, str) or not facet:
            raise ValueError(f"facet_tags must have texts for names of facets; found {facet!r}")
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise ValueError(f"facet_tags must have a list of tags for {facet!r}; found {tags!r}")
        for tag in tags:
            if tag in facet_of:
                where = f"{facet_of[tag]!r} and {facet!r}" if facet_of[tag] != facet else f"{facet!r} twice"
                raise ValueError(f"facet_tags must have each tag once; found {tag!r} in {where}")
            facet_of[tag] = facet


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(part, str) for part in value)
    return isinstance(value, str | bool) or (_is_number(value) and math.isfinite(value))
