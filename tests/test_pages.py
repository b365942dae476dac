"""README and docs hold no measured number that is not made from the results."""

import re
import sys
from pathlib import Path

import make_benchmark_pages as pages
import pytest
from benchmark_tables import number

ROOT = Path(__file__).parents[1]


def test_the_pages_are_those_of_the_results(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_benchmark_pages.py", "--check"])
    pages.main()


def test_a_changed_number_is_found():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    figure = re.search(r"\*\*(\d+\.\d) %\*\*", text)[1]
    assert pages.filled(text.replace(figure, "99.9")) == text


@pytest.mark.parametrize("figure", ["1.9 s", "12 ms", "45 times", "119x", "0.5 GiB", "63.4 %"])
def test_a_typed_figure_is_found(figure):
    assert pages.typed(f"It takes {figure} here.") == [figure]


@pytest.mark.parametrize(
    "text",
    [
        "`1.9 s`",
        "6,000 packages",
        "Python 3.11",
        "1e-4",
        "[a](b/10 s)",
        "<!-- results: gpu -->\n5 s<!-- end -->",
    ],
)
def test_other_numbers_may_be_typed(text):
    assert pages.typed(text) == []


def test_numbers_keep_two_digits():
    assert [number(x) for x in (0.01234, 1.96, 118.7, 1234567.0, 1.8e-5)] == [
        "0.012", "2.0", "119", "1,234,567", "1.8e-05",
    ]  # fmt: skip
