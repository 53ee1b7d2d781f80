"""Session and pages: the list of them, and the door every page goes through first."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.shared import inside as streamlit_inside
from pages.shared.parameters import link_text
from pages.shared.state import memory


@dataclass(frozen=True)
class Room:
    """One page of the app: its file, its name in the menu and the one question it answers."""

    file: str
    title: str
    icon: str
    question: str


ROOMS = (
    Room(
        "home",
        "Start",
        ":material/home:",
        "See which columns predict, how sure that is, and what a model looks like inside",
    ),
    Room("data", "Data", ":material/table:", "Which table does the model learn from?"),
    Room("kernels", "Kernels", ":material/grid_on:", "Which views of the data may the model combine?"),
    Room("explore", "Explore", ":material/show_chart:", "Which columns matter, and how sure is that?"),
    Room("compare", "Compare", ":material/compare_arrows:", "Which method suits this table, and by how much?"),
    Room("hulls", "Hulls", ":material/account_tree:", "Which columns act together? Is the rest out?"),
    Room("theory", "Theory", ":material/functions:", "What does theory promise, and what comes true?"),
    Room("experiments", "Experiments", ":material/science:", "Do the published results come out again?"),
    Room("predict", "Predict", ":material/online_prediction:", "What does the model say about a row, and why?"),
    Room("lessons", "Lessons", ":material/school:", "What do you expect, and what happens?"),
)

START = ROOMS[0]


def _pages() -> dict[str, StreamlitPage]:
    """Return the pages. Outside of a run Streamlit makes them without file and title: such are not kept."""
    return _kept() if streamlit_inside.run_context() else _build()


@cache
def _kept() -> dict[str, StreamlitPage]:
    return _build()  # once, because each page asks the disk for its file


def _build() -> dict[str, StreamlitPage]:
    """Build the pages. The first one is the default and lives at ``/``."""
    return {room.file: _page(room) for room in ROOMS}


def _page(room: Room) -> StreamlitPage:
    return st.Page(
        f"pages/{room.file}.py", title=room.title, icon=room.icon, url_path=room.file, default=room is ROOMS[0]
    )


def frame() -> None:
    """Set title, icon and layout.

    Before any menu: without an icon of ours the browser asks another host for the page's.
    """
    icon = str(Path(__file__).parent / "favicon.svg")
    st.set_page_config(page_title="MKL Explorer", page_icon=icon, layout="wide", initial_sidebar_state=264)


def menu() -> tuple[StreamlitPage, Room]:
    """Draw the menu along the top and return the page asked for with its room."""
    pages = [copy(page) for page in _pages().values()]  # a page notes that it may run, and other sessions run theirs
    chosen = st.navigation(pages, position="top")
    return chosen, next(room for room in ROOMS if room.title == chosen.title)


def link(file: str, label: str) -> None:
    """Draw a link to another page of the app."""
    st.page_link(_pages()[file], label=label, icon=":material/arrow_forward:")


def go(file: str) -> None:
    """Leave for another page of the app; the parameters stay, and come with its address: Back leads to this page."""
    memory().link.moved = True
    st.switch_page(_pages()[file], query_params=link_text(memory().params))


def leave_bare() -> None:
    """Write no parts into the address of the first screen; a visit that begins there with parts is for Data.

    Data was the page at ``/`` before, so older links name no page.
    """
    link, query = memory().link, st.query_params.to_dict()
    if link.written is None and query:
        go("data")
    link.written = query


def through_app() -> None:
    """Send a visitor who reached a page file directly through ``app.py``.

    A deep link that is the first request of a server runs the page file alone, because Streamlit's own discovery of
    ``pages/`` ends only once ``st.navigation`` has run. Calling the menu here ends it and keeps the page asked for.
    """
    if not memory().inside:
        frame()
        menu()
        st.rerun()


@contextmanager
def inside() -> Iterator[None]:
    """Mark that the page runs inside ``app.py``."""
    memory().inside = True
    try:
        yield
    finally:
        memory().inside = False
