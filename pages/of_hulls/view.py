"""Hulls, one of them: its facts, the box for an exact λ, the test score on request, its nodes, and its tables."""

import streamlit as st

from mklcore.figures import component_plot, hull_graph, relevance_bars, style
from mklcore.figures.hulls import Drawn
from mklcore.paths.path import Path
from pages.shared import headline, work
from pages.shared.derive import hull_words, hulls, tables
from pages.shared.derive.hulls import HullsView, HullView
from pages.shared.drawing import charts, evidence, listings
from pages.shared.export import downloads, explorable, proof
from pages.shared.params import places
from pages.shared.params.parameters import Params
from pages.shared.players import hull_player
from pages.shared.session import fields, history
from pages.shared.session import words as session_words
from pages.shared.session.words import plain
from pages.shared.work import Failed, Pending

NAMED = 2  # columns in the sentence


def says(path: Path, drawn: Drawn, params: Params) -> None:
    """Draw what the best hull comes to in one sentence, and what is to be known about its place on the path."""
    table, (layout, states) = tables.table(params), drawn
    about = f"Predicting **{plain(table.target_name)}** in {plain(headline.name_of(params))}"
    if not path.can_choose:
        st.markdown(f"{about}: first hulls, not proved yet.")
        return
    best = path.first_look
    state, score = states[best], session_words.score(path.score_name, float(path.val_score[best]))
    ranked = sorted(zip(state["bars"], layout.bars, strict=True), reverse=True)
    used = [f"**{plain(layout.variables[i])}**" for share, i in ranked if share > 0.0]
    named = used[:NAMED] + [style.counted(len(used) - NAMED, "other column")] * (len(used) > NAMED)
    together = any("·" in layout.names[node] for node, *_ in state["inside"])
    how = "alone and together with others" if together else "each by itself"
    text = f"{style.joined(named)} predict it, {how}" if used else "no column predicts it"
    where = f"best hull at {places.label('lam', float(path.values[best]))}, validation {path.score_name} {score}"
    st.markdown(f"{about}: {text} ({where}).")
    if best in (0, len(path) - 1) and len(path) > 1:
        end, other = ("largest", "larger") if best == 0 else ("smallest", "smaller")
        st.caption(f"The best λ is the {end} one tried: a {other} one may do better. Type it into the box for λ.")


def number_box(shown: HullsView, value: float) -> None:
    """Draw the box for an exact λ."""

    def keep(chosen: float | None) -> None:
        if chosen is not None:
            history.change(hull_at=float(chosen))

    low, high = places.bounds("lam", shown.path.values.tolist())
    fields.view(
        st.number_input, "λ, exactly", "hull_exact", value, keep, min_value=low, max_value=high, step=0.001,
        format="%.4g", disabled=shown.waiting or shown.provisional,
        help="Solves at any λ, also between the points of the path.",
    )  # fmt: skip


def facts(shown: HullsView, hull: HullView) -> None:
    """Say how sure the hull is, how large, out of how many, and how well it predicts."""
    fitted, params = hull.fitted, shown.params
    box, sure, size, score = st.columns([2.0, 3.1, 3.0, 2.1], vertical_alignment="center")
    with box:
        number_box(shown, hull.value)
    table, tolerance = tables.table(params), f"tolerance {fitted.tol:g}, training rows"
    if table.task == "multiclass":
        tolerance = f"{len(table.class_names)} classes, each against the rest: the union of their hulls, {tolerance}"
    sure.markdown(f"{hull_words.certificate(shown, hull)}  \n:small[:gray[{tolerance}]]")
    order, alone = fitted.interaction_order_, fitted.design_.root_is_constant
    words = "no interaction: one column at a time" if alone else "one column at a time above level 0"
    words = f"interactions of up to **{order}** columns" if order > 1 else words
    size.markdown(
        f"**{len(fitted.hull_)}** nodes in the hull  \n**{hull_words.count(hull_words.visited(shown.path, hull))}** "
        f"visited on the path, of **{hull_words.count(fitted.n_dag_kernels_)}** kernels  \n" + words
    )
    with score:
        _scores(shown, hull)
    if not (shown.waiting or shown.provisional):
        proof.pocket(proof.of_hull(shown.params, hull), "hulls")


def _scores(shown: HullsView, hull: HullView) -> None:
    if shown.provisional:
        st.markdown("Not scored: a score of a provisional hull would be taken for the answer.")
        return
    name = shown.path.score_name
    train, validation = (evidence.score(name, one).replace(" ", "\u00a0") for one in (hull.train, hull.validation))
    st.markdown(
        f"train {name} {train}  \nvalidation {name} {validation}"
        + ("  \n:small[:gray[refitted by least squares]]" if hull.fitted.refit else "")
        + (f"  \n:small[○ {unsure}]" if (unsure := hull_words.higher_unsure(shown, hull)) else "")
    )
    if not shown.waiting:
        point = (hulls.key(shown.params), hull.value)
        evidence.once(shown.params, point, name, "λ", lambda: hulls.test_score(shown.params, hull))


def missing(found: Pending | Failed, value: float, drawn: float) -> None:
    """Say what becomes of an exact λ that is not there yet; the last certified answer stays meanwhile."""
    wanted, there = session_words.plain(f"λ = {value:.4g}"), session_words.plain(f"λ = {drawn:.4g}")
    if isinstance(found, Failed):
        st.warning(
            f"There is no exact hull at {wanted}. {session_words.plain(found.sentence)} The hull at {there} is shown."
        )
        st.button("Solve again", key="hull_again", on_click=work.again)
    else:
        st.info(f"The hull at {wanted} is being solved. The hull at {there} is shown until then.")


def node(shown: HullsView, hull: HullView, asked: str) -> None:
    """Draw the node that was clicked or chosen: its name, where it stands, and what it adds to the prediction."""
    fitted, chosen = hull.fitted, hulls.columns(shown.params)
    ways = {hull_words.written(levels, chosen): levels for levels in hull_words.by_norm(fitted)}
    levels = hull_words.read_node(asked, chosen, fitted.design_.q) if asked else None
    if levels is not None:
        ways.setdefault(asked, levels)
    if not ways:
        st.caption("Only the root is in the hull. A smaller λ lets columns enter.")
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        picked = fields.view(
            st.selectbox, "What one node adds", "field_hull_node", asked if asked in ways else next(iter(ways)),
            lambda name: history.change(hull_node=name),
            options=list(ways),
            format_func=lambda name: hull_words.node_name(fitted, ways[name]) if name in ways else name,
        )  # fmt: skip
        levels = ways[picked]
        title = hull_words.node_name(fitted, levels)
        st.markdown(f"**{session_words.plain(title)}**, depth {sum(levels)}  \n{hull_words.facts(fitted, levels)}")
    adds = levels in hull_words.by_norm(fitted)
    if not adds:
        inside = "It is the constant at the top of the graph: the free offset stands for it, so it adds nothing itself."
        left.caption(inside if levels in fitted.hull_ else "Outside the hull a node adds nothing.")
        return
    part = hull_words.component(shown, hull, levels)
    if part.said:
        left.caption(session_words.plain(part.said))
    with right:
        values = part.values if len(part.axes) == 2 else part.values.ravel()
        sure, dark = hull.fitted.certified_, charts.is_dark()
        figure = component_plot(part.axes, values, part.names, title, certified=sure, dark=dark)
        charts.show(charts.dimmed(figure, dark=dark) if shown.waiting else figure, "hull_component", 260)


def figures(shown: HullsView, hull: HullView) -> None:
    """Draw the pockets with the pictures of this hull, to take them away."""
    fitted, table = hull.fitted, tables.table(shown.params)
    chosen = hulls.columns(shown.params)
    names = [table.feature_names[j] for j in chosen]
    with st.container(horizontal=True, gap="small", width=560):
        downloads.strip(lambda: hull_graph(fitted, names), "Hull by depth", "Graph")
        downloads.strip(lambda: relevance_bars(fitted.relevance_, names), "Relevance of the columns", "Relevance")
        if not shown.waiting:
            made, index = hull_player.drawn(shown), shown.path.nearest(hull.value)
            explorable.hulls(history.current(), shown.path, made, chosen, hulls.METHOD, index=index)


def every_node(hull: HullView) -> None:
    """Draw the nodes inside and just outside as tables, once they are opened."""
    opened = st.expander(
        "All nodes at this λ, as tables", icon=":material/table_rows:", key="hull_tables", on_change="rerun"
    )
    if not opened.open:
        return
    inside, outside = opened.columns([3, 2], gap="medium")
    nodes = hull_words.nodes_table(hull.fitted)
    inside.dataframe(
        nodes, hide_index=True, height=280, alt="Nodes of the hull with weight and norm",
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("weight ζ", "‖β‖")},
    )  # fmt: skip
    sources = hull_words.sources_table(hull.fitted)
    outside.dataframe(
        sources, hide_index=True, height=280,
        alt="Nodes outside and their way to entering",
        column_config={
            "way to entering": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0)
        },
    )  # fmt: skip
    listings.take(nodes, "hull", "csv_hull", "Nodes as CSV", inside)
    listings.take(sources, "outside", "csv_outside", "Nodes outside as CSV", outside)
