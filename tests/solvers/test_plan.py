"""Where a solve runs, by which method and in which form: a table of what is asked for and what is decided."""

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
        ({}, PRIOR, Dense, "dense output for a prior, which takes 7.15e-07 GiB"),
        ({"start": DENSE}, {}, Sparse, "sparse output: dense would take 7.15e-07 GiB, and 1e-07 are allowed"),
    ],
    ids=str,
)
def test_what_is_decided_where_dense_output_does_not_fit(monkeypatch, asked, options, backend, reason):
    monkeypatch.setenv("LASS_MEMORY_GIB", "1e-7")
    found = plan(problem(**options), **asked)
    assert isinstance(found.backend, backend)
    assert found.reason == reason


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
