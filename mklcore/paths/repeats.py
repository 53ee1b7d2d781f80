"""The same model on other splits of a table: how much its score depends on the rows that were drawn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset, Split, three_way_split
from mklcore.errors import ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.grams import GramStack
from mklcore.parameters import check_whole
from mklcore.paths.parallel import sweep
from mklcore.paths.scoring import Scoring, scorer_of

MOST_REPEATS = 1000
SCORES = ("train", "validation", "test")


@dataclass(frozen=True)
class SplitSpec:
    """One split: its seed and its shares of validation and test rows."""

    seed: int
    validation: float = 0.25
    test: float = 0.25
    stratified: bool = True


@dataclass(frozen=True, eq=False)
class SplitRow:
    """What one split gave: three scores, kernels used, relative gap (NaN without a certificate), which kernels were
    used and with what weight, (M,) each, and seconds.
    """

    spec: SplitSpec
    train: float
    validation: float
    test: float
    n_kernels: int
    gap: float
    used: Array
    weights: Array
    seconds: float
    kernel_names: tuple[str, ...] = field(repr=False, default=())


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """A table and what to fit on it, for any split: ``problem(spec)`` builds the kernels on the training rows, fits,
    scores.

    Give ``kernels``, a dictionary, with ``normalise`` and ``center`` as for its grams; or ``stack``, a ready stack on
    all rows, whose table is that of ``read_stack``. ``estimator`` is unfitted and is not changed. ``scoring`` as in
    ``fit_path``. ``most_rows``: of every part at most so many are drawn, for tables of many rows.
    """

    data: Dataset
    estimator: Any
    kernels: KernelDictionary | None = None
    stack: GramStack | None = None
    normalise: str | None = None
    center: bool = False
    scoring: Scoring = None
    most_rows: int | None = None

    def __post_init__(self) -> None:
        if (self.kernels is None) == (self.stack is None):
            raise ParameterError("Repeated splits need either kernels or a ready stack, and not both.")

    def __call__(self, spec: SplitSpec) -> SplitRow:
        """Fit on one split."""
        from sklearn.base import clone

        began = time.perf_counter()
        parts = three_way_split(self.data, spec.validation, spec.test, spec.seed, stratify=spec.stratified)
        if self.most_rows is not None:
            parts = Split(*(part.drawn(self.most_rows, spec.seed) for part in parts))
        train, validation, test = self._grams(parts)
        fitted = clone(self.estimator).set_params(kernels="precomputed")
        fitted.fit(train, parts.train.y)
        scorer = (lambda model, K, y: model.score(K, y)) if self.scoring is None else scorer_of(self.scoring)
        scores = [
            float(scorer(fitted, K, part.y)) for K, part in zip((train.values, validation, test), parts, strict=True)
        ]
        gap = getattr(fitted, "relative_gap_", None)
        weights = np.asarray(fitted.weights_, dtype=float)
        used = np.zeros(train.n_kernels, dtype=bool)
        used[list(fitted.selected_)] = True
        return SplitRow(
            spec,
            scores[0],
            scores[1],
            scores[2],
            int(fitted.n_kernels_),
            math.nan if gap is None else float(np.max(gap)),
            used,
            weights if weights.ndim == 1 else weights.mean(axis=0),
            time.perf_counter() - began,
            tuple(train.names),
        )

    def _grams(self, parts: Split) -> tuple[GramStack, Array, Array]:
        """The stack (M, n, n) on the training rows, and the blocks (M, n_new, n) of validation and of test rows."""
        if self.kernels is not None:
            train = self.kernels.grams(parts.train.X, self.normalise, self.center)
            return train, train.cross(parts.validation.X), train.cross(parts.test.X)
        assert self.stack is not None
        rows = [part.X[:, 0].astype(np.int64) for part in parts]  # the table of a stack holds the numbers of its rows
        return self.stack.take(rows[0]), self.stack.block(rows[1], rows[0]), self.stack.block(rows[2], rows[0])


@dataclass(frozen=True, eq=False)
class Repeats:
    """R splits of one table: ``rows``, and the mean and the standard deviation of what they measured."""

    rows: tuple[SplitRow, ...]

    def values(self, name: str) -> Array:
        """One figure of every split, (R,): "train", "validation", "test", "n_kernels", "gap" or "seconds"."""
        return np.array([float(getattr(row, name)) for row in self.rows])

    def mean(self, name: str) -> float:
        """Mean over the splits."""
        return float(self.values(name).mean())

    def sd(self, name: str) -> float:
        """Standard deviation over the splits, with R - 1; NaN for a single one.

        The splits share rows: the spread says how far a score depends on the rows drawn. It is no standard error of the
        mean.
        """
        found = self.values(name)
        return float(found.std(ddof=1)) if found.size > 1 else math.nan

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels of the first split; widths relative to the rows go by the same name in every split."""
        return self.rows[0].kernel_names

    @property
    def used(self) -> Array:
        """In how many splits each kernel is used, (M,)."""
        used: Array = np.sum([row.used for row in self.rows], axis=0)
        return used

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{row.spec.seed}</td>" + "".join(f"<td>{getattr(row, name):.4f}</td>" for name in SCORES)
            + f"<td>{row.n_kernels}</td></tr>"
            for row in self.rows
        )  # fmt: skip
        head = "".join(f"<th>{escape(name)}</th>" for name in ("seed", *SCORES, "kernels"))
        mean_and_sd = f"{self.mean('test'):.4f} &plusmn; {self.sd('test'):.4f}"
        return f"<b>{len(self.rows)} splits</b>, test {mean_and_sd}<table><tr>{head}</tr>{body}</table>"


def repeat_splits(
    problem: SplitProblem,
    n_repeats: int = 10,
    first: SplitSpec | None = None,
    n_jobs: int | None = None,
    known: Mapping[SplitSpec, SplitRow] | None = None,
    callback: Callable[[int, int], Any] | None = None,
) -> Repeats:
    """How much does a score depend on the split: fit the same model on ``n_repeats`` splits, with the seeds that follow
    ``first``.

    Kernels, their normalisation and relative widths are made anew on every training part. ``n_jobs``, ``known`` and
    ``callback`` as in ``sweep``. The model's parameters stay as they are: nothing is chosen on the validation rows.
    """
    check_whole("n_repeats", n_repeats, 2, MOST_REPEATS)
    start = first or SplitSpec(0)
    specs = [SplitSpec(start.seed + k, start.validation, start.test, start.stratified) for k in range(int(n_repeats))]
    return Repeats(tuple(sweep(problem, specs, n_jobs, known, callback).values()))
