import os
import shutil
import tempfile
from pathlib import Path

import pytest

# kernels for a GPU are run by their interpreter; this must be set before anything imports triton
os.environ.setdefault("TRITON_INTERPRET", "1")
# ports and tokens of the Studio are not kept in the home of whoever runs the tests
_STATES = tempfile.TemporaryDirectory(prefix="lass-tests-")
os.environ["XDG_STATE_HOME"] = _STATES.name


@pytest.fixture
def several_threads(monkeypatch):
    """Set the number of threads, and use them however small the work is; the workers are new ones."""
    from lass.kernels import threads

    monkeypatch.setattr(threads, "_pool", threads._Pool())
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 1)
    return lambda count: monkeypatch.setattr(threads, "thread_count", lambda: count)


#: test functions that take long, and files of which nothing can run without torch, Ray or a browser;
#: the former are found by scripts/find_slow_tests.py
SLOW = set(Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").split())


def pytest_ignore_collect(collection_path, config):
    """``make quick`` does not even import slow files: what they need may not be installed."""
    if config.option.markexpr == "not slow" and _name(collection_path) in SLOW:
        return True
    return None


def pytest_collection_modifyitems(items):
    for item in items:
        name = _name(item.path)
        if name in SLOW or f"{name}::{getattr(item, 'originalname', item.name)}" in SLOW:
            item.add_marker(pytest.mark.slow)


def _name(path):
    root = Path(__file__).parents[1]
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A fitted collection of 500 real packages; tests that change it take a copy."""
    from studio_server import make_packages

    folder = tmp_path_factory.mktemp("studio") / "packages"
    make_packages(folder, 500)
    return folder


@pytest.fixture
def own_packages(packages, tmp_path):
    """A copy of the packages that a test may change."""
    return shutil.copytree(packages, tmp_path / "packages")


@pytest.fixture
def texts(tmp_path):
    """A collection of 60 short texts, four of them tagged; not fitted."""
    from lass import Collection
    from lass.collection import Settings
    from short_texts import topics

    known = [("000", "mail", 1), ("003", "mail", 1), ("001", "game", 1), ("004", "game", 1)]
    settings = Settings(features={"kind": "text"}, n_neighbors=6)
    Collection.create(tmp_path / "texts", topics(60), annotations=known, settings=settings).close()
    return tmp_path / "texts"
