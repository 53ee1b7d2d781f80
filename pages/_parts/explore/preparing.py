"""Explore, spectra: how they are prepared is tried unasked, the best way taken, stated in a line, and undone with a
click.
"""

from dataclasses import replace

import streamlit as st

from pages._parts.derive import paths, preparations
from pages._parts.derive.preparations import Tried
from pages._parts.params.parameters import Params
from pages._parts.session import board, history, words
from pages._parts.session.memory import memory


def settle() -> None:
    """Take the best preparation once all are known; not a step of the person's, and never again for the same target."""
    mind, params = memory(), history.current()
    if _place(params) in mind.prepared or not preparations.wanted(params):
        return
    tried = preparations.known(params)
    if tried is None:
        return
    mind.prepared[_place(params)] = tried
    if tried.best:
        mind.params = replace(params, spectra=tried.best, at=None)
        history.rerun()  # what stands above the page has been drawn with the others


def _place(params: Params) -> tuple[str, str]:
    return params.data, params.target


def follow(shown: paths.Answer) -> None:
    """Have the answer followed by a look at every preparation, where the session waits for nothing else."""
    params = history.current()
    if shown.waiting or _place(params) in memory().prepared or not preparations.wanted(params):
        return
    held = board.held()
    mine = board.mine(preparations.key(params))
    if mine is not None and not mine.live and preparations.known(params) is None:
        memory().prepared[_place(params)] = None  # it was cancelled, or no score could choose
    if (held is not None and held.live) or mine is not None:
        return
    board.ask(preparations.job(params))
    history.rerun()  # the whole app, so that its progress is drawn and watched


def draw(shown: paths.Answer) -> None:
    """Say which preparation was taken and what the others score, with the click that undoes it."""
    params = history.current()
    tried = memory().prepared.get(_place(params))
    if tried is None or params.spectra != tried.best or tried.score_name != shown.path.score_name:
        return
    said, press = st.columns([6, 1.4], vertical_alignment="center")
    said.caption(sentence(tried))
    if tried.best:
        press.button("As they are", key="spectra_back", on_click=history.change, kwargs={"spectra": "", "at": None})


def sentence(tried: Tried) -> str:
    """Return in a sentence what was taken and what all of them score."""
    from mklcore.exploration import PREPARED

    others = ", ".join(
        f"{PREPARED[how]} {words.score(tried.score_name, score)}"
        for how, score in tried.scores.items()
        if how != tried.best
    )
    mine = words.score(tried.score_name, tried.scores[tried.best])
    return f"Spectra **{PREPARED[tried.best]}**, tried unasked: {mine} in a first look; {others}."
