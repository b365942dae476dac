"""Embeddings of texts by language models and of pictures by networks, each item computed once."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.collection.array_files import read_arrays, write_arrays
from lass.collection.reading.errors import reason_of
from lass.model.atomic import make_folder
from lass.model.checks import install_hint

Vectors = NDArray[np.float32]

LIBRARY = "sentence_transformers"
#: the sentence-embedding model that is taken where none is named and its files are on this machine
TEXT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
#: in place of a model: none, even where there is one
NO_MODEL = "none"


def embed_texts(texts: Sequence[str], model: str = TEXT_MODEL) -> Vectors:
    """Sentence embeddings of length one, by a model's name or folder; an empty text is all zero.

    Needs the package sentence-transformers and the model's files: those in a folder or in the package's
    cache are used as they are, others are downloaded. The name of the model is all that new texts
    need to get the same columns.
    """
    try:
        library = import_module(LIBRARY)
    except ImportError:
        raise ValueError(
            f"embeddings of texts need the package sentence-transformers: {install_hint('embed')}"
        ) from None
    try:
        with quiet_loading():
            encoder = _encoder(library, model)
    except Exception as error:  # a folder, a cache and a download can fail in many ways
        raise ValueError(
            f"the model {model!r} cannot be loaded ({reason_of(error)}); name another one, or the folder of "
            f"one, with --embed, or use --embed {NO_MODEL}"
        ) from None
    found = np.asarray(encoder.encode(list(texts), show_progress_bar=False), np.float32)
    return checked_embedding(found, [bool(text.strip()) for text in texts], model)


def _encoder(library: Any, model: str) -> Any:
    """The model from this machine; only where it is not here, from elsewhere."""
    if model.startswith((".", "/", "~")) and not Path(model).is_dir():
        raise ValueError("there is no such folder")
    try:
        return library.SentenceTransformer(model, local_files_only=True)
    except Exception:  # how a model that is not here fails differs by version
        if Path(model).is_dir():
            raise
        return library.SentenceTransformer(model)


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Keep bars and notes of the packages that load a model from the terminal; errors still come."""
    loggers = [logging.getLogger(name) for name in ("huggingface_hub", "transformers", "timm", LIBRARY)]
    levels = [logger.level for logger in loggers]
    bars: Any = sys.modules.get("transformers.utils.logging")
    shown = bars is not None and bars.is_progress_bar_enabled()
    if bars is not None:
        bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars is not None and shown:
            bars.enable_progress_bar()


def checked_embedding(found: Vectors, known: Sequence[bool], model: str) -> Vectors:
    """Rows of length one, zero where nothing is ``known`` of an item; a ``ValueError`` if not finite."""
    if found.ndim != 2 or len(found) != len(known) or not np.isfinite(found).all():
        raise ValueError(f"the model {model!r} gives no row of finite numbers for each item; name another")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    keep = (lengths > 0) & np.asarray(known, bool)[:, None]
    return np.divide(found, lengths, out=np.zeros_like(found), where=keep)


def default_text_model() -> str | None:
    """The name of :data:`TEXT_MODEL` where package and files are on this machine; nothing is downloaded."""
    if find_spec(LIBRARY) is None:
        return None
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    snapshots = cache / f"models--{TEXT_MODEL.replace('/', '--')}" / "snapshots"
    return TEXT_MODEL if any(snapshots.glob("*/modules.json")) else None


def model_name(model: str) -> str:
    """A folder of a model as its full path, so that it is found from everywhere; any other name as it is.

    Examples
    --------
    >>> from lass.collection.features.embeddings import model_name
    >>> model_name("sentence-transformers/all-MiniLM-L6-v2")
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    if not model.strip():
        raise ValueError(f"embed must name a model; found {model!r}")
    path = Path(model).expanduser()
    return str(path.resolve()) if path.is_dir() else model


class EmbeddingCache:
    """Embeddings of one model in a file: those of known keys are not computed again.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from lass.collection.features.embeddings import EmbeddingCache
    >>> def lengths(places):
    ...     return np.array([[len("abc"[: place + 1])] for place in places], np.float32)
    >>> with TemporaryDirectory() as folder:
    ...     cache = EmbeddingCache(Path(folder) / "embeddings.npz", "a model")
    ...     cache.rows(["x", "y"], lengths).tolist(), cache.rows(["y", "z"], lengths).tolist()
    ([[1.0], [2.0]], [[2.0], [2.0]])
    """

    def __init__(self, path: Path, model: str, *, keep: bool = True) -> None:
        self.path, self.model, self.keep = path, model, keep

    def rows(self, keys: Sequence[str], compute: Callable[[list[int]], Vectors]) -> Vectors:
        """The row of each key; ``compute`` gives those of the keys in some places."""
        digests = [hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest() for key in keys]
        known = self._load()
        missing: dict[bytes, int] = {}
        for place, digest in enumerate(digests):
            if digest not in known:
                missing.setdefault(digest, place)
        if missing:
            found = compute(list(missing.values()))
            if known and found.shape[1] != len(next(iter(known.values()))):
                return self._all(digests, compute)  # another model of the same name
            known |= zip(missing, found, strict=True)
            self._save(known)
        return np.stack([known[digest] for digest in digests])

    def _all(self, digests: list[bytes], compute: Callable[[list[int]], Vectors]) -> Vectors:
        found = compute(list(range(len(digests))))
        self._save(dict(zip(digests, found, strict=True)))
        return found

    def _load(self) -> dict[bytes, Any]:
        """What the file holds of this model; nothing where it is damaged."""
        try:
            arrays, _ = read_arrays(self.path, verify=True)
            digests, rows = arrays["digests"], arrays["rows"]
            if str(arrays["model"]) != self.model or digests.shape != (len(rows), 32) or rows.ndim != 2:
                return {}
            if digests.dtype != np.uint8 or rows.dtype != np.float32 or not np.isfinite(rows).all():
                return {}
        except Exception:  # a damaged file can fail in any of a dozen ways; it is written anew
            return {}
        return dict(zip(map(bytes, digests), rows, strict=True))

    def _save(self, known: dict[bytes, Any]) -> None:
        """Zeros are not kept: a picture that could not be read may be mended."""
        known = {digest: row for digest, row in known.items() if row.any()}
        if not (known and self.keep):
            return
        make_folder(self.path.parent)
        digests = np.frombuffer(b"".join(known), np.uint8).reshape(-1, 32)
        rows = np.stack(list(known.values()))
        write_arrays(self.path, {"model": np.asarray(self.model), "digests": digests, "rows": rows})
