"""Frame, the heading of every page: its one question, undo, the link, the file and the code."""

from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.shared import kept
from pages.shared.export import downloads
from pages.shared.frame import present, theme
from pages.shared.params import link as params_link
from pages.shared.session import history


def heading(question: str) -> DeltaGenerator:
    """Draw the page's one question with undo and link; return the place beside it where work in progress is shown."""
    title, progress, screen, undo, redo, link, code = st.container(key="heading").columns(
        [19.5, 7.5, 1.3, 1.3, 1.3, 1.7, 1.7], vertical_alignment="center", gap="xsmall"
    )
    title.title(question, anchor=False)
    with screen, st.container(horizontal=True, gap=None):
        present.button()
        theme.watch()
    undo.button(
        "", icon=":material/undo:", key="undo", on_click=history.undo, help="Undo the last step", type="tertiary"
    )
    redo.button(
        "", icon=":material/redo:", key="redo", on_click=history.redo, help="Do the undone step again", type="tertiary",
    )  # fmt: skip
    with link:
        _link()
    with code:
        downloads.screen()
    history.look_again()
    return progress


def start(sentence: str) -> DeltaGenerator:
    """Draw the heading of the first screen: its sentence, and the way into presentation; return as ``heading`` does."""
    title, progress, screen = st.container(key="heading").columns(
        [19.5, 7.5, 1.3], vertical_alignment="center", gap="xsmall"
    )
    title.title(sentence, anchor=False)
    with screen, st.container(horizontal=True, gap=None):
        present.button()
        theme.watch()
    return progress


@st.fragment
def _link() -> None:
    """Draw the link when it is asked for: a released cursor changes it without a run of the whole app."""
    pocket = st.popover(
        "", icon=":material/link:", key="link", on_change="rerun", help="A link or a file that restores this screen",
        type="tertiary",
    )  # fmt: skip
    if pocket.open:
        with pocket:
            _address()


def _address() -> None:
    url = (st.context.url or "").split("?")[0]
    parts = urlencode(params_link.text(history.current()))
    st.code(f"{url}?{parts}" if parts else url, language=None, wrap_lines=True)
    if history.current().is_upload:
        st.caption("The link names your table by its fingerprint; who opens it is asked for the table.")
    if not kept.missing(history.current()):
        st.download_button(
            "Save", kept.saving(), f"screen.{kept.ENDING}", "application/zip", key="save", on_click="ignore",
            icon=":material/download:",
            help="One file with table, parameters, path and model. Drop it on the start page to open it.",
        )  # fmt: skip
