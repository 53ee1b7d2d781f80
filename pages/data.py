"""Data: which table the model learns from, what was read, and how its rows are divided."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

from contextlib import suppress

import streamlit as st

from mklcore.data.dataset import Dataset, Split
from mklcore.data.samples import SAMPLES
from mklcore.errors import MKLError
from pages._parts import cache, charts, controls, state, tables

TASKS = {
    "binary": "two classes",
    "multiclass": "more than two classes",
    "regression": "a number (regression)",
    "novelty": "novelty",
}


def take_upload() -> None:
    """Keep the uploaded bytes in the session and make them the table in use."""
    file = st.session_state.get("uploader")
    if file is not None:
        state.change(data=cache.keep_upload(file.name, file.getvalue()), target="")


def uploader() -> None:
    """Draw the upload."""
    st.file_uploader(
        "Your own table",
        type=["csv", "tsv", "txt", "parquet"],
        max_upload_size=cache.UPLOAD_LIMIT_MB,
        key="uploader",
        on_change=take_upload,
        help="CSV, TSV or Parquet; the first row holds the column names. The file stays in this session.",
    )


def gallery() -> None:
    """Draw the samples, and the files of this session, with one line each."""
    tables = {name: (sample.label, sample.teaches) for name, sample in SAMPLES.items()}
    for name, file in st.session_state.get("uploads", {}).items():
        tables[name] = (controls.plain(file.name), "Your file. It stays in this session.")
    for place, (name, (label, line)) in enumerate(tables.items()):
        if place % 3 == 0:
            row = st.columns(3, gap="medium")
        with row[place % 3]:
            st.button(
                label, key=f"table_{name}", width="stretch", on_click=choose, args=(name,),
                type="primary" if name == state.current().data else "secondary",
            )  # fmt: skip
            st.caption(line)


def choose(name: str) -> None:
    """Make another table the one in use."""
    state.change(data=name, target="")


def division() -> None:
    """Draw the shares of validation and test rows and the seed."""
    params = state.current()
    most = 0.8
    state.field_view(
        st.slider, "Validation rows", "validation", min_value=0.05, max_value=min(0.45, round(most - params.test, 2)),
        step=0.05, format="percent", to=lambda v: round(v, 2), back=lambda v: round(v, 2),
    )  # fmt: skip
    state.field_view(
        st.slider, "Test rows", "test", min_value=0.05, max_value=min(0.45, round(most - params.validation, 2)),
        step=0.05, format="percent", to=lambda v: round(v, 2), back=lambda v: round(v, 2),
    )  # fmt: skip
    state.field_view(st.number_input, "Seed of the split", "seed", min_value=0, max_value=9999, step=1)
    st.caption("Validation rows choose along the path. Test rows are looked at once, on request.")


def target_choice() -> None:
    """Draw the choice of the target column; a sample's target is fixed."""
    params = state.current()
    if not params.data.startswith(state.UPLOAD):
        return
    summary = cache.summary(params)
    names = [column.name for column in summary.columns]
    if params.target and params.target not in names:
        st.error(f"The table has no column {params.target!r}. The column {summary.target!r} is the target instead.")
        state.change(target="")
    state.view(
        st.selectbox, "Target", "field_target", params.target or summary.target,
        lambda name: state.change(target=name), options=names,
    )  # fmt: skip
    st.caption("The column to predict. Every other usable column is a feature.")


def facts(table: Dataset, parts: Split) -> None:
    """Say in one line what the table is."""
    rows = [len(part.y) for part in parts]
    st.markdown(
        f"**{table.n_samples}** rows, **{table.n_features}** features. Target **{controls.plain(table.target_name)}**: "
        f"{TASKS[table.task]}. Rows for training **{rows[0]}**, validation **{rows[1]}**, test **{rows[2]}**."
    )


def show(table: Dataset, parts: Split) -> None:
    """Draw what was read."""
    dark = charts.is_dark()
    facts(table, parts)
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("First rows", anchor=False)
        st.dataframe(tables.first_rows(table), height=248, hide_index=True, alt="The first rows, target first")
    with right:
        st.subheader("Target", anchor=False)
        charts.show(charts.target_figure(table, parts, dark=dark), "target_chart")
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("Columns", anchor=False)
        st.dataframe(
            tables.columns(table, state.current()), height=248, hide_index=True, alt="Type and range of each column"
        )
    with right:
        st.subheader("What reading did", anchor=False)
        controls.sentences(table.notes or ("Nothing had to be changed.",))
        if table.groups:
            names = ", ".join(f"{controls.plain(name)} ({len(members)})" for name, members in table.groups)
            st.caption(f"Groups of columns: {names}")
        nav.link("explore", "See which kernels a model uses")


with st.sidebar:
    uploader()
    with suppress(cache.MissingFileError, MKLError):  # the page itself says what is wrong with the table
        target_choice()
    division()

gallery()
if controls.usable_table():
    show(cache.table(state.current()), cache.split(state.current()))
