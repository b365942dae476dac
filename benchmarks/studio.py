"""How fast the Studio is, for one person in a real browser and for many at once.

    python benchmarks/studio.py                                   the bundled packages, 50 people for a minute
    python benchmarks/studio.py --folder all-packages/ --name all a collection of yours, fitted; it is copied
    python benchmarks/studio.py --clients 0                       without the crowd

Starts ``lass studio`` in a process of its own. Seconds are those of the person who waits: from the start of
the navigation until rows are painted, from sending a word until the answer that it is on the disk, from
there until the page is told that the model has learnt it. While the slider is dragged, the time between
frames is taken in the page, and requests are counted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
from machine import facts, write_json
from playwright.sync_api import sync_playwright
from sets import ROOT

from lass import Collection

sys.path.insert(0, str(ROOT / "tests"))
from chromium import FLAGS, find
from studio_server import Studio, studio, wait_until_ready

CACHE = ROOT / "out" / "bench-cache"
#: repetitions of what one person does
VIEWS, WORDS, MOVES = 5, 20, 120
#: what a person of the crowd does, by chance: look at the list, at rows, at an item, say a word
ACTIONS = ("list", "rows", "item", "word")
CHANCES = (1, 4, 3, 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="a fitted collection; the bundled packages by default")
    parser.add_argument("--name", default="bundled", help="under which the results are kept")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "studio.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(shutil.copytree(asked.folder or bundled(), Path(home) / "collection"))
        began = time.perf_counter()
        with studio(folder) as running, running.client() as client:
            result: dict[str, Any] = {"seconds_to_address": time.perf_counter() - began}
            client.get("/api/state").raise_for_status()
            result["seconds_to_first_answer"] = time.perf_counter() - began
            result["cold"] = first_view(running)
            state = wait_until_ready(client, 1800)
            result["seconds_to_ready"] = time.perf_counter() - began
            result |= {"items": state["items"], "tags": state["tags"]}
            result["first_view"] = [first_view(running) for _ in range(VIEWS)]
            result["slider"] = slider(running)
            result["words"] = words(running, client)
            if asked.clients:
                result["crowd"] = asyncio.run(crowd(running, state, asked.clients, asked.seconds))
                with Collection.open(folder) as collection:
                    result["crowd"]["lost"] = lost(collection, result["crowd"].pop("said"))
            result["memory_mb"] = psutil.Process(running.process.pid).memory_info().rss / 1e6
    show(asked.name, result)
    kept = json.loads(asked.out.read_text())["results"] if asked.out.is_file() else {}
    write_json(asked.out, {"machine": facts(), "results": {**kept, asked.name: result}})


def bundled() -> Path:
    """The packages that come with lass, fitted once."""
    folder = CACHE / "studio-bundled"
    if not folder.is_dir():
        lass = Path(sys.executable).with_name("lass")
        subprocess.run(
            [lass, "demo", folder, "--no-studio", "--quiet"], check=True, stdout=subprocess.DEVNULL
        )
    return folder


def first_view(running: Studio) -> float:
    """Seconds from the start of the navigation until rows are painted, in a browser that was never here."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto("about:blank")
        began = time.perf_counter()
        page.goto(running.address, wait_until="commit")
        page.locator("[data-testid=item-list] [data-row]").first.wait_for(timeout=60_000)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.perf_counter() - began
        browser.close()
    return seconds


def slider(running: Studio) -> dict[str, Any]:
    """Frames and requests while the slider is dragged from one end to the other."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(running.address)
        page.locator("[data-testid=item-list] [data-row]").first.click()
        handle = page.get_by_role("slider", name="Balance from expert to crowd")
        handle.wait_for()
        page.wait_for_timeout(1500)
        box = page.locator("[data-testid=lam-slider]").bounding_box()
        assert box is not None
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.evaluate(
            "window.frames_ = []; let last = performance.now();"
            "(function tick(now) { frames_.push(now - last); last = now; requestAnimationFrame(tick) })(last)"
        )
        page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        for move in range(MOVES):
            page.mouse.move(box["x"] + 2 + (box["width"] - 4) * move / MOVES, box["y"] + box["height"] / 2)
            page.wait_for_timeout(8)
        page.mouse.up()
        frames = np.array(page.evaluate("frames_"))[2:]
        browser.close()
    return {
        "median_ms": float(np.median(frames)), "p95_ms": float(np.percentile(frames, 95)),
        "frames": len(frames), "requests": len(requests),
    }  # fmt: skip


def words(running: Studio, client: httpx.Client) -> dict[str, Any]:
    """Accept suggestions one by one: until it is stored, until the page hears that it was learnt."""
    stored, learnt = [], []
    heard: dict[int, float] = {}

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
                elif line.startswith("data: ") and name == "learnt":
                    heard.setdefault(json.loads(line[6:])["revision"], time.perf_counter())

    threading.Thread(target=listen, daemon=True).start()
    time.sleep(1.0)
    rows = client.get("/api/list", params={"filter": "untagged"}).json()["rows"]
    for row in rows[:WORDS]:
        tag = client.get(f"/api/items/{row}").json()["suggested"][0]["tag"]
        began = time.perf_counter()
        answer = client.post(
            "/api/words", json={"words": [{"row": row, "tag": tag, "value": 1}], "who": "one"}
        )
        stored.append(time.perf_counter() - began)
        revision = answer.json()["revision"]
        while not any(number >= revision for number in list(heard)):
            time.sleep(0.005)
            if time.perf_counter() - began > 120:
                raise TimeoutError("the model never learnt a word")
        learnt.append(min(at for number, at in heard.items() if number >= revision) - began)
        time.sleep(0.5)
    return {"stored": spread(stored), "learnt": spread(learnt)}


async def crowd(running: Studio, state: dict[str, Any], clients: int, seconds: float) -> dict[str, Any]:
    """Many people read and tag for a while."""
    taken: dict[str, list[float]] = {name: [] for name in ACTIONS}
    said: list[tuple[int, int, int]] = []
    errors: list[str] = []
    end = time.perf_counter() + seconds

    async def person(number: int) -> None:
        chance = random.Random(number)
        headers = {"Authorization": f"Bearer {running.token}"}
        async with httpx.AsyncClient(base_url=running.base, headers=headers, timeout=60) as client:
            while time.perf_counter() < end:
                action = chance.choices(ACTIONS, CHANCES)[0]
                # everybody has rows of their own, so that what was said last is known
                row = chance.randrange(number, state["items"], clients)
                began = time.perf_counter()
                try:
                    if action == "word":
                        word = {
                            "row": row,
                            "tag": chance.randrange(state["tags"]),
                            "value": chance.choice((1, -1)),
                        }
                        body = {"words": [word], "who": f"p{number}"}
                        answer = await client.post("/api/words", json=body)
                    elif action == "rows":
                        first = chance.randrange(max(state["items"] - 40, 1))
                        asked = ",".join(map(str, range(first, min(first + 40, state["items"]))))
                        answer = await client.get("/api/rows", params={"rows": asked})
                    elif action == "item":
                        answer = await client.get(f"/api/items/{row}")
                    else:
                        answer = await client.get(
                            "/api/list", params={"text": chance.choice(("mail", "game", ""))}
                        )
                except httpx.HTTPError as error:
                    errors.append(repr(error))
                    continue
                taken[action].append(time.perf_counter() - began)
                if answer.status_code != 200:
                    errors.append(f"{action}: {answer.status_code} {answer.text[:100]}")
                elif action == "word":
                    said.append((row, word["tag"], word["value"]))
                await asyncio.sleep(chance.uniform(0.5, 2.0))  # people read what they see

    await asyncio.gather(*(person(number) for number in range(clients)))
    return {
        "clients": clients, "seconds": seconds, "errors": errors[:10], "failed": len(errors), "said": said,
        "words": len(said), **{name: spread(values) for name, values in taken.items()},
    }  # fmt: skip


def lost(collection: Collection, said: list[tuple[int, int, int]]) -> int:
    """How many of the words that were acknowledged are not there."""
    G = collection.annotation_matrix().G
    last = {(row, tag): value for row, tag, value in said}
    return sum(int(G[row, tag] != value) for (row, tag), value in last.items())


def spread(seconds: list[float]) -> dict[str, float]:
    values = 1e3 * np.array(seconds)
    return {
        "count": len(values), "median_ms": float(np.median(values)), "max_ms": float(values.max()),
        "p95_ms": float(np.percentile(values, 95)), "min_ms": float(values.min()),
    }  # fmt: skip


def show(name: str, result: dict[str, Any]) -> None:
    views, frames = result["first_view"], result["slider"]
    lines = [
        f"{name}: {result['items']:,} items x {result['tags']} tags, {result['memory_mb']:.0f} MB",
        f"address after {result['seconds_to_address']:.2f} s, model ready {result['seconds_to_ready']:.1f} s",
        f"first view {min(views):.2f} to {max(views):.2f} s; right after the start {result['cold']:.2f} s",
        f"slider: {frames['median_ms']:.1f} ms a frame (p95 {frames['p95_ms']:.1f}), "
        f"{frames['requests']} requests",
        *(f"word {what}: {told(result['words'][what])}" for what in ("stored", "learnt")),
    ]
    if many := result.get("crowd"):
        lines.append(
            f"{many['clients']} people for {many['seconds']:.0f} s: {many['words']} words, "
            f"{many['failed']} errors, {many['lost']} lost"
        )
        lines += [f"  {action}: {told(many[action])}" for action in ACTIONS]
    print("\n  ".join(lines))


def told(times: dict[str, float]) -> str:
    return f"{times['count']} times, median {times['median_ms']:.0f} ms, p95 {times['p95_ms']:.0f} ms"


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
