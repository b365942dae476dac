"""The Studio worked by keys alone."""

from playwright.sync_api import expect

from browser import FIXTURES, open_item, selected, stored

chrome, served, open_page, page = FIXTURES


def test_tagging_by_keys_alone(page, served):
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
    names = [tags[one["tag"]]["name"] for one in item["explained"]]
    suggestions = panel.get_by_test_id("suggestions").locator("li")
    expect(suggestions.first).to_have_attribute("data-tag", names[0])
    shown = suggestions.evaluate_all("rows => rows.map(row => row.dataset.tag)")

    def after(key, wanted):
        with stored(page):
            press(key)
        assert served.annotations(item["id"]) == wanted

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
    expect(panel.get_by_test_id("annotations")).to_contain_text("No tags yet")


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
    assert served.annotations(item["id"]) == {tag: 1}
    with stored(page):
        press("u")
    assert served.annotations(item["id"]) == {}
    press("t")
    page.keyboard.type("mood::made by keys")
    press("Enter")  # makes no tag alone
    expect(page.get_by_role("combobox", name="Add a tag", exact=True)).to_have_value("mood::made by keys")
    with stored(page, "/api/annotations"):
        press("Control+Enter")
    assert served.annotations(item["id"]) == {"mood::made by keys": 1}
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
    page.monitor.requests.clear()
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
    assert not [request for request in page.monitor.requests if request.startswith("POST")]
    assert served.get("/api/state")["revision"] == revision
