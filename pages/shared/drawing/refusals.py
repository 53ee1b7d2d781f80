"""Drawing refusals: what was refused and why, with one button for each setting that mends it."""

from collections.abc import Iterable
from typing import Literal

import streamlit as st

from mklcore.errors import MKLError, Repair
from pages.shared import work
from pages.shared.derive import repairs
from pages.shared.session import history, words
from pages.shared.work import Failed, FailedError, PendingError

MOST = 4  # buttons beside each other


def draw(error: MKLError | Failed, key: str) -> None:
    """Draw an error and its repairs; a refused file can always be read without the choices made about it."""
    if isinstance(error, PendingError):
        st.caption(words.plain(error))
        return
    failed = error.failed if isinstance(error, FailedError) else error
    sentence = failed.sentence if isinstance(failed, Failed) else failed
    st.error(words.plain(sentence), icon=":material/block:")
    params = history.current()
    offered = repairs.offered(params, error.repairs)
    if params.is_upload:
        offered += repairs.as_found(params)
    _buttons(offered, f"{key}_repair", "secondary")
    if isinstance(failed, Failed) and failed.again:
        st.button("Try again", key=f"{key}_again", on_click=work.again)


def beside(offers: Iterable[Repair], key: str, *, plain: bool = True) -> None:
    """Draw the repairs of a note: as plain links, or as the buttons of a warning."""
    _buttons(repairs.offered(history.current(), offers), key, "tertiary" if plain else "secondary")


def _buttons(offered: list[tuple[str, dict[str, object]]], key: str, kind: Literal["tertiary", "secondary"]) -> None:
    if not offered:
        return
    row = st.container(horizontal=True, gap="small")
    for place, (label, changed) in enumerate(offered[:MOST]):
        row.button(
            words.plain(label), key=f"{key}_{place}", on_click=history.change, kwargs=changed,
            type=kind,
        )  # fmt: skip
