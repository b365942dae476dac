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

METHODS = ["face", "gradient", "reduced", "admm", "local"]


@pytest.fixture
def several(monkeypatch):
    """Set the number of threads, and use them however small the work is; the helpers are new ones."""
    monkeypatch.setattr(threads, "_pool", threads._Pool())

    def use(count):
        monkeypatch.setattr(threads, "thread_count", lambda: count)
        monkeypatch.setattr(threads, "WORK_PER_THREAD", 1)

    return use


def example(seed=0, N=120, K=5):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(N, K))
    G[rng.random(N) < 0.5] = 0.0
    return lass.Problem(random_graph(rng, N, "sparse"), G, 0.6)


def fill(low, high, out):
    """A kernel in plain Python."""
    out[low:high] += np.arange(low, high)
    return float(out[low:high].sum())


@pytest.mark.parametrize("method", METHODS)
def test_any_number_of_threads_gives_the_same_answer(method, several):
    problem = example()
    several(1)
    one = lass.solve(problem, method=method, tol=1e-10)
    for count in (2, 3, 7):
        several(count)
        many = lass.solve(problem, method=method, tol=1e-10)
        assert many.converged
        np.testing.assert_allclose(many.Z, one.Z, rtol=0, atol=1e-6)
        assert many.objective == pytest.approx(one.objective, abs=1e-10 * problem.stake)


def test_work_is_really_shared(several):
    several(3)
    seen = []

    def kernel(low, high):
        seen.append((low, high, threading.current_thread().name))
        return 1.0, 2.0

    assert threads.over_rows(kernel, 9, 10**6) == (3.0, 6.0)
    assert sorted((low, high) for low, high, _ in seen) == [(0, 3), (3, 6), (6, 9)]
    assert sum(name == "lass" for _, _, name in seen) == 2


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_fewer_rows_than_threads(rows, several):
    several(4)
    V = np.random.default_rng(0).normal(size=(rows, 3))
    Z = lass.project_simplex(V)
    assert Z.shape == (rows, 3)
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)


def test_results_repeat_exactly(several):
    several(3)
    first, second = (lass.solve(example(), method="gradient", tol=1e-8) for _ in range(2))
    np.testing.assert_array_equal(first.Z, second.Z)
    assert [step.gap for step in first.history] == [step.gap for step in second.history]


def test_calls_from_several_threads_at_once(several):
    """Every caller gets what it would have got alone, to the last bit."""
    several(3)
    problems = [example(seed) for seed in range(8)]
    alone = [lass.solve(problem, method="gradient", tol=1e-8) for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = list(pool.map(lambda p: lass.solve(p, method="gradient", tol=1e-8), problems))
            for one, other in zip(alone, together, strict=True):
                np.testing.assert_array_equal(one.Z, other.Z)
                assert one.gap == other.gap


def test_an_error_in_a_kernel_leaves_the_helpers_in_order(several):
    several(2)

    def bad(low, high):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _unheard(lambda: threads.over_rows(bad, 10, 10**6))
    answers = []
    later = threading.Thread(
        target=lambda: answers.append(threads.over_rows(fill, 10, 10**6, np.zeros(10))), daemon=True
    )
    later.start()
    later.join(10)
    assert answers == [45.0], "the helpers are gone, and the caller waits for ever"


def test_an_error_in_a_helper_reaches_the_caller(several):
    several(2)

    def bad(low, high):
        if low:
            raise ZeroDivisionError
        return 1.0

    with pytest.raises(ZeroDivisionError):
        _unheard(lambda: threads.over_rows(bad, 10, 10**6))


def _unheard(call):
    """Call without pytest's complaint about an error in a thread."""
    before, threading.excepthook = threading.excepthook, lambda *_: None
    try:
        return call()
    finally:
        threading.excepthook = before


def test_interrupted_while_waiting_the_next_call_is_right(several):
    """Ctrl-C in the middle of a kernel: the helper finishes later and must not answer for the next one."""
    several(2)

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
        assert threads.over_rows(fill, 10, 10**6, out) == 45.0, "this is the answer to the last call"
        assert out.tolist() == list(range(10))


def _child(problem, pipe):
    sol = lass.solve(problem, method="gradient", tol=1e-8)
    pipe.send((sol.Z, sol.gap))


@pytest.mark.parametrize("held", [False, True])
def test_a_forked_child_can_solve(several, held):
    """Threads do not survive a fork; a child makes its own, even if somebody was using them."""
    several(3)
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
    answered = here.poll(60)
    if not answered:
        child.kill()
    child.join()
    assert answered, "the child hangs"
    Z, gap = here.recv()
    np.testing.assert_array_equal(Z, mine.Z)
    assert gap == mine.gap


@pytest.mark.parametrize(("asked", "count"), [("1", 1), ("3", 3), ("0", 1)])
def test_the_environment_sets_the_number_of_threads(asked, count, monkeypatch):
    monkeypatch.setenv("LASS_NUM_THREADS", asked)
    assert threads.thread_count.__wrapped__() == count


@pytest.mark.parametrize("asked", ["", "many", "-2"])
def test_what_is_no_number_of_threads_is_ignored(asked, monkeypatch):
    monkeypatch.setenv("LASS_NUM_THREADS", asked)
    several = threads.thread_count.__wrapped__()
    monkeypatch.delenv("LASS_NUM_THREADS")
    assert several == threads.thread_count.__wrapped__() >= 1
