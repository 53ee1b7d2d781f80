"""Frame, notices above a page: refusals of a link, dropped answers, and a table that cannot be had."""

import streamlit as st

from mklcore.errors import MKLError
from pages._parts.derive import tables
from pages._parts.session import history, nav, uploads
from pages._parts.session.memory import memory
from pages._parts.session.words import plain


def notices() -> None:
    """Say what of a link was refused, and what was dropped because something before it changed."""
    for sentence in memory().refused:
        st.warning(plain(sentence), icon=":material/link_off:")
    if memory().told:
        st.info(memory().told, icon=":material/refresh:")


def usable_table() -> bool:
    """Tell whether the table in use can be had; if not, say what to do and where."""
    try:
        tables.table(history.current())  # its file may have left the session while its split is still at hand
        tables.split(history.current())
    except uploads.MissingFileError:
        st.info(
            "This link is about a file that someone uploaded. Files stay with the person who uploaded them: "
            "upload the same file on the Data page, and this screen comes back."
        )
    except MKLError as error:
        st.error(plain(error))
    else:
        return True
    if memory().page != "data":
        nav.link("data", "Go to Data")
    return False
