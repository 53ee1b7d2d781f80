"""Data, views: which rows every joined table has, the weight of its kernels, and one kernel per view."""

import streamlit as st

from mklcore.figures import view_rows
from pages._parts.derive import views
from pages._parts.drawing import charts
from pages._parts.session import history


def draw() -> None:
    """Draw the views of a table that was joined from several."""
    params = history.current()
    if not views.parts(params):
        return
    names, present = views.present(params)
    st.subheader("Views", anchor=False)
    weights = views.weights(params)
    charts.show(view_rows(names, present, weights, dark=charts.is_dark()), "views_chart")
    st.caption("One bar per table. Light: rows missing in it, for which its kernels are 0.")
    asked = views.one_kernel_per_view(params)
    if asked != params:
        st.button(
            "One kernel per view", key="kernel_per_view", on_click=history.set_params, args=(asked,),
            help="Replaces the dictionary by one RBF kernel on the columns of every view",
        )  # fmt: skip
