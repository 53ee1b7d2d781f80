"""Which model should I take? Methods, dictionaries and norms tried on the same folds in a given time, with an honest
score.

    outer folds   every candidate is scored on rows that neither its fit nor its parameter has seen
    inner split   within the training rows of a fold: chooses the parameter of each candidate, and, for the honest
                  score, the winner
    honest score  mean over the outer folds of the score of the candidate that the INNER score would have chosen there

The best of many scores flatters; the honest one is that of the whole procedure, choosing included. Differences between
two candidates are paired by fold, and their intervals allow for folds that share training rows:

    mean(d) +- t_{F-1} sd(d) sqrt(1/F + 1/(F-1))

Source: Varma and Simon (2006) on nested validation; Nadeau and Bengio (2003), equation (9), on the corrected interval.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError, MKLError, ParameterError, suppress_convergence_warnings
from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.greedy import GreedyMKLClassifier, GreedyMKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor
from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import Linear
from mklcore.kernels.grams import GramStack
from mklcore.kernels.stacks import rows_of
from mklcore.parallel import sweep
from mklcore.parameters import check_positive
from mklcore.paths.path import PATH_ATTRIBUTES, Path, check_scoring, fit_path, path_grid, score_name
from mklcore.selection.bandwidths import widened
from mklcore.selection.references import plain_references
from mklcore.selection.scoring import Scoring, scorer_of
from mklcore.selection.splitters import folds

NORMS = (1.0, 4 / 3, 2.0, math.inf)
POINTS = 7
GROW = 3
SIZES = 50  # numbers of kernels that greedy selection tries; one run gives all of them
INNER = 0.25  # share of a fold's training rows that chooses
LEAST_FOLDS = 2
Progress = Callable[[int, int], Any] | None


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to learn: its ``name``, an unfitted ``estimator`` without kernels, a dictionary (None: the kernels of a
    ready stack), and the parameter to choose; or a plain model of the columns, by its ``reference`` in
    ``selection.references.PLAIN``, which chooses for itself.
    """

    name: str
    estimator: Any
    kernels: KernelDictionary | None
    param: str = "C"
    reference: str = ""


@dataclass(frozen=True)
class Trial:
    """One candidate, by its place, on one outer fold."""

    fold: int
    candidate: int


@dataclass(frozen=True)
class Outcome:
    """What one trial gave: the score that chose, the score on the fold left out, the chosen value, kernels used (NaN
    for a plain model), seconds, and whether the final fit reached its tolerance.
    """

    inner: float
    outer: float
    value: float
    n_kernels: float
    seconds: float
    finished: bool = True


@dataclass(frozen=True, eq=False)
class Tried:
    """One candidate over the folds: mean ``score`` with its standard error, mean number of kernels, chosen values,
    seconds, how far it is below the best one (mean difference with the interval from ``low`` to ``high``), and in how
    many folds its fit stopped short of the tolerance.
    """

    name: str
    score: float
    standard_error: float
    n_kernels: float
    values: tuple[float, ...]
    param: str
    seconds: float
    behind: float
    low: float
    high: float
    unfinished: int = 0


@dataclass(frozen=True, eq=False)
class ModelSearch:
    """What was tried, the best first: ``honest`` is the score to report, ``simplest`` the candidate with the fewest
    kernels within one standard error of the best; ``left_out`` names candidates that the time did not reach or that
    were refused, and why.
    """

    tried: tuple[Tried, ...]
    simplest: str
    honest: float
    honest_error: float
    n_folds: int
    score_name: str
    seconds: float
    left_out: tuple[tuple[str, str], ...]

    @property
    def best(self) -> Tried:
        """The candidate with the highest mean score; that score flatters, ``honest`` does not."""
        return self.tried[0]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{one.score:.4f}</td><td>{one.n_kernels:.1f}</td>"
            f"<td>{one.behind:.4f} ({one.low:.4f} to {one.high:.4f})</td></tr>"
            for one in self.tried
        )
        return (
            f"<b>honest {self.score_name} {self.honest:.4f} &plusmn; {self.honest_error:.4f}</b> over {self.n_folds} "
            f"folds; "
            f"simplest within one standard error: {escape(self.simplest)}<table><tr><th>model</th><th>mean</th>"
            f"<th>kernels</th><th>behind the best</th></tr>{rows}</table>"
        )


def candidates(data: Dataset, stack: GramStack | None = None) -> tuple[Candidate, ...]:
    """Methods, dictionaries and norms worth trying: four norms, MKL-GOMP, sparse MKL and both greedy methods on the
    recommended dictionary, norms and MKL-GOMP on one grid of widths over all columns, and beside them a linear model
    and gradient boosting; of a ready ``stack`` the methods on its kernels. DataError without a target.
    """
    if data.task == "novelty":
        raise DataError("The table has no target, so no model can be better than another. Choose a target.")
    if stack is not None:
        return (*_norms(data, "ready kernels", None, stack.n_kernels), *_sparse(data, "ready kernels", None))
    widths = KernelDictionary.rbf_grid([0.25, 0.5, 1.0, 2.0, 4.0]) + KernelDictionary((Linear(),))
    recommended = KernelDictionary.recommended(data)
    return (
        *(_plain(data) if data.n_features else []),
        *_norms(data, "recommended kernels", recommended, len(recommended)),
        *([] if data.sequences else _norms(data, "widths", widths, len(widths))),
        *_sparse(data, "recommended kernels", recommended),
    )


def _norms(data: Dataset, on: str, kernels: KernelDictionary | None, count: int) -> list[Candidate]:
    lp, gomp = (LpMKLRegressor, GOMPRegressor) if data.task == "regression" else (LpMKLClassifier, GOMPClassifier)
    found = [Candidate(f"p = {_norm(p)}, {on}", lp(p=p), kernels) for p in NORMS]
    return [*found, Candidate(f"GOMP, {on}", gomp(n_kernels=count), kernels, "lam")]


def _sparse(data: Dataset, on: str, kernels: KernelDictionary | None) -> list[Candidate]:
    """What chooses few kernels in another way."""
    kinds = (SMKLRegressor, GreedyMKLRegressor), (SMKLClassifier, GreedyMKLClassifier)
    smkl, greedy = kinds[data.task != "regression"]
    return [
        Candidate(f"SMKL, {on}", smkl(), kernels),
        Candidate(f"greedy descent, {on}", greedy(), kernels, "lam"),
        Candidate(f"greedy selection, {on}", greedy(criterion="empirical"), kernels, "s"),
    ]


def _plain(data: Dataset) -> list[Candidate]:
    """A line and trees, which know nothing of kernels."""
    sign = "1/alpha" if data.task == "regression" else "C"
    boosting = Candidate("gradient boosting", None, None, "leaves per tree", "boosting")
    return [Candidate("linear model", None, None, sign, "linear"), boosting]


def _norm(p: float) -> str:
    return "∞ (uniform sum)" if math.isinf(p) else f"{p:.3g}"


def search_models(
    data: Dataset,
    tried: Sequence[Candidate] | None = None,
    *,
    seconds: float = 60.0,
    n_folds: int = 5,
    seed: int = 0,
    scoring: Scoring = None,
    callback: Progress = None,
    known: Mapping[Trial, Outcome] | None = None,
    stack: GramStack | None = None,
) -> ModelSearch:
    """Try candidates on the same folds until all are done or ``seconds`` are over; all of them get a fold before any
    gets the next.

    ``tried`` : `candidates(data)` unless given. ``scoring`` as in ``fit_path``. ``callback(done, total)`` counts
    trials; raise in it to cancel. ``known`` : outcomes of an earlier, shorter search, kept up to date where it is a
    dict. ``stack`` : ready kernels of the same rows, which candidates without a dictionary are fitted on.
    ParameterError where the time did not suffice for two folds of any candidate.
    """
    check_positive("seconds", seconds)
    asked = tuple(candidates(data, stack) if tried is None else tried)
    if not asked:
        raise ParameterError("There is nothing to try: hand over at least one candidate.")
    if stack is None and any(one.kernels is None and not one.reference for one in asked):
        raise ParameterError("A candidate without a dictionary is fitted on ready kernels: hand over stack, too.")
    if stack is not None and stack.n_samples != data.n_samples:
        raise DataError(
            f"The stack has {stack.n_samples} rows and the table {data.n_samples}; they must be the same rows."
        )
    model: Any = LpMKLRegressor() if data.task == "regression" else LpMKLClassifier()
    check_scoring(model, scoring)
    began = time.monotonic()
    problem = _Problem(data, asked, folds(model, data.y, n_folds, seed), seed, scoring, began + seconds, stack)
    rows: dict[Trial, Outcome | str] = known if isinstance(known, dict) else dict(known or {})
    trials = [Trial(fold, place) for fold in range(n_folds) for place in range(len(asked))]
    with suppress(_OverError), suppress_convergence_warnings():
        sweep(problem, trials, known=rows, callback=callback)
    return _summed(asked, rows, n_folds, score_name(model, scoring), time.monotonic() - began)


class _OverError(Exception):
    """The time is over."""


@dataclass(frozen=True, eq=False)
class _Problem:
    data: Dataset
    asked: tuple[Candidate, ...]
    parts: list[tuple[Indices, Indices]]
    seed: int
    scoring: Scoring
    until: float
    stack: GramStack | None = None

    def __call__(self, trial: Trial) -> Outcome | str:
        """The outcome of a trial, or why there is none. Raises ``_OverError`` once the time is over."""
        self._look()
        try:
            return self._run(self.asked[trial.candidate], trial)
        except MKLError as error:
            return str(error)

    def _look(self, *_: Any) -> None:
        if time.monotonic() > self.until:
            raise _OverError

    def _run(self, one: Candidate, trial: Trial) -> Outcome:
        began, (rows, left_out) = time.monotonic(), self.parts[trial.fold]
        part, judge = self._cut(rows, self.seed + trial.fold)
        if one.reference:
            return self._plain(one, rows, part, judge, left_out)
        given = self._rows(one, judge, part), self.data.y[judge], self._look

        def along(kernels: KernelDictionary | None) -> Path:
            asked, learned, y = _on(one, kernels), self._rows(one, part), self.data.y[part]
            values = path_grid(asked, learned, y, one.param, SIZES if one.param == "s" else POINTS)
            return fit_path(asked, learned, y, one.param, values, *given, scoring=self.scoring, grow=GROW)

        kernels, path = (None, along(None)) if one.kernels is None else widened(along, one.kernels)[:2]
        index = path.first_look
        value = int(path.values[index]) if one.param == "s" else float(path.values[index])
        fitted = _on(one, kernels).copy_with(PATH_ATTRIBUTES[one.param], value)
        fitted.fit(self._rows(one, rows), self.data.y[rows])
        self._look()
        measured = fitted.score if self.scoring is None else partial(scorer_of(self.scoring), fitted)
        outer = float(measured(self._rows(one, left_out, rows), self.data.y[left_out]))
        return Outcome(
            float(path.val_score[index]), outer, float(path.values[index]), int(fitted.n_kernels_),
            time.monotonic() - began, bool(fitted.status_.ok),
        )  # fmt: skip

    def _plain(self, one: Candidate, rows: Indices, part: Indices, judge: Indices, left_out: Indices) -> Outcome:
        """A plain model, fitted again on all rows of the fold with what the rows that choose chose."""
        from sklearn.base import clone

        began, take = time.monotonic(), self.data.take
        found = plain_references(take(part), take(judge), self.scoring, only=(one.reference,))[0]
        fitted = clone(found.model).fit(self.data.X[rows], self.data.y[rows])
        scorer = scorer_of(self.scoring or ("r2" if self.data.task == "regression" else "accuracy"))
        outer = float(scorer(fitted, self.data.X[left_out], self.data.y[left_out]))
        return Outcome(found.score, outer, found.value, math.nan, time.monotonic() - began)

    def _cut(self, rows: Indices, seed: int) -> tuple[Indices, Indices]:
        """The rows of a fold that learn, and those that choose."""
        X: Array = rows[:, None].astype(np.float64)
        places = replace(self.data.take(rows), X=X, feature_names=("row",), groups=(), columns=(), sequences=())
        part, judge = places.split(INNER, seed=seed)
        return rows_of(part), rows_of(judge)

    def _rows(self, one: Candidate, rows: Indices, learned: Indices | None = None) -> Any:
        """What a candidate sees of these rows: of the table, or of a stack its square, or the block beside ``learned``
        rows.
        """
        if one.kernels is not None or self.stack is None:
            return self.data.take(rows).table
        return self.stack.take(rows) if learned is None else self.stack.block(rows, learned)


def _on(one: Candidate, kernels: KernelDictionary | None) -> Any:
    from sklearn.base import clone

    return clone(one.estimator).set_params(kernels="precomputed" if kernels is None else kernels)


def _summed(
    asked: tuple[Candidate, ...], rows: Mapping[Trial, Outcome | str], n_folds: int, name: str, seconds: float
) -> ModelSearch:
    done = {
        place: [f for f in range(n_folds) if isinstance(rows.get(Trial(f, place)), Outcome)]
        for place in range(len(asked))
    }
    kept = [place for place, there in done.items() if len(there) >= LEAST_FOLDS]
    refused = {trial.candidate: row for trial, row in rows.items() if isinstance(row, str)}
    if not kept:
        why = next(iter(refused.values()), "The time was over before any candidate had two folds. Give more seconds.")
        raise ParameterError(f"Nothing was tried often enough to be compared. {why}")
    common = sorted(set.intersection(*(set(done[place]) for place in kept)))
    outcomes = [[rows[Trial(f, place)] for f in common] for place in kept]
    outer, inner = (np.array([[getattr(o, what) for o in line] for line in outcomes]) for what in ("outer", "inner"))
    best = int(np.argmax(outer.mean(axis=1)))
    found = [_tried(asked[place], outcomes[k], outer[best] - outer[k], len(common)) for k, place in enumerate(kept)]
    honest = outer[np.argmax(inner, axis=0), np.arange(len(common))]
    order = sorted(range(len(found)), key=lambda k: (-found[k].score, found[k].n_kernels))
    near = [one for one in found if one.score >= found[best].score - found[best].standard_error]
    left = [
        (asked[place].name, refused.get(place, f"the time was over after {len(there)} of {n_folds} folds"))
        for place, there in done.items()
        if place not in kept
    ]
    return ModelSearch(
        tuple(found[k] for k in order),
        min(near, key=lambda one: (math.isnan(one.n_kernels), one.n_kernels, -one.score)).name,
        float(honest.mean()),
        _error(honest),
        len(common),
        name,
        seconds,
        tuple(left),
    )


def _error(scores: Array) -> float:
    return float(scores.std(ddof=1) / math.sqrt(scores.size))


def _tried(one: Candidate, outcomes: Sequence[Any], behind: Array, n: int) -> Tried:
    """Means over the folds, and the corrected interval of the paired difference."""
    from scipy.stats import t as student

    scores = np.array([o.outer for o in outcomes])
    mean = float(behind.mean())
    reach = float(student.ppf(0.975, n - 1) * behind.std(ddof=1) * math.sqrt(1.0 / n + 1.0 / (n - 1)))
    return Tried(
        one.name,
        float(scores.mean()),
        _error(scores),
        float(np.mean([o.n_kernels for o in outcomes])),
        tuple(o.value for o in outcomes),
        one.param,
        float(sum(o.seconds for o in outcomes)),
        mean,
        mean - reach,
        mean + reach,
        sum(not o.finished for o in outcomes),
    )
