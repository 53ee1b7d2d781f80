"""Theory: every bound of the papers as a curve beside what is measured on the table in use."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from pages._parts.drawing import refusals
from pages._parts.frame import notices
from pages._parts.session import fields, history
from pages._parts.theory import tabs


def choice() -> None:
    """Draw the list of theorems, one tab per paper and question."""
    fields.field_view(
        "Theorem", "theory", kind=st.segmented_control, options=list(tabs.TABS),
        format_func=lambda name: tabs.TABS[name].label, required=True, label_visibility="collapsed",
    )  # fmt: skip


if notices.usable_table():
    choice()
    params = history.current()
    try:
        ready, found = tabs.begin(params)
        # After what is asked for: the usual place of some sliders is read off what has just been measured.
        if ready:
            with st.sidebar:
                tabs.TABS[params.theory].rail(params)
            tabs.show(params, found)
    except MKLError as error:
        refusals.draw(error, "theory_refused")
