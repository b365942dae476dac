"""The review in the browser: keys, counters, undo that returns, accepting many, another order."""

import re

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, MINUS, pick, shot, stored
from studio_server import wait_until_ready

chrome, served, open_page, page = FIXTURES

KEYS = {"a": 1, "x": -1}


def start(open_page, served, path=""):
    page = open_page(served.studio, path, rows=False)
    expect(page.get_by_test_id("question")).to_be_visible()
    return page


def question(page):
    row, tag = page.locator("[data-question]").get_attribute("data-question").split()
    return int(row), int(tag)


def press(page, key, stores=True):
    """Press a key; the next question is on the screen afterwards, and the answer stored."""
    before = question(page)
    if stores:
        with stored(page, "/api/annotations"):
            page.keyboard.press(key)
    else:
        page.keyboard.press(key)
    expect(page.locator("[data-question]")).not_to_have_attribute("data-question", "{} {}".format(*before))
    return before


def test_the_counts_follow_each_answer_at_once(open_page, served):
    page = start(open_page, served)
    wait_until_ready(served.client)
    page.reload()
    count = page.get_by_test_id("review-count")
    expect(count).to_contain_text("likely")
    page.route("**/api/review", lambda _: None)  # nothing that the server counts comes any more
    total, likely = (
        int(one.replace(",", "")) for one in re.findall(r"([\d,]+) (?:left|likely)", count.inner_text())
    )
    for done, key in enumerate(("a", "x"), 1):
        press(page, key)
        expect(count).to_contain_text(f"{total - done:,} left, {likely - done:,} likely")
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    expect(count).to_contain_text(f"{total - 1:,} left, {likely - 1:,} likely")


def annotation(served, row, tag):
    found = served.get("/api/rows", rows=row)[0]["annotations"]
    return next((one["value"] for one in found if one["tag"] == tag), 0)


def test_it_is_the_start_page_and_keys_decide(open_page, served):
    page = start(open_page, served)
    expect(page.get_by_role("link", name="Review", exact=True)).to_have_attribute("aria-current", "page")
    planned = served.client.post("/api/review", json={}).json()["questions"]
    assert question(page) == (planned[0]["row"], planned[0]["tag"])
    expect(page.get_by_test_id("question")).to_contain_text(f"{round(100 * planned[0]['score'])} %")
    for key, value in KEYS.items():
        row, tag = press(page, key)
        assert annotation(served, row, tag) == value
    expect(page.get_by_test_id("review-count")).to_contain_text("2 answers")
    skipped = press(page, "s", stores=False)
    assert annotation(served, *skipped) == 0
    shot(page, "review")
    wait_until_ready(served.client)
    page.reload()
    expect(page.get_by_test_id("question")).to_be_visible()


def test_undo_returns_to_the_question(open_page, served):
    page = start(open_page, served, "#/review")
    accepted = press(page, "a")
    after = press(page, "s", stores=False)
    page.keyboard.press("u")
    expect(page.locator("[data-question]")).to_have_attribute("data-question", "{} {}".format(*after))
    assert annotation(served, *accepted) == 1, "skipping was undone, and nothing else"
    # somebody without a name works on another page: their last action is not this page's
    other = served.get("/api/list", filter="untagged")["rows"][-1]
    served.client.post("/api/annotations", json={"annotations": [{"row": other, "tag": 0, "value": -1}]})
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    expect(page.locator("[data-question]")).to_have_attribute("data-question", "{} {}".format(*accepted))
    assert annotation(served, *accepted) == 0
    assert annotation(served, other, 0) == -1
    page.keyboard.press("u")
    expect(page.get_by_text("Nothing was answered on this page")).to_be_visible()
    assert annotation(served, other, 0) == -1
    # an undo in another view takes back what is before it, and never brings back what was taken back
    page.get_by_role("link", name="Items", exact=True).click()
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    assert annotation(served, other, 0) == 0
    assert annotation(served, *accepted) == 0


def test_a_flag_is_kept_and_listed(open_page, served):
    page = start(open_page, served, "#/review")
    row, _ = question(page)
    with stored(page, "/api/flag"):
        page.keyboard.press("f")
    assert served.get("/api/list", filter="flagged")["rows"] == [row]
    expect(page.get_by_test_id("review-count")).to_contain_text("0 answers")
    with stored(page, "/api/flag"):
        page.keyboard.press("u")
    assert served.get("/api/list", filter="flagged")["rows"] == [], "the undo is of the flag"
    with stored(page, "/api/flag"):
        page.keyboard.press("f")
    assert served.get("/api/list", filter="flagged")["rows"] == [row]
    page.get_by_role("combobox", name="Which items").select_option("flagged")
    expect(page.locator("[data-question]")).to_have_attribute("data-question", re.compile(rf"^{row} "))
    with stored(page, "/api/flag"):
        page.keyboard.press("f")
    assert served.get("/api/list", filter="flagged")["rows"] == []


def test_many_are_accepted_after_a_preview_and_undone_at_once(open_page, served):
    page = start(open_page, served, "#/review")
    served.settle()  # a model of before would take its place between the preview and the answer
    counts = served.client.post("/api/review", json={}).json()["above"]
    level = next(level for level in ("99", "95", "90", "80") if counts[level])
    page.get_by_test_id("accept-all-button").click()
    dialog = page.get_by_test_id("accept-all")
    dialog.get_by_label("Score of at least").select_option(level)
    expect(dialog.get_by_test_id("expected")).to_contain_text("expected to be wrong")
    found = served.client.post("/api/review/above", json={"score": int(level) / 100}).json()
    assert found["scores"] == sorted(found["scores"])
    rows = dialog.get_by_role("list", name="The least sure").get_by_role("listitem")
    expect(rows).to_have_count(len(found["scores"]))
    expect(rows.first).to_contain_text(re.compile(r"(9\d|100) %|>99 %"))
    shot(page, "review-accept-all")
    before = served.get("/api/state")["annotations"]["is"]
    accept = dialog.get_by_role("button", name=re.compile("^Accept [1-9]"))
    expect(accept).to_have_text(re.compile(rf"^Accept {counts[level]}\b"))
    with stored(page, "/api/annotations"):
        accept.click()
    expect(dialog).to_be_hidden()
    assert served.get("/api/state")["annotations"]["is"] == before + counts[level]
    expect(page.get_by_test_id("review-count")).to_contain_text(f"{counts[level]} answers")
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    assert served.get("/api/state")["annotations"]["is"] == before
    expect(page.get_by_test_id("review-count")).to_contain_text("0 answers")
    page.get_by_role("link", name="Tags", exact=True).click()
    with stored(page, "/api/undo"):
        page.keyboard.press("u")
    assert served.get("/api/state")["annotations"]["is"] <= before, "they are not stored again"


def test_another_order_one_tag_and_the_evidence(open_page, served):
    page = start(open_page, served, "#/review")
    evidence = page.get_by_test_id("evidence")
    expect(evidence).to_be_visible()
    row, tag = question(page)
    explained = served.get(f"/api/items/{row}/why", tag=tag)
    assert evidence.inner_text() == "".join(part["text"] for part in explained["parts"])
    for term in explained["terms"]:
        expect(evidence).to_contain_text(term)
        expect(page.get_by_test_id("review-item").locator("mark").first).to_be_visible()
    asked = page.get_by_test_id("question")
    asked.get_by_text("Numbers", exact=True).click()
    *parts, total = asked.get_by_test_id("why").locator(".number").all_inner_texts()
    numbers = [float(part.replace(MINUS, "-").replace("+", "")) for part in parts]
    assert sum(numbers) == pytest.approx(float(total.removesuffix(" %")))
    page.get_by_role("combobox", name="Order of the questions").select_option("doubtful")
    doubts = served.client.post("/api/review", json={"order": "doubtful"}).json()["questions"]
    if doubts:
        expect(page.get_by_test_id("question")).to_contain_text("its score is low")
        assert question(page) == (doubts[0]["row"], doubts[0]["tag"])
    page.get_by_role("combobox", name="Order of the questions").select_option("surest")
    expect(page.get_by_test_id("question")).to_contain_text("Does it have this tag?")
    _, tag = question(page)
    pick(page, "Only one tag", served.get("/api/tags")[tag]["name"])
    expect(page.get_by_role("button", name="Ask about all tags")).to_be_visible()
    assert question(page)[1] == tag
    page.get_by_role("link", name="Progress", exact=True).click()
    page.get_by_role("link", name="tags to decide on").click()
    expect(page.get_by_test_id("question")).to_be_visible()


def test_order_and_choice_survive_a_reload_and_progress_leads_to_everything(open_page, served):
    page = start(open_page, served, "#/review")
    order, items = (
        page.get_by_role("combobox", name=name) for name in ("Order of the questions", "Which items")
    )
    order.select_option("useful")
    items.select_option("untagged")
    tag = served.get("/api/tags")[question(page)[1]]["name"]
    pick(page, "Only one tag", tag)
    expect(page.get_by_role("button", name="Ask about all tags")).to_be_visible()
    page.reload()
    expect(order).to_have_value("useful")
    expect(items).to_have_value("untagged")
    chip = page.locator(".chip").filter(has=page.get_by_role("button", name="Ask about all tags"))
    expect(chip).to_contain_text(tag.rpartition("::")[2])
    expect(page.get_by_test_id("question")).to_be_visible()
    page.goto(f"{served.studio.base}/#/progress")
    page.get_by_role("link", name="tags to decide on").click()
    expect(items).to_have_value("all")
    expect(order).to_have_value("surest")
    everything = served.client.post("/api/review", json={}).json()
    expect(page.get_by_test_id("review-count")).to_contain_text(f"{everything['total']:,} left")


def test_items_that_were_picked_survive_a_reload_of_the_tab(open_page, served):
    page = open_page(served.studio)
    page.get_by_test_id("item-list").focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowDown")
    page.get_by_test_id("selection-bar").get_by_role("button", name="Review").click()
    chip = page.locator(".chip").filter(has=page.get_by_role("button", name="Ask about all items"))
    expect(chip).to_contain_text("4 items chosen")
    page.reload()
    expect(chip).to_contain_text("4 items chosen")
    page.get_by_role("button", name="Ask about all items").click()
    expect(chip).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("question")).to_be_visible()
    expect(chip).to_have_count(0)
