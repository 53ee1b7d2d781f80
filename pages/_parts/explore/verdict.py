"""Explore, the verdict: how good the chosen model is beside plain ones, and what of the answer is still to come."""

import pandas as pd
import streamlit as st

from mklcore.figures import style
from pages._parts.derive import many_rows, paths, references, settling, verdicts
from pages._parts.derive.verdicts import Verdict
from pages._parts.drawing.asking import offer
from pages._parts.params import places
from pages._parts.session import board, history, words

PLACES = {"ahead": "behind this model", "level": "level", "behind": "ahead of this model"}


def known(shown: paths.Answer) -> Verdict | None:
    """Return the verdict on an answer that no longer changes its point."""
    return None if shown.stage or shown.waiting else verdicts.known(shown.params)


def draw(shown: paths.Answer) -> None:
    """Draw the verdict in one sentence, and under it what is preliminary."""
    found = known(shown)
    if found is not None:
        st.markdown(verdicts.sentence(found), help=verdicts.note(found))
        if extra := verdicts.boosting(found):
            st.caption(extra)
    elif shown.path.can_choose:
        index = shown.path.first_look
        reached = words.score(shown.path.score_name, float(shown.path.val_score[index]), "**")
        rows = "" if shown.stage else " on the validation set"
        st.markdown(f"{reached} {shown.path.score_name}{rows}.")
    if waits := preliminary(shown):
        st.caption(f":material/pending: Preliminary: {waits}.")


def preliminary(shown: paths.Answer) -> str:
    """Return what is still to come, empty where the answer is settled."""
    if shown.waiting:
        return (
            f"{shown.stage[:1].lower()}{shown.stage[1:]}" if shown.stage else "an earlier answer; the new one follows"
        )
    if shown.earlier:
        return "computed earlier with these settings; the models are being fitted here, the final choice follows"
    points = settling.open_points(shown.params)
    low = many_rows.under_way(shown.params)
    points += ["a model on all training rows"] if low else []
    return f"{style.joined(points)} {'follows' if len(points) == 1 else 'follow'}" if points else ""


def request(shown: paths.Answer) -> None:
    """Start what settles the answer, once it is drawn and nothing else runs."""
    params = shown.params
    if shown.waiting or shown.earlier or not settling.open_points(params):
        return
    held, name = board.held(), settling.key(params)
    if held is not None and held.live:
        return
    before = board.mine(name)
    offer(
        name, lambda: board.ask(settling.job(params)), small=lambda: True, waits=str,
        ended=lambda progress: f"The final answer {board.ending(progress)}", label="Go on", button="settle",
        primary=False,
    )  # fmt: skip
    if board.mine(name) is not before:
        history.rerun()  # the whole app, so that its progress is drawn and watched


def table(shown: paths.Answer) -> None:
    """Draw the plain models with scores, differences and their errors."""
    found = known(shown)
    if found is None:
        return
    name = found.score_name
    rows = [("this model", words.score(name, found.ours.score), "", "")]
    for key, one in sorted(found.plain.items(), key=lambda pair: -pair[1].score):
        gap = verdicts.points(name, one)
        rows.append((references.LABELS[key], words.score(name, one.score), gap, PLACES[one.place]))
    frame = pd.DataFrame(rows, columns=["model", name, "this model's lead ± standard error", "beside this model"])
    st.table(frame.set_index("model"))
    where = places.label(shown.path.param, float(shown.path.values[shown.path.first_look]))
    st.caption(f"All on the same {found.rows:,} held-out rows; this model at {where}.")
