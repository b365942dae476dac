"""What goes out comes back the same, whatever names and texts hold, in every format."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

import lass
from command_line import run
from lass.collection import CollectionStore, Item
from lass.collection.reading import read_tags
from lass.collection.reading.cells import signed_tag, with_sign
from lass.collection.spreadsheet import harmless, original

FORMATS = ["csv", "tsv", "xlsx", "json", "jsonl", "parquet"]
HOSTILE = [
    "-neg", "+t", "--", "-", "+", "+-5", "-5", "5", "=1+1", "@SUM(A1)", "'=1", "''-x", "'", "\uff1dcmd",
    "a;b", "a,b", "a|b", '["x"]', "[]", "[a];[b]", 'say "hi"', "two\nlines", "a\rb", "a\r\nb", "tab\there",
    "true", "x", "null", "NaN", "item", "tag", "value", "facet::tag", "a/b/c", "\u202eright", "e\u0301",
    "\U0001f600", "_x0041_", "_x000D_", "x_", "=cmd|' /C calc'!A0", "-1+1", "a\u2028b", "#N/A", "\\",
    "a\x85b", "a\x1cb", "\x01",
]  # fmt: skip
#: texts without NUL, half characters, or blanks around them
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
name = st.one_of(st.sampled_from(HOSTILE), text.map(str.strip).filter(bool))


def state(collection):
    return (
        collection.get_items(),
        sorted((one.item, one.tag, one.value) for one in collection.annotations),
    )


@given(text)
def test_a_harmless_cell_is_no_formula_and_is_read_back(cell):
    made = harmless(cell)
    assert original(made) == cell
    assert made == cell or made == f"'{cell}"
    if not made.lstrip().strip("0123456789.eE+-") and made:
        return
    assert made.lstrip()[:1] not in tuple("=+-@\uff1d\uff0b\uff0d\uff20")
    assert made[:1] not in tuple("\t\r\n")


@pytest.mark.parametrize("cell", ["=1+1", "@x", "+1-555", "-x", "\tx", "\rx", " =x", "\uff1dx", "'=1"])
def test_what_a_spreadsheet_executes_gets_an_apostrophe(cell):
    assert harmless(cell) == "'" + cell


@given(name, st.sampled_from([1, -1]))
def test_signs_in_front_of_tags(tag, value):
    found, sign = signed_tag(with_sign(tag, value))
    assert (found, sign or 1) == (tag, value)


@settings(suppress_health_check=list(HealthCheck), max_examples=40, deadline=None)
@given(
    ids=st.lists(name, min_size=1, max_size=5, unique=True),
    tags=st.lists(name, min_size=1, max_size=5, unique=True),
    texts=st.lists(st.one_of(text, st.sampled_from(HOSTILE)), min_size=5, max_size=5),
    data=st.data(),
)
def test_everything_comes_back_in_every_format(tmp_path_factory, ids, tags, texts, data):
    folder = tmp_path_factory.mktemp("round")
    pairs = data.draw(
        st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(tags)), min_size=1, unique=True)
    )
    annotations = [(item, tag, data.draw(st.sampled_from([1, -1]))) for item, tag in pairs]
    rows = [
        {"id": one, "title": one, "summary": a, "body": a[::-1], "note": a}
        for one, a in zip(ids, texts, strict=False)
    ]
    rows[0]["summary"] += "a text"
    how = {"id": "id", "title": "title", "text": ["summary", "body"], "embed": "none"}
    with lass.create(folder / "first", rows, tags=annotations, **how) as first:
        before = state(first)
        for ending in FORMATS:
            first.export(folder / f"tags.{ending}")
            found = read_tags(folder / f"tags.{ending}", ids=ids).annotations
            assert sorted(one[:3] for one in found) == sorted(annotations)
            first.export(folder / f"table.{ending}", what="table")
            with lass.create(folder / ending, folder / f"table.{ending}", tag_column="tags", **how) as second:
                assert state(second) == before


def make(tmp_path, annotations, **items):
    rows = {"a": {"id": "a", "text": "some words"}, **items}
    return lass.create(tmp_path / "c", list(rows.values()), tags=annotations, embed="none", text="text")


def test_the_own_table_comes_back_as_it_was(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(
        "year,package,about,keywords,summary,score\n1999,mutt,mail,mail;-game,reads mail,1.50\n"
        '007,pine,,,"a, b",\n'
    )
    how = {
        "id": "package",
        "title": "about",
        "text": ["about", "summary"],
        "tag_column": "keywords",
        "embed": "none",
    }
    with lass.create(tmp_path / "c", path, **how) as first:
        first.annotate("pine", {"mail": 1}, who="ann")
        assert first.export(tmp_path / "out.csv", what="table") == 2
        assert (tmp_path / "out.csv").read_text() == (
            "year,package,about,keywords,summary,score\n1999,mutt,mail,mail;-game,reads mail,1.50\n"
            '007,pine,,mail,"a, b",\n'
        )
        with lass.create(tmp_path / "again", tmp_path / "out.csv", **how) as second:
            assert state(second) == state(first)
            assert second.settings.table == first.settings.table


def test_the_table_of_items_that_came_from_no_table(tmp_path):
    item = Item("a", "A", "text", {"tags": "other", "id": 5, "deep": {"x": [1]}, "yes": True, "part": 0.1})
    with CollectionStore.create(tmp_path / "c", [item, Item("b")], annotations=[("a", "t", -1)]):
        pass
    with lass.open(tmp_path / "c") as collection:
        collection.export(tmp_path / "out.csv", what="table")
        with (tmp_path / "out.csv").open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        assert rows[0] == {
            "id of the item": "a", "title": "A", "text": "text", "tags": "other", "id": "5",
            "deep": '{"x": [1]}', "yes": "true", "part": "0.1", "annotations": "'-t",
        }  # fmt: skip
        collection.export(tmp_path / "out.json", what="table")
        assert json.loads((tmp_path / "out.json").read_text())[0]["annotations"] == ["-t"]


def test_columns_of_several_types_are_texts_in_parquet(tmp_path):
    rows = [{"id": "a", "text": "some words", "x": 5}, {"id": "b", "text": "other words", "x": "five"}]
    with lass.create(tmp_path / "c", rows, embed="none") as collection:
        collection.export(tmp_path / "out.parquet", what="table")
    assert pq.read_table(tmp_path / "out.parquet").column("x").to_pylist() == ["5", "five"]


def test_raw_cells_are_as_they_were(tmp_path):
    with make(tmp_path, [("a", "=1+1", 1)]) as collection:
        collection.export(tmp_path / "raw.csv", raw=True)
        collection.export(tmp_path / "safe.csv")
    assert (tmp_path / "raw.csv").read_text() == "item,tag,value\na,=1+1,1\n"
    assert (tmp_path / "safe.csv").read_text() == "item,tag,value\na,'=1+1,1\n"
    assert run("export", tmp_path / "c", "--raw").stdout == "item,tag,value\na,=1+1,1\n"
    assert run("export", tmp_path / "c").stdout == "item,tag,value\na,'=1+1,1\n"


def test_a_header_is_made_harmless_too(tmp_path):
    rows = [{"id": "a", "text": "some words", "=cmd()": "x"}]
    with lass.create(tmp_path / "c", rows, embed="none") as collection:
        collection.export(tmp_path / "out.csv", what="table")
    assert (tmp_path / "out.csv").read_text().startswith("id,text,'=cmd(),tags\n")


def test_nul_is_refused_where_it_comes_in(tmp_path):
    with make(tmp_path, [("a", "t", 1)]) as collection:
        for act in (
            lambda: collection.add_tag("a\0b"),
            lambda: collection.rename_tag("t", "a\0b"),
            lambda: collection.add_items([Item("b\0")]),
        ):
            with pytest.raises(ValueError, match="holds a NUL"):
                act()
        assert state(collection)[1] == [("a", "t", 1)]


def test_a_nul_of_an_older_version_is_told_and_goes_out_as_json(tmp_path):
    with make(tmp_path, [("a", "t", 1)]) as collection:
        with collection._database.writing() as connection:
            connection.execute("UPDATE categories SET name = 't' || char(0)")
        with pytest.raises(ValueError, match="holds a NUL"):
            collection.export(tmp_path / "out.csv")
        assert not (tmp_path / "out.csv").exists()
        collection.export(tmp_path / "out.jsonl")
        assert json.loads((tmp_path / "out.jsonl").read_text())["tag"] == "t\0"
        collection.rename_tag("t\0", "t")
        collection.export(tmp_path / "out.csv")


def test_suggestions_and_tables_are_exported_by_the_command(tmp_path):
    subjects = {"mail": "reads electronic mail", "game": "a game with levels"}
    rows = [{"id": f"{s}{n}", "text": f"{t} {n}"} for s, t in subjects.items() for n in range(12)]
    with lass.create(tmp_path / "c", rows, tags={"mail0": ["mail"], "game0": ["game"]}, embed="none") as made:
        made.fit(draw_map=False)
        found = made.suggest(top=2)
    out = tmp_path / "s.json"
    run("export", tmp_path / "c", "--what", "suggestions", "--top", "2", "--out", out)
    assert [(row["item"], row["tag"]) for row in json.loads(out.read_text())] == [one[:2] for one in found]
    table = json.loads(run("export", tmp_path / "c", "--what", "table", "--json").stdout)
    assert table[0] == {"id": "mail0", "text": "reads electronic mail 0", "tags": ["mail"]}


def test_binary_ids_in_parquet(tmp_path):
    path = tmp_path / "items.parquet"
    texts, others = ["some words", "other words"], ["x", "y"]
    pq.write_table(pa.table({"other": others, "id": pa.array([b"a", b"b"]), "text": texts}), path)
    with lass.create(tmp_path / "c", path, embed="none") as collection:
        assert collection.ids() == ["a", "b"]
    raw = [b"\xff\xfe", b"b"]
    for names, why in (
        ({"id": pa.array(raw), "text": texts}, "'id'"),
        ({"key0": pa.array(raw), "text": texts}, "'key0'"),
    ):
        pq.write_table(pa.table(names), path)
        with pytest.raises(ValueError, match=f"column {why} .* binary.*cannot be read"):
            lass.create(tmp_path / "d", path, embed="none")
    with lass.create(tmp_path / "d", path, id="text", text="text", embed="none") as collection:
        assert collection.ids() == texts


def test_a_workbook_holds_texts_and_numbers_and_no_formula(tmp_path):
    rows = [
        {
            "id": "007",
            "text": "=1+1",
            "size": 5,
            "part": 0.1 + 0.2,
            "old": True,
            "long": 2**60,
            "note": "#N/A",
        },
        {"id": "b", "text": "plain", "size": -3, "part": None, "old": False, "long": 1, "note": "'=x"},
    ]
    tags = [("007", "=cmd|' /C calc'!A0", 1), ("007", "-x", -1)]
    with lass.create(tmp_path / "c", rows, tags=tags, text="text", embed="none") as first:
        assert first.export(tmp_path / "out.xlsx", what="table") == 2
        book = load_workbook(tmp_path / "out.xlsx")
        cells = [cell for row in book.active.iter_rows() for cell in row]
        assert {cell.data_type for cell in cells} <= {"s", "n", "b"}
        assert {cell.value for cell in cells if cell.quotePrefix} == {"=1+1", "'=x"}
        how = {"id": "id", "text": "text", "tag_column": "tags", "embed": "none"}
        with lass.create(tmp_path / "again", tmp_path / "out.xlsx", **how) as second:
            assert state(second)[1] == state(first)[1]
            extra = [item.extra for item in second.get_items()]
    # a spreadsheet would round a number this long
    assert extra[0] == {"size": 5, "part": 0.1 + 0.2, "old": True, "long": str(2**60), "note": "#N/A"}
    assert extra[1] == {"size": -3, "old": False, "long": 1, "note": "'=x"}


@pytest.mark.parametrize("long", ["ab" * 40_000, "\U0001f600" * 20_000, "_x0041_" * 9_000, "\x01" * 40_000])
def test_texts_longer_than_a_cell_go_on_beside_it(long, tmp_path):
    rows = [{"id": "a", "text": long, "note": "n"}, {"id": "b", "text": "short", "note": ""}]
    how = {"id": "id", "text": "text", "tag_column": "tags", "embed": "none"}
    with lass.create(tmp_path / "c", rows, tags=[("b", "t", 1)], text="text", embed="none") as first:
        first.export(tmp_path / "out.xlsx", what="table")
        with lass.create(tmp_path / "again", tmp_path / "out.xlsx", **how) as second:
            assert state(second) == state(first)
            assert second.settings.table["columns"] == ["id", "text", "note", "tags"]
    sheet = load_workbook(tmp_path / "out.xlsx").active
    assert [cell.value for cell in sheet[1]][:3] == ["id", "text", "text [continued 2]"]
    written = [cell.value for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str)]
    assert max(len(text.encode("utf-16-le")) // 2 for text in written) <= 32_767


def test_a_csv_with_semicolons_opens_where_numbers_have_a_decimal_comma(tmp_path):
    with make(tmp_path, [("a", "b;c", 1)]) as collection:
        collection.export(tmp_path / "out.csv", semicolons=True)
    assert (tmp_path / "out.csv").read_bytes() == b'\xef\xbb\xbfitem;tag;value\na;"b;c";1\n'
    assert [one[:3] for one in read_tags(tmp_path / "out.csv").annotations] == [("a", "b;c", 1)]
    run("export", tmp_path / "c", "--semicolons", "--out", tmp_path / "more.csv")
    assert (tmp_path / "more.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    refused = run("export", tmp_path / "c", "--semicolons", code=2)
    assert "--semicolons needs --out with a file that ends in .csv" in refused.stderr
    run("export", tmp_path / "c", "--out", tmp_path / "out.xlsx")
    assert [one[:3] for one in read_tags(tmp_path / "out.xlsx").annotations] == [("a", "b;c", 1)]
