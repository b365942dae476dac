"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: errors of a disk or a quota that is full, or of a file that may not become so large
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: names of drafts, and of working folders, with the process that made them
DRAFT, WORKING = re.compile(r"\..+\.(\d+)-[0-9a-f]{16}"), re.compile(r"\.fit-(\d+)-.+")


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file in errors of a full disk: NumPy and zipfile do not."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            why = f"could not be written ({error.strerror}); what was there before is unchanged"
            raise OSError(error.errno, why, str(path)) from error
        raise


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A new path next to ``path`` to write to; it takes the place of ``path`` unless there was an error.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     with atomic_path(path) as draft:
    ...         _ = draft.write_text("one line")
    ...     path.read_text()
    'one line'
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(8).hex()}")
    try:
        with named_errors(path):
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete drafts and working folders that processes of this machine left when they were killed."""
    for pattern in (DRAFT, WORKING):
        for old in folder.iterdir():
            found = pattern.fullmatch(old.name)
            if found and Path("/proc/self").exists() and not Path(f"/proc/{found[1]}").exists():
                if old.is_dir():
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    old.unlink(missing_ok=True)
