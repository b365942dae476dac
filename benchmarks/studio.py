"""How fast the Studio is, for one person in a real browser and for fifty at once.

    python -m benchmarks.studio                                   the bundled packages, 50 people for a minute
    python -m benchmarks.studio --folder all-packages/ --name all a collection of yours, fitted; it is copied
    python -m benchmarks.studio --clients 0                       without the others
    python -m benchmarks.studio --resume                          goes on where a run was interrupted
    python -m benchmarks.studio --quick --clients 5 --seconds 5   whether all of it works

Starts ``lass studio`` in a process of its own. Seconds are those of the person who waits: from the start of
the navigation until rows are painted, from sending an annotation until it is on the disk, from there until
the page gets new predictions. While the slider is dragged, the time between frames is measured in the page,
and requests are counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from playwright.sync_api import sync_playwright

from benchmarks.common import results
from benchmarks.common.data import CACHE
from benchmarks.common.options import parser
from benchmarks.common.parts import Parts
from benchmarks.common.stamp import ROOT
from lass import Collection

sys.path.insert(0, str(ROOT / "tests"))
from chromium import FLAGS, find
from studio_server import Studio, studio, wait_until_ready

#: repetitions of what one person does: first views, annotations, questions; and with ``--quick``
WHOLE, QUICK = (5, 20, 40), (2, 3, 5)
#: steps of the slider
MOVES = 120
#: what one of many people does, at random: get the list, rows, an item, or annotate one
ACTIONS = ("list", "rows", "item", "annotate")
WEIGHTS = (1, 4, 3, 2)


def main() -> None:
    """Measure, print and write the numbers."""
    options = parser(__doc__, "resume")
    options.add_argument("--folder", type=Path, help="a fitted collection; the bundled packages by default")
    options.add_argument("--name", default="bundled", help="under which the results are kept")
    options.add_argument("--clients", type=int, default=50)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--quick", action="store_true", help="a few times each; shown, and not kept")
    asked = options.parse_args()
    views, annotations, questions = QUICK if asked.quick else WHOLE
    parts = Parts(CACHE / f"studio-{asked.name}{'-quick' * asked.quick}.json", asked.resume)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(asked.folder or bundled(), Path(place) / "collection"))
        began = time.perf_counter()
        with studio(folder) as running, running.client() as client:
            state = parts.measure("start", lambda: start(running, client, began))
            wait_until_ready(client, 1800)
            parts.measure("first_view", lambda: [first_view(running) for _ in range(views)])
            parts.measure("opened_memory", lambda: memory(running))
            parts.measure("slider", lambda: slider(running))
            parts.measure("review", lambda: review(running, questions))
            parts.measure("annotations", lambda: annotate(running, client, annotations))
            if asked.clients:
                parts.measure(
                    "clients_at_once", lambda: many(running, folder, state, asked.clients, asked.seconds)
                )
            parts.measure("memory", lambda: memory(running))
    result = {**parts.known.pop("start"), **parts.known}
    show(asked.name, result)
    if not asked.quick:
        results.add(asked.out / "studio.json", {"results": {asked.name: result}}, levels=2, depth=4)
    parts.end()


def memory(running: Studio) -> dict[str, float]:
    """Resident memory of the server, and how much of it is its own: the rest lies in files and can go."""
    found = psutil.Process(running.process.pid).memory_full_info()
    return {"resident_mb": found.rss / 1e6, "own_mb": (found.rss - found.shared) / 1e6}


def start(running: Studio, client: httpx.Client, began: float) -> dict[str, Any]:
    """Seconds until the address is printed, something is answered, items are seen, the model is ready."""
    result: dict[str, Any] = {"seconds_to_address": time.perf_counter() - began}
    client.get("/api/state").raise_for_status()
    result["seconds_to_first_answer"] = time.perf_counter() - began
    result["cold"] = first_view(running)
    state = wait_until_ready(client, 1800)
    result["seconds_to_ready"] = time.perf_counter() - began
    return result | {"items": state["items"], "tags": state["tags"]}


def many(
    running: Studio, folder: Path, state: dict[str, Any], clients: int, seconds: float
) -> dict[str, Any]:
    """Many people at once, and whether what they annotated is there afterwards."""
    figures, made = asyncio.run(at_once(running, state, clients, seconds))
    with Collection.open(folder) as collection:
        return figures | {"lost": lost(collection, made)}


def bundled() -> Path:
    """The packages that come with lass, fitted once."""
    folder = CACHE / "studio-bundled-r2"
    if not folder.is_dir():
        command = [Path(sys.executable).with_name("lass"), "demo", folder, "--no-studio", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@contextlib.contextmanager
def new_page() -> Iterator[Any]:
    """A page in a browser without any cache."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find(), args=list(FLAGS))
        yield browser.new_page(viewport={"width": 1280, "height": 800})
        browser.close()


def first_view(running: Studio) -> float:
    """Seconds from the start of the navigation until rows are painted."""
    with new_page() as page:
        page.goto("about:blank")
        began = time.perf_counter()
        page.goto(f"{running.address}#/items", wait_until="commit")
        page.locator("[data-testid=item-list] [data-row]").first.wait_for(timeout=60_000)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - began


def slider(running: Studio) -> dict[str, Any]:
    """Frames and requests while the slider is dragged from one end to the other."""
    requests: list[str] = []
    with new_page() as page:
        page.add_init_script("if (location.host) localStorage.setItem('lass-model-details', 'open')")
        page.goto(f"{running.address}#/items")
        page.locator("[data-testid=item-list] [data-row]").first.click()
        balance = page.get_by_role("slider", name="Balance from expert to crowd")
        balance.scroll_into_view_if_needed()
        page.wait_for_timeout(3000)  # reasons of the items nearby are fetched meanwhile
        box = page.locator("[data-testid=lam-slider]").bounding_box()
        assert box is not None
        before = balance.get_attribute("aria-valuetext")
        page.on("request", lambda request: requests.append(request.url))
        page.evaluate(
            "window.frames_ = []; let last = performance.now();"
            "(function tick(now) { frames_.push(now - last); last = now; requestAnimationFrame(tick) })(last)"
        )
        left, middle = box["x"] + 2, box["y"] + box["height"] / 2
        page.mouse.move(left, middle)
        page.mouse.down()
        for move in range(MOVES):
            page.mouse.move(left + (box["width"] - 4) * move / MOVES, middle)
            page.wait_for_timeout(8)
        moved = balance.get_attribute("aria-valuetext") != before
        page.mouse.up()
        if not moved:
            raise RuntimeError("the slider did not move")
        frames = np.array(page.evaluate("frames_"))[2:]
    return {
        "median_ms": float(np.median(frames)), "p95_ms": float(np.percentile(frames, 95)),
        "frames": len(frames), "requests": len(requests),
    }  # fmt: skip


def review(running: Studio, questions: int) -> dict[str, float]:
    """From a key to the next question, painted with its evidence, while the model takes the answers in."""
    taken = []
    with new_page() as page:
        page.goto(f"{running.address}#/review")
        page.get_by_test_id("evidence").wait_for()
        page.evaluate(
            "window.asked = () => document.querySelector('[data-question]').dataset.question;"
            "window.shown = () => document.querySelector('[data-testid=evidence]') !== null;"
            "window.next = (key) => new Promise((done) => {"
            "  const before = asked(), began = performance.now();"
            "  const look = () => asked() !== before && shown() ? done(performance.now() - began)"
            "    : requestAnimationFrame(look);"
            "  window.dispatchEvent(new KeyboardEvent('keydown', { key, code: 'Key' + key.toUpperCase() }));"
            "  requestAnimationFrame(look) }); null"  # a function would be called
        )
        for number in range(questions):
            taken.append(1e-3 * page.evaluate(f"next('{'ax'[number % 2]}')"))
            page.wait_for_timeout(700)
    return spread(taken)


def annotate(running: Studio, client: httpx.Client, annotations: int) -> dict[str, Any]:
    """Accept suggestions one by one: until it is stored, until the page gets new predictions."""
    stored, trained = [], []
    received: dict[int, float] = {}

    def listen() -> None:
        headers = {"Authorization": f"Bearer {running.token}"}
        with (
            contextlib.suppress(httpx.HTTPError),  # the server goes away at the end
            httpx.stream("GET", f"{running.base}/api/events", headers=headers, timeout=None) as stream,
        ):
            name = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: ") and name == "predictions":
                    received.setdefault(json.loads(line[6:])["revision"], time.perf_counter())

    threading.Thread(target=listen, daemon=True).start()
    time.sleep(1.0)
    rows = client.get("/api/list", params={"filter": "untagged"}).json()["rows"]
    for row in rows[:annotations]:
        tag = client.get(f"/api/items/{row}").json()["suggestions"][0]["tag"]
        change = {"row": row, "tag": tag, "value": 1}
        began = time.perf_counter()
        answer = client.post("/api/annotations", json={"annotations": [change], "who": "one"})
        stored.append(time.perf_counter() - began)
        revision = answer.json()["revision"]
        while not any(number >= revision for number in list(received)):
            time.sleep(0.005)
            if time.perf_counter() - began > 120:
                raise TimeoutError("no predictions came after an annotation")
        trained.append(min(at for number, at in received.items() if number >= revision) - began)
        time.sleep(0.5)
    return {"stored": spread(stored), "trained": spread(trained)}


async def at_once(
    running: Studio, state: dict[str, Any], clients: int, seconds: float
) -> tuple[dict[str, Any], dict[tuple[int, int], int]]:
    """Many people read and tag for a while; figures, and the annotations that were acknowledged."""
    taken: dict[str, list[float]] = {name: [] for name in ACTIONS}
    made: list[tuple[int, int, int]] = []
    errors: list[str] = []
    # made once and before the clock starts: certificates of all the world take 30 ms to load, a client
    headers, unused = {"Authorization": f"Bearer {running.token}"}, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    connections = [
        httpx.AsyncClient(base_url=running.base, headers=headers, timeout=60, verify=unused)
        for _ in range(clients)
    ]
    end = time.perf_counter() + seconds

    async def person(number: int) -> None:
        rng = random.Random(number)
        async with connections[number] as client:
            while time.perf_counter() < end:
                action = rng.choices(ACTIONS, WEIGHTS)[0]
                # everybody has rows of their own, so that the last annotation is known
                row = rng.randrange(number, state["items"], clients)
                change = {"row": row, "tag": rng.randrange(state["tags"]), "value": rng.choice((1, -1))}
                first = rng.randrange(max(state["items"] - 40, 1))
                rows = ",".join(map(str, range(first, min(first + 40, state["items"]))))
                body = {"annotations": [change], "who": f"p{number}"}
                calls = {
                    "list": ("GET", "/api/list", {"params": {"text": rng.choice(("mail", "game", ""))}}),
                    "rows": ("GET", "/api/rows", {"params": {"rows": rows}}),
                    "item": ("GET", f"/api/items/{row}", {}),
                    "annotate": ("POST", "/api/annotations", {"json": body}),
                }
                method, path, content = calls[action]
                began = time.perf_counter()
                try:
                    answer = await client.request(method, path, **content)
                except httpx.HTTPError as error:
                    errors.append(repr(error))
                    continue
                taken[action].append(time.perf_counter() - began)
                if answer.status_code != 200:
                    errors.append(f"{action}: {answer.status_code} {answer.text[:100]}")
                elif action == "annotate":
                    made.append((row, change["tag"], change["value"]))
                await asyncio.sleep(rng.uniform(0.5, 2.0))  # people read what they see

    await asyncio.gather(*(person(number) for number in range(clients)))
    figures = {
        "clients": clients, "seconds": seconds, "errors": errors[:10], "failed": len(errors),
        "annotations": len(made), **{name: spread(values) for name, values in taken.items()},
    }  # fmt: skip
    return figures, {(row, tag): value for row, tag, value in made}


def lost(collection: Collection, made: dict[tuple[int, int], int]) -> int:
    """How many of the annotations that were acknowledged are not there."""
    G = collection.annotation_matrix().G
    return sum(int(G[row, tag] != value) for (row, tag), value in made.items())


def spread(seconds: list[float]) -> dict[str, float]:
    values = 1e3 * np.array(seconds)
    return {
        "count": len(values), "median_ms": float(np.median(values)), "max_ms": float(values.max()),
        "p95_ms": float(np.percentile(values, 95)), "min_ms": float(values.min()),
    }  # fmt: skip


def show(name: str, result: dict[str, Any]) -> None:
    def text(times: dict[str, float]) -> str:
        return f"{times['count']} times, median {times['median_ms']:.0f} ms, p95 {times['p95_ms']:.0f} ms"

    views, frames = result["first_view"], result["slider"]
    lines = [
        f"{name}: {result['items']:,} items x {result['tags']} tags, "
        + " and ".join(f"{result[when]['resident_mb']:.0f} MB" for when in ("opened_memory", "memory")),
        f"address after {result['seconds_to_address']:.2f} s, model ready {result['seconds_to_ready']:.1f} s",
        f"first view {min(views):.2f} to {max(views):.2f} s; right after the start {result['cold']:.2f} s",
        f"slider: {frames['median_ms']:.1f} ms a frame (p95 {frames['p95_ms']:.1f}), "
        f"{frames['requests']} requests",
        f"review, from a key to the next question: {text(result['review'])}",
        *(f"annotation {what}: {text(times)}" for what, times in result["annotations"].items()),
    ]
    if many := result.get("clients_at_once"):
        lines.append(
            f"{many['clients']} people for {many['seconds']:.0f} s: {many['annotations']} annotations, "
            f"{many['failed']} errors, {many['lost']} lost"
        )
        lines += [f"  {action}: {text(many[action])}" for action in ACTIONS]
    print("\n  ".join(lines))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
