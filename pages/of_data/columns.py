"""Data, the columns: what each one is, and what it is used for."""

import streamlit as st

from mklcore.data.dataset import Dataset
from pages.shared.derive import tables as derive_tables
from pages.shared.drawing import editing, listings
from pages.shared.session import history


def draw(table: Dataset) -> None:
    """Draw what each column is; for an uploaded table, what it is used for can be changed."""
    params = history.current()
    st.subheader("Columns", anchor=False)
    if not params.is_upload:
        frame = listings.columns(table)
        st.dataframe(frame, height=248, hide_index=True, alt="Type and range of each column")
        return
    editing.editor(
        editing.column_rows(
            derive_tables.summary(params), table, derive_tables.uses(params), params.missing, gaps=params.gaps
        ),
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
            "done": st.column_config.TextColumn("how it is used", width=300),
            "missing": st.column_config.NumberColumn("missing"),
            "values": st.column_config.NumberColumn("different values"),
            "first": st.column_config.TextColumn("first value"),
        },
        height=248,
        fixed=("column", "found", "done", "missing", "values", "first"),
    )  # fmt: skip
