"""What one visitor's tab remembers, typed in one place: parameters with their link and history,
files, cursors, page.

A worker may be handed a part of it to lay a result in; the object itself is found through
:func:`memory` in a run of the app.
"""

import hashlib
import math
import time
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as File
from typing import Any, NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from mklcore.errors import KernelError
from mklcore.io.launcher import TABLE_PART
from mklcore.kernels import stacks
from mklcore.paths.path import Path
from pages.shared import private_streamlit
from pages.shared.session.parameters import (
    ANSWER,
    BUILDERS,
    Params,
    link_text,
    read_link,
    upload_name,
)

KEY = "memory"


# Parameters and link


@dataclass
class Link:
    """How the address in the browser and the parameters came together; see `begin`."""

    begun: bool = False
    written: dict[str, str] | None = None
    moved: bool = False  # a widget spoke in this run, so the link does not
    turned: bool = False  # whether this run is the first on its page
    empty_means_usual: bool = False
    table: str = ""  # the secret of the table on the server's command line
    is_lost: bool = False  # the tab began on an inner page without parameters


# What was brought along and computed


@dataclass(frozen=True)
class Upload:
    """A file as it came, kept for the session: the uploader itself is empty again after a change of
    page.
    """

    name: str
    content: bytes

    @cached_property
    def is_stack(self) -> bool:
        """Tell whether it is a stack of ready kernels."""
        return stacks.is_stack(self.content)


# What a page remembers between its runs


@dataclass
class Cursor:
    """What the session and a player in the browser know of each other, so that neither moves the
    other in a circle.

    The player reports a release once; Python moves the cursor, counted by ``turn``, only where it
    chose a new place itself: undo, a link, a number box, another path.
    """

    name: object = None  # of what the player shows
    given: object = None  # what else a new picture depends on
    at: object = None  # where the cursor was drawn last
    said: object = None  # where the player itself has put it
    heard: object = None
    turn: int = 0

    def is_new(self, report: object) -> bool:
        """Tell whether a report is new; none is taken twice."""
        new = bool(report) and report != self.heard
        self.heard = report if new else self.heard
        return new

    def turns(self, name: object, at: object, given: object = None) -> int:
        """Return how many times Python itself has moved the cursor, with the picture that is drawn
        now.
        """
        if (name, given) != (self.name, self.given) or at not in (self.at, self.said):
            self.turn = self.turn + 1
            self.said = None
        self.name = name
        self.given = given
        self.at = at
        return self.turn


@dataclass(eq=False)
class Memory:
    """Everything one visitor's tab remembers."""

    params: Params = field(default_factory=Params)
    link: Link = field(default_factory=Link)
    # the parameters before each step that can be undone, and after each that was
    past: list[Params] = field(default_factory=list)
    future: list[Params] = field(default_factory=list)
    page: str = ""
    next_page: str | None = None  # to which a click leads, in the next run
    # when the end of a stopped run last took state away from the next
    overlapped: float = -math.inf
    refused: tuple[str, ...] = ()  # what of a link was not taken
    notice: str = ""  # what changed without being asked for
    # in number boxes, and when
    written_over: dict[str, tuple[tuple[Any, float], ...]] = field(default_factory=dict)
    # what widgets show: values, and names in lists
    drawn: dict[str, tuple[Any, str]] = field(default_factory=dict)
    edit_refused: tuple[str, str] | None = None  # the table that was edited, and why not
    uploads: OrderedDict[str, Upload] = field(default_factory=OrderedDict)
    # where each of them is kept beyond this tab, in a sentence
    places: dict[str, str] = field(default_factory=dict)
    # dictionaries too long for a link
    tables: OrderedDict[str, str] = field(default_factory=OrderedDict)
    # the path of a saved screen and the parameters it answers, until its models are fitted again
    opened: tuple[Path, Params] | None = None
    batch: Upload | None = None
    experiment_file: str | None = None  # the file of an experiment that was read last
    # asked for last: experiment, repetitions, seed
    experiment_run: tuple[str, int, int] | None = None
    # of the players, by name
    cursors: defaultdict[str, Cursor] = field(default_factory=lambda: defaultdict(Cursor))


def memory() -> Memory:
    """Return what this session remembers."""
    if KEY not in st.session_state:
        st.session_state[KEY] = Memory()
    found: Memory = st.session_state[KEY]
    return found


# Parameters, link, undo and redo
#
# No widget owns a value. Widgets are views of the parameters: their value is set from them before
# they are drawn and written back when they move. The link is read when a session begins and when
# the person goes back or forward in the browser.


REMEMBERED_STEPS = 50
# the browser learns of the page before its link, or Back finds the link on the page before
PAGE_SECONDS = 0.05


def current() -> Params:
    """Return the parameters of this session."""
    return memory().params


def begin(page: str) -> None:
    """Bring link and parameters together; the first act of ``app.py`` in every run.

    The link is read at the session's start, and again when the browser says that it went back or
    forward. In every other run the link may be one that the browser had no time to replace, so it
    is written and not read. Choosing a page in the menu empties the link and keeps the parameters.
    """
    mind = memory()
    link = memory().link
    query = st.query_params.to_dict()
    moved = link.moved
    turned = mind.page != page
    mind.page = page
    link.moved = False
    link.turned = turned
    if not link.begun:
        link.begun = True
        link.empty_means_usual = not query
        link.is_lost = not query and page != START
        mind.params, mind.refused = read_link(query)
        link.table = query.get(TABLE_PART, "")
    elif turned and not query:
        link.empty_means_usual = current() == Params()
    elif not moved and (turned or private_streamlit.went_through_history()):
        means_something = query or link.empty_means_usual
        if query != link.written and means_something:
            _replace_all(*read_link(query))


def _replace_all(params: Params, refused: tuple[str, ...]) -> None:
    mind = memory()
    mind.past = [*mind.past, current()][-REMEMBERED_STEPS:]
    mind.future = []
    mind.params = params
    mind.refused = refused
    mind.notice = ""


def read_again(query: Mapping[str, str]) -> None:
    """Take these parts in the place of the link."""
    memory().params, memory().refused = read_link(query)


def refuse(*sentences: str) -> None:
    """Tell more about what of a link cannot be had."""
    memory().refused += sentences


def end() -> None:
    """Write the parameters into the link; in ``app.py`` before the page runs, and after each change
    inside a fragment.
    """
    link = memory().link
    query = st.query_params.to_dict()
    want = link_text(current())
    if query != want:
        if link.turned:
            time.sleep(PAGE_SECONDS)
        st.query_params.from_dict(want)
    link.written = st.query_params.to_dict()


def change(**values: Any) -> None:
    """Set parameters by name, as a step that can be undone."""
    # at its usual values a builder would hand over to what the table suggests
    if not values.keys().isdisjoint(BUILDERS):
        values.setdefault("recipe", "builders")
    set_params(replace(current(), **values))


def set_params(params: Params) -> None:
    """Set all parameters at once, as a step that can be undone.

    A threshold belongs to the decisions of one answer: another answer begins at the usual one.
    """
    if params.of(*ANSWER) != current().of(*ANSWER):
        params = replace(params, threshold=None)
    if params != current():
        _replace_all(params, ())
    memory().link.moved = True


def undo() -> None:
    """Return to the parameters before the last step."""
    _step(memory().past, memory().future)


def redo() -> None:
    """Take the last step back that was undone."""
    _step(memory().future, memory().past)


def _step(source: list[Params], other: list[Params]) -> None:
    mind = memory()
    if source:
        other.append(current())
        del other[:-REMEMBERED_STEPS]
        mind.params = source.pop()
        mind.refused = ()
    mind.link.moved = True


def rerun() -> None:
    """Run the whole app again.

    The link in the browser may be a step behind, so it does not speak this time.
    """
    memory().link.moved = True
    st.rerun()


# Files that were brought along, and dictionaries too long for a link


UPLOAD_LIMIT_MB = 20
STACK_LIMIT_MB = stacks.MAX_FILE_MB
REMEMBERED_UPLOADS = 3
# MIME type of a rejected upload, whose body holds the reason; see guard
REFUSED = "application/x-mkl-explorer-refused"
REMEMBERED_TABLES = 20


class MissingFileError(Exception):
    """A link names an uploaded file that this session does not hold."""


def refusal(file: Any) -> str:
    """Return why the server did not take a file that was sent, "" where it did."""
    return file.getvalue().decode() if file.type == REFUSED else ""


def keep_upload(name: str, content: bytes) -> str:
    """Keep a file in this session and return its name as a source of data."""
    uploads = memory().uploads
    source = upload_name(content)
    uploads[source] = Upload(name, content)
    uploads.move_to_end(source)
    room = STACK_LIMIT_MB * 1e6 - sum(len(file.content) for file in uploads.values())
    while len(uploads) > 1 and (len(uploads) > REMEMBERED_UPLOADS or room < 0):
        _, gone = uploads.popitem(last=False)
        room += len(gone.content)
    return source


def upload(source: str) -> Upload:
    """Return a file of this session; raises ``MissingFileError`` when the session does not hold it."""
    try:
        return memory().uploads[source]
    except KeyError:
        raise MissingFileError(source) from None


KEPT = "kept:"
ON_STACK = "stack@"


def edited_text(params: Params) -> str:
    """Return the dictionary edited by hand as text, empty where the builders make it.

    Raises ``KernelError``.
    """
    if not params.edited.startswith(KEPT):
        return params.edited
    try:
        return memory().tables[params.edited]
    except KeyError:
        raise KernelError(
            "This link is about a dictionary that was edited by hand and is too long for "
            "a link: it stays in the session that edited it. Go to Kernels and use the "
            "builders."
        ) from None


def keep_text(text: str, longest: int) -> str:
    """Return what stands for an edited dictionary in the parameters: its text, or a name this
    session resolves.
    """
    if len(text) <= longest:
        return text
    name = KEPT + hashlib.sha256(text.encode()).hexdigest()
    kept = memory().tables
    kept[name] = text
    while len(kept) > REMEMBERED_TABLES:
        kept.popitem(last=False)
    return name


# Pages: the list of them, the menu, and the links between them


class PageEntry(NamedTuple):
    """One page of the app: its name in the menu, its sign and the one question it answers."""

    title: str
    icon: str
    question: str


PAGES = {
    "home": PageEntry(
        "Start",
        ":material/home:",
        "See which columns predict, how sure that is, and what a model looks like inside",
    ),
    "data": PageEntry("Data", ":material/table:", "Which table does the model learn from?"),
    "kernels": PageEntry(
        "Kernels", ":material/grid_on:", "Which views of the data may the model combine?"
    ),
    "explore": PageEntry(
        "Explore", ":material/show_chart:", "Which columns matter, and how sure is that?"
    ),
    "compare": PageEntry(
        "Compare",
        ":material/compare_arrows:",
        "Which method suits this table, and by how much?",
    ),
    "hulls": PageEntry(
        "Hulls", ":material/account_tree:", "Which columns act together? Is the rest out?"
    ),
    "theory": PageEntry(
        "Theory", ":material/functions:", "What does theory promise, and what comes true?"
    ),
    "experiments": PageEntry(
        "Experiments", ":material/science:", "Do the published results come out again?"
    ),
    "predict": PageEntry(
        "Predict",
        ":material/online_prediction:",
        "What does the model say about a row, and why?",
    ),
    "lessons": PageEntry("Lessons", ":material/school:", "What do you expect, and what happens?"),
}

START = "home"


def page_at(address: str) -> StreamlitPage:
    """Return the page at an address; the first one is the default and lives at ``/``."""
    entry = PAGES[address]
    return st.Page(
        f"pages/{address}/page.py",
        title=entry.title,
        icon=entry.icon,
        url_path=address,
        default=address == START,
    )


def set_layout() -> None:
    """Set title, icon and layout.

    Before any menu: without an icon of ours the browser asks another host for the page's.
    """
    icon = str(File(__file__).parents[1] / "favicon.svg")
    st.set_page_config(
        page_title="MKL Explorer", page_icon=icon, layout="wide", initial_sidebar_state=264
    )


def menu() -> tuple[StreamlitPage, str]:
    """Draw the menu along the top and return the page asked for with its address."""
    chosen = st.navigation(list(map(page_at, PAGES)), position="top")
    return chosen, chosen.url_path or START


def link(address: str, label: str) -> None:
    """Draw a link to another page of the app."""
    st.page_link(page_at(address), label=label, icon=":material/arrow_forward:")


def go(address: str) -> None:
    """Leave for another page of the app; the parameters stay, and come with its address: Back leads
    to this page.
    """
    memory().link.moved = True
    st.switch_page(page_at(address), query_params=link_text(memory().params))


def leave_bare() -> None:
    """Write no parts into the address of the first screen; a visit that begins there with parts is
    for Data.

    Data was the page at ``/`` before, so older links name no page.
    """
    link = memory().link
    query = st.query_params.to_dict()
    if link.written is None and query:
        go("data")
    link.written = query
