"""Data: what each column is used for, and groups of columns."""

import streamlit as st

from mklcore.data.dataset import Dataset, counted
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.values import tables
from pages.shared.widgets import controls, grids


def columns(table: Dataset) -> None:
    """Draw what each column is; for an uploaded table, what it is used for can be changed."""
    params = state.current()
    st.subheader("Columns", anchor=False)
    if not params.is_upload:
        frame = grids.columns(table)
        st.dataframe(frame, height=248, hide_index=True, alt="Range of each column")
        return
    grids.editor(
        grids.column_rows(
            tables.summary(params), table, tables.uses(params), params.missing, gaps=params.gaps
        ),
        "columns",
        (params.data, params.uses),
        lambda rows: state.change(uses=grids.uses_text(rows)),
        {
            "column": st.column_config.TextColumn("column"),
            "found": st.column_config.TextColumn("type"),
            "use": st.column_config.SelectboxColumn(
                "use as",
                options=[grids.FOUND, *grids.LETTERS],
                required=True,
                help="What the column enters the model as",
            ),
            "done": st.column_config.TextColumn("how it is used", width=300),
            "missing": st.column_config.NumberColumn("missing"),
            "values": st.column_config.NumberColumn("different values"),
            "first": st.column_config.TextColumn("first value"),
        },
        height=248,
        fixed=("column", "found", "done", "missing", "values", "first"),
    )


# Groups


GROUPINGS = {
    "": "as found",
    "none": "none",
    "prefix": "by prefix of the names",
    "categories": "by category",
    "bands": "equal bands",
    "hand": "by hand",
}
# why there are no groups, by what was chosen
UNGROUPED = {
    "": "no names of columns share a prefix.",
    "none": "as you chose.",
    "categories": "no column is a category.",
}
USUAL_BANDS = 8


def groups(table: Dataset) -> None:
    """Draw how columns are grouped, and the groups, which can be edited."""
    params = state.current()
    st.subheader("Groups of columns", anchor=False)
    rule, _, count = params.grouping.partition(" ")
    chosen = rule if rule in GROUPINGS else "hand"
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        controls.view(
            st.selectbox,
            "Group columns",
            "field_grouping",
            chosen,
            lambda name: _regroup(name, table),
            options=GROUPINGS,
        )
    if chosen == "bands":
        with right:
            controls.view(
                st.number_input,
                "Bands",
                "field_n_bands",
                int(count),
                lambda bands: state.change(grouping=f"bands {bands}"),
                min_value=1,
                max_value=table.n_features,
                step=1,
            )
    st.caption("On Kernels every group can have kernels of its own.")
    if chosen == "hand":
        _edit(table)
    elif table.groups:
        names = [f"{plain(name)} ({len(members)})" for name, members in table.groups]
        more = f" and {len(names) - 30} more" if len(names) > 30 else ""
        st.markdown(f"{counted(len(names), 'group')}: {', '.join(names[:30])}{more}")
    else:
        st.markdown(f"No groups: {UNGROUPED.get(chosen, UNGROUPED[''])}")


def _regroup(how: str, table: Dataset) -> None:
    """Group the columns in another way; by hand begins with the groups of the moment."""
    if how == "bands":
        how = f"bands {min(USUAL_BANDS, table.n_features)}"
    elif how == "hand":
        groups = table.groups or (("group 1", (0,)),)
        how = grids.groups_text(grids.group_rows(groups), table)
    state.change(grouping=how)


def _edit(table: Dataset) -> None:
    """Draw the groups as a table to edit."""
    grids.editor(
        grids.group_rows(table.groups),
        "groups",
        (state.current().data, state.current().grouping),
        lambda rows: state.change(grouping=grids.groups_text(rows, table)),
        {
            "group": st.column_config.TextColumn("group", max_chars=36),
            "columns": st.column_config.TextColumn(
                "columns", help="Names with ; between, or numbers such as 1-3,7"
            ),
        },
        dynamic=True,
    )
