"""Knockoffs: copies of the columns that are related to each other and to the columns as these are, and not to the
target.

Every column is turned into normal scores (a Gaussian copula), whose correlation R is estimated with shrinkage.
Knockoffs of the scores z are normal with mean z - z R^-1 D and covariance 2 D - D R^-1 D, D = diag(s), where s
maximises sum s under 0 <= s <= 1 and D <= 2 R. They are turned back by the quantiles of their column, so that each
takes the values that it has. A column with few values has scores drawn at random within each value; the values of a
category are put in the order of the first principal component of all other columns.

Source: Candes, Fan, Janson, Lv (2018), Panning for gold: model-X knockoffs, JRSS B 80, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array, Indices, Mask, one_blas_thread
from mklcore.data.dataset import Dataset

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
    atoms = [(name, part) for name, members in data.columns for part in _atoms(data.X, members)]
    atoms = [(name, part) for name, part in atoms if np.ptp(part.codes) > 0]
    if not atoms:
        empty = np.empty((data.n_samples, 0))
        return Copies((), (), empty, empty)
    latent = np.column_stack([_scores(part.codes, random) for _, part in atoms])
    for j, (_, part) in enumerate(atoms):
        if part.levels > 0:
            atoms[j][1].codes[:] = _ordered(part.codes, np.delete(latent, j, axis=1))
            latent[:, j] = _scores(part.codes, random)
    drawn = gaussian_knockoffs(latent, random)
    own, copied, homes = [], [], []
    for (name, part), column in zip(atoms, drawn.T, strict=True):
        other = _like(part.codes, column)
        shown = [_shown(codes, part) for codes in (part.codes, other)]
        own.append(shown[0])
        copied.append(shown[1])
        homes += [name] * shown[0].shape[1]
    names = tuple(dict.fromkeys(homes))
    members = tuple(tuple(j for j, home in enumerate(homes) if home == name) for name in names)
    return Copies(names, members, np.hstack(own), np.hstack(copied))


def gaussian_knockoffs(Z: Array, random: np.random.Generator) -> Array:
    """Knockoffs of rows Z (n, q) of normal scores; their correlation is estimated from the rows with shrinkage."""
    from sklearn.covariance import ledoit_wolf

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


@dataclass(frozen=True, eq=False)
class _Atom:
    """One column of numbers, or the values of a category as ``codes`` (n,) with ``levels`` of them; 0 levels are
    numbers.
    """

    codes: Array
    levels: int


def _atoms(X: Array, members: Sequence[int]) -> list[_Atom]:
    values = X[:, list(members)]
    if len(members) > 1 and np.isin(values, (0.0, 1.0)).all() and values.sum(axis=1).max() <= 1.0:
        codes = np.where(values.any(axis=1), values.argmax(axis=1), len(members))
        return [_Atom(np.unique(codes, return_inverse=True)[1].astype(float), len(np.unique(codes)))]
    return [_Atom(values[:, j].copy(), 0) for j in range(len(members))]


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
    from scipy.stats import norm

    order: Indices = np.lexsort((random.random(values.size), values))
    ranks = np.empty(values.size)
    ranks[order] = np.arange(values.size)
    found: Array = norm.ppf((ranks + 0.5) / values.size)
    return found


def _like(values: Array, scores: Array) -> Array:
    """The quantiles of ``values`` at normal ``scores``."""
    from scipy.stats import norm

    place = np.minimum((norm.cdf(scores) * values.size).astype(int), values.size - 1)
    found: Array = np.sort(values)[place]
    return found


def _shown(codes: Array, part: _Atom) -> Array:
    """What a kernel sees: one 0/1 column per value of a category, or the mean normal score of each number (n, 1)."""
    from scipy.stats import norm

    if part.levels > 0:
        is_one: Mask = codes[:, None] == np.arange(part.levels)
        return is_one.astype(float)
    own = np.sort(part.codes)
    low, high = (np.searchsorted(own, codes, side=side) for side in ("left", "right"))
    found: Array = norm.ppf((low + high) / (2.0 * own.size))[:, None]
    return found
