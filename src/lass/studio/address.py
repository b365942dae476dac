"""Where the Studio of a collection listens, and the tokens that let people in: kept for the next start.

They are in a file of the user alone (mode 0600), beside the user's other states and not in the folder of the
collection, which others may read, copy or pack.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from lass.model.atomic import draft_of

#: the first port to be tried, and how many
FIRST_PORT, PORTS = 8765, 50


@dataclass(frozen=True)
class Address:
    """Port and tokens of one collection.

    Attributes
    ----------
    token : str
        Of the user who starts it; its holder works under any name.
    people : dict
        Token of each person with a link of their own, by name.
    """

    folder: str
    port: int = 0
    token: str = ""
    people: dict[str, str] = field(default_factory=dict)

    def with_tokens(self, people: Iterable[str], *, new: bool = False) -> Address:
        """With a token for the user and each of some people; all of them new where asked for."""
        known = {} if new else self.people
        tokens = {name: known.get(name) or secrets.token_hex(16) for name in people}
        own = "" if new else self.token
        return replace(self, token=own or secrets.token_hex(16), people={**known, **tokens})


def read(folder: Path) -> Address:
    """What was kept for a collection; empty where nothing was, or it cannot be read."""
    place = str(folder.resolve())
    return _read(_file(place), place) or Address(place)


def keep(address: Address) -> bool:
    """Keep an address for the next start; whether that was possible."""
    path = _file(address.folder)
    draft = draft_of(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(address), file)
        draft.replace(path)
        return True
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        return False


def free_ports(folder: Path) -> list[int]:
    """Ports to try for a collection that has none: those that other collections had come last."""
    place, taken = str(folder.resolve()), set()
    with suppress(OSError):
        for path in _states().glob("*.json"):
            known = _read(path)
            if known and known.folder != place and Path(known.folder).is_dir():
                taken.add(known.port)
    ports = range(FIRST_PORT, FIRST_PORT + PORTS)
    return sorted(ports, key=lambda port: port in taken)


def _states() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "lass" / "studio"


def _file(folder: str) -> Path:
    return _states() / f"{hashlib.sha256(folder.encode()).hexdigest()[:32]}.json"


def _read(path: Path, folder: str | None = None) -> Address | None:
    """The address in a file of ours that nobody else may read; None for any other."""
    try:
        if os.name != "nt" and (path.stat().st_mode & 0o077 or path.stat().st_uid != os.getuid()):
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        known = Address(str(found["folder"]), int(found["port"]), str(found["token"]), dict(found["people"]))
        tokens = [known.token, *known.people.values()]
        sound = all(len(token) == 32 and not set(token) - set("0123456789abcdef") for token in tokens)
        sound &= 0 <= known.port < 65536 and all(isinstance(name, str) for name in known.people)
        return known if sound and folder in (None, known.folder) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
