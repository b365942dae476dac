"""Several programs at one collection, some of which die without notice."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lass
from lass.collection import CollectionStore, Item

IDS = [f"item {n}" for n in range(8)]

#: annotates for ever, now and then undoes; prints what it knows to be on the disk
WRITER = """
import random, sys
from lass.collection import CollectionStore

path, who, seed, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
collection = CollectionStore.open(path)
print("ready", flush=True)
while rounds:
    rounds -= 1
    if random.random() < 0.2:
        done = getattr(collection, random.choice(("undo", "redo")))(who)
        print("took", *done, flush=True)
        continue
    item, value = random.choice(collection.ids()), random.choice((1, -1))
    done = collection.annotate(item, {"first": value, "second": value}, who=who)
    print("annotated", *done, item.split()[1], value, flush=True)
"""


@pytest.fixture
def shared(tmp_path):
    CollectionStore.create(tmp_path / "shared", [Item(name) for name in IDS], ["first", "second"]).close()
    return tmp_path / "shared"


def started(code, *arguments):
    """A process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(lass.__file__).parents[1])},
    )


def ready(process):
    """Wait until a process is past its imports."""
    assert process.stdout.readline() == "ready\n"


def acknowledged(printed, who, changes):
    """How many changes were acknowledged; each must be in the log as it was printed."""
    count = 0
    for line in printed.splitlines(keepends=True):
        if not line.endswith("\n"):  # cut off by the kill: nobody could have read it
            continue
        what, *numbers = line.split()
        changed = [int(number) for number in numbers]
        if what == "annotated":
            *changed, item, value = changed
            for number in changed:
                change = changes[number]
                assert (change.item, change.value, change.undoes) == (IDS[item], value, None)
        for number in changed:
            assert changes[number].who == who
            assert what == "annotated" or changes[number].undoes is not None
        count += len(changed)
    return count


def by_number(collection):
    return {change.number: change for change in collection.history(limit=10**6)}


def test_two_writers_and_a_reader_at_once(shared):
    writers = {who: started(WRITER, shared, who, seed, 60) for seed, who in enumerate(("ann", "bob"))}
    for process in writers.values():
        ready(process)
    moments = 0
    with CollectionStore.open(shared) as reader:
        while any(process.poll() is None for process in writers.values()):
            G = reader.annotation_matrix().G.toarray()
            assert (G[:, 0] == G[:, 1]).all()  # an action is seen whole or not at all
            moments += 1
        printed = {who: process.communicate()[0] for who, process in writers.items()}
        assert all(process.returncode == 0 for process in writers.values())
        changes = by_number(reader)
        counts = [acknowledged(printed[who], who, changes) for who in writers]
        assert min(counts) > 40
        assert sum(counts) == len(changes)
        assert reader.check() == []
    assert moments > 0


def test_nothing_acknowledged_is_lost_when_writers_are_killed(shared):
    chance, known = random.Random(0), 0
    for attempt in range(8):
        people = [f"{name} {attempt}" for name in ("ann", "bob", "eve", "kim")]
        writers = {who: started(WRITER, shared, who, attempt, -1) for who in people}
        for process in writers.values():
            ready(process)
        printed = {}
        for who, process in writers.items():
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            printed[who] = process.communicate()[0]
            assert process.returncode == -signal.SIGKILL
        with CollectionStore.open(shared) as collection:
            changes = by_number(collection)
            before = known
            for who in writers:
                known += acknowledged(printed[who], who, changes)
            assert collection.check() == []
            assert len(changes) >= known >= before
            G = collection.annotation_matrix().G.toarray()
            assert (G[:, 0] == G[:, 1]).all()
    assert known > 50


def test_a_collection_whose_making_is_killed_does_not_appear(tmp_path):
    code = """
import sys, time
from lass.collection import CollectionStore, Item

def slowly():
    yield Item("a")
    print("ready", flush=True)
    time.sleep(60)

CollectionStore.create(sys.argv[1], slowly())
"""
    process = started(code, tmp_path / "new")
    ready(process)
    process.kill()
    process.communicate()
    assert not (tmp_path / "new").exists()
    with CollectionStore.create(tmp_path / "new", [Item("b")]) as collection:
        assert collection.ids() == ["b"]


def test_the_writer_loads_no_arrays():
    code = "import sys, lass.collection; print({'numpy', 'scipy', 'numba', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_files_can_be_shared_with_others_as_the_umask_says(tmp_path):
    before = os.umask(0o022)
    try:
        CollectionStore.create(tmp_path / "new", [Item("a")]).close()
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "new" / "tags.sqlite").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "new" / "collection.toml").stat().st_mode & 0o777 == 0o644
