"""The pictures of the Studio in the docs, taken in Chromium from the bundled Debian packages.

python scripts/take_pictures.py                  # docs/pictures/studio-*.png; fits the collection first
python scripts/take_pictures.py studio-review    # that one alone
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import Page, Playwright, ViewportSize, sync_playwright  # noqa: E402

import chromium  # noqa: E402
from studio_server import make_packages, studio, wait_until_ready  # noqa: E402

WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
PICTURES = ROOT / "docs" / "pictures"
ITEM, SEARCH = "maildir-filter", "mail"
#: who looks at pictures needs no guidance on the first view
GUIDED = "if (location.host) localStorage.setItem('lass-guided', 'yes')"


def open_item(page: Page) -> None:
    """An item with tags and suggestions, found by a search, with the reasons of the first."""
    page.get_by_placeholder("Search").first.fill(SEARCH)
    page.get_by_text(ITEM, exact=True).first.click()
    page.get_by_role("heading", name=ITEM).first.wait_for()
    page.get_by_role("button", name="Why ").first.click()


def open_numbers(page: Page) -> None:
    """The numbers behind the score of a question."""
    page.get_by_text("Numbers", exact=True).first.click()


def open_model_details(page: Page) -> None:
    """The model details of an item, with an annotation that is tried out."""
    open_item(page)
    page.get_by_text("Model details", exact=True).first.click()
    page.get_by_role("button", name="What if it is ", pressed=False).first.click()
    page.get_by_test_id("what-if-suggestions").scroll_into_view_if_needed()


def open_accept_all(page: Page) -> None:
    """What would be accepted together, and how many of it are expected to be wrong."""
    page.get_by_test_id("accept-all-button").click()
    page.get_by_test_id("expected").wait_for()


def open_tag(page: Page) -> None:
    """The page of a tag."""
    page.get_by_test_id("tag-search").fill("use::filtering")
    page.get_by_role("treeitem").last.click()
    page.get_by_test_id("candidates").wait_for()


def answer(page: Page) -> None:
    """A few answers, so that there is progress to see."""
    page.get_by_test_id("evidence").wait_for()
    for key in "aaxaaxaa":
        page.keyboard.press(key)
        page.wait_for_timeout(400)
    page.get_by_role("link", name="Progress", exact=True).click()


def open_three_tags(page: Page) -> None:
    """Items between three tags."""
    page.get_by_role("tab", name="Three tags").click()
    page.get_by_test_id("three-legend").wait_for()


def open_export(page: Page) -> None:
    """What can be taken out, in which formats."""
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name="Export…").click()
    page.get_by_test_id("export").wait_for()


def open_import(page: Page) -> None:
    """The columns of a spreadsheet, as they are proposed."""
    kinds = ("Post", "Spiel", "Musik")
    rows = [f"P{n};Programm {n};Ein Programm für {kinds[n % 3]} Nummer {n};{kinds[n % 3]}" for n in range(40)]
    table = "\r\n".join(["Nr;Titel;Beschreibung;Schlagwörter", *rows]).encode("cp1252")
    page.get_by_role("button", name="Import / Export").click()
    page.get_by_role("menuitem", name="Import…").click()
    dialog = page.get_by_test_id("import")
    dialog.get_by_label("Items", exact=True).set_input_files(
        {"name": "programme.csv", "mimeType": "text/csv", "buffer": table}
    )
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_test_id("found").wait_for()


def nothing(page: Page) -> None:
    """The view as it opens."""


class Picture(NamedTuple):
    """A picture: its name, the place in the Studio, what is done there first, and the size."""

    name: str
    place: str
    prepare: Callable[[Page], None] = nothing
    size: ViewportSize = WIDE


VIEWS = (
    Picture("studio-review", "#/review", open_numbers),
    Picture("studio-accept-all", "#/review", open_accept_all),
    Picture("studio-items", "#/items", open_item),
    Picture("studio-model-details", "#/items", open_model_details),
    Picture("studio-map", "#/map"),
    Picture("studio-three-tags", "#/map", open_three_tags),
    Picture("studio-tags", "#/tags"),
    Picture("studio-tag", "#/tags", open_tag),
    Picture("studio-import", "#/items", open_import),
    Picture("studio-export", "#/items", open_export),
    Picture("studio-progress", "#/review", answer),
    Picture("studio-phone-review", "#/review", size=PHONE),
    Picture("studio-phone-map", "#/map", size=PHONE),
)


def without_tags(playwright: Playwright, folder: Path) -> None:
    """The map of packages of which nothing but the texts is known."""
    make_packages(folder, 1500, tagged=False)
    with studio(folder) as running:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
        page = browser.new_page(viewport=WIDE)
        page.goto(running.address)
        page.goto(f"{running.base}/#/map")
        page.get_by_test_id("group-label").first.wait_for(timeout=120_000)
        page.mouse.move(30, 700)  # the pointer would single out what lies under it
        page.wait_for_timeout(1500)
        page.screenshot(path=PICTURES / "studio-untagged.png", animations="disabled")
        browser.close()


def main() -> None:
    """Fit, serve, take each picture in a page of its own; with names, these alone."""
    wanted = sys.argv[1:]
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        if not wanted or "studio-untagged" in wanted:
            without_tags(playwright, Path(place) / "untagged")
        folder = Path(place) / "packages"
        make_packages(folder, 6000)
        with studio(folder) as running, running.client() as client:
            wait_until_ready(client, 600.0)
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
            for picture in VIEWS:
                if wanted and picture.name not in wanted:
                    continue
                context = browser.new_context(viewport=picture.size)
                context.set_default_timeout(120_000)
                context.add_init_script(GUIDED)
                page = context.new_page()
                page.goto(running.address + picture.place)
                page.wait_for_timeout(1500)
                picture.prepare(page)
                page.wait_for_timeout(2500)
                page.screenshot(path=PICTURES / f"{picture.name}.png", animations="disabled")
                context.close()
            browser.close()


if __name__ == "__main__":
    main()
