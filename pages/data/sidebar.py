"""Data, the sidebar: the file, how it is read, target and task, and how its rows are divided."""

from contextlib import suppress
from functools import partial

import streamlit as st

from mklcore.data.dataset import counted, joined
from mklcore.data.splitting import RANDOM
from mklcore.errors import MKLError
from pages.shared.private_streamlit import plain
from pages.shared.session import parameters, state
from pages.shared.values import tables
from pages.shared.widgets import controls

TASKS = {
    "": "as found",
    "classification": "classes",
    "regression": "a number",
    "novelty": "one-class (anomaly detection)",
}
MISSING = {
    "median": "median of the column",
    "indicator": "median, and a column that says where",
    "drop": "drop rows",
}
ENCODINGS = {"": "as found"} | {name: name.upper() for name in parameters.ENCODINGS if name}
DELIMITERS = {name: name or "as found" for name in sorted(tables.DELIMITERS, key=bool)}
DECIMALS = {"": "as found", "point": "point: 1.5", "comma": "comma: 1,5"}
HOW_READ = ("encoding", "delimiter", "decimal", "header", "skip", "lines", "quotes")
RARE = {"": "keep", "merge": 'merge into "other"', "drop": "leave out"}
BAD_LINES = {"": "refuse the file", "skip": "leave them out"}
HELD_OUT = {
    RANDOM: "drawn at random",
    "last": "by time: the last rows",
    "first": "by time: the first rows",
}
HEADERS = {"": "as found", "yes": "names of the columns", "no": "data"}


def stack_controls() -> None:
    """Draw what can be chosen for a kernel stack."""
    # a link may ask for it
    known = {name: label for name, label in TASKS.items() if name != "novelty"}
    controls.field_view(
        "Task",
        "task",
        options=known,
        to=lambda name: name if name in known else "",
    )
    controls.field_view("Clip negative eigenvalues", "clip")
    st.caption(
        "A kernel has no negative eigenvalues. On: they are set to 0. Off: such a kernel "
        "is refused."
    )


def table_controls() -> None:
    """Draw what can be chosen for an uploaded table; what cannot be read yet leaves out what
    depends on it.
    """
    params = state.current()
    sheets, usual = tables.sheets(params)
    if len(sheets) > 1:
        shown = params.sheet if params.sheet in sheets else usual
        controls.view(
            st.selectbox,
            "Sheet",
            "field_sheet",
            shown,
            lambda name: state.change(
                sheet="" if name == usual else name, target="", uses="", grouping=""
            ),
            options=list(sheets),
        )
    with suppress(MKLError):  # the page itself says what is wrong with the table
        target_choice()
        columns_about_rows()
    controls.field_view("Missing values", "missing", options=MISSING)
    with suppress(MKLError):
        marks_choice()
    with suppress(MKLError):
        sentinel_choice()
    if params.task != "regression":
        controls.field_view(
            "Rare classes", "rare", options=RARE, help="Classes with fewer than 10 rows"
        )
    read_controls()


def sentinel_choice() -> None:
    """Offer to read numbers that probably stand for a missing value as missing, where there are
    any.
    """
    found = tables.summary(state.current()).sentinels
    if not found and not state.current().gaps:
        return
    controls.field_view("Read these numbers as missing", "gaps")
    values = joined(f"{one.value:g} in {plain(one.column)} ({one.cells:,})" for one in found)
    st.caption(f"Probably codes for missing values, far from all other values: {values}.")


def marks_choice() -> None:
    """Draw the texts that stand for a missing value: those found in the file, or those a person
    chose.
    """
    found = ", ".join(tables.summary(state.current()).marks)
    controls.field_view(
        "Missing marks",
        "marks",
        kind=st.text_input,
        to=lambda text: text if text.strip(" ,") else "",
        back=parameters.one_line,
        placeholder=f"found: {found}" if found else "found: empty cells only",
        help=(
            "Texts or numbers that stand for a missing value, with commas between them; empty "
            "cells always do. Leave the box empty to use the marks that are found."
        ),
    )


def target_choice() -> None:
    """Draw the choice of target and task."""
    params = state.current()
    summary = tables.summary(params)
    names = [column.name for column in summary.columns]
    if params.target and params.target not in names:
        instead = (
            f"The column {plain(summary.target)!r} is the target instead." if summary.target else ""
        )
        st.error(
            f"The table has no column {plain(params.target)!r}. {instead or 'Choose another.'}"
        )
        state.change(target="")
        params = state.current()
    novelty = params.task == "novelty"
    found = params.target or ("" if novelty else summary.target)
    without = "none: every column is a feature" if novelty else "none: choose a column"
    controls.view(
        st.selectbox,
        "Target",
        "field_target",
        found,
        lambda name: state.change(target=name, log=False),
        options=["", *names] if novelty or not found else names,
        format_func=lambda name: name or without,
    )
    controls.field_view(
        "Task",
        "task",
        options=TASKS,
        help="Classes: which one. A number: how much. One-class: which rows are unusual.",
    )


def columns_about_rows() -> None:
    """Draw the choice of the columns that say which rows belong together, and how much each counts."""
    params = state.current()
    columns = tables.summary(params).columns
    names = [column.name for column in columns if column.name != params.target]
    choice = partial(
        controls.field_view, options=["", *names], to=lambda name: name if name in names else ""
    )
    choice(
        "These rows belong together",
        "owners",
        format_func=lambda name: f"all of one {name}" if name else "every row stands alone",
        help=(
            "The column names the owner of a row, such as a patient: an owner's rows are held "
            "out together, and the column is not learned from."
        ),
    )
    choice(
        "Weights of rows",
        "weights",
        format_func=lambda name: name or "every row counts once",
        help=(
            "A column of numbers, 0 or more: how much a row counts when a model is fitted. "
            "The column is not learned from."
        ),
    )


def read_controls() -> None:
    """Draw how the file is opened; only what a person says differs from what is found."""
    params = state.current()
    changed = [
        name for name in HOW_READ if getattr(params, name) != getattr(parameters.Params(), name)
    ]
    label = "How the file is read" + (
        f" ({counted(len(changed), 'choice')} of yours)" if changed else ""
    )
    with st.expander(label, key="how_read"):
        controls.field_view("Encoding", "encoding", options=ENCODINGS)
        controls.field_view("Delimiter", "delimiter", options=DELIMITERS)
        controls.field_view("Decimal sign", "decimal", options=DECIMALS)
        controls.field_view("First line", "header", options=HEADERS)
        controls.field_view(
            "Lines to leave out above the header",
            "skip",
            min_value=0,
            max_value=999,
            step=1,
            to=lambda text: int(text) if text else None,
            back=lambda count: "" if count is None else str(count),
            placeholder="as found",
        )
        controls.field_view("Lines of another length", "lines", options=BAD_LINES)
        controls.field_view("Quotation marks enclose cells", "quotes")
    as_found()


def as_found() -> None:
    """Offer to drop everything a person chose about reading the file, where there is something."""
    chosen = tables.as_found(state.current())
    chosen.pop("target", None)
    if chosen:
        st.button(
            tables.AS_FOUND,
            key="as_found",
            width="stretch",
            on_click=lambda: state.change(**chosen),
            help="Resets columns, groups, missing values, task and how the file is read",
        )


def division() -> None:
    """Draw the shares of validation and test rows, how they are drawn, and the seed."""
    params = state.current()
    most = 0.8
    shares = (
        ("Validation rows", "validation", params.test),
        ("Test rows", "test", params.validation),
    )
    for label, name, other in shares:
        controls.field_view(
            label,
            name,
            kind=st.slider,
            max_value=min(0.45, round(most - other, 2)),
            step=0.05,
            format="percent",
            to=lambda v: round(v, 2),
            back=lambda v: round(v, 2),
        )
    st.caption(
        "Test rows judge the model on Explore, which learns from all others. Hulls learn "
        "from the training rows, and validation rows choose among them."
    )
    controls.field_view(
        "Held-out rows",
        "hold_out",
        options=HELD_OUT,
        help="By time where new rows are to be predicted from older ones",
    )
    if params.hold_out != RANDOM:
        return
    controls.field_view(
        "Stratified split", "stratified", help="Every part has the same share of each class"
    )
    controls.field_view(
        "Seed of the split",
        "seed",
        help="The same seed gives the same parts",
    )
