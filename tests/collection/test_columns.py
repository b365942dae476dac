"""Which columns hold ids, titles, texts and tags: by names in any language, and by what is in them."""

import pytest

from command_line import run
from lass import Collection
from lass.collection.reading.columns import find_columns, plain_name
from lass.collection.reading.errors import BadRowLog
from lass.collection.reading.tables import any_table

KINDS = ("mail", "games", "music", "news")


def found(rows):
    table = any_table(rows, BadRowLog("items"), ())
    return find_columns(table, [list(row.values()) for row in rows])


def rows_with(name, value, count=40):
    return [{"key": f"k{n}", "about": f"some text about thing {n}", name: value(n)} for n in range(count)]


def several(n):
    return ", ".join(KINDS[: n % 4])


@pytest.mark.parametrize(
    "name",
    ["tags", "Schlagwörter", "Stichworte", "Mots-clés", "mots_clés", "Etiquetas", "PALABRAS CLAVE",
     "Keywords", "Categories", "Subject", "Słowa kluczowe", "ключевые слова", "标签", "タグ", "Kategorie"],
)  # fmt: skip
def test_tags_by_name_in_any_language(name):
    assert found(rows_with(name, several, 4)).tags == name
    whole = found(rows_with(name, several))
    assert (whole.tags, whole.sure, whole.text) == (name, True, ["about"])


def test_tags_by_what_is_in_the_cells():
    assert found(rows_with("what", several)) == found(rows_with("what", several))
    assert (found(rows_with("what", several)).tags, found(rows_with("what", several)).sure) == ("what", True)
    lists = found(rows_with("what", lambda n: list(KINDS[: n % 4])))
    assert (lists.tags, lists.sure) == ("what", True)
    alone = found(rows_with("Ressort", lambda n: KINDS[n % 4]))
    assert (alone.tags, alone.sure) == ("Ressort", False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("subject", lambda n: f"Re: a question about number {n}, and others"),
        ("subject", lambda n: f"question{n}"),
        ("keywords", lambda n: f"{n}, {n + 1}"),
        ("size", lambda n: n % 3),
        ("when", lambda n: f"2024-01-0{n % 5}"),
        ("done", lambda n: ("yes", "no")[n % 2]),
        ("author", lambda n: f"{('Smith', 'Jones')[n % 2]}, {('Ann', 'Bob', 'Eve')[n % 3]}"),
        ("place", lambda n: f"Street {n}, {KINDS[n % 4]}"),
        ("link", lambda n: f"https://example.org/{n % 3}"),
        ("remarks", lambda n: "mended, cleaned and put back where it was before"),
    ],
)
def test_what_is_no_column_of_tags(name, value):
    assert found(rows_with(name, value)).tags is None


def test_of_two_categories_neither_is_proposed():
    rows = [row | {"more": KINDS[row["n"] % 3]} for row in rows_with("kind", lambda n: KINDS[n % 4])
            for row in [row | {"n": int(row["key"][1:])}]]  # fmt: skip
    assert found(rows).tags is None


def test_an_id_does_not_recur():
    rows = [{"Genre": KINDS[n % 4], "Signatur": f"S {n}", "Inhalt": f"ein Text zu {n}"} for n in range(20)]
    assert (found(rows).id, found(rows).tags, found(rows).text) == ("Signatur", "Genre", ["Inhalt"])


def test_items_without_an_id_are_named_by_their_rows(tmp_path):
    rows = [
        {"Absender": KINDS[n % 4], "Betreff": "Frage", "Anliegen": "wie geht es weiter"} for n in range(20)
    ]
    assert found(rows).id == "row number"
    table = written(tmp_path / "mails.csv", rows)
    out = run("init", tmp_path / "c", "--items", table, "--embed", "none").stdout
    assert "20 items" in out
    assert "items are named by their row number, since values of the first column recur; or --id" in out
    run("tag", tmp_path / "c", "3", "+urgent", "--new")
    run("export", tmp_path / "c", "--what", "table", "--out", tmp_path / "out.xlsx")
    run("init", tmp_path / "d", "--items", tmp_path / "out.xlsx", "--embed", "none", "--id", "row number",
        "--title", "Betreff", "--text", "Betreff", "--tag-column", "tags")  # fmt: skip
    with Collection.open(tmp_path / "c") as one, Collection.open(tmp_path / "d") as other:
        assert one.ids() == other.ids() == [str(n) for n in range(1, 21)]
        assert dict(other.annotations_of("3")) == {"urgent": 1}
        assert one.settings.table["columns"] == ["row number", "Absender", "Betreff", "Anliegen"]
    assert "20 rows" in run("add", tmp_path / "c", "--items", table, "--existing", "keep").stdout


def test_free_texts_and_titles():
    mails = [{"Nr": n, "Betreff": f"Frage {n}", "Anliegen": f"wie geht es mit {n} weiter"} for n in range(9)]
    assert (found(mails).title, found(mails).text) == ("Betreff", ["Betreff", "Anliegen"])
    assert plain_name("Mots-clés (2)") == "mots cles 2"


def written(path, rows, separator=";"):
    lines = [separator.join(rows[0]), *(separator.join(map(str, row.values())) for row in rows)]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    return path


def test_lass_init_finds_columns_and_says_so(tmp_path):
    rows = [
        {"Paket": f"p{n}", "Über": f"ein Programm für die Sache {n}", "Schlagwörter": several(n)}
        for n in range(40)
    ]
    table = written(tmp_path / "programme.csv", rows)
    out = run("init", tmp_path / "c", "--items", table, "--embed", "none").stdout
    assert "40 items, 3 tags, 60 annotations" in out
    assert "tags are in column 'Schlagwörter'; another: --tag-column, none: --tag-column ''" in out
    assert "items are compared by the texts of 'Über'; others: --text" in out
    with Collection.open(tmp_path / "c", read_only=True) as collection:
        assert collection.settings.features == {"kind": "text", "columns": ["Über"]}
    out = run("init", tmp_path / "d", "--items", table, "--embed", "none", "--tag-column", "").stdout
    assert "40 items, 0 tags" in out
    assert "tags are in" not in out
    kinds = [{"id": row["Paket"], "text": row["Über"], "Ressort": KINDS[n % 4]} for n, row in enumerate(rows)]
    out = run(
        "init", tmp_path / "e", "--items", written(tmp_path / "kinds.csv", kinds), "--embed", "none"
    ).stdout
    assert "40 items, 0 tags" in out
    assert "column 'Ressort' may hold tags; if so: --tag-column 'Ressort'" in out
