"""Several items at once, conditions on tags, and tags that are clicked, misspelt, copied and pasted."""

import re

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, open_item, options_of, pick, selected, stored

chrome, served, open_page, page = FIXTURES


def items(number):
    return f"{number} item" if number == 1 else f"{number} items"


@pytest.fixture
def tags(served):
    return sorted((tag for tag in served.get("/api/tags") if not tag["retired"]), key=lambda tag: -tag["is"])


def listed(served, *conditions, **query):
    return served.get("/api/list", tag=list(conditions), **query)["rows"]


def rows_shown(page, count):
    return [int(row) for row in options_of(page).evaluate_all("all => all.map(one => one.dataset.row)")][
        :count
    ]


def test_a_tag_in_the_list_asks_for_its_items_and_one_in_the_panel_opens_its_page(page, served):
    chip = page.locator("[data-chip]").first
    name = chip.get_attribute("data-chip")
    sign = "is" if "is" in chip.get_attribute("class").split() else "suggested"
    chip.click()
    tag = next(tag["tag"] for tag in served.get("/api/tags") if tag["name"] == name)
    expect(page.get_by_test_id("count")).to_have_text(items(len(listed(served, f"{tag}:{sign}"))))
    expect(page.get_by_test_id("tag-filter")).to_have_count(1)
    page.reload()  # the address holds it
    expect(page.get_by_test_id("tag-filter")).to_have_count(1)
    link = page.get_by_test_id("panel").get_by_test_id("annotations").get_by_role("link").first
    expect(link).not_to_have_text(re.compile(r"^tag \d+$"))  # until the names of the tags are there
    opened = link.inner_text()
    link.click()
    expect(page.get_by_test_id("tag-page").get_by_role("heading", level=2)).to_have_text(opened)


def test_no_tag_in_the_list_is_cut_off(page, served):
    expect(page.locator("[data-chip]").first).to_be_visible()
    cut = """chips => chips.filter(chip => {
        const line = chip.parentElement.getBoundingClientRect(), own = chip.getBoundingClientRect();
        return own.right > line.right + 1 && chip !== chip.parentElement.firstElementChild;
    }).length"""
    assert page.locator("[data-chip]").evaluate_all(cut) == 0
    row = next(
        row
        for row in served.get("/api/rows", rows=",".join(map(str, range(9))))
        if len(row["annotations"]) > 5
    )
    expect(page.locator(f"#item-{row['row']}")).to_contain_text("more")


def test_conditions_join_and_the_order_can_be_chosen(page, served, tags):
    one, other = tags[0], tags[1]
    pick(page, "Only items with a tag", one["name"])
    pick(page, "Only items with a tag", other["name"])
    count = page.get_by_test_id("count")
    expect(count).to_have_text(items(len(listed(served, f"{one['tag']}:is", f"{other['tag']}:is"))))
    page.get_by_role("combobox", name=f"Condition on {other['name']}").select_option("without")
    rows = listed(served, f"{one['tag']}:is", f"{other['tag']}:without")
    expect(count).to_have_text(items(len(rows)))
    for sort in ("name", "score", "changed", "tags"):
        page.get_by_role("combobox", name="Sort items by").select_option(sort)
        rows = listed(served, f"{one['tag']}:is", f"{other['tag']}:without", sort=sort)
        page.get_by_test_id("item-list").evaluate("list => { list.scrollTop = 0 }")
        expect(page.locator(f"#item-{rows[0]}")).to_have_attribute("aria-posinset", "1")
        page.get_by_test_id("item-list").evaluate("list => { list.scrollTop = 0 }")
        assert rows_shown(page, 5) == rows[:5]
    page.get_by_role("button", name="The other way round").click()
    expect(page.locator(f"#item-{rows[-1]}")).to_have_attribute("aria-posinset", "1")
    page.get_by_role("button", name=f"Remove the condition on {one['name']}").click()
    expect(page.get_by_test_id("tag-filter")).to_have_count(1)


def test_several_items_are_tagged_and_rejected_in_one_action(page, served, tags):
    rows = options_of(page)
    shown = rows_shown(page, 8)
    rows.nth(1).click()
    rows.nth(3).click(modifiers=["Shift"])
    rows.nth(6).click(modifiers=["Control"])
    bar = page.get_by_test_id("selection-bar")
    expect(bar.get_by_role("status").first).to_have_text("4 items")
    chosen = [shown[place] for place in (1, 2, 3, 6)]
    assert [
        row for row in shown if page.locator(f"#item-{row}").get_attribute("aria-selected") == "true"
    ] == chosen
    rows.nth(2).click(modifiers=["Control"])
    expect(bar.get_by_role("status").first).to_have_text("3 items")
    chosen.remove(shown[2])
    ids = [row["id"] for row in served.get("/api/rows", rows=",".join(map(str, chosen)))]
    tag = tags[-1]["name"]
    with stored(page):
        pick(page, "Add a tag to these items", tag)
    assert [served.annotations(item).get(tag) for item in ids] == [1, 1, 1]
    with stored(page):
        page.keyboard.press("u")
    assert [served.annotations(item).get(tag) for item in ids] == [None] * 3
    page.keyboard.press("t")
    expect(bar.get_by_role("combobox", name="Add a tag to these items")).to_be_focused()
    with stored(page):
        pick(page, "Reject a tag for these items", tag)
    assert [served.annotations(item).get(tag) for item in ids] == [-1, -1, -1]
    with stored(page):
        page.keyboard.press("u")
    page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    page.keyboard.press("Shift+ArrowDown")
    expect(bar.get_by_role("status").first).to_have_text("2 items")
    page.keyboard.press("Control+a")
    expect(bar.get_by_role("status").first).to_have_text("500 items")
    page.keyboard.press("j")
    expect(bar).to_have_count(0)


def test_tags_are_copied_and_pasted(page, served):
    found = served.get("/api/rows", rows=",".join(map(str, range(9))))
    giver = next(place for place, row in enumerate(found) if 2 <= len(row["annotations"]) < 6)
    takers = [place for place, row in enumerate(found) if place != giver][:2]
    before = [served.annotations(found[place]["id"]) for place in takers]
    given = served.annotations(found[giver]["id"])
    rows = options_of(page)
    rows.nth(giver).click()
    selected(page)
    page.keyboard.press("Control+c")
    expect(page.get_by_test_id("toasts")).to_contain_text(f"Copied {len(given)} tags")
    rows.nth(takers[0]).click()
    rows.nth(takers[1]).click(modifiers=["Control"])
    selected(page)
    with stored(page):
        page.keyboard.press("Control+v")
    after = [served.annotations(found[place]["id"]) for place in takers]
    assert after == [had | given for had in before]
    with stored(page):
        page.keyboard.press("u")
    assert [served.annotations(found[place]["id"]) for place in takers] == before
    with stored(page):
        page.get_by_role("button", name="Paste tags").click()
    assert [served.annotations(found[place]["id"]) for place in takers] == after
    with stored(page):
        page.keyboard.press("u")


def test_a_misspelt_tag_is_offered_as_it_is_and_enter_alone_makes_none(page, served, tags):
    row = listed(served, filter="untagged")[0]
    panel = open_item(page, row)
    item = served.get(f"/api/items/{row}")["id"]
    tag = next(tag["name"] for tag in tags if len(tag["name"]) > 9)
    field = panel.get_by_role("combobox", name="Add a tag", exact=True)
    field.fill(tag[:-3] + tag[-2] + tag[-3] + tag[-1])
    options = page.get_by_role("listbox", name="Add a tag").get_by_role("option")
    expect(options.first).to_contain_text("(near)")
    with stored(page):
        field.press("Enter")
    assert served.annotations(item) == {tag: 1}
    with stored(page):
        page.keyboard.press("u")
    names = {tag["name"] for tag in served.get("/api/tags")}
    field.fill("quite another thing")
    expect(options).to_have_count(1)
    field.press("Enter")
    expect(field).to_have_value("quite another thing")
    assert {tag["name"] for tag in served.get("/api/tags")} == names
    with stored(page, "/api/annotations"):
        field.press("Control+Enter")
    assert served.annotations(item) == {"quite another thing": 1}


def test_a_tag_is_found_by_the_name_that_it_had(page, served, tags):
    one = tags[5]
    served.post(f"/api/tags/{one['tag']}/rename", name="mood::of old times")
    try:
        panel = open_item(page, listed(served, f"{one['tag']}:without")[0])
        panel.get_by_role("combobox", name="Add a tag", exact=True).fill(one["name"])
        option = page.get_by_role("listbox", name="Add a tag").get_by_role("option").first
        expect(option).to_contain_text(f"of old times(was {one['name']})")
        page.keyboard.press("Escape")
        page.get_by_role("searchbox", name="Search items").fill(one["name"])
        found = served.get("/api/list", text=one["name"])["rows"]
        assert set(listed(served, f"{one['tag']}:is")) <= set(found)
        expect(page.get_by_test_id("count")).to_have_text(items(len(found)))
    finally:
        served.post("/api/undo")
