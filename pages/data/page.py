"""Data: which table the model learns from, what was read, and how its rows are divided."""

from contextlib import suppress

import streamlit as st

from mklcore.data.dataset import Dataset, Split
from mklcore.data.samples import SAMPLES
from mklcore.errors import MKLError, Note
from pages.data import columns, sidebar
from pages.shared import frame
from pages.shared.export import saved
from pages.shared.private_streamlit import plain
from pages.shared.server import starting
from pages.shared.session import state
from pages.shared.values import tables
from pages.shared.widgets import drawing, grids

SAMPLES_A_ROW = 4
TASKS = {
    "binary": "two classes",
    "multiclass": "more than two classes",
    "regression": "a number (regression)",
}


def gallery() -> None:
    """Draw the samples, and the files of this session, with one line each."""
    offered = {name: (sample.label, sample.teaches) for name, sample in SAMPLES.items()}
    for name, file in state.memory().uploads.items():
        what = "Your kernel stack" if file.is_stack else "Your file"
        offered[name] = (plain(file.name), f"{what}. No other session sees it.")
    box = st.container(key="samples")
    for place, (name, (label, line)) in enumerate(offered.items()):
        if place % SAMPLES_A_ROW == 0:
            row = box.columns(SAMPLES_A_ROW, gap="small")
        with row[place % SAMPLES_A_ROW]:
            st.button(
                label,
                key=f"table_{name}",
                width="stretch",
                on_click=saved.choose,
                args=(name,),
                type="primary" if name == state.current().data else "secondary",
            )
            st.caption(line)


def facts(table: Dataset, parts: Split) -> None:
    """Say in one line what the table is."""
    rows = [len(part.y) for part in parts]
    if tables.on_stack(state.current()):
        kernels = tables.stack_file(state.current()).stack.n_kernels
        what = f"**{kernels}** kernels on **{table.n_samples:,}** rows, without columns"
    else:
        sources = len({name for name, _ in (*table.columns, *table.strings)})
        what = f"**{plain(drawing.name_of(state.current()))}**: **{table.n_samples:,}** rows"
        what += f", **{sources}** column{'s' * (sources > 1)} to learn from"
    target = "No target: one-class (anomaly detection)"
    if table.task != "novelty":
        target = f"Target **{plain(table.target_name)}**: {TASKS[table.task]}"
    st.markdown(
        f"{what}. {target}. Rows for training **{rows[0]:,}**, validation **{rows[1]:,}**, "
        f"test **{rows[2]:,}**."
    )
    sample = SAMPLES.get(state.current().data)
    if sample is not None:
        st.caption(f"Source: {plain(sample.source)}. Licence: {plain(sample.licence)}.")
    if table.task == "novelty":
        st.info(
            (
                "This table has no target: the model learns where most rows are. Explore "
                "shows which columns tell unusual rows from the others, Predict says whether "
                "a row is unusual. Hulls, Compare and most of Theory need a target."
            ),
            icon=":material/info:",
        )


def changes(table: Dataset, is_order_warned: bool) -> None:
    """Say what was changed on import, with a button for each setting that undoes it; how rows are
    to be divided only where no warning says it.
    """
    st.subheader("Changes made on import", anchor=False)
    notes = [note for note in map(Note.of, table.notes) if not note.urgent]
    shown = [note for note in notes if not (is_order_warned and splits_rows(note))]
    for place, note in enumerate(shown or [Note("No changes.")]):
        hint = tables.hint(note)
        st.markdown(f"- {plain(note.statement)}" + (f" *{hint}*" if hint else ""))
        drawing.beside(note.repairs, f"note_{place}")


def splits_rows(note: Note) -> bool:
    """Whether a note offers to divide the rows in another way."""
    return any("hold_out" in dict(repair.settings) for repair in note.repairs)


def warnings(table: Dataset) -> None:
    """Draw what is probably wrong with the table as it was read, with what mends it."""
    for place, note in enumerate(map(Note.of, table.notes)):
        if note.urgent:
            st.warning(plain(tables.in_full(note)), icon=":material/rule:")
            drawing.beside(note.repairs, f"warning_{place}", plain=False)


def show(table: Dataset, parts: Split, is_order_warned: bool) -> None:
    """Draw what was read."""
    dark = drawing.is_dark()
    stack = tables.on_stack(state.current())
    left, right = st.columns([3, 2], gap="large")
    with left:
        if stack:
            st.subheader("Kernels of the stack", anchor=False)
            three_digits = st.column_config.NumberColumn(format="%.3g")
            st.dataframe(
                grids.stack(tables.stack_file(state.current()).stack),
                height=248,
                hide_index=True,
                alt="Name and range of each kernel",
                column_config=dict.fromkeys(("smallest", "mean", "largest"), three_digits),
            )
            st.caption(
                "Explore, Compare and Kernels work on a stack; the other pages need columns."
            )
        else:
            st.subheader("First rows", anchor=False)
            st.dataframe(
                grids.first_rows(table),
                height=248,
                hide_index=True,
                alt="The first rows, target first",
            )
    with right:
        st.subheader("Target", anchor=False)
        drawing.show(drawing.target_figure(table, parts, dark=dark), "target_chart")
    left, right = st.columns([3, 2], gap="large")
    with left:
        if not stack:
            columns.columns(table)
            columns.groups(table)
    with right:
        changes(table, is_order_warned)
        state.link("kernels", "Choose its kernels")
        state.link("explore", "See which columns matter")


with st.sidebar:
    saved.uploader()
    with suppress(state.MissingFileError):  # the page itself says so
        if tables.on_stack(state.current()):
            sidebar.stack_controls()
        elif state.current().is_upload:
            sidebar.table_controls()
    sidebar.division()

answer = st.empty()
if starting.is_first():  # what is below keeps its place
    answer.markdown("Reading the table.")
if state.current().is_upload:
    with st.expander("Other tables", key="other_tables"):
        gallery()
else:
    gallery()
starting.first_page_drawn(comes_along=tables.comes_along(state.current()))
if frame.usable_table():
    try:
        with answer.container():
            table = tables.table(state.current())
            parts = tables.split(state.current())
            facts(table, parts)
            drawing.offer_targets()
            warnings(table)
            is_order_warned = drawing.leaks("data")
        show(table, parts, is_order_warned)
    except MKLError as error:
        drawing.refusal(error, "data")
elif frame.is_refused():
    with answer.container():
        drawing.offer_targets(ask=True)
