"""Predict one row: its columns as controls, the prediction, and the contribution of each kernel."""

from typing import Any

import numpy as np
import streamlit as st

from mklcore.data.dataset import Dataset
from mklcore.figures import captions, contribution_bars, style
from pages._parts.derive import judging, paths, predictions, tables
from pages._parts.derive.predictions import Chosen, Knob, Row, Spoken
from pages._parts.drawing import asking, charts, evidence
from pages._parts.export import proof
from pages._parts.params import places
from pages._parts.params.parameters import Params, PathParams
from pages._parts.session import board, fields, history, words

PER_PAGE = 24
CONTROLS_HEIGHT, CONTROL = 470, 72  # pixels, of all controls and of one on a phone
MOST_CLASSES = 5  # whose probabilities are stated


def facts(point: Chosen) -> None:
    """Draw one line on the model in use and its certificate."""
    method = paths.algorithm(point.params)
    where = places.label(point.path.param, point.value)
    used = f"**{int(point.path.n_nonzero[point.index])}** of {len(point.path.kernel_names)} kernels used"
    st.markdown(f"**{method.label}** at **{where}**, {used}. {evidence.certificate(point.path, point.index, method)}")
    if point.final is not None:
        st.caption("The answers below come from this model fitted again on training and validation rows.")
    proof.pocket(proof.of_point(point), "predict")
    _width(point.params)


def _width(params: PathParams) -> None:
    """Draw the choice of intervals whose width varies with the row, which are fitted on request."""
    if not judging.possible(params):
        return
    fields.field_view(
        "Interval width varies with the row", "varying",
        help="Quantile regression on the same kernels, calibrated on held-out rows. Off: every row has the same width.",
    )  # fmt: skip
    if history.current().varying and judging.band(params).value is None:
        asking.offer(
            judging.band(params).key, lambda: board.ask(judging.job(params)),
            work="The fit of the bands",
            label="Fit again", button="band_again", primary=False,
        )  # fmt: skip


@st.fragment
def what_if(point: Chosen) -> None:
    """Draw the controls of the row and the answer; moving a control runs only this."""
    params = history.current()
    here = predictions.row(params)
    left, right = st.columns([5, 6], gap="large")
    with left:
        _start(params, here)
        _controls(point, here)
    with right:
        _answer(point, here)
    with st.expander("How to read the bars", icon=":material/help:"):
        st.markdown(words.text("predict"))
    history.end()


# The row


def _start(params: Params, here: Row) -> None:
    """Draw which row to start from, and the way back to it."""
    table = tables.table(params)
    number, back = st.columns([3, 2], vertical_alignment="bottom")
    with number:
        fields.view(
            st.number_input, "Start from row", "what_row", here.number,
            lambda number: history.change(row=int(number), moved=""),
            min_value=1, max_value=table.n_samples, step=1,
        )  # fmt: skip
    back.button(
        "Undo the changes", key="what_reset", icon=":material/restart_alt:", on_click=history.change,
        kwargs={"moved": ""}, disabled=not here.moves, width="stretch",
    )  # fmt: skip
    changed = f" {style.counted(len(here.moves), 'column')} changed." if here.moves else ""
    known = "" if table.task == "novelty" else f"; its {_name(table)} is {_value(table, here.target)}"
    st.caption(f"A {here.part} row{known}.{changed}")


def _name(table: Dataset) -> str:
    return words.plain(table.target_name)


def _value(table: Dataset, target: str) -> str:
    return style.number(float(target)) if table.task == "regression" else words.plain(target)


def _controls(point: Chosen, here: Row) -> None:
    """Draw one control per column, those the model depends on most first, a page of them at a time where there are
    many.
    """
    every = predictions.knobs(point.params)
    shown = [(k, every[k]) for k in predictions.by_influence(point)]
    if len(every) > PER_PAGE:
        shown = _some(shown)
    long = len(shown) * CONTROL > CONTROLS_HEIGHT
    box = st.container(height=CONTROLS_HEIGHT if long else "content", border=False)
    columns = box.columns(2, gap="medium")
    for place, (k, knob) in enumerate(shown):
        with columns[place % 2]:
            _knob(tables.table(point.params), k, knob, here)


def _some(knobs: list[tuple[int, Knob]]) -> list[tuple[int, Knob]]:
    """Return the controls a person looks for: those with a word in their name, or one page of all."""
    word, page = st.columns([3, 2], vertical_alignment="bottom")
    wanted = word.text_input("Find a column", key="what_find", placeholder="part of its name").strip().casefold()
    if wanted:
        knobs = [item for item in knobs if wanted in item[1].label.casefold()]
        if not knobs:
            st.caption("No column name contains this text.")
    starts = list(range(0, max(len(knobs), 1), PER_PAGE))
    if fields.value("what_page") not in starts:
        fields.put("what_page", 0)
    first = page.selectbox(
        "Columns", starts, key="what_page", disabled=len(starts) == 1,
        format_func=lambda start: f"{start + 1} to {min(start + PER_PAGE, len(knobs))} of {len(knobs)}",
    )  # fmt: skip
    return knobs[first : first + PER_PAGE]


def _knob(table: Dataset, k: int, knob: Knob, here: Row) -> None:
    """Draw one column as a slider between the ends of the table, or as a choice of its categories."""
    key = f"what_{table.fingerprint[:12]}_{k}"
    label = words.plain(knob.label)
    if knob.shown:
        now = knob.level(here.now)
        options = [*knob.levels, *([] if now in knob.levels else [now])]
        fields.view(
            st.selectbox, label, key, now, lambda level: predictions.move(knob, knob.columns_of(level)), options=options
        )  # fmt: skip
        return
    j = knob.columns[0]
    if knob.low == knob.high:
        st.slider(label, 0.0, 1.0, 0.0, key=f"{key}_fixed", disabled=True, help=f"Always {style.number(knob.low)}.")
        return
    limits: dict[str, Any] = {"min_value": knob.low, "max_value": knob.high, "step": knob.step}
    value: float | int = min(max(float(here.now[j]), knob.low), knob.high)
    countable = max(abs(knob.low), abs(knob.high)) < predictions.LARGEST_WHOLE
    if countable and knob.step == 1.0 and value == round(value):
        limits, value = {name: int(limit) for name, limit in limits.items()}, int(value)
    else:
        limits["format"] = "%.4g"
    fields.view(st.slider, label, key, value, lambda chosen: predictions.move(knob, {j: float(chosen)}), **limits)


# The answer


def _answer(point: Chosen, here: Row) -> None:
    """Draw the prediction, and what each kernel adds to it."""
    table, dark = tables.table(point.params), charts.is_dark()
    answer = predictions.spoken(point, here)
    output = _sentence(table, answer, here, float(getattr(point.fitted, "offset_", 0.0)))
    _probability(point, table, answer)
    _sure(point, table, answer, here)
    families = [point.fitted.kernel_families_[m] for m in answer.kernels]
    names = [point.fitted.kernel_names_[m] for m in answer.kernels]
    peaks = style.peak_weights(point.path.weights, len(point.path.kernel_names))
    figure = contribution_bars(
        answer.parts[:, output],
        captions.labels(names, families),
        families,
        intercept=float(answer.intercept[output]),
        before=answer.parts_before[:, output] if here.moves else None,
        ranking=predictions.typical(point),
        peaks=peaks[answer.kernels] if len(peaks) == len(point.fitted.kernel_names_) else None,
        dark=dark,
    )
    charts.show(figure, "contributions")
    st.caption(_legend(answer, output, here))


def _sentence(table: Dataset, answer: Spoken, here: Row, level: float) -> int:
    """Say the prediction and draw the choice of an output where there are several; return the output.

    ``level`` is the value of f on the boundary of a model without a target.
    """
    said = _value(table, answer.said)
    was = "" if not here.moves else f" :gray[before the changes {_value(table, answer.said_before)}]"
    st.markdown(f"#### {'This row' if table.task == 'novelty' else _name(table)}: {said}{was}")
    if answer.outputs:
        return _several(answer)
    if table.task == "regression":
        return 0
    value, before = float(answer.values[0]), float(answer.values_before[0])
    was = f", {style.number(before)} before the changes" if here.moves else ""
    if table.task == "novelty":
        st.markdown(
            f"f(x) = **{style.number(value)}**{was}. From {style.number(level)} on a row is ordinary, below it unusual."
        )
        return 0
    towards = table.class_names[1] if value > 0 else table.class_names[0]
    st.markdown(f"f(x) = **{style.number(value)}**{was}. Positive means class {words.plain(table.class_names[1])}; "
                f"this row is classified as {words.plain(towards)}.")  # fmt: skip
    return 0


def _probability(point: Chosen, table: Dataset, answer: Spoken) -> None:
    """Say how probable the classes are, where probabilities can be had."""
    if table.task not in ("binary", "multiclass") or len(answer.values) not in (1, len(table.class_names)):
        return
    found = judging.probabilities(point, answer.values[:1] if len(answer.values) == 1 else answer.values[None])
    if found is None:
        st.caption(f"No probabilities: {words.plain(judging.judged(point).why_not)}")
        return
    order = np.argsort(-found[0], kind="stable")[:MOST_CLASSES]
    said = ", ".join(f"{words.plain(table.class_names[k])} **{100 * found[0, k]:.1f} %**" for k in order)
    st.markdown(f"Probability: {said}")
    st.caption(f"{judging.method(point)} See calibration under Explore > Inside.")


def _sure(point: Chosen, table: Dataset, answer: Spoken, here: Row) -> None:
    """Draw the prediction interval, or the prediction set."""
    level = style.percent(judging.LEVEL)
    band = judging.in_use(history.current())
    if band is not None:
        low, high = band.predict_interval(here.now[None])[0]
        st.markdown(f"{level} prediction interval: **{style.number(low)}** to **{style.number(high)}**")
        st.caption(judging.SENTENCE)
        return
    found = judging.held_out(point)
    if found is None:
        return
    if found.classes is None:
        low, high = found.interval(answer.values[:1], judging.LEVEL)[0]
        st.markdown(f"{level} prediction interval: **{style.number(low)}** to **{style.number(high)}**")
    else:
        (chosen,) = found.sets(answer.values[None], judging.LEVEL)
        names = [words.plain(table.class_names[k]) for k in np.flatnonzero(chosen)]
        st.markdown(f"{level} prediction set: **{', '.join(names)}**")
    st.caption(
        f"Split conformal: covers at least {level} of new rows exchangeable with the {found.scores.size} validation "
        "rows. These rows also selected the model, so coverage may be slightly lower."
    )


def _several(answer: Spoken) -> int:
    """Draw the choice of the output that the bars explain: that of the prediction, or another."""
    options = list(range(len(answer.outputs) + 1))
    asked = history.current().outcome
    chosen = fields.view(
        st.selectbox, "Bars for", "what_outcome", asked if asked in options else 0,
        lambda k: history.change(outcome=int(k)),
        options=options,
        format_func=lambda k: answer.outputs[k - 1] if k else f"the prediction: {answer.outputs[answer.winner]}",
    )  # fmt: skip
    output = answer.winner if chosen == 0 else chosen - 1
    lines = [
        f"{'**' * (k == output)}{words.plain(name)} {style.number(float(value))}{'**' * (k == output)}"
        for k, (name, value) in enumerate(zip(answer.outputs, answer.values, strict=True))
    ]
    st.markdown("f(x): " + ", ".join(lines))
    return output


def _legend(answer: Spoken, output: int, here: Row) -> str:
    b = style.number(float(answer.intercept[output]))
    total = style.number(float(np.sum(answer.parts[:, output]) + answer.intercept[output]))
    line = " The line across a bar is where it ended before the changes." if here.moves else ""
    return f"The bars and b = {b} add up to f(x) = {total}. Sorted by the mean contribution on training rows.{line}"
