"""Explore many rows: low rank follows the first answer by itself, the two ways stand side by side."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from mklcore.errors import MKLError
from mklcore.figures import style
from pages._parts.derive import low_rank, many_rows, paths, tables
from pages._parts.derive.many_rows import Way
from pages._parts.params.parameters import LOW_RANK, MOST_LANDMARKS, SAMPLE, Params
from pages._parts.session import board, fields, history, words
from pages._parts.session.memory import memory

LANDMARKS = (20, 50, 100, 200, 500, MOST_LANDMARKS)


def settle() -> None:
    """Show the path on all rows once it is there and not noticeably worse on the rows left out, and the first answer
    again where something else is asked for.

    Not a step of the person's, so not one to be undone: what was chosen by hand stays.
    """
    mind, params = memory(), history.current()
    low = many_rows.may_take(params)
    if low is not None and not _live(low):
        mind.took = paths.key(low)
        _become(low)
    elif params.way == LOW_RANK and mind.took is not None and paths.key(params) != mind.took:
        mind.took = None
        _become(replace(params, way=""))


def _become(params: Params) -> None:
    memory().params = params
    history.rerun()  # what stands above the page has been drawn with the others


def _live(low: Params) -> bool:
    progress = board.mine(paths.key(low))
    return progress is not None and progress.live


def follow(shown: paths.Answer) -> None:
    """Have the first answer followed by the path on all rows, once it is drawn."""
    params = history.current()
    if shown.waiting or shown.earlier or paths.key(shown.params) != paths.key(params):
        return
    low = low_rank.approximately(params)
    if not many_rows.starts_unasked(params) or paths.known(low) is not None or board.mine(paths.key(low)) is not None:
        return
    board.ask(many_rows.job(params))
    history.rerun()  # the whole app, so that its progress is drawn and watched


# The two ways


def draw(shown: paths.Answer) -> None:
    """Draw the two ways with rows, scores and what can be done, where there are many rows."""
    params = history.current()
    if shown.stage or not many_rows.is_many(params):
        if shown.path.estimators[0] is not None:
            _lost(shown)
        return
    try:
        sampled, many = many_rows.ways(params)
    except MKLError as error:
        st.warning(words.plain(error))
        return
    with st.container(border=True):
        st.markdown(f"**{len(tables.split(params).train.y):,} training rows: two ways**")
        name, best = shown.path.score_name, many_rows.best((sampled, many))
        _path_row(sampled, name, SAMPLE, params, best is sampled)
        _path_row(many, name, LOW_RANK, params, best is many)
        st.caption(
            "Exact on more rows: fit one model with the script of this page on as many as memory and minutes allow, or "
            "learn from files of millions of rows with `mklcore.fit_rows`."
        )
        _short(params)
        _lost(shown)


def _short(params: Params) -> None:
    """Say that low rank is worse here than the sample, what it loses, and offer more landmarks."""
    found = many_rows.falls_short(params)
    if found is None:
        return
    kept = "" if params.way else ", which is why the sample stays shown"
    st.markdown(
        f"Low rank scores less on the rows left out than the exact kernels on a sample{kept}: with {found.landmarks} "
        f"landmarks the approximation error of {words.plain(found.worst)} is "
        f"{style.percent(found.shares[found.worst])}."
    )
    more = next((count for count in LANDMARKS if count > found.landmarks), None)
    if more is not None:
        st.button(f"Low rank with {more} landmarks", key="way_more", on_click=_take_more, args=(more,))


def _take_more(landmarks: int) -> None:
    memory().took = None
    history.change(way=LOW_RANK, landmarks=landmarks, at=None)


def _row(way: Way, score_name: str, best: bool) -> tuple[str, str]:
    """Return what is known of a way: its name and rows, and score with seconds."""
    if way.score is None:
        return f"{way.label}: {way.rows:,} rows", "not computed yet" if way.seconds is None else "no target to score"
    on = "all rows left out" if way.is_final else "some of the rows left out"
    said = words.score(score_name, way.score, "**")
    return (
        f"{way.label}: {way.rows:,} rows",
        f"{score_name} {said} on {on}; solved in {words.seconds(way.seconds or 0.0)}"
        + " :green-badge[better of these]" * best,
    )


def _columns(way: Way, score_name: str, best: bool) -> st.delta_generator.DeltaGenerator:
    left, middle, right = st.columns([2.2, 3, 1.4], vertical_alignment="center")
    name, known = _row(way, score_name, best)
    left.markdown(name)
    middle.markdown(known)
    return right


def _path_row(way: Way, score_name: str, kind: str, params: Params, best: bool) -> None:
    place = _columns(way, score_name, best)
    if (params.way == LOW_RANK) == (kind == LOW_RANK):
        place.markdown(":gray-badge[shown]")
        return
    progress = board.mine(paths.key(way.params))
    if progress is not None and progress.live:
        place.caption("on its way")
        return
    if progress is not None and progress.broke_off and way.score is None:
        place.caption(f"It {board.ending(progress)}")
    place.button("Show it", key=f"way_{kind}", on_click=take, args=(kind,), width="stretch")


def take(kind: str) -> None:
    """Show one of the two paths, because a person asked for it."""
    memory().took = None
    history.change(way=kind, at=None)


def _lost(shown: paths.Answer) -> None:
    """Say what the approximation loses, in all and kernel by kernel."""
    found = many_rows.lost(shown.path)
    if found is None:
        return
    st.caption(f"Low rank: {words.plain(found.sentence())} The certificate is that of the approximated kernels.")
    opened = st.expander("Approximation error, kernel by kernel", key="trace_lost", on_change="rerun")
    if opened.open:
        frame = pd.DataFrame(
            {"kernel": list(found.shares), "approximation error (share of the trace)": list(found.shares.values())}
        )
        frame = frame.sort_values(frame.columns[1], ascending=False)
        opened.dataframe(frame, hide_index=True, height=240, alt="Approximation error by kernel", key="trace_table")


# The rail


def control() -> None:
    """Draw the choice between the kernels themselves and features, and the number of landmarks, where the method
    can.
    """
    params = history.current()
    if low_rank.why_not(params):
        return

    def keep(on: bool) -> None:
        take(LOW_RANK if on else SAMPLE)

    reported = "On: every kernel becomes features at a few landmark rows, so that all rows are learnt from."
    fields.view(st.toggle, "Low rank", "field_low_rank", params.way == LOW_RANK, keep, help=reported)
    if params.way != LOW_RANK:
        return

    def landmarks(count: int) -> None:
        memory().took = None
        history.change(landmarks=count)

    now = params.landmarks or low_rank.LANDMARKS
    fields.view(
        st.select_slider, "Landmarks", "field_landmarks", now, landmarks, options=sorted({*LANDMARKS, now}),
        help="More landmarks: less of each kernel is lost, and the path takes longer.",
    )  # fmt: skip
