"""Hulls: which columns a model uses and which of them together, in a grid of kernels too many to list."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from pages._parts import cache, controls, evidence, hull_view, hulls, jobs, player, state


def rail() -> None:
    """Draw what the hulls depend on, and the two columns of the grid."""
    params, basis = state.current(), hulls.control("basis")
    table = cache.table(params)
    chosen, called = hulls.columns(params), table.feature_names.__getitem__
    state.field_view(
        st.selectbox, basis.label, "hull_basis", options=list(basis.choices), format_func=hulls.basis_label
    )
    st.caption(basis.help)
    if params.hull_basis not in hulls.FIXED_LEVELS:
        state.field_view(st.slider, "Degree q", "hull_degree", min_value=1, max_value=6)
        st.caption("Larger q: every column has q levels, and the grid has (q + 1) to the number of columns of kernels.")
    if table.task != "regression":
        loss = hulls.control("loss")
        state.field_view(st.selectbox, loss.label, "hull_loss", options=list(loss.choices))
        st.caption(loss.help)
    state.view(
        st.multiselect, "Grid of", "field_hull_pair",
        [j for j in hulls.read_columns(params.hull_pair, table) if j in chosen],
        lambda picked: state.change(hull_pair=hulls.numbers(sorted(picked))),
        options=chosen, format_func=called, max_selections=2, placeholder="the two most relevant",
    )  # fmt: skip
    usual = hulls.usual_columns(table)
    box = st.expander("Columns that enter", key="hull_columns_box")
    state.view(
        box.multiselect, "Columns that enter", "field_hull_columns", chosen,
        lambda picked: state.change(hull_columns="" if sorted(picked) == usual else hulls.numbers(sorted(picked))),
        options=list(range(table.n_features)), format_func=called, max_selections=hulls.MOST_COLUMNS,
        label_visibility="collapsed",
    )  # fmt: skip
    st.caption(f"{len(chosen)} of {table.n_features} enter. More columns: many more kernels, and a longer search.")


def request() -> bool:
    """See to it that the hulls are there or on their way; tell whether a person has to ask for them first."""
    params = state.current()
    if cache.hulls(params).get(hulls.key(params)) is not None:
        return False
    job = jobs.mine(hulls.key(params))
    if job is None and hulls.is_small(params):
        hulls.ask(params)
        return False
    if job is not None and (job.live or job.state is jobs.JobState.DONE):
        return False
    if job is None:
        st.info(f"Hulls on {len(cache.split(params).train.y)} rows take a while. Start them when you like.")
    elif job.error:
        st.warning(f"The hulls failed: {controls.plain(job.error)}")
    else:
        st.warning(f"The search was {job.state.value}.")
    st.button("Compute the hulls", key="compute_hulls", type="primary", on_click=hulls.ask, args=(params,))
    return True


@st.fragment
def cursor(shown: hulls.Answer) -> None:
    """Draw the cursor over λ and the hull at it; moving it runs only this."""
    path = shown.path
    index = player.place(path, state.current().hull_at).index
    state.view(
        st.select_slider, "λ, the price of the norm", "field_hull_at", float(path.values[index]),
        lambda value: state.change(hull_at=float(value)),
        options=sorted(path.values.tolist()), format_func=style.number, disabled=shown.waiting,
        help=hulls.METHOD.path("lam").help,
    )  # fmt: skip
    state.end()
    hull_view.facts(shown, index)
    hull_view.pictures(shown, index)
    hull_view.tables(shown, index)
    evidence.explanation(hulls.METHOD)


if controls.usable_table():
    try:
        with st.sidebar:
            rail()
        to_be_asked = request()
        shown = hulls.answer(state.current())
        if shown is not None:
            cursor(shown)
        elif not to_be_asked:
            st.markdown(controls.text("waiting_hulls"))
    except MKLError as error:
        st.error(controls.plain(error))
