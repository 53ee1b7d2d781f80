"""Values that nobody makes unasked: a button, and once it was pressed the value, or where it is."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.drawing import refusals
from pages.shared.params.parameters import DataParams
from pages.shared.session.words import plain
from pages.shared.work import Failed, Pending, Ready


def draw(
    label: str,
    key: str,
    get: Callable[[Any], Ready | Pending | Failed],
    params: DataParams,
    show: Callable[[Any], Any],
    **button: Any,
) -> None:
    """Draw the button ``label``; once it was pressed for these ``params``, ``show`` the value that ``get`` gives."""
    if not pressed(label, key, params, **button):
        return
    match get(params):
        case Ready(value):
            show(value)
        case Pending(_, text):
            st.caption(f"{label}: {plain(text)}")
        case failed:
            refusals.draw(failed, key)


def pressed(label: str, key: str, params: object, **button: Any) -> bool:
    """Whether the button ``label`` was pressed for these ``params``; it is drawn until then."""
    asked, name = st.session_state.setdefault("requests", set()), (key, params)
    if name not in asked:
        st.button(label, key=key, on_click=asked.add, args=(name,), **button)
    return name in asked
