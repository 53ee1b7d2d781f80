"""Drawing what asks for work: small work starts unasked, large work waits for its button, a failure is reported."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages._parts.session import board


def offer(
    key: object,
    ask: Callable[[], Any],
    *,
    work: str,
    small: Callable[[], bool] = lambda: True,
    waits: Callable[[], str] = str,
    label: str,
    button: str,
    primary: bool = True,
) -> bool:
    """See to it that the work called ``key`` is done or on its way; tell whether a person has to ask for it first.

    ``ask`` starts it: at once where it is ``small``, else by the button with ``label``, under what ``waits`` says.
    ``work`` is the subject of the sentence about how it ended where it broke off.
    """
    progress = board.mine(key)
    if progress is None and small():
        ask()
        return False
    if progress is not None and not progress.broke_off:
        return False
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if progress is None:
            st.info(waits())
        else:
            st.warning(f"{work} {board.ending(progress)}")
        st.button(label, key=button, type="primary" if primary else "secondary", on_click=ask)
    return True
