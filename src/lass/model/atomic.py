"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: errors of a disk or a quota that is full, or of a file that may not become so large
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def draft_of(path: Path) -> Path:
    """A path beside ``path`` for what is not finished; its name says which process of which machine made it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from lass.model.atomic import draft_of
    >>> draft_of(Path("folder") / "graph.npz").name.startswith(".graph.npz.")
    True
    """
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{os.urandom(8).hex()}")


def _machine() -> str:
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


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
    draft = draft_of(path)
    try:
        with named_errors(path):
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            join_group(draft)
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def join_group(path: Path) -> None:
    """Give a new file or folder to the group of its folder, as far as the system allows.

    A new folder lets its group write where the folder around it does: colleagues then replace what is in it.
    """
    if os.name == "nt":
        return
    with suppress(OSError):
        around, own = path.parent.stat(), path.stat()
        if own.st_gid != around.st_gid:
            os.chown(path, -1, around.st_gid)
        if path.is_dir() and around.st_mode & stat.S_IWGRP:
            path.chmod(stat.S_IMODE(own.st_mode) | around.st_mode & (stat.S_IRWXG | stat.S_ISGID))


def make_folder(path: Path) -> None:
    """A folder that the group of the folder around it shares; nothing where it is there already."""
    try:
        path.mkdir()
    except FileExistsError:
        return
    join_group(path)


@contextmanager
def restored_on_error(*paths: Path) -> Iterator[None]:
    """Put files back as they were when an error ends the work, so that they still belong together.

    They are kept as second links, which take no space on a disk that may be full. Where a file system has no
    links, what was replaced stays replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     _ = path.write_text("one line")
    ...     try:
    ...         with restored_on_error(path):
    ...             with atomic_path(path) as draft:
    ...                 _ = draft.write_text("another")
    ...             raise OSError("the disk is full")
    ...     except OSError:
    ...         path.read_text()
    'one line'
    """
    kept: dict[Path, Path] = {}
    try:
        with suppress(OSError):
            for path in paths:
                if path.exists():
                    link = draft_of(path)
                    os.link(path, link)
                    kept[path] = link
        try:
            yield
        except BaseException:
            for path, link in kept.items():
                link.replace(path)
            raise
    finally:
        for link in kept.values():
            link.unlink(missing_ok=True)


def remove_leftovers(folder: Path, of: str = "") -> None:
    """Delete drafts, files or folders, of processes of this machine that were killed; only where /proc is.

    With ``of``, only those of a file or folder of that name.
    """
    ours = re.compile(
        rf"\.{re.escape(of) if of else '.+'}\.{_machine()}-(\d+)-[0-9a-f]{{16}}(-wal|-shm|-journal)?"
    )
    for old in folder.iterdir() if Path("/proc/self").exists() else ():
        found = ours.fullmatch(old.name)
        if found is None or Path(f"/proc/{found[1]}").exists():
            continue
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)
