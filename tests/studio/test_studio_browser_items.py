"""The list of items, worked by mouse and by keys alone."""

import re

from playwright.sync_api import expect

from browser import FIXTURES, MINUS, open_item, options_of, pick, selected, stored, until
from lass.collection import Collection

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
    field.fill("no such words anywhere")
    expect(page.get_by_test_id("nothing-found")).to_be_visible()
    page.get_by_role("button", name="Show all items").click()
    expect(count_of(page)).to_have_text("500 items")
    expect(field).to_have_value("")


def test_every_filter(page, served):
    row = served.get("/api/list", filter="untagged")["rows"][-1]
    served.post("/api/words", words=[{"row": row, "tag": 0, "value": -1}], who="filter")
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


def test_items_of_a_tag_by_what_is_said_of_it(page, served):
    with Collection.open(served.folder) as collection:
        words = collection.annotations()
    tag = int((words.G > 0).sum(axis=0).argmax())
    name = words.names[tag]
    bare = next(row for row in range(500) if words.G[row, tag] == 0)
    served.post("/api/words", words=[{"row": bare, "tag": tag, "value": -1}], who="sign")
    with Collection.open(served.folder) as collection:
        column = collection.annotations().G[:, tag].toarray().ravel()
    pick(page, "Only items with a tag", name)
    expect(page.get_by_test_id("tag-filter")).to_contain_text(name.rpartition("::")[2])
    expect(count_of(page)).to_have_text(items((column > 0).sum()))
    sign = page.get_by_role("combobox", name="What is said of the tag")
    sign.select_option("is not")
    expect(count_of(page)).to_have_text(items((column < 0).sum()))
    sign.select_option("suggested")
    likely = served.get("/api/list", tag=tag, sign="suggested")["rows"]
    expect(count_of(page)).to_have_text(items(len(likely)))
    page.get_by_role("button", name="Remove the filter by tag").click()
    expect(count_of(page)).to_have_text("500 items")


def test_said_and_suggested_tags_can_be_told_apart(page, served):
    row = next(row for row in served.get("/api/rows", rows=",".join(map(str, range(9)))) if row["stated"])
    no = row["suggested"][0]["tag"]
    served.post("/api/words", words=[{"row": row["row"], "tag": no, "value": -1}], who="signs")
    shown = page.locator(f"#item-{row['row']}")
    struck = shown.locator(".is-not")
    expect(struck).to_contain_text(MINUS)
    expect(struck.locator(".name")).to_have_css("text-decoration-line", "line-through")
    expect(shown.locator(".is").first).to_contain_text("+")
    page.get_by_role("combobox", name="Filter").select_option("Untagged")
    served.settle()
    rows = served.get("/api/list", filter="untagged")["rows"]
    told = served.get("/api/rows", rows=str(rows[0]))[0]["suggested"]
    chips = page.locator(f"#item-{rows[0]} .maybe")
    expect(chips).to_have_count(len(told))
    for place, one in enumerate(told):
        expect(chips.nth(place)).to_contain_text(re.compile(r"\d+ %"))
        # the bar is as long as the suggestion is likely, once the page has heard of what was learnt
        until(page, BAR, [f"#item-{rows[0]} .maybe", place, 100 * one["score"]])


def test_a_session_by_keys_alone(page, served):
    rows = served.get("/api/list")["rows"]
    press = page.keyboard.press
    assert selected(page) == rows[0]
    for key, place in [
        ("j", 1),
        ("j", 2),
        ("ArrowDown", 3),
        ("k", 2),
        ("ArrowUp", 1),
        ("End", 499),
        ("Home", 0),
    ]:
        press(key)
        expect(page.get_by_test_id("panel")).to_have_attribute("data-row", str(rows[place]))
    row = served.get("/api/list", filter="untagged")["rows"][0]
    panel = open_item(page, row)
    item = served.get(f"/api/items/{row}")
    tags = served.get("/api/tags")
    names = [tags[one["tag"]]["name"] for one in item["reasons"]]
    suggestions = panel.get_by_test_id("suggestions").locator("li")
    expect(suggestions.first).to_have_attribute("data-tag", names[0])
    shown = suggestions.evaluate_all("rows => rows.map(row => row.dataset.tag)")

    def after(key, wanted):
        with stored(page):
            press(key)
        assert served.said(item["id"]) == wanted

    after("1", {shown[0]: 1})
    expect(suggestions.nth(0)).to_contain_text("✓ is")
    after("Shift+Digit2", {shown[0]: 1, shown[1]: -1})
    expect(suggestions.nth(1)).to_contain_text("✗ is not")
    after("a", {shown[0]: 1, shown[1]: -1, shown[2]: 1})
    after("x", {shown[0]: 1, shown[1]: -1, shown[2]: 1, shown[3]: -1})
    after("u", {shown[0]: 1, shown[1]: -1, shown[2]: 1})
    after("Control+z", {shown[0]: 1, shown[1]: -1})
    after("Shift+U", {shown[0]: 1, shown[1]: -1, shown[2]: 1})
    for wanted in ({shown[0]: 1, shown[1]: -1}, {shown[0]: 1}, {}):
        after("u", wanted)
    expect(panel.get_by_test_id("stated")).to_contain_text("Nothing yet")


def test_keys_for_search_next_tags_and_help(page, served):
    press = page.keyboard.press
    press("/")
    field = page.get_by_role("searchbox", name="Search items")
    expect(field).to_be_focused()
    press("Escape")
    expect(page.get_by_test_id("item-list")).to_be_focused()
    press("n")
    expect(page.get_by_role("combobox", name="Filter")).to_have_value("next")
    queue = served.get("/api/list", filter="next")["rows"]
    expect(page.get_by_test_id("panel")).to_have_attribute("data-row", str(queue[0]))
    press("n")
    expect(page.get_by_test_id("panel")).to_have_attribute("data-row", str(queue[1]))
    item = served.get(f"/api/items/{queue[1]}")
    tag = served.get("/api/tags")[5]["name"]
    press("t")
    expect(page.get_by_role("combobox", name="Add a tag", exact=True)).to_be_focused()
    page.keyboard.type(tag)
    expect(page.get_by_role("listbox", name="Add a tag").get_by_role("option").first).to_be_visible()
    with stored(page):
        press("Enter")
    assert served.said(item["id"]) == {tag: 1}
    with stored(page):
        press("u")
    assert served.said(item["id"]) == {}
    press("t")
    page.keyboard.type("mood::made by keys")
    with stored(page, "/api/words"):
        press("Enter")
    assert served.said(item["id"]) == {"mood::made by keys": 1}
    press("?")
    help = page.get_by_role("dialog", name="Keys")
    expect(help).to_be_visible()
    press("j")
    press("Escape")
    expect(help).to_be_hidden()
    assert selected(page) == queue[1]
    for key, name in [("m", "Map"), ("t", "Tags"), ("p", "Progress"), ("i", "Items")]:
        press("g")
        press(key)
        current = page.get_by_role("navigation", name="Views").get_by_role("link", name=name)
        expect(current).to_have_attribute("aria-current", "page")


def test_typing_in_a_field_fires_nothing(page, served):
    revision = served.get("/api/state")["revision"]
    page.watch.requests.clear()
    before = None
    for label in ("Search items", "Your name", "Only items with a tag", "Add a tag"):
        field = page.get_by_label(label, exact=True).first
        field.click()
        page.keyboard.type("jkax1u?tng")
        if label == "Search items":
            # a search may open what it finds, until all items are asked for again; letters elsewhere must not
            with page.expect_request(lambda asked: "/api/list" in asked.url and "text=" not in asked.url):
                page.keyboard.press("Escape")
            before = selected(page)
        else:
            page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.get_by_test_id("panel").get_attribute("data-row") == str(before)
    assert not [request for request in page.watch.requests if request.startswith("POST")]
    assert served.get("/api/state")["revision"] == revision
