"""Explore: which columns and kernels a model uses along a path, with a cursor one can drag, and how sure the answer is."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from dataclasses import replace

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import moving, score_path, style, telling, weight_path
from mklcore.path import Path
from mklcore.references import Reference
from mklcore.scoring import ACCEPTED
from pages._parts.derive import gram_stacks, looks, paths, references, shelves, tables
from pages._parts.derive import shares as derive_shares
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import asking, beside, charts, evidence
from pages._parts.explore import (
    ahead,
    bands,
    columns,
    edges,
    inside,
    many_rows,
    preparing,
    rail,
    ranking,
    repeats,
    tuning,
)
from pages._parts.explore import views as explore_views
from pages._parts.export import downloads, explorable, proof
from pages._parts.frame import notices
from pages._parts.jobs.preparing import preparation
from pages._parts.params import parameters
from pages._parts.params import places as params_places
from pages._parts.players import path_player
from pages._parts.session import board, fields, history, words

COLUMNS = (1.1, 2.1, 1.15)
Baselines = dict[str, Reference | None]
EARLIER = "Computed earlier with these settings. The models are being fitted here; what needs them appears then."
LOOKS = {"columns": "Which columns matter", "path": "Path", "inside": "Inside"}


def request() -> bool:
    """See to it that the path is there or on its way; tell whether a person has to ask for it first."""
    params = history.current()
    if paths.known(params) is not None:
        return False
    cost = gram_stacks.foresee(params)
    rows = len(gram_stacks.parts(params).train.y)
    return asking.see_to(
        paths.key(params), lambda: board.ask(paths.job(params)),
        small=lambda: paths.is_small(params),
        waits=lambda: f"A path over {cost.n_kernels} kernels on {rows} rows takes a while. Start it when you like.",
        ended=lambda progress: f"The path {board.ending(progress)}",
        label="Compute the path", button="compute",
    )  # fmt: skip


def look() -> bool:
    """See to it that a first look is there or on its way where it is worth its while; tell whether it is on its way."""
    params = history.current()
    if not looks.wanted(params) or looks.known(params) is not None or board.mine(paths.key(params)) is not None:
        return False
    asked = board.mine(looks.key(params)) or board.ask(looks.job(params))
    return asked.live


def go_on() -> None:
    """Have the first look followed by the answer itself, once it has been drawn."""
    before = board.mine(paths.key(history.current()))
    request()
    now = board.mine(paths.key(history.current()))
    if now is not before and now is not None:
        history.rerun()  # the whole app, so that its progress is drawn and watched


def models(params: parameters.Params) -> None:
    """See to it that the models of a path that came with the project are fitted, after it is drawn and its solvers are ready."""
    if preparation().ready(paths.needs(params)):
        request()
        if paths.known(params) is not None:
            history.rerun()


def figures(shown: paths.Answer, baselines: Baselines) -> None:
    """Draw the weights and the scores along the path: constant figures, over which the browser lays the cursor."""
    dark, (name, path) = charts.is_dark(), paths.picture(shown.params, shown.path, shown.tag)
    named = replace(path, kernel_names=telling.labels(path.kernel_names, path.kernel_families))
    plain = tuple(references.lines(baselines))
    score_name = f"{path.score_name[:1].upper()}{path.score_name[1:]}"
    drawn = {
        path_player.CHART: ("Solution path", lambda: weight_path(named, dark=dark), lambda k: weight_path(named, k)),
        path_player.SCORES: (
            score_name,
            lambda: score_path(path, dark=dark, narrow=True, references=plain),
            lambda k: score_path(path, k, references=plain),
        ),
    }
    places = st.columns(COLUMNS[1:], gap="small")
    for place, (key, (title, make, at)) in zip(places, drawn.items(), strict=True):
        made = shelves.shelf(shown.params).made((key, name, dark, plain), make)
        with place:
            take = lambda at=at: at(params_places.place(path, history.current().at).index)  # noqa: E731  where the cursor is by then
            downloads.titled(f":small[**{title}**]", take, title)
            charts.show(charts.dimmed(made, dark=dark) if shown.older else made, key)


def exact_point(shown: paths.Answer, value: float) -> Path | None:
    """Return the answer between the path's points. Until it is solved, say between which numbers its optimum lies."""
    params = shown.params
    solved = paths.known_point(params, value)
    if solved is not None:
        return solved
    where, note = params_places.label(shown.path.param, value), st.empty()
    known = paths.interval(params, shown.path, value)
    told = f"At {where} nothing is solved yet."
    if known is not None:
        told = (
            f"At {where} the optimum lies between **{style.number(known.low)}** and **{style.number(known.high)}**: known at "
            "once, from the solved points beside it."
        )
    job = board.mine(paths.point_key(params, value))
    if job is not None and not job.live:
        note.warning(f"{told} The exact solve {board.ending(job)}")
        st.button("Solve it", key="solve_point", on_click=_solve, args=(params, value))
        return None
    note.info(f"{told} Solving.", icon=":material/radio_button_unchecked:")
    if job is None and paths.is_quick(params, shown.path, value):
        solved = paths.point(params, value)
    elif job is None:
        _solve(params, value)
        history.rerun()
    if solved is not None:
        note.empty()
    return solved


def _solve(params: parameters.Params, value: float) -> None:
    board.ask(paths.point_job(params, value))


@st.fragment
def cursor(shown: paths.Answer, views: list[path_player.View], baselines: Baselines, asked: object) -> None:
    """Draw the cursor's slider, the number box, and what is known at the cursor; a release runs only this.

    ``asked`` is the path that was asked for when the page ran: a click in here on what changes it calls for the whole app.
    """
    path, name = shown.path, (shown.tag, shown.waiting)
    path_player.listen(path, name)
    params = history.current()
    if paths.key(params) != asked:
        history.rerun()
    here, exact = params_places.place(path, params.at), None
    row, below = st.container(key="explore_cursor"), st.container()
    if here.exact and shown.earlier:
        below.info(EARLIER)
    elif here.exact and not shown.waiting:
        try:
            with below:
                exact = exact_point(shown, here.value)
        except MKLError as error:
            below.error(words.plain(error))
            here = params_places.place(path, None)
    facts = explore_views.facts(shown)
    with row:
        left, right = st.columns((COLUMNS[0], COLUMNS[1] + COLUMNS[2]), gap="medium", vertical_alignment="center")
        with left:
            evidence.number_box(path, here)
        with right:
            path_player.player(path, name, here, exact, [*views, facts], waiting=shown.older)
        _beyond(path, params.at)
    history.end()
    point, index = (exact, 0) if exact else (path, here.index)
    with below:
        known, test = st.columns([7.4, 2], vertical_alignment="center")
        with known:
            path_player.texts(facts, path, here.index, [2, 1, 1.35], waiting=shown.older)
        with test:
            evidence.test(point, index, shown.params)
            if not (shown.older or shown.stage or params.present):
                save(shown, here.index)
        if not (shown.waiting or shown.earlier):
            proof.pocket(proof.of_point(Chosen(point, index, shown.params)), "explore")
    edges.draw(shown)
    ahead.draw(shown, baselines)
    if not shown.stage:
        st.caption(looks.rows_told(shown))
    if shown.earlier and not params.present:
        st.caption(EARLIER)
    if params.look == "columns":
        bands.draw(shown, point, index)
        columns.stability(shown, point, index)
    elif params.look == "inside":
        inside.draw(shown, point, index)
    evidence.weights_table(point, path, index)


def save(shown: paths.Answer, index: int) -> None:
    """Draw the way to take the moving picture along, from where its cursor is let go."""
    params = history.current()
    known = beside.found(shown.params, True)
    explorable.path(
        params, shown.path, paths.algorithm(params), paths.told(params), index=index,
        shares=derive_shares.shares(shown, "columns"), references=tuple(references.lines(known)),
    )  # fmt: skip


def _beyond(path: Path, at: float | None) -> None:
    """Say so where more kernels are asked for than there are."""
    if path.param == "s" and at is not None and at > len(path.kernel_names):
        st.warning(
            f"s = {style.number(at)} asks for more kernels than the {len(path.kernel_names)} of the dictionary; "
            "the answer for all of them is shown."
        )


def show(shown: paths.Answer) -> None:
    """Draw the answer: which columns matter, or the path, or the inside of the model; then what stands behind it."""
    params = history.current()
    with st.container(key="explore_looks", horizontal=True, vertical_alignment="center", gap="small"):
        fields.view(
            st.segmented_control, "What to look at", "field_look", params.look, lambda look: history.change(look=look),
            options=list(LOOKS), format_func=LOOKS.__getitem__, required=True, label_visibility="collapsed",
        )  # fmt: skip
        _go_on(params)
    here, path = params_places.place(shown.path, params.at), shown.path
    if shown.stage:
        st.caption(looks.rows_told(shown))
    many_rows.draw(shown)
    preparing.draw(shown)
    views: list[path_player.View] = []
    if params.look == "columns":
        ranking.see_to(shown, here.index)
    baselines = {} if params.look == "inside" else beside.found(shown.params, shown.waiting or shown.earlier)
    if params.look == "columns":
        views = columns.views(shown, baselines)
        columns.pictures(shown, here.index, baselines)
    elif params.look == "path":
        views = [explore_views.kernels(path)]
        left, right = st.columns((COLUMNS[0], COLUMNS[1] + COLUMNS[2]), gap="medium")
        with left:
            rows = moving.kernel_rows(path, dark=charts.is_dark())
            most = moving.longest_kernel(views[0].of(path), rows, len(path.kernel_names))
            path_player.bars(
                views[0], path, here.index, rows, "Kernel weights θ at ", waiting=shown.older, most=most, sortable=True,
            )  # fmt: skip
        with right:
            figures(shown, baselines)
    cursor(shown, views, baselines, paths.key(params))
    if path.score_name == ACCEPTED:
        st.caption(words.text("accepted"))
    if params.look == "path":
        beside.unfinished(shown.params, baselines, shown.waiting or shown.earlier)
    if not (shown.waiting or shown.earlier):
        beside.score_all([shown.params])
        many_rows.follow(shown)
        preparing.follow(shown)
    tuning.draw(shown)
    repeats.repeats(shown.params)
    evidence.explanation(paths.algorithm(shown.params), paths.told(shown.params))


def _go_on(params: parameters.Params) -> None:
    """Say what the slider does and which pages go on from here."""
    if params.present:
        return
    st.caption("Drag the slider: every point is a model. Then go on:", width="content")
    if tables.table(params).task != "novelty":
        nav.link("compare", "Compare")
    if not tables.on_stack(params):
        nav.link("predict", "Predict")


def usable() -> bool:
    """Tell whether the method in use can learn from the table; if not, say what to do."""
    if not notices.usable_table():
        return False
    method, task = paths.algorithm(history.current()), tables.table(history.current()).task
    if method.fits(task):
        return True
    st.info(f"{method.label} needs a target, and this table has none. Take a method that learns without one, or choose a "
            "target on the Data page.")  # fmt: skip
    for name in rail.fitting(task):
        st.button(
            f"Take {parameters.METHODS[name].label}", key=f"take_{name}", type="primary", on_click=history.change,
            kwargs={"algorithm": name, "path": "", "at": None},
        )  # fmt: skip
    nav.link("data", "Go to Data")
    return False


if usable():
    many_rows.settle()
    preparing.settle()
    with st.sidebar:
        rail.draw()
    try:
        shown = looks.answer(history.current())
        came_earlier = shown is not None and shown.earlier
        looking = not came_earlier and look()
        shown = looks.answer(history.current())
        drawn_first = shown is not None and bool(shown.stage)
        to_be_asked = not (looking or drawn_first or came_earlier) and request()
        shown = looks.answer(history.current())
        if shown is not None:
            with st.container(key=f"explore_answer_{history.current().look}"):
                show(shown)
            if drawn_first:
                go_on()
        elif not to_be_asked:
            st.markdown(words.text("waiting"))
        if shown is not None and came_earlier:
            models(shown.params)
    except MKLError as error:
        st.error(words.plain(error))
