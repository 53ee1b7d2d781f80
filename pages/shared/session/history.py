"""Session and link: its parameters brought together with the address, with undo and redo.

No widget owns a value. Widgets are views of the parameters: their value is set from them before they are drawn and
written back when they move. The link is read when a session begins and when the person goes back or forward in the
browser.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from mklcore.io.launcher import TABLE
from pages.shared.params.link import read, text
from pages.shared.params.parameters import BUILDERS, Params
from pages.shared.session import nav
from pages.shared.session.memory import memory

REMEMBERED_STEPS = 50
LINK_SECONDS = 1.0  # a run this soon after a change may still bring the link from before it
PAGE_SECONDS = 0.05  # the browser learns of the page before its link, or Back finds the link on the page before


def current() -> Params:
    """Return the parameters of this session."""
    return memory().params


def begin(page: str) -> None:
    """Bring link and parameters together; the first act of ``app.py`` in every run.

    The link is read at the session's start, and again when the browser went back or forward: when no widget spoke in
    this run and the link is not the one last written. Soon after a change it may be one the browser had no time to
    replace: then the link is left alone, and :func:`look_again` asks for another run that knows. Choosing a page in the
    menu empties the link and keeps the parameters.
    """
    mind, link, query = memory(), memory().link, st.query_params.to_dict()
    moved, turned = link.moved, mind.page != page
    mind.page, link.moved, link.doubt, link.turned = page, False, False, turned
    link.bare = link.bare and not (moved or turned or query)
    if not link.begun:
        link.begun, link.empty_means_usual = True, not query
        mind.params, mind.refused = read(query)
        link.table = query.get(TABLE, "")
    elif turned and not query:
        link.empty_means_usual = current() == Params()
    elif not moved and link.written is not None and query != link.written:
        if time.monotonic() <= link.written_at + LINK_SECONDS:
            link.doubt = True
        elif query or link.empty_means_usual:
            _replace_all(*read(query))
        else:
            link.bare = True  # Back to the moment the page was opened: leave the history alone


def look_again() -> None:
    """Ask for another run where this one cannot tell whether the person went back or the link was behind."""
    if not memory().link.doubt:
        return

    @st.fragment(run_every=LINK_SECONDS)
    def again() -> None:
        if time.monotonic() > memory().link.written_at + LINK_SECONDS:
            st.rerun()

    again()


def _replace_all(params: Params, refused: tuple[str, ...]) -> None:
    mind = memory()
    mind.steps.past = [*mind.steps.past, current()][-REMEMBERED_STEPS:]
    mind.steps.future = []
    mind.params, mind.refused = params, refused


def read_again(query: Mapping[str, str]) -> None:
    """Take these parts in the place of the link."""
    memory().params, memory().refused = read(query)


def refuse(*sentences: str) -> None:
    """Tell more about what of a link cannot be had."""
    memory().refused += sentences


def end() -> None:
    """Write the parameters into the link; in ``app.py`` before the page runs, and after each change inside a
    fragment.
    """
    link = memory().link
    if link.doubt:
        return
    query, want = st.query_params.to_dict(), text(current())
    if query != want and not link.bare:
        if link.turned:
            time.sleep(PAGE_SECONDS)
        st.query_params.from_dict(want)
        link.written_at = time.monotonic()
    link.written = st.query_params.to_dict()


def leave_bare() -> None:
    """Write no parts into the address of the first screen; a visit that begins there with parts is for Data.

    Data was the page at ``/`` before, so older links name no page.
    """
    link, query = memory().link, st.query_params.to_dict()
    if link.written is None and query:
        nav.go("data")
    link.written = query


def change(**values: Any) -> None:
    """Set parameters by name, as a step that can be undone."""
    if any(
        name in BUILDERS for name in values
    ):  # at its usual values a builder would hand over to what the table suggests
        values.setdefault("recipe", "builders")
    set_params(replace(current(), **values))


def set_params(params: Params) -> None:
    """Set all parameters at once, as a step that can be undone."""
    if params != current():
        _replace_all(params, ())
    memory().link.moved, memory().link.doubt = True, False


def undo() -> None:
    """Return to the parameters before the last step."""
    steps = memory().steps
    _step(steps.past, steps.future)


def redo() -> None:
    """Take the last step back that was undone."""
    steps = memory().steps
    _step(steps.future, steps.past)


def _step(source: list[Params], other: list[Params]) -> None:
    mind = memory()
    if source:
        other.append(current())
        del other[:-REMEMBERED_STEPS]
        mind.params, mind.refused = source.pop(), ()
    mind.link.moved, mind.link.doubt = True, False


def rerun() -> None:
    """Run the whole app again. The link in the browser may be a step behind, so it does not speak this time."""
    memory().link.moved = True
    st.rerun()
