"""Files as people have them: Excel's CSV and workbooks, other encodings, folders with odd things in them."""

import os
import warnings
import zipfile

import numpy as np
import openpyxl
import pytest
from PIL import Image

import lass
from command_line import run
from lass.collection.importing import check_metric, read_tables
from lass.collection.reading import BadInput, read_items, read_tags, workbooks
from lass.collection.reading.lines import encoding_of

ROWS = [
    ["Nr", "Größe", "Beschreibung"],
    ["1", "groß", "Café, Straße; und mehr"],
    ["2", "klein", "\u2013 \u201cquoted\u201d \u2026"],
]


def delimited(sign, encoding, head=""):
    lines = [sign.join(f'"{cell}"' if set(cell) & set(",;") else cell for cell in row) for row in ROWS]
    return (head + "\r\n".join(lines) + "\r\n").encode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("head", ["", "sep=", "\r\n"])
def test_the_csv_of_excel_is_read_by_itself(encoding, sign, head, tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(delimited(sign, encoding, f"sep={sign}\r\n" if head == "sep=" else head))
    items = read_items(path, text="Beschreibung")
    assert items.ids == ["1", "2"]
    assert items.texts == [ROWS[1][2], ROWS[2][2]]
    assert items.columns["Größe"] == ["groß", "klein"]
    notes = read_tables(items=path, text="Beschreibung").notes
    assert ["cp1252" in note for note in notes] == [True] * (encoding == "cp1252")


def test_the_guessed_encoding_is_told_and_can_be_changed(tmp_path):
    path = tmp_path / "items.csv"
    path.write_bytes("id;text\na;café au lait\n".encode("cp1252"))
    assert "is read as cp1252" in run("init", tmp_path / "c", "--items", path, "--text", "text").stdout
    with pytest.warns(UserWarning, match="is read as cp1252"):
        lass.create(tmp_path / "d", path, text="text").close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with lass.create(tmp_path / "e", path, text="text", encoding="latin2") as collection:
            assert collection.get_items()[0].text == "caf\xe9 au lait"


@pytest.mark.parametrize(
    ("content", "guess"),
    [
        ("naïve café".encode("cp1252"), "cp1252"),
        ("Müller \u2013 Straße".encode("cp1252"), "cp1252"),
        ("id;text\n1;Das \u201eneue\u201c Auto\n2;\u201ealt\u201c\n".encode("cp1252"), "cp1252"),
        ("id;text\n1;the \u201cnew\u201d one \u2013 it\u2019s 5 \u20ac\u2026\n".encode("cp1252"), "cp1252"),
        ("id;text\n1;\u2018a\u2019 and \u201ab\u2018\n".encode("cp1252"), "cp1252"),
        ("die M\u00e4rkte und die H\u00e4user w\u00e4hlen".encode("cp437"), "utf-8"),
        ("Привет мир, это текст".encode("cp1251"), "utf-8"),
        ("日本語のテキスト".encode("shift-jis"), "utf-8"),
        ("中文文本和 ascii".encode("gb18030"), "utf-8"),
        ("café déjà vu, ça va très bien".encode() + b" dam\xe9ge", "utf-8"),
        (b"one damaged \xff byte", "utf-8"),
        (b"caf\xe9\0", "utf-8"),
    ],
)
def test_only_what_looks_western_is_guessed(content, guess, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert encoding_of(path) == guess


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("name;description, long\na;b, c\nd;e\n", ["name", "description, long"]),
        ('name,"a;b;c"\na,b\n', ["name", "a;b;c"]),
        ("id;a\nx;1,5\ny;2,5\n", ["id", "a"]),
        ("name\na\nb\n", ["name"]),
        ("id|text, and more\na|b\n", ["id", "text, and more"]),
    ],
)
def test_what_separates_cells(content, columns, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert read_items(path, text=columns[-1:]).table["columns"] == columns


def workbook(path, rows, *more, title="Sheet"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for number, others in enumerate(more):
        sheet = book.create_sheet(f"more {number}")
        for row in others:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_a_table(tmp_path):
    import datetime as dt

    rows = [
        ["id", "text", "when", "size", None], [],
        [1, "reads mail", dt.datetime(2024, 1, 31), 2.5],
        ["b", "=1+1", dt.datetime(2024, 1, 31, 12)],
    ]  # fmt: skip
    path = workbook(tmp_path / "items.xlsx", rows)
    items = read_items(path)
    assert items.ids == ["1", "b"]
    assert items.table["columns"] == ["id", "text", "when", "size"]
    assert items.columns["when"] == ["2024-01-31", "2024-01-31T12:00:00"]


def test_a_row_wider_than_the_header_is_told(tmp_path):
    path = workbook(tmp_path / "items.xlsx", [["id", "text"], ["a", "b", "c"], ["d", "e"]])
    with pytest.raises(BadInput, match="line 2: 3 cells where the header has 2"):
        read_items(path)
    items = read_items(path, skip_bad=True)
    assert (items.ids, [row.line for row in items.skipped]) == (["d"], [2])


def test_sheets_of_a_workbook(tmp_path):
    tags = [["item", "tag", "value"], ["a", "-x", -1]]
    path = workbook(tmp_path / "all.xlsx", [], [["id", "text"], ["a", "words"]], tags)
    assert read_items(path).ids == ["a"]
    assert [one[:3] for one in read_tags(f"{path}:more 1").annotations] == [("a", "-x", -1)]
    assert workbooks.sheet_names(path, None) == ["Sheet", "more 0", "more 1"]
    with pytest.raises(BadInput, match="there is no sheet 'x'; found 'Sheet', 'more 0', 'more 1'"):
        read_items(f"{path}:x")
    empty = workbook(tmp_path / "empty.xlsx", [])
    with pytest.raises(BadInput, match="no sheet with values"):
        read_items(empty)


def test_what_a_workbook_says_of_its_size_is_not_believed(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["id", "text"], ["a", "b"], ["c", "d"]])
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as other:
        for name in packed.namelist():
            content = packed.read(name)
            other.writestr(name, content.replace(b'ref="A1:B3"', b'ref="A1"'))
    assert read_items(tmp_path / "b.xlsx").ids == ["a", "c"]


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", [["id", "text"], ["a", "b"]])
    monkeypatch.setattr(workbooks, "MOST_UNPACKED", 1000)
    with pytest.raises(BadInput, match="unpacks to more than"):
        read_items(path)


def picture(path, size=(40, 30)):
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "bmp", "webp"])
def test_truncated_pictures_are_told(ending, tmp_path):
    whole = picture(tmp_path / f"whole.{ending}")
    cut = tmp_path / f"cut.{ending}"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(BadInput, match=f"cut.{ending}: not a sound picture"):
        read_items(tmp_path)
    items = read_items(tmp_path, skip_bad=True)
    assert (items.ids, len(items.skipped)) == ([whole.name], 1)
    assert items.columns == {"width": [40], "height": [30]}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["pipe.txt", "pipe.png"])
def test_a_pipe_in_a_folder_is_told_and_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    if name.endswith("png"):
        picture(tmp_path / "a.png")
    else:
        (tmp_path / "a.txt").write_text("words")
    with pytest.raises(BadInput, match="is no file but a pipe"):
        read_items(tmp_path)
    assert len(read_items(tmp_path, skip_bad=True).ids) == 1


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_line_ends_in_a_path(tmp_path):
    folder = tmp_path / "two\r\nlines"
    folder.mkdir()
    bad = folder / "a.csv"
    bad.write_text("id,text\na\n")
    error = run("init", tmp_path / "c", "--items", bad, code=2).stderr
    assert "two\\r\\nlines" in error
    texts = folder / "texts"
    texts.mkdir()
    (texts / "a\r\nb.txt").write_text("some words")
    (texts / "c.txt").write_text("other words")
    run("init", folder / "c", "--items", texts)
    with lass.open(folder / "c") as collection:
        assert collection.ids() == ["a\r\nb.txt", "c.txt"]
        collection.tag("a\r\nb.txt", "x", new=True)
        for what, ending in (("annotations", "csv"), ("table", "csv"), ("table", "jsonl")):
            collection.export(tmp_path / f"out.{ending}", what=what)
            found = read_tags(tmp_path / f"out.{ending}", ids=collection.ids())
            assert [one[:3] for one in found.annotations] == [("a\r\nb.txt", "x", 1)]
    pictures = folder / "pictures"
    pictures.mkdir()
    picture(pictures / "a.png")
    picture(pictures / "b.png")
    run("init", folder / "p", "--items", pictures)
    with lass.open(folder / "p") as collection:
        collection.fit(draw_map=False)
        assert collection.features.shape[0] == 2


METRICS = ["jaccard", "hamming", "manhattan", "l1", "correlation", "minkowski", "mahalanobis", "seuclidean"]
ROW = [
    {"id": str(n), "text": "mail game"[: 4 + n % 5] + " words", "a": n / 2, "b": float(n % 3)}
    for n in range(24)
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["text", "numeric", "vectors"])
def test_every_metric_that_is_taken_can_be_fitted(metric, kind, tmp_path):
    how = {
        "text": {"text": "text", "embed": "none"},
        "numeric": {"numeric": ["a", "b"]},
        "vectors": {"vectors": np.random.default_rng(0).random((24, 3))},
    }[kind]
    tags = {"0": ["x"], "1": ["y"], "2": ["x"]}
    few = {"text": {"manhattan", "l1"}, "numeric": set(METRICS[:6]), "vectors": set(METRICS[:6])}
    if metric not in few[kind]:
        with pytest.raises(ValueError, match=r"metric \(--metric\) must be one of"):
            lass.create(tmp_path / "c", ROW, tags=tags, metric=metric, **how)
        assert not (tmp_path / "c").exists()
        return
    with lass.create(tmp_path / "c", ROW, tags=tags, metric=metric, **how) as made:
        assert made.fit(draw_map=False) is not None


def test_metrics_of_texts_are_told_before_anything_is_made(tmp_path):
    with pytest.raises(ValueError, match=r"must be one of .*cosine.* for texts; found 'jaccard'"):
        lass.create(tmp_path / "c", ROW, text="text", metric="jaccard", embed="none")
    with lass.create(tmp_path / "c", ROW, text="text", embed="none") as made:
        with pytest.raises(ValueError, match="for texts; found 'jaccard'"):
            made.fit(metric="jaccard")
        assert made.settings.metric == "cosine"
    check_metric("jaccard", "numeric")


def test_embeddings_without_a_model_are_told(tmp_path):
    with lass.create(tmp_path / "c", ROW, text="text", tags={"0": ["x"]}, embed="none") as made:
        made.change_settings(features={"kind": "embeddings"})
        with pytest.raises(ValueError, match="need the name of a model"):
            made.fit()


def test_texts_beside_vectors_are_not_dropped_silently(tmp_path):
    with pytest.warns(UserWarning, match="compared by vectors alone, not by the columns text"):
        made = lass.create(tmp_path / "c", ROW, text="text", vectors=np.eye(24))
    with made:
        assert made.get_items()[0].text
