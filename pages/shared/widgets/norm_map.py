"""The map of p and C: validation scores of an answer at every norm and cost, behind a button."""

from typing import Any

import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.figures.matrices import norm_map, norm_map_said
from pages.shared.session.parameters import Params
from pages.shared.values import answers
from pages.shared.widgets import drawing


def map_of_norms(params: Params, found: Exploration, key: str) -> None:
    """Draw the button "Map", and once it was pressed the validation scores of an answer over p and
    C.
    """
    if not answers.has_map(found):
        return

    def show(scores: Any) -> None:
        drawing.figure(
            lambda dark: norm_map(scores, dark=dark),
            "map of p and C",
            key,
            "Validation scores over p and C",
        )
        rows = min(answers.MAP_ROWS, found.path_rows.n_samples)
        own = len(found.path.kernel_names) > 1
        of = (
            "this model"
            if own
            else "kernels of single columns, for the answer itself has one kernel"
        )
        st.caption(f"Of {of}, on {rows:,} rows. {norm_map_said(scores)}")

    drawing.request(
        "Map",
        f"{key}_request",
        answers.norm_map,
        params,
        show,
        icon=":material/grid_on:",
        help=(
            "Scores the model on folds at every norm p and C, and marks what is as good as "
            "the best."
        ),
    )
