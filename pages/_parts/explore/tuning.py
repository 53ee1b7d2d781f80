"""Explore the choice of C, or of λ and s, by the training rows alone: on request, folded."""

from functools import partial

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import choice_figure, style
from pages._parts.derive import paths, tunings
from pages._parts.derive.tunings import Tuned
from pages._parts.drawing import asking
from pages._parts.export import downloads
from pages._parts.params import places
from pages._parts.session import board, history, words


def draw(shown: paths.Answer) -> None:
    """Draw the folded request, and what was chosen."""
    params = shown.params
    if shown.waiting or not tunings.can(params):
        return
    with st.expander("Choose by the training rows alone", icon=":material/target:", key="tuning", type="compact"):
        try:
            _inside(shown)
        except MKLError as error:
            st.error(words.plain(error))


def _inside(shown: paths.Answer) -> None:
    chosen = tunings.tuned(shown.params)
    if chosen.value is not None:
        _found(chosen.value, shown)
        return
    st.caption(
        "Leave-one-out where the loss is squared, folds for other losses and scores; for methods that add kernels one "
        "by one, folds over λ and the number of kernels together."
    )
    ask = lambda: board.ask(tunings.job(shown.params, shown.path.values))  # noqa: E731
    asking.button(chosen.key, ask, "Choose", "tune", "The choice")


def _found(found: Tuned, shown: paths.Answer) -> None:
    path = shown.path
    where = places.label(path.param, found.at)
    if found.lams is not None and found.sizes is not None:
        i, j = found.place
        where = f"{places.label('lam', float(found.lams[i]))} with {style.counted(int(found.sizes[j]), 'kernel')}"
    best = style.number(float(found.scores[found.place]))
    st.markdown(f"By {found.measured} the choice is **{where}**: {found.measure} {best}.")
    figure = partial(
        choice_figure, found.scores, found.place, found.measure, path.param,
        found.values if found.lams is None else found.lams, found.sizes,
    )  # fmt: skip
    downloads.figure(figure, "What was compared", "tuning_chart", small=True)
    st.button(
        f"Go to {places.label(path.param, found.at)}", key="tune_go", on_click=history.change, kwargs={"at": found.at}
    )
