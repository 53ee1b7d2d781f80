"""Explore, the errors of two classes: what each costs, the threshold one drags, and the cheapest."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.answer.thresholds import USUAL, ErrorsByThreshold
from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.figures import style, threshold_figure
from mklcore.figures.thresholds import thresholds_json
from pages.explore import questions
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.session.parameters import ANSWER, Params
from pages.shared.values import answers
from pages.shared.widgets import controls, drawing, players
from pages.shared.work import work

COSTS = ("cost_false", "cost_missed")


@st.fragment
def view(found: Exploration, table: Dataset, asked: Params) -> None:
    """Draw the errors at a threshold, which a release of the slider chooses; it runs only this."""
    try:
        errors = found.errors
    except DataError as error:
        st.info(plain(error))
        return
    params = state.current()
    costs = (params.cost_false, params.cost_missed)
    steps = errors.steps(errors.cheapest(*costs), params.threshold or USUAL)
    name = (asked, costs, len(steps))
    players.listen_threshold(steps.tolist(), name)
    params = state.current()
    if params.of(*ANSWER) != asked:
        state.rerun()
    now = params.threshold or USUAL
    at = int(np.argmin(np.abs(steps - now)))
    costs_of(errors)
    drawn, advice = along(errors, steps, costs, asked)
    players.threshold(drawn, name, now, at)
    choices(errors, costs, now)
    st.caption(plain(f"{errors.whose} {advice}"))
    where(found, params, now)
    drawing.strip(partial(threshold_figure, errors, now), "ROC and precision-recall curves")
    state.end()
    questions.take(found, table, found.path, found.index, params)


def along(
    errors: ErrorsByThreshold,
    steps: Array,
    costs: tuple[float, float],
    asked: Params,
) -> tuple[dict[str, Any], str]:
    """What the player shows at all steps, and the advice: made once, wherever the slider stands."""
    dark = drawing.is_dark()

    def make() -> tuple[dict[str, Any], str]:
        return thresholds_json(errors, steps, costs, dark=dark), errors.advice(*costs)

    key = "errors by threshold", answers.key(asked), costs, steps.tobytes(), dark
    return work.now(key, make)


def costs_of(errors: ErrorsByThreshold) -> None:
    """Draw what each of the two errors costs."""
    first, second = map(plain, errors.classes)
    labels = (
        f"A row of {first} called {second} costs",
        f"A row of {second} called {first} costs",
    )
    left, right, _ = st.columns([1, 1, 1])
    for place, label, name in zip((left, right), labels, COSTS, strict=True):
        with place:
            controls.field_view(label, name, step=1.0, format="%.4g")


def choices(errors: ErrorsByThreshold, costs: tuple[float, float], now: float) -> None:
    """Draw the buttons that take the cheapest threshold, and the usual one."""
    least = errors.cheapest(*costs)
    offered = {f"Take the cheapest, {style.number(least)}": least, "Back to 0": USUAL}
    with controls.row():
        for label, value in offered.items():
            st.button(
                label,
                key=f"threshold_{label.split()[0].lower()}",
                disabled=value == now,
                on_click=state.change,
                kwargs={"threshold": None if value == USUAL else value},
            )


def where(found: Exploration, params: Params, now: float) -> None:
    """Say which model this is about, and who uses the threshold."""
    chosen = players.where(found.path, found.index)
    about = f"About the model at {chosen}, which folds chose."
    here = players.place(found.path, params.at)
    if here.exact or here.index != found.index:
        st.caption(
            f"{about} Predict uses the model where the cursor stands on the other views, to which "
            "no threshold of this one belongs."
        )
        st.button(
            f"Back to {chosen}",
            key="threshold_model",
            on_click=state.change,
            kwargs={"at": None},
        )
        return
    users = "Predict, the script and the saved model use"
    if found.request.stack is not None:
        users = "The script uses"
    if now == USUAL:
        st.caption(f"{about} {users} a threshold that you choose.")
    else:
        st.caption(f"{about} {users} this threshold; the sentence above is about 0.")
