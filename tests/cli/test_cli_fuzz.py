"""Damaged files: an error message or a correct import, never a traceback, never half a collection."""

import csv
import io
import json
import random

import pytest
from click.testing import CliRunner

from lass import Collection
from lass.cli import group
from lass.collection.importing import read_tables
from lass.collection.reading import BadInput

ROWS = [
    {"id": f"item {n}", "text": text, "size": n * 1.5}
    for n, text in enumerate(["a mail reader", 'naïve, "quoted" text', "two\nlines", "日本語", "", "x" * 50])
]
ANNOTATIONS = [
    {"item": f"item {n}", "tag": tag, "value": value}
    for n, tag, value in [(0, "mail", 1), (1, "text", 1), (1, "mail", -1), (3, "a/b", 1), (5, "mail", 1)]
]
PIECES = [
    b"\0",
    b"\xff",
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\xef\xbb\xbf",
    b"item 1",
    b"nan",
    b"1e999",
    b"{",
    b"]",
    b"-",
]


def packed(rows, kind):
    """The same rows in any format, as bytes."""
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue().to_pybytes()
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def damaged(content, rng):
    """Some bytes changed, lost, doubled or put in."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(data) + 1)
        deed = rng.randrange(5)
        if deed == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif deed == 1:
            del data[at : at + rng.choice([1, 3, 30])]
        elif deed == 2:
            data[at:at] = rng.choice(PIECES)
        elif deed == 3:
            data[at:at] = data[at : at + rng.choice([5, 50])]
        else:
            data = data[:at] if rng.random() < 0.2 else data
        data = data or bytearray(b"\n")
    return bytes(data)


def options(items, tags, skip):
    return {
        "items": items, "id": None, "title": None, "text": ("text",), "numeric": (), "tags": tags,
        "layout": "auto", "value": None, "tag_column": None, "separator": None, "encoding": None,
        "skip_bad": skip,
    }  # fmt: skip


def attempt(items, tags, skip):
    """What was read, or the error."""
    try:
        return read_tables(**options(items, tags, skip)), ""
    except BadInput as error:
        return None, str(error)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_damaged_files_are_read_or_refused(kind, tmp_path):
    rng = random.Random(kind)
    items, tags = tmp_path / f"items.{kind}", tmp_path / f"tags.{kind}"
    good_items, good_tags = packed(ROWS, kind), packed(ANNOTATIONS, kind)
    read_well = 0
    for turn in range(1000):
        items.write_bytes(damaged(good_items, rng) if turn % 2 else good_items)
        tags.write_bytes(good_tags if turn % 2 else damaged(good_tags, rng))
        found, message = attempt(items, tags, skip=turn % 3 == 0)
        if found is None:
            assert message.startswith(str(tmp_path))
            assert "\n" not in message
            continue
        read_well += 1
        assert len(found.ids) == len(set(found.ids)) > 0
        assert {row.item for row in found.annotations} <= set(found.ids)
        assert all(row.value in (1, -1) and row.tag.strip() for row in found.annotations)
    assert 20 < read_well < 1000


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_damaged_files_through_the_command(kind, tmp_path):
    """What is made holds what was read; what is refused leaves nothing behind."""
    rng = random.Random(kind + "!")
    items, tags = tmp_path / f"items.{kind}", tmp_path / f"tags.{kind}"
    made = refused = 0
    for turn in range(60):
        items.write_bytes(damaged(packed(ROWS, kind), rng) if turn % 2 else packed(ROWS, kind))
        tags.write_bytes(packed(ANNOTATIONS, kind) if turn % 2 else damaged(packed(ANNOTATIONS, kind), rng))
        where = tmp_path / f"made{turn}"
        arguments = ["init", str(where), "--items", str(items), "--text", "text", "--tags", str(tags)]
        result = CliRunner().invoke(group, arguments + ["--skip-bad"] * (turn % 3 == 0))
        assert result.exit_code in (0, 2), result.stderr
        assert "Traceback" not in result.output + result.stderr
        if result.exit_code:
            refused += 1
            assert result.stderr.startswith("lass: ")
            assert result.stderr.count("\n") == 1
            assert not where.exists()
        else:
            made += 1
            with Collection.open(where) as collection:
                found = read_tables(**options(items, tags, skip=turn % 3 == 0))
                assert collection.ids() == found.ids
                assert collection.check() == []
                assert collection.annotation_matrix().G.nnz == len(found.annotations)
        left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("made")}
        assert left == {items.name, tags.name}
    assert made
    assert refused


def test_a_refused_addition_changes_nothing(tmp_path):
    rng = random.Random(5)
    (tmp_path / "items.csv").write_bytes(packed(ROWS, "csv"))
    where = tmp_path / "made"
    CliRunner().invoke(group, ["init", str(where), "--items", str(tmp_path / "items.csv"), "--text", "text"])
    more = tmp_path / "more.csv"
    for _ in range(60):
        with Collection.open(where) as collection:
            before = collection.ids(), collection.names(), collection.history(limit=1000)
        more.write_bytes(damaged(packed([{"id": f"n{rng.random()}", "text": "t", "size": 1}], "csv"), rng))
        result = CliRunner().invoke(group, ["add", str(where), "--items", str(more)])
        assert result.exit_code in (0, 2), result.stderr
        with Collection.open(where) as collection:
            after = collection.ids(), collection.names(), collection.history(limit=1000)
            assert (after == before) == (result.exit_code == 2)
            assert collection.check() == []
