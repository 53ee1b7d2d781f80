"""Compare: two to five methods side by side on the same rows and kernels, under one slider."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from collections.abc import Sequence

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import lanes_figure, style
from mklcore.figures import steps as lane_steps
from mklcore.figures.compare import LaneView
from mklcore.figures.steps import Steps
from mklcore.path import Path
from pages._parts.compare import rail, search, table, toy
from pages._parts.derive import comparison, dictionaries, earlier, gram_stacks, predictions, tables
from pages._parts.derive import paths as derive_paths
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import beside, charts, evidence
from pages._parts.export import downloads, explorable, proof
from pages._parts.frame import notices
from pages._parts.jobs.job import JobState
from pages._parts.jobs.preparing import preparation
from pages._parts.params import places as params_places
from pages._parts.params import steps
from pages._parts.params.lanes import Lane
from pages._parts.params.parameters import METHODS, Params
from pages._parts.params.steps import Place
from pages._parts.players import compare_player
from pages._parts.session import board, fields, history
from pages._parts.session import words as session_words

TABS = {"lanes": "Lanes on your table", "search": "Find a good model", "toy": "Sparse against non-sparse"}
REFRESH_SECONDS = 0.5


def request(params: Params) -> None:
    """See to it that every lane's path is there or on its way; large work waits for its button."""
    wanted = comparison.missing(params)
    job = board.mine(comparison.key(params))
    if not wanted or (job is not None and job.live):
        return
    if job is None and comparison.is_small(params, wanted):
        ask(params)
        return
    paths = style.counted(len(wanted), "path")
    if job is None:
        stack = gram_stacks.grams(params).train
        st.info(f"{paths} over {stack.n_kernels} kernels on {stack.n_samples} rows take a while. Start when you like.")
    elif job.error:
        st.warning(f"The paths {board.ending(job)}")
    elif job.broke_off:
        st.warning(f"The work on the lanes {board.ending(job)} Lanes that had ended stay.")
    st.button(f"Compute {paths}", key="compare_run", type="primary", on_click=ask, args=(params,))


def ask(params: Params) -> None:
    """Have the worker compute every missing path."""
    job = comparison.job(params)
    if job.pieces:
        board.ask(job)


def again(params: Params) -> None:
    """Forget what failed and start once more."""
    comparison.forget_errors(params)
    ask(params)


def watch(params: Params) -> None:
    """Run the page again when one more lane has ended."""
    job, before = board.mine(comparison.key(params)), len(comparison.missing(params))
    live = job is not None and job.live

    @st.fragment(run_every=REFRESH_SECONDS if live else None)
    def look() -> None:
        if live and len(comparison.missing(params)) != before:
            history.rerun()

    look()


def note(one: Shown, params: Params) -> str:
    """Say why a lane has no path to show."""
    if one.error:
        return one.error
    job = board.mine(comparison.key(params))
    return "Its path is on its way." if job is not None and job.live else "No path yet."


def told(asked: Sequence[Lane], params: Params) -> None:
    """Say what the lanes have in common: rows, kernels, split; and whether they are normalised alike."""
    every = [comparison.lane_params(params, lane) for lane in asked]
    ways = list(dict.fromkeys(dictionaries.normalisation(one) for one in every))
    scales = [session_words.SCALES[way] for way in ways]
    scaled = (
        f"kernels {scales[0]}" if len(ways) == 1 else f"every method with kernels its own way: {', or '.join(scales)}"
    )
    st.caption(
        f"{style.counted(len(asked), 'lane')} on the same {len(tables.split(params).train.y)} rows, "
        f"{_kernels(every[0])} kernels and split; {scaled}."
    )


def _kernels(params: Params) -> int:
    """Return how many kernels there are, from a path that came with the project without building them."""
    before = earlier.path(params)
    return gram_stacks.grams(params).train.n_kernels if before is None else len(before.kernel_names)


def solved_at(drawn: Sequence[Shown], value: float) -> list[Path | None]:
    """Return the answers of all lanes at ``value``, or say what keeps them."""
    params = history.current()
    try:
        exact = comparison.points(drawn, value)
        if not any(exact) and _ask_points(params, drawn, value):
            exact = comparison.points(drawn, value)
    except MKLError as error:
        st.error(session_words.plain(error))
        return [None] * len(drawn)
    job = board.mine(comparison.points_key(params, value))
    if job is not None and not job.live and not any(exact):
        reason = session_words.plain(job.error) if job.error else f"It was {job.state.value}."
        st.warning(f"The lanes are not solved at this value. {reason}")
    return exact


def _ask_points(params: Params, drawn: Sequence[Shown], value: float) -> bool:
    """Have the worker solve the lanes at ``value``, unless it was stopped or is at it; tell whether it is done with that."""
    lanes, before = board.mine(comparison.key(params)), board.mine(comparison.points_key(params, value))
    if lanes is not None and lanes.live:  # else it would stop the work on the lanes that are still to come
        return False
    if before is not None and before.state is not JobState.DONE:
        return False
    job = comparison.points_job(params, drawn, value)
    if not job.pieces:
        return False
    progress = board.ask(job)
    if progress.live:
        history.rerun()  # the line of progress belongs to the frame
    return True


def words(found: Steps, here: Place, solved: bool) -> str:
    """Say what the shared slider does, and where the lanes stand now."""
    if here.kind == "best":
        now = "Now each lane stands at its own best validation score."
    elif here.kind == "exact" and solved:
        now = "Every lane is solved at just this value."
    else:
        now = "Each lane stands at its solved point nearest to it." if found.shared else ""
    if found.shared:
        return f"The slider sets one {params_places.symbol(found.shared)} for all lanes. {now}"
    return (
        "The lanes run over different parameters, so the slider sets a share of each path: 0 % is its smallest value, "
        f"100 % its largest. {now}"
    )


def number_box(found: Steps, here: Place) -> None:
    """Draw the box for one exact value in all lanes; an emptied box sends each lane to its best."""
    sign = params_places.symbol(found.shared)
    value = here.value if here.kind == "exact" else None if here.kind == "best" else found.values[here.step]
    if value is not None and value > 1e6 and found.shared == "p":
        value = None
    if found.shared == "s":
        limits: dict[str, object] = {"min_value": 1, "max_value": int(max(found.values)), "step": 1}
        value = None if value is None else int(value)
    else:
        low, high = params_places.bounds(found.shared, found.values)
        most = 1e6 if found.shared == "p" else high
        limits = {"min_value": low, "max_value": most, "step": evidence.STEPS.get(found.shared, 0.1)}
        limits["format"] = "%.4g"

    def keep(chosen: float | None) -> None:
        history.change(lanes_at="" if chosen is None else repr(float(chosen)))

    fields.view(
        st.number_input, f"{sign}, exactly", f"compare_exact_{found.shared}", value, keep, **{"value": None, **limits},
        placeholder=sign, label_visibility="collapsed",
        help=f"Solves every lane at this {sign}, also between the points of the paths.",
    )  # fmt: skip


@st.fragment
def cursor(drawn: Sequence[Shown]) -> None:
    """Draw the shared slider with everything that follows it; a release runs only this."""
    paths = [one.path for one in drawn]
    found = lane_steps.steps(paths, [one.lane.over(METHODS) for one in drawn])
    name = tuple((derive_paths.key(one.params), one.waiting, one.path is None) for one in drawn)
    compare_player.listen(found, name)
    here = steps.place(found, paths, history.current().lanes_at)
    exact: list[Path | None] = [None] * len(drawn)
    if here.kind == "exact" and here.value is not None:
        exact = solved_at(drawn, here.value)
    places = st.columns([1.5, 2.2, 7] if found.shared else [2.2, 8.5], gap="small", vertical_alignment="center")
    if found.shared:
        with places[0]:
            number_box(found, here)
    places[-2].button(
        "Each at its best", key="compare_best", on_click=lambda: history.change(lanes_at=""),
        disabled=here.kind == "best", help="Sends every lane to the point of its path with the highest validation score.",
    )  # fmt: skip
    places[-1].caption(words(found, here, any(exact)))
    compare_player.draw(drawn, found, here, exact, name)
    history.end()
    if not any(one.waiting for one in drawn):
        explorable.lanes(history.current(), drawn, here.step)
    shown = table.rows(drawn, here.indices, exact)
    table.draw(shown)
    if not any(one.earlier for one in drawn):
        checks(shown)


def checks(shown: Sequence[table.Row]) -> None:
    """Draw the way from each lane's certificate to its check."""
    for place, (one, path, index) in enumerate(shown):
        asked = proof.of_point(predictions.Chosen(path, index, one.params))
        proof.pocket(asked, f"lane_{place}", f"Check {session_words.plain(one.label)} yourself")


def explanation(drawn: Sequence[Shown]) -> None:
    """Draw what the picture is, how to read it, what it cannot tell, and the problem each method solves."""
    what, look, limits = st.columns(3, gap="large")
    what.markdown(session_words.text("compare"))
    look.markdown(session_words.text("compare_look"))
    limits.markdown(session_words.text("compare_cannot"))
    with st.expander("What each method solves", icon=":material/functions:"):
        for method, solved in dict.fromkeys(
            (METHODS[one.lane.algorithm], derive_paths.told(one.params)) for one in drawn
        ):
            st.markdown(f"**{method.label}.** {method.one_line}")
            st.latex(solved.formula)
            st.markdown(f"{solved.look_for} {solved.cannot_tell}")
            st.caption(method.paper)
    with st.expander("What the certificate says", icon=":material/verified:"):
        st.markdown(session_words.text("certificate"))


def lanes(params: Params) -> None:
    """Draw the lanes: the constant figure of their paths, and below it what follows the cursor."""
    drawn = comparison.shown(params)
    at_once = all(one.path is not None for one in drawn) and any(one.earlier for one in drawn)
    if not at_once:
        request(params)
        drawn = comparison.shown(params)
    views = [LaneView(one.label, _picture(one), note(one, params), one.waiting) for one in drawn]
    with st.container(key="compare_figure"):
        charts.show(lanes_figure(views, dark=charts.is_dark()), compare_player.CHART)
    for one in drawn:
        if one.error:
            st.error(f"{session_words.plain(one.label)}: {session_words.plain(one.error)}")
    if any(one.error for one in drawn):
        st.button("Try again", key="compare_again", on_click=again, args=(params,))
    if any(one.path is not None for one in drawn):
        cursor(drawn)
        _references(params, drawn)
        downloads.strip(lambda: lanes_figure(views), "Lanes")
    explanation(drawn)
    if at_once:
        models(params)
    watch(params)


def _references(params: Params, drawn: Sequence[Shown]) -> None:
    """Draw plain models on the same rows below the lanes, once every lane has ended."""
    waiting = bool(comparison.missing(params)) or any(one.waiting or one.earlier for one in drawn)
    known, name = beside.found(params, waiting), next(one.path.score_name for one in drawn if one.path is not None)
    st.markdown("**What the scores are worth**: plain models on the same rows")
    beside.table(params, known, name)
    beside.unfinished(params, known, waiting)
    if not waiting:
        beside.score_all(list(dict.fromkeys(one.params for one in drawn)))


def _picture(one: Shown) -> Path | None:
    return None if one.path is None else derive_paths.picture(one.params, one.path)[1]


def models(params: Params) -> None:
    """See to it that the models of paths that came with the project are fitted, after they are drawn."""
    st.caption("Computed earlier with these settings. The models are being fitted here; what needs them appears then.")
    if preparation().ready(derive_paths.needs(*comparison.missing(params))):
        request(params)
        if not comparison.missing(params):
            history.rerun()


def tabs() -> None:
    """Draw the choice between the two views of the page."""
    fields.field_view(
        st.segmented_control, "View", "compare", options=list(TABS), format_func=TABS.__getitem__, required=True,
        label_visibility="collapsed",
    )  # fmt: skip


left, right = st.columns([7, 5], vertical_alignment="center")
with left:
    tabs()
if history.current().compare == "toy":
    with st.sidebar:
        toy.rail()
    try:
        toy.request(history.current())
        toy.show(history.current())
    except MKLError as error:
        st.error(session_words.plain(error))
elif notices.usable_table():
    if history.current().compare == "search" and tables.table(history.current()).task != "novelty":
        try:
            with st.sidebar:
                search.rail()
            search.show(history.current())
        except MKLError as error:
            st.error(session_words.plain(error))
    elif tables.table(history.current()).task == "novelty":
        st.info("This table has no target, so there is no score to compare. Choose a target on the Data page.")
        nav.link("data", "Go to Data")
    else:
        try:
            with st.sidebar:
                rail.draw()
            with right:
                told(comparison.lanes(history.current()), history.current())
            with st.container(key="compare_answer"):
                lanes(history.current())
        except MKLError as error:
            st.error(session_words.plain(error))
