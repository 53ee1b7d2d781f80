"""Predict, to take away: the model at the cursor, its weights and path as tables, its figures, its report."""

import streamlit as st

from pages._parts.derive import paths
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import listings
from pages._parts.export import downloads, report


def show(point: Chosen) -> None:
    """Draw the downloads, each with one line on what it is."""
    path = paths.known(point.params) or point.path
    first, second, third = st.columns(3, gap="large")
    with first:
        st.markdown("**The model**")
        downloads.model_button(point)
        st.code("import mklcore as mkl\nmodel = mkl.load_model('model.mkl')\nmodel.predict(X)", language="python")
    with second:
        st.markdown("**Its numbers**")
        listings.take(lambda: listings.weights(point.path, point.index), "weights", "away_weights", "Weights as CSV")
        listings.take(lambda: listings.along(path), "path", "away_path", "Path as CSV")
        gathered = report.gather(point)
        st.download_button(
            "Report as HTML", lambda: report.write(gathered), "mkl_report.html", "text/html", key="away_report",
            icon=":material/download:", on_click="ignore",
        )  # fmt: skip
        st.caption(
            "The report is one page: table, kernels, formula, certificate, scores and figures. It loads nothing."
        )
    with third:
        st.markdown("**Its figures**")
        for name, make in report.figures(gathered).items():
            label, pocket = st.columns([3, 2], vertical_alignment="center")
            label.markdown(name)
            with pocket:
                downloads.strip(make, name)
        st.caption("Figures are taken in light colours, at the cursor. The code of the screen is in the heading.")
