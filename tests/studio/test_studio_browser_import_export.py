"""Import of tables, exports and the report."""

import csv
import io
import json
import re

import pytest
from openpyxl import load_workbook
from playwright.sync_api import expect
from test_studio_browser_accessibility import in_both, violations

from browser import FIXTURES, open_item, options_of, shot, tag_line
from lass import Collection
from studio_server import studio, wait_until_ready

chrome, served, open_page, page = FIXTURES

HOSTILE = "<script>alert('text')</script> and <b>bold</b> <img src=x onerror=alert(1)>"
SUBJECTS = {
    "mail": "a program that reads and sends electronic mail over imap and smtp",
    "game": "an arcade game with levels, enemies and sounds to play alone",
    "music": "plays music files and streams, with playlists and an equalizer",
}


def table():
    """Sixty items in three groups; the first has markup wherever text can be."""
    rows = [
        {
            "name": f"{subject}-{place}",
            "headline": f"The {subject} thing {place}",
            "body": f"{text}, version {place}",
            "labels": f"about::{subject}" if place % 2 else "",
        }
        for subject, text in SUBJECTS.items()
        for place in range(20)
    ]
    rows[0] |= {
        "headline": "<b>A title</b>",
        "body": f"{HOSTILE} electronic mail over smtp",  # unlike the others: points of copies are one
        "labels": "<i>slanted</i>",
    }
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def import_dialog(page):
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name="Import…").click()
    dialog = page.get_by_test_id("import")
    expect(dialog).to_be_visible()
    return dialog


def test_a_table_becomes_a_collection_in_the_page(open_page, tmp_path):
    folder = tmp_path / "new"
    with studio(folder) as running, running.client() as client:
        page = open_page(running, rows=False)
        expect(page.get_by_role("heading", name="This collection has no items yet")).to_be_visible()
        shot(page, "empty")
        page.get_by_role("button", name="Import…").click()
        dialog = page.get_by_test_id("import")
        dialog.get_by_label("Items", exact=True).set_input_files(
            {"name": "things.csv", "mimeType": "text/csv", "buffer": table()}
        )
        shot(page, "import-files")
        dialog.get_by_role("button", name="Preview").click()
        expect(dialog.get_by_role("region", name="The first rows")).to_contain_text("mail-1")
        dialog.get_by_label("Names each item").select_option("name")
        dialog.get_by_label("Title to show").select_option("headline")
        dialog.get_by_label("Tags in a column").select_option("labels")
        for column in ("name", "headline", "labels"):
            dialog.get_by_role("checkbox", name=column, exact=True).uncheck()
        dialog.get_by_role("checkbox", name="body", exact=True).check()
        shot(page, "import-columns")
        dialog.get_by_role("button", name="Import 60 rows").click()
        result = page.get_by_test_id("import-result")
        expect(result).to_contain_text("60 items imported, with 31 annotations on 4 tags")
        shot(page, "import-result")
        dialog.get_by_role("button", name="Done").click()
        expect(page.get_by_test_id("count")).to_have_text("60 items")
        expect(options_of(page).first).to_contain_text("<b>A title</b>")
        with Collection.open(folder) as collection:
            assert collection.ids()[0] == "mail-0"
            assert dict(collection.annotations_of("mail-0")) == {"<i>slanted</i>": 1}
        wait_until_ready(client)
        expect(page.get_by_test_id("model-state")).to_have_attribute("data-phase", "ready")
        # text is text, wherever it comes from
        panel = open_item(page, 0)
        expect(panel.get_by_role("heading", level=2)).to_have_text("<b>A title</b>")
        expect(panel.locator(".text")).to_contain_text(HOSTILE)
        expect(panel.get_by_test_id("annotations")).to_contain_text("<i>slanted</i>")
        page.get_by_role("link", name="Map").click()
        page.get_by_label("Names on the map").uncheck()
        page.get_by_test_id("selected-ring").click(force=True)
        expect(page.get_by_test_id("map-card")).to_contain_text("<b>A title</b>")
        page.get_by_role("link", name="Progress").click()
        expect(page.get_by_test_id("model-card")).to_contain_text("trained on all tags")
        expect(page.get_by_test_id("model-card")).not_to_contain_text("not in the model yet")
        page.get_by_role("link", name="Tags", exact=True).click()
        tag_line(page, "<i>slanted</i>").click()
        expect(page.get_by_test_id("tag-page")).to_contain_text("<i>slanted</i>")
        found = page.evaluate(
            "document.querySelectorAll('main script, main i:not(:empty), main img, main b b').length"
        )
        assert found == 0
        page.close()


def test_columns_in_another_language_are_proposed_and_choices_remembered(open_page, tmp_path):
    kinds = ("Obst, rot", "Obst, gelb", "Gemüse", "")
    rows = [f"{n};Titel {n};ein Text über die Sache {n};Regal {n % 3};{kinds[n % 4]}" for n in range(40)]
    table = "\n".join(["Nr;Überschrift;Inhalt;Ort;Stichworte", *rows]).encode("cp1252")
    with studio(tmp_path / "new") as running:
        page = open_page(running, rows=False)
        page.get_by_role("button", name="Import…").click()
        dialog = page.get_by_test_id("import")
        preview(dialog, "Liste.csv", table)
        expect(dialog.get_by_label("Names each item")).to_have_value("Nr")
        expect(dialog.get_by_label("Title to show")).to_have_value("Überschrift")
        expect(dialog.get_by_label("Tags in a column")).to_have_value("Stichworte")
        expect(dialog.get_by_test_id("found")).to_contain_text("40 rows, with 50 annotations on 4 tags")
        for column, chosen in {"Nr": False, "Überschrift": True, "Inhalt": True, "Ort": False}.items():
            box = dialog.get_by_role("checkbox", name=column, exact=True)
            expect(box).to_be_checked(checked=chosen)
        dialog.get_by_label("Tags in a column").select_option("Ort")
        expect(dialog.get_by_test_id("found")).to_contain_text("40 annotations on 3 tags")
        dialog.get_by_role("button", name="Import 40 rows").click()
        expect(page.get_by_test_id("import-result")).to_contain_text("40 items imported")
        expect(page.get_by_test_id("import-result")).to_contain_text("The model is being trained")
        dialog.get_by_role("button", name="Import more").click()
        preview(dialog, "Liste.csv", table)
        expect(dialog.get_by_label("Tags in a column")).to_have_value("Ort")
        page.keyboard.press("Escape")
        # the title is a column of the text too, and is shown once
        first = options_of(page).first
        expect(first.locator(".title")).to_have_text("Titel 0")
        assert first.inner_text().count("Titel 0") == 1
        first.click()
        panel = page.get_by_test_id("panel")
        expect(panel.locator("p.text")).to_have_text("ein Text über die Sache 0")
        page.close()


def preview(dialog, name, content):
    dialog.get_by_label("Items", exact=True).set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}
    )
    dialog.get_by_role("button", name="Preview").click()


def refused(dialog, why):
    alert = dialog.get_by_role("alert").filter(has_text="This did not work.")
    expect(alert).to_contain_text(why)
    expect(alert).to_contain_text("Nothing was changed")


def test_a_bad_file_is_refused_with_a_reason(page, served):
    page.monitor.ignore_errors = True
    dialog = import_dialog(page)
    preview(dialog, "binary.csv", bytes(range(256)) * 4)
    refused(dialog, "binary.csv")
    preview(dialog, "broken.csv", b'name,body\na,hello\n"never closed,text\nc,more\n')
    dialog.get_by_role("checkbox", name="body", exact=True).check()
    problems = dialog.get_by_test_id("problems")
    expect(problems).to_contain_text("line 3: a quotation that begins in this row never ends")
    expect(dialog.get_by_role("button", name=re.compile("^Import "))).to_be_disabled()
    assert served.get("/api/state")["items"] == 500


def test_a_file_of_which_no_row_can_be_read_is_explained(page):
    page.monitor.ignore_errors = True
    dialog = import_dialog(page)
    preview(dialog, "broken.csv", b'name,body\n"never closed,text\n')
    refused(dialog, "a quotation that begins in this row never ends")


def test_a_file_of_another_kind_is_refused_before_it_is_sent(page):
    dialog = import_dialog(page)
    dialog.get_by_label("Items", exact=True).set_input_files(
        {"name": "letter.docx", "mimeType": "application/msword", "buffer": b"text"}
    )
    expect(dialog).to_contain_text("“letter.docx” is not a table that can be read here")
    expect(dialog.get_by_role("button", name="Preview")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def export_dialog(page):
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name="Export…").click()
    dialog = page.get_by_test_id("export")
    expect(dialog).to_be_visible()
    return dialog


def exported(page, folder, what, format=None, *, raw=False):
    dialog = export_dialog(page)
    dialog.get_by_role("radio", name=re.compile(f"^{what}")).check()
    if format:
        dialog.get_by_label("Format").select_option(format)
    if raw:
        dialog.get_by_role("checkbox").check()
    with page.expect_download() as download:
        dialog.get_by_role("link", name="Export").click()
    expect(dialog).to_be_hidden()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_exports_are_files(page, served, tmp_path):
    with Collection.open(served.folder) as collection:
        G, ids = collection.annotation_matrix().G, collection.ids()
    table = exported(page, tmp_path, "Your table, with tags")
    assert table.name == "table.xlsx"
    names, *rows = load_workbook(table).active.iter_rows(values_only=True)
    assert [row[names.index("id")] for row in rows] == ids
    semicolons = exported(page, tmp_path, "Your table, with tags", "semicolons")
    with semicolons.open(newline="", encoding="utf-8-sig") as lines:
        assert [row["id"] for row in csv.DictReader(lines, delimiter=";")] == ids
    tags = exported(page, tmp_path, "Tags One row an item and tag", "csv")
    with tags.open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) == G.nnz
    suggestions = exported(page, tmp_path, "Suggestions", "jsonl")
    found = [json.loads(line) for line in suggestions.read_text().splitlines()]
    assert found
    assert {"item", "tag"} <= set(found[0])
    people = json.loads(exported(page, tmp_path, "Tags, with who and when", "json").read_text())
    assert {"item", "tag", "value", "who", "at"} == set(people[0])
    assignments = exported(page, tmp_path, "Model shares", "csv", raw=True)
    with assignments.open(newline="") as lines:
        assert len({line["item"] for line in csv.DictReader(lines)}) > 400


def test_a_workbook_and_json_have_no_choice_of_raw_texts(page):
    dialog = export_dialog(page)
    expect(dialog.get_by_role("checkbox")).to_have_count(0)
    dialog.get_by_label("Format").select_option("csv")
    expect(dialog.get_by_role("checkbox")).to_be_visible()
    dialog.get_by_label("Format").select_option("json")
    expect(dialog.get_by_role("checkbox")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize("size", [(1280, 800), (390, 800)], ids=["wide", "narrow"])
def test_the_dialogs_are_accessible(size, open_page, served):
    page = open_page(served.studio, size=size)
    wrong = {}

    def check(name):
        wrong.update(in_both(page, name, violations))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        box = page.locator("dialog[open]").bounding_box()
        assert 0 <= box["x"] <= size[0] - box["width"]
        assert page.evaluate(
            "[...document.querySelectorAll('dialog[open] .body')].every("
            "body => body.scrollWidth <= body.clientWidth)"
        )

    dialog = export_dialog(page)
    check("export")
    page.keyboard.press("Escape")
    dialog = import_dialog(page)
    dialog.get_by_text("Vectors or edges").click()
    check("import-files")
    fits = "fields => fields.every(field => field.scrollHeight <= field.clientHeight)"
    assert page.locator(".drop").evaluate_all(fits)
    rows = "name;summary\ncafé;Größe und Länge von allem\nthé;ein anderer Text dazu\nbad\n"
    preview(dialog, "excel.csv", rows.encode("cp1252"))
    problem = "excel.csv, line 4: 1 cells where the header has 2"
    expect(dialog.get_by_test_id("problems")).to_contain_text(problem)
    # what the button waits for is in sight, without scrolling
    expect(dialog.get_by_label("Leave out rows that cannot be read")).to_be_in_viewport()
    check("import-columns")
    assert {name: found for name, found in wrong.items() if found} == {}
    page.close()


def test_the_encoding_is_shown_and_can_be_changed(page):
    dialog = import_dialog(page)
    preview(dialog, "excel.csv", "name;summary\ncafé;Größe und Länge von allem\n".encode("cp1252"))
    encoding = dialog.get_by_label("Letters are read as")
    expect(encoding.locator("option").first).to_have_text("found by itself: Western (Windows, cp1252)")
    table = dialog.get_by_role("region", name="The first rows")
    expect(table).to_contain_text("café")
    encoding.select_option("cp1251")
    expect(table).to_contain_text("caf\u0439")
    encoding.select_option("")
    expect(table).to_contain_text("café")


def test_an_encoding_that_does_not_fit_can_be_changed(page):
    page.monitor.ignore_errors = True
    dialog = import_dialog(page)
    rows = "\u0438\u043c\u044f;\u0442\u0435\u043a\u0441\u0442\nd-1;\u0441\u0430\u0434\n"
    preview(dialog, "words.csv", rows.encode("cp1251"))
    refused(dialog, "choose another under Letters are read as")
    dialog.get_by_label("Letters are read as").select_option("cp1251")
    expect(dialog.get_by_role("region", name="The first rows")).to_contain_text("\u0441\u0430\u0434")


def test_where_vectors_come_with_texts_it_is_said_what_counts(open_page, tmp_path):
    with studio(tmp_path / "new") as running:
        page = open_page(running, rows=False)
        page.get_by_role("button", name="Import…").click()
        dialog = page.get_by_test_id("import")
        dialog.get_by_text("Vectors or edges").click()
        rows = b"id,a,b\nx,1,2\ny,2,1\n"
        dialog.get_by_label("Vectors to compare items by").set_input_files(
            {"name": "vectors.csv", "mimeType": "text/csv", "buffer": rows}
        )
        preview(dialog, "items.csv", b"id,text\nx,some text\ny,another text\n")
        expect(dialog.get_by_test_id("by-vectors")).to_contain_text("compared by the vectors alone")
        page.close()


def test_bad_rows_are_shown_and_left_out_only_when_chosen(page, served):
    dialog = import_dialog(page)
    preview(dialog, "rows.csv", b"name,summary\nnew-1,some text of some terms\nbad\n")
    expect(dialog.get_by_test_id("problems")).to_contain_text("rows.csv, line 3")
    button = dialog.get_by_role("button", name="Import 1 row")
    expect(button).to_be_disabled()
    expect(dialog.get_by_role("status")).to_contain_text("Leave out the rows that cannot be read")
    dialog.get_by_role("checkbox", name="Leave out rows that cannot be read").check()
    expect(button).to_be_enabled()


def test_known_items_are_updated_or_left_out_and_columns_are_remembered(open_page, tmp_path):
    table = b"key,about,more\na,some text of a,x\nb,some text of b,y\n"
    with studio(tmp_path / "new") as running:
        page = open_page(running, rows=False)
        page.get_by_role("button", name="Import…").click()
        dialog = page.get_by_test_id("import")
        preview(dialog, "first.csv", table)
        dialog.get_by_label("Title to show").select_option("more")
        dialog.get_by_role("button", name="Import 2 rows").click()
        expect(page.get_by_test_id("import-result")).to_contain_text("2 items imported")
        dialog.get_by_role("button", name="Import more").click()
        preview(dialog, "second.csv", table.replace(b"some text of a", b"another text") + b"c,text of c,z\n")
        expect(dialog.get_by_label("Title to show")).to_have_value("more")
        expect(dialog).to_contain_text("2 rows about items that are there already")
        choice = dialog.get_by_label("Update the items")
        expect(choice).to_be_in_viewport()
        assert choice.bounding_box()["y"] < dialog.get_by_test_id("found").bounding_box()["y"]
        expect(dialog.get_by_role("button", name="Import 1 row, leave out 2 rows")).to_be_enabled()
        choice.check()
        shot(page, "import-known")
        dialog.get_by_role("button", name="Import 1 row, update 2 items").click()
        result = page.get_by_test_id("import-result")
        expect(result).to_contain_text("1 item imported")
        expect(result).to_contain_text("1 item updated.")
        dialog.get_by_role("button", name="Import more").click()
        preview(dialog, "third.csv", table.replace(b"some text of b", b"never"))
        # what would do nothing cannot be pressed, and says why
        expect(dialog.get_by_role("button", name="Leave out 2 rows")).to_be_disabled()
        expect(dialog.get_by_role("status")).to_contain_text("All of these items are there already")
        page.keyboard.press("Escape")
        dialog = import_dialog(page)
        dialog.get_by_label("Tables of tags").set_input_files(
            {"name": "tags.csv", "mimeType": "text/csv", "buffer": b"item,tag\na,red\nb,blue\n"}
        )
        dialog.get_by_role("button", name="Preview").click()
        expect(dialog.get_by_test_id("found")).to_contain_text("2 annotations on 2 tags")
        dialog.get_by_role("button", name="Import 2 annotations").click()
        expect(result).to_contain_text("0 items imported, with 2 annotations on 2 tags")
        page.close()
    with Collection.open(tmp_path / "new") as collection:
        assert [item.text for item in collection.get_items()] == [
            "another text",
            "some text of b",
            "text of c",
        ]
        assert [one[:3] for one in collection.annotations] == [("a", "red", 1), ("b", "blue", 1)]


def test_a_folder_of_pictures_becomes_a_collection(open_page, tmp_path):
    from PIL import Image

    pictures = tmp_path / "my pictures"
    (pictures / "deep").mkdir(parents=True)
    for number, name in enumerate(["a.png", "deep/b.png", "c.png"]):
        Image.new("RGB", (40, 30), (80 * number, 90, 30)).save(pictures / name)
    (pictures / "notes.doc").write_text("not read")
    with studio(tmp_path / "new") as running:
        page = open_page(running, rows=False)
        page.get_by_role("button", name="Import…").click()
        dialog = page.get_by_test_id("import")
        dialog.get_by_label("Folder of texts or pictures").set_input_files(pictures)
        dialog.get_by_role("button", name="Preview").click()
        expect(dialog.get_by_test_id("found")).to_contain_text("3 pictures, such as a.png, c.png, deep/b.png")
        dialog.get_by_role("button", name="Import 3 pictures").click()
        expect(page.get_by_test_id("import-result")).to_contain_text("3 items imported")
        page.close()
    assert (tmp_path / "new" / "pictures" / "deep" / "b.png").is_file()


def test_the_report_is_a_page_to_keep(page, tmp_path):
    page.get_by_role("button", name="Import / Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Report").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    assert "Packages" in path.read_text()
