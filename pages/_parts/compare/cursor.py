"""Compare, the cursor: one slider for all lanes, an exact value in all of them, and what follows."""

from collections.abc import Sequence

import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import steps as lane_steps
from mklcore.figures.steps import Steps
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
from pages._parts.params.parameters import METHODS, Params
from pages._parts.params.steps import Place
from pages._parts.players import compare_player
from pages._parts.session import board, fields, history
from pages._parts.session import words as session_words


def _solved_at(drawn: Sequence[Shown], value: float) -> list[Path | None]:
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
    """Have the worker solve the lanes at ``value``, unless it was stopped or is at it; tell whether it is done with
    that.
    """
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


def _words(found: Steps, here: Place, solved: bool) -> str:
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


def _number_box(found: Steps, here: Place) -> None:
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
def draw(drawn: Sequence[Shown]) -> None:
    """Draw the shared slider with everything that follows it; a release runs only this."""
    paths = [one.path for one in drawn]
    found = lane_steps.steps(paths, [one.lane.over(METHODS) for one in drawn])
    name = tuple((derive_paths.key(one.params), one.waiting, one.path is None) for one in drawn)
    compare_player.listen(found, name)
    here = steps.place(found, paths, history.current().lanes_at)
    exact: list[Path | None] = [None] * len(drawn)
    if here.kind == "exact" and here.value is not None:
        exact = _solved_at(drawn, here.value)
    places = st.columns([1.5, 2.2, 7] if found.shared else [2.2, 8.5], gap="small", vertical_alignment="center")
    if found.shared:
        with places[0]:
            _number_box(found, here)
    places[-2].button(
        "Each at its best", key="compare_best", on_click=lambda: history.change(lanes_at=""),
        disabled=here.kind == "best", help="Sends every lane to the point of its path with the highest validation "
                                           "score.",
    )  # fmt: skip
    places[-1].caption(_words(found, here, any(exact)))
    compare_player.draw(drawn, found, here, exact, name)
    history.end()
    if not any(one.waiting for one in drawn):
        explorable.lanes(history.current(), drawn, here.step)
    shown = table.rows(drawn, here.indices, exact)
    table.draw(shown)
    if not any(one.earlier for one in drawn):
        _checks(shown)


def _checks(shown: Sequence[table.Row]) -> None:
    """Draw the way from each lane's certificate to its check."""
    for place, (one, path, index) in enumerate(shown):
        asked = proof.of_point(predictions.Chosen(path, index, one.params))
        proof.pocket(asked, f"lane_{place}", f"Check {session_words.plain(one.label)} yourself")
