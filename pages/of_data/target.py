"""Data, the target: the likeliest columns, one click each, where the guess is unsure."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from mklcore.data.target import TargetCandidate, is_sure
from mklcore.errors import MKLError
from pages.shared.derive import tables
from pages.shared.session import history, uploads, words


def offer(*, ask: bool = False) -> None:
    """Draw a button for each of the likeliest targets of an uploaded table, where no guess is far ahead, or where a
    page has a reason to ``ask``.
    """
    params = history.current()
    if not params.is_upload or tables.on_stack(params) or params.task == "novelty":
        return
    candidates: tuple[TargetCandidate, ...] = ()
    with suppress(MKLError, uploads.MissingFileError):  # the page itself says so
        candidates = tables.summary(replace(params, target="")).candidates
    names = [one.name for one in candidates]
    if len(names) < 2 or (is_sure(candidates) and not ask) or (params.target and params.target not in names):
        return
    guess = f"We guessed that you want to predict **{words.plain(names[0])}**. Is it another column?"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Other likely targets:" if params.target else guess, width="content")
        for place, one in enumerate(candidates):
            st.button(
                words.plain(one.name), key=f"target_{place}", on_click=history.change, kwargs={"target": one.name},
                type="primary" if one.name == (params.target or names[0]) else "secondary",
                help=f"Likely {words.plain(one.reason)}",
            )  # fmt: skip
