"""Import of tables, exports and the report."""

import csv
import io
import json
import re

from playwright.sync_api import expect

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
        "body": f"{HOSTILE} {rows[0]['body']}",
        "labels": "<i>slanted</i>",
    }
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def import_dialog(page):
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name="Import items…").click()
    dialog = page.get_by_test_id("import")
    expect(dialog).to_be_visible()
    return dialog


def test_a_table_becomes_a_collection_in_the_page(open_page, tmp_path):
    folder = tmp_path / "new"
    with studio(folder) as running, running.client() as client:
        page = open_page(running, rows=False)
        expect(page.get_by_role("heading", name="This collection has no items yet")).to_be_visible()
        shot(page, "empty")
        page.get_by_role("button", name="Import items…").click()
        dialog = page.get_by_test_id("import")
        dialog.get_by_label("Table of items").set_input_files(
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


def preview(dialog, name, content):
    dialog.get_by_label("Table of items").set_input_files(
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
    dialog.get_by_role("button", name=re.compile("^Import ")).click()
    refused(dialog, "line 3: a quotation that begins in this row never ends")
    assert served.get("/api/state")["items"] == 500


def test_a_file_of_which_no_row_can_be_read_is_explained(page):
    page.monitor.ignore_errors = True
    dialog = import_dialog(page)
    preview(dialog, "broken.csv", b'name,body\n"never closed,text\n')
    refused(dialog, "a quotation that begins in this row never ends")


def test_a_file_of_another_kind_is_refused_before_it_is_sent(page):
    dialog = import_dialog(page)
    dialog.get_by_label("Table of items").set_input_files(
        {"name": "letter.docx", "mimeType": "application/msword", "buffer": b"text"}
    )
    expect(dialog).to_contain_text("“letter.docx” is not a table that can be read here")
    expect(dialog.get_by_role("button", name="Preview")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_exports_and_the_report_are_files(page, served, tmp_path):
    def fetched(name):
        page.get_by_role("button", name="Import / Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=name).click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        return path

    with Collection.open(served.folder) as collection:
        G = collection.annotation_matrix().G
    table = fetched("Tags .csv")
    assert table.name == "annotations.csv"
    with table.open(newline="") as lines:
        assert len(list(csv.DictReader(lines))) == G.nnz
    suggestions = fetched("Suggestions .jsonl")
    found = [json.loads(line) for line in suggestions.read_text().splitlines()]
    assert found
    assert {"item", "tag"} <= set(found[0])
    assignments = fetched("Model shares .csv")
    with assignments.open(newline="") as lines:
        assert len({line["item"] for line in csv.DictReader(lines)}) > 400


def test_the_report_is_a_page_to_keep(page, tmp_path):
    page.get_by_role("button", name="Import / Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Report").click()
    path = tmp_path / "report.html"
    download.value.save_as(path)
    assert "Packages" in path.read_text()
