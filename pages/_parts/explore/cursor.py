"""Explore, the cursor: its slider, the exact value between solved points, and what is known where it stands."""

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from mklcore.paths.path import Path
from pages._parts.derive import importance as derive_importance
from pages._parts.derive import looks, paths, references
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import beside, evidence
from pages._parts.explore import ahead, bands, columns, edges, inside, views
from pages._parts.export import explorable, proof
from pages._parts.params import parameters
from pages._parts.params import places as params_places
from pages._parts.players import path_player
from pages._parts.session import board, history, words


def _exact_point(shown: paths.Answer, value: float) -> Path | None:
    """Return the answer between the path's points, once it is solved."""
    params = shown.params
    solved = paths.exact(params, value).value
    if solved is not None:
        return solved
    where, note = params_places.label(shown.path.param, value), st.empty()
    text = f"At {where} nothing is solved yet."
    job = board.mine(paths.exact(params, value).key)
    if job is not None and not job.live:
        note.warning(f"{text} The exact solve {board.ending(job)}")
        st.button("Solve it", key="solve_point", on_click=_solve, args=(params, value))
        return None
    note.info(f"{text} Solving.", icon=":material/radio_button_unchecked:")
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
def draw(shown: paths.Answer, follows: list[path_player.View], baselines: columns.Baselines, asked: object) -> None:
    """Draw the cursor's slider, the number box, and what is known at the cursor; a release runs only this.

    ``asked`` is the path that was asked for when the page ran: a click in here on what changes it calls for the whole
    app.
    """
    path, name = shown.path, (shown.tag, shown.waiting)
    path_player.listen(path, name)
    params = history.current()
    if paths.key(params) != asked:
        history.rerun()
    here, exact = params_places.place(path, params.at), None
    row, below = st.container(key="explore_cursor"), st.container()
    if here.exact and shown.earlier:
        below.info(words.EARLIER)
    elif here.exact and not shown.waiting:
        try:
            with below:
                exact = _exact_point(shown, here.value)
        except MKLError as error:
            below.error(words.plain(error))
            here = params_places.place(path, None)
    facts = views.facts(shown)
    with row:
        left, right = st.columns((views.LEFT, sum(views.RIGHT)), gap="medium", vertical_alignment="center")
        with left:
            evidence.number_box(path, here)
        with right:
            path_player.player(path, name, here, exact, [*follows, facts], waiting=shown.older)
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
                _save(shown, here.index)
        if not (shown.waiting or shown.earlier):
            proof.pocket(proof.of_point(Chosen(point, index, shown.params)), "explore")
    edges.draw(shown)
    ahead.draw(shown)
    if not shown.stage:
        st.caption(looks.rows_caption(shown))
    if shown.earlier and not params.present:
        st.caption(words.EARLIER)
    if params.look == "columns":
        bands.draw(shown, point, index)
        columns.stability(shown, point, index)
    elif params.look == "inside":
        inside.draw(shown, point, index)
    evidence.weights_table(point, path, index)


def _save(shown: paths.Answer, index: int) -> None:
    """Draw the way to take the moving picture along, from where its cursor is let go."""
    params = history.current()
    known = beside.found(shown.params, True)
    explorable.path(
        params, shown.path, paths.algorithm(params), paths.words_for(params), index=index,
        shares=derive_importance.shares(shown, "columns"), references=tuple(references.lines(known)),
    )  # fmt: skip


def _beyond(path: Path, at: float | None) -> None:
    """Say so where more kernels are asked for than there are."""
    if path.param == "s" and at is not None and at > len(path.kernel_names):
        st.warning(
            f"s = {style.number(at)} asks for more kernels than the {len(path.kernel_names)} of the dictionary; "
            "the answer for all of them is shown."
        )
