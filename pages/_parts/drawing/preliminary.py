"""Drawing what of an answer is still to come, and starting the work that settles it."""

from collections.abc import Callable, Sequence

import streamlit as st

from mklcore.figures import style
from pages._parts.derive import many_rows, paths, settling
from pages._parts.drawing.asking import offer
from pages._parts.jobs.job import Job
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


def follow(points: Sequence[str]) -> str:
    """Return these parts of an answer as what follows; empty where there are none."""
    return f"{style.joined(points)} {'follows' if len(points) == 1 else 'follow'}" if points else ""


def note(waits: str) -> None:
    """Mark what is above as preliminary."""
    st.caption(f":material/pending: Preliminary: {waits}.")


def request(shown: paths.Answer) -> None:
    """Start what settles the answer, once it is drawn and nothing else runs."""
    if not (shown.waiting or shown.earlier) and settling.open_points(shown.params):
        _ask(settling.key(shown.params), lambda: settling.job(shown.params), "The final answer")


def request_model(params: Params) -> None:
    """Start what settles the model alone, once nothing else runs."""
    _ask(settling.model_key(params), lambda: settling.model_job(params), "The final model")


def _ask(name: object, job: Callable[[], Job], work: str) -> None:
    held = board.held()
    if held is not None and held.live:
        return
    before = board.mine(name)
    offer(name, lambda: board.ask(job()), work=work, label="Go on", button="settle", primary=False)
    if board.mine(name) is not before:
        history.rerun()  # the whole app, so that its progress is drawn and watched
