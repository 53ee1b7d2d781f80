"""Explore, what stands beside the ranking: plain models, how sure it is, what was left out, and the
ways to take it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.answer.columns import select_columns
from mklcore.answer.exploration import Exploration
from mklcore.answer.explore import answered, made_of
from mklcore.answer.verdict import BETTER, FEW_ROWS, TREES, rounded, surely_better
from mklcore.data.columns import LEFT_OUT
from mklcore.data.dataset import Dataset
from mklcore.errors import Note, Repair
from mklcore.figures import captions, style
from mklcore.io.catalog import NOVELTY
from mklcore.paths.path import Path
from pages.shared.export import files
from pages.shared.private_streamlit import bold, plain
from pages.shared.session import state
from pages.shared.session.parameters import SPLIT, Params
from pages.shared.values import answers, tables
from pages.shared.widgets import controls, drawing, grids
from pages.shared.work import work

NAMES = {
    "linear": "linear",
    "RBF": "RBF machine",
    "forest": "random forest",
    "boosting": "gradient boosting",
}
MOST_LEFT_OUT = 4


# Plain models beside it


def compared(found: Exploration, pending: bool) -> None:
    """Draw the plain models with their scores, and what follows where one of them is ahead."""
    if found.learnt_from.task == NOVELTY:
        return
    verdict = found.verdict
    test = found.test is not None
    name = verdict.score_name
    st.markdown(
        f"**Compared with**, {name} {f'on {verdict.rows:,} held-out rows' if test else 'by folds'}"
    )
    rows = [("this model", captions.score(name, verdict.score if test else found.score), "")]
    for one in verdict.references:
        gap = f" ({drawing.with_error(name, one.difference, one.error)})"
        rows.append(
            (
                NAMES.get(one.name, one.name),
                captions.score(name, one.score),
                "the same" if one.place == "same" else f"{place(one, verdict.rows)}{gap}",
            )
        )
    if not verdict.references:
        rows += [
            (NAMES.get(one, one), captions.score(name, score), "")
            for one, score in found.baselines.items()
        ]
    elif not set(TREES) & set(found.baselines):
        wait = "on its way" if pending else "not yet compared"
        later = wait if verdict.trees_read else "cannot read sequences"
        rows += [(NAMES[one], later, "") for one in TREES]
    st.table(pd.DataFrame(rows, columns=["model", name, "this model is"]).set_index("model"))
    behind = {one.name for one in verdict.references if one.place == "behind"}
    better = surely_better(verdict.references)
    is_said = verdict.relation == BETTER and better is not None and better.name in TREES
    if behind & set(TREES) and not is_said:
        st.caption("Trees do better here: perhaps the target jumps, or many columns interact.")
    if found.taken.variance_shares:
        st.caption(
            f"This model is one machine on a sum of kernels. {made_of(found.taken.variance_shares)}"
        )
        st.button(
            "See it with one kernel per column",
            key="one_per_column",
            on_click=state.change,
            kwargs={"recipe": "recommended", "together": False, "at": None},
        )


def place(one: Any, rows: int) -> str:
    """Where our model stands beside a plain one."""
    if one.place == "level":
        return "too close to tell" if rows < FEW_ROWS else "level"
    return "better" if one.place == "ahead" else "worse"


# How sure


def how_sure(found: Exploration, params: Params) -> None:
    """Draw what is asked for on request: intervals, and columns that stand out from noise."""
    learnt = found.learnt_from
    if learnt.task == NOVELTY:
        return
    show = lambda _: st.markdown(width_of(found))  # noqa: E731
    with st.expander(
        "How sure is a prediction?",
        icon=":material/straighten:",
        key="deep_intervals",
        type="compact",
    ):
        drawing.request(
            "Compute intervals", "ask_intervals", answers.intervals, answers.key(params), show
        )
    if learnt.sequences or tables.on_stack(params) or learnt.n_samples < 40:
        return
    with st.expander(
        "Columns that stand out from noise",
        icon=":material/grain:",
        key="deep_noise",
        type="compact",
    ):
        st.caption("At most a tenth of the columns named is expected to be false.")
        drawing.request(
            "Name them", "ask_noise", partial(selected, found), params.of(*SPLIT), named
        )


def selected(found: Exploration, params: Params) -> Any:
    """The columns that are told from noise."""

    def make(progress: Callable[..., None]) -> Any:
        return select_columns(
            found.learnt_from, seed=found.seed, callback=lambda done, total: progress(done / total)
        )

    return work.get(("selected", params), make, title="Columns and noise", seconds=10.0)


def named(found: Any) -> None:
    """Draw the columns that a method names."""
    listed = style.joined(list(map(bold, found.names)))
    st.markdown(f"Stands out: {listed}." if found.names else "No column stands out from noise.")
    st.caption(plain(found.notes[0]))


def width_of(found: Exploration) -> str:
    """How wide the intervals are, or how many classes a set holds."""
    rows = (found.test or found.learnt_from).drawn(200, found.seed)
    X = rows if rows.strings else rows.X
    if found.learnt_from.task == "regression":
        ends = found.predict_interval(X)
        half = float(np.median(ends[:, 1] - ends[:, 0])) / 2
        return (
            f"About 9 in 10 similar new rows fall within **± {rounded(half)}** of their "
            "prediction (median width)."
        )
    sizes = found.predict_set(X).sum(axis=1)
    enough = "one class is enough to be right for about 9 in 10 similar new rows"
    if (sizes == 1).all():
        return f"For all of the rows {enough}."
    return (
        f"For **{100 * np.mean(sizes == 1):.0f} %** of the rows {enough}; the others need several."
    )


def splits(params: Params) -> None:
    """Draw the whole answer on other splits, on request."""
    with st.expander(
        "The same on other splits", icon=":material/casino:", key="repeats", type="compact"
    ):
        st.caption("Other rows are held out each time, and everything is chosen again.")
        controls.field_view("Splits", "repeats")
        drawing.request(
            "Repeat", "repeat", partial(repeated, params.repeats), answers.key(params), repeats
        )


def repeated(count: int, params: Params) -> Any:
    """The answers at the next seeds: (seed, score, guess, columns by effect)."""
    data, asked = tables.table(params), answers.request(params)

    def make(
        progress: Callable[..., None],
    ) -> list[tuple[int, float, tuple[str, ...]]]:
        found = []
        for k in range(count):

            def tick(done: int, total: int, k: int = k) -> None:
                progress((k + done / total) / count, f"{k} of {count} splits")

            one = answered(data, replace(asked, seed=asked.seed + k + 1), tick)
            found.append(
                (asked.seed + k + 1, one.verdict.score, tuple(c.name for c in one.columns[:3]))
            )
        return found

    key = ("other splits", params, count)
    return work.get(key, make, title="Other splits", seconds=3.0 * count, long=True)


def repeats(found: list[tuple[int, float, tuple[str, ...]]]) -> None:
    """Draw the spread of the score, and how often a column is among the first three."""
    scores = np.array([score for _, score, _ in found])
    often = Counter(name for _, _, names in found for name in names)
    first = ", ".join(
        f"**{plain(name)}** {style.counted(times, 'time')}" for name, times in often.most_common(5)
    )
    st.markdown(
        f"Score {style.number(float(scores.mean()))} ± "
        f"{style.number(float(scores.std(ddof=1)))} (standard deviation over {len(found)} "
        f"splits). Among the first three columns: {first}."
    )
    frame = pd.DataFrame(found, columns=["seed", "score", "first columns"])
    frame["first columns"] = [", ".join(names) for names in frame["first columns"]]
    grids.take(frame, "splits", "csv_repeats")


# Notes


def left_out(params: Params) -> None:
    """Say which columns of a file were not used, and why, each with the click that uses it."""
    if not params.is_upload or tables.on_stack(params):
        return
    table = tables.table(params)
    unused = [
        one
        for one in tables.summary(params).columns
        if not one.used and one.name != table.target_name
    ]
    for k, one in enumerate(unused[:MOST_LEFT_OUT]):
        said, button = st.columns([5, 1], vertical_alignment="center")
        said.caption(f"Not used: '{plain(one.name)}', {LEFT_OUT[one.kind]}.")
        use = Repair.of("Use it", uses=((one.name, "category"),))
        if one.kind not in ("constant", "empty"):
            button.button(
                "Use it",
                key=f"use_{k}",
                type="tertiary",
                on_click=state.change,
                kwargs=tables.changes(params, use),
            )
    if len(unused) > MOST_LEFT_OUT:
        more = len(unused) - MOST_LEFT_OUT
        was = "column was" if more == 1 else "columns were"
        st.caption(f"{more} more {was} not used: see Data.")


def logarithm(found: Exploration, table: Dataset) -> None:
    """Offer the logarithm of the target where folds prefer it, and the way back from it."""
    for note in map(Note.of, (*table.notes, *found.notes)):
        if any("log_target" in dict(repair.settings) for repair in note.repairs):
            with controls.row():
                st.caption(plain(note.statement), width="content")
                drawing.beside(note.repairs, "logarithm")


def notes(found: Exploration, table: Dataset) -> None:
    """Draw what was used and chosen."""
    learned = found.learnt_from.n_samples
    held_out = 0 if found.test is None else found.test.n_samples
    if learned + held_out == table.n_samples:
        held = f"{held_out:,} held out" if held_out else "none held out"
        rows = f"Learned from {learned:,} rows, {held}."
    else:  # of how many it learned, the notes say
        was = "was" if held_out == 1 else "were"
        counted = style.counted(held_out, "row") if held_out else "No rows"
        rows = f"{counted} {was} held out."
    with st.expander("Rows used, and what was tried", icon=":material/notes:", type="compact"):
        controls.sentences([rows, *(Note.of(note).statement for note in found.notes)])


# Taking it


def take(
    found: Exploration,
    table: Dataset,
    point: Path,
    index: int,
    params: Params,
) -> None:
    """Draw the ways to take the answer: one file that still drags, the columns, the model, and how
    to check it.
    """
    if params.present:
        return
    with controls.row():
        known = answers.best_known(params) or found
        files.answer_file(params, known, index if point is found.path else found.index)
        frame = pd.DataFrame([one._asdict() for one in found.columns])
        grids.take(frame, "columns", "csv_columns", "Columns as CSV")
        chosen = point is found.path and index == found.index
        proved = files.of_answer(params, found, found.model if chosen else point.estimators[index])
        files.model_button(proved, found)
    files.pocket(proved, "explore")


def solved_at(found: Exploration, value: float) -> tuple[Path, list[float]]:
    """The point of the path at another value, and the effects of the columns there."""
    point = found.at(value)
    return point, found.effects_of(point.estimators)[0].tolist()
