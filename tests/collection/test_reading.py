"""People's files: every format and layout, every kind of damage, and random damage."""

import codecs
import csv
import io
import json
import math
import sys
from encodings.aliases import aliases

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.collection import Annotation
from lass.collection.reading import BadInput, BadRow, category_graph, parents, read_items, read_tags
from lass.collection.reading import lines as lines_module

RECORDS = [
    {"package": "mutt", "summary": 'reads "mail", quickly', "size": 3, "tags": "mail;-game"},
    {"package": "nethack", "summary": "a game\nof caves", "size": None, "tags": "game::rpg"},
    {"package": "ünïcode", "summary": "Zeichen; Schriften 漢字", "size": 2.5, "tags": ""},
]
ANNOTATIONS = [
    Annotation("mutt", "mail", 1.0),
    Annotation("mutt", "game", -1.0),
    Annotation("nethack", "game::rpg", 1.0),
]


def write_csv(path, rows, delimiter=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def as_rows(records):
    return [list(records[0]), *([*record.values()] for record in records)]


def write_jsonl(path, records):
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )
    return path


def write_parquet(path, records):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(records), path)
    return path


def put(folder, content, name="items.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lists(records):
    """The same records with their tags as lists."""
    return [{**record, "tags": [tag for tag in record["tags"].split(";") if tag]} for record in records]


FORMATS = {
    "csv": lambda d: write_csv(d / "a.csv", as_rows(RECORDS)),
    "semicolons": lambda d: write_csv(d / "a.csv", as_rows(RECORDS), ";"),
    "tsv": lambda d: write_csv(d / "a.tsv", as_rows(RECORDS), "\t"),
    "mark": lambda d: write_csv(d / "a.csv", as_rows(RECORDS), encoding="utf-8-sig"),
    "utf16": lambda d: write_csv(d / "a.csv", as_rows(RECORDS), encoding="utf-16"),
    "utf32": lambda d: write_csv(d / "a.csv", as_rows(RECORDS), encoding="utf-32"),
    "jsonl": lambda d: write_jsonl(d / "a.jsonl", RECORDS),
    "ndjson with lists": lambda d: write_jsonl(d / "a.ndjson", lists(RECORDS)),
    "parquet": lambda d: write_parquet(d / "a.parquet", RECORDS),
    "parquet with lists": lambda d: write_parquet(d / "a.parquet", lists(RECORDS)),
}


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_reads_the_same(make, tmp_path):
    items = read_items(
        make(tmp_path), id="package", text="summary", numeric=["size"], tags_column="tags", separator=";"
    )
    assert items.ids == items.titles == [record["package"] for record in RECORDS]
    assert items.texts == [record["summary"] for record in RECORDS]
    np.testing.assert_array_equal(items.columns["size"], [3.0, np.nan, 2.5])
    assert items.annotations == ANNOTATIONS
    assert items.skipped == []
    assert len(items) == 3


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(end, tmp_path):
    items = read_items(put(tmp_path, end.join(["id,text", "", "a,x", "b,y", ""])))
    assert (items.ids, items.texts) == (["a", "b"], ["x", "y"])


def test_columns_are_found_by_their_names(tmp_path):
    path = put(tmp_path, "Item,Name,colour,Summary,description\na, Alpha ,red,one,two\nb,,blue,three,\n")
    items = read_items(path)
    assert items.titles == ["Alpha", "b"]
    assert items.text_columns == ("Summary", "description")
    assert items.texts == ["one\ntwo", "three"]
    assert items.columns == {"colour": ["red", "blue"]}


def test_text_of_several_columns_and_given_encoding(tmp_path):
    path = put(tmp_path, "id,a,b\n1,é,ü\n".encode("latin-1"))
    assert read_items(path, text=["b", "a"], encoding="latin-1").texts == ["ü\né"]


def test_json_lines_may_bring_new_keys(tmp_path):
    path = put(
        tmp_path, '{"id": 1}\n\n{"id": 2, "deep": {"a": [1]}, "big": 1e400, "flag": true}\n', "a.jsonl"
    )
    with pytest.raises(BadInput, match="finite"):
        read_items(path, numeric=["big"])
    items = read_items(path)
    assert items.ids == ["1", "2"]
    assert items.columns == {"deep": [None, '{"a": [1]}'], "big": [None, None], "flag": [None, True]}


def test_parquet_leaves_out_what_is_no_text_or_number(tmp_path):
    records = [{"id": 7, "a.b": "x", "raw": b"\x00", "when": {"a": 1}, "many": [1.0, 2.0]}]
    items = read_items(write_parquet(tmp_path / "a.parquet", records), text="a.b")
    assert items.ids == ["7"]
    assert items.texts == ["x"]
    assert items.columns == {"many": ["[1.0, 2.0]"]}


# ---- tags

LONG = "item,tag,value\nmutt,mail,1\nmutt,game,-1\nnethack,game::rpg,\n"
LAYOUTS = {
    "long": (LONG, "long"),
    "long without values": ("item,tag\nmutt,mail\nmutt,-game\nnethack,game::rpg\n", "long"),
    "long with texts for values": (
        "item,tag,value\nmutt,mail,true\nmutt,game,-1\nnethack,game::rpg,x\nmutt,o,0\n",
        "long",
    ),
    "long, other names": ("package,facet,mark\nmutt,mail,1\nmutt,game,-1\nnethack,game::rpg,\n", "long"),
    "long with a remark": ("item,tag,by\nmutt,mail,ann\nmutt,-game,bob\nnethack,game::rpg,\n", "long"),
    "column": ("id,tags\nmutt,mail;-game\nnethack, game::rpg ;\nempty,\n", "column"),
    "column with |": ("id,tags\nmutt,mail|-game\nnethack,game::rpg\n", "column"),
    "column with commas": ('id,tags\nmutt,"mail, -game"\nnethack,game::rpg\n', "column"),
    "column, other names": ("package,about\nmutt,mail;-game\nnethack,game::rpg\n", "column"),
    "wide": ("id,mail,game,game::rpg\nmutt,+1,-1,0\nnethack,,,1\n", "wide"),
    "wide marks": ("id,mail,game,game::rpg\nmutt,x,-1,false\nnethack,False,0,TRUE\n", "wide"),
}


@pytest.mark.parametrize(("content", "layout"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_reads_the_same(content, layout, tmp_path):
    path = put(tmp_path, content)
    for given_layout in ("auto", layout):
        tags = read_tags(path, layout=given_layout, ids=["mutt", "nethack", "empty"])
        assert sorted(tags.annotations) == sorted(ANNOTATIONS)
        assert tags.layout == layout


def test_layouts_of_json_and_parquet(tmp_path):
    long = [row._asdict() for row in ANNOTATIONS]
    wide = [{"id": "mutt", "mail": 1.0, "game": -1.0}, {"id": "nethack", "game::rpg": True}]
    column = [
        {"id": "mutt", "tags": ["mail", "-game"]},
        {"id": "nethack", "tags": ["game::rpg"]},
        {"id": "c"},
    ]
    for layout, records in (("long", long), ("wide", wide), ("column", column)):
        tags = read_tags(write_jsonl(tmp_path / "t.jsonl", records))
        assert (sorted(tags.annotations), tags.layout) == (sorted(ANNOTATIONS), layout)
    for layout, records in (("long", long), ("column", column)):
        tags = read_tags(write_parquet(tmp_path / "t.parquet", records))
        assert (sorted(tags.annotations), tags.layout) == (sorted(ANNOTATIONS), layout)
    frame = [{"id": "mutt", "mail": 1.0, "game": -1.0}, {"id": "nethack", "mail": math.nan, "game": 0.0}]
    assert read_tags(write_parquet(tmp_path / "t.parquet", frame)).annotations == ANNOTATIONS[:2]


def test_columns_of_tags_by_name(tmp_path):
    path = put(tmp_path, "who,what,pkg,how\nann,mail,mutt,0.5\nbob,web,lynx,-2\n")
    found = read_tags(path, item="pkg", tag="what", value="how").annotations
    assert found == [Annotation("mutt", "mail", 0.5, "ann"), Annotation("lynx", "web", -2.0, "bob")]
    path = put(tmp_path, "who,what,pkg\nann,mail+text,mutt\n")
    found = read_tags(path, item="pkg", tag="what", layout="column", separator="+").annotations
    assert [row.tag for row in found] == ["mail", "text"]


def test_the_same_word_twice_is_one_word(tmp_path):
    assert read_tags(put(tmp_path, "item,tag\na,x\na,x\n")).annotations == [Annotation("a", "x", 1.0)]


# ---- trouble

ITEM_TROUBLE = {
    "empty": (b"", None, "is empty"),
    "no header": (b'""\n""\n', None, "has no header"),
    "blank": (b"\n \n", None, "is empty"),
    "header only": (b"id,text\n", None, "no items"),
    "ragged": (b"id,text\na,x\nb\n", 3, "1 cells where the header has 2"),
    "ragged after a long cell": (b'id,text\na,"x\ny"\nb,1,2\n', 4, "3 cells"),
    "duplicate id": (b"id,text\na,x\nb,y\na,z\n", 4, "already in line 2"),
    "empty id": (b"id,text\na,x\n ,y\n", 3, "every item needs an id"),
    "column twice": (b"id,text,text\na,x,y\n", 1, "two columns are called 'text'"),
    "not UTF-8": (b"id,text\na,caf\x8d\x8f\n", 2, "byte 0x8D at character 6 .*encoding"),
    "NUL": (b"id,text\na,x\nb,\x00y\n", 3, "NUL byte at character 3"),
    "UTF-16 without a mark": ("id,text\na,x\n".encode("utf-16-le"), 1, "UTF-16"),
    "UTF-16 cut off": ("id,text\na,x\n".encode("utf-16") + b"\x00", 3, "not utf-16"),
    "quotation without end": (b'id,text\na,x\nb,"y\nc,z\nd,w\n', 3, "never ends"),
    "quotation inside": (b'id,text\na,"x"y\n', 2, "Double a quote"),
    "quotation in the header": (b'id,"text\na,x\n', 1, "never ends"),
    "number": (b"id,size\na,1\nb,two\n", 3, "'size' must hold finite numbers; found 'two'"),
    "nan": (b"id,size\na,nan\n", 2, "found 'nan'"),
    "infinity": (b"id,size\na,1\nb,inf\n", 3, "found 'inf'"),
    "underscore": (b"id,size\na,1_000\n", 2, "found '1_000'"),
}


@pytest.mark.parametrize(("content", "line", "message"), ITEM_TROUBLE.values(), ids=ITEM_TROUBLE)
def test_trouble_with_items_names_file_and_line(content, line, message, tmp_path):
    path = put(tmp_path, content)
    numeric = ["size"] if b"size" in content else []
    with pytest.raises(BadInput, match=message) as caught:
        read_items(path, numeric=numeric)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}, line {line}: " if line else f"{path}: ")


JSON_TROUBLE = {
    "not JSON": ('{"id": 1}\n{"id": \n', 2, "not JSON"),
    "no object": ('{"id": 1}\n[1, 2]\n', 2, r"not a JSON object but \[1, 2\]"),
    "NaN": ('{"id": NaN}\n', 1, "write null"),
    "half a character": ('{"id": 1}\n{"id": "\\ud800"}\n', 2, "half character"),
    "NUL": ('{"id": "a\\u0000"}\n', 1, "NUL"),
    "deep": ("[" * 100_000 + "\n", 1, "not JSON"),
    "deep object": ('{"id": 1, "x": ' + '{"a":' * 5000 + "1" + "}" * 5000 + "}\n", 1, "not JSON|nested"),
    "huge number": ('{"id": ' + "9" * 5000 + "}\n", 1, "not JSON"),
    "name of a column": ('{"id": 1, "\\ud800": 2}\n', None, "name of a column"),
    "only spaces": ("  \n\n", None, "no objects"),
}


@pytest.mark.parametrize(("content", "line", "message"), JSON_TROUBLE.values(), ids=JSON_TROUBLE)
def test_trouble_with_json_lines(content, line, message, tmp_path):
    with pytest.raises(BadInput, match=message) as caught:
        read_items(put(tmp_path, content, "a.jsonl"))
    assert caught.value.line == line


TAG_TROUBLE = {
    "unknown item": ("item,tag\na,x\nzz,x\n", 3, "item 'zz' is not in the collection"),
    "value": ("item,tag,value\na,x,maybe\n", 2, r"\+1, -1 or another finite number; found 'maybe'"),
    "nan": ("item,tag,value\na,x,1\nb,x,nan\n", 3, "found 'nan'"),
    "no tag": ("item,tag\na,\n", 2, "a tag without a name"),
    "minus alone": ("item,tag\na,x\na,-\n", 3, "a tag without a name; found '-'"),
    "no item": ("item,tag\n,x\n", 2, "no item is named"),
    "contradiction": ("item,tag,value\na,x,1\na,y,1\na,x,-1\n", 4, "but 1 in line 2"),
    "wide entry": ("item,x,y\na,1,0\nb,1,perhaps\n", 3, "column 'y': .*found 'perhaps'"),
    "no header": ("a,x,1\nb,x,1\n", 1, "put a header before it"),
    "unclear": ("item,p,q,r\na,b,c,d\n", None, "cannot tell how tags are written"),
    "unclear numbers": ("item,tag,year\na,x,1999\n", None, r"does 'year' hold the values .* pass value="),
    "one column": ("item\na\n", None, "has one column"),
}


@pytest.mark.parametrize(("content", "line", "message"), TAG_TROUBLE.values(), ids=TAG_TROUBLE)
def test_trouble_with_tags(content, line, message, tmp_path):
    layout = "wide" if "perhaps" in content else "auto"
    with pytest.raises(BadInput, match=message) as caught:
        read_tags(put(tmp_path, content), ids=["a", "b"], layout=layout)
    assert caught.value.line == line


def test_a_missing_column_is_told_with_the_closest_first(tmp_path):
    path = put(tmp_path, "package,section,summary\na,b,c\n")
    with pytest.raises(
        BadInput, match=r"no column 'sumary'; its columns are 'summary', 'package', 'section'"
    ):
        read_items(path, text="sumary")
    with pytest.raises(BadInput, match="no column 'packages'"):
        read_items(path, id="packages")
    with pytest.raises(BadInput, match="no column 'x'"):
        read_tags(path, tag="x")


def test_trouble_with_the_file_itself(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        read_items(tmp_path / "none.csv")
    with pytest.raises(BadInput, match=r"not a sound workbook"):
        read_items(put(tmp_path, "x", "a.xlsx"))
    with pytest.raises(BadInput, match="is a folder"):
        read_tags(tmp_path)
    with pytest.raises(BadInput, match="encoding 'klingon' is not known"):
        read_items(put(tmp_path, "id\na\n"), encoding="klingon")
    with pytest.raises(BadInput, match="not a sound Parquet file"):
        read_items(put(tmp_path, "PAR1 no", "a.parquet"))
    with pytest.raises(ValueError, match="layout must be"):
        read_tags(put(tmp_path, LONG), layout="tall")
    with pytest.raises(ValueError, match="separator must be"):
        read_tags(put(tmp_path, LONG), separator="")


def test_pyarrow_missing(tmp_path, monkeypatch):
    path = put(tmp_path, "PAR1", "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(BadInput, match=r"pip install 'lass-tags\[files\]'"):
        read_items(path)


def test_cells_of_a_megabyte_are_read_and_enormous_ones_told(tmp_path, monkeypatch):
    assert read_items(put(tmp_path, "id,text\na," + "x" * 1_000_000)).texts == ["x" * 1_000_000]
    monkeypatch.setattr(lines_module, "LIMIT", 1000)
    path = put(tmp_path, "id,text\na,x\nb," + "y" * 5000 + "\nc,z\n")
    with pytest.raises(BadInput, match=r"longer than .* characters") as caught:
        read_items(path)
    assert caught.value.line == 3
    items = read_items(path, skip_bad=True)
    assert (items.ids, [problem.line for problem in items.skipped]) == (["a", "c"], [3])


def test_a_cell_over_the_limit_of_the_csv_module(tmp_path):
    path = put(tmp_path, 'id,text\na,"' + ("x" * 999_999 + "\n") * 11 + '"\n')
    with pytest.raises(BadInput, match="a cell longer than 10,000,000 characters") as caught:
        read_items(path)
    assert caught.value.line == 2


def test_bad_rows_are_left_out_and_listed(tmp_path):
    content = b'id,text\na,x\nb\na,again\nc,\xff\nd,"open\ne,y\nf,\x00\ng,z\n'
    path = put(tmp_path, content)
    items = read_items(path, skip_bad=True)
    assert items.ids == ["a", "e", "g"]
    assert sorted(problem.line for problem in items.skipped) == [3, 4, 5, 6, 8]
    assert all(isinstance(problem, BadRow) and problem.file == str(path) for problem in items.skipped)
    with pytest.raises(BadInput, match="none of its rows can be used; the first of 2 problems"):
        read_items(put(tmp_path, "id,text\na\nb\n"), skip_bad=True)
    tags = read_tags(put(tmp_path, "item,tag,value\na,x,1\nq,x,1\na,y,?\n"), ids=["a"], skip_bad=True)
    assert tags.annotations == [Annotation("a", "x", 1.0)]
    assert [problem.line for problem in tags.skipped] == [3, 4]


def test_a_row_with_a_bad_line_inside_is_left_out_whole(tmp_path):
    items = read_items(put(tmp_path, b'id,text\na,"x\n\xff\ny"\nb,z\n'), skip_bad=True)
    assert items.ids == ["b"]
    assert [problem.line for problem in items.skipped] == [3, 2]


def test_skipping_never_takes_a_row_for_the_header(tmp_path):
    for content in (b'id,"text\na,x\nb,y\n', b"id,te\xffxt\na,x\nb,y\n"):
        with pytest.raises(BadInput) as caught:
            read_items(put(tmp_path, content), skip_bad=True)
        assert caught.value.line == 1


# ---- folders


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "deep").mkdir()
    put(tmp_path, "# Mutt\r\nreads mail\r\n", "b.md")
    put(tmp_path / "deep", codecs.BOM_UTF16_LE + "a ☃ text".encode("utf-16-le"), "a.txt")
    put(tmp_path, "", "empty.txt")
    put(tmp_path, "hidden", ".secret.txt")
    put(tmp_path, "other", "data.bin")
    items = read_items(tmp_path)
    assert items.kind == "texts"
    assert items.ids == ["b.md", "deep/a.txt", "empty.txt"]
    assert items.titles == ["Mutt", "a ☃ text", "empty"]
    assert items.texts == ["# Mutt\nreads mail\n", "a ☃ text", ""]
    bad = put(tmp_path, b"one\ntw\xff\n", "c.txt")
    with pytest.raises(BadInput, match="byte 0xFF") as caught:
        read_items(tmp_path)
    assert (caught.value.file, caught.value.line) == (str(bad), 2)
    items = read_items(tmp_path, skip_bad=True)
    assert len(items) == 3
    assert items.skipped[0].file == str(bad)


def test_a_folder_of_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in ("a.png", "b.JPG", "c.gif", "d.bmp", "e.webp"):
        image.new("RGB", (5, 4), "red").save(tmp_path / name)
    put(tmp_path, "about", "README.md")
    items = read_items(tmp_path)
    assert items.kind == "images"
    assert items.ids == ["a.png", "b.JPG", "c.gif", "d.bmp", "e.webp"]
    assert items.titles == ["a", "b", "c", "d", "e"]
    assert items.columns == {"width": [5] * 5, "height": [4] * 5}
    broken = put(tmp_path, b"\x89PNG no", "f.png")
    with pytest.raises(BadInput, match="not a sound picture"):
        read_items(tmp_path)
    items = read_items(tmp_path, skip_bad=True)
    assert len(items) == 5
    assert items.skipped[0].file == str(broken)


def test_a_folder_without_items(tmp_path):
    with pytest.raises(BadInput, match="no texts"):
        read_items(tmp_path)


# ---- hierarchies


def test_parents():
    assert parents("a::b::c") == ["a", "a::b"]
    assert parents("/usr/lib") == ["/usr"]
    assert parents("C/C++::tools") == ["C/C++"]


def test_category_graph_ties_siblings_and_parents():
    names = ["g::a", "g::b", "g::c", "m", "m/x", "m/x/y", "alone", *(f"big::{i}" for i in range(50))]
    C = category_graph(names)
    dense = C.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense[:3, :3], 0.5 * (1 - np.eye(3)))
    assert dense[3, 4] == dense[4, 5] == 1
    assert dense[3, 5] == 0
    assert not dense[6].any()
    np.testing.assert_allclose(dense[7:].sum(axis=1), 1.0)
    assert not dense[:7, 7:].any()
    assert (C.diagonal() == 0).all()
    G = np.zeros((2, len(names)))
    G[0, 0] = 1.0
    solution = lass.solve([[0, 1], [1, 0]], G, lam=1.0, category_graph=C)
    assert solution.converged
    assert solution.Z[0, 1] > solution.Z[0, 6]
    with pytest.raises(ValueError, match="each category once"):
        category_graph(["a", "a"])


# ---- properties

letters = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.text(letters, max_size=30)
identifiers = st.text(letters, min_size=1, max_size=8).filter(lambda text: text == text.strip())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(identifiers, texts, texts), min_size=1, max_size=8, unique_by=lambda row: row[0]))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "round.csv"
    write_csv(path, [("id", "text", "more"), *rows])
    items = read_items(path, text="text")
    assert items.ids == [row[0] for row in rows]
    assert items.texts == [row[1] for row in rows]
    assert items.columns["more"] == [row[2] for row in rows]
    write_jsonl(path := path.with_suffix(".jsonl"), [{"id": a, "text": b} for a, b, _ in rows])
    assert read_items(path).texts == [row[1] for row in rows]


values = st.floats(-1e6, 1e6).filter(bool)
names = identifiers.filter(lambda text: not text.startswith("-"))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.dictionaries(st.tuples(identifiers, names), values, min_size=1, max_size=8))
def test_annotations_are_read_back(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "annotations.csv"
    write_csv(
        path, [("item", "tag", "value"), *((item, tag, value) for (item, tag), value in values.items())]
    )
    tags = read_tags(path, ids={item for item, _ in values})
    assert {(row.item, row.tag): row.value for row in tags.annotations} == values


def damaged(content, rng):
    """A few random bytes replaced, inserted, doubled or removed."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at, end = sorted(rng.integers(0, len(content) + 1, 2))
        end = min(end, at + 40)
        kind = rng.integers(6)
        if kind == 0 and at < len(content):
            content[at] = rng.integers(256)
        elif kind == 1:
            content[at:at] = rng.integers(0, 256, 3, dtype=np.uint8).tobytes()
        elif kind == 2:
            content[at:at] = content[at:end]
        elif kind == 3:
            del content[at:end]
        elif kind == 4 and rng.random() < 0.3:
            del content[at:]
        else:
            content[at:at] = rng.choice(
                [b'"', b",", b"\n", b"\r", b"\0", b"{", b"\\ud800", b"\xff\xfe", b"1e999"]
            )
    return bytes(content)


@pytest.mark.parametrize(("kind", "count"), [("csv", 1200), ("jsonl", 1200), ("parquet", 500)])
def test_random_damage_is_read_or_told(kind, count, tmp_path):
    rng = np.random.default_rng(0)
    sound = FORMATS[kind](tmp_path).read_bytes()
    path = tmp_path / f"damaged.{kind}"
    read = refused = 0
    for turn in range(count):
        path.write_bytes(damaged(sound, rng))
        skip = bool(turn % 2)
        for call in (
            lambda skip: read_items(path, id="package", numeric=["size"], tags_column="tags", skip_bad=skip),
            lambda skip: read_tags(path, ids=["mutt", "nethack"], skip_bad=skip),
        ):
            try:
                result = call(skip)
            except BadInput as error:
                refused += 1
                str(error).encode()
                continue
            read += 1
            assert skip or not result.skipped
            for row in result.annotations:
                assert row.item
                assert row.tag
                assert math.isfinite(row.value)
                (row.item + row.tag).encode()
            if call.__code__.co_names[0] == "read_items":
                assert len(set(result.ids)) == len(result.ids) == len(result.texts) == len(result.titles) > 0
                assert all(len(column) == len(result.ids) for column in result.columns.values())
                "".join([*result.ids, *result.texts, *result.titles, *result.columns]).encode()
    assert read
    assert refused


@pytest.mark.parametrize("content", [b"id,text\na,x\n", b"\xef\xbb\xbfid,text\na,\x81\xff~{\n\x1b$B"])
def test_any_encoding_is_read_or_told(content, tmp_path):
    path = put(tmp_path, content)
    for encoding in [
        *sorted(set(aliases.values())),
        "idna",
        "punycode",
        "undefined",
        "utf-8-sig",
        "a\x00b",
        "rot13",
    ]:
        try:
            items = read_items(path, encoding=encoding)
        except BadInput:
            assert encoding not in ("utf_8", "latin_1", "cp1252") or b"\xff" in content
        else:
            "".join(items.texts).encode()
    assert read_items(put(tmp_path, b"\xef\xbb\xbfid,a\n1,2\n"), id="id", encoding="utf-8").ids == ["1"]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(max_size=200), st.sampled_from(["csv", "tsv", "jsonl", "parquet"]), st.booleans())
def test_any_bytes_are_read_or_told(tmp_path_factory, content, ending, skip):
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(content)
    for call in (read_items, read_tags):
        try:
            result = call(path, skip_bad=skip)
        except BadInput:
            continue
        assert skip or not result.skipped


def test_many_quotations_that_never_end_take_no_quadratic_time(tmp_path):
    rows = io.StringIO()
    rows.write("id,text\n")
    rows.writelines(f'{i},"""a\n' for i in range(20_000))
    items = read_items(put(tmp_path, rows.getvalue() + "last,x\n"), skip_bad=True)
    assert items.ids[-1] == "last"
    assert items.skipped
