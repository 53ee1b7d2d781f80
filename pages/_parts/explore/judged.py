"""Explore, the third tab: how right the model at the cursor is on the validation rows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.figures import confusion_figure, reliability_figure, residual_figure, roc_figure, style
from mklcore.selection.probabilities import brier, reliability
from pages._parts.derive import judging, tables
from pages._parts.derive.judging import Judged
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import charts
from pages._parts.export import downloads
from pages._parts.session import words

MOST_CURVES = 6


def draw(point: Chosen, where: str, output: int | None) -> None:
    """Draw confusion matrix, ROC and calibration of a classifier, or the residuals of a regression."""
    from sklearn.metrics import confusion_matrix

    table = tables.table(point.params)
    if table.task == "novelty":
        return
    found = judging.judged(point)
    st.markdown(f"**Errors** at {where}, on the {found.y.size} validation rows")
    if table.task == "regression":
        _one(
            partial(residual_figure, found.said, found.y, table.target_name),
            "Residuals against prediction",
            "residuals",
        )
        st.caption("A bend says that something is not learnt yet; a funnel, that errors grow with the prediction.")
        return
    classes = point.fitted.classes_
    names = table.class_names
    left, middle, right = st.columns(3, gap="medium")
    with left:
        counts = confusion_matrix(found.y, found.said, labels=classes)
        _one(partial(confusion_figure, counts, names), "Confusion matrix", "confusion")
        st.caption("Each row of the picture is a true class; shades are shares of that class.")
    with middle:
        _roc(found, classes, names)
    with right:
        _calibration(point, found, table, output)


def _one(draw: Callable[..., go.Figure], title: str, key: str) -> None:
    downloads.titled(f":small[**{title}**]", draw, title)
    charts.show(draw(dark=charts.is_dark()), key)


def _roc(found: Judged, classes: Any, names: tuple[str, ...]) -> None:
    """Draw one curve for two classes, one class against the rest for more."""
    from sklearn.metrics import auc, roc_curve

    columns = found.decision.reshape(len(found.y), -1)
    if columns.shape[1] not in (1, len(classes)):
        st.caption("One machine per pair of classes: a class has no ranking of its own, so no ROC curve.")
        return
    positives = [len(classes) - 1] if columns.shape[1] == 1 else range(len(classes))
    curves = []
    for values, k in zip(columns.T, positives, strict=True):
        truth = found.y == classes[k]
        if 0 < truth.sum() < truth.size:
            false, true, _ = roc_curve(truth, values)
            curves.append((names[k], false, true, float(auc(false, true))))
    shown = sorted(curves, key=lambda one: one[3])[:MOST_CURVES]
    _one(partial(roc_figure, shown), "ROC", "roc")
    least = "" if len(shown) == len(curves) else f" The {len(shown)} classes with the smallest area are drawn."
    st.caption(f"AUC: how often a row of the class is ranked above another. 0.5 is chance.{least}")


def _calibration(point: Chosen, found: Judged, table: Dataset, output: int | None) -> None:
    if found.fair is None:
        st.caption(words.plain(found.why_not))
        return
    k = 1 if len(table.class_names) == 2 else (output or 0)
    k = min(k, len(table.class_names) - 1)
    bins = reliability(found.fair[:, k], np.asarray(found.y == point.fitted.classes_[k]))
    _one(partial(reliability_figure, *bins, table.class_names[k]), "Calibration", "calibration")
    score = style.number(brier(found.fair, found.y, point.fitted.classes_))
    st.caption(
        f"{judging.method(point)} Each row drawn here was left out of its own fit. Brier score {score}; 0 is perfect. "
        f"Predict "
        "shows these probabilities."
    )
