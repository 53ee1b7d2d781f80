"""Who is next: the shortest first, nobody forever, one job a session, what nobody asked for last, and a line that
ends.
"""

import threading
import time
from types import SimpleNamespace

import pytest

from pages._parts.derive.caches import UNUSED_SECONDS, LargePlace, WaitError
from pages._parts.frame import progress
from pages._parts.jobs import worker
from pages._parts.jobs.job import Claims, Job, JobState, Piece, Progress, Report, make
from pages._parts.session import board
from pages._parts.session.leaving import Left
from pages._parts.session.memory import Owner
from pages._parts.session.turns import Turns


def job(
    seconds: float = 5.0, *, owner: object = None, waited: float = 0.0, title: str = "Path", asked: bool = True
) -> Progress:
    reported = Job(title, title, (Piece(lambda report: None, lambda made: None),), seconds=seconds, asked=asked)
    return Progress(reported, owner=owner, entered=time.monotonic() - waited)


def line_of(*jobs: Progress) -> worker.Line:
    line = worker.Line()
    for one in jobs:
        line.offer(one)
    return line


def test_the_shortest_is_next_and_waiting_makes_older_work_shorter() -> None:
    long, short, patient = job(60), job(1), job(60, waited=59.5)
    line = line_of(long, short, patient)
    assert [line.take(3) for _ in range(4)] == [patient, short, long, None]
    line = line_of(job(60), first := job(2), second := job(2))
    assert line.take(1) is first  # who came first, where both are alike
    assert line.take(1) is None
    assert line.ahead(second) == 1
    line.leave(first)
    assert line.take(1) is second


def test_one_job_of_a_session_runs_at_a_time() -> None:
    first, second, others = job(1, owner="A"), job(1, owner="A"), job(9, owner="B")
    line = line_of(first, second, others)
    assert [line.take(3) for _ in range(3)] == [first, others, None]
    line.leave(first)
    assert line.take(3) is second


def test_what_nobody_asked_for_waits_until_nobody_waits() -> None:
    unasked, again, asked = job(0.1, asked=False, waited=1000), job(0.1, asked=False), job(50, owner="A")
    line = line_of(unasked, again, asked, behind := job(50, owner="A"))
    assert line.ahead(unasked) == 2
    assert [line.take(2) for _ in range(2)] == [asked, None]  # there is a thread, but a person is waiting
    line.leave(behind)
    assert line.take(2) is unasked
    line.leave(asked)
    assert line.take(2) is None  # a thread stays free for a newcomer


def test_stopped_work_leaves_the_line_first_and_work_that_can_begin_goes_before_work_that_cannot() -> None:
    cold, warm, stopped = job(1), job(5), job(500)
    stopped.stop.set()
    line = line_of(cold, warm, stopped)
    ready = lambda one: one is not cold  # noqa: E731
    assert [line.take(3, ready) for _ in range(3)] == [stopped, warm, cold]


def test_a_full_line_says_so_with_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MOST_WAITING", 2)
    line = line_of(job(30), job(90), more := job(1))
    assert line.refusal(more, 2) == (
        "the server is busy. 2 pieces of work wait or run, about 60 s of them. Ask again then; what comes with the "
        "project is drawn without waiting"
    )
    monkeypatch.setitem(worker.LINES, "short", line)
    worker.hand_over(refused := job(1))
    assert (refused.state, refused.ended.is_set()) == (JobState.FAILED, True)
    assert "the server is busy" in refused.error
    assert refused not in line.everyone()
    for one in line.everyone():
        line.leave(one)


def test_what_is_expected_learns_from_what_was_measured() -> None:
    line = line_of(done := job(2.0), wait := job(4.0), other := job(4.0, title="Refits"))
    assert line.take(1) is done
    done.started, done.state = time.monotonic() - 10.0, JobState.DONE
    line.leave(done)
    assert line.expected(wait) == pytest.approx(20.0, rel=0.05)  # paths took five times as long as announced
    assert line.expected(other) == 4.0
    assert line.seconds_before(other, 1) == 0.0


@pytest.mark.parametrize(("before", "seconds", "every"), [(0, 1.0, 0.5), (0, 12.0, 1.2), (3, 12.0, 2.0)])
def test_a_page_looks_less_often_at_work_that_takes_long(
    before: int, seconds: float, every: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = line_of(*(job(seconds, waited=1.0) for _ in range(before)), mine := job(seconds))
    monkeypatch.setitem(worker.LINES, "short", line)
    monkeypatch.setitem(worker.MOST, "short", 1)
    monkeypatch.setattr(board, "all_held", lambda: [mine])
    assert progress.every() == pytest.approx(every)
    for one in line.everyone():
        line.leave(one)


def test_what_two_ask_for_is_made_once() -> None:
    result_cache, begun, go_on, made = {}, threading.Event(), threading.Event(), []

    def slowly(report: Report) -> str:
        made.append(1)
        begun.set()
        assert go_on.wait(30)
        return "answer"

    piece = Piece(
        slowly,
        lambda answer: result_cache.update(answer=answer),
        name="lesson",
        there=lambda: result_cache.get("answer"),
    )
    first, second = (Progress(Job("lesson", "Lesson", (piece,))) for _ in range(2))
    threads = [threading.Thread(target=make, args=(one,)) for one in (first, second)]
    threads[0].start()
    assert begun.wait(30)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert (made, result_cache) == ([1], {"answer": "answer"})


def test_who_waits_for_what_another_makes_can_leave() -> None:
    claims = Claims()

    def leave() -> None:
        raise KeyboardInterrupt

    with claims.held("path", leave), claims.held(None, leave), claims.held(None, leave):  # noqa: SIM117
        with pytest.raises(KeyboardInterrupt), claims.held("path", leave):
            pass
    with claims.held("path", leave):
        pass


def test_a_large_stack_blocks_nobody_once_its_session_stopped_looking_at_it() -> None:
    large = lambda: SimpleNamespace(train=SimpleNamespace(values=memoryview(b"")))  # noqa: E731
    place = LargePlace()
    place._held, place._key, place._owner, place._seen = large(), "theirs", Owner(), time.monotonic()
    with pytest.raises(WaitError, match="Another session looks at a large stack"):
        place._leave("newcomer")
    place._seen -= UNUSED_SECONDS
    place._leave("newcomer")
    assert place._held is None


def test_work_that_takes_the_place_of_one_nobody_has_shown_asks_for_another_run(monkeypatch):
    held = SimpleNamespace(jobs={}, me="me")
    monkeypatch.setattr(board, "memory", lambda: held)

    def done_at_once(progress):
        progress.state = JobState.DONE
        progress.ended.set()

    monkeypatch.setattr(board.worker, "hand_over", done_at_once)
    first = board.ask(Job("methods", "Methods", ()))
    assert first.reported
    assert board.ask(Job("plain models", "Plain models", ())).reported
    board.held().reported = False  # it ended after the page had drawn what it had by then
    assert not board.ask(Job("plain models", "Plain models", ())).reported


def test_a_session_is_over_once_its_tab_was_closed_for_long() -> None:
    now = [0.0]
    left = Left(lambda: now[0])
    assert left.over(["a", "b"], 110.0) == []
    now[0] = 100.0
    assert left.over(["a"], 110.0) == []  # the other one is back
    now[0] = 111.0
    assert left.over(["a", "b"], 110.0) == ["a"]
    now[0] = 222.0
    assert left.over(["b"], 110.0) == ["b"]
    assert left.over([], 110.0) == []


def test_pages_are_drawn_in_turns_and_a_turn_that_is_given_back_is_the_next_ones() -> None:
    turns, drawn = Turns(longest=30), []

    def draw(name: str) -> None:
        with turns.taken():
            drawn.append(name)

    with turns.taken():
        others = [threading.Thread(target=draw, args=(name,)) for name in ("second", "third")]
        for place, other in enumerate(others, 1):
            other.start()
            while len(turns._line) < place:
                time.sleep(0.001)
        assert not drawn
        turns.give_back()  # what comes now takes long
        for other in others:
            other.join(30)
        assert drawn == ["second", "third"]
        turns.give_back()  # nothing is left to give
    draw("fourth")
    assert drawn[2:] == ["fourth"]


def test_nobody_waits_for_ever_for_somebody_elses_turn() -> None:
    turns, other = Turns(longest=0.01), threading.Event()

    def draw() -> None:
        with turns.taken():
            other.set()

    with turns.taken():
        drawing = threading.Thread(target=draw)
        drawing.start()
        assert other.wait(30)
    drawing.join(30)


def test_who_has_others_before_them_does_not_wait_on_the_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = job(1)
    for before, waits in ((0, True), (worker.MOST["short"], False)):
        with monkeypatch.context() as patch:
            patch.setitem(worker.LINES, "short", line_of(*(job(0.1) for _ in range(before)), mine))
            assert (board._patience(mine) > 0) is waits
