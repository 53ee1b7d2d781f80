"""Hulls on graphs of kernels: a generated sample of each kind, its hulls along lambda, and what of it is found."""

import streamlit as st

from mklcore.experiments.graph_samples import GRAPH_SAMPLES
from mklcore.figures import style
from mklcore.paths.path import Path
from pages._parts.derive import graph_hulls
from pages._parts.drawing import asking, evidence
from pages._parts.params.parameters import Params
from pages._parts.players import hull_player
from pages._parts.session import board, fields, history, words

CODE = """\
from mklcore import Graph, HKLRegressor

graph = Graph.groups({"pathway 1": [0, 1, 2], "pathway 2": [2, 3, 4]})   # or Graph.tree, Graph.regions, Graph.strings
model = HKLRegressor(graph=graph, lam=0.01).fit(X, y)
model.hull_, model.relative_gap_"""


def rail() -> None:
    """Draw which graph is shown, and the seed of its rows."""
    fields.field_view(
        "Graph", "graph", kind=st.radio, options=list(GRAPH_SAMPLES), format_func=lambda key: GRAPH_SAMPLES[key].label
    )  # fmt: skip
    fields.field_view("Seed", "seed",
                      help="Another seed generates other rows.")  # fmt: skip


def draw(params: Params) -> None:
    """Draw the hulls of the sample, once they are there."""
    st.markdown(graph_hulls.sample(params).about)
    found = graph_hulls.path(params)
    if found.value is None:
        asking.offer(
            found.key, lambda: board.ask(graph_hulls.job(params)),
            work="The hulls", label="Compute the hulls", button="graph_run",
        )  # fmt: skip
        found = graph_hulls.path(params)
    if found.value is None:
        st.markdown(words.text("waiting_hulls"))
        return
    _hulls(found.value)
    with st.expander("The same in Python", icon=":material/code:"):
        st.code(CODE)


@st.fragment
def _hulls(path: Path) -> None:
    """Draw the cursor over lambda with the hull at it."""
    params = history.current()
    index = hull_player.graph_player(path, params)
    history.end()
    fitted, truth = path.estimators[index], graph_hulls.sample(params).truth
    inside = [name for name in truth if name in fitted.hull_]
    missing = [name for name in truth if name not in inside]
    found = f"All {len(truth)} informative nodes are in the hull" if not missing else (
        f"{len(inside)} of {len(truth)} informative nodes are in the hull, not {style.joined(missing)}"
    )  # fmt: skip
    score = evidence.score(path.score_name, float(path.val_score[index]))
    st.markdown(
        f"**{words.plain(found)}**; it has {style.counted(len(fitted.hull_), 'node')}, and {path.score_name} "
        f"{score} on held-out rows."
    )
    st.caption("The certificate covers every node of the graph, also those that were never visited.")
