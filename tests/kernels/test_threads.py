import multiprocessing
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lass
from lass.kernels import threads
from oracle import random_graph
from solvers_under_test import METHOD_NAMES


def example(seed=0, N=120, K=5):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(N, K))
    G[rng.random(N) < 0.5] = 0.0
    return lass.Problem(random_graph(rng, N, "sparse"), G, 0.6)


def fill(low, high, out):
    """A kernel in plain Python."""
    out[low:high] += np.arange(low, high)
    return float(out[low:high].sum())


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_any_number_of_threads_gives_the_same_answer(method, several_threads):
    problem = example()
    several_threads(1)
    one = lass.solve(problem, method=method, tol=1e-10)
    for count in (2, 3, 7):
        several_threads(count)
        other = lass.solve(problem, method=method, tol=1e-10)
        assert other.converged
        np.testing.assert_allclose(other.Z, one.Z, rtol=0, atol=1e-6)
        assert other.objective == pytest.approx(one.objective, abs=1e-10 * problem.stake)


def test_work_is_really_shared(several_threads):
    several_threads(3)
    seen = []

    def kernel(low, high):
        seen.append((low, high, threading.current_thread().name))
        return 1.0, 2.0

    assert threads.over_rows(kernel, 9, 10**6) == (3.0, 6.0)
    assert sorted((low, high) for low, high, _ in seen) == [(0, 3), (3, 6), (6, 9)]
    assert sum(name == "lass" for _, _, name in seen) == 2


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_fewer_rows_than_threads(rows, several_threads):
    several_threads(4)
    V = np.random.default_rng(0).normal(size=(rows, 3))
    Z = lass.project_simplex(V)
    assert Z.shape == (rows, 3)
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)


def test_results_repeat_exactly(several_threads):
    several_threads(3)
    first, second = (lass.solve(example(), method="gradient", tol=1e-8) for _ in range(2))
    np.testing.assert_array_equal(first.Z, second.Z)
    assert [step.gap for step in first.history] == [step.gap for step in second.history]


def test_calls_from_several_threads_at_once(several_threads):
    """Every caller gets what it would have got alone, to the last bit."""
    several_threads(3)
    problems = [example(seed) for seed in range(8)]
    alone = [lass.solve(problem, method="gradient", tol=1e-8) for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = list(pool.map(lambda p: lass.solve(p, method="gradient", tol=1e-8), problems))
            for one, other in zip(alone, together, strict=True):
                np.testing.assert_array_equal(one.Z, other.Z)
                assert one.gap == other.gap


def test_an_error_in_a_kernel_leaves_the_workers_usable(several_threads):
    several_threads(2)

    def bad(low, high):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _without_excepthook(lambda: threads.over_rows(bad, 10, 10**6))
    results = []
    later = threading.Thread(
        target=lambda: results.append(threads.over_rows(fill, 10, 10**6, np.zeros(10))), daemon=True
    )
    later.start()
    later.join(10)
    assert results == [45.0], "the workers are gone, and the caller waits for ever"


def test_an_error_in_a_worker_is_raised_in_the_caller(several_threads):
    several_threads(2)

    def bad(low, high):
        if low:
            raise ZeroDivisionError
        return 1.0

    with pytest.raises(ZeroDivisionError):
        _without_excepthook(lambda: threads.over_rows(bad, 10, 10**6))


def _without_excepthook(call):
    """Call without pytest's complaint about an error in a thread."""
    before, threading.excepthook = threading.excepthook, lambda *_: None
    try:
        return call()
    finally:
        threading.excepthook = before


def test_interrupted_while_waiting_the_next_call_is_right(several_threads):
    """Ctrl-C in the middle of a kernel: the worker ends later, and not in place of the next call."""
    several_threads(2)

    def slow(low, high, out):
        if low:
            time.sleep(0.5)
        return 1000.0

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    main = threading.main_thread().ident
    try:
        threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGVTALRM)).start()
        with pytest.raises(KeyboardInterrupt):
            threads.over_rows(slow, 10, 10**6, np.zeros(10))
    finally:
        signal.signal(signal.SIGVTALRM, before)
    for _ in range(3):
        out = np.zeros(10)
        assert threads.over_rows(fill, 10, 10**6, out) == 45.0, "this is the result of the call before"
        assert out.tolist() == list(range(10))


def _child(problem, pipe):
    sol = lass.solve(problem, method="gradient", tol=1e-8)
    pipe.send((sol.Z, sol.gap))


@pytest.mark.parametrize("held", [False, True])
def test_a_forked_child_can_solve(several_threads, held):
    """Threads do not survive a fork; a child makes its own, even if they were in use."""
    several_threads(3)
    problem = example()
    mine = lass.solve(problem, method="gradient", tol=1e-8)
    assert threads._pool.workers
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    child = fork.Process(target=_child, args=(problem, there), daemon=True)
    if held:
        threads._pool.busy.acquire()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads, which is the point
            child.start()
    finally:
        if held:
            threads._pool.busy.release()
    finished = here.poll(60)
    if not finished:
        child.kill()
    child.join()
    assert finished, "the child hangs"
    Z, gap = here.recv()
    np.testing.assert_array_equal(Z, mine.Z)
    assert gap == mine.gap


@pytest.mark.parametrize(("value", "count"), [("1", 1), ("3", 3), ("0", 1)])
def test_the_environment_sets_the_number_of_threads(value, count, monkeypatch):
    monkeypatch.setenv("LASS_NUM_THREADS", value)
    assert threads.thread_count.__wrapped__() == count


@pytest.mark.parametrize("value", ["", "many", "-2"])
def test_what_is_no_number_of_threads_is_ignored(value, monkeypatch):
    monkeypatch.setenv("LASS_NUM_THREADS", value)
    count = threads.thread_count.__wrapped__()
    monkeypatch.delenv("LASS_NUM_THREADS")
    assert count == threads.thread_count.__wrapped__() >= 1
