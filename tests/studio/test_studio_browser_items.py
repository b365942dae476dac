"""The list of items, worked by mouse and by keys alone."""

import re

from playwright.sync_api import expect

from browser import FIXTURES, MINUS, options_of, pick, until
from lass import Collection

chrome, served, open_page, page = FIXTURES

#: whether a suggestion's bar has about some length, in per cent
BAR = """([chips, place, wanted]) => {
    const chip = document.querySelectorAll(chips)[place];
    return chip && Math.abs(parseFloat(getComputedStyle(chip).backgroundSize) - wanted) < 1;
}"""
FILTERS = {
    "All items": "all", "Untagged": "untagged", "Tagged": "tagged", "Doubtful": "doubtful",
    "Recently changed": "changed", "Next to label": "next",
}  # fmt: skip


def count_of(page):
    return page.get_by_test_id("count")


def items(number):
    return f"{number} item" if number == 1 else f"{number} items"


def test_few_rows_are_drawn_and_the_last_can_be_reached(page):
    expect(count_of(page)).to_have_text("500 items")
    rows = options_of(page)
    assert rows.count() < 60
    box = page.get_by_test_id("item-list")
    box.hover()
    page.mouse.wheel(0, 500 * 60)
    last = page.locator("[role=option][data-row='499']")
    expect(last).to_be_in_viewport()
    expect(last.locator(".title")).not_to_be_empty()
    assert rows.count() < 60
    expect(last).to_have_attribute("aria-posinset", "500")


def test_search_finds_what_the_server_finds(page, served):
    field = page.get_by_role("searchbox", name="Search items")
    field.press_sequentially("mail client", delay=20)
    found = served.get("/api/list", text="mail client")["rows"]
    assert found
    expect(count_of(page)).to_have_text(items(len(found)))
    expect(options_of(page).first).to_have_attribute("data-row", str(found[0]))
    field.fill("no such text anywhere")
    expect(page.get_by_test_id("nothing-found")).to_be_visible()
    page.get_by_role("button", name="Show all items").click()
    expect(count_of(page)).to_have_text("500 items")
    expect(field).to_have_value("")


def test_every_filter(page, served):
    row = served.get("/api/list", filter="untagged")["rows"][-1]
    served.post("/api/annotations", annotations=[{"row": row, "tag": 0, "value": -1}], who="filter")
    chosen = page.get_by_role("combobox", name="Filter")
    for name, filter in FILTERS.items():
        chosen.select_option(name)
        rows = served.get("/api/list", filter=filter)["rows"]
        assert rows or filter == "doubtful"
        expect(count_of(page)).to_have_text(items(len(rows)))
        page.get_by_test_id("item-list").evaluate("list => { list.scrollTop = 0 }")
        if rows:
            expect(options_of(page).first).to_have_attribute("data-row", str(rows[0]))
    # the address holds it: a reload shows the same
    page.reload()
    expect(count_of(page)).to_have_text(items(len(rows)))
    expect(chosen).to_have_value("next")


def test_items_of_a_tag_by_its_annotation(page, served):
    with Collection.open(served.folder) as collection:
        annotations = collection.annotation_matrix()
    tag = int((annotations.G > 0).sum(axis=0).argmax())
    name = annotations.names[tag]
    bare = next(row for row in range(500) if annotations.G[row, tag] == 0)
    served.post("/api/annotations", annotations=[{"row": bare, "tag": tag, "value": -1}], who="sign")
    with Collection.open(served.folder) as collection:
        column = collection.annotation_matrix().G[:, tag].toarray().ravel()
    pick(page, "Only items with a tag", name)
    expect(page.get_by_test_id("tag-filter")).to_contain_text(name.rpartition("::")[2])
    expect(count_of(page)).to_have_text(items((column > 0).sum()))
    sign = page.get_by_role("combobox", name=f"Condition on {name}")
    sign.select_option("without")
    expect(count_of(page)).to_have_text(items((column <= 0).sum()))
    sign.select_option("is not")
    expect(count_of(page)).to_have_text(items((column < 0).sum()))
    sign.select_option("suggested")
    likely = served.get("/api/list", tag=f"{tag}:suggested")["rows"]
    expect(count_of(page)).to_have_text(items(len(likely)))
    page.get_by_role("button", name=f"Remove the condition on {name}").click()
    expect(count_of(page)).to_have_text("500 items")


def test_tags_and_suggestions_look_different(page, served):
    row = next(
        row for row in served.get("/api/rows", rows=",".join(map(str, range(12)))) if not row["annotations"]
    )
    # few enough that all of them fit
    yes, no = (one["tag"] for one in sorted(served.get("/api/tags"), key=lambda one: len(one["name"]))[:2])
    annotations = [{"row": row["row"], "tag": tag, "value": value} for tag, value in ((yes, 1), (no, -1))]
    served.post("/api/annotations", annotations=annotations, who="signs")
    shown = page.locator(f"#item-{row['row']}")
    struck = shown.locator(".is-not")
    expect(struck).to_contain_text(MINUS)
    expect(struck.locator(".name")).to_have_css("text-decoration-line", "line-through")
    expect(shown.locator(".is").first).to_contain_text("+")
    page.get_by_role("combobox", name="Filter").select_option("Untagged")
    served.settle()
    rows = served.get("/api/list", filter="untagged")["rows"]
    suggestions = served.get("/api/rows", rows=str(rows[0]))[0]["suggestions"]
    chips = page.locator(f"#item-{rows[0]} .maybe")
    expect(chips.first).to_be_visible()
    assert 1 <= chips.count() <= len(suggestions)  # as many as fit
    for place, one in enumerate(suggestions[: chips.count()]):
        expect(chips.nth(place)).to_contain_text(re.compile(r"\d+ %"))
        # the bar is as long as the score, once the page has the new predictions
        until(page, BAR, [f"#item-{rows[0]} .maybe", place, 100 * one["score"]])
