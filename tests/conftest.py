import signal

import pytest

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
