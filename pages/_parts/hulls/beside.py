"""Hulls, what they are compared with: other models on the same grid of kernels, asked for by a person."""

import pandas as pd
import streamlit as st

from pages._parts.derive import hull_baselines
from pages._parts.derive.hulls import Answer
from pages._parts.drawing import asking
from pages._parts.params import places
from pages._parts.session import board, words

LINE = "hierarchical kernel learning: a hull"


def draw(shown: Answer) -> None:
    """Draw the best of every way to use these kernels as rows of a table, or offer to fit them."""
    params, path = shown.params, shown.path
    if not hull_baselines.can(params):
        return
    st.markdown("**The same kernels without a hull**, each way at its best on the validation rows")
    models = hull_baselines.fitted(params)
    found = models.value
    if found is None:
        asking.offer(
            models.key, lambda: board.ask(hull_baselines.job(shown)), small=lambda: False,
            waits=lambda: "What selecting products is worth: the sum of all kernels, the same at few rows, a greedy "
                          "hull, and columns alone.",
            work="The comparison",
            label="Compare", button="hull_beside", primary=False,
        )  # fmt: skip
        return
    best = path.first_look
    own = (
        LINE,
        words.score(path.score_name, float(path.val_score[best])),
        places.label("lam", float(path.values[best])),
    )
    rows = [
        own,
        *((hull_baselines.LABELS[one.name], words.score(path.score_name, one.score), one.chosen) for one in found),
    ]
    names = ["way", f"validation {path.score_name}", "chosen on the validation rows"]
    st.table(pd.DataFrame(rows, columns=names).set_index(names[0]))
