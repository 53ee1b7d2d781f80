"""Is the place of a column real? Columns chosen with a bound on false ones: model-X knockoffs, or complementary half
samples.

Both see curved effects: an additive model with one kernel per column (p = 1, Nystroem features) tells the norm of each
part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, half_rows, split_rows
from mklcore.errors import DataError, ParameterError, suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF
from mklcore.kernels.nystroem import Nystroem
from mklcore.parameters import check_choice
from mklcore.uncertainty.knockoffs import Copies, knockoff_copies

METHODS = ("knockoffs", "stability")
PAIRS = 25  # of complementary halves
SHARE = 0.9  # of the halves by which a column has to be chosen
COSTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # times sqrt(1000 / n), for a target of variance 1
MOST_ROWS = 4000
FEATURES, FEWEST, MOST = 6000, 8, 50  # in all, and per column
ACCURACY = 1e-2  # relative duality gap
LEAST_ROWS = 20
Tick = Callable[[int, int], Any]


@dataclass(frozen=True)
class ColumnSelection:
    """The source columns that were chosen.

    ``statistics``: per column its W (knockoffs: how much more its part weighs than that of its knockoff, symmetric
    about 0 for a column that tells nothing) or its selection probability (stability); ``threshold`` what it had to
    reach, infinite where nothing could be named; ``notes`` what bounds the false ones, and what else is to be said.
    """

    names: tuple[str, ...]
    statistics: dict[str, float]
    threshold: float
    notes: tuple[str, ...] = ()


def select_columns(
    data: Dataset,
    method: str = "knockoffs",
    fdr: float | None = None,
    seed: int = 0,
    *,
    max_false: float | None = None,
    callback: Tick | None = None,
) -> ColumnSelection:
    """Which source columns are distinguishable from noise, given all others?

    Parameters
    ----------
    data : Dataset
        A table with a target; at most 4000 of its rows are used.
    method : str, default "knockoffs"
        "knockoffs" bounds the expected share of false columns among those named, "stability" their expected number.
    fdr : float or None, default None
        For knockoffs, that share: 0.1 unless given. The threshold is knockoff+, which names at least 1 / fdr columns or
        none.
    seed : int, default 0
        Of the knockoffs, or of the halves.
    max_false : float or None, default None
        For stability, that number: 1 unless given.
    callback : callable or None, default None
        Called as callback(done, total) between fits; raise in it to cancel Knockoffs assume that the columns are joined
        by a Gaussian copula (`knockoffs.knockoff_copies`) and nothing about the target. Stability counts how often a
        column is among the q best of 25 pairs of complementary halves and names those with a share of 0.9 or more; q is
        as large as the bound C(0.9, 25) q^2 / p <= max_false allows, which assumes that the share of a column that
        tells nothing has a unimodal distribution and that none of them is chosen more often than q / p. Source: Candes
        et al. (2018), Panning for gold; Shah, Samworth (2013), Variable selection with error control, theorem 2.

    Returns
    -------
    Selection
        The chosen columns with their statistics.
    """
    check_choice("method", method, METHODS)
    if method == "stability" and fdr is not None:
        raise ParameterError(
            'method="stability" bounds a number of columns, not a rate: give max_false instead of fdr.'
        )
    if method == "knockoffs" and max_false is not None:
        raise ParameterError('method="knockoffs" bounds a rate, not a number: give fdr instead of max_false.')
    if data.task == "novelty":
        raise DataError("The table has no target, so no column can be distinguished from noise; name a target.")
    if data.sequences:
        raise DataError("Columns of letters cannot be distinguished from noise yet: leave the sequences out.")
    if data.n_samples < LEAST_ROWS:
        raise DataError(f"{data.n_samples} rows are too few to tell columns from noise; {LEAST_ROWS} are needed.")
    reported: tuple[str, ...] = ()
    if data.n_samples > MOST_ROWS:
        reported = (f"{MOST_ROWS:,} of {data.n_samples:,} rows were used.",)
        data = data.drawn(MOST_ROWS, seed)
    if method == "knockoffs":
        return _by_knockoffs(data, 0.1 if fdr is None else fdr, seed, callback, reported)
    return _by_halves(data, 1.0 if max_false is None else max_false, seed, callback, reported)


def knockoff_threshold(statistics: Array, fdr: float) -> float:
    """The smallest t > 0 with (1 + #{W <= -t}) / #{W >= t} <= fdr (knockoff+); infinite where there is none."""
    for t in np.unique(np.abs(statistics[statistics != 0.0])):
        if (1 + np.count_nonzero(statistics <= -t)) <= fdr * np.count_nonzero(statistics >= t):
            return float(t)
    return np.inf


def false_bound(q: float, p: int, share: float = SHARE, pairs: int = PAIRS) -> float:
    """The bound on the expected number of false columns with a selection share of ``share`` > 3/4, where q of p are
    chosen each time and q <= p / sqrt(3), beyond which it says nothing.

    C(tau, B) theta E|S and L_theta| <= C(tau, B) q^2 / p, C = 4 (1 - tau + 1 / (2B)) / (1 + 1/B), for theta = q / p.
    Source: Shah, Samworth (2013), theorem 2.
    """
    return 4.0 * (1.0 - share + 0.5 / pairs) / (1.0 + 1.0 / pairs) * q * q / p


def _by_knockoffs(
    data: Dataset, fdr: float, seed: int, callback: Tick | None, reported: tuple[str, ...]
) -> ColumnSelection:
    if not (isinstance(fdr, (int, float, np.number)) and not isinstance(fdr, bool) and 0.0 < fdr < 1.0):
        raise ParameterError(f"fdr is the share of false columns among those named, between 0 and 1; got {fdr!r}.")
    tables = knockoff_copies(data, seed)
    targets = _targets(data)
    steps = _Steps(len(targets) * (len(COSTS) + 1), callback)
    p = len(tables.names)
    norms = np.zeros(2 * p)
    for y in targets if p else ():
        norms += _norms(tables, y, data, seed, steps)
    W = norms[:p] - norms[p:]
    threshold = knockoff_threshold(W, float(fdr))
    statistics = dict.fromkeys((name for name, _ in data.columns), 0.0) | dict(
        zip(tables.names, W.tolist(), strict=True)
    )
    names = _ranked(statistics, threshold)
    needed = int(np.ceil(1.0 / fdr - 1e-9))
    if names:
        note = f"Of the {len(names)} columns named, a share of {fdr:.0%} is expected to be false at most."
    elif p < needed:
        note = (
            f"At a rate of {fdr:g} at least {needed} columns are named or none, and the table has {p} that vary: "
            f"nothing can be "
            'named. Take a higher fdr, or method="stability".'
        )
    else:
        note = (
            f"Nothing can be named: at a rate of {fdr:g} at least {needed} columns have to stand out from their "
            f"knockoffs, and "
            f"{int(np.count_nonzero(W > 0))} weigh more than theirs. Take a higher fdr, more rows, or "
            'method="stability".'
        )
    return ColumnSelection(names, statistics, threshold, (note, *reported))


def _by_halves(
    data: Dataset, max_false: float, seed: int, callback: Tick | None, reported: tuple[str, ...]
) -> ColumnSelection:
    if not (isinstance(max_false, (int, float, np.number)) and not isinstance(max_false, bool) and max_false > 0):
        raise ParameterError(f"max_false is an expected number of columns and must be above 0; got {max_false!r}.")
    copies = knockoff_copies(data, seed)
    tables = Copies(copies.names, copies.members, copies.own, np.empty((data.n_samples, 0)))
    p = len(tables.names)
    q = int(min(np.sqrt(max_false / false_bound(1.0, p)), p / np.sqrt(3.0))) if p else 0
    statistics = dict.fromkeys((name for name, _ in data.columns), 0.0)
    if q == 0:
        return ColumnSelection((), statistics, np.inf, (
            f"Not even one of {p} columns may be chosen at a time for {max_false:g} expected false ones: take a "
            f"larger max_false.",
            *reported,
        ))  # fmt: skip
    targets, counts = _targets(data), np.zeros(p)
    codes = None if data.task == "regression" else codes_of(data.y)
    steps = _Steps(2 * PAIRS * len(targets), callback)
    for pair in half_rows(codes, data.n_samples, PAIRS, seed):
        for rows in pair:
            norms = np.zeros(p)
            for y in targets:
                norms += _fitted(_dictionary(tables, rows.size), tables.own[rows], y[rows], COSTS[2], steps).weights_
            best = np.argsort(-norms, kind="stable")[:q]
            counts[best[norms[best] > 0.0]] += 1.0
    statistics |= dict(zip(tables.names, (counts / (2 * PAIRS)).tolist(), strict=True))
    bound = false_bound(q, p)
    note = (
        f"Chosen are columns among the {q} best of at least {SHARE:.0%} of {2 * PAIRS} half samples; of such columns "
        f"{bound:.2g} are expected to be false at most."
    )
    return ColumnSelection(_ranked(statistics, SHARE), statistics, SHARE, (note, *reported))


def _ranked(statistics: dict[str, float], threshold: float) -> tuple[str, ...]:
    chosen = [name for name, value in statistics.items() if value >= threshold]
    return tuple(sorted(chosen, key=lambda name: -statistics[name]))


def _targets(data: Dataset) -> list[Array]:
    """Targets of mean 0 and variance 1: the number, or one class against the rest each."""
    if data.task == "regression":
        values = [np.asarray(data.y, dtype=float)]
    else:
        codes = codes_of(data.y)
        values = [(codes == k).astype(float) for k in (range(codes.max() + 1) if codes.max() > 1 else (1,))]
    return [(y - y.mean()) / (y.std() or 1.0) for y in values]


class _Steps:
    """Tells a callback how many of the fits are done."""

    def __init__(self, total: int, callback: Tick | None) -> None:
        self.total, self.done, self._callback = total, 0, callback
        self.to(0)

    def to(self, done: int) -> None:
        self.done = done
        if self._callback is not None:
            self._callback(done, self.total)


def _dictionary(tables: Copies, n: int) -> tuple[KernelDictionary, Nystroem]:
    """One kernel per source column and per knockoff, on standardised scores or on the 0/1 columns of a category."""
    d = tables.own.shape[1]
    sides = [0, d] if tables.copies.shape[1] else [0]
    specs = tuple(
        RBF(float(np.sqrt(len(own))), features=tuple(j + side for j in own)) for side in sides for own in tables.members
    )
    components = int(np.clip(FEATURES // len(specs), FEWEST, MOST))
    return KernelDictionary(specs, standardize=False), Nystroem(min(components, n))


def _fitted(
    kernels: tuple[KernelDictionary, Nystroem], X: Array, y: Array, cost: float, steps: _Steps
) -> LpMKLRegressor:
    dictionary, approximation = kernels
    model = LpMKLRegressor(
        kernels=dictionary, approximation=approximation, C=cost * float(np.sqrt(1000.0 / y.size)), tol=ACCURACY
    )
    with suppress_convergence_warnings():
        model.fit(X, y)
    steps.to(steps.done + 1)
    return model


def _norms(tables: Copies, y: Array, data: Dataset, seed: int, steps: _Steps) -> Array:
    """Norms (2 p,) of the parts of columns and knockoffs, at the C that predicts a quarter of the rows best.

    Which of the two is the column plays no part in that choice, so the statistics stay antisymmetric.
    """
    X = np.hstack([tables.own, tables.copies])
    kernels = _dictionary(tables, X.shape[0])
    codes = None if data.task == "regression" else codes_of(data.y)
    train, rest = split_rows(codes, X.shape[0], (0.25,), seed)
    begun, scores = steps.done, []
    for cost in COSTS:
        scores.append(_fitted(kernels, X[train], y[train], cost, steps).score(X[rest], y[rest]))
        if len(scores) > 1 and scores[-1] < max(scores):
            break
    steps.to(begun + len(COSTS))
    weights: Array = _fitted(kernels, X, y, COSTS[int(np.argmax(scores))], steps).weights_
    return weights
