"""A collection of pictures: they are seen wherever an item is."""

import shutil

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect
from test_studio_browser_accessibility import in_both, too_wide

from browser import FIXTURES, Served, open_item, options_of, until, violations
from lass import Collection
from lass.collection import Annotation, Settings
from lass.collection.importing import read_tables
from lass.tagging import fit
from studio_server import studio, wait_until_ready

chrome, _, open_page, page = FIXTURES

#: whether no picture on the map lies on another, or on a name
ON_ANOTHER = """() => {
    const boxes = (id) =>
        [...document.querySelectorAll(`[data-testid=${id}]`)].map(one => one.getBoundingClientRect());
    const pictures = boxes("map-picture");
    const others = [...boxes("group-label"), ...boxes("map-name")];
    const over = (a, b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return pictures.length > 0 && !pictures.some((one, place) =>
        others.some(other => over(one, other)) || pictures.some((other, at) => at > place && over(one, other))
    );
}"""

HUES = {"red": (200, 40, 40), "green": (40, 160, 60), "blue": (50, 70, 200)}


def draw(folder, count=45):
    """Noisy pictures of three colours, some with stripes."""
    random = np.random.default_rng(0)
    folder.mkdir()
    for number in range(count):
        hue = list(HUES.values())[number % 3]
        pixels = np.clip(random.normal(0, 25, (300, 400, 3)) + hue, 0, 255).astype(np.uint8)
        pixels[:: 40 if number % 2 else 300] = 255
        Image.fromarray(pixels).save(folder / f"shot{number:02d}.jpg")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    draw(folder / "shots")
    read = read_tables(items=folder / "shots")
    settings = Settings(features={"kind": "images", "folder": str(folder / "shots")})
    annotations = [
        Annotation(item.id, name, 1.0)
        for number, item in enumerate(read.items[:30])
        for place, name in enumerate([*HUES, "striped"])
        if number % 3 == place or (name == "striped" and number % 2)
    ]
    # those that will be broken are in no question and in no list of candidates
    annotations += [
        Annotation(item.id, name, -1.0) for item in read.items[43:] for name in [*HUES, "striped"]
    ]
    with Collection.create(
        folder / "own", read.items, [*HUES, "striped"], annotations, settings=settings
    ) as made:
        fit(made)
    (folder / "shots" / "shot44.jpg").write_bytes(b"no longer a picture")
    (folder / "outside.jpg").write_bytes((folder / "shots" / "shot01.jpg").read_bytes())
    (folder / "shots" / "shot43.jpg").unlink()
    (folder / "shots" / "shot43.jpg").symlink_to(folder / "outside.jpg")
    with studio(folder / "own") as running, running.client() as client:
        wait_until_ready(client)
        yield Served(running, client, folder / "own")


def seen(image):
    """Whether a picture has been fetched and decoded."""
    expect(image).to_be_visible()
    expect(image).to_have_js_property("complete", True)
    assert image.evaluate("image => image.naturalWidth") > 0


def test_pictures_are_in_list_panel_and_among_neighbours(page):
    seen(options_of(page).first.locator("img"))
    panel = open_item(page, 3)
    seen(panel.get_by_role("img", name="shot03"))
    assert panel.get_by_role("img", name="shot03").evaluate("image => image.naturalWidth") == 400
    panel.get_by_text("Model details").click()
    seen(panel.get_by_test_id("neighbours").locator("img").first)


def test_pictures_are_in_review_tag_page_and_map(page, served):
    page.monitor.ignore_errors = True  # the map asks for the broken ones, too
    page.get_by_role("link", name="Review").click()
    seen(page.get_by_test_id("review-item").locator("img"))
    page.goto(f"{served.studio.base}/#/tags/0")
    seen(page.locator("li[data-place] img").first)
    page.get_by_role("link", name="Map").click()
    page.get_by_label("Names on the map").uncheck()
    page.get_by_test_id("selected-ring").click(force=True)
    seen(page.get_by_test_id("map-card").locator("img"))


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desktop", "phone"])
def test_pictures_are_accessible_in_a_grid_a_question_and_on_the_map(open_page, served, size):
    page = open_page(served.studio, size=size)
    page.monitor.ignore_errors = True  # broken ones are asked for, too
    page.get_by_role("button", name="Grid of pictures").click()
    seen(options_of(page).first.locator("img"))
    wrong = in_both(page, "grid", violations) | in_both(page, "grid width", too_wide)
    for view, picture in (("Review", "review-item"), ("Map", "map-picture")):
        page.get_by_role("link", name=view, exact=True).click()
        seen(page.get_by_test_id(picture).locator("img").first)
        wrong |= in_both(page, f"pictures {view}", violations) | in_both(page, f"{view} width", too_wide)
    assert {view: found for view, found in wrong.items() if found} == {}


def test_broken_pictures_and_those_outside_are_marked_as_such(page, served):
    page.monitor.ignore_errors = True
    for row in (43, 44):
        assert served.client.get(f"/api/items/{row}/thumbnail").status_code == 404
        panel = open_item(page, row)
        expect(panel.get_by_test_id("broken-picture")).to_be_visible()
    panel = open_item(page, 42)
    seen(panel.get_by_role("img", name="shot42"))


def test_pictures_that_could_not_be_had_are_asked_for_when_the_server_is_back(open_page, served, tmp_path):
    folder = shutil.copytree(served.folder, tmp_path / "own")
    with studio(folder, port=None) as running:
        page = open_page(running)
        page.monitor.ignore_errors = True
        page.route("**/thumbnail**", lambda route: route.abort())
        page.reload()
        first = options_of(page).first
        expect(first.get_by_test_id("broken-picture")).to_be_visible()
        page.unroute("**/thumbnail**")
        running.kill()
        expect(page.get_by_test_id("offline")).to_be_visible()
    with studio(folder, port=None):
        expect(page.get_by_test_id("returned")).to_be_visible()
        seen(first.locator("img"))
        page.close()


def test_copies_are_fetched_and_not_the_pictures(page, served):
    open_item(page, 5)
    page.wait_for_load_state("networkidle")
    assert not [asked for asked in page.monitor.requests if asked.endswith("/picture")]
    assert (served.folder / "thumbnails").is_dir()


def test_a_grid_of_pictures_is_walked_with_all_four_arrows(page, served):
    page.monitor.ignore_errors = True  # the broken ones are in the last line
    page.get_by_role("button", name="Grid of pictures").click()
    tiles = options_of(page)
    seen(tiles.first.locator("img"))
    first, second = tiles.nth(0).bounding_box(), tiles.nth(1).bounding_box()
    assert second["x"] > first["x"] + 50
    assert second["y"] == first["y"]
    columns = round(page.get_by_test_id("item-list").evaluate("list => list.clientWidth") / first["width"])
    tiles.nth(0).click()
    expect(page.get_by_test_id("panel")).to_have_attribute("data-row", "0")
    for key, row in (("ArrowRight", 1), ("ArrowDown", 1 + columns), ("ArrowLeft", columns), ("ArrowUp", 0)):
        page.keyboard.press(key)
        expect(page.get_by_test_id("panel")).to_have_attribute("data-row", str(row))
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_test_id("selection-bar").get_by_role("status").first).to_have_text(
        f"{columns + 1} items"
    )
    page.keyboard.press("End")
    expect(page.locator("#item-44")).to_be_in_viewport()
    page.reload()
    expect(page.get_by_role("button", name="Grid of pictures")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Lines", exact=True).click()
    expect(page.locator("#item-44 .lines")).to_be_visible()


def test_a_broken_picture_has_a_sign_in_the_grid_too(page):
    page.monitor.ignore_errors = True
    page.get_by_role("button", name="Grid of pictures").click()
    page.get_by_test_id("item-list").focus()
    page.keyboard.press("End")
    expect(page.locator("#item-44").get_by_test_id("broken-picture")).to_be_visible()
    seen(page.locator("#item-42 img"))


def test_pictures_lie_on_the_map_and_groups_have_the_names_of_tags(page, served):
    page.monitor.ignore_errors = True
    assert {group["name"] for group in served.get("/api/groups")} & set(HUES)
    page.get_by_role("link", name="Map").click()
    seen(page.get_by_test_id("map-picture").locator("img").first)
    # no name and no picture lies on another, and a group without a name is not named "group 7"
    for label in page.get_by_test_id("group-label").all_inner_texts():
        assert not label.startswith("group ")
    until(page, ON_ANOTHER)
    page.get_by_role("button", name="Zoom in").click()
    seen(page.get_by_test_id("map-picture").locator("img").first)
