"""Predict: what the model says about a row and why, about a whole file, and everything to take
away.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from mklcore.answer.exploration import Exploration
from mklcore.answer.raw_rows import interval_with, predicted, sets_with
from mklcore.answer.thresholds import USUAL
from mklcore.answer.verdict import NONE
from mklcore.data.dataset import Dataset
from mklcore.data.reading import TableEncoder, encoder_of
from mklcore.errors import KernelError
from mklcore.estimators.conformal import Conformal
from mklcore.estimators.shapley import Explainer
from mklcore.figures import captions, score_path, style, waterfall, weight_path, weights_bar
from pages.predict import batch
from pages.predict.row import RowColumn, TableRow, columns_of, control, ends
from pages.shared import frame
from pages.shared.export import files
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import state
from pages.shared.session.parameters import Params
from pages.shared.values import answers, tables
from pages.shared.widgets import controls, drawing, grids, players
from pages.shared.work import work

TABS = ("One row", "A whole file", "Take away")
PER_PAGE = 24  # controls at once
PENDING_HEIGHT = 560  # pixels that are reserved for what is being computed


# What the page works with


def model_of(found: Exploration, params: Params) -> tuple[Any, int]:
    """The model that folds chose, or that of the cursor's place, and the nearest point of the path."""
    here = players.place(found.path, params.at)
    if here.exact:
        key = "point", answers.key(params), here.value
        return work.now(key, lambda: found.at(here.value).estimators[0]), here.index
    return (
        found.model if here.index == found.index else found.path.estimators[here.index]
    ), here.index


def answer_about(found: Exploration, model: Any, params: Params) -> Exploration | None:
    """The answer about the model that explains the row; None where no row was held out to judge it
    by.
    """
    # The forest and the boosted trees start in the background; the verdict names them when ready.
    if found.learnt_from.task != "novelty":
        answers.further(params, asked=False)
    known = answers.best_known(params) or found
    if model is found.model:
        return known
    key = "answer of a point", answers.key(params), params.at, len(known.baselines)
    return None if found.test is None else work.now(key, lambda: known.of_model(model))


# One row


class PredictView(NamedTuple):
    """The table and how rows of it are read, the answer, the model at the cursor, what explains it
    (None where nothing does), what says how sure it is (None until then), how far numbers are
    known, and the threshold of two classes.
    """

    table: Dataset
    encoder: TableEncoder
    found: Exploration
    model: Any
    explain: Explainer | None
    sure: Conformal | None
    step: float
    threshold: float


@st.fragment
def what_if(shown: PredictView) -> None:
    """Draw the controls of a row and the answer; moving a control runs only this."""
    here = tables.row_of(state.current(), shown.table)
    columns = columns_of(shown.table, shown.encoder)
    first = [one.name for one in shown.found.columns if one.name in columns]
    ranked = [columns[name] for name in dict.fromkeys((*first, *columns))]
    left, right = st.columns([5, 6], gap="large")
    with left:
        start(shown, here)
        draw_controls(shown, ranked, here)
    with right, st.container(key="predict_answer"):
        draw_answer(shown, ranked, here)
    state.end()


def start(shown: PredictView, here: TableRow) -> None:
    """Draw which row to start from, and the way back to it."""
    table = shown.table
    number, back = st.columns([3, 2], vertical_alignment="bottom")
    with number:
        controls.view(
            st.number_input,
            "Start from row",
            "what_row",
            here.number,
            lambda number: state.change(row=int(number), moved=""),
            min_value=1,
            max_value=table.n_samples,
            step=1,
        )
    back.button(
        "Undo the changes",
        key="what_reset",
        icon=":material/restart_alt:",
        on_click=state.change,
        kwargs={"moved": ""},
        disabled=not here.moves,
        width="stretch",
    )
    learned = learned_rows(shown.found, shown.model)
    test = shown.found.test
    held_out = "" if test is None else test.fingerprint
    key = "unseen rows", table.fingerprint, learned.fingerprint, held_out
    unseen = work.now(key, lambda: unseen_rows(table, learned, test))
    letters = ((name, table.letter_columns(name)) for name, _ in table.strings)
    moved = sum(
        not here.moves.keys().isdisjoint(members) for _, members in (*table.columns, *letters)
    )
    changed = f" {style.counted(moved, 'column')} changed." if moved else ""
    st.caption(f"{about_row(table, here.number, here.number - 1 in unseen)}{changed}")
    if len(unseen) and here.number - 1 not in unseen:
        st.button(
            "Take a row that the model has not seen",
            key="what_unseen",
            type="tertiary",
            on_click=state.change,
            kwargs={"row": int(unseen[0]) + 1, "moved": ""},
        )


def learned_rows(found: Exploration, model: Any) -> Dataset:
    """The rows that a model of the answer was fitted on: all that are not held out, or those of
    them that the path was fitted on.
    """
    target = getattr(model, "training_target_", found.learnt_from.y)
    return found.learnt_from if len(target) == found.learnt_from.n_samples else found.path_rows


def unseen_rows(table: Dataset, learned: Dataset, test: Dataset | None) -> np.ndarray:
    """Which rows of the table, by index, a model has not seen: those that were held out, and those
    that are not among the ``learned`` ones.
    """
    if learned.n_samples == table.n_samples:
        return np.zeros(0, dtype=int)
    held_out = set() if test is None else set(_contents(test))
    seen = set(_contents(learned)) - held_out
    return np.flatnonzero([row not in seen for row in _contents(table)])


def _contents(rows: Dataset) -> list[tuple[bytes, str]]:
    """Every row with its target, so that rows of two tables can be compared."""
    return [(row.tobytes(), str(target)) for row, target in zip(rows.table, rows.y, strict=True)]


def about_row(table: Dataset, number: int, unseen: bool) -> str:
    """What is known of a row: its target, and whether the model learned from it."""
    target = np.exp(table.y[number - 1]) if table.log_of else table.y[number - 1]
    shown = style.as_given(float(target)) if table.task == "regression" else plain(target)
    name = plain(table.log_of or table.target_name)
    known = "" if table.task == "novelty" else f" Its {name} is {shown}."
    if unseen:
        return f"The model has not seen this row.{known}"
    return f"The model learned from this row, so its answer for it is no prediction.{known}"


def draw_controls(shown: PredictView, columns: list[RowColumn], here: TableRow) -> None:
    """Draw one control per column, those that matter most first; of many, those with a text in
    their names.
    """
    some = columns
    if len(columns) > PER_PAGE:
        wanted = (
            st.text_input("Find a column", key="what_find", placeholder="part of its name")
            .strip()
            .casefold()
        )
        some = [column for column in columns if wanted in column.name.casefold()][:PER_PAGE]
        st.caption(f"{len(some)} of {len(columns)} columns, those that matter most first.")
    for place in range(0, len(some), 2):
        for side, column in zip(st.columns(2, gap="medium"), some[place : place + 2], strict=False):
            with side:
                control(shown.table, shown.encoder, column, here)
    if refused := st.session_state.pop("what_refused", ""):
        st.error(plain(refused))


def draw_answer(shown: PredictView, columns: list[RowColumn], here: TableRow) -> None:
    """Draw the prediction, how sure it is, and what every column adds to it."""
    table = shown.table
    model = shown.model
    explain = shown.explain
    step = shown.step
    both = np.stack([here.now, here.before])
    labels = predicted(model, both, shown.threshold)
    now, before = (rounded(table, label, step) for label in labels)
    name = "This row" if table.task == "novelty" else plain(table.log_of or table.target_name)
    was = f" :gray[before the changes {before}]" if here.moves else ""
    st.markdown(f"#### {name}: {now}{was}")
    st.markdown(
        sureness(
            table,
            model,
            shown.sure,
            here.now[None],
            step,
            labels[:1],
        )
        or " "
    )
    decision = np.asarray(getattr(model, "decision_function", model.predict)(both), dtype=float)
    output = choose_class(table, int(decision[0].argmax())) if decision.ndim > 1 else 0
    if shown.found.verdict.relation == NONE:
        st.info(
            "The model shows no sign of a relation to the target, so its answer for a row "
            "is not explained."
        )
        return
    if explain is None:
        st.info(
            "The classes of this model vote in pairs, so no column has a part of its own. "
            "Choose another method on Explore."
        )
        return
    values, base, _ = explain(both[:1])
    if decision.ndim > 1:
        values = values[..., output]
        base = base[output]
        decision = decision[:, output]
    order = {name: k for k, (name, _) in enumerate(model.source_columns_)}
    figure = waterfall(
        values[0][[order[column.name] for column in columns]],
        [f"{column.name} = {column.text(here.now)}" for column in columns],
        float(base),
        ends=ends(shown.found.learnt_from, model, both[:1], output),
        step=step,
        before=float(decision[1]) if here.moves else None,
        title=(
            table.target_name
            if table.task == "regression"
            else decided(table, output, shown.threshold)
        ),
        dark=drawing.is_dark(),
    )
    drawing.show(figure, "waterfall")
    logarithms = " They add up in logarithms: +0.1 is a tenth more." if table.log_of else ""
    st.caption(
        "Exact Shapley values: the bars lead from the prediction while no column is known "
        f"to that for this row.{logarithms}"
    )


def rounded(table: Dataset, label: Any, step: float) -> str:
    """A prediction: a number as far as it is known, or a class."""
    if table.task == "regression":
        value = float(label)
        # of a logarithm, ``step`` is a share
        return style.rounded_to(value, step * abs(value) if table.log_of else step)
    return plain(("unusual", "ordinary")[int(label > 0)] if table.task == "novelty" else label)


def sureness(
    table: Dataset,
    model: Any,
    sure: Conformal | None,
    rows: np.ndarray,
    step: float,
    labels: np.ndarray,
) -> str:
    """The interval or the classes that hold about nine in ten similar new rows."""
    if sure is None:
        return ""
    if table.task == "regression":
        ends = interval_with(model, sure, rows, batch.LEVEL)[0]
        low, high = (rounded(table, end, step) for end in ends)
        return f"About 9 in 10 similar new rows fall inside **{low}** to **{high}**."
    likely = sets_with(sure, rows, batch.LEVEL, labels)[0]
    names = ", ".join(map(plain, np.array(table.class_names)[likely]))
    return f"The classes of about 9 in 10 similar new rows are among: **{names}**."


def choose_class(table: Dataset, winner: int) -> int:
    """Draw the choice of the class whose decision the bars explain."""
    options = list(range(len(table.class_names) + 1))
    asked = state.current().outcome
    chosen = controls.view(
        st.selectbox,
        "Bars for",
        "what_outcome",
        asked if asked in options else 0,
        lambda k: state.change(outcome=int(k)),
        options=options,
        format_func=lambda k: (
            table.class_names[k - 1] if k else f"the prediction: {table.class_names[winner]}"
        ),
    )
    return winner if chosen == 0 else chosen - 1


def decided(table: Dataset, output: int, threshold: float) -> str:
    """What the decision is called."""
    if threshold != USUAL:
        name = table.class_names[1]
        return f"decision: above {style.number(threshold)} a row is called {name}"
    if table.task == "novelty":
        return "decision: above 0 a row is ordinary"
    return f"decision for {table.class_names[1 if table.task == 'binary' else output]}"


# Take away


def away(params: Params, found: Exploration, model: Any, index: int) -> None:
    """Draw the downloads: the model, its numbers, its figures, and how to check it."""
    path, proved = found.path, files.of_answer(params, found, model)
    first, second, third = st.columns(3, gap="large")
    with first:
        st.markdown("**The model**")
        name = files.model_button(proved, found)
        if proved.stack is None:
            files.use_buttons(name, found.learnt_from)
    with second:
        st.markdown("**Its numbers**")
        grids.take(lambda: grids.weights(path, index), "weights", "away_weights", "Weights as CSV")
        grids.take(lambda: grids.along(path), "path", "away_path", "Path as CSV")
    with third:
        st.markdown("**Its figures**")
        short = replace(path, kernel_names=captions.labels(path.kernel_names, path.kernel_families))
        peaks = style.peak_weights(path.weights, len(path.kernel_names))
        certified = path.statuses[index].ok
        figures = {
            "Weights": lambda: weights_bar(
                short.weights[index],
                short.kernel_names,
                short.kernel_families,
                peaks=peaks,
                certified=certified,
            ),
            "Solution path": lambda: weight_path(short, index),
            "Scores along the path": lambda: score_path(short, index),
        }
        for name, make in figures.items():
            label, pocket = st.columns([3, 2], vertical_alignment="center")
            label.markdown(name)
            with pocket:
                drawing.strip(make, name)
    files.pocket(proved, "predict")


# The page


def show(params: Params, found: Exploration) -> None:
    """Draw the model's answers."""
    table = tables.table(params)
    model, index = model_of(found, params)
    where = (
        players.where(found.path, index)
        if params.at is None
        else captions.label(found.path.param, params.at)
    )
    said = answer_about(found, model, params)
    drawing.headline(
        said.verdict.sentence(bold, plain(drawing.name_of(params)))
        if said
        else f"No row was held out, so we cannot say how good the model at {where} is.",
        params,
    )
    chosen = model is found.model
    whose = (
        "which folds chose"
        if chosen and found.path.can_choose
        else "the place of the cursor on Explore"
    )
    st.caption(f"Sentence and bars are about one model: {plain(found.label)}, {where}, {whose}.")
    encoder = encoder_of(table)
    sure = None
    if chosen and table.task != "novelty":
        match answers.intervals(params, asked=False):
            case work.Ready(value):
                sure = value
            case work.Failed(sentence):
                st.caption(f"No intervals: {plain(sentence)}")
    threshold = answers.threshold(params, found) if chosen else USUAL
    if threshold != USUAL:
        st.caption(
            f"A row is called {plain(table.class_names[1])} where its decision is above "
            f"{style.number(threshold)}, as it was chosen on Explore under Errors; the sentence "
            "above is about 0."
        )
    step = (said or found).verdict.typical_error / 10 if table.task == "regression" else 0.01
    row, file, take = st.tabs(TABS, key="predict_tabs", on_change="rerun")
    if row.open:
        with row:
            try:
                explain = work.now(
                    ("explainer", answers.key(params), params.at), lambda: Explainer(model)
                )
            except KernelError:
                explain = None
            what_if(
                PredictView(
                    table,
                    encoder,
                    said or found,
                    model,
                    explain,
                    sure,
                    step if np.isfinite(step) else 0.0,
                    threshold,
                )
            )
            with st.expander("How to read the bars", icon=":material/help:"):
                st.markdown(drawing.text("predict"))
    if file.open:
        with file:
            scoring = params.scoring or ("r2" if table.task == "regression" else "accuracy")
            name = answers.key(params), params.at, threshold
            batch.draw(name, model, table, encoder, scoring, sure, threshold)
    if take.open:
        with take:
            away(params, found, model, index)


def page(params: Params) -> None:
    """Draw the page for a table that can be had."""
    if tables.on_stack(params):
        frame.lead_to_data(
            "The kernels in use came as a ready stack, without columns. Predictions need "
            "a table: choose one on Data."
        )
        return
    match answers.get(params):
        case work.Ready(found):
            show(params, found)
        case work.Pending():
            st.container(height=PENDING_HEIGHT, border=False).caption(
                "Choosing the model. Its answers appear here."
            )
        case failed:
            drawing.refusal(failed, "predict_refused")


frame.with_table(page)
