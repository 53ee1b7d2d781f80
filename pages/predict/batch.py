"""A whole file of new rows: read as the training table was, bounded, predicted, and handed back as
a table.
"""

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from mklcore.answer.raw_rows import interval_with, predicted, sets_with
from mklcore.answer.thresholds import USUAL
from mklcore.data.dataset import Dataset, counted
from mklcore.data.reading import NewRows, TableEncoder
from mklcore.errors import DataError, ParameterError
from mklcore.estimators.conformal import Conformal
from mklcore.figures.captions import score as score_text
from mklcore.paths.scoring import Scoring, label_of, scored
from pages.shared.private_streamlit import plain
from pages.shared.session import state
from pages.shared.values.tables import file_columns
from pages.shared.widgets import controls, drawing, grids
from pages.shared.work import work

MOST_ROWS = 20_000
AT_A_TIME = 500
SHOWN_ROWS = 200
LEVEL = 0.9  # share of new rows that intervals and sets are to cover
# scores that it has, too
_OF_ONE_CLASS = ("accuracy", "neg_root_mean_squared_error", "neg_mean_absolute_error")


class Batch(NamedTuple):
    """The answers, notes of the reader, and the score over the rows with a target, or why there is
    none.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]
    n_scored: int = 0
    score: float | None = None
    unscored: str = ""


def take() -> None:
    """Keep the uploaded bytes in the session: the uploader is empty again after a change of page."""
    file = controls.value("batch_file")
    if file is not None and (refused := state.refusal(file)):
        state.memory().notice = refused
    elif file is not None:
        state.memory().batch = state.Upload(file.name, file.getvalue())


def draw(
    key: object,
    model: Any,
    table: Dataset,
    encoder: TableEncoder,
    scoring: Scoring,
    sure: Conformal | None,
    threshold: float = USUAL,
) -> None:
    """Draw the upload and the table of answers; ``key`` names the model."""
    st.file_uploader(
        "A file with new rows",
        type=["csv", "tsv", "txt", "parquet", "xlsx"],
        key="batch_file",
        on_change=take,
        max_upload_size=state.UPLOAD_LIMIT_MB,
        help="The columns of the training table, in any order. The file stays in this session.",
    )
    file = state.memory().batch
    if file is None:
        target = table.log_of or table.target_name
        scored = f" With a column {plain(target)} the predictions are scored as well."
        said = "" if table.task == "novelty" else scored
        st.caption(f"Columns the file needs: {columns_needed(table)}.{said}")
        return
    st.markdown(f"**{plain(file.name)}**")

    def make(progress: Callable[..., None]) -> Batch:
        new = encoder.read(file.content)
        return answers(model, new, table, scoring, sure, progress, threshold)

    name = (work.mine(), "batch", key, hashlib.sha256(file.content).hexdigest(), sure is None)
    match work.get(name, make, title="Predictions", compiled=False):
        case work.Ready(batch):
            _table(batch, label_of(scoring), sure is not None)
        case work.Failed() as failed:
            drawing.refusal(failed, "batch_refused")


def columns_needed(table: Dataset, most: int = 8) -> str:
    """The columns that a file needs, by the names they have in the file of the table."""
    every = file_columns(table)
    rest = len(every) - most
    return ", ".join(map(plain, every[:most])) + (f" and {rest} more" if rest > 0 else "")


def answers(
    model: Any,
    new: NewRows,
    table: Dataset,
    scoring: Scoring,
    sure: Conformal | None = None,
    progress: Callable[..., None] = lambda *_: None,
    threshold: float = USUAL,
) -> Batch:
    """The prediction of every row, its decision values or probabilities, and how sure it is, some
    rows at a time; ``threshold`` parts two classes.
    """
    rows = new.table
    if len(rows) > MOST_ROWS:
        raise DataError(
            f"The file has {len(rows):,} rows; at most {MOST_ROWS:,} are predicted at "
            "once. Cut it in parts."
        )
    parts: list[dict[str, np.ndarray]] = []
    for first in range(0, len(rows), AT_A_TIME):
        progress(first / len(rows), f"row {first:,} of {len(rows):,}")
        parts.append(_answers(model, rows[first : first + AT_A_TIME], table, sure, threshold))
    found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    said = found.pop("said")
    decision = found.pop("decision")
    frame = pd.DataFrame({"row": np.arange(1, len(rows) + 1), **found})
    known = np.zeros(len(rows), dtype=bool)
    if new.target is not None:
        frame[f"{table.log_of or table.target_name} in the file"] = new.target
        known = np.isfinite(new.target) if table.task == "regression" else new.target != ""
    n_scored = 0 if table.task == "novelty" else int(known.sum())
    if new.target is None or not n_scored:
        return Batch(frame, new.notes)
    truth = new.target[known]
    if table.task != "regression":
        said = said.astype(str)
        truth = truth.astype(str)
    try:
        if np.unique(truth).size < 2 and scoring not in _OF_ONE_CLASS:
            raise ParameterError("their targets are all the same")
        score = scored(model, decision[known], truth, scoring, said[known])
    except ParameterError as error:
        return Batch(frame, new.notes, n_scored, unscored=str(error))
    return Batch(frame, new.notes, n_scored, score)


def _answers(
    model: Any, rows: np.ndarray, table: Dataset, sure: Conformal | None, threshold: float
) -> dict[str, np.ndarray]:
    said = np.asarray(predicted(model, rows, threshold))
    name = table.log_of or table.target_name
    if table.task == "regression":
        found = {"said": said, "decision": said, f"predicted {name}": said}
        if sure is not None:
            ends = interval_with(model, sure, rows, LEVEL)
            found |= {
                f"{end} ({LEVEL:.0%} interval)": ends[:, k] for k, end in enumerate(("from", "to"))
            }
        return found
    decision = np.asarray(model.decision_function(rows))
    if table.task == "novelty":
        ordinary = np.where(said > 0, "ordinary", "unusual").astype(object)
        return {
            "said": said,
            "decision": decision,
            "the model says": ordinary,
            "decision value": decision,
        }
    found = {"said": said, "decision": decision, f"predicted {name}": said}
    if hasattr(model, "calibration_"):
        likely = model.predict_proba(rows)
        found |= {
            f"probability of {name}": likely[:, k] for k, name in enumerate(table.class_names)
        }
    else:
        each = decision.reshape(len(rows), -1)
        names = table.class_names if each.shape[1] > 1 else ("",)
        found |= {f"decision value {name}".strip(): each[:, k] for k, name in enumerate(names)}
    if sure is not None:
        every = np.array(table.class_names, dtype=object)
        likely = sets_with(sure, rows, LEVEL, said)
        sets = [" or ".join(every[chosen]) for chosen in likely]
        found[f"{LEVEL:.0%} set"] = np.array(sets, dtype=object)
    return found


def _table(batch: Batch, score_name: str, is_sure: bool) -> None:
    if batch.n_scored:
        why = f", for {plain(batch.unscored)}" if batch.unscored else ""
        reached = score_text(score_name, batch.score, "**")
        st.markdown(
            f"{score_name} on {counted(batch.n_scored, 'row')} with a target: {reached}{why}"
        )
    st.dataframe(
        batch.frame.head(SHOWN_ROWS), hide_index=True, height=280, alt="Predictions, row by row"
    )
    if len(batch.frame) > SHOWN_ROWS:
        st.caption(f"{len(batch.frame) - SHOWN_ROWS:,} more rows are in the download.")
    if is_sure:
        st.caption("Intervals and sets: about 9 in 10 similar new rows fall inside.")
    if batch.notes:
        controls.sentences(batch.notes)
    grids.take(batch.frame, "predictions", "csv_batch", "Predictions as CSV")
