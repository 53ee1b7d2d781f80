"""Many visitors: pages are drawn in turns, and a session is over once its tab is closed."""

import threading
import time

from pages.shared.server.sessions import Left
from pages.shared.work.turns import Turns


def test_a_session_is_over_once_its_tab_was_closed_for_long():
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


def test_pages_are_drawn_in_turns_and_a_turn_that_is_given_back_is_the_next_ones():
    turns = Turns(longest=30)
    drawn = []

    def draw(name):
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


def test_nobody_waits_for_ever_for_somebody_elses_turn():
    turns, other = Turns(longest=0.01), threading.Event()

    def draw():
        with turns.taken():
            other.set()

    with turns.taken():
        drawing = threading.Thread(target=draw)
        drawing.start()
        assert other.wait(30)
    drawing.join(30)
