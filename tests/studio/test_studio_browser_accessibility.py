"""Accessibility: contrast and roles, small screens, colours, help, and messages when something is wrong."""

import re

import pytest
from playwright.sync_api import expect

from browser import (
    DESKTOP,
    FIXTURES,
    LARGE,
    TABLET,
    open_item,
    options_of,
    pick,
    selected,
    shot,
    stored,
    tag_line,
    violations,
)
from lass import Collection
from lass.collection import Item
from studio_server import studio

chrome, served, open_page, page = FIXTURES

PHONE = (390, 844)
VIEWS = ("review", "items", "map", "three-tags", "tags", "tag-page", "progress")


def show(page, view, served):
    """Goes to a view as people do, until all of it is there."""
    link = {"three-tags": "map", "tag-page": "tags"}.get(view, view).title()
    page.get_by_role("link", name=link, exact=True).click()
    if view == "review":
        expect(page.get_by_test_id("question").get_by_test_id("evidence")).to_be_visible()
    elif view == "items":
        selected(page)
    elif view == "map":
        page.get_by_role("tab", name="Map", exact=True).click()
        expect(page.get_by_test_id("map-legend").get_by_role("listitem").first).to_be_visible()
    elif view == "three-tags":
        page.get_by_role("tab", name="Three tags").click()
        expect(page.get_by_test_id("corner-0")).to_be_visible()
    elif view == "tags":
        expect(page.get_by_role("treeitem").first).to_be_visible()
    elif view == "tag-page":
        name = max(served.get("/api/tags"), key=lambda tag: tag["is"])["name"]
        tag_line(page, name).click()
        if page.get_by_test_id("tag-search").is_visible():  # the page of a tag has a phone for itself
            page.get_by_test_id("tag-search").fill("")
        expect(page.get_by_test_id("candidates")).to_be_visible()
    elif view == "progress":
        expect(page.get_by_test_id("history")).to_be_visible()
    # two frames: what came is painted by then
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def in_both(page, name, look):
    """In light and in dark, a picture and something to look for; what was found, by theme."""
    found = {}
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        shot(page, f"{name.replace(' ', '-')}-{theme}-{page.viewport_size['width']}")
        found[f"{name}, {theme}"] = look(page, theme)
    return found


def menu(page, name):
    """An entry of the menu of imports and exports."""
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name=name).click()


def open_model_details(page, served):
    panel = open_item(page, served.get("/api/list")["rows"][3])
    panel.get_by_role("button", name=re.compile("^Why ")).first.click()
    for part in ("Numbers", "Model details"):
        panel.get_by_text(part, exact=True).first.click()
    expect(panel.get_by_test_id("lam-slider")).to_be_visible()


def open_picker(page, served):
    open_item(page, served.get("/api/list")["rows"][5])
    page.get_by_role("combobox", name="Add a tag", exact=True).fill("mail")
    expect(page.get_by_role("listbox", name="Add a tag").get_by_role("option").first).to_be_visible()


def open_accept_all(page, served):
    show(page, "review", served)
    page.get_by_test_id("accept-all-button").click()
    expect(page.get_by_test_id("expected")).to_be_visible()


def open_review_of_doubts(page, served):
    show(page, "review", served)
    page.get_by_role("combobox", name="Order of the questions").select_option("Doubtful tags first")
    expect(page.get_by_test_id("question")).to_contain_text("though its score is low")


def open_done_review(page, _):
    page.get_by_role("combobox", name="Order of the questions").select_option("Where people differ")
    expect(page.get_by_role("heading", name="Nobody differs here")).to_be_visible()


def open_progress(page, served):
    show(page, "progress", served)
    expect(page.locator("li.undone").first).to_be_visible()


def open_lasso(page, _):
    page.get_by_role("link", name="Map", exact=True).click()
    page.get_by_role("tab", name="Map", exact=True).click()
    page.get_by_role("searchbox", name="Search on the map").fill("mail")
    page.get_by_role("button", name="Choose them").click()
    expect(page.get_by_test_id("lasso-summary")).to_be_visible()


def open_naming(page, _):
    page.get_by_role("button", name="Name and tag…").click()
    expect(page.get_by_test_id("tag-many")).to_be_visible()


#: what is opened on top of the views, and what it takes to get there; one after the other
OPENED = {
    "model details": open_model_details,
    "picker": open_picker,
    "menu": lambda page, _: page.get_by_role("button", name="Import / Export").click(),
    "import": lambda page, _: (
        menu(page, "Import…"), expect(page.get_by_test_id("import")).to_be_visible()
    ),
    "export": lambda page, _: (
        menu(page, "Export…"), expect(page.get_by_test_id("export")).to_be_visible()
    ),
    "help": lambda page, _: (
        page.get_by_role("button", name="Help: keys and signs").click(),
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible(),
    ),
    "accept all": open_accept_all,
    "doubts": open_review_of_doubts,
    "nothing to review": open_done_review,
    "lasso": open_lasso,
    "naming": open_naming,
    "undone": open_progress,
}  # fmt: skip


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_view_is_accessible(open_page, served, size):
    served.post("/api/annotations", annotations=[{"row": 9, "tag": 1, "value": 1}], who="once")
    served.post("/api/undo", who="once")
    page = open_page(served.studio, size=size)
    wrong = {}

    def look(name):
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        wrong.update(in_both(page, name, violations))
        if size == PHONE:
            wrong[f"{name}, width"] = too_wide(page, None)

    for view in VIEWS:
        if size == DESKTOP or view != "items":
            show(page, view, served)
        else:
            page.get_by_role("link", name="Items", exact=True).click()
        look(view)
    for name, opened in OPENED.items():
        opened(page, served)
        look(name)
        if name != "lasso":  # what is chosen is named next
            page.keyboard.press("Escape")
        if name == "picker" and size == PHONE:
            page.get_by_role("button", name="Close the item").click()
    assert {view: found for view, found in wrong.items() if found} == {}


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_first_pages_are_accessible(open_page, served, tmp_path, size):
    wrong = {}

    def look(page, name):
        wrong.update(in_both(page, name, violations))
        wrong[f"{name}, width"] = too_wide(page, None)

    with studio(tmp_path / "new") as running:
        page = open_page(running, rows=False, size=size)
        expect(page.get_by_role("heading", name="This collection has no items yet")).to_be_visible()
        look(page, "no items")
        for key in ("u", "n", "a", "/"):  # nothing to undo, to go through or to search
            page.keyboard.press(key)
        expect(page.get_by_test_id("toast")).to_have_count(0)
        page.get_by_role("button", name="Import…", exact=True).click()
        expect(page.get_by_test_id("import")).to_be_visible()
        look(page, "first import")
        page.close()
    page = open_page(served.studio, rows=False, size=size)
    expect(page.get_by_test_id("first-steps")).to_be_visible()
    expect(page.get_by_test_id("evidence")).to_be_visible()
    look(page, "first use")
    # who has no keyboard is told of no keys
    expect(page.get_by_test_id("first-steps").locator("kbd:visible")).to_have_count(0 if size == PHONE else 5)
    page.monitor.ignore_errors = True
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_role("dialog")).to_contain_text("Only those who have its token get in")
    look(page, "token")
    assert {view: found for view, found in wrong.items() if found} == {}


def too_wide(page, _):
    """What reaches beyond the screen, or beyond the bar above, in pixels."""
    return page.evaluate(
        """() => {
            const bar = document.querySelector("header.bar");
            const beyond = document.documentElement.scrollWidth - innerWidth;
            return Math.max(0, beyond, bar.scrollWidth - bar.clientWidth);
        }"""
    )


@pytest.mark.parametrize("size", [LARGE, TABLET, PHONE], ids=["large", "tablet", "phone"])
def test_every_view_fits_the_screen(open_page, served, size):
    page = open_page(served.studio, size=size)
    wrong = {}
    for view in VIEWS:
        show(page, view, served)
        wrong |= in_both(page, view, too_wide)
    assert {view: by for view, by in wrong.items() if by} == {}


def test_a_tablet_shows_the_item_as_a_sheet(open_page, served):
    page = open_page(served.studio, size=TABLET)
    panel = page.get_by_test_id("panel")
    expect(panel).not_to_be_in_viewport()
    row = served.get("/api/list")["rows"][3]
    options_of(page).nth(3).click()
    expect(panel).to_be_in_viewport()
    expect(panel).to_have_attribute("data-row", str(row))
    expect(panel.get_by_test_id("neighbours")).to_be_attached()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(250)
    shot(page, "sheet-light-820")
    item = served.get(f"/api/items/{row}")
    name = panel.get_by_test_id("suggestions").locator("li").first.get_attribute("data-tag")
    with stored(page):
        panel.get_by_role("button", name=f"Accept {name}", exact=True).click()
    assert served.annotations(item["id"])[name] == 1
    with stored(page):
        page.get_by_test_id("toasts").get_by_role("button", name="Undo").click()
    assert name not in served.annotations(item["id"])
    page.get_by_role("button", name="Close the item").click()
    expect(panel).not_to_be_in_viewport()
    expect(options_of(page).first).to_be_visible()


def test_chosen_colours_stay(page):
    root = page.locator("html")
    ground = page.locator("body")
    page.get_by_role("button", name="Colours: as the system").click()
    expect(root).to_have_attribute("data-theme", "dark")
    dark = ground.evaluate("body => getComputedStyle(body).backgroundColor")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    assert ground.evaluate("body => getComputedStyle(body).backgroundColor") == dark
    page.get_by_role("button", name="Colours: dark").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert ground.evaluate("body => getComputedStyle(body).backgroundColor") != dark
    page.get_by_role("button", name="Colours: light").click()
    expect(root).not_to_have_attribute("data-theme", re.compile("."))


def test_help_names_every_key(page):
    page.get_by_role("button", name="Help: keys and signs").click()
    help = page.get_by_role("dialog", name="Keys")
    for text in ("next item", "accept that suggestion", "reject it", "add any tag", "undo", "redo", "search"):
        expect(help.get_by_text(text, exact=True)).to_be_visible()
    help.get_by_role("button", name="Close").click()
    expect(help).to_be_hidden()


def test_a_collection_without_tags_shows_what_to_do(open_page, tmp_path):
    folder = tmp_path / "untagged"
    about = ("mail with letters and parcels", "chess with kings and pawns", "rain with clouds and storms")
    texts = [f"number {place} is about {about[place % 3]}" for place in range(30)]
    items = [Item(id=f"i{place}", title=f"Item {place}", text=text) for place, text in enumerate(texts)]
    with Collection.create(folder, items, [], []):
        pass
    with studio(folder) as running:
        page = open_page(running)
        expect(page.get_by_test_id("model-state")).to_have_attribute("data-phase", "untagged")
        start = page.get_by_test_id("start-here")
        expect(start).to_be_visible()
        wrong = in_both(page, "untagged items", violations)
        start.get_by_role("button", name="Tag a whole group").click()
        groups = page.get_by_test_id("groups").get_by_role("button")
        expect(groups.first).to_be_visible()
        wrong |= in_both(page, "untagged map", violations)
        groups.first.press("Enter")
        expect(page.get_by_test_id("tag-many")).to_be_visible()
        wrong |= in_both(page, "group", violations)
        page.keyboard.press("Escape")
        expect(groups.first).to_be_focused()
        page.set_viewport_size({"width": 390, "height": 800})
        wrong |= in_both(page, "untagged map narrow", too_wide)
        page.set_viewport_size({"width": 1280, "height": 800})
        assert {view: found for view, found in wrong.items() if found} == {}
        for row, name in ((2, "about::mail"), (3, "about::games")):
            panel = open_item(page, row)
            page.keyboard.press("t")
            page.keyboard.type(name)
            with stored(page, "/api/annotations"):
                page.keyboard.press("Control+Enter")
            expect(panel.get_by_test_id("annotations").locator(f"[data-tag='{name}']")).to_be_visible()
        with Collection.open(folder) as collection:
            assert dict(collection.annotations_of("i2")) == {"about::mail": 1}
            assert dict(collection.annotations_of("i3")) == {"about::games": 1}
        expect(page.get_by_test_id("model-state")).to_have_attribute("data-phase", "ready", timeout=60_000)
        expect(start).to_be_hidden()
        page.close()


def test_a_wrong_token_is_refused_with_a_reason(open_page, served):
    page = open_page(served.studio, rows=True)
    page.monitor.ignore_errors = True
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_role("dialog")).to_contain_text("Only those who have its token get in")


def test_errors_of_the_server_are_shown(open_page, served):
    page = open_page(served.studio)
    page.monitor.ignore_errors = True
    page.route("**/api/list*", lambda route: route.fulfill(status=500, json={"error": "The disk is full."}))
    page.get_by_role("combobox", name="Filter").select_option("Untagged")
    expect(page.get_by_role("alert")).to_contain_text("The disk is full.")
    shot(page, "error")
    page.unroute("**/api/list*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("size", [(1280, 800), (390, 800)], ids=["desktop", "phone"])
def test_lists_tags_and_map_are_accessible_in_all_their_states(open_page, served, size):
    page = open_page(served.studio, size=size)
    wrong = {}

    def look(name):
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        wrong.update(in_both(page, f"state {name}", violations))
        if size[0] < 400:
            wrong.update(in_both(page, f"width of {name}", too_wide))

    look("items")
    names = [tag["name"] for tag in sorted(served.get("/api/tags"), key=lambda tag: -tag["is"])[:2]]
    for name in names:
        pick(page, "Only items with a tag", name)
    expect(page.get_by_test_id("tag-filter")).to_have_count(2)
    look("conditions")
    page.get_by_role("button", name=f"Remove the condition on {names[0]}").click()
    page.get_by_role("button", name=f"Remove the condition on {names[1]}").click()
    page.get_by_role("searchbox", name="Search items").fill("clinet")
    expect(page.get_by_test_id("near-words")).to_be_visible()
    look("near words")
    page.get_by_test_id("item-list").focus()
    page.keyboard.press("Control+a")
    expect(page.get_by_test_id("selection-bar")).to_be_visible()
    look("several items")
    picker = page.get_by_role("combobox", name="Add a tag to these items")
    picker.fill(names[0][:-2] + names[0][-1] + names[0][-2])
    expect(
        page.get_by_role("listbox", name="Add a tag to these items").get_by_role("option").first
    ).to_be_visible()
    look("near tags")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Tags", exact=True).click()
    tag_line(page, names[0]).click()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_test_id("delete-sentence")).to_be_visible()
    look("tag page")
    page.get_by_role("link", name="Map", exact=True).click()
    expect(page.get_by_test_id("map-legend")).to_be_visible()
    page.get_by_role("searchbox", name="Search on the map").fill("mail")
    page.get_by_role("button", name="Choose them").click()
    expect(page.get_by_test_id("lasso-summary")).to_be_visible()
    look("chosen on the map")
    page.get_by_test_id("lasso-bar").get_by_role("button", name="Clear").click()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    expect(page.get_by_test_id("map-name").or_(page.get_by_test_id("item-name")).first).to_be_visible()
    look("names on the map")
    assert {view: found for view, found in wrong.items() if found} == {}
