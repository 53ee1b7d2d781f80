"""Hulls, the terms at the cursor: columns alone and together by share of variance, and one of them drawn."""

import streamlit as st

from mklcore.answer.terms import Columns
from mklcore.figures import term_bars, term_plot
from pages.shared.derive import hulls
from pages.shared.derive.hulls import HullsView, HullView
from pages.shared.drawing import charts
from pages.shared.session import fields, history


def draw(shown: HullsView, hull: HullView) -> None:
    """Draw the shares of all terms, and the curve or the map of the one chosen."""
    found, dark = hulls.terms(shown.params, hull), charts.is_dark()
    if not found.terms:
        return
    st.markdown("**Columns, alone and together**")
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        charts.show(term_bars(found.terms, dark=dark), "hull_terms")
        st.caption("Shares of the variance of the model's terms on training rows; they add up to 100 %.")
    offered = [one.columns for one in found.terms if len(one.columns) <= 2]
    if offered:
        with right:
            _one(shown, hull, offered)


def _one(shown: HullsView, hull: HullView, offered: list[Columns]) -> None:
    named = {" × ".join(columns): columns for columns in offered}
    asked = history.current().hull_term
    name = fields.view(
        st.selectbox, "What adds", "field_hull_term", asked if asked in named else next(iter(named)),
        lambda name: history.change(hull_term=name), options=list(named),
    )  # fmt: skip
    effect = hulls.effect(shown.params, hull, named[name])
    charts.show(term_plot(effect, dark=charts.is_dark()), "hull_term")
