"""Is the place of a column real? Columns chosen with a bound on false ones: model-X knockoffs, or complementary half
samples.

Both see curved effects: an additive model with one kernel per column (p = 1, Nystroem features) tells the norm of each
part.

Knockoffs: copies of the columns that are related to each other and to the columns as these are, and not to the
target.

Every column is turned into normal scores (a Gaussian copula), whose correlation R is estimated with shrinkage.
Knockoffs of the scores z are normal with mean z - z R^-1 D and covariance 2 D - D R^-1 D, D = diag(s), where s
maximises sum s under 0 <= s <= 1 and D <= 2 R. They are turned back by the quantiles of their column, so that each
takes the values that it has. A column with few values has scores drawn at random within each value; the values of a
category are put in the order of the first principal component of all other columns.

Source: Candes, Fan, Janson, Lv (2018), Panning for gold: model-X knockoffs, JRSS B 80, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.covariance import ledoit_wolf

from mklcore.arrays import Array, Indices, Mask, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.data.splitting import codes_of, half_rows, split_rows
from mklcore.errors import DataError, ParameterError, suppress_convergence_warnings
from mklcore.estimators.lp import LpMKLRegressor
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.functions import RBF
from mklcore.parameters import check_choice
from mklcore.paths.folds import each

_BARRIER, _COOLING, _ROUNDS = 0.5, 0.6, 30  # price of being near the bound, how it falls, and how often


@dataclass(frozen=True, eq=False)
class Copies:
    """A table of scores and its knockoffs (n, d), and the columns of both that belong to every source column."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    own: Array
    copies: Array


def knockoff_copies(data: Dataset, seed: int) -> Copies:
    """Scores of the columns of ``data`` and one draw of their knockoffs; columns without two values are left out."""
    random = np.random.default_rng(seed)
    every = [(name, *one) for name, members in data.columns for one in _codes(data.X, members)]
    parts = [(name, codes, levels) for name, codes, levels in every if np.ptp(codes) > 0]
    if not parts:
        empty = np.empty((data.n_samples, 0))
        return Copies((), (), empty, empty)
    latent = np.column_stack([_scores(codes, random) for _, codes, _ in parts])
    for j, (_, codes, levels) in enumerate(parts):
        if levels:
            codes[:] = _ordered(codes, np.delete(latent, j, axis=1))
            latent[:, j] = _scores(codes, random)
    drawn = gaussian_knockoffs(latent, random)
    own = [_shown(codes, codes, levels) for _, codes, levels in parts]
    copies = [
        _shown(_like(codes, column), codes, levels) for (_, codes, levels), column in zip(parts, drawn.T, strict=True)
    ]
    homes = [name for (name, *_), shown in zip(parts, own, strict=True) for _ in range(shown.shape[1])]
    names = tuple(dict.fromkeys(homes))
    members = tuple(tuple(j for j, home in enumerate(homes) if home == name) for name in names)
    return Copies(names, members, np.hstack(own), np.hstack(copies))


def gaussian_knockoffs(Z: Array, random: np.random.Generator) -> Array:
    """Knockoffs of rows Z (n, q) of normal scores; their correlation is estimated from the rows with shrinkage."""
    with one_blas_thread():
        covariance = ledoit_wolf(Z)[0]
        scale = np.sqrt(np.diag(covariance))
        R = covariance / np.outer(scale, scale)
        s = widest(R)
        inverse = np.linalg.inv(R)
        spread = 2.0 * np.diag(s) - s[:, None] * inverse * s
        values, vectors = np.linalg.eigh(0.5 * (spread + spread.T))
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        standard = (Z - Z.mean(axis=0)) / scale
        found: Array = standard - standard @ inverse * s + random.standard_normal(Z.shape) @ root.T
    return found


def widest(R: Array) -> Array:
    """The s (q,) that maximises sum s under 0 <= s <= 1 and diag(s) <= 2 R, for a correlation matrix R (q, q).

    Coordinate ascent with a barrier: given the others, s_j may reach 1 / (A^-1)_jj + s_j, A = 2 R - diag(s), and each
    step is a change of A of rank one. Source: Askari, Rebjock, d'Aspremont, El Ghaoui (2020), FANOK, section 3.
    """
    s, barrier = np.zeros(len(R)), _BARRIER
    inverse = np.linalg.inv(2.0 * R)
    for _ in range(_ROUNDS):
        for j in range(len(R)):
            moved = float(np.clip(1.0 / inverse[j, j] + s[j] - barrier, 0.0, 1.0)) - s[j]
            if moved != 0.0:
                column = inverse[:, j].copy()
                inverse += np.outer(column, column) * (moved / (1.0 - moved * column[j]))
                s[j] += moved
        barrier *= _COOLING
    return s


def _codes(X: Array, members: Sequence[int]) -> list[tuple[Array, int]]:
    """The columns (n,) of a source column, each with 0; or the values of a category as codes (n,) and their number."""
    values = X[:, list(members)]
    if len(members) > 1 and np.isin(values, (0.0, 1.0)).all() and values.sum(axis=1).max() <= 1.0:
        codes = codes_of(np.where(values.any(axis=1), values.argmax(axis=1), len(members)))
        return [(codes.astype(float), len(np.unique(codes)))]
    return [(values[:, j].copy(), 0) for j in range(len(members))]


def _ordered(codes: Array, others: Array) -> Array:
    """The values of a category, numbered in the order of the mean of the first principal component of other columns."""
    if others.shape[1] == 0:
        return codes
    centred = others - others.mean(axis=0)
    with one_blas_thread():
        direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    score, kind = centred @ direction, codes.astype(int)
    means = np.bincount(kind, score) / np.bincount(kind)
    found: Array = np.argsort(np.argsort(means, kind="stable"), kind="stable")[kind].astype(float)
    return found


def _scores(values: Array, random: np.random.Generator) -> Array:
    """Normal scores (n,) of the ranks; equal values are ranked at random."""
    order: Indices = np.lexsort((random.random(values.size), values))
    ranks = np.empty(values.size)
    ranks[order] = np.arange(values.size)
    found: Array = norm.ppf((ranks + 0.5) / values.size)
    return found


def _like(values: Array, scores: Array) -> Array:
    """The quantiles of ``values`` at normal ``scores``."""
    place = np.minimum((norm.cdf(scores) * values.size).astype(int), values.size - 1)
    found: Array = np.sort(values)[place]
    return found


def _shown(codes: Array, known: Array, levels: int) -> Array:
    """What a kernel sees: one 0/1 column per value of a category, or the mean normal score of each number (n, 1)."""
    if levels:
        is_one: Mask = codes[:, None] == np.arange(levels)
        return is_one.astype(float)
    low, high = (np.searchsorted(np.sort(known), codes, side=side) for side in ("left", "right"))
    found: Array = norm.ppf((low + high) / (2.0 * known.size))[:, None]
    return found


# Knockoffs

METHODS = ("knockoffs", "stability")
PAIRS = 25  # of complementary halves
SHARE = 0.9  # of the halves by which a column has to be chosen
COSTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # times sqrt(1000 / n), for a target of variance 1
MOST_ROWS = 4000
FEATURES, FEWEST, MOST = 2400, 8, 16  # in all, and per column
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
    fdr: float = 0.1,
    max_false: float = 1.0,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    callback: Tick | None = None,
) -> ColumnSelection:
    """Which source columns are distinguishable from noise, given all others?

    Parameters
    ----------
    data : Dataset
        A table with a target; at most 4000 of its rows are used.
    method : str, default "knockoffs"
        "knockoffs" bounds the expected share of false columns among those named, "stability" their expected number.
    fdr : float, default 0.1
        For knockoffs, that share. The threshold is knockoff+, which names at least 1 / fdr columns or none.
    max_false : float, default 1.0
        For stability, that number.
    seed : int, default 0
        Of the knockoffs, or of the halves.
    n_jobs : int or None, default None
        Number of fits at a time, as joblib has it.
    callback : callable or None, default None
        Called as callback(done, total) between fits; raise in it to cancel.

    Returns
    -------
    ColumnSelection
        The chosen columns with their statistics.

    Notes
    -----
    Knockoffs assume that the columns are joined by a Gaussian copula (`knockoff_copies`) and nothing about
    the target. Stability counts how often a column is among the q best of 25 pairs of complementary halves and names
    those with a share of 0.9 or more; q is as large as the bound C(0.9, 25) q^2 / p <= max_false allows, which assumes
    that the share of a column that tells nothing has a unimodal distribution and that none of them is chosen more often
    than q / p. Source: Candes et al. (2018), Panning for gold; Shah, Samworth (2013), Variable selection with error
    control, theorem 2.
    """
    check_choice("method", method, METHODS)
    for name, value in (("fdr", fdr), ("max_false", max_false)):
        if not isinstance(value, (int, float, np.number)) or isinstance(value, bool) or not value > 0:
            raise ParameterError(f"{name} is a number above 0; got {value!r}.")
    if fdr >= 1:
        raise ParameterError(f"fdr is the share of false columns among those named, below 1; got {fdr!r}.")
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
    task = _Task(data, knockoff_copies(data, seed), seed, callback, n_jobs)
    statistics, threshold, note = task.by_knockoffs(fdr) if method == "knockoffs" else task.by_halves(max_false)
    every = dict.fromkeys((name for name, _ in data.columns), 0.0)
    every |= dict(zip(task.tables.names, statistics.tolist(), strict=True))
    names = sorted((name for name, value in every.items() if value >= threshold), key=lambda name: -every[name])
    return ColumnSelection(tuple(names), every, threshold, (note, *reported))


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


class _AdditiveFit(NamedTuple):
    """One additive model to fit: kernels and their approximation, rows, target, and the cost at 1000 rows."""

    kernels: tuple[KernelDictionary, Nystroem]
    X: Array
    y: Array
    cost: float


def _fitted(fit: _AdditiveFit) -> LpMKLRegressor:
    dictionary, approximation = fit.kernels
    C = fit.cost * float(np.sqrt(1000.0 / fit.y.size))
    model = LpMKLRegressor(kernels=dictionary, approximation=approximation, C=C, tol=ACCURACY)
    with suppress_convergence_warnings():
        model.fit(fit.X, fit.y)
    return model


@dataclass(frozen=True, eq=False)
class _Task:
    """A table with its knockoffs, and how fits are run and counted."""

    data: Dataset
    tables: Copies
    seed: int
    callback: Tick | None
    n_jobs: int | None

    @property
    def codes(self) -> Indices | None:
        """Class numbers (n,), None for numbers."""
        return None if self.data.task == "regression" else codes_of(self.data.y)

    @property
    def targets(self) -> list[Array]:
        """Targets of mean 0 and variance 1: the number, or one class against the rest each."""
        codes = self.codes
        if codes is None:
            values = [np.asarray(self.data.y, dtype=float)]
        else:
            values = [(codes == k).astype(float) for k in (range(codes.max() + 1) if codes.max() > 1 else (1,))]
        return [(y - y.mean()) / (y.std() or 1.0) for y in values]

    def run(self, fits: Sequence[_AdditiveFit], done: int, total: int) -> Iterator[LpMKLRegressor]:
        """The fitted models, of which the callback is told."""
        tell = self.callback or (lambda done, total: None)
        for place, model in enumerate(each(_fitted, fits, self.n_jobs), done):
            tell(place, total)
            yield model
        tell(done + len(fits), total)

    def kernels(self, n: int, copied: bool) -> tuple[KernelDictionary, Nystroem]:
        """One kernel per source column and per knockoff, on standardised scores or on the 0/1 columns of a category."""
        members = self.tables.members
        sides = [0, self.tables.own.shape[1]] if copied else [0]
        specs = tuple(
            RBF(float(np.sqrt(len(own))), features=tuple(j + side for j in own)) for side in sides for own in members
        )
        components = int(np.clip(FEATURES // len(specs), FEWEST, MOST))
        return KernelDictionary(specs, standardize=False), Nystroem(min(components, n))

    def by_knockoffs(self, fdr: float) -> tuple[Array, float, str]:
        """How much more every column weighs than its knockoff, the threshold, and what is to be said."""
        p, needed = len(self.tables.names), int(np.ceil(1.0 / fdr - 1e-9))
        norms = self.norms() if p else np.zeros(0)
        W = norms[:p] - norms[p:]
        threshold = knockoff_threshold(W, fdr)
        if count := int(np.count_nonzero(threshold <= W)):
            return W, threshold, (
                f"Of the {count} columns named, a share of {fdr:.0%} is expected to be false at most."
            )  # fmt: skip
        if p < needed:
            return W, threshold, (
                f"At a rate of {fdr:g} at least {needed} columns are named or none, and the table has {p} that vary: "
                'nothing can be named. Take a higher fdr, or method="stability".'
            )  # fmt: skip
        return W, threshold, (
            f"Nothing can be named: at a rate of {fdr:g} at least {needed} columns have to stand out from their "
            f"knockoffs, and {int(np.count_nonzero(W > 0))} weigh more than theirs. Take a higher fdr, more rows, or "
            'method="stability".'
        )  # fmt: skip

    def norms(self) -> Array:
        """Norms (2 p,) of the parts of columns and knockoffs, at the C that predicts a quarter of the rows best.

        Which of the two is the column plays no part in that choice, so the statistics stay antisymmetric.
        """
        X, targets = np.hstack([self.tables.own, self.tables.copies]), self.targets
        kernels = self.kernels(len(X), copied=True)
        train, rest = split_rows(self.codes, len(X), (0.25,), self.seed)
        tried = [_AdditiveFit(kernels, X[train], y[train], cost) for y in targets for cost in COSTS]
        total = len(tried) + len(targets)
        models = self.run(tried, 0, total)
        scores = [next(models).score(X[rest], y[rest]) for y in targets for _ in COSTS]
        best = np.reshape(scores, (len(targets), len(COSTS))).argmax(axis=1)
        chosen = [_AdditiveFit(kernels, X, y, COSTS[k]) for y, k in zip(targets, best, strict=True)]
        found: Array = np.sum([model.weights_ for model in self.run(chosen, len(tried), total)], axis=0)
        return found

    def by_halves(self, max_false: float) -> tuple[Array, float, str]:
        """The share of halves that choose every column, the threshold, and what is to be said."""
        p, targets = len(self.tables.names), self.targets
        counts = np.zeros(p)
        q = int(min(np.sqrt(max_false / false_bound(1.0, p)), p / np.sqrt(3.0))) if p else 0
        if q == 0:
            return counts, np.inf, (
                f"Not even one of {p} columns may be chosen at a time for {max_false:g} expected false ones: take a "
                "larger max_false."
            )  # fmt: skip
        halves = [rows for pair in half_rows(self.codes, self.data.n_samples, PAIRS, self.seed) for rows in pair]
        kernels = self.kernels(halves[0].size, copied=False)
        fits = [_AdditiveFit(kernels, self.tables.own[rows], y[rows], COSTS[2]) for rows in halves for y in targets]
        found = self.run(fits, 0, len(fits))
        for _ in halves:
            norms = sum((next(found).weights_ for _ in targets), np.zeros(p))
            best = np.argsort(-norms, kind="stable")[:q]
            counts[best[norms[best] > 0.0]] += 1.0
        return counts / (2 * PAIRS), SHARE, (
            f"Chosen are columns among the {q} best of at least {SHARE:.0%} of {2 * PAIRS} half samples; of such "
            f"columns {false_bound(q, p):.2g} are expected to be false at most."
        )  # fmt: skip
