import os
import signal

import pytest

# kernels for a GPU are run by their interpreter; it must be said before anything imports triton
os.environ.setdefault("TRITON_INTERPRET", "1")

LIMIT = 120


class Stuck(BaseException):
    """Not an ``Exception``: Hypothesis must not take it for a failure of the property and go on."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that runs for two minutes is stuck: fail it and go on.

    A signal can arrive between two lines, where a traceback has no line number
    and pytest cannot print it: the failure is told in words instead.
    """

    def stuck(_, frame):
        raise Stuck(f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}")

    before = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(LIMIT)
    try:
        return (yield)
    except Stuck as place:
        where = str(place)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    pytest.fail(f"still running after {LIMIT} seconds, at {where}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """An error in a destructor can have a traceback without line numbers, on which pytest itself fails.

    It is then told by its message alone, and the test that caused it fails as any other.
    """
    error = call.excinfo.value if call.excinfo else None
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        step = error.__traceback__
        while step is not None:
            if step.tb_lineno is None:
                error.__traceback__ = None
                break
            step = step.tb_next
        error = error.__cause__ or error.__context__
    return (yield)


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
    import shutil

    return shutil.copytree(packages, tmp_path / "packages")
