"""A page that stays open while the server is restarted, and one that has no token or a wrong one."""

import re
import shutil
import signal

import pytest
from playwright.sync_api import expect

import browser
from browser import MINUS, PATIENCE, open_item, options_of, shot, stored, violations
from lass import Collection
from lass.studio import address
from studio_server import studio

chrome, served, open_page, page = browser.FIXTURES


@pytest.fixture
def folder(packages, tmp_path):
    return shutil.copytree(packages, tmp_path / "packages")


def ended(running):
    """As Ctrl-C ends it."""
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(20) == 0


def suggested(panel):
    """The button that accepts the first suggestion that is open."""
    return panel.get_by_test_id("suggestions").get_by_role("button", name=re.compile("^Accept")).first


def test_a_restart_strands_no_open_page(open_page, folder):
    with studio(folder, port=None) as running:
        page = open_page(running)
        page.monitor.ignore_errors = True
        panel = open_item(page, 3)
        with stored(page, "/api/annotations"):
            suggested(panel).click()
        page.get_by_role("searchbox", name="Search items").fill("a text that is being typ")
        expect(options_of(page)).to_have_count(0)
        ended(running)
        offline = page.get_by_test_id("offline")
        expect(offline).to_contain_text("what you typed stays")
        expect(page.get_by_test_id("model-state").locator(".dot")).to_have_class(re.compile("offline"))
        panel.get_by_test_id("add-tag").get_by_role("button", name=f"{MINUS} is not").click()
        with Collection.open(folder) as collection:
            before = collection.revision()
            name = collection.names()[max(collection.annotations_of_rows([5])[5])]
        field = page.get_by_role("combobox", name="Add a tag")
        field.fill(name)
        field.press("Enter")
        chip = panel.get_by_test_id("annotations").locator(f"[data-tag='{name}']")
        expect(chip).to_be_visible()
        expect(offline).to_contain_text("1 change made since then will be stored")
        shot(page, "session-offline")
    first = address.read(folder)
    with studio(folder, port=None) as running:
        assert (running.base, running.token) == (f"http://127.0.0.1:{first.port}", first.token)
        returned = page.get_by_test_id("returned")
        expect(returned).to_have_text(
            re.compile(
                "The Studio was started again. This page goes on where it was. Stored 1 change that waited."
            )
        )
        returned.get_by_role("button").click()
        expect(returned).to_have_count(0)
        expect(offline).to_have_count(0)
        expect(page.get_by_role("searchbox", name="Search items")).to_have_value("a text that is being typ")
        expect(chip).to_be_visible()
        with Collection.open(folder) as collection:
            assert collection.revision() == before + 1
            assert collection.annotations_of(collection.ids()[3])[name] == -1
        # events come again
        other = running.client()
        with other:
            tag = next(tag["tag"] for tag in other.get("/api/tags").json() if tag["name"] == name)
            undone = {"annotations": [{"row": 3, "tag": tag, "value": 1}], "who": ""}
            assert other.post("/api/annotations", json=undone).status_code == 200
        expect(chip).to_contain_text("+", timeout=PATIENCE)
        shot(page, "session-back")


def test_changes_that_wait_survive_a_reload(open_page, folder):
    with studio(folder, port=None) as running:
        page = open_page(running)
        page.monitor.ignore_errors = True
        panel = open_item(page, 4)
        left = []
        page.route("**/api/annotations", lambda route: route.continue_() if left else route.abort())
        button = suggested(panel)
        name = button.get_attribute("aria-label").split(" ", 1)[1]
        button.click()
        until_kept = "() => (sessionStorage['lass-waiting:/'] ?? '').includes('annotations')"
        browser.until(page, f"({until_kept})()")
        # this page tries again and again until it is left: none of that may come through
        page.on("framenavigated", lambda frame: left.append(frame))
        page.reload()
        expect(page.get_by_test_id("returned")).to_contain_text("Stored 1 change that waited.")
        with Collection.open(folder) as collection:
            stated = collection.annotations_of(collection.ids()[4])
        assert stated[next(tag for tag in stated if name.startswith(tag))] == 1


def test_an_answer_that_waits_is_undone_and_never_stored(open_page, folder):
    with studio(folder, port=None) as running:
        page = open_page(running, "#/review", rows=False)
        page.monitor.ignore_errors = True
        asked = page.locator("[data-question]").get_attribute("data-question")
        with Collection.open(folder) as collection:
            before = collection.revision()
        ended(running)
        offline = page.get_by_test_id("offline")
        expect(offline).to_be_visible()
        page.keyboard.press("a")
        expect(offline).to_contain_text("1 change made since then will be stored")
        page.keyboard.press("u")
        expect(page.locator("[data-question]")).to_have_attribute("data-question", asked)
        expect(offline).not_to_contain_text("will be stored")
    with studio(folder, port=None):
        expect(page.get_by_test_id("returned")).to_contain_text("The Studio was started again.")
        with Collection.open(folder) as collection:
            assert collection.revision() == before


def test_without_a_token_the_page_asks_for_it(chrome, served):
    for size in ((1280, 800), (390, 844)):
        for theme in ("light", "dark"):
            context = chrome.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
            context.set_default_timeout(PATIENCE)
            asked = context.new_page()
            asked.goto(f"{served.studio.base}/?token={'0' * 32}#/items")
            dialog = asked.get_by_role("dialog", name="This page needs the token of the Studio")
            expect(dialog).to_be_visible()
            assert "Packages" not in asked.content()
            assert "token=" not in asked.url
            field = asked.get_by_role("textbox", name="Address or token")
            expect(field).to_be_focused()
            for wrong, why in (("nonsense", "holds no token"), ("f" * 32, "does not know this token")):
                field.fill(wrong)
                field.press("Enter")
                expect(dialog.get_by_role("alert")).to_contain_text(why)
            assert violations(asked, theme) == []
            shot(asked, f"token-{size[0]}-{theme}")
            assert asked.evaluate("document.documentElement.scrollWidth <= innerWidth")
            field.fill(served.studio.address)
            asked.get_by_role("button", name="Open", exact=True).click()
            expect(options_of(asked).first.locator(".title")).to_be_visible()
            asked.reload()  # the token stays with the address
            expect(options_of(asked).first.locator(".title")).to_be_visible()
            assert context.cookies() == []
            context.close()


def test_a_new_token_locks_an_open_page_which_keeps_what_was_typed(open_page, folder):
    with studio(folder, port=None) as running:
        page = open_page(running)
        page.monitor.ignore_errors = True
        page.get_by_role("searchbox", name="Search items").fill("typed befo")
        ended(running)
        expect(page.get_by_test_id("offline")).to_be_visible()
    with studio(folder, "--new-token", port=None) as running:
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("started again with another token")
        page.get_by_role("textbox", name="Address or token").fill(running.token)
        page.get_by_role("button", name="Open", exact=True).click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_test_id("offline")).to_have_count(0)
        expect(page.get_by_role("searchbox", name="Search items")).to_have_value("typed befo")


def test_a_page_says_that_the_folder_is_away_and_goes_on_when_it_is_back(open_page, folder):
    with studio(folder) as running:
        page = open_page(running)
        page.monitor.ignore_errors = True
        panel = open_item(page, 3)
        folder.rename(folder.with_name("elsewhere"))
        notice = page.get_by_test_id("notice")
        expect(notice).to_contain_text("it was moved or deleted; move it back. Nothing can", timeout=PATIENCE)
        shot(page, "session-away")
        field = page.get_by_role("combobox", name="Add a tag")
        field.fill("a new tag")
        field.press("ControlOrMeta+Enter")
        expect(page.get_by_text("Not stored. There is no collection in packages any more")).to_be_visible()
        expect(field).to_have_value("a new tag")
        folder.with_name("elsewhere").rename(folder)
        expect(notice).to_have_count(0, timeout=PATIENCE)
        expect(field).to_have_value("a new tag")
        with stored(page, "/api/annotations"):
            suggested(panel).click()
    with Collection.open(folder) as collection:
        assert collection.history(limit=1)[0].item == collection.ids()[3]
