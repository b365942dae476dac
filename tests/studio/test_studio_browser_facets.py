"""A model with facets in the Studio: bars, details of a facet, what-if, and tags side by side."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from browser import DESKTOP, FIXTURES, Served, open_item, options_of, selected, shot, stored, violations
from lass import Collection
from studio_server import studio, wait_until_ready

chrome, _, open_page, _ = FIXTURES
PHONE = (390, 844)


@pytest.fixture(scope="module")
def served(packages, tmp_path_factory):
    folder = shutil.copytree(packages, tmp_path_factory.mktemp("facets") / "packages")
    with Collection.open(folder) as collection:
        collection.fit(draw_map=False, facets="on")
    with studio(folder) as running, running.client() as client:
        wait_until_ready(client)
        yield Served(running, client, folder)


def item_with_tags(served, least=4):
    with Collection.open(served.folder) as collection:
        G = collection.annotation_matrix().G
        return int(next(row for row in range(G.shape[0]) if G.indptr[row + 1] - G.indptr[row] >= least))


def test_details_of_every_facet_add_up(served):
    row = item_with_tags(served)
    details = served.get(f"/api/items/{row}")["modelDetails"]
    names = [tag["name"] for tag in served.get("/api/tags")]
    assert len(details["facets"]) >= 2
    assert details["facet"] == details["facets"][0]["facet"]
    for bar in details["facets"]:
        assert {names[tag].partition("::")[0] if "::" in names[tag] else "" for tag in bar["tags"]} == {
            bar["facet"]
        }
        assert 0.0 < sum(bar["shares"]) <= 1.0 + 1e-6
        own = served.post(f"/api/items/{row}/what-if", annotations={}, facet=bar["facet"])["details"]
        assert own["facet"] == bar["facet"]
        assert own["tags"][0] == bar["tags"][0]
        assert own["shares"][0] == pytest.approx(bar["shares"][0], abs=0.02)
        if own["threshold"] is not None:
            sums = [c + e - own["threshold"] for c, e in zip(own["crowd"], own["expert"], strict=True)]
            found = [max(value, 0.0) for value in sums]
            assert found == pytest.approx(own["shares"], abs=0.02)
    other = next(
        tag for tag, name in enumerate(names) if "::" in name and not name.startswith(details["facet"])
    )
    tried = served.post(f"/api/items/{row}/what-if", annotations={other: 1})["details"]
    assert tried["facet"] == names[other].partition("::")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_bar_a_facet(open_page, served, theme, size):
    page = open_page(served.studio, size=size, color_scheme=theme)
    options_of(page).nth(item_with_tags(served)).click()
    selected(page)
    panel = page.get_by_test_id("panel")
    panel.get_by_text("Model details", exact=True).click()
    bars = panel.get_by_test_id("facet-bars").get_by_role("button")
    expect(bars.first).to_have_attribute("aria-pressed", "true")
    assert bars.count() >= 2
    lines = panel.get_by_test_id("shares").get_by_role("listitem")
    before = lines.first.get_attribute("data-tag")
    bars.nth(1).click()
    expect(bars.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(panel.get_by_test_id("shares").get_by_role("listitem").first).not_to_have_attribute(
        "data-tag", before
    )
    facet = bars.nth(1).locator(".name").inner_text()
    shown = [
        line.get_attribute("data-tag")
        for line in panel.get_by_test_id("shares").get_by_role("listitem").all()
    ]
    assert all(name.startswith(f"{facet}::") for name in shown)
    panel.get_by_test_id("facet-bars").scroll_into_view_if_needed()
    shot(page, f"facets-{size[0]}-{theme}")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not violations(page, theme)


def test_what_is_tried_in_a_facet_is_kept_and_the_model_follows(open_page, served):
    page = open_page(served.studio)
    row = item_with_tags(served, 3)
    panel = open_item(page, row)
    panel.get_by_text("Model details", exact=True).click()
    first = panel.get_by_test_id("shares").get_by_role("listitem").first
    name = first.get_attribute("data-tag")
    first.get_by_role("button", name=f"What if it is not {name}").click()
    expect(panel.get_by_test_id("what-if")).to_contain_text("1 tried")
    with stored(page):
        panel.get_by_role("button", name="Keep", exact=True).click()
    served.settle()
    assert selected(page) == row
    with Collection.open(served.folder) as collection:
        assert collection.annotations_of(collection.ids()[row])[name] == -1
    details = served.get(f"/api/items/{row}")["modelDetails"]
    assert details["facets"]


def test_tags_of_a_facet_stand_side_by_side(open_page, served):
    page = open_page(served.studio)
    panel = open_item(page, item_with_tags(served, 6))
    chips = panel.get_by_test_id("annotations").locator(".chip.is")
    names = [chip.get_attribute("data-tag") for chip in chips.all()]
    facets = [re.sub("::.*", "", name) for name in names]
    assert facets == sorted(facets, key=str.lower)
