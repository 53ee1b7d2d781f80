"""Solving in a process of its own: the same numbers, kernels sent once, stopped when nobody wants it, run again when it
dies.
"""

import contextlib
import os
import socket
import threading
import time
from concurrent.futures import CancelledError
from types import SimpleNamespace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import MKLError, ParameterError
from mklcore.parallel import processes as apart
from mklcore.paths.path import fit_path
from pages._parts.derive import workers
from pages._parts.derive.workers import Workers
from pages._parts.jobs.job import Job, Progress, Report

WAITS = "-c", "import sys, socket; socket.socket(fileno=int(sys.argv[1])).recv(1)"
BARE = """
import sys, types
sys.modules["mklcore._numba.warmup"] = types.SimpleNamespace(warm_up=lambda: None)
from mklcore.parallel import processes as apart
apart.main(sys.argv[1])
"""
VALUES = [0.1, 0.3, 1.0]


class Hearer:
    def __init__(self, most: int = 99) -> None:
        self.heard, self.most = [], most

    def tick(self, done: int, total: int) -> None:
        self.heard.append((done, total))
        self.pulse()

    def pulse(self) -> None:
        if len(self.heard) > self.most:
            raise CancelledError


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(40) > 0, "yes", "no")
    kernels = mkl.KernelDictionary.rbf_grid([0.5, 1, 2])
    stack = kernels.grams(X[:30], "multiplicative")
    return mkl.LpMKLClassifier(kernels=kernels), stack, y[:30], stack.cross(X[30:]), y[30:]


@pytest.fixture
def other(monkeypatch):
    """The asking side, with the solving side in a thread of this process: everything passes over a socket all the
    same.
    """
    monkeypatch.setattr(apart, "REPORT_EVERY", 0.0)
    monkeypatch.setattr(apart, "SHOWN_EVERY", 0.0)
    monkeypatch.setattr(apart, "STOPS_WITHIN", 30.0)
    monkeypatch.setattr(apart, "LARGE", 64)
    ours, theirs = socket.socketpair()
    one = apart.Apart(WAITS)
    first, one._line = one._line, apart.Line(ours)
    solving = threading.Thread(target=apart.serve, args=(theirs,))
    solving.start()
    assert one.ready(30)
    yield one
    one.end()
    first.close()
    solving.join(30)
    assert not solving.is_alive()  # a process without its parent ends


def asked(other, problem, hearer=None, **more):
    model, stack, y, blocks, y_val = problem
    shared = {"stack": stack, "blocks": blocks}
    return other.do(fit_path, hearer or Hearer(), shared, model, stack, y, "C", VALUES, blocks, y_val, **more)


def test_a_path_from_another_process_is_the_path_from_here(other, problem, monkeypatch):
    model, stack, y, blocks, y_val = problem
    here, hearer, shown, sent = fit_path(model, stack, y, "C", VALUES, blocks, y_val), Hearer(), [], []
    send = apart.Line.send
    monkeypatch.setattr(apart.Line, "send", lambda line, message: (sent.append(message[0]), send(line, message))[1])
    there = asked(other, problem, hearer, news=shown.append)
    asked(other, problem)
    for name in ("values", "weights", "objective", "dual_gap", "train_score", "val_score"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    assert there.statuses == here.statuses
    assert all(point._map is stack.transform for point in there.estimators)  # what both sides have is not sent back
    assert hearer.heard[0] == (0, 3)
    assert [len(path) for path in shown] == [1, 2]
    assert sent.count("keep") == 1
    assert all(vars(point).get("_carry") is None for path in shown for point in path.estimators)
    assert asked(other, (model.set_params(p=2.0), *problem[1:]), news=shown.append).values.tolist() == VALUES
    assert all(vars(point).get("_carry") is None for path in shown for point in path.estimators)


def test_kernels_that_nobody_has_any_more_are_let_go(other, problem, monkeypatch):
    sent, send = [], apart.Line.send
    monkeypatch.setattr(apart.Line, "send", lambda line, message: (sent.append(message), send(line, message))[1])
    asked(other, problem)
    other.forget(left=True)
    assert ("keep", {}) not in sent
    other.forget()
    assert sent[-1] == ("keep", {})
    assert len(asked(other, problem)) == 3


def test_who_changes_their_mind_stops_it_and_the_next_path_is_whole(other, problem):
    with pytest.raises(CancelledError):
        asked(other, problem, Hearer(most=1))
    assert not other.over
    assert len(asked(other, problem)) == 3


def test_what_is_refused_there_is_refused_here_in_the_same_words(other, problem):
    with pytest.raises(ParameterError, match="nonsense"):
        asked(other, problem, scoring="nonsense")
    model, *rest = problem
    strange = mkl.LpMKLClassifier(kernels=model.kernels, penalty=lambda: None)
    with pytest.raises(apart.UnsendableError, match="lambda"):
        asked(other, (strange, *rest))
    assert len(asked(other, problem)) == 3


def test_a_process_ends_with_its_socket_and_goes_behind_pages():
    one = apart.Apart(("-c", BARE))
    assert one.ready(60)
    assert os.getpriority(os.PRIO_PROCESS, one.number) >= os.getpriority(os.PRIO_PROCESS, 0) + apart.NICE
    one._line.close()
    assert one._process.wait(60) == 0


def test_an_end_that_is_closed_meanwhile_has_ended():
    ours, theirs = socket.socketpair()
    with theirs:
        line = apart.Line(ours)
        line.close()
        with pytest.raises(apart.EndedError):
            line.has(0.1)


def test_a_process_that_dies_is_reported(problem):
    one = apart.Apart(("-c", "pass"))
    with pytest.raises(apart.EndedError):
        one.ready(30)
    with pytest.raises(apart.EndedError):
        asked(one, problem)
    one.end()
    assert one.over


# The worker pool of the pages


class Fake:
    """A process that does as asked: it dies, knows something not, or answers."""

    def __init__(self, what):
        self.what, self.over = what, False

    def ready(self, seconds):
        return True

    def do(self, *given, **more):
        if self.what is apart.EndedError:
            self.over = True
        if isinstance(self.what, type):
            raise self.what
        return self.what

    def end(self):
        self.over = True

    def forget(self, left):
        if self.what is apart.EndedError:
            raise self.what


def workers_of(monkeypatch, *fakes, most=1):
    monkeypatch.setattr("pages._parts.derive.workers.preparation", contextlib.nullcontext)
    monkeypatch.setattr(Workers, "_start", lambda workers, missing: [workers._put(next(left)) for _ in range(missing)])
    left = map(Fake, fakes)
    workers = Workers(lambda: most)
    workers.want()
    return workers


def path_of(workers):
    return workers.do(fit_path, Report(Progress(Job("path", "Path", ()))), {})


def test_what_dies_is_run_again_elsewhere_and_twice_is_reported(monkeypatch):
    assert path_of(workers_of(monkeypatch, apart.EndedError, "answer")) == "answer"
    with pytest.raises(MKLError, match=r"ended from outside, twice.*fewer rows or kernels"):
        path_of(workers_of(monkeypatch, apart.EndedError, apart.EndedError, "never"))
    monkeypatch.setattr("pages._parts.derive.workers.WAIT_SECONDS", 0.01)
    alone = workers_of(monkeypatch, apart.EndedError)
    monkeypatch.setattr(alone, "want", lambda: None)
    with pytest.raises(MKLError, match=r"no other came in its place\. Ask again"):
        path_of(alone)


def test_a_process_that_cannot_be_had_is_tried_three_times(monkeypatch):
    monkeypatch.setattr(
        "pages._parts.derive.workers.preparation", lambda: SimpleNamespace(stages=(), wait=lambda _: None)
    )
    tried = []

    def make():
        tried.append(1)
        raise OSError

    workers = Workers(lambda: 1, make)
    for begun in (0, 0, 1):
        workers._begun = 1
        workers._start(1)
        assert workers._begun == begun
    assert len(tried) == 3


@pytest.mark.parametrize(("asked", "most"), [("0", 0), ("1", 1), ("99", workers.MOST), ("many", None), ("", None)])
def test_the_environment_says_how_many_there_are(monkeypatch, asked, most):
    monkeypatch.delenv(workers.SOLVERS, raising=False)
    usual = workers.count()
    monkeypatch.setenv(workers.SOLVERS, asked)
    assert workers.count() == (usual if most is None else most)


def test_without_a_free_process_the_server_solves(monkeypatch):
    assert path_of(Workers(lambda: 0)) is None
    workers = workers_of(monkeypatch, apart.UnsendableError, "another")
    assert path_of(workers) is None
    assert not workers._free[0].over  # it lives on
    workers._free[0].over = True  # it died while it was idle: another one comes
    path_of(workers)
    while not workers._free:
        time.sleep(0.001)
    assert path_of(workers) == "another"
    workers.forget()
    assert path_of(workers) == "another"
