"""Where a solve runs, by which method and in which form: a table of what is asked for and what is decided."""

import subprocess
import sys

import numpy as np
import pytest

import lass
from lass.solvers import Face
from lass.solvers.dense import Dense
from lass.solvers.distributed import Partitions
from lass.solvers.memory import allowed_gib, fits, needed_gib
from lass.solvers.plan import plan
from lass.solvers.sparse.backend import Sparse
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.start import Start
from solvers_under_test import NEEDS_TORCH

DENSE = Start(np.full((3, 4), 0.25))
SPARSE = Start(SparseAssignments.of(np.full((3, 4), 0.25)))
PRIOR = {"prior": [0.25] * 4}
#: slides of 20,000 categories at assignments of 200 items, in a process that may take 1 GiB beside these
MANY_CATEGORIES = """
import resource, numpy as np, scipy.sparse as sp, lass
from lass.kernels.threads import kernels
from lass.solvers.coarse_space import Slides
items, K = 200, 20_000
W = np.ones((items, items)) - np.eye(items)
W[0, 2:] = W[2:, 0] = 0.0
G = sp.csr_array((np.ones(items), (np.arange(items), np.arange(items))), shape=(items, K))
qp, Z = lass.Problem(W, G, 1.0).qp(), np.full((items, K), 1.0 / K)
Z[0] = np.eye(1, K)
kernels()
assert qp.slides is not None
taken = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (taken + 2**30,) * 2)
assert Slides(qp, Z).inverse is None
"""


def problem(**options):
    return lass.Problem(np.ones((3, 3)) - np.eye(3), np.eye(3, 4), **options)


@pytest.mark.parametrize(
    ("asked", "options", "backend", "reason"),
    [
        ({}, {}, Dense, "dense output fits into memory"),
        ({"method": "face"}, {}, Dense, "method='face' as asked"),
        ({"method": Face(steps=2)}, {}, Dense, "method='face' as asked"),
        ({"method": "face", "start": SPARSE}, {}, Dense, "method='face' as asked"),
        ({"output": "dense", "start": SPARSE}, {}, Dense, "output='dense' as asked"),
        ({"output": "sparse"}, {}, Sparse, "output='sparse' as asked"),
        ({"output": "sparse", "start": DENSE}, {}, Sparse, "output='sparse' as asked"),
        ({"start": DENSE}, {}, Dense, "dense output fits into memory"),
        ({"start": SPARSE}, {}, Sparse, "sparse output as the start has it"),
        ({"start": SPARSE}, PRIOR, Dense, "dense output for a prior"),
        ({}, PRIOR, Dense, "dense output for a prior"),
        ({}, {"category_graph": np.ones((4, 4))}, Dense, "dense output fits into memory"),
        ({}, {"category_graph": np.ones((4, 4)), "lam": np.inf}, Dense,
         "dense output for a category_graph at lam = inf"),
        ({}, {"lam": np.inf, "fixed": {0: 1}}, Dense, "dense output for fixed rows at lam = inf"),
        ({"engine": Partitions(3)}, {}, Partitions, "engine=Partitions(...) as asked"),
        ({"engine": "ray"}, {}, Partitions, "engine='ray' as asked"),
        ({"engine": "ray", "device": "cpu"}, {}, Partitions, "engine='ray' as asked"),
        pytest.param({"device": "cpu"}, {}, Dense, "device='cpu' as asked", marks=NEEDS_TORCH),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_decided_and_why(asked, options, backend, reason):
    found = plan(problem(**options), **asked)
    assert isinstance(found.backend, backend)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("asked", "options", "backend", "reason"),
    [
        ({}, {}, Sparse, "sparse output: dense would take 7.15e-07 GiB, and 1e-07 are allowed"),
        ({"output": "dense"}, {}, Dense, "output='dense' as asked"),
        ({"method": "gradient"}, {}, Dense, "method='gradient' as asked"),
        ({"start": DENSE}, {}, Sparse, "sparse output: dense would take 7.15e-07 GiB, and 1e-07 are allowed"),
    ],
    ids=str,
)
def test_what_is_decided_where_dense_output_does_not_fit(monkeypatch, asked, options, backend, reason):
    monkeypatch.setenv("LASS_MEMORY_GIB", "1e-7")
    found = plan(problem(**options), **asked)
    assert isinstance(found.backend, backend)
    assert found.reason == reason


def test_what_needs_all_numbers_and_has_no_room_for_them_is_refused(monkeypatch):
    monkeypatch.setenv("LASS_MEMORY_GIB", "1e-6")
    with pytest.raises(ValueError, match=r"with a prior take about 1.43e-06 GiB of memory, and 1e-06"):
        plan(problem(**PRIOR))
    assert plan(problem(**PRIOR), output="dense").reason == "output='dense' as asked"
    monkeypatch.setenv("LASS_MEMORY_GIB", "2e-6")
    assert plan(problem(**PRIOR)).reason == "dense output for a prior"


def test_slides_of_more_categories_than_items_take_no_memory_of_categories_squared():
    """17,000 x 17,000 numbers would take 2.3 GB, and as much again several times."""
    found = subprocess.run([sys.executable, "-c", MANY_CATEGORIES], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"output": "csr"}, "output must be 'auto', 'dense' or 'sparse'; found 'csr'"),
        ({"method": "simplex"}, "method must be one of 'auto', 'admm', .* found 'simplex'"),
        ({"method": Face}, "method must be a name, or a solver"),
        ({"method": "face", "output": "sparse"}, "method='face' does not support output='sparse'"),
        ({"engine": "steam"}, "engine must be 'ray' or a backend .*; found 'steam'"),
        ({"engine": max}, "engine must be 'ray' or a backend"),
        ({"engine": "ray", "method": "face"}, "has a method of its own; leave method='face' out"),
        ({"engine": "ray", "output": "sparse"}, "engine='ray' does not support output='sparse'"),
        ({"engine": Partitions(2), "device": "cpu"}, "give device='cpu' to the engine"),
        pytest.param(
            {"device": "cpu", "method": "face"}, "device='cpu' has a method of its own", marks=NEEDS_TORCH
        ),
        pytest.param({"device": "abacus"}, "device must be 'cuda'", marks=NEEDS_TORCH),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_go_together_is_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        plan(problem(), **asked)


def test_the_reason_is_part_of_the_method():
    W, G = np.ones((3, 3)) - np.eye(3), np.eye(3, 4)
    assert lass.solve(W, G).method == "face (3 of 3 rows are labelled); dense output fits into memory"
    assert lass.solve(W, G, method="gradient").method == "gradient; method='gradient' as asked"
    assert lass.solve(W, G, output="sparse").method.endswith("entries a row); output='sparse' as asked")
    assert lass.solve(W, G, 0).method.startswith("lam = 0: every item takes its largest affinity; dense")


def test_memory_is_half_of_the_machine_unless_it_is_given(monkeypatch):
    monkeypatch.delenv("LASS_MEMORY_GIB", raising=False)
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**22}.__getitem__)
    assert allowed_gib() == 8.0
    assert needed_gib(2**20, 128) == 8.0
    assert fits(2**20, 128)
    assert not fits(2**20, 129)
    monkeypatch.setenv("LASS_MEMORY_GIB", "9")
    assert fits(2**20, 129)
    for wrong in ("much", "-1", "nan"):
        monkeypatch.setenv("LASS_MEMORY_GIB", wrong)
        with pytest.raises(ValueError, match=f"LASS_MEMORY_GIB must be a number of GiB; found '{wrong}'"):
            fits(1, 1)
