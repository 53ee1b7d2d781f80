"""An answer for new rows: what it says of them, and what is kept of it in a file."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mklcore.answer.auto import AutoMKLClassifier, AutoMKLRegressor
from mklcore.answer.exploration import Exploration
from mklcore.answer.raw_rows import AnswersRows
from mklcore.answer.thresholds import USUAL, check_threshold
from mklcore.answer.verdict import ColumnEffect, ComparedReference, Verdict
from mklcore.errors import DataError
from mklcore.estimators.conformal import Conformal
from mklcore.paths.files import read_paths, write_paths
from mklcore.paths.path import Path

ESTIMATORS = (AutoMKLClassifier, AutoMKLRegressor, Conformal)
# of a table whose intervals are computed for the file where nobody has asked for them yet
MOST_ROWS = 5000


@dataclass(frozen=True, eq=False, repr=False)
class SavedAnswer(AnswersRows):
    """An answer from a file: it predicts raw rows as the answer did that was saved, and has its
    verdict, columns and path.

    ``model``, ``verdict``, ``columns``, ``path`` (its figures, without the fitted models),
    ``index``, ``notes``, ``label`` and ``threshold`` are those of the `Exploration`; ``conformal``
    is None where no intervals were known.
    """

    model: Any
    verdict: Verdict
    columns: tuple[ColumnEffect, ...]
    path: Path
    index: int
    notes: tuple[str, ...]
    label: str
    conformal: Any = None
    threshold: float = USUAL

    @classmethod
    def of(cls, found: Exploration) -> SavedAnswer:
        """What is kept of an answer; the intervals of small tables are computed now, unless they
        are known.
        """
        rows = found.learnt_from
        sure = found.known_conformal
        if (
            sure is None
            and rows.task != "novelty"
            and found.request.stack is None
            and rows.n_samples <= MOST_ROWS
        ):
            try:
                sure = found.conformal
            except DataError:  # too few rows
                sure = None
        if sure is not None:  # around one model, not around its copy
            sure = copy.copy(sure)
            sure.estimator = sure.estimator_ = found.model
        names = [one.name for one in fields(cls)]
        return cls(
            **{name: getattr(found, name) for name in names if name != "conformal"}, conformal=sure
        )

    def __repr__(self) -> str:
        return f"SavedAnswer({self.label}, {self.verdict.score_name}, {len(self.path)} points)"

    def __str__(self) -> str:
        return str(self.verdict)


def for_a_file(value: Any) -> Any:
    """What of an answer, or of an estimator that holds one, goes into a file; everything else as it
    is.
    """
    if isinstance(value, Exploration):
        return SavedAnswer.of(value)
    if isinstance(value, AutoMKLClassifier | AutoMKLRegressor) and hasattr(value, "exploration_"):
        kept = copy.copy(value)
        kept.exploration_ = for_a_file(value.exploration_)
        return kept
    if isinstance(value, Conformal) and hasattr(value, "estimator_"):
        kept = copy.copy(value)
        kept.estimator = value.estimator_
        return kept
    return value


def check(value: Any) -> None:
    """DataError where what a file holds is no answer, or no estimator that holds one."""
    found = getattr(value, "exploration_", value)
    if isinstance(found, Conformal):
        fits = len(found.models_) > 0 and np.shape(found.model_of_) == np.shape(found.scores_)
    else:
        fits = (
            isinstance(found, SavedAnswer)
            and isinstance(found.verdict, Verdict)
            and isinstance(found.path, Path)
            and isinstance(found.conformal, Conformal | None)
            and hasattr(found.model, "kernel_names_")
        )
        if fits and found.threshold != USUAL:
            check_threshold(found.model, found.threshold)
    if not fits:
        raise DataError("The file holds parts of an answer that do not fit together.")


def written_path(path: Path) -> dict[str, Any]:
    """The figures of a path as an array."""
    return {"content": np.frombuffer(write_paths(path=path), dtype=np.uint8)}


def read_path(content: Any) -> Path:
    """The path in such an array."""
    return read_paths(np.asarray(content, dtype=np.uint8).tobytes())["path"]


TUPLES = (ColumnEffect, ComparedReference)
DATACLASSES = (Verdict, SavedAnswer)
