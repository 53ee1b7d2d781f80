"""Hulls, what they are compared with: other models on the same grid of kernels, asked for by a person."""

import pandas as pd
import streamlit as st

from mklcore.paths.references import Reference
from pages.shared import requests
from pages.shared.derive import hulls
from pages.shared.derive.hulls import HullsView
from pages.shared.params import places
from pages.shared.session import words

LINE = "hull: hierarchical kernel learning"
LABELS = {
    "L2": "L2: all kernels, none selected",
    "greedy": "Greedy: a hull grown node by node, equal weights",
    "lasso-alpha": "Lasso-α: all kernels, few rows (least squares)",
    "MKL": "MKL: single columns, no products",
}


def draw(shown: HullsView) -> None:
    """Draw the best of every way to use these kernels as rows of a table, once they are asked for."""
    if not hulls.compares(shown.params):
        return
    st.markdown("**The same kernels without a hull**, each way at its best on the validation rows")
    st.caption("Is it worth selecting products? All kernels summed, few rows, a greedy hull, single columns.")
    requests.draw(
        "Compare",
        "hull_beside",
        lambda _: hulls.beside(shown),
        hulls.key(shown.params),
        lambda found: _table(shown, found),
    )


def _table(shown: HullsView, found: tuple[Reference, ...]) -> None:
    path = shown.path
    best = path.first_look
    own = LINE, words.score(path.score_name, float(path.val_score[best])), places.label("lam", float(path.values[best]))
    others = ((LABELS[one.name], words.score(path.score_name, one.score), one.chosen) for one in found)
    names = ["way", f"validation {path.score_name}", "chosen on the validation rows"]
    st.table(pd.DataFrame([own, *others], columns=names).set_index(names[0]))
    first = max(found, key=lambda one: one.score)
    label, score = LABELS[first.name].partition(":")[0], words.score(path.score_name, first.score)
    ahead = first.score > float(path.val_score[best])
    st.caption(f"**{label} predicts better here: {score}.**" if ahead else "No other way predicts better here.")
