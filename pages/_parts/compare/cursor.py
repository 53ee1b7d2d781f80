"""Compare, the cursor: one slider for all methods, an exact value in all of them, and what follows."""

from collections.abc import Sequence

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import moving
from mklcore.figures.moving import Steps
from mklcore.paths.path import Path
from pages._parts.compare import table
from pages._parts.derive import comparison, predictions
from pages._parts.derive import paths as derive_paths
from pages._parts.derive.comparison import Shown
from pages._parts.drawing import evidence
from pages._parts.export import explorable, proof
from pages._parts.jobs.job import JobState
from pages._parts.params import places as params_places
from pages._parts.params import steps
from pages._parts.params.parameters import Params
from pages._parts.params.steps import Place
from pages._parts.players import compare_player
from pages._parts.session import board, history
from pages._parts.session import words as session_words


def _solved(drawn: Sequence[Shown], here: Place) -> list[Path | None]:
    """Return the answers of all methods where they have to be solved, or say what keeps them."""
    params, values = history.current(), here.values
    try:
        exact = comparison.points(drawn, values)
        if not any(exact) and _ask_points(params, drawn, values):
            exact = comparison.points(drawn, values)
    except MKLError as error:
        st.error(session_words.plain(error))
        return [None] * len(drawn)
    job = board.mine(comparison.points_key(params, values))
    if job is not None and not job.live and not any(exact):
        reason = session_words.plain(job.error) if job.error else f"It was {job.state.value}."
        st.warning(f"The methods are not solved at this value. {reason}")
    return exact


def _ask_points(params: Params, drawn: Sequence[Shown], values: comparison.Values) -> bool:
    """Have the worker solve the methods at ``values``, unless it was stopped or is at it; tell whether it is done."""
    paths, before = board.mine(comparison.key(params)), board.mine(comparison.points_key(params, values))
    if paths is not None and paths.live:  # else it would stop the work on the methods that are still to come
        return False
    if before is not None and before.state is not JobState.DONE:
        return False
    job = comparison.points_job(params, drawn, values)
    if not job.pieces:
        return False
    progress = board.ask(job)
    if progress.live:
        history.rerun()  # the line of progress belongs to the frame
    return True


def _words(found: Steps, here: Place, is_solved: bool) -> str:
    """Say what the shared slider does, and where the methods stand now."""
    if here.best:
        now = "Each method is at its highest validation score."
    elif is_solved or not any(here.values):
        now = "Every method is solved here."
    else:
        now = "Hollow bars are interpolated between solved points."
    if found.shared:
        return f"One {params_places.symbol(found.shared)} for all methods. {now}"
    return f"The methods have different parameters: the slider sets a share of each path. {now}"


def _number_box(found: Steps, here: Place) -> None:
    """Draw the box for one exact value in all methods; an emptied box sends each method to its best."""

    def keep(chosen: float | None) -> None:
        history.change(methods_at="" if chosen is None else repr(float(chosen)))

    sign = params_places.symbol(found.shared)
    value = None if here.best else float(history.current().methods_at)
    evidence.exact_box(
        found.shared, "compare_exact", value, found.values, keep, value=None, placeholder=sign,
        label_visibility="collapsed", help=f"Solves every method at this {sign}, also between the points of the paths.",
    )  # fmt: skip


@st.fragment
def draw(drawn: Sequence[Shown], notes: Sequence[str]) -> None:
    """Draw the shared slider, the figure below it and everything that follows; a release runs only this.

    ``notes`` say of each method why it has no path.
    """
    paths = [one.path for one in drawn]
    found = moving.steps(paths, [one.method.over for one in drawn])
    name = tuple((derive_paths.key(one.params), one.waiting, one.path is None) for one in drawn)
    compare_player.listen(found, name)
    here = steps.place(found, paths, history.current().methods_at)
    exact = _solved(drawn, here) if any(here.values) else [None] * len(drawn)
    made = compare_player.drawn(drawn, notes, found, exact)
    if not any(paths):
        compare_player.chart(made)
        return
    lead, box, best = st.columns([6, 1.8, 1.6], gap="small", vertical_alignment="center")
    with lead:
        compare_player.slider(made, found, here, exact, name)
    if found.shared:
        with box:
            _number_box(found, here)
    best.button(
        "Each at its best", key="compare_best", on_click=lambda: history.change(methods_at=""), disabled=here.best,
        help="Moves every method to the point of its path with the highest validation score.",
    )  # fmt: skip
    st.caption(_words(found, here, any(exact)))
    compare_player.chart(made)
    compare_player.table(made)
    history.end()
    if not any(one.waiting for one in drawn):
        explorable.methods(history.current(), drawn, round(here.position))
    shown = table.rows(drawn, here.indices, exact)
    table.draw(shown)
    if not any(one.earlier for one in drawn):
        _checks(shown)


def _checks(shown: Sequence[table.Row]) -> None:
    """Draw the way from each method's certificate to its check."""
    for place, (one, path, index) in enumerate(shown):
        asked = proof.of_point(predictions.Chosen(path, index, one.params))
        proof.pocket(asked, f"method_{place}", f"Check {session_words.plain(one.label)} yourself")
