"""One hull on the page: how sure it is, its pictures, what one node adds, and its nodes as tables."""

import plotly.graph_objects as go
import streamlit as st

from mklcore.figures import component_plot, hull_graph, hull_grid, kernel_count, relevance_bars
from pages._parts import cache, charts, controls, evidence, hulls, state


def _draw(figure: go.Figure, key: str, waiting: bool) -> None:
    """Draw a figure, dimmed while it is an older answer."""
    charts.show(charts.dimmed(figure, dark=charts.is_dark()) if waiting else figure, key)


def facts(shown: hulls.Answer, index: int) -> None:
    """Say how sure the hull is, how large, out of how many, and how well it predicts."""
    path, fitted = shown.path, shown.path.estimators[index]
    sure, size, score = st.columns([3.6, 3.1, 2.6], vertical_alignment="center")
    task, classes = cache.table(shown.params).task, cache.table(shown.params).class_names
    union = f"{len(classes)} classes, each against the rest: the union of their hulls, " if task == "multiclass" else ""
    sure.markdown(f"{hulls.certificate(path, index)}  \n:small[:gray[{union}tolerance {fitted.tol:g}, training rows]]")
    order, alone = fitted.interaction_order_, fitted.design_.root_is_constant
    words = "no interaction: one column at a time" if alone else "one column at a time above level 0"
    words = f"interactions of up to **{order}** columns" if order > 1 else words
    size.markdown(
        f"**{len(fitted.hull_)}** nodes in the hull, **{kernel_count(fitted.n_visited_)}** visited, of "
        f"**{kernel_count(fitted.n_dag_kernels_)}** kernels  \n" + words
    )
    lines = [
        (part, float(values[index])) for part, values in (("train", path.train_score), ("validation", path.val_score))
    ]
    score.markdown(
        "  \n".join(f"{part} {path.score_name} {evidence.score(path.score_name, value)}" for part, value in lines)
    )


def pictures(shown: hulls.Answer, index: int) -> None:
    """Draw the grid of two columns, the graph by depth, the relevance of columns and what one node adds."""
    fitted, dark, table = shown.path.estimators[index], charts.is_dark(), cache.table(shown.params)
    chosen = hulls.columns(shown.params)
    names = [table.feature_names[j] for j in chosen]
    left, right = st.columns([2, 3], gap="medium")
    with left:
        if len(chosen) > 1:
            st.markdown("**Two columns, level against level**")
            two = hulls.pair(fitted, state.current().hull_pair, chosen, table)
            _draw(hull_grid(fitted, two, names, dark=dark), "hull_grid", shown.waiting)
            st.caption(
                "Square: in the hull, outlined where nothing below it is. +: could enter next. Dot: further out."
            )
        else:
            st.caption("A grid needs two columns: let another one enter.")
    with right:
        st.markdown("**The hull by depth, and what is next to enter**")
        _draw(hull_graph(fitted, names, dark=dark), "hull_graph", shown.waiting)
        st.caption("Area: ‖β‖ of the node. Hollow: outside, with the share of the way to entering.")
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.markdown("**Relevance of the columns**")
        _draw(relevance_bars(fitted.relevance_, names, limit=10, dark=dark), "hull_relevance", shown.waiting)
    with right:
        _node(shown, index, chosen)


def _node(shown: hulls.Answer, index: int, chosen: list[int]) -> None:
    """Draw what one node of the hull adds to the prediction."""
    fitted = shown.path.estimators[index]
    ways = {hulls.written(levels, chosen): levels for levels in hulls.by_norm(fitted)}
    if not ways:
        st.caption("Only the root is in the hull. A smaller λ lets columns enter.")
        return
    asked = state.current().hull_node
    picked = state.view(
        st.selectbox, "What one node adds", "field_hull_node", asked if asked in ways else next(iter(ways)),
        lambda name: state.change(hull_node=name),
        options=list(ways), format_func=lambda name: hulls.node_name(fitted, ways[name]) if name in ways else name,
    )  # fmt: skip
    part = hulls.component(shown, index, ways[picked])
    title = hulls.node_name(fitted, ways[picked])
    values = part.values if len(part.axes) == 2 else part.values.ravel()
    _draw(component_plot(part.axes, values, part.names, title, dark=charts.is_dark()), "hull_component", shown.waiting)
    if part.said:
        st.caption(controls.plain(part.said))


def tables(shown: hulls.Answer, index: int) -> None:
    """Draw the nodes inside and just outside as tables, once they are opened."""
    fitted = shown.path.estimators[index]
    opened = st.expander(
        "All nodes at this λ, as tables", icon=":material/table_rows:", key="hull_tables", on_change="rerun"
    )
    if not opened.open:
        return
    inside, outside = opened.columns([3, 2], gap="medium")
    nodes = hulls.nodes_table(fitted)
    inside.dataframe(
        nodes, hide_index=True, height=280, alt="Nodes of the hull with weight and norm",
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("weight ζ", "‖β‖")},
    )  # fmt: skip
    outside.dataframe(
        hulls.sources_table(fitted), hide_index=True, height=280, alt="Nodes outside and their way to entering",
        column_config={
            "way to entering": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)
        },
    )  # fmt: skip
    inside.download_button(
        "Nodes as CSV", nodes.to_csv(index=False), "hull.csv", "text/csv", key="csv_hull",
        icon=":material/download:", on_click="ignore",
    )  # fmt: skip
