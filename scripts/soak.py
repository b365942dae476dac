"""Attack collections for a while: kills, writers at once, a full disk, many clients, random problems.

    python scripts/soak.py                                 all parts, an hour together
    python scripts/soak.py --resume                        goes on where a run was interrupted
    python scripts/soak.py --seconds 300                   all parts, five minutes
    python scripts/soak.py --parts kills clients           some of them, which are shown and not kept

Each part ends with what it found; anything lost, wrong or refused without a reason makes the exit code 1,
after the other parts have run. The figures of all parts go into benchmarks/results/soak.json, from which
docs/security.md is written.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "attack")]

import lass  # noqa: E402
from benchmarks.common import results  # noqa: E402
from benchmarks.common.data import CACHE  # noqa: E402
from benchmarks.common.options import parser  # noqa: E402
from benchmarks.common.parts import Parts  # noqa: E402
from lass.collection import Item, Settings  # noqa: E402
from short_texts import TOPICS  # noqa: E402

#: share of the time that a part gets; a tenth is left for what each needs to begin and to end
PARTS = {
    "kills": 0.16, "writers": 0.08, "disk": 0.08, "histories": 0.2, "clients": 0.08, "problems": 0.16,
    "ordinary": 0.06, "forms": 0.04, "studio": 0.04,
}  # fmt: skip
ITEMS, TAGS, WRITERS, CLIENTS, PROBLEMS = 300, 12, 4, 100, 10_000
#: bytes that are left on the small disk
ROOM = 2**18

WRITER = """
import random, sys, lass
folder, name, first, step = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(name)
with lass.open(folder) as collection:
    ids, tags = collection.ids(), collection.tags
    while True:
        row, tag, value = rng.randrange(first, len(ids), step), rng.choice(tags), rng.choice([1, -1])
        collection.annotate(ids[row], {tag: value}, who=name)
        print(ids[row], tag, value, flush=True)
"""


def make(folder: Path) -> Path:
    """A small collection, fitted."""
    rng = random.Random(0)
    items = [Item(f"{n:04d}", "", " ".join(rng.sample(TOPICS[n % 3].split(), 3))) for n in range(ITEMS)]
    known = [(f"{n:04d}", f"tag{n // 4 % TAGS}", 1) for n in range(0, ITEMS, 4)]
    how = Settings(features={"kind": "text"}, n_neighbors=8)
    with lass.Collection.create(folder, items, annotations=known, settings=how) as collection:
        collection.fit(draw_map=False)
    return folder


def writer(folder: Path, name: str, first: int, step: int) -> subprocess.Popen[str]:
    """A process that annotates items of its own, and prints what is on the disk."""
    command = [sys.executable, "-c", WRITER, str(folder), name, str(first), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def acknowledged(process: subprocess.Popen[str]) -> dict[tuple[str, str], int]:
    """The last annotation that a process acknowledged of each item and tag."""
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    process.stdout.close()
    process.wait()
    whole = [line.split() for line in lines if len(line.split()) == 3]
    return {(item, tag): int(value) for item, tag, value in whole}


def missing(folder: Path, expected: dict[tuple[str, str, str], int]) -> int:
    """How many acknowledged annotations are not there; the very next one may be, without an answer."""
    with lass.open(folder) as collection:
        assert collection.check() == [], collection.check()
        newest: dict[tuple[str, str, str], list[int]] = {}
        for change in reversed(collection.history(limit=10**6)):
            newest.setdefault((change.item, change.tag, change.who), []).append(change.value)
    return sum(value not in newest.get(key, [])[-2:] for key, value in expected.items())


def kills(seconds: float) -> dict[str, Any]:
    """Kill -9 of writers and fits at random times; what was acknowledged is there afterwards."""
    rng, found = random.Random(1), {"killed": 0, "acknowledged": 0, "lost": 0}
    with tempfile.TemporaryDirectory() as place:
        folder, end = make(Path(place) / "c"), time.monotonic() + seconds
        expected: dict[tuple[str, str, str], int] = {}
        while time.monotonic() < end:
            name = f"w{found['killed']}"
            process = writer(folder, name, 0, 1)
            fit = subprocess.Popen(
                [sys.executable, "-m", "lass", "fit", str(folder), "--quiet", "--no-map", "--lam", "3"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(rng.uniform(0.5, 4.0))
            for one in (process, fit):
                with suppress(ProcessLookupError):
                    one.send_signal(signal.SIGKILL)
            fit.wait()
            made = acknowledged(process)
            expected |= {(item, tag, name): value for (item, tag), value in made.items()}
            found["killed"] += 2
            found["acknowledged"] += len(made)
            found["lost"] = missing(folder, expected)
            with lass.open(folder) as collection:
                collection.remove_leftovers()
            assert not list(folder.glob(".*")), "drafts are left"
        with lass.open(folder) as collection:
            collection.fit(draw_map=False)
            assert collection.stale() == {}
    return found


def writers(seconds: float) -> dict[str, Any]:
    """Several programs annotate at once while another fits again and again."""
    with tempfile.TemporaryDirectory() as place:
        folder, end = make(Path(place) / "c"), time.monotonic() + seconds
        processes = [writer(folder, f"w{n}", n, WRITERS) for n in range(WRITERS)]
        fits = 0
        with lass.open(folder) as collection:
            while time.monotonic() < end:
                collection.fit(draw_map=False, n_neighbors=6 + fits % 3)
                fits += 1
        for process in processes:
            process.kill()
        made = [acknowledged(process) for process in processes]
        expected = {(*key, f"w{n}"): value for n, one in enumerate(made) for key, value in one.items()}
        return {
            "writers": WRITERS,
            "fits": fits,
            "acknowledged": len(expected),
            "lost": missing(folder, expected),
        }


def studio_kills(seconds: float) -> dict[str, Any]:
    """Kill -9 of a Studio while people annotate in it; what was answered is there afterwards."""
    import httpx

    from studio_server import studio

    rng, found, expected = random.Random(2), {"killed": 0, "lost": 0}, {}
    with tempfile.TemporaryDirectory() as place:
        folder, end = make(Path(place) / "c"), time.monotonic() + seconds
        with lass.open(folder) as collection:
            ids, tags = collection.ids(), collection.tags

        def person(running: Any, name: str, first: int) -> None:
            own = random.Random(f"{name} {found['killed']}")
            with suppress(httpx.HTTPError), running.client() as client:  # until it is dead
                while True:
                    row, tag = own.randrange(first, len(ids), WRITERS), own.randrange(len(tags))
                    change = {"row": row, "tag": tag, "value": own.choice([1, -1])}
                    body = {"annotations": [change], "who": name}
                    client.post("/api/annotations", json=body).raise_for_status()
                    expected[ids[row], tags[tag], name] = change["value"]

        while time.monotonic() < end or not found["killed"]:
            with studio(folder) as running, ThreadPoolExecutor(WRITERS) as people:
                done = [people.submit(person, running, f"p{n}", n) for n in range(WRITERS)]
                time.sleep(rng.uniform(0.5, 4.0))
                early = sum(one.done() for one in done)
                running.kill()
            found["killed"] += 1
            found["lost"] = missing(folder, expected) + early
    return {**found, "acknowledged": len(expected)}


def disk(seconds: float) -> dict[str, Any]:
    """Annotate until a small disk is full, read from it, and go on when there is room again."""
    place = Path(tempfile.mkdtemp())
    mounted = os.name != "nt" and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, check=False
    ).returncode  # fmt: skip
    if not mounted:
        place.rmdir()
        return {"skipped": "no disk could be mounted"}
    found: dict[str, Any] = {"turns": 0, "refused": 0, "lost": 0, "read": 0}
    try:
        folder, end = make(place / "c"), time.monotonic() + seconds
        expected: dict[tuple[str, str, str], int] = {}
        while time.monotonic() < end or not found["turns"]:
            rng, name = random.Random(found["turns"]), f"w{found['turns']}"
            ballast = place / "ballast"
            with lass.open(folder) as collection, suppress(OSError), ballast.open("wb") as file:
                while True:
                    file.write(bytes(2**14))
            os.truncate(ballast, ballast.stat().st_size - ROOM)
            with lass.Collection.open_readable(folder) as collection:
                ids, tags = collection.ids(), collection.tags
                for _ in range(2000):
                    item, tag, value = rng.choice(ids), rng.choice(tags), rng.choice([1, -1])
                    try:
                        collection.annotate(item, {tag: value}, who=name)
                    except (OSError, ValueError):
                        found["refused"] += 1
                        break
                    expected[item, tag, name] = value
            for command in ("log", "export", "suggest"):
                done = subprocess.run(
                    [sys.executable, "-m", "lass", command, str(folder)], capture_output=True, check=False
                )
                found["read"] += not done.returncode
                found["lost"] += bool(done.returncode)
            ballast.unlink()
            found["lost"] += missing(folder, expected)
            found["turns"] += 1
            found["acknowledged"] = len(expected)
    finally:
        subprocess.run(["umount", str(place)], check=False)
        shutil.rmtree(place, ignore_errors=True)
    return found


def histories(seconds: float) -> dict[str, Any]:
    """Random histories against a model in plain Python, see tests/attack/test_any_history.py."""
    from hypothesis import HealthCheck, settings
    from hypothesis.stateful import run_state_machine_as_test
    from test_any_history import Histories

    end, done = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        how = settings(
            max_examples=5, stateful_step_count=40, deadline=None, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        run_state_machine_as_test(Histories, settings=how)
        done += 5
    return {"histories": done, "lost": 0}


def clients(seconds: float) -> dict[str, Any]:
    """Many people at once in the Studio, on the packages that come with lass; they run on the same cores."""
    from benchmarks.studio import bundled, many
    from studio_server import studio, wait_until_ready

    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(bundled(), Path(place) / "collection"))
        with studio(folder) as running, running.client() as client:
            state = wait_until_ready(client, 600)
            before = os.getloadavg()[0]
            found = many(running, folder, state, CLIENTS, max(seconds, 20.0))
    gone = found["lost"] + found["failed"]
    return {**found, "items": state["items"], "load_before": before, "lost": gone}


def problems(seconds: float) -> dict[str, Any]:
    """Random problems over thirty decades, judged in rational arithmetic."""
    return _judged((0, 6, 12, 20, 30), 0, seconds)


def ordinary(seconds: float) -> dict[str, Any]:
    """Random problems at ordinary scales, judged likewise."""
    return _judged((0, 1), 5 * PROBLEMS, seconds)


def forms(seconds: float) -> dict[str, Any]:
    """Random problems of every form: updates, early ends, fixed rows, facets, tensors, category totals."""
    return _judged((0, 6, 12, 20, 30), 0, seconds, of_every_form=True)


def _judged(
    decades: tuple[float, ...], first: int, seconds: float, *, of_every_form: bool = False
) -> dict[str, Any]:
    """As many problems as can be judged in this time on all cores."""
    from check_certificates import check, check_forms

    one = check_forms if of_every_form else check
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = -(-PROBLEMS // cores)
    sizes = [min(each, PROBLEMS - low) for low in range(0, PROBLEMS, each)]
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        asked = [
            pool.submit(one, size, decades, first + each * place, seconds) for place, size in enumerate(sizes)
        ]
        found = [part.result() for part in asked]
    sums = {name: sum(part[name] for part in found) for name in ("problems", "false")}
    if not of_every_form:
        sums["converged"] = sum(part["converged"] for part in found)
    return {**sums, "decades": max(decades), "lost": sums["false"]}


def main() -> None:
    """Run the parts one after the other, print and write what they found."""
    options = parser(__doc__, "resume")
    options.add_argument("--seconds", type=float, default=3600.0, help="of all parts together (3600)")
    options.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    asked = options.parse_args()
    run: dict[str, Callable[[float], dict[str, Any]]] = {
        "kills": kills, "writers": writers, "disk": disk, "histories": histories, "clients": clients,
        "problems": problems, "ordinary": ordinary, "forms": forms,
        "studio": studio_kills,
    }  # fmt: skip
    some = asked.parts != list(PARTS)
    whole = sum(PARTS[part] for part in asked.parts) if some else 1.0
    kept = Parts(CACHE / f"soak-{asked.seconds:g}{'-some' * some}.json", asked.resume and not some)
    bad = []
    for part in asked.parts:

        def timed(part: str = part) -> dict[str, Any]:
            began = time.monotonic()
            found = run[part](asked.seconds * PARTS[part] / whole)
            return {**found, "seconds": time.monotonic() - began}

        try:
            found = kept.measure(part, timed)
        except Exception:  # the others are still of use
            traceback.print_exc()
            bad.append(part)
            continue
        print(f"{part}: {found}", flush=True)
        bad += [part] * bool(found.get("lost"))
    if not some and len(kept.known) == len(PARTS):
        results.add(asked.out / "soak.json", {"results": kept.known}, depth=4)
    if some or len(kept.known) == len(PARTS):
        kept.path.unlink(missing_ok=True)
    if bad:
        sys.exit(f"something was lost or wrong: {', '.join(bad)}")


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
