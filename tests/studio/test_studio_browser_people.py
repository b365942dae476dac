"""Two people in two browsers: who stated what, where they differ, and what follows."""

import re
import shutil

import pytest
from playwright.sync_api import expect

import browser
from browser import open_item, shot, stored, violations
from lass import Collection
from lass.studio import address
from studio_server import studio, wait_until_ready

chrome, served, open_page, page = browser.FIXTURES


@pytest.fixture
def team(packages, tmp_path):
    """A Studio with links for two people, and these links."""
    folder = shutil.copytree(packages, tmp_path / "packages")
    with studio(folder, "--person", "Ann", "--person", "Bob Berg", port=None) as running:
        with running.client() as client:
            wait_until_ready(client)
        tokens = address.read(folder).people
        yield (
            running,
            folder,
            {name: type(running)(running.base, tokens[name], running.process, []) for name in tokens},
        )


def answer(page, tag, label):
    """Presses one's own answer where people differ."""
    with stored(page, "/api/annotations"):
        page.get_by_role("group", name=f"Your own answer for {tag}").get_by_role("button", name=label).click()


def test_two_people_who_differ_see_each_other(team, open_page):
    _, folder, links = team
    with Collection.open(folder) as collection:
        ids, names = collection.ids(), collection.names()
        row = next(row for row, tags in collection.annotations_of_rows(range(50)).items() if not tags)
        tag = names[0]
    ann, bob = (open_page(links[name]) for name in ("Ann", "Bob Berg"))
    for who, page in (("Ann", ann), ("Bob Berg", bob)):
        expect(page.locator(".fixed")).to_have_text(f"{'AN' if who == 'Ann' else 'BB'}{who}")
        open_item(page, row)
    field = ann.get_by_role("combobox", name="Add a tag")
    field.fill(tag)
    with stored(ann, "/api/annotations"):
        field.press("Enter")
    # what one states, the other sees
    seen = bob.get_by_test_id("people").locator(f"[data-tag='{tag}']")
    expect(seen).to_contain_text("Ann")
    expect(seen).to_contain_text("yes")
    expect(bob.get_by_test_id("annotations").locator(f"[data-tag='{tag}']")).to_be_visible()
    # whoever takes away what another stated is told that it stays
    with stored(bob, "/api/annotations"):
        bob.get_by_test_id("annotations").get_by_role("button", name=re.compile(f"^Withdraw.*{tag}")).click()
    expect(bob.get_by_test_id("toast").last).to_contain_text("Ann stated it")
    bob.get_by_test_id("add-tag").get_by_role("button", name="is not").click()
    field = bob.get_by_role("combobox", name="Add a tag")
    field.fill(tag)
    with stored(bob, "/api/annotations"):
        field.press("Enter")
    for page in (ann, bob):
        differ = page.get_by_test_id("people").locator(f"[data-tag='{tag}']")
        expect(differ).to_contain_text("People differ. Even: nothing counts.")
        expect(differ).to_contain_text("Bob Berg")
        expect(page.get_by_test_id("annotations").locator(f"[data-tag='{tag}']")).to_have_count(0)
        expect(browser.options_of(page).and_(page.locator("[aria-selected=true]"))).to_contain_text(
            "people differ"
        )
    with Collection.open(folder) as collection:
        assert collection.annotations_of(ids[row]) == {}
        assert collection.annotations_by_person([row])[row] == {0: {"Ann": 1, "Bob Berg": -1}}
    # the filter finds it
    ann.get_by_role("combobox", name="Filter").select_option("People differ")
    expect(browser.options_of(ann)).to_have_count(1)
    for page, size in ((ann, (1280, 800)), (bob, (390, 844))):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.get_by_test_id("people").scroll_into_view_if_needed()
            assert violations(page, theme) == []
            shot(page, f"people-{size[0]}-{theme}")
    bob.set_viewport_size({"width": 1280, "height": 800})
    # and an order of the review asks about it first
    ann.get_by_role("link", name="Review").click()
    ann.get_by_role("combobox", name="Order of the questions").select_option("Where people differ")
    question = ann.get_by_test_id("question")
    expect(question).to_contain_text("People differ on this tag")
    expect(question.get_by_test_id("votes").get_by_role("listitem")).to_have_text(
        [r"ANAnn yes", "BBBob Berg no"]
    )
    for size in ((1280, 800), (390, 844)):
        ann.set_viewport_size({"width": size[0], "height": size[1]})
        for theme in ("light", "dark"):
            ann.emulate_media(color_scheme=theme)
            assert violations(ann, theme) == []
            shot(ann, f"people-review-{size[0]}-{theme}")
    ann.set_viewport_size({"width": 1280, "height": 800})
    ann.keyboard.press("x")
    expect(ann.get_by_role("heading", name="Done")).to_be_visible()
    with stored(ann, "/api/undo"):
        ann.keyboard.press("u")
    expect(question.get_by_test_id("votes").get_by_role("listitem").first).to_have_text("ANAnn yes")
    with Collection.open(folder) as collection:
        assert collection.annotations_by_person([row])[row] == {0: {"Ann": 1, "Bob Berg": -1}}
    ann.get_by_role("link", name="Items").click()
    # each undoes their own
    with stored(ann, "/api/undo"):
        ann.get_by_role("heading", level=1).click()
        ann.keyboard.press("u")
    expect(bob.get_by_test_id("annotations").locator(f"[data-tag='{tag}']")).to_be_visible()
    with Collection.open(folder) as collection:
        assert collection.annotations_of(ids[row]) == {tag: -1}
        latest = collection.history(limit=1)[0]
        assert (latest.who, latest.person, latest.undoes is not None) == ("Ann", "Ann", True)
    # one changes their mind where people differ
    with stored(ann, "/api/redo"):
        ann.keyboard.press("Shift+U")
    answer(bob, tag, "Yes")
    expect(ann.get_by_test_id("annotations").locator(f"[data-tag='{tag}']")).to_be_visible()
    with Collection.open(folder) as collection:
        assert collection.annotations_by_person([row])[row] == {0: {"Ann": 1, "Bob Berg": 1}}
        assert [one.who for one in collection.annotations if one.item == ids[row]] == ["Ann", "Bob Berg"]
    ann.get_by_role("link", name="Progress").click()
    expect(ann.get_by_test_id("history")).to_contain_text("Bob Berg")
    shot(ann, "people-progress")
