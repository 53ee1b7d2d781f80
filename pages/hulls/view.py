"""Hulls, one of them and what stands beside it: facts, nodes, columns, terms, and other models on
the same kernels.
"""

import pandas as pd
import streamlit as st

from mklcore.estimators.inspection.terms import Columns
from mklcore.figures import (
    captions,
    component_plot,
    hull_graph,
    relevance_bars,
    style,
    term_bars,
    term_plot,
)
from mklcore.hkl.stability import HALVES, Stability
from mklcore.paths.path import Path
from pages.hulls import player
from pages.shared.export import files
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import state
from pages.shared.session.parameters import Params
from pages.shared.values import hulls, tables
from pages.shared.values.hulls import HullsView, HullView
from pages.shared.widgets import controls, drawing, grids, players
from pages.shared.work import work

MOST_POINTS = 5  # extreme points that are named


def says(shown: HullsView) -> None:
    """Say how well the hull that validation rows chose predicts rows that chose nothing, and which
    of its columns could be chance.
    """
    params = shown.params
    path = shown.path
    about = drawing.about(params)
    where = players.where(path, path.first_look)
    if shown.provisional or not path.can_choose:
        st.markdown(f"{about}: first hulls, not proved yet.")
        return
    found = hulls.verdict(shown)
    if isinstance(found, work.Ready):
        st.markdown(found.value.sentence(bold, plain(drawing.name_of(params))))
        st.caption(f"The sentence is about the hull at {where}, which validation rows chose.")
        at_an_end(path)
    else:
        is_judged_soon(path, params)


def is_judged_soon(path: Path, params: Params) -> None:
    """Say which hull validation rows chose: held-out rows judge it once it is fitted."""
    where = players.where(path, path.first_look)
    about = drawing.about(params)
    st.markdown(f"{about}: the hull at {where} is judged on held-out rows in a moment.")
    at_an_end(path)


def at_an_end(path: Path) -> None:
    """Say where the best λ is the last one tried, and a further one may do better."""
    if said := players.edge(path, path.first_look):
        st.caption(said)


def facts(shown: HullsView, hull: HullView) -> None:
    """Say how sure the hull is, how large, out of how many, and how well it predicts."""
    fitted = hull.fitted
    params = shown.params
    box, sure, size, score = st.columns([2.0, 3.1, 3.0, 2.1], vertical_alignment="center")
    with box:
        keep = lambda value: state.change(hull_at=value)  # noqa: E731
        players.exact_box(shown.path, hull.value, keep, "hull_exact", disabled=shown.provisional)
    table = tables.table(params)
    sure.markdown(hulls.certificate(shown, hull))
    if table.task == "multiclass":
        count = len(table.class_names)
        sure.caption(f"{count} classes, each against the rest: the union of their hulls.")
    order = fitted.interaction_order_
    order_of = "no interaction: one column at a time"
    if order > 1:
        order_of = f"interactions of up to **{order}** columns"
    visited = hulls.visited(shown.path, hull)
    whole = hulls.count(fitted.n_dag_kernels_)
    bound = "the bound covers all" if fitted.certified_ else "there are"
    size.markdown(
        f"**{len(fitted.hull_)}** nodes in the hull  \n"
        f"Fitted **{hulls.count(visited)}** on the path; {bound} **{whole}**  \n{order_of}"
    )
    with score:
        _scores(shown, hull)
    if not shown.provisional:
        files.pocket(files.of_hull(shown.params, hull), "hulls")


def _scores(shown: HullsView, hull: HullView) -> None:
    if shown.provisional:
        st.markdown("Not scored: a score of a provisional hull would be taken for the answer.")
        return
    name = shown.path.score_name
    train, validation = (
        drawing.score(name, one).replace(" ", "\u00a0") for one in (hull.train, hull.validation)
    )
    st.markdown(
        f"train {name} {train}  \nvalidation {name} {validation}"
        + ("  \n:small[:gray[refitted by least squares]]" if hull.fitted.refit else "")
        + (f"  \n:small[○ {unsure}]" if (unsure := hulls.higher_unsure(shown, hull)) else "")
    )
    point = (hulls.key(shown.params), hull.value)
    # drawn along a path it would be used to choose
    look_once = "Choose λ first, then look once."
    if drawing.pressed("Show test score", "show_test", point, help=look_once):
        st.markdown(f"test {name} {drawing.score(name, hulls.test_score(shown.params, hull))}")


def missing(found: work.Pending | work.Failed, value: float, drawn: float) -> None:
    """Say what becomes of an exact λ that is not there yet; the last certified answer stays
    meanwhile.
    """
    wanted = plain(f"λ = {value:.4g}")
    there = plain(f"λ = {drawn:.4g}")
    if isinstance(found, work.Failed):
        st.warning(
            f"There is no exact hull at {wanted}. {plain(found.sentence)} The hull at "
            f"{there} is shown."
        )
        st.button("Solve again", key="hull_again", on_click=work.again)
    else:
        st.info(f"The hull at {wanted} is being solved. The hull at {there} is shown until then.")


def node(shown: HullsView, hull: HullView, asked: str) -> None:
    """Draw the node that was clicked or chosen: its name, where it stands, and what it adds to the
    prediction.
    """
    fitted, chosen = hull.fitted, hulls.columns(shown.params)
    ways = {hulls.written(levels, chosen): levels for levels in hulls.by_norm(fitted)}
    levels = hulls.read_node(asked, chosen, fitted.design_.q) if asked else None
    if levels is not None:
        ways.setdefault(asked, levels)
    if not ways:
        st.caption("Only the root is in the hull. A smaller λ lets columns enter.")
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        picked = controls.view(
            st.selectbox,
            "What one node adds",
            "field_hull_node",
            asked if asked in ways else next(iter(ways)),
            lambda name: state.change(hull_node=name),
            options=list(ways),
            format_func=lambda name: hulls.node_name(fitted, ways[name]) if name in ways else name,
        )
        levels = ways[picked]
        title = hulls.node_name(fitted, levels)
        st.markdown(f"**{plain(title)}**, depth {sum(levels)}  \n{hulls.facts(fitted, levels)}")
    adds = levels in hulls.by_norm(fitted)
    if not adds:
        inside = (
            "It is the constant at the top of the graph: the free offset stands for it, so it "
            "adds nothing itself."
        )
        left.caption(inside if levels in fitted.hull_ else "Outside the hull a node adds nothing.")
        return
    part = hulls.component(shown, hull, levels)
    if part.said:
        left.caption(plain(part.said))
    with right:
        values = part.values if len(part.axes) == 2 else part.values.ravel()
        sure = hull.fitted.certified_
        dark = drawing.is_dark()
        figure = component_plot(part.axes, values, part.names, title, certified=sure, dark=dark)
        drawing.show(figure, "hull_component", 260)


def figures(shown: HullsView, hull: HullView) -> None:
    """Draw the pockets with the pictures of this hull, to take them away."""
    fitted, table = hull.fitted, tables.table(shown.params)
    chosen = hulls.columns(shown.params)
    names = [table.feature_names[j] for j in chosen]
    with controls.row(width=560):
        drawing.strip(lambda: hull_graph(fitted, names), "Hull by depth", "Graph")
        drawing.strip(
            lambda: relevance_bars(fitted.relevance_, names),
            "Relevance of the columns",
            "Relevance",
        )
        index = shown.path.nearest(hull.value)
        files.hulls_file(state.current(), shown.path, player.drawn(shown), index)


def every_node(hull: HullView) -> None:
    """Draw the nodes inside and just outside as tables, once they are opened."""
    opened = st.expander(
        "All nodes at this λ, as tables",
        icon=":material/table_rows:",
        key="hull_tables",
        on_change="rerun",
    )
    if not opened.open:
        return
    inside, outside = opened.columns([3, 2], gap="medium")
    nodes = hulls.nodes_table(hull.fitted)
    inside.dataframe(
        nodes,
        hide_index=True,
        height=280,
        alt="Nodes of the hull with weight and norm",
        column_config={
            name: st.column_config.NumberColumn(format="%.4g") for name in ("weight ζ", "‖β‖")
        },
    )
    sources = hulls.sources_table(hull.fitted)
    outside.dataframe(
        sources,
        hide_index=True,
        height=280,
        alt="Nodes outside and their way to entering",
        column_config={"way to entering": st.column_config.ProgressColumn(format="percent")},
    )
    grids.take(nodes, "hull", "csv_hull", "Nodes as CSV", inside)
    grids.take(sources, "outside", "csv_outside", "Nodes outside as CSV", outside)


# Columns of the table


# pixels, of the table and of one of its rows
HEIGHT = 215
ROW = 35


def ranking(shown: HullsView, hull: HullView) -> None:
    """Draw the effect of every column: the mean of its absolute Shapley values on validation rows."""
    found = hulls.ranking(shown, hull)
    rows = hulls.judges(shown.params).n_samples
    text, table = st.columns([2, 3], gap="medium")
    text.markdown(f"**Which columns matter**, at {captions.label('lam', hull.value)}")
    if not isinstance(found, work.Ready):
        text.caption("Measuring." if found is not None else "")
        return
    used = sum(one.effect > 0.0 for one in found.value)
    text.markdown(f":small[{used} of {style.counted(len(found.value), 'column')} used.]")
    text.caption(
        f"Effect: mean absolute Shapley value on {rows:,} validation rows. Share: of the "
        "sum of effects."
    )
    frame = pd.DataFrame(
        {
            "column": [one.name for one in found.value],
            "share": [one.share for one in found.value],
            "effect": [one.effect for one in found.value],
        }
    )
    stable = hulls.known_stability(shown.params, hull)
    if stable is not None:
        members = dict(hulls.judges(shown.params).columns)
        frame["selected again"] = [
            float(stable.columns[list(members[name])].max()) for name in frame["column"]
        ]
    with table:
        st.dataframe(
            frame,
            key="hull_ranking",
            hide_index=True,
            height=min(HEIGHT, ROW * (len(frame) + 1) + 2),
            alt=f"{len(frame)} columns, those that move the answer most first",
            column_config={
                "share": st.column_config.ProgressColumn(format="percent"),
                "effect": st.column_config.NumberColumn(
                    format="%.3g", help="In the unit of the target or decision"
                ),
                "selected again": st.column_config.NumberColumn(
                    format="percent",
                    help="On how many samples of half the rows; of a category, its likeliest level",
                ),
            },
        )
        grids.take(frame, "columns", "csv_ranking")


def stability(shown: HullsView, hull: HullView) -> None:
    """Draw how often the same columns and extreme points are selected on half of the rows, once it
    is asked for.
    """
    name = hulls.key(shown.params), hull.value
    drawn = hulls.known_stability(shown.params, hull)

    def show(found: Stability) -> None:
        if drawn is None:
            state.rerun()  # the bars above have ticks from now on
        fitted = hull.fitted
        points = [(node, share) for node, share in found.extreme_points.items() if any(node)][
            :MOST_POINTS
        ]
        own = [
            f"**{plain(hulls.node_name(fitted, node))}** {100 * share:.0f}\u00a0%"
            for node, share in points
        ]
        text = (
            f"Extreme points most often selected: {style.joined(own)}"
            if own
            else "No column was selected"
        )
        st.markdown(f":small[{text}, of {found.rounds} samples of half the rows.]")

    drawing.request(
        "Is the selection stable?",
        "hull_stability",
        lambda _: hulls.stability(shown, hull),
        name,
        show,
        help=(
            f"Solves the hull again on {HALVES} samples of half the rows (Meinshausen and "
            "Bühlmann 2010)."
        ),
    )


# Terms


def terms(shown: HullsView, hull: HullView) -> None:
    """Draw the shares of all terms, and the curve or the map of the one chosen."""
    found = hulls.terms(shown.params, hull)
    dark = drawing.is_dark()
    if not found.terms:
        return
    st.markdown("**Columns, alone and together**")
    left, right = st.columns([1, 1.3], gap="large")
    with left:
        drawing.show(term_bars(found.terms, dark=dark), "hull_terms")
        st.caption(
            "Shares of the variance of the model's terms on training rows; they add up to 100 %."
        )
    offered = [one.columns for one in found.terms if len(one.columns) <= 2]
    if offered:
        with right:
            _one_term(shown, hull, offered)


def _one_term(shown: HullsView, hull: HullView, offered: list[Columns]) -> None:
    named = {" × ".join(columns): columns for columns in offered}
    asked = state.current().hull_term
    name = controls.view(
        st.selectbox,
        "What adds",
        "field_hull_term",
        asked if asked in named else next(iter(named)),
        lambda name: state.change(hull_term=name),
        options=list(named),
    )
    effect = hulls.effect(shown.params, hull, named[name])
    drawing.show(term_plot(effect, dark=drawing.is_dark()), "hull_term")


# Other models on the same grid of kernels


PLACES = {
    "same": "the same",
    "level": "not clearly different",
    "ahead": "better",
    "behind": "worse",
}
LINE = "hull: hierarchical kernel learning"
LABELS = {
    "L2": "L2: all kernels, none selected",
    "greedy": "Greedy: a hull grown node by node, equal weights",
    "lasso-alpha": "Lasso-α: all kernels, few rows (least squares)",
    "MKL": "MKL: single columns, no products",
}


def beside(shown: HullsView) -> None:
    """Draw the best of every way to use these kernels as rows of a table, once they are asked for."""
    if not hulls.compares(shown.params):
        return
    st.markdown("**The same kernels without a hull**, each way at its best on the validation rows")
    st.caption(
        "Is it worth selecting products? All kernels summed, few rows, a greedy hull, "
        "single columns."
    )
    drawing.request(
        "Compare",
        "hull_beside",
        lambda _: hulls.beside(shown),
        hulls.key(shown.params),
        lambda found: _table(shown, found),
    )


def _table(shown: HullsView, found: tuple[hulls.ReferenceBeside, ...]) -> None:
    path = shown.path
    params = shown.params
    name = path.score_name
    rows = hulls.held_out(params).n_samples
    own = players.where(path, path.first_look)
    listed = []
    for model, score in found:
        label, chosen = (LINE, own) if model is None else (LABELS[model.name], model.chosen)
        shown_score = drawing.with_error(name, score.score, score.error)
        listed.append((label, shown_score, "" if model is None else PLACES[score.place], chosen))
    names = [
        "way",
        f"{name} on {rows:,} held-out rows",
        "the hull is",
        "chosen on the validation rows",
    ]
    st.table(pd.DataFrame(listed, columns=names).set_index(names[0]))
    ahead = [
        LABELS[one.model.name].partition(":")[0]
        for one in found
        if one.model and one.score.place == "behind"
    ]
    verb = "predicts" if len(ahead) == 1 else "predict"
    st.caption(
        f"**{style.joined(ahead)} {verb} better here.**"
        if ahead
        else "No other way is clearly better here."
    )
    st.caption("± standard error. Better and worse are judged by the paired difference of scores.")
