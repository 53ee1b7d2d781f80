"""Values by key: made once, shared, private, cancelled, given up, in order, bounded, and failures
as sentences.
"""

import gc
import re
import sys
import threading
import time
from concurrent.futures import CancelledError
from dataclasses import dataclass

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mklcore.errors import DataError
from pages.shared.work import work
from pages.shared.work.turns import Turns
from pages.shared.work.work import Failed, Pending, Ready, Session, Task, Work
from tests.helpers.every import every

pytestmark = pytest.mark.threads


def ask(server, key, make, session=None, **how):
    session = session or Session()
    return server.get(session, Task(key, make, session, **{"title": "Answer", **how}))


def until_ended(server, key):
    task = server.task(key)
    assert task is None or task.ended.wait(30)


@pytest.fixture
def server():
    """A server with one thread and room for what tests make."""
    return Work(1, 1e6)


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def hold():
    """Work that goes on until it is let go, or is no longer wanted."""
    go_on = threading.Event()
    made = []

    def make(progress):
        made.append(1)
        while not go_on.wait(0.002):
            progress(0.5, "half")
        return "value"

    make.go_on = go_on
    make.made = made
    yield make
    go_on.set()


def test_two_ask_and_it_is_made_once(hold):
    server = Work(2, 1e6)
    first = Session()
    second = Session()
    assert isinstance(ask(server, "a", hold, first), Pending)
    found = ask(server, "a", hold, second)
    assert (found.share, found.text.startswith("half, ")) == (0.5, True)
    server.cancel(first, "a")
    assert ask(server, "a", hold, first) == Failed("Answer was cancelled.", again=True)
    hold.go_on.set()
    until_ended(server, "a")
    assert ask(server, "a", hold, second) == server.peek("a") == Ready("value")
    assert hold.made == [1]
    assert ask(server, "quick", lambda progress: 1) == Ready(1)


def test_cancelled_by_all_it_ends_and_is_made_again_when_dropped(hold, server, session):
    ask(server, "a", hold, session)
    server.cancel(session, "a")
    until_ended(server, "a")
    assert server.peek("a") is None
    server.drop(session, "a")
    hold.go_on.set()
    ask(server, "a", hold, session)
    until_ended(server, "a")
    assert ask(server, "a", hold, session) == Ready("value")


def test_work_ends_that_nobody_looks_at_or_asks_for_any_more(hold, monkeypatch, server, session):
    ask(server, "a", hold, session)
    session.run += 1  # another page, which asks for something else
    ask(server, "long", hold, session, long=True)
    ask(server, "b", lambda progress: 2, session, seconds=0.1)
    server.let_go(session)
    until_ended(server, "a")
    until_ended(server, "b")
    session.run += 1
    server.let_go(session)
    assert server.peek("b") == Ready(2)
    assert server.task("long").wanted_by == {session}
    monkeypatch.setattr(work, "UNWATCHED_LONG_SECONDS", 0.0)
    until_ended(server, "long")
    assert server.peek("long") is None


def test_failures_are_sentences(caplog):
    server = Work(1, 1e4)

    def refuse(progress):
        raise DataError("Two rows are too few.", repairs=("take more",))

    assert ask(server, "refused", refuse) == Failed("Two rows are too few.", ("take more",))
    found = ask(server, "fault", lambda progress: 1 / 0)
    assert "not yours (ZeroDivisionError)" in found.sentence
    assert "ZeroDivisionError" in caplog.text
    assert ask(server, "fault", lambda progress: 1) == Ready(1)  # another session is not told
    large = ask(server, "large", lambda progress: np.zeros(10_000))
    assert large == Failed(
        "The result is larger than what this server keeps. Use fewer rows or kernels."
    )


def test_work_that_is_stopped_is_not_refused(hold, server, session):
    """Readers of files turn whatever stops them into a refusal."""

    def read(progress):
        try:
            hold(progress)
        except CancelledError as error:
            raise DataError("The file is damaged.") from error

    ask(server, "a", read, session)
    task = server.task("a")
    server.cancel(session, "a")
    assert task.ended.wait(30)
    assert task.result is None


def test_work_makes_what_it_needs_itself():
    def make(progress):
        return work.value(("part",), lambda progress: progress() or 2, title="Part") + 1

    with work.inline():
        assert work.get(("whole",), make, title="Whole") == Ready(3)
    assert work.peek(("part",)) == 2


def test_what_is_kept_is_bounded_by_its_bytes():
    server = Work(1, 3e4)
    for key in range(5):
        ask(server, key, lambda progress: {"half": [np.zeros(1000), np.zeros((1, 500))[0]]})
    assert [key for key in range(5) if server.peek(key)] == [3, 4]
    assert 12_000 < work.size(server.peek(4).value) < 13_000
    texts = np.array([f"{k:050d}" for k in range(5000)], dtype=object)
    assert work.size(texts) == texts.nbytes + sum(map(sys.getsizeof, texts))
    assert work.size(np.repeat(texts[:1], 5000)) < texts.nbytes + 1000


def test_values_of_a_session_leave_with_it(server):
    session = server.session()
    server.now((session.secret, "a"), lambda: 1)
    server.now(("", "a"), lambda: 2)
    assert server.peek((session.secret, "a")) == Ready(1)
    name = session.secret, "a"
    del session
    gc.collect()
    server.go_on()
    assert (server.peek(name), server.peek(("", "a"))) == (None, Ready(2))


def test_who_is_next(hold):
    """The shortest first, waiting counts, one of a session, what nobody asked for only while nobody
    waits.
    """
    server, mine, order = Work(1, 1e6), Session(), []

    def add(key, seconds, session=None, waited=0.0, **how):
        ask(server, key, lambda progress: order.append(key) or key, session, seconds=seconds, **how)
        server.task(key).entered -= waited

    ask(server, "first", hold, mine)
    add("unasked", 0.01, asked=False, waited=1000)
    add("long", 60)
    add("short", 1)
    add("patient", 60, waited=59.5)
    add("cancelled", 0.0, gone := Session())
    server.cancel(gone, "cancelled")
    text = server.pending(server.task("long")).text
    assert text.startswith("waiting, 3 before you, about ")
    tasks = [server.task(key) for key in ("unasked", "long", "short", "patient")]
    hold.go_on.set()
    assert all(task.ended.wait(30) for task in tasks)
    assert order == ["patient", "short", "long", "unasked"]


def test_everybodys_first_part_comes_before_anybodys_later_ones(server):
    mine = Session()
    order = []
    others_wait = threading.Event()

    def make(name):
        def answer(progress):
            order.append(f"path of {name}")
            progress(0.5, "verdict", "path")
            others_wait.wait(30)
            progress(0.6)
            order.append(f"verdict of {name}")
            return name

        return answer

    ask(server, "a", make("a"), mine)
    first = server.task("a")
    for name in "bc":
        ask(server, name, make(name), seconds=60.0)
    ask(server, "cancelled", lambda progress: order.append("cancelled"), gone := Session())
    server.cancel(gone, "cancelled")
    tasks = [first, *(server.task(name) for name in "bc")]
    others_wait.set()
    assert all(task.ended.wait(30) for task in tasks)
    assert order[:3] == ["path of a", "path of b", "path of c"]
    assert order[3:] == ["verdict of c", "verdict of a", "verdict of b"]


def test_work_that_left_its_thread_shows_its_part_and_can_be_cancelled(hold, server):
    mine = Session()

    def answer(progress):
        progress(0.5, "verdict", "path")
        while True:
            progress(0.6)

    ask(server, "a", answer, mine)
    ask(server, "b", hold)
    task = server.task("a")
    while task.runs:
        time.sleep(0.001)
    found = server.pending(task)
    assert (found.share, found.value) == (0.6, "path")
    assert found.text.startswith("waiting, 1 before you")
    server.cancel(mine, "a")
    assert task.ended.wait(30)
    assert server.peek("a") is None
    assert server.task("b").runs


def test_one_of_a_session_runs_at_a_time_and_work_waits_for_its_solvers(hold):
    ready = [False]
    server = Work(3, 1e6, lambda: ready[0])
    mine = Session()
    assert (
        ask(server, "cold", hold).text
        == "the solvers are compiled first, once after an installation"
    )
    for key in "ab":
        ask(server, key, hold, mine, compiled=False)
    assert [server.task(key).begun for key in ("cold", "a", "b")] == [False, True, False]
    ready[0] = True
    ask(server, "other", hold)
    assert [server.task(key).begun for key in ("cold", "a", "b", "other")] == [
        True,
        True,
        False,
        True,
    ]


def test_work_that_waits_for_its_solvers_begins_with_the_next_look_at_it(hold):
    ready = [False]
    server = Work(1, 1e6, lambda: ready[0])
    ask(server, "a", hold)
    ready[0] = True
    server.pending(server.task("a"))
    assert server.task("a").begun


def test_waiting_for_a_turn_to_draw_is_looking(hold, monkeypatch, server, session):
    """On loaded cores twelve pages waited longer for their turns than work goes on unwatched, and
    began anew.
    """
    monkeypatch.setattr(work, "UNWATCHED_SECONDS", 0.0)
    with server.drawing(session):
        ask(server, "a", hold, session)
        task = server.task("a")
        assert not task.ended.wait(0.1)
        hold.go_on.set()
        assert task.ended.wait(30)
    assert server.peek("a") == Ready("value")


@every("fault", ["keeping", "the system has no more threads", "control of the run"])
def test_a_thread_has_its_place_back_whatever_happens(fault, monkeypatch, caplog):
    server = Work(1, 1e6)
    session = Session()
    with monkeypatch.context() as patch:
        if fault == "keeping":
            patch.setattr(server, "_keep", lambda key, found: {}["gone"])
        elif fault == "the system has no more threads":
            patch.setattr(
                work.threading.Thread,
                "start",
                lambda self: (_ for _ in ()).throw(RuntimeError("no thread")),
            )
        patch.setattr(work.threading, "excepthook", lambda hooked: None)
        make = (
            (lambda progress: (_ for _ in ()).throw(SystemExit))
            if "run" in fault
            else lambda progress: 1
        )
        ask(server, "a", make, session)
        if (task := server.task("a")) is not None and task.begun:
            assert task.ended.wait(30)
    assert ask(server, "b", lambda progress: 2, seconds=0.0) == Ready(2)


def test_a_tab_that_the_collector_finds_in_the_middle_of_anything_takes_no_lock(server):
    session = server.session("browser")
    server.now(("browser", "a"), lambda: 1)
    with server._lock:
        collecting = threading.Thread(target=session_of(session).pop)
        del session
        collecting.start()
        collecting.join(5)
        assert not collecting.is_alive(), "it waits for a lock that another thread may hold"
    server.go_on()
    assert server.peek(("browser", "a")) is None


def session_of(session):
    """The only thing that still holds a session."""
    return [session]


def test_twelve_sessions_have_their_values_fifty_times():
    """With tabs that close meanwhile, values that two need, and pages that wait for turns."""
    server, turns = Work(2, 1e6), Turns(longest=0.001)

    def visit(number, found):
        session = server.session(f"{number}")
        for key in (f"shared {number % 3}", (f"{number}", "own")):
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with server.drawing(session), turns.taken():
                    session.run += 1
                    got = ask(
                        server,
                        key,
                        lambda progress: progress(0.5) or 1,
                        session,
                        seconds=number / 10,
                    )
                    server.let_go(session)
                if isinstance(got, Ready):
                    found.append(key)
                    break
                time.sleep(0.001)

    for _ in range(50):
        found = []
        visitors = [threading.Thread(target=visit, args=(number, found)) for number in range(12)]
        for visitor in visitors:
            visitor.start()
        for visitor in visitors:
            visitor.join(60)
        assert len(found) == 24
        server.clear()
    assert not server._tasks


def test_a_full_server_says_so(hold, monkeypatch):
    monkeypatch.setattr(work, "MOST_WAITING", 2)
    server = Work(2, 1e6)
    for key in "abc":
        found = ask(server, key, lambda progress: hold.go_on.wait(30), seconds=60.0)
    # less, if asked late
    said = r"The server is busy: 2 pieces of work wait or run, about (60|[1-5]\d) s of them\."
    assert re.match(said, found.sentence)


def test_a_part_of_the_value_can_be_seen():
    task = Task("a", print, mine := Session(), "Answer", wanted_by={mine})
    task.progress(0.2, "table", "half")
    task.progress(2.0)
    assert (task.share, task.text, task.value, task.version) == (1.0, "table", "half", 1)


@dataclass(frozen=True)
class Table:
    is_upload: bool


def page():
    import streamlit as st

    from pages.shared.work import work
    from tests.pages import test_work

    work.begin()
    table = st.session_state["table"]
    make = test_work.MAKE[0]
    st.write(repr(work.get(("answer", table), make, title="The answer")))
    work.bar()


MAKE = [lambda progress: "value"]


def test_a_page_shows_progress_cancels_and_has_the_value(hold, monkeypatch):
    monkeypatch.setattr(work, "WORK", server := Work(1, 1e6))
    monkeypatch.setattr("tests.pages.test_work.MAKE", [hold])
    app = AppTest.from_function(page)
    other = AppTest.from_function(page)
    app.session_state["table"] = other.session_state["table"] = Table(is_upload=True)
    app.run()
    assert "Pending" in app.markdown[0].value
    app.button("cancel_0").click().run()
    app.run()
    assert (
        app.markdown[0].value
        == "Failed(sentence='The answer was cancelled.', repairs=(), again=True)"
    )
    hold.go_on.set()
    assert other.run().markdown[0].value == "Ready(value='value')"
    assert "cancelled" in app.run().markdown[0].value  # an upload's value is its own session's
    with work.inline():
        app.session_state["table"] = Table(is_upload=False)
        assert "Ready" in app.run().markdown[0].value
    assert not server._tasks
