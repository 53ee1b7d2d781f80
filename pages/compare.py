"""Compare: two to five methods side by side on the same rows and kernels, under one slider."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from collections.abc import Sequence

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from pages._parts.compare import asking, cursor, rail
from pages._parts.derive import comparison, dictionaries, earlier, gram_stacks, tables
from pages._parts.derive import paths as derive_paths
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import beside, refusals
from pages._parts.frame import notices
from pages._parts.params.algorithms import METHODS
from pages._parts.params.methods import Method
from pages._parts.params.parameters import Params, PathParams
from pages._parts.session import fields, history
from pages._parts.session import words as session_words

TABS = {"methods": "Methods on your table", "toy": "Sparse against non-sparse"}


def caption(asked: Sequence[Method], params: Params) -> None:
    """Say what the methods have in common: rows, kernels, split; and whether they are normalised alike."""
    every = [comparison.method_params(params, method) for method in asked]
    ways = list(dict.fromkeys(dictionaries.normalisation(one) for one in every))
    scales = [session_words.SCALES[way] for way in ways]
    scaled = (
        f"kernels {scales[0]}" if len(ways) == 1 else f"every method with kernels its own way: {', or '.join(scales)}"
    )
    st.caption(
        f"{style.counted(len(asked), 'method')} on the same {len(tables.split(params).train.y)} rows, "
        f"{_kernels(every[0])} kernels and split; {scaled}."
    )


def _kernels(params: PathParams) -> int:
    """Return how many kernels there are, from a path that came with the project without building them."""
    before = earlier.path(params)
    return gram_stacks.grams(params).train.n_kernels if before is None else len(before.kernel_names)


def explanation(drawn: Sequence[Shown]) -> None:
    """Draw what the picture is, how to read it, what it cannot tell, and the problem each method solves."""
    what, look, limits = st.columns(3, gap="large")
    what.markdown(session_words.text("compare"))
    look.markdown(session_words.text("compare_look"))
    limits.markdown(session_words.text("compare_cannot"))
    with st.expander("What each method solves", icon=":material/functions:"):
        for method, solved in dict.fromkeys(
            (METHODS[one.method.algorithm], derive_paths.words_for(one.params)) for one in drawn
        ):
            st.markdown(f"**{method.label}.** {method.one_line}")
            st.latex(solved.formula)
            st.markdown(f"{solved.look_for} {solved.cannot_tell}")
            st.caption(method.paper)
    with st.expander("What the certificate says", icon=":material/verified:"):
        st.markdown(session_words.text("certificate"))


def methods(params: Params) -> None:
    """Draw the methods: their paths under one slider, and below what follows it."""
    drawn = comparison.shown(params)
    at_once = all(one.path is not None for one in drawn) and any(one.earlier for one in drawn)
    if not at_once:
        asking.request(params)
        drawn = comparison.shown(params)
    cursor.draw(drawn, [asking.note(one, params) for one in drawn])
    for one in drawn:
        if one.error:
            st.error(f"{session_words.plain(one.label)}: {session_words.plain(one.error)}")
    if any(one.error for one in drawn):
        st.button("Try again", key="compare_again", on_click=asking.again, args=(params,))
    if any(one.path is not None for one in drawn):
        _references(params, drawn)
    explanation(drawn)
    if at_once:
        asking.follow(params)
    asking.watch(params)


def _references(params: Params, drawn: Sequence[Shown]) -> None:
    """Draw plain models on the same rows below the methods, once every method has ended."""
    waiting = bool(comparison.missing(params)) or any(one.waiting or one.earlier for one in drawn)
    known, name = beside.found(params, waiting), next(one.path.score_name for one in drawn if one.path is not None)
    st.markdown("**What the scores are worth**: plain models on the same rows")
    beside.table(params, known, name)
    beside.unfinished(params, known, waiting)
    if not waiting:
        beside.score_all(list(dict.fromkeys(one.params for one in drawn)))


def tabs() -> None:
    """Draw the choice between the two views of the page."""
    fields.field_view(
        "View", "compare", kind=st.segmented_control, options=TABS, required=True, label_visibility="collapsed",
    )  # fmt: skip


left, right = st.columns([7, 5], vertical_alignment="center")
with left:
    tabs()
if history.current().compare == "toy":
    from pages._parts.compare import toy  # with what the experiments need, which methods can be drawn without

    with st.sidebar:
        toy.rail()
    try:
        toy.request(history.current())
        toy.show(history.current())
    except MKLError as error:
        refusals.draw(error, "compare_refused")
elif notices.usable_table():
    if tables.table(history.current()).task == "novelty":
        st.info("This table has no target, so there is no score to compare. Choose a target on the Data page.")
        nav.link("data", "Go to Data")
    else:
        try:
            with st.sidebar:
                rail.draw()
            with right:
                caption(comparison.methods(history.current()), history.current())
            with st.container(key="compare_answer"):
                methods(history.current())
        except MKLError as error:
            refusals.draw(error, "compare_refused2")
