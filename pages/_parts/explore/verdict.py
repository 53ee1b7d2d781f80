"""Explore, the verdict: how good the chosen model is beside plain ones, and what of the answer is still to come."""

import math

import pandas as pd
import streamlit as st

from pages._parts.derive import looks, low_rank, paths, references, verdicts
from pages._parts.derive.verdicts import Verdict
from pages._parts.drawing import preliminary
from pages._parts.params import places
from pages._parts.session import words
from pages._parts.session.memory import Preliminary, memory

PLACES = {"ahead": "behind this model", "level": "level", "behind": "ahead of this model"}


def known(shown: paths.Answer) -> Verdict | None:
    """Return the verdict on an answer that no longer changes its point."""
    return None if shown.stage or shown.waiting else verdicts.verdict(shown.params).value


def draw(shown: paths.Answer) -> None:
    """Draw the verdict in one sentence, and under it what is preliminary, or what settling it has changed."""
    found, waits = known(shown), preliminary.to_come(shown)
    score = float(shown.path.val_score[shown.path.first_look]) if shown.path.can_choose else math.nan
    if found is not None:
        score = found.ours.score
        st.markdown(verdicts.sentence(found), help=verdicts.note(found))
        if extra := verdicts.boosting(found):
            st.caption(extra)
    elif text := reached(shown, score):
        st.markdown(text)
    else:
        score = math.nan  # nobody reads it
    if waits:
        preliminary.note(waits)
        remember(shown, score)
    elif text := refined(shown, score):
        st.caption(f":material/check: {text}")


def reached(shown: paths.Answer, score: float) -> str:
    """Return the score of an answer without a verdict: of a first look with its standard error, else nothing."""
    name = shown.path.score_name
    if math.isnan(score) or (shown.stage and not math.isfinite(shown.error)):
        return ""
    error = f" ± {verdicts.error(name, shown.error)}" if shown.stage else ""
    rows = f" in a first look at {looks.ROWS} rows" if shown.stage else " on the validation set"
    return f"{words.score(name, score, '**')}{error} {name}{rows}."


def remember(shown: paths.Answer, score: float) -> None:
    """Keep the first score of an answer that is still to change."""
    mind, key = memory(), _key(shown)
    if shown.older or math.isnan(score) or (mind.preliminary is not None and mind.preliminary.key == key):
        return
    mind.preliminary = Preliminary(key, shown.path.score_name, score)


def refined(shown: paths.Answer, score: float) -> str:
    """Return by how much the settled score differs from the preliminary one this session has seen; else nothing."""
    before, name = memory().preliminary, shown.path.score_name
    if before is None or before.key != _key(shown) or before.score_name != name:
        return ""
    if words.score(name, score) == words.score(name, before.score):
        return ""
    unit = "points" if name in words.SHARES else name
    return f"Refined: {verdicts.signed(name, score - before.score)} {unit} since the preliminary answer."


def _key(shown: paths.Answer) -> object:
    """Return the key that an answer has in common with the one on all rows."""
    return paths.key(low_rank.exactly(shown.params))


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
    where = places.where(shown.path, shown.path.first_look)
    st.caption(f"All on the same {found.rows:,} held-out rows; this model at {where}.")
