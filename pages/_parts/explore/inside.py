"""Explore, the third tab: how right the model at the cursor is, and what it has learnt, taken apart."""

from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.estimators.explain import (
    component_functions,
    decision_surface,
    problem_names,
    weights_by_class,
)
from mklcore.figures import (
    captions,
    class_weights,
    component_grid,
    confusion_figure,
    kernel_colours,
    reliability_figure,
    residual_figure,
    roc_figure,
    style,
    surface_plot,
)
from mklcore.paths.path import Path
from mklcore.selection.probabilities import brier, reliability
from pages._parts.derive import caches, gram_stacks, judging, paths, predictions, tables
from pages._parts.derive.judging import Judged
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import charts, listings
from pages._parts.export import downloads
from pages._parts.params import parameters, places
from pages._parts.session import fields, history, words

N_COMPONENTS = 6
MOST_CURVES = 6
N_STARTS = 8  # rows of a table that stands in full


def draw(shown: paths.Answer, point: Path, index: int) -> None:
    """Draw weights per class, functions of single columns and the surface over two, of the model at the cursor."""
    fitted = point.estimators[index]
    where = places.where(point, index)
    if fitted is None:  # a saved screen holds figures; its models are on their way
        st.info("The model of this point is being fitted again. What it has learnt appears here.")
        return
    if not shown.waiting:
        _judged(Chosen(point, index, shown.params), where, history.current().output)
    _per_class(shown, fitted, where)
    _starts(fitted, where)
    if tables.on_stack(shown.params):
        st.info(
            "This table is a ready kernel stack: it knows kernels, not columns, so there are no curves over a column."
        )
        return
    table, rows = tables.table(shown.params), gram_stacks.parts(shown.params).train
    output = _output(fitted)
    _components(shown, fitted, table, output, where, (point.param, float(point.values[index])))
    if table.n_features > 1:
        _surface(shown, fitted, table, rows, (point.param, float(point.values[index])))


def _per_class(shown: paths.Answer, fitted: Any, where: str) -> None:
    found = weights_by_class(fitted)
    if found is None:
        if len(problem_names(fitted)) > 1:
            st.caption("All classes share one set of kernel weights; each has coefficients of its own.")
        return
    names, table = found
    kind = "pair of classes" if getattr(fitted, "pairs_", None) else "class against the rest"
    called = captions.labels(shown.path.kernel_names, shown.path.kernel_families)
    draw = partial(class_weights, table, names, called)
    downloads.figure(draw, "Kernel weights per class", "class_weights", f"**Kernel weights per {kind}** at {where}")
    st.caption("The other tabs show the mean of these. A kernel can serve one class alone.")


def _starts(fitted: Any, where: str) -> None:
    """Draw where every start ended, for methods that end in local minima."""
    found = listings.starts(fitted, problem_names(fitted))
    if found is None:
        return
    st.markdown(f"**Where each start ended** at {where}")
    st.dataframe(
        found,
        hide_index=True,
        height="auto" if len(found) <= N_STARTS else 280,
        alt=f"Objective and number of kernels at the end of every start, at {where}",
        column_config={
            name: st.column_config.NumberColumn(format="%.6g") for name in ("objective L", "above the best")
        },
    )
    listings.take(found, "starts", "csv_starts")
    st.caption(
        "The lowest objective is the model. Starts that end close to it with other numbers of kernels are other "
        "answers that fit nearly as well; ends far above it are local minima that were avoided."
    )


def _output(fitted: Any) -> int | None:
    names = problem_names(fitted)
    if not names:
        return None
    chosen = min(history.current().output, len(names) - 1)
    pair = bool(getattr(fitted, "pairs_", None))
    fields.view(
        st.selectbox, "Pair shown" if pair else "Class shown", "field_output", chosen,
        lambda k: history.change(output=k), options=range(len(names)), format_func=lambda k: names[k],
    )  # fmt: skip
    return chosen


def _components(
    shown: paths.Answer, fitted: Any, table: Dataset, output: int | None, where: str, at: tuple[str, float]
) -> None:
    key = ("components", paths.key(shown.params), at, output)
    found = caches.result_cache(shown.params).made(
        key, lambda: (component_functions(fitted, limit=N_COMPONENTS, output=output),)
    )[0]
    title = f"**What single columns add** at {where}"
    if not found:
        st.markdown(title)
        st.caption(
            "No kernel in use looks at one column only. On Kernels you can add one kernel per column; "
            "the surface below shows two columns of any model."
        )
        return
    path, peaks = shown.path, style.peak_weights(shown.path.weights, len(shown.path.kernel_names))

    def draw(*, dark: bool = False) -> go.Figure:
        colours = kernel_colours(path.kernel_families, peaks, dark)
        return component_grid(found, table.feature_names, colours=[colours[one.kernel] for one in found], dark=dark)

    downloads.figure(draw, "What single columns add", "components", title)
    st.caption(f"{_meaning(fitted, output)} Ticks: training rows. Kernels of several columns add their part on top.")


def _meaning(fitted: Any, output: int | None) -> str:
    names = problem_names(fitted)
    if output is not None:
        return f"Higher favours {words.plain(names[output].split(' against ')[0])}."
    if hasattr(fitted, "offset_"):
        level = style.number(fitted.offset_)
        return f"Higher favours an ordinary row: the parts add up to f, and from {level} on a row is inside."
    classes = getattr(fitted, "classes_", None)
    return (
        "The sum of all parts and the offset is the prediction."
        if classes is None
        else (f"Higher favours {words.plain(classes[1])}.")
    )


def columns_shown(params: parameters.Params, fitted: Any, table: Dataset) -> tuple[int, int]:
    """Return the two columns of the surface: those of the link, else the two with the largest kernels of their own."""
    if params.over:
        first, second = (int(part) - 1 for part in params.over.split(","))
        if first != second and max(first, second) < table.n_features and min(first, second) >= 0:
            return first, second
    own = [one.column for one in component_functions(fitted, limit=table.n_features, points=2)]
    order = list(dict.fromkeys([*own, *range(table.n_features)]))
    return order[0], order[1]


def _surface(shown: paths.Answer, fitted: Any, table: Dataset, rows: Dataset, at: tuple[str, float]) -> None:
    first, second = columns_shown(history.current(), fitted, table)
    heading = st.container()
    left, right, _ = st.columns([1, 1, 1], gap="medium")
    names, options = table.feature_names, list(range(table.n_features))

    def keep(one: int, two: int) -> None:
        history.change(over=f"{one + 1},{two + 1}" if one != two else "")

    with left:
        fields.view(
            st.selectbox, "Across", "field_over_x", first, lambda j: keep(j, second),
            options=[j for j in options if j != second], format_func=names.__getitem__,
        )  # fmt: skip
    with right:
        fields.view(
            st.selectbox, "Up", "field_over_y", second, lambda j: keep(first, j),
            options=[j for j in options if j != first], format_func=names.__getitem__,
        )  # fmt: skip
    key = ("surface", paths.key(shown.params), at, first, second)
    found = caches.result_cache(shown.params).made(key, lambda: decision_surface(fitted, (first, second)))
    without_target = table.task == "novelty"
    labels = predictions.ordinary(fitted.predict(rows.X)) if without_target else rows.y
    draw = partial(surface_plot, found, names, rows.X, labels)
    with heading:
        downloads.titled("**The model over two columns**", draw, "The model over two columns")
    charts.show(draw(dark=charts.is_dark()), "surface")
    st.caption(f"{_reading(found, table)} {_others(table)}")


def _reading(found: Any, table: Dataset) -> str:
    if table.task == "novelty":
        return "Line: the boundary; the score is f less its level there. Marks: training rows, by their prediction."
    if found.kind == "score":
        return f"Line: the border, score 0; beyond it {words.plain(found.classes[1])} wins. Marks: training rows."
    if found.kind == "class":
        return "Colour: the class that wins. Marks: training rows, by their own class."
    return "Colour: the prediction; marks carry the target of the training rows in the same colours."


def _others(table: Dataset) -> str:
    others = table.n_features - 2
    if not others:
        return "The table has these two columns only: this is the whole model."
    held = "column is" if others == 1 else "columns are"
    return f"The other {others} {held} held at the training mean, so rows that differ there can be elsewhere."


# How right it is


def _judged(point: Chosen, where: str, output: int | None) -> None:
    """Draw confusion matrix, ROC and calibration of a classifier, or the residuals of a regression."""
    from sklearn.metrics import confusion_matrix

    table = tables.table(point.params)
    if table.task == "novelty":
        return
    found = judging.judged(point)
    st.markdown(f"**Errors** at {where}, on the {found.y.size} validation rows")
    if table.task == "regression":
        downloads.figure(
            partial(residual_figure, found.said, found.y, table.target_name),
            "Residuals against prediction",
            "residuals",
            small=True,
        )
        st.caption("A bend says that something is not learnt yet; a funnel, that errors grow with the prediction.")
        return
    classes = point.fitted.classes_
    names = table.class_names
    left, middle, right = st.columns(3, gap="medium")
    with left:
        counts = confusion_matrix(found.y, found.said, labels=classes)
        downloads.figure(partial(confusion_figure, counts, names), "Confusion matrix", "confusion", small=True)
        st.caption("Each row of the picture is a true class; shades are shares of that class.")
    with middle:
        _roc(found, classes, names)
    with right:
        _calibration(point, found, table, output)


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
    downloads.figure(partial(roc_figure, shown), "ROC", "roc", small=True)
    least = "" if len(shown) == len(curves) else f" The {len(shown)} classes with the smallest area are drawn."
    st.caption(f"AUC: how often a row of the class is ranked above another. 0.5 is chance.{least}")


def _calibration(point: Chosen, found: Judged, table: Dataset, output: int | None) -> None:
    if found.fair is None:
        st.caption(words.plain(found.why_not))
        return
    k = 1 if len(table.class_names) == 2 else (output or 0)
    k = min(k, len(table.class_names) - 1)
    bins = reliability(found.fair[:, k], np.asarray(found.y == point.fitted.classes_[k]))
    downloads.figure(
        partial(reliability_figure, *bins, table.class_names[k]),
        "Calibration",
        "calibration",
        small=True,
    )
    score = style.number(brier(found.fair, found.y, point.fitted.classes_))
    st.caption(
        f"{judging.method(point)} Each row drawn here was left out of its own fit. Brier score {score}; 0 is perfect. "
        f"Predict "
        "shows these probabilities."
    )
