"""Keys go where one looks, nothing is decided by accident, undo says what it undid, no text has jargon."""

import re

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, MINUS, open_item, options_of, shot, stored
from studio_server import wait_until_ready

chrome, served, open_page, page = FIXTURES

PHONE = (390, 844)
VIEWS = ("review", "items", "map", "tags", "progress")
#: what only the model details may say
JARGON = re.compile(
    r"\b(lam|lambda|gap|assignments?|affinit\w+|crowd|expert|log-odds|propagation)\b|λ", re.IGNORECASE
)


def changes(served):
    return served.get("/api/state")["revision"]


def question(page):
    return page.locator("[data-question]").get_attribute("data-question")


def reviewed(open_page, served, **options):
    page = open_page(served.studio, "#/review", rows=False, **options)
    expect(page.get_by_test_id("question")).to_be_visible()
    return page


def test_keys_go_to_an_open_menu_and_to_fields_and_decide_nothing(open_page, served):
    page = reviewed(open_page, served)
    before, asked = changes(served), question(page)
    page.get_by_role("button", name="Import / Export").click()
    expect(page.get_by_role("menu")).to_be_visible()
    for key in "axsu":
        page.keyboard.press(key)
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page.get_by_role("menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    for field in (
        page.get_by_role("textbox", name="Your name"),
        page.get_by_role("combobox", name="Only one tag"),
    ):
        field.click()
        page.keyboard.type("axsu")
        expect(field).to_have_value("axsu")
        field.fill("")
        page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Which items").focus()
    page.keyboard.press("x")
    page.get_by_role("button", name="Help: keys and signs").click()
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    assert question(page) == asked
    assert changes(served) == before


def test_a_key_that_is_held_down_decides_once(open_page, served):
    page = reviewed(open_page, served)
    asked, before = question(page), changes(served)
    with stored(page, "/api/annotations"):
        page.keyboard.down("x")
        page.keyboard.down("x")
        page.keyboard.down("x")
        page.keyboard.up("x")
    expect(page.locator("[data-question]")).not_to_have_attribute("data-question", asked)
    expect(page.get_by_test_id("review-count")).to_contain_text("1 answer ")
    assert changes(served) == before + 1


def test_the_first_view_has_three_lines_of_guidance_until_they_are_dismissed(open_page, served):
    page = reviewed(open_page, served)
    steps = page.get_by_test_id("first-steps")
    expect(steps.get_by_role("listitem")).to_have_count(3)
    steps.get_by_role("button", name="Got it").click()
    expect(steps).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("question")).to_be_visible()
    expect(steps).to_have_count(0)


def test_undo_says_what_it_undid_in_the_review_and_of_tags(open_page, served):
    page = reviewed(open_page, served)
    row, tag = map(int, question(page).split())
    name, item = served.get("/api/tags")[tag]["name"], served.get("/api/rows", rows=row)[0]["id"]
    with stored(page, "/api/annotations"):
        page.keyboard.press("x")
    toast = page.get_by_test_id("toast")
    expect(toast).to_contain_text(f"{MINUS}{name} on {item}")
    with stored(page, "/api/undo"):
        toast.get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("toast")).to_contain_text(f"Undid: {MINUS}{name} on {item}")
    expect(page.locator("[data-question]")).to_have_attribute("data-question", f"{row} {tag}")
    page.keyboard.press("s")
    page.keyboard.press("u")
    expect(page.get_by_test_id("toast")).to_contain_text("Back to the question that was skipped")

    def undo(who):
        return served.post("/api/undo", who=who)["what"]

    made = served.post("/api/tags", name="manners::good", who="kay")["tag"]
    served.post("/api/annotations", annotations=[{"row": 3, "tag": made, "value": 1}], who="kay")
    served.post(f"/api/tags/{made}/rename", name="manners::fine", who="kay")
    served.post(f"/api/tags/{made}/merge", into=tag, who="kay")
    assert undo("kay").startswith(f"Undid: manners::fine merged into {name}")
    assert undo("kay") == "Undid: manners::good renamed to manners::fine"
    assert undo("kay").startswith("Undid: +manners::good on ")
    assert undo("kay") == "Undid: new tag manners::good"
    assert served.post("/api/redo", who="kay")["what"] == "Did again: new tag manners::good"
    assert undo("kay") == "Undid: new tag manners::good"


def test_questions_stay_while_the_model_takes_an_answer_in(open_page, served):
    served.settle()
    page = reviewed(open_page, served)
    expect(page.get_by_test_id("review-count")).to_contain_text("left")
    held = []
    page.route("**/api/review", lambda route: held.append(route))
    with page.expect_request("**/api/review"):
        page.keyboard.press("x")
    # the answer is held, and a question is there to be decided on
    expect(page.locator("[data-question]")).to_be_visible()
    assert len(held) == 1


@pytest.mark.parametrize("size", [(1280, 800), PHONE], ids=["wide", "phone"])
def test_no_visible_text_has_jargon(open_page, served, size):
    page = open_page(served.studio, "#/review", rows=False, size=size)
    found = {}
    for view in VIEWS:
        page.goto(f"{served.studio.base}/#/{view}")
        expect(page.get_by_role("link", name=view.capitalize(), exact=True)).to_have_attribute(
            "aria-current", "page"
        )
        page.wait_for_load_state("networkidle")
        if view == "items" and size != PHONE:
            open_item(page, 3)
        # names of tags and texts of items are other people's words
        text = page.locator("body").evaluate(
            "body => { const own = '.name, .text, .title, .snippet, [data-testid=evidence] button';"
            " const hidden = [...body.querySelectorAll(own)].map((one) => [one, one.style.visibility]);"
            " hidden.forEach(([one]) => (one.style.visibility = 'hidden'));"
            " const text = body.innerText;"
            " hidden.forEach(([one, before]) => (one.style.visibility = before)); return text; }"
        )
        found[view] = JARGON.findall(text)
    assert not any(found.values()), found


@pytest.mark.parametrize("size", [(1280, 800), PHONE], ids=["wide", "phone"])
def test_names_of_suggested_tags_are_whole(open_page, served, size):
    page = open_page(served.studio, size=size)
    options_of(page).nth(3).click()
    names = page.get_by_test_id("suggestions").locator("li[data-tag] .name")
    expect(names.first).to_be_visible()
    wait_until_ready(served.client)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        shot(page, f"suggestions-{size[0]}-{theme}")
    cut = names.evaluate_all(
        """names => names.filter(name => {
            const text = name.getBoundingClientRect();
            for (let box = name.parentElement; !box.matches("li"); box = box.parentElement) {
                const { left, right, top, bottom } = box.getBoundingClientRect();
                if (text.left < left - 1 || text.right > right + 1) return true;
                if (text.top < top - 1 || text.bottom > bottom + 1) return true;
            }
            return false;
        }).map(name => name.textContent)"""
    )
    assert cut == []


def test_on_a_phone_items_are_a_list_and_nothing_scrolls_sideways(open_page, served):
    page = open_page(served.studio, "#/progress", rows=False, size=PHONE)
    expect(page.get_by_test_id("history")).to_be_visible()
    shot(page, "progress-390")
    wide = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
            .filter(one => one.scrollWidth > one.clientWidth)
            .filter(one => /auto|scroll/.test(getComputedStyle(one).overflowX))
            .map(one => `${one.className} ${one.scrollWidth} ${one.clientWidth}`)"""
    )
    assert wide == []
    page.get_by_role("link", name="Items", exact=True).click()
    expect(options_of(page).first).to_be_in_viewport()
    expect(page.get_by_test_id("panel")).not_to_be_in_viewport()
    page.get_by_role("link", name="Progress", exact=True).click()
    page.get_by_test_id("history").get_by_role("button").first.click()
    expect(page.get_by_test_id("panel")).to_be_in_viewport()
