"""Tests of the Studio take minutes, a server and a browser: ``make quick`` leaves them out."""

from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDED = ("fastapi", "httpx", "playwright", "schemathesis")

collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
