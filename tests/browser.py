"""A browser with the Studio in it, for tests that do what people do.

Modules take the fixtures by ``chrome, served, open_page, page = FIXTURES``.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

import chromium
from lass import Collection
from studio_server import Studio, studio, wait_until_ready

SCREENSHOTS = Path(__file__).parents[1] / "out" / "screenshots"
#: milliseconds: a slow machine is no bug
PATIENCE = 20_000
DESKTOP, LARGE, TABLET = (1280, 800), (1920, 1080), (820, 1180)

#: as the pages write it
MINUS = "\N{MINUS SIGN}"

AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"
#: all of WCAG 2.2 at the levels A and AA, and good practice
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

expect.set_options(timeout=PATIENCE)


@dataclass
class PageMonitor:
    """Requests and errors of a page."""

    base: str
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    #: for tests that make the server fail
    ignore_errors: bool = False

    def follow(self, page: Page) -> None:
        """Record a page from now on."""
        page.on(
            "console", lambda message: message.type == "error" and self._error(f"console: {message.text}")
        )
        page.on("pageerror", lambda error: self._error(f"error: {error}"))
        page.on("dialog", lambda dialog: (self._error(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._asked(request.method, request.url))
        page.on("requestfailed", lambda request: self._failed(request.url, request.failure or ""))
        page.on(
            "response",
            lambda answer: answer.status >= 400 and self._error(f"{answer.status}: {answer.url}"),
        )

    def _error(self, text: str) -> None:
        if not self.ignore_errors:
            self.errors.append(text)

    def _asked(self, method: str, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("data", "blob"):
            return
        if f"{parts.scheme}://{parts.netloc}" != self.base:
            self.errors.append(f"a request to another host: {url}")
        self.requests.append(f"{method} {parts.path}")

    def _failed(self, url: str, why: str) -> None:
        # a search that a newer one made void is given up, and so is what a closed page still waits for
        if why != "net::ERR_ABORTED":
            self._error(f"{why}: {url}")


@dataclass
class Served:
    """A Studio on a copy of the packages."""

    studio: Studio
    client: httpx.Client
    folder: Path

    def get(self, path: str, **query: object) -> object:
        """What the server answers."""
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **body: object) -> object:
        """What the server answers."""
        answer = self.client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def settle(self) -> None:
        """Wait until the model includes all annotations."""
        wait_until_ready(self.client)

    def annotations(self, item: str) -> dict[str, int]:
        """The annotations of an item in the database."""
        with Collection.open(self.folder) as collection:
            return dict(collection.annotations_of(item))


Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """One browser for a module.

    Not for the session: Playwright keeps an event loop running in this thread, which breaks later tests.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One Studio for a module; its tests leave their annotations behind."""
    folder = shutil.copytree(packages, tmp_path_factory.mktemp("browsed") / "packages")
    with studio(folder) as running, running.client() as client:
        wait_until_ready(client)
        yield Served(running, client, folder)


@pytest.fixture
def open_page(chrome: Browser) -> Iterator[Opener]:
    """Opens a Studio in a fresh context; the test fails on any error in it.

    ``page.monitor`` has the requests of the page.
    """
    contexts: list[BrowserContext] = []
    monitors: list[PageMonitor] = []

    def opened(
        running: Studio,
        path: str = "",
        *,
        size: tuple[int, int] = DESKTOP,
        rows: bool = True,
        script: str = "",
        **options: object,
    ) -> Page:
        viewport = {"width": size[0], "height": size[1]}
        context = chrome.new_context(viewport=viewport, accept_downloads=True, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        monitor = PageMonitor(running.base)
        monitors.append(monitor)
        context.on("page", monitor.follow)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.monitor = monitor  # type: ignore[attr-defined]
        page.goto(running.address + (path or ("#/items" if rows else "")))
        if rows:
            expect(options_of(page).first.locator(".title")).to_be_visible()
        return page

    yield opened
    for context in contexts:
        context.close()
    errors = [error for monitor in monitors for error in monitor.errors]
    assert not errors, "\n".join(errors)


@pytest.fixture
def page(open_page: Opener, served: Served) -> Page:
    """The Studio of the module in a fresh page."""
    return open_page(served.studio)


FIXTURES = (chrome, served, open_page, page)


def until(page: Page, script: str, argument: object = None, seconds: float = 20.0) -> object:
    """Ask the page again and again until it answers with something true; what it answered.

    Playwright's own waiting evaluates text inside of the page, which the Studio does not allow.
    """
    deadline = time.monotonic() + seconds
    while not (answer := page.evaluate(script, argument)):
        assert time.monotonic() < deadline, f"not true within {seconds:g} s: {script}"
        page.wait_for_timeout(50)
    return answer


def options_of(page: Page) -> Locator:
    """Rows of the list that are in the page."""
    return page.get_by_role("listbox", name="Items").get_by_role("option")


def selected(page: Page) -> int:
    """The row of the open item, when its panel is complete."""
    panel = page.get_by_test_id("panel")
    expect(panel).to_have_attribute("aria-busy", "false")
    return int(panel.get_attribute("data-row") or -1)


def open_item(page: Page, row: int) -> Locator:
    """Opens an item by its address; its panel."""
    page.evaluate("row => { location.hash = `#/items/${row}` }", row)
    panel = page.get_by_test_id("panel")
    expect(panel).to_have_attribute("data-row", str(row))
    expect(panel).to_have_attribute("aria-busy", "false")
    return panel


def pick(page: Page, label: str, name: str, new: bool = False) -> None:
    """Chooses a tag by typing its name; a new one is made by Ctrl and Enter alone."""
    field = page.get_by_role("combobox", name=label, exact=True)
    field.click()
    field.fill(name)
    option = page.get_by_role("listbox", name=label).get_by_role("option").first
    expect(option).to_contain_text(name.rpartition("::")[2])
    field.press("Control+Enter" if new else "Enter")


def tag_line(page: Page, name: str) -> Locator:
    """The line of a tag in the tree, by searching for it."""
    page.get_by_test_id("tag-search").fill(name)
    return page.get_by_role("treeitem").filter(has=page.get_by_title(name, exact=True))


def stored(page: Page, path: str = "") -> AbstractContextManager[object]:
    """Until the server answered to the next change: by then it is on the disk."""
    return page.expect_response(
        lambda answer: (
            answer.request.method == "POST"
            and answer.url.endswith(path)
            and not answer.url.endswith(("/what-if", "/selection"))
        )
    )


def shot(page: Page, name: str) -> None:
    """Keeps a picture of the page to look at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", animations="disabled")


def violations(page: Page, theme: str) -> list[tuple[str, object, str]]:
    """Findings of axe, with where they are; in the dark theme only colours differ."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    rules = {"runOnly": ["color-contrast"]} if theme == "dark" else {"runOnly": WCAG}
    found = page.evaluate("rules => axe.run(document, { resultTypes: ['violations'], ...rules })", rules)
    return [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
