"""Files made to harm: read as they are, or refused in one line; nothing is written outside of its place."""

import bz2
import codecs
import gzip
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from command_line import run
from lass.collection.features import read_edges, read_vectors
from lass.collection.reading import BadInput, archives, read_items, read_tags
from lass.collection.reading.archives import unpack
from lass.studio.uploads import Uploads

IDS = ["a", "b", "c"]
TABLE = b"id,text,tags\na,some words,x\nb,other words,y\nc,more words,\n"


def packed(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def parquet(**columns):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def npy(array, **how):
    out = io.BytesIO()
    np.save(out, array, **how)
    return out.getvalue()


def workbook(*rows):
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


def changed(content, name, change):
    """A workbook with one of its parts changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(out, "w") as target:
        for part in source.namelist():
            data = source.read(part)
            target.writestr(part, change(data) if part == name else data)
    return out.getvalue()


def png(width=30, height=20):
    out = io.BytesIO()
    Image.new("RGB", (width, height), (9, 90, 200)).save(out, "png")
    return out.getvalue()


def huge_png():
    """A picture that claims 60,000 x 60,000 pixels."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body + chunk(b"IEND", b"")


BOOK = workbook(["id", "text"], ["a", "b"], ["c", "d"])
SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">' + b"".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">'.encode() for n in range(9)
)
PICKLED = npy(np.array([{"a": 1}], object), allow_pickle=True)

FILES = {
    "empty.csv": b"",
    "empty.xlsx": b"",
    "empty.parquet": b"",
    "empty.json": b"",
    "blank.csv": b"\n\n \n",
    "bom.csv": codecs.BOM_UTF8,
    "bom utf-16.csv": codecs.BOM_UTF16_LE,
    "bom then odd.csv": codecs.BOM_UTF16_LE + b"i\0d",
    "bom of utf-32.csv": codecs.BOM_UTF32_BE + b"\0\0\0i\xff",
    "two boms.csv": codecs.BOM_UTF8 * 2 + TABLE,
    "header.csv": b"id,text\n",
    "one column.csv": b"id\na\n",
    "no header.csv": b"a,b\nb,c\n",
    "nul.csv": b"id,text\na,x\0y\n",
    "nul header.csv": b"i\0d,text\na,b\n",
    "all nul.csv": b"\0" * 5000,
    "utf-16 without mark.csv": "id,text\na,b\n".encode("utf-16-le"),
    "binary.csv": bytes(range(256)) * 20,
    "damaged utf-8.csv": "id,text\na,é\xe9\n".encode() + b"b,\xe9\xff\n",
    "overlong.csv": b"id,text\n\xc0\xaf,x\n",
    "surrogate.jsonl": b'{"id": "\\ud800", "text": "x"}\n',
    "same columns.csv": b"id,id,text\na,b,c\n",
    "same ids.csv": b"id,text\na,x\na,y\n",
    "open quotation.csv": b'id,text\na,"never closed\nb,c\n',
    "all quotations.csv": b'"' * 10_000,
    "quotations.csv": b'id,text\n' + b'"a,"b"c,"\n' * 200,
    "carriage returns.csv": b"id,text\ra,b\rc,d\r",
    "wide.csv": b",".join(b"c%d" % n for n in range(20_000)) + b"\n" + b"," * 19_999 + b"\n",
    "narrow row.csv": b"id,text\na\n",
    "only separators.csv": b",,,,\n,,,,\n",
    "formulas.csv": b"id,text\n=cmd|' /C calc'!A0,x\n+1,y\n",
    "sep.csv": b"sep=\n",
    "sep only.csv": b"sep=;\n",
    "long line.csv": b"id,text\na," + b"x" * 11_000_000 + b"\nb,y\n",
    "not gzip.csv.gz": b"id,text\na,b\n",
    "cut.csv.gz": gzip.compress(TABLE * 100)[:-20],
    "gzip of rubbish.csv.gz": gzip.compress(bytes(range(256)) * 9),
    "gzip twice.csv.gz": gzip.compress(gzip.compress(TABLE)),
    "bzip.csv.gz": bz2.compress(TABLE),
    "array.jsonl": b"[1, 2]\n",
    "deep.jsonl": b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "deep.json": b"[" * 200_000,
    "cut.json": b'[{"id": "a"}, {"id"',
    "numbers.json": b"[1, 2, 3]",
    "nan.json": b'[{"id": "a", "text": NaN}]',
    "large number.json": b'[{"id": "a", "text": 1' + b"0" * 5000 + b"}]",
    "keys.jsonl": json.dumps({f"k{n}": 1 for n in range(10_001)}).encode() + b"\n",
    "many keys.json": json.dumps([{f"k{n}": 1 for n in range(10_001)}]).encode(),
    "rubbish.parquet": b"PAR1" + b"\xff" * 100 + b"PAR1",
    "cut.parquet": parquet(id=IDS, text=IDS)[:-30],
    "flipped.parquet": parquet(id=IDS * 50, text=IDS * 50).replace(b"a", b"\xf3"),
    "binary id.parquet": parquet(id=[b"\xff", b"\xfe"], text=["x", "y"]),
    "structs.parquet": parquet(id=[{"a": 1}], text=["x"]),
    "no rows.parquet": parquet(id=pa.array([], pa.string()), text=pa.array([], pa.string())),
    "nul.parquet": parquet(id=["a\0"], text=["x"]),
    "not a workbook.xlsx": TABLE,
    "cut.xlsx": BOOK[: len(BOOK) // 2],
    "zip.xlsx": packed({"a.txt": "b"}),
    "no sheet.xlsx": changed(BOOK, SHEET, lambda _: b"<nothing/>"),
    "rubbish sheet.xlsx": changed(BOOK, SHEET, lambda _: b"\xff" * 99),
    "laughs.xlsx": changed(BOOK, SHEET, lambda _: LAUGHS + b"]><l>&j;</l>"),
    "outside.xlsx": changed(
        BOOK, SHEET, lambda _: b'<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a;</l>'
    ),
    "far cell.xlsx": changed(BOOK, SHEET, lambda data: data.replace(b'r="A3"', b'r="XFD1048576"')),
    "odd cell.xlsx": changed(BOOK, SHEET, lambda data: data.replace(b'r="A3"', b'r="!!"')),
    "no string.xlsx": changed(BOOK, "xl/sharedStrings.xml", lambda data: data.replace(b"<si>", b"<no>")),
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600,
    "encrypted.xlsx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600,
    "pickled.npy": PICKLED,
    "cut.npy": npy(np.ones((3, 4)))[:-9],
    "claims much.npy": npy(np.ones((3, 4))).replace(b"(3, 4)", b"(9999999999, 4)"),
    "infinite.npy": npy(np.full((3, 2), np.inf)),
    "three axes.npy": npy(np.ones((3, 2, 2))),
    "texts.npy": npy(np.array(IDS)),
    "pickled.npz": packed({"vectors.npy": PICKLED}),
    "bomb.npz": packed({"vectors.npy": npy(np.zeros((2, 4_000_000)))}),
    "rubbish.npz": b"PK\x03\x04" + b"\xff" * 50,
    "rubbish.mat": b"MATLAB 5.0 MAT-file" + b"\xff" * 200,
    "rubbish.feather": b"ARROW1" + b"\xff" * 200,
    "picture.csv": png(),
    "html.csv": b"<!doctype html><script>alert(1)</script>",
}  # fmt: skip


READERS = [
    lambda path, skip: read_items(path, skip_bad=skip),
    lambda path, skip: read_tags(path, ids=IDS, skip_bad=skip),
    lambda path, skip: read_edges(path, IDS, skip_bad=skip),
    lambda path, _: read_vectors(path, IDS),
]


def refusal(read, path, skip):
    """Why a file is refused; None where it is read."""
    try:
        read(path, skip)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_read_or_refused_in_one_line(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    why = [refusal(read, path, skip) for read in READERS for skip in (False, True)]
    for reason in filter(None, why):
        assert "\n" not in reason
        assert len(reason) < 2000
        assert "root:" not in reason
    found = run("init", tmp_path / "collection", "--items", path, "--edges", path, code=2)
    assert path.name in found.stderr
    assert list(tmp_path.iterdir()) == [path]


ESCAPES = {
    "up": "../evil.txt",
    "far up": "a/../../../../../../tmp/evil-of-lass.txt",
    "absolute": "/tmp/evil-of-lass.txt",
    "windows": "..\\..\\evil.txt",
    "drive": "C:\\evil.txt",
    "drive with slash": "c:/evil.txt",
    "network": "\\\\host\\share\\evil.txt",
    "long": "x" * 300 + ".txt",
}


@pytest.mark.parametrize("name", ESCAPES.values(), ids=ESCAPES)
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    archive, place = tmp_path / "a.zip", tmp_path / "place" / "deep"
    archive.write_bytes(packed({name: "evil", "good.txt": "words"}))
    left = unpack(archive, place, "a.zip")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.zip", "good.txt"]
    assert len(left) == 1
    assert not Path("/tmp/evil-of-lass.txt").exists()
    uploads = Uploads()
    try:
        with pytest.raises((ValueError, OSError), match=r"leads out|too long|no table"):
            uploads.take(None, "items", [(name, io.BytesIO(b"evil"))])
    finally:
        uploads.close()
    assert not list(tmp_path.rglob("evil*"))


def test_links_in_an_archive_are_left_out(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, kind in (
            ("link.txt", stat.S_IFLNK),
            ("pipe.txt", stat.S_IFIFO),
            ("device.txt", stat.S_IFCHR),
        ):
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
        archive.writestr("good.txt", "words")
    (tmp_path / "a.zip").write_bytes(out.getvalue())
    left = unpack(tmp_path / "a.zip", tmp_path / "place", "a.zip")
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["good.txt"]
    assert len(left) == 3


def test_a_link_within_the_place_is_not_written_through(tmp_path):
    archive = tmp_path / "a.zip"
    archive.write_bytes(packed({"x.txt": "first", "x.txt/y.txt": "second", "X.TXT": "third"}))
    left = unpack(archive, tmp_path / "place", "a.zip")
    assert len(left) == 1
    assert (tmp_path / "place" / "x.txt").read_text() == "first"


@pytest.mark.parametrize("bound", ["MOST_TOGETHER", "MOST_BYTES", "MOST_FILES"])
def test_bombs_are_stopped_while_they_unpack(bound, tmp_path, monkeypatch):
    archive = tmp_path / "bomb.zip"
    archive.write_bytes(packed({f"{n}.txt": b"\0" * 2_000_000 for n in range(5)}))
    assert archive.stat().st_size < 20_000
    monkeypatch.setattr(archives, bound, 3 if bound == "MOST_FILES" else 1_000_000)
    if bound == "MOST_BYTES":
        assert len(unpack(archive, tmp_path / "place", "bomb.zip")) == 5
    else:
        with pytest.raises(BadInput, match="split it"):
            unpack(archive, tmp_path / "place", "bomb.zip")
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.txt"))
    assert size <= 1_000_000


def test_what_an_archive_says_of_its_sizes_is_not_believed(tmp_path):
    content = packed({"a.txt": b"x" * 100_000})
    lies = content.replace(struct.pack("<I", 100_000), struct.pack("<I", 10))
    assert lies != content
    (tmp_path / "a.zip").write_bytes(lies)
    left = unpack(tmp_path / "a.zip", tmp_path / "place", "a.zip")
    assert len(left) == 1
    assert not list(tmp_path.rglob("*.txt"))


@pytest.mark.parametrize("content", [b"", b"PK", packed({"a.txt": "b"})[:-10]])
def test_damaged_archives_are_refused(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(BadInput, match=r"^a\.zip: not a sound ZIP file"):
        unpack(tmp_path / "a.zip", tmp_path / "place", "a.zip")


def test_damage_within_an_archive_is_one_file_left_out(tmp_path):
    content = bytearray(packed({"a.txt": "words " * 999, "b.txt": "other"}, zipfile.ZIP_STORED))
    content[200] ^= 255
    (tmp_path / "a.zip").write_bytes(content)
    assert len(unpack(tmp_path / "a.zip", tmp_path / "place", "a.zip")) == 1
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["b.txt"]


PICTURES = {
    "empty.png": b"",
    "text.png": b"not a picture",
    "cut.png": png()[:60],
    "huge.png": huge_png(),
    "svg.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "postscript.png": b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run",
    "icon.gif": b"GIF89a" + b"\xff" * 30,
    "rubbish.webp": b"RIFF\xff\xff\xff\xffWEBPVP8 " + b"\0" * 40,
    "cut.jpg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_bad_picture_is_named(name, tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / name).write_bytes(PICTURES[name])
    (folder / "good.png").write_bytes(png())
    error = run("init", tmp_path / "c", "--items", folder, code=2).stderr
    assert name in error
    assert not (tmp_path / "c").exists()
    assert "1 bad row" in run("init", tmp_path / "c", "--items", folder, "--skip-bad").stdout


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_odd_things_in_a_folder(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "good.txt").write_text("words")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "gone.txt").symlink_to("nowhere.txt")
    (folder / "zero.txt").symlink_to("/dev/zero")
    (folder / "up").symlink_to("..")
    (folder / "folder.txt").mkdir()
    os.mkfifo(folder / "pipe.txt")
    os.close(os.open(os.fsencode(folder) + b"/\xff.txt", os.O_CREAT))
    items = read_items(folder, skip_bad=True)
    assert items.ids == ["good.txt"]
    assert len(items.skipped) == 5
    assert all(ord(sign) >= 32 for row in items.skipped for sign in str(row))
    run("init", tmp_path / "c", "--items", folder, code=2)


def test_a_pipe_as_a_table_is_not_waited_for(tmp_path):
    for name in ("a.csv", "a.json", "a.xlsx", "a.parquet", "a.npy", "a.npz", "a.mat", "a.feather"):
        os.mkfifo(tmp_path / name)
        assert all(refusal(read, tmp_path / name, skip=False) for read in READERS)
