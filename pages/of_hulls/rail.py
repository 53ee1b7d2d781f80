"""Hulls, the rail: basis, levels, loss, the two columns of the grid, the columns that enter, and the rest."""

from typing import Any

import streamlit as st

from mklcore.io.catalog import Control
from mklcore.io.catalog.controls import FIXED_LEVELS
from pages.shared import controls, hulls, state, tables
from pages.shared.parameters import Setting


def rail() -> None:
    """Draw what the hulls depend on, in the order a person decides it."""
    params, basis = state.current(), hulls.control("basis")
    table = tables.table(params)
    chosen, called = hulls.columns(params), table.feature_names.__getitem__
    controls.field_view(
        basis.label, "hull_basis", options=list(basis.choices), format_func=hulls.basis_label,
        help=basis.help,
    )  # fmt: skip
    if params.hull_basis not in FIXED_LEVELS:
        controls.field_view(
            "Degree q", "hull_degree", kind=st.slider,
            help="Larger q: every column has q levels, and the graph has (q + 1) to the power of the columns kernels.",
        )  # fmt: skip
    if table.task != "regression":
        loss = hulls.control("loss")
        controls.field_view(loss.label, "hull_loss", options=list(loss.choices), help=loss.help)
    controls.view(
        st.multiselect, "Grid of", "field_hull_pair",
        [j for j in hulls.read_columns(params.hull_pair, table) if j in chosen],
        lambda picked: state.change(hull_pair=hulls.numbers(sorted(picked))),
        options=chosen, format_func=called, max_selections=2, placeholder="the two most relevant",
    )  # fmt: skip
    _columns(chosen, called)
    _rows(len(tables.split(params).train.y))
    with st.expander("More settings", key="hull_more_box"):
        for control in hulls.acting(params):
            if control.advanced:
                _setting(control, hulls.settings(params)[control.name])


def _rows(whole: int) -> None:
    """Draw how many training rows are used, where not all of them are unasked."""
    if whole > hulls.ROWS:
        controls.field_view(
            "Training rows", "hull_rows", max_value=whole, step=500,
            to=lambda rows: min(rows, whole),
            help=f"0: {hulls.ROWS:,} of {whole:,}, at random. More rows: more accurate and slower.",
        )  # fmt: skip


def _columns(chosen: list[int], called: Any) -> None:
    table = tables.table(state.current())
    usual = hulls.usual_columns(table)
    box = st.expander(f"Columns: {len(chosen)} of {table.n_features}", key="hull_columns_box")
    controls.view(
        box.multiselect, "Columns that enter", "field_hull_columns", chosen,
        lambda picked: state.change(hull_columns="" if sorted(picked) == usual else hulls.numbers(sorted(picked))),
        options=list(range(table.n_features)), format_func=called, max_selections=hulls.MOST_COLUMNS,
        help="More columns: many more kernels, and a longer search.",
    )  # fmt: skip


def _setting(control: Control, value: Any) -> None:
    """Draw one of the controls that are folded away."""

    def keep(picked: Setting) -> None:
        state.change(hull_more=hulls.with_setting(state.current(), control.name, picked))

    controls.widget(control, value, f"hull_setting_{control.name}", keep)
