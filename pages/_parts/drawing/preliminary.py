"""Drawing what of an answer is still to come, and starting the work that settles it."""

from collections.abc import Iterable

import streamlit as st

from mklcore.figures import style
from pages._parts.derive import many_rows, paths, settling
from pages._parts.drawing.asking import offer
from pages._parts.params.parameters import Params
from pages._parts.session import board, history


def to_come(shown: paths.Answer) -> str:
    """Return what is still to come, empty where the answer is settled."""
    if shown.waiting:
        return (
            f"{shown.stage[:1].lower()}{shown.stage[1:]}" if shown.stage else "an earlier answer; the new one follows"
        )
    if shown.earlier:
        return "computed earlier with these settings; the models are being fitted here, the final choice follows"
    low = many_rows.under_way(shown.params)
    return follow([*settling.open_points(shown.params), *(["a model on all training rows"] if low else [])])


def follow(points: Iterable[str]) -> str:
    """Return these parts of an answer as what follows; empty where there are none."""
    listed = list(points)
    return f"{style.joined(listed)} {'follows' if len(listed) == 1 else 'follow'}" if listed else ""


def note(waits: str) -> None:
    """Mark what is above as preliminary."""
    st.caption(f":material/pending: Preliminary: {waits}.")


def request(shown: paths.Answer) -> None:
    """Start what settles the answer, once it is drawn and nothing else runs."""
    if not (shown.waiting or shown.earlier) and settling.open_points(shown.params):
        settle(shown.params)


def settle(params: Params, model: bool = False) -> None:
    """Start what settles an answer, or the ``model`` alone, once nothing else runs."""
    held, name = board.held(), settling.key(params, model)
    if held is not None and held.live:
        return
    before, work = board.mine(name), "The final model" if model else "The final answer"
    offer(
        name, lambda: board.ask(settling.job(params, model)), work=work, label="Go on", button="settle", primary=False
    )
    if board.mine(name) is not before:
        history.rerun()  # the whole app, so that its progress is drawn and watched
