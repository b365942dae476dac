"""Kernels are loaded one by one, when they are called."""

import logging
import subprocess
import sys
import threading

import numpy as np

from lass.kernels import compilation
from lass.kernels.compilation import Kernel, compiled


def loaded(kernel):
    return kernel._loaded is not None


def kernel(factor):
    """One that was never called, and that no cache holds."""
    made = compiled("f8(vector)")(lambda numbers: factor * numbers.sum())
    made._options = made._options | {"cache": False}
    return made


def test_a_kernel_is_compiled_at_its_first_call():
    twice = kernel(2.0)
    assert not loaded(twice)
    assert twice(np.arange(4.0)) == 12.0
    assert loaded(twice)


def test_threads_that_call_a_new_kernel_at_once_compile_it_once(monkeypatch):
    made, found = [], []
    compile_once = Kernel._compile
    monkeypatch.setattr(Kernel, "_compile", lambda self: made.append(self) or compile_once(self))
    thrice, together = kernel(3.0), threading.Barrier(4)

    def call():
        together.wait()
        found.append(thrice(np.ones(2)))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [6.0] * 4
    assert made == [thrice]


def test_long_compiling_is_noted_once(monkeypatch, caplog):
    monkeypatch.setattr(compilation, "NOTICED", 1e-6)
    monkeypatch.setattr(Kernel, "seconds", 0.0)
    with caplog.at_level(logging.WARNING, "lass"):
        kernel(4.0)(np.ones(1))
        assert Kernel.seconds > 0.0
        kernel(5.0)(np.ones(1))
    assert [record.message for record in caplog.records] == [compilation.NOTICE]


def test_a_solve_loads_the_kernels_that_it_calls():
    code = (
        "import lass; lass.solve([[0, 1], [1, 0]], [[1, 0], [0, 0]], 1.0);"
        "from lass.kernels.threads import kernels, load_kernels; rows = kernels();"
        "print(rows.apply._loaded is None, rows.shift._loaded is None);"
        "load_kernels('dense_rows'); print(rows.shift._loaded is None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\nFalse\n"
