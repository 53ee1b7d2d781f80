"""Predict a whole file: read as the training table was, bounded, and handed back as a table."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.data.dataset import Dataset, counted
from mklcore.data.encoder import NewRows
from mklcore.errors import DataError, MKLError, ParameterError
from mklcore.estimators.explain import kernels_in_use
from mklcore.figures import style
from mklcore.selection.probabilities import Probabilities
from mklcore.selection.scoring import scored
from mklcore.uncertainty import HeldOutScores, QuantileBand
from pages._parts.derive import judging, paths, predictions, scores, tables
from pages._parts.derive.opening import opened
from pages._parts.derive.predictions import Chosen
from pages._parts.drawing import controls, evidence, listings, refusals
from pages._parts.jobs.job import Job, Piece
from pages._parts.session import board, fields, history, uploads, words
from pages._parts.session.memory import Upload, memory

MOST_ROWS = 20_000
QUICK_ENTRIES = 3e7  # kernel values up to which the answer is computed at once
ROWS_AT_A_TIME = 500
SHOWN_ROWS = 200
_DISTANCES = ("neg_root_mean_squared_error", "neg_mean_absolute_error")  # scores that one row has, too


@dataclass(frozen=True, eq=False)
class Batch:
    """The rows of a file with the model's answers, notes of the reader, and the score where the file has the target.

    ``score`` is called as the path's is; None where no row has a target or where ``unscored`` says why there is none.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]
    score: float | None
    n_scored: int
    unscored: str = ""


def take() -> None:
    """Keep the uploaded bytes in the session: the uploader is empty again after a change of page."""
    file = fields.value("batch_file")
    if file is not None and (refused := uploads.refusal(file)):
        memory().notice = refused
    elif file is not None:
        memory().batch = Upload(file.name, file.getvalue())


def show(point: Chosen) -> None:
    """Draw the upload and the table of answers."""
    table = tables.table(point.params)
    st.file_uploader(
        "A file with new rows",
        type=["csv", "tsv", "txt", "parquet", "xlsx"],
        key="batch_file",
        on_change=take,
        max_upload_size=uploads.UPLOAD_LIMIT_MB,
        help="The columns of the training table, in any order. The file stays in this session.",
    )
    file = memory().batch
    if file is None:
        scored = f" With a column {words.plain(table.target_name)} the predictions are scored as well."
        needed = columns_needed(tables.table(point.params))
        st.caption(f"Columns the file needs: {needed}.{'' if table.task == 'novelty' else scored}")
        return
    st.markdown(f"**{words.plain(file.name)}**")
    try:
        batch = _batch(point, file)
    except MKLError as error:
        refusals.draw(error, "batch_refused")
        return
    if batch is not None:
        _table(point, batch)


def columns_needed(table: Dataset, most: int = 8) -> str:
    """Return the columns that a file needs, by the names they have in the file of the table."""
    every = [*dict.fromkeys((*(name for name, _ in table.columns), *(name for name, _ in table.sequences)))]
    rest = len(every) - most
    return ", ".join(map(words.plain, every[:most])) + (f" and {rest} more" if rest > 0 else "")


def _batch(point: Chosen, file: Upload) -> Batch | None:
    """Return the answers, at once or when the worker is done.

    They stay in this session: the file is the person's own.
    """
    band = judging.in_use(history.current())
    key = ("batch", point.key, hashlib.sha256(file.content).hexdigest(), band is not None)
    found = memory().caches.batch.get(key)
    if found is not None:
        return found
    reading = predictions.reading(history.current())
    new = opened(
        memory().caches.batch_rows, key, file.content, "Reading the rows",
        lambda tick: reading.read(file.content, tick=tick),
    )  # fmt: skip
    if len(new.X) > MOST_ROWS:
        raise DataError(
            f"The file has {len(new.X):,} rows; at most {MOST_ROWS:,} are predicted at once. Cut it in parts."
        )
    kernels = len(kernels_in_use(point.fitted)) or 1
    if len(new.X) * kernels * point.fitted.n_train_ <= QUICK_ENTRIES:
        return memory().caches.batch.made(
            key,
            lambda: answers(point, new, tables.table(point.params), None, judging.maps(point), _held_out(point)),
        )
    return _later(point, new, key)


def _held_out(point: Chosen) -> HeldOutScores | QuantileBand | None:
    """Return what intervals and sets are made from."""
    return judging.in_use(history.current()) or judging.held_out(point)


def _later(point: Chosen, new: NewRows, key: object) -> Batch | None:
    """Have the worker predict; return the answers once they are there."""
    progress, result_cache = board.mine(key), memory().caches.batch
    if progress is None:
        progress = board.ask(job(point, new, key))
    found = result_cache.get(key)
    if found is not None:
        return found
    if progress.live:
        st.caption("Predicting the rows.")
    else:
        what = "The prediction" if progress.error else "It"
        st.warning(f"{what} {board.ending(progress)}")
        st.button("Predict again", key="batch_again", on_click=board.forget)
    return None


def job(point: Chosen, new: NewRows, key: object) -> Job:
    """Return the work that predicts the rows of a file; the answers are in this session's cache."""
    table, maps, held_out = tables.table(point.params), judging.maps(point), _held_out(point)
    piece = Piece(
        lambda report: answers(point, new, table, report.tick, maps, held_out),
        partial(memory().caches.batch.put, key),
        len(new.X),
    )
    return Job(key, "Predictions", (piece,), lambda now: paths.key(now) == paths.key(point.params))


def answers(
    point: Chosen, new: NewRows, table: Dataset, tick: Callable[[int, int], None] | None = None,
    maps: Probabilities | None = None, held_out: HeldOutScores | QuantileBand | None = None,
) -> Batch:  # fmt: skip
    """Return prediction and decision values of every row, some rows at a time."""
    fitted = point.fitted
    labels: list[np.ndarray] = []
    values: list[np.ndarray] = []
    measure = scores.name_for(point.params.scoring, table)
    for first in range(0, len(new.X), ROWS_AT_A_TIME):
        part = new.table[first : first + ROWS_AT_A_TIME]
        labels.append(np.asarray(fitted.predict(part)))
        if table.task != "regression":
            decision = np.asarray(fitted.decision_function(part))
            values.append(decision.reshape(len(part), -1))
        if tick is not None:
            tick(min(first + ROWS_AT_A_TIME, len(new.X)), len(new.X))
    said, name = np.concatenate(labels), f"predicted {table.target_name}"
    judged = _score(fitted, said, np.concatenate(values) if values else said, new.target, measure)
    if table.task == "novelty":
        said, name = predictions.ordinary(said), "the model says"
    frame: dict[str, Any] = {"row": np.arange(1, len(new.X) + 1), name: said}
    if values:
        every = np.concatenate(values)
        names = table.class_names if every.shape[1] > 1 else ("",)
        frame |= {f"decision value {name}".strip(): every[:, k] for k, name in enumerate(names)}
        if maps is not None and every.shape[1] in (1, len(table.class_names)):
            likely = maps.of(every[:, 0] if every.shape[1] == 1 else every)
            frame |= {f"probability of {name}": likely[:, k] for k, name in enumerate(table.class_names)}
    if held_out is not None:
        frame |= _sure(held_out, new, said, np.concatenate(values) if values else None, table)
    if new.target is not None:
        frame[f"{table.target_name} in the file"] = new.target
    return Batch(pd.DataFrame(frame), new.notes, *judged)


def _sure(
    held_out: HeldOutScores | QuantileBand, new: NewRows, said: np.ndarray, decision: np.ndarray | None, table: Dataset
) -> dict[str, np.ndarray]:
    """Return the columns that say how sure each answer is: both ends of its interval, or the classes of its set."""
    level = f"{judging.LEVEL:.0%}"
    if decision is None or isinstance(held_out, QuantileBand):
        ends = _ends(held_out, new, said)
        return {f"from ({level} interval)": ends[:, 0], f"to ({level} interval)": ends[:, 1]}
    chosen = held_out.sets(decision, judging.LEVEL)
    names = np.array(table.class_names, dtype=object)
    return {f"{level} set": np.array([" or ".join(names[row]) for row in chosen], dtype=object)}


def _ends(held_out: HeldOutScores | QuantileBand, new: NewRows, said: np.ndarray) -> np.ndarray:
    if isinstance(held_out, QuantileBand):
        return held_out.predict_interval(new.table)
    return held_out.interval(said, judging.LEVEL)


def _score(
    fitted: Any, said: np.ndarray, decision: np.ndarray, target: np.ndarray | None, measure: str | None
) -> tuple[float | None, int, str]:
    """Return the score ``measure`` over the rows whose target is known, their number, and why there is none."""
    if target is None or measure is None:
        return None, 0, ""
    known = target != "" if hasattr(fitted, "classes_") else np.isfinite(target)
    if not known.any():
        return None, 0, ""
    answers, truth, count = said[known], target[known], int(known.sum())
    if hasattr(fitted, "classes_"):
        answers, decision = answers.astype(str), decision[:, 0] if decision.shape[1] == 1 else decision
        truth = truth.astype(str)
    if np.unique(truth).size < 2 and measure not in ("accuracy", *_DISTANCES):
        return None, count, "their targets are all the same"
    try:
        return scored(fitted, decision[known], truth, measure, answers), count, ""
    except ParameterError as error:
        return None, count, str(error)


def _table(point: Chosen, batch: Batch) -> None:
    """Draw the answers, notes of the reader, and the way to take them along."""
    if batch.n_scored:
        name, why = point.path.score_name, f", for {words.plain(batch.unscored)}" if batch.unscored else ""
        score = evidence.score(name, batch.score)
        st.markdown(f"{name} on {counted(batch.n_scored, 'row')} with a target: {score}{why}")
    st.dataframe(batch.frame.head(SHOWN_ROWS), hide_index=True, height=280, alt="Predictions, row by row")
    more = len(batch.frame) - SHOWN_ROWS
    if more > 0:
        st.caption(f"{more:,} more rows are in the download.")
    if judging.in_use(history.current()) is not None:
        st.caption(judging.SENTENCE)
    elif (sure := judging.held_out(point)) is not None:
        level, what = style.percent(judging.LEVEL), "intervals" if sure.classes is None else "sets"
        st.caption(
            f"{level} {what}: split conformal on {sure.scores.size} validation rows. They cover at least {level} of "
            "exchangeable new rows, slightly fewer because these rows also selected the model."
        )
    if batch.notes:
        controls.sentences(batch.notes)
    listings.take(batch.frame, "predictions", "csv_batch", "Predictions as CSV")
