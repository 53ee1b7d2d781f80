"""Hulls: which columns a model uses and which of them together, in a grid of kernels too many to
list.
"""

from typing import Any

import streamlit as st

from mklcore.io.catalog import Control
from mklcore.io.catalog.controls import FIXED_LEVELS
from pages.hulls import player, view
from pages.shared import frame
from pages.shared.export import files, saved
from pages.shared.session import state
from pages.shared.session.parameters import Params, Setting
from pages.shared.values import hulls, tables
from pages.shared.widgets import controls, drawing, players
from pages.shared.work.work import Failed, Found, Ready


def request() -> Found | None:
    """Return the hulls, or how far they are; None where a person has to ask for them first."""
    params = state.current()
    if hulls.known(params) is None and not hulls.is_small(params):
        with controls.row():
            if not drawing.pressed(
                "Compute the hulls", "compute_hulls", hulls.key(params), type="primary"
            ):
                st.info(
                    f"Hulls on {len(hulls.parts(params).train.y)} rows take a while. Start "
                    "them when you like."
                )
                return None
    return hulls.get(params)


@st.fragment
def cursor(shown: hulls.HullsView) -> None:
    """Draw the cursor over λ and the hull at it; a release or a click runs only this."""
    player.listen(shown)
    params = state.current()
    exact = None
    here = players.place(shown.path, params.hull_at)
    if here.exact and not shown.provisional:
        exact = hulls.exact(shown, here.value)
    between = exact.value if isinstance(exact, Ready) else None
    hull = between or hulls.at(shown, here.index)
    selected = selection(shown, hull)
    if rows := hulls.rows_caption(shown.params):
        st.caption(rows)
    player.player(shown, here.index, between, selected, hulls.known_stability(shown.params, hull))
    if len(hulls.columns(shown.params)) < 2:
        st.caption("A grid needs two columns: let another one enter.")
    state.end()
    if exact is not None and not isinstance(exact, Ready):
        view.missing(exact, here.value, hull.value)
    view.facts(shown, hull)
    view.figures(shown, hull)
    if not shown.provisional:
        view.ranking(shown, hull)
        view.stability(shown, hull)
        view.terms(shown, hull)
    view.node(shown, hull, params.hull_node)
    view.every_node(hull)
    drawing.explanation(hulls.METHOD)


def selection(shown: hulls.HullsView, hull: hulls.HullView) -> str:
    """Return the node to mark: the one asked for, else the largest of the hull."""
    ranked = hulls.by_norm(hull.fitted)
    asked = state.current().hull_node
    return asked or (hulls.written(ranked[0], hulls.columns(shown.params)) if ranked else "")


def came_earlier(found: saved.EarlierHulls, params: Params) -> None:
    """Draw hulls that came with the project, and see to it that their models are fitted once their
    solver is ready.
    """

    view.is_judged_soon(found.path, params)

    @st.fragment
    def draw() -> None:
        player.player_of(found, params)
        state.end()
        index = players.place(found.path, state.current().hull_at).index
        files.hulls_file(params, found.path, (found.layout, found.states), index)

    draw()
    st.caption(saved.COMPUTED_EARLIER)
    drawing.explanation(hulls.METHOD)
    if isinstance(request(), Ready):
        state.rerun()


# The sidebar


def draw_sidebar() -> None:
    """Draw what the hulls depend on, in the order a person decides it."""
    params = state.current()
    basis = hulls.control("basis")
    table = tables.table(params)
    chosen = hulls.columns(params)
    called = table.feature_names.__getitem__
    controls.field_view(
        basis.label,
        "hull_basis",
        options=list(basis.choices),
        format_func=hulls.basis_label,
        help=basis.help,
    )
    if params.hull_basis not in FIXED_LEVELS:
        controls.field_view(
            "Degree q",
            "hull_degree",
            kind=st.slider,
            help=(
                "Larger q: every column has more levels. With p columns the graph has (q + 1)^p "
                "kernels."
            ),
        )
    if table.task != "regression":
        loss = hulls.control("loss")
        controls.field_view(loss.label, "hull_loss", options=list(loss.choices), help=loss.help)
    controls.view(
        st.multiselect,
        "Grid of",
        "field_hull_pair",
        [j for j in hulls.read_columns(params.hull_pair, table) if j in chosen],
        lambda picked: state.change(hull_pair=hulls.numbers(sorted(picked))),
        options=chosen,
        format_func=called,
        max_selections=2,
        placeholder="the two most relevant",
    )
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
            "Training rows",
            "hull_rows",
            max_value=whole,
            step=500,
            to=lambda rows: min(rows, whole),
            help=f"0: {hulls.ROWS:,} of {whole:,}, at random. More rows: more accurate and slower.",
        )


def _columns(chosen: list[int], called: Any) -> None:
    table = tables.table(state.current())
    usual = hulls.usual_columns(table)
    box = st.expander(f"Columns: {len(chosen)} of {table.n_features}", key="hull_columns_box")
    controls.view(
        box.multiselect,
        "Columns that enter",
        "field_hull_columns",
        chosen,
        lambda picked: state.change(
            hull_columns="" if sorted(picked) == usual else hulls.numbers(sorted(picked))
        ),
        options=list(range(table.n_features)),
        format_func=called,
        max_selections=hulls.MOST_COLUMNS,
        help="More columns: many more kernels, and a longer search.",
    )


def _setting(control: Control, value: Any) -> None:
    """Draw one of the controls that are folded away."""

    def keep(picked: Setting) -> None:
        state.change(hull_more=hulls.with_setting(state.current(), control.name, picked))

    controls.widget(control, value, f"hull_setting_{control.name}", keep)


def main(params: Params) -> None:
    """Draw the page."""
    if tables.on_stack(params):
        frame.lead_to_data(
            "Your file is a stack of ready kernels. Hulls multiply columns, and a "
            "stack has none: bring a table. In Python, `HKLClassifier` and "
            "`HKLRegressor` also take Gram matrices of your own, one for each column "
            "and level: an array (p, q + 1, n, n) as `basis`."
        )
        return
    with st.sidebar:
        draw_sidebar()
    params = state.current()
    before = saved.earlier_hulls(params) if hulls.known(params) is None else None
    if before is not None:
        came_earlier(before, params)
        return
    found = request()
    if isinstance(found, Failed):
        drawing.refusal(found, "hulls_refused")
    elif found is not None and found.value is not None:
        shown = hulls.HullsView(found.value, params)
        view.says(shown)
        cursor(shown)
        if not shown.provisional:
            view.beside(shown)
    elif found is not None:
        st.markdown(drawing.text("waiting_hulls"))


frame.with_table(main)
