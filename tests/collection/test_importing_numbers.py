"""All columns of numbers of a table, by a pattern."""

import pytest

import lass
from lass.collection.importing import columns_of_numbers

TABLE = """name,colour,length,audio-1,audio-2,empty,year
wren,brown,9.5,0.1,0.2,,1990
rook,black,,0.3,-4e2,,1991
"""


def test_patterns_take_columns_of_numbers_alone(tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text(TABLE)
    assert columns_of_numbers(path, ["*"]) == ("length", "audio-1", "audio-2", "year")
    assert columns_of_numbers(path, ["audio*", "length"]) == ("audio-1", "audio-2", "length")
    assert columns_of_numbers(path, ["*"], taken={"year"}) == ("length", "audio-1", "audio-2")
    assert columns_of_numbers(path, ["colour"]) == ("colour",), "what is named is taken as it is"
    with pytest.raises(ValueError, match=r"no column of numbers matches 'col\*'"):
        columns_of_numbers(path, ["col*"])


def test_a_collection_of_all_numbers(tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text(TABLE)
    with lass.create(tmp_path / "birds", path, id="name", numeric="*") as collection:
        assert collection.settings.features["columns"] == ["length", "audio-1", "audio-2", "year"]
    with pytest.raises(ValueError, match=r"--numeric \('\*'"):
        lass.create(tmp_path / "none", path, id="name")
