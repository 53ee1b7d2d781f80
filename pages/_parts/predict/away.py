"""Predict, to take away: the model at the cursor, its weights and path as tables, its figures, its report."""

from dataclasses import replace

import streamlit as st

from mklcore.figures import captions, score_path, weight_path, weights_bar
from mklcore.paths.path import Path
from pages._parts.derive import paths
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import listings
from pages._parts.export import downloads, report
from pages._parts.params import places


def show(point: Chosen) -> None:
    """Draw the downloads, each with one line on what it is."""
    path = paths.known(point.params) or point.path
    nearest = point.index if path is point.path else places.place(path, point.value).index
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
        _figures(point, path, nearest)
        st.caption("Figures are taken in light colours, at the cursor. The code of the screen is in the heading.")


def _figures(point: Chosen, path: Path, nearest: int) -> None:
    named, exact = _labelled(path), _labelled(point.path)
    for name, make in (
        ("Weights at the cursor", lambda: weights_bar(
            exact.weights[point.index], exact.kernel_names, exact.kernel_families, peaks=named.weights,
            certified=exact.statuses[point.index].ok,
        )),
        ("Solution path", lambda: weight_path(named, nearest)),
        ("Scores along the path", lambda: score_path(named, nearest)),
    ):  # fmt: skip
        label, pocket = st.columns([3, 2], vertical_alignment="center")
        label.markdown(name)
        with pocket:
            downloads.strip(make, name)


def _labelled(path: Path) -> Path:
    """Return the path with the names a picture has room for."""
    return replace(path, kernel_names=captions.labels(path.kernel_names, path.kernel_families))
