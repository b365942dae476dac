"""What a fit costs, in memory and in counted work: nothing that is added may make it much dearer unseen.

Counted are the numbers that loops over rows touch, as they report them to share them among threads, and the
calls of other kernels; times differ from machine to machine. What NumPy and SciPy do between them is seen in
memory alone.
"""

import json
import subprocess
import sys

ITEMS, TAGS = 15_000, 300
SCRIPT = """
import json, resource, sys, tempfile
from collections import Counter

import numpy as np
import scipy.sparse as sp

from lass.kernels import threads
from lass.kernels.compilation import Kernel

work, calls, over_rows, call = Counter(), Counter(), threads.over_rows, Kernel.__call__

def counted_rows(kernel, rows, numbers, *arguments):
    work[kernel.__name__] += int(numbers)
    return over_rows(kernel, rows, numbers, *arguments)

def counted(kernel, *arguments):
    calls[kernel.__name__] += 1
    return call(kernel, *arguments)

threads.over_rows, Kernel.__call__ = counted_rows, counted  # before any other module takes them

import lass

items, tags = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
topics = rng.integers(0, tags, size=(items, 2))
terms = rng.integers(0, 2000, size=(tags, 8))
columns = np.hstack([terms[topics[:, 0], :5], terms[topics[:, 1], :3]]).ravel()
rows = np.repeat(np.arange(items), 8)
X = sp.csr_array((rng.uniform(0.5, 1.5, len(rows)), (rows, columns)), shape=(items, 2000))
known = [(str(n), f"f{k % 6}::t{k}", 1) for n in range(0, items, 2) for k in set(topics[n].tolist())]
with (
    tempfile.TemporaryDirectory() as folder,
    lass.create(f"{folder}/c", [{"id": str(n)} for n in range(items)], vectors=X, tags=known) as made,
):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = made.fit(draw_map=False)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
others = sum(number for name, number in calls.items() if name not in work)
print(json.dumps({
    "grown": grown * (1 if sys.platform == "darwin" else 1024), "work": work.total(), "others": others,
    "trained": result.model.weights.is_trained, "stages": list(result.seconds),
}))
"""
#: bytes of peak memory that a fit may take beside what was there, in arrays of items x tags numbers
ARRAYS = 14
#: numbers that loops over rows may touch, and calls of other kernels: half as many again as at first
WORK, CALLS = 3.3e10, 2900


def test_the_work_and_memory_of_a_fit_stay_what_they_were():
    command = [sys.executable, "-c", SCRIPT, str(ITEMS), str(TAGS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["trained"]
    assert {"lam", "facets", "solve", "scores"} <= set(found["stages"])
    assert found["grown"] < ARRAYS * ITEMS * TAGS * 8
    # at least a quarter, or the counting sees too little of a fit to guard it
    assert WORK / 4 < found["work"] < WORK
    assert CALLS / 4 < found["others"] < CALLS
