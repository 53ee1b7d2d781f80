"""Frame, notices above a page: refusals of a link, dropped answers, and a table that cannot be had."""

import streamlit as st

from mklcore.errors import MKLError
from pages.shared import uploading
from pages.shared.derive import tables
from pages.shared.drawing import refusals
from pages.shared.session import history, nav, uploads
from pages.shared.session.memory import memory
from pages.shared.session.words import plain
from pages.shared.work import PendingError

MOST_BYTES, MOST_LINES, MOST_SIGNS = 4000, 8, 160  # of a file that cannot be read at all


def notices() -> None:
    """Say what of a link was refused, and what was dropped because something before it changed."""
    for sentence in memory().refused:
        st.warning(plain(sentence), icon=":material/link_off:")
    if memory().notice:
        st.info(memory().notice, icon=":material/refresh:")


def usable_table() -> bool:
    """Tell whether the table in use can be had; if not, say what to do and where."""
    try:
        tables.table(history.current())  # its file may have left the session while its split is still there
        tables.split(history.current())
    except uploads.MissingFileError:
        st.info("This link needs a file that stayed with the person who uploaded it. Upload the same file to go on.")
        if memory().page != "data":
            uploading.uploader("The file of this link")
            return False
    except PendingError as error:
        refusals.draw(error, "refused")
        return False
    except MKLError as error:
        refusals.draw(error, "refused")
        first_rows()
    else:
        return True
    if memory().page != "data":
        nav.link("data", "Go to Data")
    return False


def first_rows() -> None:
    """Draw how an uploaded file that was refused begins, and what to do about it."""
    params = history.current()
    if not params.is_upload or tables.on_stack(params):
        return
    try:
        found = tables.summary(params)
    except MKLError:
        lines = uploads.upload(params.data).content[:MOST_BYTES].decode("latin-1").splitlines()[:MOST_LINES]
        st.code("\n".join(line[:MOST_SIGNS] for line in lines), language=None)
        st.caption("The file begins like this. If letters or columns look wrong, change how the file is read on Data.")
        return
    import pandas as pd

    frame = pd.DataFrame(found.preview, columns=[column.name for column in found.columns])
    st.dataframe(frame, hide_index=True, alt=f"The first {len(frame)} rows of the refused table", key="refused_rows")
    st.caption("The first rows as they were read. On Data, change the target, the task, the use of a column or how the "
               "file is read.")  # fmt: skip
