"""The parameters of a session, brought together with its link, with undo and redo.

No widget owns a value. Widgets are views of the parameters: their value is set from them before they are drawn and written
back when they move. The link is read when a session begins and when the person goes back or forward in the browser.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from pages._parts.params.link import RUN, read, text
from pages._parts.params.parameters import Params

REMEMBERED_STEPS = 50
LINK_SECONDS = 1.0  # a run this soon after a change may still bring the link from before it


def current() -> Params:
    """Return the parameters of this session."""
    return st.session_state["params"]


def begin(page: str) -> None:
    """Bring link and parameters together; the first act of ``app.py`` in every run.

    The link is read at the session's start, and again when the browser went back or forward: when no widget spoke in this
    run and the link is not the one last written. Soon after a change it may be one the browser had no time to replace:
    then the link is left alone, and :func:`look_again` asks for another run that knows.
    Choosing a page in the menu empties the link and keeps the parameters.
    """
    memory, query = st.session_state, st.query_params.to_dict()
    moved, turned = memory.pop("moved", False), memory.get("page") != page
    memory["page"], memory["doubt"] = page, False
    memory["bare"] = bool(memory.get("bare")) and not (moved or turned or query)
    if "params" not in memory:
        memory["params"], memory["refused"] = read(query)
        memory["past"], memory["future"], memory["written_at"] = [], [], -math.inf
        memory["empty_means_usual"] = not query
        _note_run(query)
    elif turned and not query:
        memory["empty_means_usual"] = current() == Params()
    elif not moved and query != memory.get("written", query):
        if time.monotonic() <= memory["written_at"] + LINK_SECONDS:
            memory["doubt"] = True
        elif query or memory["empty_means_usual"]:
            _replace_all(*read(query))
            _note_run(query)
        else:
            memory["bare"] = True  # Back to the moment the page was opened: leave the history alone


def _note_run(query: Mapping[str, str]) -> None:
    """Keep the secret of a run in the link for whoever opens it, and whether the link says nothing else."""
    if RUN in query:
        st.session_state["run_asked"] = (query[RUN], len(query) == 1)


def look_again() -> None:
    """Ask for another run where this one cannot tell whether the person went back or the link was behind."""
    if not st.session_state.get("doubt"):
        return

    @st.fragment(run_every=LINK_SECONDS)
    def again() -> None:
        if time.monotonic() > st.session_state["written_at"] + LINK_SECONDS:
            st.rerun()

    again()


def _replace_all(params: Params, refused: tuple[str, ...]) -> None:
    st.session_state["past"] = [*st.session_state["past"], current()][-REMEMBERED_STEPS:]
    st.session_state["future"] = []
    st.session_state["params"], st.session_state["refused"] = params, refused


def read_again(query: Mapping[str, str]) -> None:
    """Take the parts that a saved run stands for in the place of the link that named it."""
    st.session_state["params"], st.session_state["refused"] = read(query)


def refuse(sentence: str) -> None:
    """Tell one more sentence about what of a link cannot be had."""
    st.session_state["refused"] = (*st.session_state.get("refused", ()), sentence)


def end() -> None:
    """Write the parameters into the link; in ``app.py`` before the page runs, and after each change inside a fragment."""
    if st.session_state.get("doubt"):
        return
    query, want = st.query_params.to_dict(), text(current()) | _borrowed()
    if query != want and not st.session_state["bare"]:
        st.query_params.from_dict(want)
        st.session_state["written_at"] = time.monotonic()
    st.session_state["written"] = st.query_params.to_dict()


def _borrowed() -> dict[str, str]:
    """Return the secret that a link has to go on carrying, because a reload could not bring the table back without it."""
    secret = st.session_state.get("borrowed", {}).get(current().data)
    return {RUN: secret} if secret else {}


def change(**values: Any) -> None:
    """Set parameters by name, as a step that can be undone."""
    set_params(replace(current(), **values))


def set_params(params: Params) -> None:
    """Set all parameters at once, as a step that can be undone."""
    if params != current():
        _replace_all(params, ())
    st.session_state["moved"], st.session_state["doubt"] = True, False


def undo() -> None:
    """Return to the parameters before the last step."""
    _step("past", "future")


def redo() -> None:
    """Take the last step back that was undone."""
    _step("future", "past")


def _step(come: str, go: str) -> None:
    memory = st.session_state
    if memory[come]:
        memory[go] = [*memory[go], current()][-REMEMBERED_STEPS:]
        memory["params"], memory["refused"] = memory[come].pop(), ()
    memory["moved"], memory["doubt"] = True, False


def rerun() -> None:
    """Run the whole app again. The link in the browser may be a step behind, so it does not speak this time."""
    st.session_state["moved"] = True
    st.rerun()
