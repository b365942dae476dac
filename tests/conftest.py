import os
import shutil

import pytest

# kernels for a GPU are run by their interpreter; this must be set before anything imports triton
os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture
def several_threads(monkeypatch):
    """Set the number of threads, and use them however small the work is; the workers are new ones."""
    from lass.kernels import threads

    monkeypatch.setattr(threads, "_pool", threads._Pool())
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 1)
    return lambda count: monkeypatch.setattr(threads, "thread_count", lambda: count)


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
