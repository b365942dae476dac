"""What people bring to the Studio: tables of any kind, tags alone, texts, pictures, vectors and edges."""

import io
import json
import zipfile

import numpy as np
import openpyxl
import pytest
from PIL import Image

from lass import Collection
from lass.studio.messages import ImportRequest, LookRequest
from lass.studio.pictures import picture_of
from lass.studio.session import Session
from lass.studio.uploads import Uploads
from studio_server import studio, wait_until_ready

SUBJECTS = ("reads electronic mail", "a game with levels")
ROWS = [(f"p{n}", f"{SUBJECTS[n % 2]} {n}", ("mail", "game")[n % 2] if n < 8 else "") for n in range(30)]
TABLE = "name,summary,tags\n" + "".join(f"{','.join(row)}\n" for row in ROWS)


class Place:
    """Uploads and the collection that they go to, without a server."""

    def __init__(self, folder):
        self.folder, self.uploads = folder, Uploads()
        self.session = Session(folder, lambda *_: None)

    def sent(self, *files, part="items", upload=None):
        named = [
            (name, io.BytesIO(content.encode() if isinstance(content, str) else content))
            for name, content in files
        ]
        return self.uploads.take(upload, part, named)

    def looked(self, upload, **how):
        found = self.uploads.look(self.session, LookRequest(upload=upload, **how))
        return found.model_dump(by_alias=True)

    def imported(self, seen, **how):
        asked = {"upload": seen["upload"], "mapping": seen["mapping"], "who": "ann", **how}
        return self.uploads.import_into(self.session, ImportRequest(**asked)).model_dump(by_alias=True)

    def text(self, row):
        return self.session.row(row)

    def close(self):
        self.uploads.close()
        self.session.close()


@pytest.fixture
def empty(tmp_path):
    place = Place(tmp_path / "new")
    yield place
    place.close()


@pytest.fixture
def filled(empty):
    empty.imported(empty.looked(empty.sent(("items.csv", TABLE))))
    return empty


def png(value, cut=None):
    out = io.BytesIO()
    Image.fromarray(np.full((30, 30, 3), value, np.uint8)).save(out, "png")
    return out.getvalue()[:cut]


def packed(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_excels_csv_and_its_encoding(empty):
    table = "name;summary\ncafé;Größe und Länge\nthé;another text\n".encode("cp1252")
    key = empty.sent(("excel.csv", table))
    seen = empty.looked(key)
    assert seen["columns"] == ["name", "summary"]
    assert seen["files"] == [{"name": "excel.csv", "part": "items", "encoding": "cp1252", "sheets": []}]
    assert seen["sample"][0] == ["café", "Größe und Länge"]
    other = empty.looked(key, encoding="cp437")
    assert other["sample"][0][0] == "caf\u0398"
    made = empty.imported(seen, encoding="cp1252")
    assert made["items"] == 2
    assert empty.session.row(0).id == "café"


def test_who_cannot_pass_an_encoding_is_told_of_the_menu(empty):
    key = empty.sent(("items.csv", b"n\xc4\x80\x81me;summary\nx\xff;a text\n"))
    with pytest.raises(ValueError, match="choose another under Letters are read as") as refused:
        empty.looked(key)
    assert "command line" not in str(refused.value)


def test_bad_rows_are_shown_before_anything_is_imported(empty):
    table = b"name,summary\na,some text\nb\nc,other text,more\na,again\n"
    seen = empty.looked(empty.sent(("items.csv", table)))
    assert (seen["rows"], seen["badRows"]) == (1, 3)
    assert [problem["line"] for problem in seen["problems"]] == [3, 4, 5]
    assert seen["problems"][0]["message"].startswith("items.csv, line 3: 1 cells where the header has 2")
    with pytest.raises(ValueError, match=r"^items\.csv, line 3"):
        empty.imported(seen)
    made = empty.imported(seen, skipBad=True)
    assert (made["items"], len(made["problems"])) == (1, 3)


def test_a_workbook_and_its_sheets(empty):
    book = openpyxl.Workbook()
    book.active.append(["name", "summary"])
    book.active.append(["a", "some text"])
    sheet = book.create_sheet("second")
    for row in (["name", "summary", "tags"], ["b", "other text", "x;y"]):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    key = empty.sent(("all.xlsx", out.getvalue()))
    seen = empty.looked(key)
    assert seen["files"][0]["sheets"] == ["Sheet", "second"]
    assert seen["examples"] == ["a"]
    second = empty.looked(key, sheet="second")
    assert second["examples"] == ["b"]
    assert empty.imported(second, sheet="second")["annotations"] == 2


def test_several_tables_and_tags(empty):
    key = empty.sent(("a.csv", b"id,text\na,some text\n"), ("b.csv", b"id,text\nb,other text\n"))
    empty.sent(("t.csv", b"item,tag,value,who\na,x,1,ann\na,x,-1,bob\n"), part="tags", upload=key)
    seen = empty.looked(key)
    assert (seen["rows"], seen["annotations"], len(seen["files"])) == (2, 2, 3)
    made = empty.imported(seen)
    assert (made["items"], made["annotations"], made["tags"]) == (2, 2, 1)


def test_tags_alone(filled):
    key = filled.sent(("tags.csv", b"item,tag,value\np9,new,1\np8,mail,-1\nnobody,new,1\n"), part="tags")
    seen = filled.looked(key)
    assert (seen["kind"], seen["rows"], seen["annotations"], seen["badRows"]) == ("tags", 0, 2, 1)
    assert seen["columns"] == ["item", "tag", "value"]
    assert filled.imported(seen, skipBad=True)["annotations"] == 2


def test_tags_alone_need_items(empty):
    key = empty.sent(("tags.csv", b"item,tag\np9,new\n"), part="tags")
    with pytest.raises(ValueError, match="Choose items first"):
        empty.looked(key)


@pytest.mark.parametrize(
    ("existing", "text", "annotations"), [("keep", SUBJECTS[0], 0), ("update", "new", 1)]
)
def test_known_items_are_left_out_or_updated_as_chosen(existing, text, annotations, filled):
    seen = filled.looked(filled.sent(("again.csv", b"name,summary,tags\np0,new text,fresh\nq,text of q,\n")))
    assert (seen["rows"], seen["known"]) == (2, 1)
    assert seen["mapping"]["id"] == "name"
    made = filled.imported(seen, existing=existing)
    assert (made["items"], made["updated"], made["leftOut"]) == (1, existing == "update", existing == "keep")
    assert made["annotations"] == annotations
    assert filled.session.row(0).text.startswith(text)


def test_columns_are_remembered(empty):
    seen = empty.looked(empty.sent(("items.csv", b"a,b,c,d\n1,some text,x;y,2\n")))
    mapping = {"id": "d", "title": "a", "text": ["b"], "tagColumn": "c", "separator": ";"}
    empty.imported(seen, mapping=mapping)
    again = empty.looked(empty.sent(("more.csv", b"a,b,c,d\n1,some text,x;y,3\n")))
    assert again["mapping"] == {**mapping, "separator": None, "numeric": []}


def test_a_zip_of_texts(empty):
    files = {"folder/a.txt": "some words", "folder/deep/b.md": "# Title\nother", "folder/c.bin": b"\0"}
    hostile = {"../evil.txt": "x", "/abs.txt": "x", "C:/d.txt": "x", "folder/../../up.txt": "x"}
    seen = empty.looked(empty.sent(("texts.zip", packed(files | hostile))))
    assert (seen["kind"], seen["examples"], seen["badRows"]) == ("texts", ["a.txt", "deep/b.md"], 4)
    assert "leads out of its folder" in seen["problems"][0]["message"]
    made = empty.imported(seen, mapping=None, skipBad=True)
    assert (made["items"], len(made["problems"])) == (2, 4)


def test_pictures_of_a_folder_and_of_a_zip(empty, tmp_path):
    key = empty.sent(("mine/a.png", png(10)), ("mine/sub/b.png", png(200)), ("mine/notes.doc", b"x"))
    empty.sent(("mine/c.png", png(90)), upload=key)
    seen = empty.looked(key)
    assert (seen["kind"], seen["examples"]) == ("images", ["a.png", "c.png", "sub/b.png"])
    assert empty.imported(seen, mapping=None)["items"] == 3
    assert picture_of(empty.session, 2).is_file()
    more = packed({"d.png": png(50), "a.png": png(60), "cut.png": png(70, cut=60)})
    seen = empty.looked(empty.sent(("more.zip", more)))
    assert (seen["rows"], seen["known"], seen["badRows"]) == (2, 1, 1)
    assert "cut.png: not a sound picture" in seen["problems"][0]["message"]
    made = empty.imported(seen, mapping=None, skipBad=True)
    assert (made["items"], made["leftOut"]) == (1, 1)
    with Collection.open(tmp_path / "new", read_only=True) as collection:
        assert collection.picture_folder == tmp_path / "new" / "pictures"
        assert (collection.picture_folder / "d.png").is_file()


def test_pictures_for_a_collection_of_texts_are_refused_before_anything_is_promised(empty):
    empty.imported(empty.looked(empty.sent(("items.csv", TABLE))))
    with pytest.raises(ValueError, match="compared by text, and these are pictures"):
        empty.looked(empty.sent(("more.zip", packed({"d.png": png(50)}))))


def array(values, **named):
    out = io.BytesIO()
    np.savez(out, vectors=values, **named) if named else np.save(out, values)
    return out.getvalue()


def test_vectors_beside_a_table(empty, tmp_path):
    key = empty.sent(("items.csv", TABLE))
    ids = np.array([row[0] for row in ROWS[::-1]])
    vectors = np.random.default_rng(0).random((30, 4))
    empty.sent(("v.npz", array(vectors, ids=ids)), part="vectors", upload=key)
    made = empty.imported(empty.looked(key))
    assert made["items"] == 30
    assert "compared by vectors alone" in made["notes"][0]
    with Collection.open(tmp_path / "new", read_only=True) as collection:
        assert collection.settings.features["kind"] == "vectors"
        np.testing.assert_allclose(collection.features[0], vectors[-1], rtol=1e-6)
    key = empty.sent(("more.csv", b"name,summary\nq,text\n"))
    with pytest.raises(ValueError, match="compared by vectors"):
        empty.imported(empty.looked(key))
    empty.sent(("w.npy", array(np.ones((1, 4)))), part="vectors", upload=key)
    assert empty.imported(empty.looked(key))["items"] == 1


def test_edges_beside_texts(empty, tmp_path):
    key = empty.sent(("items.csv", TABLE))
    edges = "".join(f"p{n},p{(n + 2) % 30}\n" for n in range(30))
    empty.sent(("edges.csv", edges), part="edges", upload=key)
    empty.imported(empty.looked(key))
    with Collection.open(tmp_path / "new", read_only=True) as collection:
        assert collection.settings.features["kind"] == "text"
        assert collection.saved_array("edges").matrix.nnz == 60


def test_edges_alone(empty, tmp_path):
    key = empty.sent(("items.csv", b"id,size\na,1\nb,2\nc,3\n"))
    empty.sent(("edges.csv", b"a,b\nb,c\n"), part="edges", upload=key)
    seen = empty.looked(key)
    empty.imported(seen, mapping={**seen["mapping"], "text": []})
    with Collection.open(tmp_path / "new", read_only=True) as collection:
        assert collection.settings.metric == "precomputed"


def test_numbers_to_compare_by(empty, tmp_path):
    seen = empty.looked(empty.sent(("items.csv", b"id,size,weight\na,1,2\nb,2,3\nc,3,5\n")))
    empty.imported(seen, mapping={**seen["mapping"], "text": [], "numeric": ["size", "weight"]})
    with Collection.open(tmp_path / "new", read_only=True) as collection:
        assert collection.settings.features == {"kind": "numeric", "columns": ["size", "weight"], "id": "id"}


def sent_to(client, content, name="table.csv"):
    answer = client.post("/api/import/files", files=[("files", (name, content))])
    seen = client.post("/api/import/look", json=answer.json()).json()
    asked = {"upload": seen["upload"], "mapping": seen["mapping"], "who": ""}
    answer = client.post("/api/import", json=asked)
    assert answer.status_code == 200, answer.text


WHAT = ["table", "annotations", "people", "suggestions", "assignments"]


def test_what_is_exported_is_the_same_when_it_is_imported(tmp_path):
    with studio(tmp_path / "one") as running, running.client() as client:
        sent_to(client, TABLE)
        client.post("/api/tag-items", json={"rows": [1], "name": "=cmd()", "who": "ann"})
        wait_until_ready(client)
        for what in WHAT:
            for format in ("csv", "semicolons", "xlsx", "tsv", "json", "jsonl"):
                answer = client.get("/api/export", params={"what": what, "format": format})
                assert answer.status_code == 200
                ending = "csv" if format == "semicolons" else format
                assert f'filename="{what}.{ending}"' in answer.headers["content-disposition"]
                assert answer.text.startswith("\ufeff") == (format == "semicolons")
                assert (
                    format != "xlsx" or openpyxl.load_workbook(io.BytesIO(answer.content)).active["A1"].value
                )
                assert format != "json" or json.loads(answer.text)
        table = client.get("/api/export", params={"what": "table", "format": "csv"}).content
        changed = TABLE.replace(f"{ROWS[1][1]},game", f"{ROWS[1][1]},game;=cmd()")
        assert table.decode() == changed
        book = client.get("/api/export", params={"what": "table", "format": "xlsx"}).content
        assert "p1,'=cmd(),1\n" in client.get("/api/export", params={"what": "annotations"}).text
        raw = client.get("/api/export", params={"what": "annotations", "raw": True}).text
        assert "p1,=cmd(),1\n" in raw
    for name, content in {"two.csv": table, "three.xlsx": book}.items():
        with studio(tmp_path / name) as running, running.client() as client:
            sent_to(client, content, name)
        with Collection.open(tmp_path / "one") as one, Collection.open(tmp_path / name) as other:
            assert one.get_items() == other.get_items()
            assert sorted(x[:3] for x in one.annotations) == sorted(x[:3] for x in other.annotations)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("id,note,size\n1,clean the chain,3\n2,oil the brakes well,4\n", ["note"]),
        ("id,title,remarks\n1,Chain,clean the chain\n2,Brakes,oil the brakes well\n", ["title", "remarks"]),
        ("id,summary,remarks\n1,Chain,clean the chain\n2,Brakes,oil the brakes well\n", ["summary"]),
        ("id,kind,size\n1,bike part,3 4 5\n2,bike,4 5 6\n", []),
    ],
)
def test_columns_of_texts_are_found_by_name_or_by_what_is_in_them(empty, table, text):
    seen = empty.looked(empty.sent(("a.csv", table.encode())))
    assert seen["mapping"]["text"] == text
