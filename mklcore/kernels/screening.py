"""Which columns act together: pairs, and larger sets, whose products explain what a sum over columns leaves.

Every source column becomes a few orthonormal functions of it without mean: Legendre polynomials of its ranks, or
indicators of its values. An additive model of all of them is fitted by ridge regression; a set of columns is scored by
how far the products of its first functions correlate with the residuals r_i: rows w_i = r_i phi_i have mean 0 where the
columns do not act together, which is tested by Hotelling's T^2. Residuals may vary more here than there, since their
own size is part of w_i. Kept are the sets that chance alone would hardly give, the strongest first; sets of three are
scored on what a model with the pairs leaves, and so on. The order is the same for the same table: nothing is drawn.

Where there are many columns the size of the residuals is looked at first: where x_a x_b is missing from a model, their
squares rise with the square of x_a, so that a column that acts only together with others is not overlooked.

Source: Hotelling (1931), The generalization of Student's ratio; White (1980), A heteroskedasticity-consistent
covariance matrix estimator and a direct test for heteroskedasticity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import scipy

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.kernels.checks import one_blas_thread

MOST_TERMS = 20  # sets that are kept
MOST_COLUMNS = 60  # source columns whose pairs are looked at
ROWS = 2000  # from which they are found
LEVEL = 0.01  # expected number of sets that are kept where nothing acts together
ALONE, TOGETHER = 8, 3  # functions of a column of numbers: in the additive model, and in products
MOST_VALUES = 8  # of a category that have a function of their own
MOST_OUTPUTS = 4  # classes that are looked at, the most frequent ones
_RIDGES = np.logspace(-4.0, 3.0, 22)
Names = tuple[str, ...]


def interacting(data: Dataset, order: int = 2, most: int = MOST_TERMS) -> tuple[Names, ...]:
    """The sets of 2 to ``order`` source columns that act together on the target, by name, the strongest first.

    At most ``most`` of them. Sets of three and more grow from the pairs that were found. () where there is no target,
    or nothing that stands out.

    >>> from mklcore.data.dataset import Dataset
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> interacting(Dataset(X, X[:, 0] * X[:, 1] + X[:, 2]))
    (('x1', 'x2'),)
    """
    if data.task == "novelty" or len(data.columns) < 2:
        return ()
    step = -(-data.n_samples // ROWS)
    X, targets = data.X[::step], _targets(data)[::step]
    with one_blas_thread():
        functions = [_functions(X[:, list(members)]) for _, members in data.columns]
        chosen = [j for j in _promising(functions, targets) if functions[j].shape[1]]
        grown: list[tuple[int, ...]] = list(combinations(sorted(chosen), 2))
        found: dict[tuple[int, ...], float] = {}
        terms = [functions[j] for j in chosen]
        for _ in range(2, order + 1):
            if not terms or not grown:
                break
            left, level = _residuals(terms, targets), np.log(LEVEL / len(grown))
            scores = {one: _score(_products(functions, one), left) for one in grown}
            kept = sorted((one for one in grown if scores[one] < level), key=lambda one: (scores[one], one))[:most]
            found |= {one: scores[one] for one in kept}
            terms += [_orthonormal(_products(functions, one)) for one in kept]
            grown = list(_grown(kept, chosen))
    order_of = sorted(found, key=lambda one: (found[one], one))
    return tuple(tuple(data.columns[j][0] for j in one) for one in order_of[:most])


def _targets(data: Dataset) -> Array:
    """The target as columns (n, T) of mean 0 and variance 1: numbers, or one column for each of the most frequent
    classes.
    """
    if data.task == "regression":
        found = np.asarray(data.y, dtype=float)[:, None]
    else:
        labels, counts = np.unique(data.y, return_counts=True)
        common = labels[np.argsort(-counts, kind="stable")]
        asked = common[1:2] if len(common) == 2 else common[:MOST_OUTPUTS]
        found = np.column_stack([data.y == label for label in asked]).astype(float)
    found = found - found.mean(axis=0)
    spread = np.sqrt(np.mean(found * found, axis=0))
    scaled: Array = found / np.where(spread > 0, spread, 1.0)
    return scaled


def _functions(seen: Array) -> Array:
    """Orthonormal functions (n, q) of the values of one source column, each of mean 0; simple ones first."""
    _, codes = np.unique(seen, axis=0, return_inverse=True)
    codes = codes.ravel()
    count = int(codes.max()) + 1
    if seen.shape[1] > 1 or count <= TOGETHER + 1:
        common = np.argsort(-np.bincount(codes), kind="stable")[: min(count - 1, MOST_VALUES)]
        raw = (codes[:, None] == common).astype(float)
    else:
        ranks = (2.0 * scipy.stats.rankdata(seen[:, 0]) - 1.0) / len(seen) - 1.0
        raw = np.polynomial.legendre.legvander(ranks, min(ALONE, count - 1))[:, 1:]
    return _orthonormal(raw - raw.mean(axis=0))


def _orthonormal(raw: Array) -> Array:
    """An orthonormal basis of the columns of ``raw``, which keeps their order."""
    if not raw.shape[1]:
        return raw
    basis, triangle = np.linalg.qr(raw)
    kept = np.abs(np.diag(triangle)) > 1e-8 * max(float(np.abs(triangle).max()), 1e-300)
    found: Array = basis[:, kept]
    return found


def _promising(functions: Sequence[Array], targets: Array) -> list[int]:
    """The columns whose pairs are looked at: all, or those that matter for the target or for the size of what is left
    of it.
    """
    if len(functions) <= MOST_COLUMNS:
        return list(range(len(functions)))
    half = MOST_COLUMNS // 2
    alone = np.array([np.sum((one.T @ targets) ** 2) / max(one.shape[1], 1) for one in functions])
    first = np.argsort(-alone, kind="stable")[:half].tolist()
    left = _residuals([functions[j] for j in first], targets)
    sizes = left * left - np.mean(left * left, axis=0)
    unequal = np.array([np.sum((one.T @ sizes) ** 2) / max(one.shape[1], 1) for one in functions])
    second = [j for j in np.argsort(-unequal, kind="stable").tolist() if j not in first]
    return sorted(first + second[: MOST_COLUMNS - half])


def _residuals(functions: Sequence[Array], targets: Array) -> Array:
    """What ridge regression on all functions leaves of each target (n, T); the penalty has the smallest error in
    generalised cross-validation.
    """
    table = np.column_stack([one for one in functions if one.shape[1]])
    n, out = len(table), np.empty_like(targets)
    sizes, vectors = np.linalg.eigh(table.T @ table)
    kept = np.maximum(sizes, 0.0) / (np.maximum(sizes, 0.0) + _RIDGES[:, None])
    for t, target in enumerate(targets.T):
        seen = vectors.T @ (table.T @ target)
        coefficients = (vectors @ (seen / (np.maximum(sizes, 0.0) + _RIDGES[:, None])).T).T
        left = target - coefficients @ table.T
        errors = np.sum(left * left, axis=1) / np.maximum(n - 1.0 - kept.sum(axis=1), 1e-3) ** 2
        out[:, t] = left[np.argmin(errors)]
    return out


def _products(functions: Sequence[Array], columns: Sequence[int]) -> Array:
    """Products (n, q) of the first functions of some columns without their mean; those of low order first."""
    products, depths = np.ones((len(functions[columns[0]]), 1)), np.zeros(1)
    for j in columns:
        few = functions[j][:, :TOGETHER]
        products = (products[:, :, None] * few[:, None, :]).reshape(len(few), -1)
        depths = np.maximum(depths[:, None], np.arange(few.shape[1])).ravel()
    products = products[:, np.argsort(depths, kind="stable")]
    found: Array = products - products.mean(axis=0)
    return found


def _score(products: Array, left: Array) -> float:
    """The smallest logarithm of a p-value that the first 1, half or all products are uncorrelated with a target's
    residuals.
    """
    n, q = products.shape
    scale = np.sqrt(np.sum(products * products, axis=0))
    products = products[:, scale > 1e-8 * max(float(scale.max()), 1e-300)]
    sizes = sorted({size for size in (1, 4, q) if size <= min(products.shape[1], n // 5)})
    best = 0.0
    for residual in left.T:
        weighed = products * residual[:, None]
        sums, spread = weighed.sum(axis=0), weighed.T @ weighed
        for size in sizes:
            explained = _form(spread[:size, :size], sums[:size]) / n
            ratio = (n - size) / size * explained / max(1.0 - explained, 1e-12)
            tail = float(scipy.special.fdtrc(size, n - size, ratio))  # of Fisher's F, without the checks of its class
            best = min(best, float(np.log(tail)) if tail > 0.0 else -np.inf)
    return best + float(np.log(max(len(sizes), 1) * left.shape[1]))


def _form(spread: Array, sums: Array) -> float:
    """sums' spread^+ sums, without directions whose spread is nought."""
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-10 * values[-1]
    return float(np.sum((sums @ vectors[:, kept]) ** 2 / values[kept]))


def _grown(sets: Sequence[tuple[int, ...]], columns: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sets of one more column, each once."""
    yield from dict.fromkeys(tuple(sorted((*one, j))) for one in sets for j in columns if j not in one)
