"""Drawing what asks for work: small work starts unasked, large work waits for its button, a failure is reported."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages._parts.derive import gram_stacks, paths
from pages._parts.jobs.job import Progress
from pages._parts.session import board, history
from pages._parts.session.memory import memory


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
    again: bool = False,
    stays: str = "",
) -> bool:
    """See to it that the work called ``key`` is done or on its way; tell whether a person has to ask for it first.

    ``ask`` starts it: at once where it is ``small``, else by the button with ``label``, under what ``waits`` says.
    ``work`` is the subject of the sentence about how it ended where it broke off, and ``stays`` says what is left of
    it. ``again``: once it is done it may be asked for again.
    """
    progress = board.mine(key)
    broke_off = progress is not None and progress.broke_off
    if progress is not None and not broke_off and (progress.live or not again):
        return False
    if not broke_off and small():
        ask()
        return False
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not _ended(progress, work, stays=stays) and (said := waits()):
            st.info(said)
        st.button(label, key=button, type="primary" if primary else "secondary", on_click=ask)
    return True


def _ended(progress: Progress | None, work: str, was: str = "was", stays: str = "") -> bool:
    """Say how work ended where it broke off, and what is left of it; tell whether it did."""
    if progress is None or not progress.broke_off:
        return False
    st.warning(f"{work} {board.ending(progress, was)}{'' if progress.error else stays}")
    return True


def button(
    key: object, ask: Callable[[], Any], label: str, name: str, work: str, was: str = "was", wait: str = "", **more: Any
) -> None:
    """Draw the button of work that nobody starts unasked, and how it ended where it broke off.

    While it is on its way the button is off, or ``wait`` stands in its place. A fragment that asks for work calls for
    the whole app, whose frame draws its progress.
    """
    progress, wishes = board.mine(key), memory().wishes
    live = progress is not None and progress.live
    if wishes.granted("watch") and live:
        history.rerun()

    def press() -> None:
        ask()
        wishes.watch = True

    if live and wait:
        st.caption(wait)
        return
    _ended(progress, work, was)
    st.button(label, key=name, on_click=press, **{"disabled": live} | more)


def path() -> bool:
    """See to it that the path is there or on its way; tell whether a person has to ask for it first."""
    params = history.current()
    if paths.known(params) is not None:
        return False
    cost, rows = gram_stacks.foresee(params), len(gram_stacks.parts(params).train.y)
    return offer(
        paths.key(params), lambda: board.ask(paths.job(params)),
        small=lambda: paths.is_small(params),
        waits=lambda: f"A path over {cost.n_kernels} kernels on {rows:,} rows takes a while. Start it when you like.",
        work="The path", label="Compute the path", button="compute",
    )  # fmt: skip
