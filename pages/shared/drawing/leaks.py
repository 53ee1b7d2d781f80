"""Drawing columns that may give the target away: what is suspicious, and one click that leaves a column out."""

from typing import Any

import streamlit as st

from mklcore.errors import MKLError
from pages.shared.derive import repairs
from pages.shared.session import history, uploads, words

MOST = 4  # columns that are shown


def draw(key: str) -> None:
    """Draw a warning for each suspicious column of a file, with "Leave it out"; samples have none."""
    params = history.current()
    if not params.is_upload:
        return
    try:
        found = repairs.leaks(params)
    except (MKLError, uploads.MissingFileError):
        return  # the page itself says so
    for place, leak in enumerate(found[:MOST]):
        said, button = st.columns([5, 1], vertical_alignment="center")
        said.warning(words.plain(leak.text), icon=":material/visibility:")
        without = repairs.without(params, leak.column)
        if without:
            _offer(button, "Leave it out", f"{key}_leak_{place}", uses=without)
        if leak.kind == "order" and (newest := repairs.by_time(params)):
            _offer(button, "Split by time", f"{key}_by_time_{place}", hold_out=newest)
    if len(found) > MOST:
        others = ", ".join(one.column for one in found[MOST:])
        st.caption(f"{len(found) - MOST} more columns like these: {words.plain(others)}.")


def _offer(column: Any, label: str, key: str, **change: str) -> None:
    column.button(label, key=key, on_click=history.change, kwargs=change, width="stretch")
