"""The tags: their counts, the page of one, and renaming, merging and making them."""

import re

import pytest
from playwright.sync_api import expect

from browser import FIXTURES, pick, shot, stored, tag_line
from lass import Collection

chrome, served, open_page, page = FIXTURES


@pytest.fixture
def tree(page):
    page.get_by_role("link", name="Tags").click()
    tree = page.get_by_role("tree", name="Tags")
    expect(tree).to_be_visible()
    return tree


def test_the_tree_counts_what_the_database_holds(page, tree, served):
    with Collection.open(served.folder) as collection:
        annotations = collection.annotation_matrix()
    names = list(annotations.names)
    facets = {name.partition("::")[0] for name in names if "::" in name}
    expect(page.get_by_text(f"{len(names)} tags", exact=True)).to_be_visible()
    first = tree.get_by_role("treeitem").first
    expect(first).to_have_attribute("aria-expanded", "true")
    assert first.locator(".label").inner_text() in facets
    first.click()
    expect(first).to_have_attribute("aria-expanded", "false")
    first.click()
    for column in (0, 17, int((annotations.G > 0).sum(axis=0).argmax())):
        values = annotations.G[:, column].toarray().ravel()
        line = tag_line(page, names[column])
        counts = rf"is on {(values > 0).sum()}\b.*is not on {(values < 0).sum()}\b"
        expect(line).to_have_accessible_name(re.compile(counts))
    page.get_by_test_id("tag-search").fill("no such tag")
    expect(tree).to_contain_text("No tag has this in its name.")
    page.get_by_test_id("tag-search").fill("")
    page.get_by_role("combobox", name="Sort tags by").select_option("name")
    page.get_by_label("by facet").uncheck()
    lines = tree.get_by_role("treeitem").locator(".label").evaluate_all("all => all.map(one => one.title)")
    assert lines == sorted(names, key=str.casefold)[: len(lines)]
    tree.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_test_id("tag-page").get_by_role("heading", level=2)).to_have_text(
        re.compile(re.escape(lines[2]).replace("::", "::\\s*"))
    )


def common(served):
    """A tag with candidates and doubts."""
    for tag in sorted(served.get("/api/tags"), key=lambda tag: -tag["is"]):
        found = served.get(f"/api/tags/{tag['tag']}")
        if len(found["candidates"]) > 5 and found["doubts"]:
            return tag, found
    raise AssertionError("no tag is doubted anywhere")


def test_deciding_on_candidates_and_doubts(page, tree, served):
    served.settle()
    tag, found = common(served)
    tag_line(page, tag["name"]).click()
    shown = page.get_by_test_id("tag-page")
    candidates = shown.get_by_test_id("candidates").locator("li")
    expect(candidates).to_have_count(len(found["candidates"]))
    ids = [one["row"]["id"] for one in found["candidates"]]
    titles = [one["row"]["title"] or one["row"]["id"] for one in found["candidates"]]

    def annotation(item):
        return served.annotations(item).get(tag["name"], 0)

    with stored(page):
        shown.get_by_role("button", name=f"{titles[0]}: is", exact=True).click()
    assert annotation(ids[0]) == 1
    with stored(page):
        shown.get_by_role("button", name=f"{titles[1]}: is not", exact=True).click()
    assert annotation(ids[1]) == -1
    expect(shown.get_by_text("2 of")).to_be_visible()
    # the cursor went on to the next one
    expect(candidates.nth(2)).to_have_attribute("aria-current", "true")
    with stored(page):
        page.keyboard.press("a")
    assert annotation(ids[2]) == 1
    with stored(page):
        page.keyboard.press("x")
    assert annotation(ids[3]) == -1
    page.keyboard.press("j")
    expect(candidates.nth(5)).to_have_attribute("aria-current", "true")
    page.keyboard.press("k")
    expect(candidates.nth(4)).to_have_attribute("aria-current", "true")
    for place in (3, 2, 1, 0):
        with stored(page):
            page.keyboard.press("u")
        assert annotation(ids[place]) == 0
    doubt = found["doubts"][0]["row"]
    doubted = shown.get_by_test_id("doubts").locator("li").first
    expect(doubted).to_contain_text(doubt["title"] or doubt["id"])
    with stored(page):
        doubted.get_by_role("button", name=re.compile("^Is not")).click()
    assert annotation(doubt["id"]) == -1
    with stored(page):
        doubted.get_by_role("button", name=re.compile("^Withdraw")).click()
    assert annotation(doubt["id"]) == 0
    for _ in range(2):
        with stored(page):
            page.keyboard.press("u")
    assert annotation(doubt["id"]) == 1
    expect(shown.get_by_test_id("co-occurring").locator("li").first).to_be_visible()
    shown.get_by_role("button", name=re.compile(r"^\+ is on")).click()
    expect(page.get_by_test_id("count")).to_have_text(re.compile(f"^{tag['is']} items?$"))


def test_rename_and_merge_can_be_undone(page, tree, served):
    tags = sorted(
        (tag for tag in served.get("/api/tags") if 3 <= tag["is"] <= 20), key=lambda tag: tag["name"]
    )
    one, other = tags[0], tags[1]
    tag_line(page, one["name"]).click()
    shown = page.get_by_test_id("tag-page")
    shown.get_by_role("button", name="Rename").click()
    field = shown.get_by_role("textbox", name="New name of the tag")
    field.fill(other["name"])
    expect(shown.get_by_text("merge them instead")).to_be_visible()
    field.fill("mood::renamed")
    with stored(page):
        field.press("Enter")
    expect(shown.get_by_role("heading", level=2)).to_contain_text("renamed")
    with Collection.open(served.folder) as collection:
        assert collection.names()[one["tag"]] == "mood::renamed"
    with stored(page):
        page.keyboard.press("u")
    expect(shown.get_by_role("heading", level=2)).to_contain_text(one["name"].rpartition("::")[2])
    with Collection.open(served.folder) as collection:
        assert collection.names()[one["tag"]] == one["name"]
        before = collection.annotation_matrix().G.toarray()
    shown.get_by_role("button", name="Merge into…").click()
    pick(page, "Merge into which tag", other["name"])
    expect(shown.get_by_test_id("merge-sentence")).to_contain_text(f"{one['is'] + one['isNot']} items change")
    with stored(page):
        shown.get_by_role("button", name="Merge", exact=True).click()
    expect(shown.get_by_role("heading", level=2)).to_contain_text(other["name"].rpartition("::")[2])
    with Collection.open(served.folder) as collection:
        after = collection.annotation_matrix().G.toarray()
    assert (after[before[:, one["tag"]] > 0, other["tag"]] > 0).all()
    assert not after[:, one["tag"]].any()
    expect(tag_line(page, one["name"])).to_have_count(0)
    # what it was called finds the other
    expect(
        tree.get_by_role("treeitem").filter(has=page.get_by_title(other["name"], exact=True))
    ).to_have_count(1)
    expect(shown.get_by_test_id("synonyms")).to_contain_text(one["name"])
    # in the log it is one line, however many items it changed
    page.get_by_role("link", name="Progress", exact=True).click()
    lines = page.get_by_test_id("history").get_by_role("listitem")
    merged = f"merged {one['name']} into {other['name']} ({one['is'] + one['isNot']} items)"
    expect(lines.first.locator(".what")).to_have_text(merged)
    expect(lines.nth(1)).to_contain_text("undoing")
    shot(page, "progress-merged")
    page.get_by_role("link", name="Tags", exact=True).click()
    tree.focus()
    with stored(page):
        page.keyboard.press("u")
    expect(tag_line(page, one["name"])).to_have_count(1)
    with Collection.open(served.folder) as collection:
        assert (collection.annotation_matrix().G.toarray() == before).all()
        assert collection.check() == []


def test_a_new_tag_is_made_and_its_making_undone(page, tree, served):
    field = page.get_by_role("textbox", name="Name of a new tag")
    field.fill("mood::<i>new</i>")
    with stored(page):
        field.press("Enter")
    shown = page.get_by_test_id("tag-page")
    expect(shown.get_by_role("heading", level=2)).to_contain_text("<i>new</i>")
    expect(shown).to_contain_text("No item has this tag yet")
    with Collection.open(served.folder) as collection:
        assert "mood::<i>new</i>" in collection.names()
    tree.focus()
    with stored(page):
        page.keyboard.press("u")
    expect(tag_line(page, "mood::<i>new</i>")).to_have_count(0)
    offered = [tag["name"] for tag in served.get("/api/tags") if not tag["retired"]]
    assert "mood::<i>new</i>" not in offered


def test_a_tag_is_deleted_with_its_annotations_and_comes_back(page, tree, served):
    tag = max((tag for tag in served.get("/api/tags") if not tag["retired"]), key=lambda tag: tag["is"])
    with Collection.open(served.folder) as collection:
        before = collection.annotation_matrix().G.toarray()
    tag_line(page, tag["name"]).click()
    shown = page.get_by_test_id("tag-page")
    shown.get_by_role("button", name="Delete…").click()
    expect(shown.get_by_test_id("delete-sentence")).to_contain_text(f"{tag['is'] + tag['isNot']} items")
    page.keyboard.press("Escape")
    expect(shown.get_by_test_id("delete-sentence")).to_have_count(0)
    shown.get_by_role("button", name="Delete…").click()
    with stored(page):
        shown.get_by_role("button", name="Delete the tag").click()
    expect(page.get_by_test_id("tag-search")).to_be_focused()
    expect(tag_line(page, tag["name"])).to_have_count(0)
    with Collection.open(served.folder) as collection:
        assert not collection.annotation_matrix().G[:, [tag["tag"]]].toarray().any()
    with stored(page):
        page.get_by_test_id("toasts").get_by_role("button", name="Undo").click()
    expect(tag_line(page, tag["name"])).to_have_count(1)
    with Collection.open(served.folder) as collection:
        assert (collection.annotation_matrix().G.toarray() == before).all()


def test_a_misspelt_new_tag_leads_to_the_one_that_is_there(page, tree, served):
    tag = max((tag for tag in served.get("/api/tags") if not tag["retired"]), key=lambda tag: tag["is"])
    wrong = tag["name"][:-2] + tag["name"][-1] + tag["name"][-2]
    field = page.get_by_role("textbox", name="Name of a new tag")
    field.fill(wrong)
    field.press("Enter")
    expect(page.get_by_role("button", name="Add a tag")).to_be_focused()
    page.get_by_test_id("near-tags").get_by_role("button", name=tag["name"]).click()
    expect(page.get_by_test_id("tag-page")).to_contain_text(tag["name"].rpartition("::")[2])
    assert wrong not in [tag["name"] for tag in served.get("/api/tags")]
