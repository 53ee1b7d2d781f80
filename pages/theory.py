"""Theory: every bound of the papers as a curve beside what is measured on the table in use."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from pages._parts import controls, state, theory_tabs


def choice() -> None:
    """Draw the list of theorems, one tab per paper and question."""
    state.field_view(
        st.segmented_control, "Theorem", "theory", options=list(theory_tabs.TABS),
        format_func=lambda name: theory_tabs.TABS[name].label, required=True, label_visibility="collapsed",
    )  # fmt: skip


if controls.usable_table():
    choice()
    params = state.current()
    try:
        ready = theory_tabs.begin(params)
        # After what is asked for: the usual place of some sliders is read off what has just been measured.
        if ready:
            with st.sidebar:
                theory_tabs.TABS[params.theory].rail(params)
            theory_tabs.show(params)
    except MKLError as error:
        st.error(controls.plain(error))
