"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: errors of a disk or a quota that is full, or of a file that may not become so large
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with named_errors(path):
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
