"""The pictures of the Studio in the docs, taken in Chromium from the bundled Debian packages.

python scripts/take_pictures.py    # docs/pictures/studio-*.png; fits the collection first, a minute
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import Page, Playwright, sync_playwright  # noqa: E402

import chromium  # noqa: E402
from studio_server import make_packages, studio, wait_until_ready  # noqa: E402

#: name of the picture -> place in the Studio
VIEWS = {
    "studio-review": "#/review",
    "studio-items": "#/items",
    "studio-map": "#/map",
    "studio-tags": "#/tags",
}
ITEM, SEARCH = "maildir-filter", "mail"


def open_item(page: Page) -> None:
    """An item with tags and suggestions, found by a search."""
    page.get_by_placeholder("Search").first.fill(SEARCH)
    page.get_by_text(ITEM, exact=True).first.click()
    page.get_by_role("heading", name=ITEM).first.wait_for()


def without_tags(playwright: Playwright, folder: Path) -> None:
    """The map of packages of which nothing but the texts is known."""
    make_packages(folder, 1500, tagged=False)
    with studio(folder) as running:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(running.address)
        page.goto(f"{running.base}/#/map")
        page.get_by_test_id("group-label").first.wait_for(timeout=120_000)
        page.get_by_role("button", name="Close the card").click()
        page.mouse.move(30, 700)  # the pointer would single out what lies under it
        page.wait_for_timeout(1500)
        page.screenshot(path=ROOT / "docs" / "pictures" / "studio-untagged.png", animations="disabled")
        browser.close()


def main() -> None:
    """Fit, serve, take one picture a view."""
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        without_tags(playwright, Path(place) / "untagged")
        folder = Path(place) / "packages"
        make_packages(folder, 6000)
        with studio(folder) as running, running.client() as client:
            wait_until_ready(client, 300.0)
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(running.address)
            for name, view in VIEWS.items():
                page.goto(f"{running.base}/{view}")
                page.wait_for_timeout(1500)
                if name == "studio-items":
                    open_item(page)
                page.wait_for_timeout(2500)
                page.screenshot(path=ROOT / "docs" / "pictures" / f"{name}.png", animations="disabled")
            browser.close()


if __name__ == "__main__":
    main()
