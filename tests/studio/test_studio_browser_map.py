"""The map and the view between three tags, worked with the mouse."""

import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from browser import FIXTURES, pick, stored, until
from lass import Collection

chrome, served, open_page, page = FIXTURES

#: part of the plot that is left free around the points
MARGIN = 0.94


@pytest.fixture
def plot(page):
    page.get_by_role("link", name="Map").click()
    plot = page.get_by_test_id("plot").filter(visible=True)
    expect(plot).to_be_visible()
    page.wait_for_load_state("networkidle")
    return plot


def colours(plot):
    """Every pixel of the points."""
    picture = Image.open(io.BytesIO(plot.locator("canvas").screenshot())).convert("RGB")
    return np.asarray(picture)


def pixels(plot, points):
    """Where points are on the screen, at the first look."""
    box = plot.bounding_box()
    unit = min(box["width"], box["height"]) / 2 * MARGIN
    x = box["x"] + box["width"] / 2 + points[:, 0] * unit
    y = box["y"] + box["height"] / 2 - points[:, 1] * unit
    return np.column_stack([x, y])


@pytest.fixture
def places(plot, served):
    points = np.frombuffer(served.client.get("/api/map").content, "<f4").reshape(-1, 2)
    return pixels(plot, points)


def lonely(places, among):
    """Of some rows the one farthest from all others, so that the pointer means it and no other."""
    apart = np.linalg.norm(places[among][:, None] - places[None], axis=2)
    apart[np.arange(len(among)), among] = np.inf
    return among[int(apart.min(axis=1).argmax())]


def between(values, share):
    """A number between two of the values, of those near the quantile the two that are farthest apart."""
    ordered = np.sort(values)
    place = int(share * len(ordered))
    near = ordered[place - 10 : place + 11]
    gap = int(np.diff(near).argmax())
    return float(near[gap : gap + 2].mean())


def open_to_a_finger(page, places):
    """Rows whose points have no name or button near them: a finger would mean these."""
    around = np.array([(x, y) for x in (-20, 0, 20) for y in (-20, 0, 20)])
    asked = "places => places.map(([x, y]) => document.elementFromPoint(x, y)?.tagName === 'CANVAS')"
    free = page.evaluate(asked, (places[:, None] + around).reshape(-1, 2).tolist())
    return np.flatnonzero(np.reshape(free, (len(places), -1)).all(axis=1))


def draw(page, corners):
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()


def test_points_are_drawn_and_their_colours_are_explained(page, plot, served):
    drawn = colours(plot)
    ground = drawn[0, 0]
    coloured = (np.abs(drawn.astype(int) - ground).sum(axis=2) > 30).sum()
    assert coloured > 500
    legend = page.get_by_test_id("map-legend")
    tops = np.frombuffer(served.client.get("/api/map/tops").content, "<u2")
    tag, count = max(zip(*np.unique(tops, return_counts=True), strict=True), key=lambda pair: pair[1])
    name = served.get("/api/tags")[int(tag)]["name"]
    entry = legend.get_by_role("button", name=re.compile(f"^{re.escape(name)}".replace("::", r"::\s*")))
    expect(entry).to_contain_text(str(count))
    entry.click()
    expect(entry).to_have_attribute("aria-pressed", "true")
    assert (colours(plot) != drawn).any()
    entry.click()
    pick(page, "Colour by the score of a tag", name)
    expect(legend.get_by_role("heading")).to_contain_text("Score of")
    page.wait_for_load_state("networkidle")
    assert (colours(plot) != drawn).any()
    legend.get_by_role("button", name="Back to top tags").click()
    expect(legend.get_by_role("heading")).to_have_text("Top tag")


def test_hover_describes_and_a_click_chooses(page, plot, places, served):
    row = lonely(places, np.array(served.get("/api/list", filter="untagged")["rows"]))
    item = served.get(f"/api/items/{row}")
    page.mouse.move(*places[row].tolist())
    tooltip = page.get_by_test_id("map-tooltip")
    expect(tooltip).to_contain_text(item["title"] or item["id"])
    page.mouse.click(*places[row].tolist())
    card = page.get_by_test_id("map-card")
    expect(card.get_by_role("heading")).to_have_text(item["title"] or item["id"])
    expect(page.get_by_test_id("selected-ring")).to_be_visible()
    name = served.get("/api/tags")[item["suggestions"][0]["tag"]]["name"]
    with stored(page):
        card.get_by_role("button", name=f"Accept {name}", exact=True).click()
    assert served.annotations(item["id"]) == {name: 1}
    with stored(page):
        page.keyboard.press("u")
    assert served.annotations(item["id"]) == {}
    card.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("panel")).to_have_attribute("data-row", str(row))
    # and what the list chooses is shown on the map
    page.keyboard.press("Home")
    page.get_by_role("link", name="Map").click()
    first = page.get_by_test_id("selected-ring")
    expect(first).not_to_have_attribute("cx", "0")
    assert float(first.get_attribute("cx")) == pytest.approx(places[0][0] - plot.bounding_box()["x"], abs=1)


def test_a_lasso_proposes_a_name_and_tags_in_one_action(page, plot, places, served):
    group = served.get("/api/groups")[0]
    own = places[group["rows"]]
    low, high = np.quantile(own, 0.1, axis=0).tolist(), np.quantile(own, 0.9, axis=0).tolist()
    inside = np.flatnonzero(((places > low) & (places < high)).all(axis=1)).tolist()
    page.get_by_role("button", name="Lasso").click()
    draw(page, [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])])
    expect(page.get_by_test_id("lasso-bar").get_by_role("status").first).to_have_text(f"{len(inside)} items")
    page.get_by_role("button", name="Name and tag…").click()
    dialog = page.get_by_test_id("tag-many")
    proposed = served.post("/api/proposed-name", rows=inside)
    assert proposed["name"]
    expect(dialog.get_by_label("Tag", exact=True)).to_have_value(proposed["name"])
    expect(dialog).to_contain_text(", ".join(proposed["terms"]))
    dialog.get_by_role("list", name="Items to tag").get_by_role("checkbox").first.uncheck()
    dialog.get_by_label("Tag", exact=True).fill("drawn::around")
    with stored(page, "/api/tag-items"):
        dialog.get_by_role("button", name=f"tag {len(inside) - 1} items").click()
    with Collection.open(served.folder) as collection:
        ids = collection.ids()
        having = {row for row in inside if collection.annotations_of(ids[row]).get("drawn::around") == 1}
        assert having == set(inside) - {inside[0]}
    with stored(page, "/api/undo"):
        page.get_by_test_id("toasts").get_by_role("button", name="Undo").click()
    with Collection.open(served.folder) as collection:
        assert not any("drawn::around" in collection.annotations_of(ids[row]) for row in inside)
        assert "drawn::around" not in collection.tags


def test_a_lasso_with_shift_begins_on_the_name_of_a_group(page, plot):
    name = page.get_by_test_id("group-label").first
    expect(name).to_be_visible()
    box, whole = name.bounding_box(), plot.bounding_box()
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    middle = whole["x"] + whole["width"] / 2, whole["y"] + whole["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((middle[0], top), middle, (left, middle[1])):
        page.mouse.move(*corner, steps=5)
    page.mouse.move(left, top, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.get_by_test_id("lasso-bar").get_by_role("status").first).to_have_text(re.compile("item"))
    expect(page.get_by_test_id("tag-many")).to_be_hidden()
    page.keyboard.press("Escape")
    name.click()
    expect(page.get_by_test_id("tag-many")).to_be_visible()


@pytest.mark.parametrize("by", ["tool", "shift"])
def test_a_lasso_annotates_many_items_at_once(page, plot, places, served, by):
    low, high = np.quantile(places, 0.35, axis=0).tolist(), np.quantile(places, 0.65, axis=0).tolist()
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    inside = np.flatnonzero(((places > low) & (places < high)).all(axis=1))
    name = served.get("/api/tags")[7]["name"]
    with Collection.open(served.folder) as collection:
        ids = collection.ids()
        before = {row: dict(collection.annotations_of(ids[row])) for row in inside}
    if by == "tool":
        page.get_by_role("button", name="Lasso").click()
        draw(page, corners)
    else:
        page.keyboard.down("Shift")
        draw(page, corners)
        page.keyboard.up("Shift")
    bar = page.get_by_test_id("lasso-bar")
    expect(bar.get_by_role("status").first).to_have_text(f"{len(inside)} items")
    label, value = ("Add a tag to these items", 1) if by == "tool" else ("Reject a tag for these items", -1)
    with stored(page):
        pick(page, label, name)
    with Collection.open(served.folder) as collection:
        assert all(collection.annotations_of(ids[row])[name] == value for row in inside)
    with stored(page):
        page.keyboard.press("Escape")
        page.get_by_test_id("toasts").get_by_role("button", name="Undo").click()
    with Collection.open(served.folder) as collection:
        assert {row: dict(collection.annotations_of(ids[row])) for row in inside} == before
    if by == "tool":
        draw_again = page.get_by_role("button", name="Lasso")
        draw_again.click()
        draw(page, corners)
    else:
        page.keyboard.down("Shift")
        draw(page, corners)
        page.keyboard.up("Shift")
    bar.get_by_role("button", name="Show in list").click()
    expect(page.get_by_test_id("picked-filter")).to_contain_text(f"{len(inside)} items")
    expect(page.get_by_test_id("count")).to_have_text(f"{len(inside)} items")
    page.get_by_role("button", name="Show all items again").click()
    expect(page.get_by_test_id("count")).to_have_text("500 items")


def test_zoom_by_keys_wheel_and_buttons(page, plot):
    def zoom():
        return float(plot.get_attribute("data-zoom"))

    assert zoom() == 1
    page.keyboard.press("+")
    expect(plot).not_to_have_attribute("data-zoom", "1.000")
    by_key = zoom()
    assert by_key > 1
    plot.locator("canvas").hover()
    page.mouse.wheel(0, -300)
    expect(plot).not_to_have_attribute("data-zoom", f"{by_key:.3f}")
    assert zoom() > by_key
    before = colours(plot)
    page.keyboard.press("ArrowRight")
    assert (colours(plot) != before).any()
    page.keyboard.press("0")
    expect(plot).to_have_attribute("data-zoom", "1.000")
    page.get_by_role("button", name="Zoom in").click()
    expect(plot).not_to_have_attribute("data-zoom", "1.000")
    page.get_by_role("button", name="Show all").click()
    expect(plot).to_have_attribute("data-zoom", "1.000")
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 5)
    for _ in range(8):
        page.mouse.wheel(0, -300)
    expect(page.get_by_test_id("map-nothing")).to_contain_text("Show all")
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_test_id("map-nothing")).to_have_count(0)
    before = colours(plot)
    page.get_by_label("Outline tagged items").check()
    page.wait_for_load_state("networkidle")
    assert (colours(plot) != before).any()


def test_items_between_three_tags(page, plot, served):
    served.settle()
    page.get_by_role("tab", name="Three tags").click()
    for corner in range(3):
        expect(page.get_by_test_id(f"corner-{corner}")).to_be_visible()
    tools, above = page.get_by_role("toolbar").filter(visible=True), page.get_by_test_id("corner-0")
    assert above.bounding_box()["x"] > max(
        one.bounding_box()["x"] for one in tools.get_by_role("button").filter(visible=True).all()
    )
    legend = page.get_by_test_id("three-legend")
    name = served.get("/api/tags")[11]["name"]
    with page.expect_response(re.compile("/api/map/simplex")) as answer:
        pick(page, "Left corner: tag", name)
    expect(page.get_by_test_id("corner-1")).to_contain_text(name.rpartition("::")[2])
    shares = np.frombuffer(answer.value.body(), "<f4").reshape(-1, 3)
    shown = (shares.sum(axis=1) >= 0.05).sum()
    expect(legend.get_by_text("shown.")).to_contain_text(f"{shown} item")
    expect(legend.get_by_text("shown.")).to_contain_text(f"{500 - shown} left out")
    three = page.get_by_test_id("plot").filter(visible=True)
    drawn = colours(three)
    assert (np.abs(drawn.astype(int) - drawn[0, 0]).sum(axis=2) > 30).sum() > 100
    page.keyboard.press("ArrowLeft")
    page.get_by_role("tab", name="Three tags").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Map", exact=True)).to_have_attribute("aria-selected", "true")


def test_names_tell_what_lies_where_and_items_have_theirs_when_near(page, plot, places, served):
    groups = plot.get_by_test_id("group-label")
    expect(groups.first).to_be_visible()
    page.mouse.move(*np.median(places, axis=0).tolist())
    page.mouse.wheel(0, -240)
    page.mouse.wheel(0, -120)
    names = plot.get_by_test_id("map-name")
    expect(names.first).to_be_visible()
    expect(groups).to_have_count(0)
    shown = set(names.all_inner_texts())
    page.mouse.wheel(0, -240)
    until(
        page,
        """before => {
        const now = [...document.querySelectorAll("[data-testid=map-name]")].map(one => one.textContent);
        return now.length > 0 && now.some(name => !before.includes(name));
    }""",
        sorted(shown),
    )
    for _ in range(4):
        page.mouse.wheel(0, -120)
    items = plot.get_by_test_id("item-name")
    expect(items.first).to_be_visible()
    titles = {
        row["title"] or row["id"]
        for low in range(0, 500, 100)
        for row in served.get("/api/rows", rows=",".join(map(str, range(low, low + 100))))
    }
    assert all(one in titles or one.endswith("…") for one in items.all_inner_texts())
    page.get_by_label("Names on the map").uncheck()
    expect(items).to_have_count(0)


def test_search_on_the_map_goes_there_and_can_be_chosen(page, plot, served):
    field = page.get_by_role("searchbox", name="Search on the map")
    before = colours(plot)
    field.fill("mail client")
    found = served.get("/api/list", text="mail client")["rows"]
    expect(page.get_by_test_id("map-found")).to_contain_text(f"{len(found)} items")
    assert (colours(plot) != before).any()
    field.press("Enter")
    expect(plot).not_to_have_attribute("data-zoom", "1.000")
    page.get_by_role("button", name="Choose them").click()
    expect(page.get_by_test_id("lasso-bar").get_by_role("status").first).to_have_text(f"{len(found)} items")
    field.press("Escape")
    expect(page.get_by_test_id("map-found")).to_have_count(0)


def test_a_lasso_says_what_its_items_have_in_common(page, plot, places, served):
    # between points: on the line rounding would decide
    low, high = ([between(axis, share) for axis in places.T] for share in (0.3, 0.7))
    inside = np.flatnonzero(((places > low) & (places < high)).all(axis=1)).tolist()
    page.get_by_role("button", name="Lasso").click()
    draw(page, [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])])
    summary = served.post("/api/selection", rows=inside)
    names = [tag["name"] for tag in served.get("/api/tags")]
    lines = page.get_by_test_id("lasso-summary").get_by_role("listitem")
    expect(lines).to_have_count(len(summary["tags"]))
    for place, one in enumerate(summary["tags"]):
        expect(lines.nth(place)).to_contain_text(names[one["tag"]].rpartition("::")[2])
        expect(lines.nth(place)).to_contain_text(f"{one['having']} of {len(inside)} have it")
    place, one = next((place, one) for place, one in enumerate(summary["tags"]) if one["likely"])
    more = f"at 50 % or more for {len(one['likely'])} more, of which about {one['expectedRight']:.0f}"
    expect(lines.nth(place)).to_contain_text(more)
    # beside the map, where no selected item is below it
    assert plot.bounding_box()["x"] + plot.bounding_box()["width"] <= lines.nth(place).bounding_box()["x"]
    with stored(page):
        button = lines.nth(place).get_by_role("button", name=re.compile(r"^Accept [\d,]+: .* 50 % or more"))
        expect(button).to_have_text(f"Accept {len(one['likely'])}")
        button.click()
    tagged = set(served.get("/api/list", tag=f"{one['tag']}:is")["rows"])
    assert set(one["likely"]) <= tagged
    with stored(page):
        page.get_by_test_id("toasts").get_by_role("button", name="Undo").click()
    assert not set(one["likely"]) & set(served.get("/api/list", tag=f"{one['tag']}:is")["rows"])


def test_points_are_coloured_by_number_of_tags_by_who_and_by_when(page, plot, served):
    rows = list(range(40))
    for who, some in (("ann", rows[:25]), ("bob", rows[25:])):
        annotations = [{"row": row, "tag": 2, "value": -1} for row in some]
        served.post("/api/annotations", annotations=annotations, who=who)
    legend = page.get_by_test_id("map-legend")
    choose = legend.get_by_role("combobox", name="Colour by", exact=True)
    seen = [colours(plot)]
    for by, title in (("tags", "Number of tags"), ("when", "Last changed"), ("who", "Last changed by")):
        choose.select_option(by)
        expect(legend.get_by_role("heading")).to_have_text(title)
        page.wait_for_load_state("networkidle")
        seen.append(colours(plot))
        assert (seen[-1] != seen[-2]).any()
    ann = legend.get_by_role("button", name="ann 25")
    expect(ann).to_be_visible()
    expect(legend.get_by_role("button", name="bob 15")).to_be_visible()
    ann.click()
    expect(ann).to_have_attribute("aria-pressed", "true")
    for who in ("bob", "ann"):
        served.post("/api/undo", who=who)


def test_the_map_of_a_phone_can_be_moved_and_items_chosen(open_page, served):
    page = open_page(served.studio, size=(390, 800), has_touch=True)
    page.get_by_role("link", name="Map").click()
    plot = page.get_by_test_id("plot").filter(visible=True)
    expect(plot).to_be_visible()
    page.wait_for_load_state("networkidle")
    box = plot.bounding_box()
    assert box["width"] >= 380
    assert box["height"] >= 240
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    points = np.frombuffer(served.client.get("/api/map").content, "<f4").reshape(-1, 2)
    at = pixels(plot, points)
    row = lonely(at, open_to_a_finger(page, at))
    page.touchscreen.tap(*at[row].tolist())
    expect(page.get_by_test_id("map-card")).to_be_visible()
    page.get_by_role("searchbox", name="Search on the map").fill("mail client")
    page.get_by_role("button", name="Choose them").click()
    bar = page.get_by_test_id("lasso-bar")
    expect(bar.get_by_role("button", name="Clear")).to_be_visible()
    inside = bar.bounding_box()
    assert inside["y"] >= plot.bounding_box()["y"] + plot.bounding_box()["height"] - 1, (
        "below the map, not on it"
    )
    assert inside["x"] >= 0
    assert inside["x"] + inside["width"] <= 390
