"""The last state that all workers have written, so that a run can go on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from lass.model.atomic import atomic_path

FORMAT = 1


class DriverState(NamedTuple):
    """What the driver itself must remember: the rows are in the files of the workers."""

    iteration: int
    momentum: float


class Checkpoint:
    """A folder that every worker and the driver can reach.

    Workers write their files first; the driver then names their iteration in
    ``checkpoint.json``. Whatever dies in between, the state named there is whole.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"checkpoint must be a folder; found the file {str(folder)!r}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "checkpoint.json"

    def read(self, problem: dict[str, Any]) -> DriverState | None:
        """The state to go on from, if there is one; it must be one of the same problem."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            same = found["format"] == FORMAT and found["problem"] == problem
            state = DriverState(int(found["iteration"]), float(found["momentum"]))
        except FileNotFoundError:
            return None
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(f"{self.path} is not a checkpoint ({error}); delete it") from None
        if not same:
            raise ValueError(
                f"checkpoint must be empty or from the same problem and partitions; {str(self.folder)!r} "
                "holds those of another. Use another folder, or delete it to start anew"
            )
        return state

    def write(self, problem: dict[str, Any], state: DriverState) -> None:
        """Name a state that all workers have written."""
        content = json.dumps({"format": FORMAT, "problem": problem, **state._asdict()})
        with atomic_path(self.path) as draft:
            draft.write_text(content, encoding="utf-8")

    def clear(self) -> None:
        """Forget the state: the run is over."""
        self.path.unlink(missing_ok=True)
