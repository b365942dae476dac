"""Search by phrases, tags and near words; hits, addresses and long texts as people see them."""

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, Served, open_item, options_of
from lass import Collection
from lass.collection import Item
from studio_server import studio

chrome, _, open_page, page = FIXTURES

LONG = "A title that goes on and on about parcels, " * 12


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search") / "own"
    items = [
        Item("words", "Client and mail", "neither is beside the other"),
        Item("phrase", "Post", "an old mail client of ours"),
        Item("tagged", "Letters", "nothing of the kind"),
        Item("long", LONG, "See https://example.org/a?b=1, please. " + "Much text about parcels. " * 80),
        *(Item(f"i{n}", f"Item {n}", f"about chess and pawns {n}") for n in range(20)),
    ]
    annotations = [("tagged", "use::mail client", 1), *((f"i{n}", "game", 1) for n in range(5))]
    Collection.create(folder, items, [], annotations).close()
    with studio(folder) as running, running.client() as client:
        yield Served(running, client, folder)


def test_phrases_then_tags_then_all_the_parts(page, served):
    field = page.get_by_role("searchbox", name="Search items")
    field.fill("mail client")
    expect(page.get_by_test_id("count")).to_have_text("3 items")
    titles = options_of(page).locator(".title")
    expect(titles).to_have_text(["Post", "Letters", "Client and mail"])
    marks = options_of(page).nth(2).locator(".title mark")
    expect(marks).to_have_text(["Client", "mail"])
    field.fill('"mail client"')
    expect(page.get_by_test_id("count")).to_have_text("2 items")
    tag = page.get_by_title("Only items with this tag", exact=True).and_(page.get_by_role("button"))
    field.fill("mail client")
    tag.click()
    expect(field).to_have_value("")
    expect(page.get_by_test_id("count")).to_have_text("1 item")


def test_near_words_are_found_named_and_marked(page):
    page.get_by_role("searchbox", name="Search items").fill("prcels")
    expect(page.get_by_test_id("near-words")).to_have_text("near: parcels")
    expect(page.get_by_test_id("count")).to_have_text("1 item")
    panel = page.get_by_test_id("panel")
    expect(panel.locator(".text mark").first).to_have_text("parcels")


def test_addresses_lead_out_and_long_titles_and_texts_fold(page):
    panel = open_item(page, 3)
    link = panel.get_by_role("link", name="https://example.org/a?b=1")
    expect(link).to_have_attribute("href", "https://example.org/a?b=1")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    heading = panel.get_by_role("heading", level=2)
    folded = heading.bounding_box()["height"]
    panel.get_by_role("button", name="Whole title").click()
    assert heading.bounding_box()["height"] > folded + 20
    text = panel.locator("p.text")
    assert text.evaluate("one => one.scrollHeight - one.clientHeight") < 5
