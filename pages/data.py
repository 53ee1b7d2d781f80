"""Data: which table the model learns from, what was read, and how its rows are divided."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from contextlib import suppress

import streamlit as st

from mklcore.data.dataset import Dataset, Split, counted
from mklcore.data.samples import SAMPLES
from mklcore.errors import MKLError
from pages._parts.data import rail
from pages._parts.derive import notes
from pages._parts.derive import tables as derive_tables
from pages._parts.drawing import charts, editing, listings
from pages._parts.frame import notices
from pages._parts.params import rules
from pages._parts.session import fields, history, uploads, words
from pages._parts.session.memory import memory

SAMPLES_A_ROW = 4
TASKS = {
    "binary": "two classes",
    "multiclass": "more than two classes",
    "regression": "a number (regression)",
    "novelty": "novelty",
}
GROUPINGS = {
    "": "as found",
    "none": "none",
    "prefix": "by prefix of the names",
    "categories": "by category",
    "bands": "equal bands",
    "hand": "by hand",
}
USUAL_BANDS = 8


def gallery() -> None:
    """Draw the samples, and the files of this session, with one line each."""
    tables = {name: (sample.label, sample.teaches) for name, sample in SAMPLES.items()}
    for name, file in memory().uploads.items():
        what = "Your kernel stack" if file.is_stack else "Your file"
        tables[name] = (words.plain(file.name), f"{what}. No other session sees it.")
    for place, (name, (label, line)) in enumerate(tables.items()):
        if place % SAMPLES_A_ROW == 0:
            row = st.columns(SAMPLES_A_ROW, gap="small")
        with row[place % SAMPLES_A_ROW]:
            st.button(
                label, key=f"table_{name}", width="stretch", on_click=rail.choose, args=(name,),
                type="primary" if name == history.current().data else "secondary",
            )  # fmt: skip
            st.caption(line)


def facts(table: Dataset, parts: Split) -> None:
    """Say in one line what the table is."""
    rows = [len(part.y) for part in parts]
    if derive_tables.on_stack(history.current()):
        kernels = derive_tables.stack_file(history.current()).stack.n_kernels
        what = f"**{kernels}** kernels on **{table.n_samples}** rows, without columns"
    else:
        what = f"**{table.n_samples}** rows, **{table.n_features}** features"
    st.markdown(
        f"{what}. Target **{words.plain(table.target_name)}**: "
        f"{TASKS[table.task]}. Rows for training **{rows[0]}**, validation **{rows[1]}**, test **{rows[2]}**."
    )
    if table.task == "novelty":
        st.info(
            "Novelty asks whether a row is like the others. Explore draws a boundary around the training rows, and Predict "
            "says on which side of it a row lies. Hulls, Compare and most of Theory need a target.",
            icon=":material/info:",
        )


def columns(table: Dataset) -> None:
    """Draw what each column is; for an uploaded table, what it is used for can be changed."""
    params = history.current()
    st.subheader("Columns", anchor=False)
    if not params.data.startswith(rules.UPLOAD):
        frame = listings.columns(table, params)
        st.dataframe(frame, height=248, hide_index=True, alt="Type and range of each column")
        return
    editing.editor(
        editing.column_rows(derive_tables.summary(params), table, derive_tables.uses(params), params.missing),
        "columns",
        (params.data, params.uses),
        lambda rows: history.change(uses=editing.uses_text(rows)),
        {
            "column": st.column_config.TextColumn("column"),
            "found": st.column_config.TextColumn("type"),
            "use": st.column_config.SelectboxColumn(
                "use as", options=[editing.FOUND, *editing.LETTERS], required=True,
                help="What the column enters the model as",
            ),
            "done": st.column_config.TextColumn("what reading does with it", width="medium"),
            "missing": st.column_config.NumberColumn("missing"),
            "values": st.column_config.NumberColumn("different values"),
            "first": st.column_config.TextColumn("first value"),
        },
        height=248,
        fixed=("column", "found", "done", "missing", "values", "first"),
    )  # fmt: skip


def changes(table: Dataset) -> None:
    """Say what was changed, and how to undo it."""
    st.subheader("What reading changed, and how to undo it", anchor=False)
    lines = []
    for note in table.notes or ("Nothing had to be changed.",):
        advice = notes.advice(note)
        plain = words.plain(notes.said(note))
        lines.append(f"- {plain}" + (f" *{advice}*" if advice else ""))
    st.markdown("\n".join(lines))


def grouping(table: Dataset) -> None:
    """Draw how columns are grouped, and the groups, which can be edited."""
    params = history.current()
    st.subheader("Groups of columns", anchor=False)
    chosen = "" if not params.grouping else params.grouping.split()[0] if _is_rule(params.grouping) else "hand"
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        fields.view(
            st.selectbox, "Group columns", "field_grouping", chosen, lambda name: regroup(name, table),
            options=list(GROUPINGS), format_func=GROUPINGS.__getitem__,
        )  # fmt: skip
    if chosen == "bands":
        with right:
            fields.view(
                st.number_input, "Bands", "field_n_bands", int(params.grouping.split()[1]),
                lambda count: history.change(grouping=f"bands {count}"), min_value=1, max_value=table.n_features, step=1,
            )  # fmt: skip
    st.caption("Kernels can have one kernel per group, and Explore adds up the weights of each group.")
    if chosen == "hand":
        edit_groups(table)
    elif table.groups:
        names = [f"{words.plain(name)} ({len(members)})" for name, members in table.groups]
        more = f" and {len(names) - 30} more" if len(names) > 30 else ""
        st.markdown(f"{counted(len(names), 'group')}: {', '.join(names[:30])}{more}")
    else:
        st.markdown("No groups: " + ("no names of columns share a prefix." if chosen != "none" else "as you chose."))


def _is_rule(text: str) -> bool:
    return text in GROUPINGS or text.startswith("bands ")


def regroup(how: str, table: Dataset) -> None:
    """Group the columns in another way; by hand begins with the groups of the moment."""
    if how == "bands":
        how = f"bands {min(USUAL_BANDS, table.n_features)}"
    elif how == "hand":
        groups = table.groups or (("group 1", (0,)),)
        how = editing.groups_text(editing.group_rows(groups, table), table)
    history.change(grouping=how)


def edit_groups(table: Dataset) -> None:
    """Draw the groups as a table to edit."""
    editing.editor(
        editing.group_rows(table.groups, table),
        "groups",
        (history.current().data, history.current().grouping),
        lambda rows: history.change(grouping=editing.groups_text(rows, table)),
        {
            "group": st.column_config.TextColumn("group", max_chars=36),
            "columns": st.column_config.TextColumn("columns", help="Names with ; between, or numbers such as 1-3,7"),
        },
        dynamic=True,
    )


def show(table: Dataset, parts: Split) -> None:
    """Draw what was read."""
    dark, stack = charts.is_dark(), derive_tables.on_stack(history.current())
    left, right = st.columns([3, 2], gap="large")
    with left:
        if stack:
            st.subheader("Kernels of the stack", anchor=False)
            three_digits = st.column_config.NumberColumn(format="%.3g")
            st.dataframe(
                listings.stack(derive_tables.stack_file(history.current()).stack), height=248, hide_index=True,
                alt="Name and range of each kernel",
                column_config=dict.fromkeys(("smallest", "mean", "largest"), three_digits),
            )  # fmt: skip
            st.caption("Pages that need columns say so. Explore, Compare and Kernels work on the stack.")
        else:
            st.subheader("First rows", anchor=False)
            st.dataframe(listings.first_rows(table), height=248, hide_index=True, alt="The first rows, target first")
    with right:
        st.subheader("Target", anchor=False)
        charts.show(charts.target_figure(table, parts, dark=dark), "target_chart")
    left, right = st.columns([3, 2], gap="large")
    with left:
        if not stack:
            columns(table)
            grouping(table)
    with right:
        changes(table)
        nav.link("kernels", "Choose its kernels")
        nav.link("explore", "See which kernels a model uses")


with st.sidebar:
    rail.uploader()
    with suppress(uploads.MissingFileError):  # the page itself says so
        if derive_tables.on_stack(history.current()):
            rail.stack_controls()
        elif history.current().data.startswith(rules.UPLOAD):
            rail.table_controls()
    rail.division()

answer = st.container()
if history.current().data.startswith(rules.UPLOAD):
    with st.expander("Other tables", key="other_tables"):
        gallery()
else:
    gallery()
if notices.usable_table():
    try:
        with answer:
            facts(derive_tables.table(history.current()), derive_tables.split(history.current()))
        show(derive_tables.table(history.current()), derive_tables.split(history.current()))
    except MKLError as error:
        st.error(words.plain(error))
