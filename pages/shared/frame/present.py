"""Frame for a room full of people: one picture, no rail, larger type; left by a button in sight, or by Esc."""

import streamlit as st

from pages.shared.session import history, nav

# The type of every part depends on the root's size; Streamlit has no switch for the rail and the menu of one session.
STYLE = """<style>
:root:root { font-size: clamp(20px, 1.35vw, 28px); }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], header[data-testid="stHeader"] { display: none; }
[data-testid="stMainBlockContainer"] { max-width: 110rem; padding-top: 0.75rem; }
</style>"""


def on() -> bool:
    """Tell whether this session presents."""
    return history.current().present


def button() -> None:
    """Draw the switch of the heading: into presentation, or out of it."""
    if on():
        st.button(
            "", icon=":material/close_fullscreen:", key="leave_presentation", on_click=_leave, type="tertiary",
            help="Leave the presentation: Esc",
        )  # fmt: skip
    else:
        st.button(
            "", icon=":material/present_to_all:", key="present", on_click=_enter, type="tertiary",
            help="Present to a class: no rail, larger type",
        )  # fmt: skip


def frame() -> None:
    """Dress the page for presentation if this session presents; once per run, before the page."""
    if on():
        st.html(STYLE)


def way_out() -> None:
    """Draw the ways from a presented page: the lessons, the next pages, and out."""
    if not on():
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for file, title in (("lessons", "Lessons"), ("explore", "Explore"), ("compare", "Compare"), ("hulls", "Hulls")):
            nav.link(file, title)
        st.button(
            "Leave the presentation", key="leave_below", on_click=_leave, icon=":material/close_fullscreen:",
            shortcut="Esc", type="tertiary",
        )  # fmt: skip


def _enter() -> None:
    history.change(present=True)


def _leave() -> None:
    history.change(present=False)
