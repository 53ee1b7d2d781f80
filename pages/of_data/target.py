"""Data, the target: the likeliest columns, one click each, where the guess is unsure."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from mklcore.data.target import TargetCandidate, is_sure
from mklcore.errors import MKLError
from pages.shared.derive import tables
from pages.shared.session import history, uploads, words


def offer(*, refused: bool = False) -> None:
    """Draw a button for each of the likeliest targets of an uploaded table, where no guess is far ahead or it was
    refused.
    """
    params = history.current()
    if not params.is_upload or tables.on_stack(params) or params.task == "novelty":
        return
    candidates: tuple[TargetCandidate, ...] = ()
    with suppress(MKLError, uploads.MissingFileError):  # the page itself says so
        candidates = tables.summary(replace(params, target="")).candidates
    names = [one.name for one in candidates]
    if len(names) < 2 or (is_sure(candidates) and not refused) or (params.target and params.target not in names):
        return
    if params.target:
        st.markdown("You chose the target. The other likely ones stay one click away:")
    else:
        how = "the table was refused with the column that was guessed" if refused else "the guess is unsure"
        st.markdown(
            f"**Which column do you want to predict?** No target was named, and {how}. The likeliest ones, one click "
            f"each; "
            "every other column is on the left, under Target:"
        )
    for place, (box, one) in enumerate(zip(st.columns(len(names), gap="small"), candidates, strict=True)):
        with box:
            st.button(
                words.plain(one.name), key=f"target_{place}", width="stretch", on_click=history.change,
                kwargs={"target": one.name}, type="primary" if one.name == (params.target or names[0]) else "secondary",
            )  # fmt: skip
            st.caption(words.plain(_sentence(one.reason)))


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."
