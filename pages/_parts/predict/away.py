"""Predict, to take away: the model at the cursor, its weights and path as tables, its figures."""

from collections.abc import Callable
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from mklcore.figures import captions, score_path, style, weight_path, weights_bar
from mklcore.paths.path import Path
from pages._parts.derive import paths
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import listings
from pages._parts.export import downloads
from pages._parts.params import places


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
    with third:
        st.markdown("**Its figures**")
        for name, make in figures(point, path).items():
            label, pocket = st.columns([3, 2], vertical_alignment="center")
            label.markdown(name)
            with pocket:
                downloads.strip(make, name)
        st.caption("Figures are taken in light colours, at the cursor. The code of the screen is in the heading.")


def figures(point: Chosen, path: Path) -> dict[str, Callable[[], go.Figure]]:
    """Return what draws the figures of the model and of its path, by their titles."""
    here, whole = _short(point.path), _short(path)
    nearest = point.index if path is point.path else places.place(path, point.value).index
    peaks = whole.weights if whole.kernel_names == here.kernel_names else here.weights
    found: dict[str, Callable[[], go.Figure]] = {
        "Weights at the cursor": lambda: weights_bar(
            here.weights[point.index], here.kernel_names, here.kernel_families,
            peaks=style.peak_weights(peaks, len(here.kernel_names)), certified=here.statuses[point.index].ok,
        )
    }  # fmt: skip
    if len(whole) > 1:
        found["Solution path"] = lambda: weight_path(whole, nearest)
        found["Scores along the path"] = lambda: score_path(whole, nearest)
    return found


def _short(path: Path) -> Path:
    """Return the path with the names a picture has room for."""
    return replace(path, kernel_names=captions.labels(path.kernel_names, path.kernel_families))
