"""Frame of every visit: parameters in, menu, one line of progress, the page, and nothing else."""

import time

import streamlit as st

from pages.shared import compiling, kept, work
from pages.shared.derive import first_table
from pages.shared.frame import heading, layout, present, starting
from pages.shared.frame import notices as frame_notices
from pages.shared.params.parameters import Params
from pages.shared.session import history, nav, turns
from pages.shared.session.memory import memory

AGAIN_SECONDS = 5.0
LOST = "st.session_state has no key"  # what Streamlit says of a widget without a state


def draw() -> None:
    """Draw the frame and in it the page asked for, when it is its turn.

    A run that Streamlit stops may still end while the next one of its session draws, and take the state of a widget
    away from it: that one is drawn once more.
    """
    with turns.PAGES.taken():
        try:
            _draw()
        except KeyError as error:
            before, memory().overlapped = memory().overlapped, time.monotonic()
            if LOST not in str(error) or memory().overlapped - before < AGAIN_SECONDS:
                raise
            history.rerun()


def _draw() -> None:
    work.begin()
    nav.frame()
    page, room = nav.menu()
    history.begin(room.file)
    kept.begin()
    if room is nav.START:
        history.leave_bare()
    else:
        history.end()
    layout.dress()
    present.frame()
    progress = heading.start(room.question) if room is nav.START else heading.heading(room.question)
    notices = st.container()
    starting.wait_for(room.file, comes_along=history.current() == Params() and first_table.is_there(Params()))
    with nav.inside():
        page.run()
    present.way_out()
    # Last, so that what the page has just begun or made obsolete is shown in the same run.
    with notices:
        frame_notices.notices()
    # Each in a place of its own: a fragment of the run before may still write where this run has nothing to show.
    with progress, st.container(gap=None, key="progress"):
        with st.container(gap=None, key="compiling"):
            compiling.line(room.file)
        with st.container(gap=None):
            work.bar()
    starting.drawn()
