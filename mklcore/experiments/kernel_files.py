"""Kernels from files, as the protein and network experiments take them, and made ones that stand in where there is no
file.

One .npz file per data set: K (M, n, n) and y (n,), as on the Kernels page; for a network K and ``edges`` (a, 2), the
pairs of things that are related. ``np.savez("plant.npz", K=K, y=y)`` writes one. Nothing in it is unpickled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Labels
from mklcore.errors import DataError
from mklcore.experiments.base import file_of
from mklcore.kernels.checks import check_gram
from mklcore.kernels.composed import values_of
from mklcore.kernels.functions import RBF
from mklcore.kernels.measures import as_stack

VIEWS = 4  # sets of motif kernels: each sees one view of the proteins
PER_VIEW, QUICK_PER_VIEW = 16, 6
CLASSES = 4


def labelled(name: str) -> tuple[Array, Labels]:
    """Kernels (M, n, n) and classes (n,) of a file in the folder of the run. DataError where it is another kind."""
    found = arrays_of(name, "K", "y")
    K, y = _kernels(name, found["K"]), found["y"]
    if y.shape != K.shape[1:2]:
        raise DataError(
            f"{name}: y has the shape {y.shape}; expected one class for each of the {K.shape[1]} rows of K."
        )
    return K, y


def network(name: str) -> tuple[Array, Array]:
    """Kernels (M, n, n) between things and who is related to whom (n, n), 0 or 1, symmetric, from a file in the
    folder.
    """
    found = arrays_of(name, "K", "edges")
    K, edges = _kernels(name, found["K"]), found["edges"]
    n = K.shape[1]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu" or not len(edges):
        raise DataError(
            f"{name}: edges has the shape {edges.shape}; expected whole numbers (a, 2), one pair per relation."
        )
    if edges.min() < 0 or edges.max() >= n:
        raise DataError(f"{name}: edges name things from 0 to {n - 1}; got {edges.min()} to {edges.max()}.")
    return K, _adjacency(edges.astype(np.int64), n)


def arrays_of(name: str, *wanted: str) -> dict[str, Any]:
    """The wanted arrays of an .npz file in the folder of the run. DataError where one is missing or objects."""
    path = file_of(name)
    try:
        with np.load(path, allow_pickle=False) as archive:
            found = {key: archive[key] for key in wanted if key in archive}
    except Exception as error:  # a damaged archive leads its readers into any of them
        raise DataError(
            f"{name} is no archive of plain arrays ({type(error).__name__}); write it with np.savez."
        ) from error
    if missing := [key for key in wanted if key not in found]:
        raise DataError(
            f"{name} has no array {' or '.join(missing)}; expected {' and '.join(wanted)}, as np.savez writes them."
        )
    return found


def _kernels(name: str, K: Any) -> Array:
    values = as_stack(K)
    for m, gram in enumerate(values):
        check_gram(f"kernel {m} of {name}", gram)
    return values


def _adjacency(edges: Indices, n: int) -> Array:
    found = np.zeros((n, n))
    found[edges[:, 0], edges[:, 1]] = found[edges[:, 1], edges[:, 0]] = 1.0
    np.fill_diagonal(found, 0.0)
    return found


def multiplicative(K: Array, train: Indices) -> Array:
    """Every kernel divided by its variance over the training rows (Kloft et al. 2011, equation 27)."""
    own = K[:, train[:, None], train]
    scales = np.einsum("mii->m", own) / len(train) - own.mean(axis=(1, 2))
    kept = scales > 1e-12 * np.maximum(np.einsum("mii->m", own) / len(train), 1e-300)
    scaled: Array = K[kept] / scales[kept, None, None]
    return scaled


def made_proteins(n: int, per_view: int, seed: int) -> tuple[Array, Labels]:
    """Kernels (5 + 4 per_view, n, n) and four classes (n,), in the shape of the protein dictionary.

    Two kernels that tell much, three that tell something, and four sets of ``per_view`` RBF kernels that differ in
    width alone: the first set tells a little, the others nothing. The truth is sparse, and most kernels are copies in
    all but name.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % CLASSES)
    strengths = [(0.8, 5)] * 2 + [(0.5, 5)] * 3 + [(0.3, 5)] + [(0.0, 5)] * (VIEWS - 1)
    found = list[Array]()
    for place, (strength, d) in enumerate(strengths):
        centres = rng.standard_normal((CLASSES, d))
        X = strength * centres[y] + rng.standard_normal((n, d))
        widths = [1.0] if place < 5 else np.geomspace(0.5, 2.0, per_view)
        found += [_rbf(X, float(width) * np.sqrt(2.0 * d)) for width in widths]
    return np.stack(found), y


def made_network(n: int, seed: int) -> tuple[Array, Array]:
    """Three kernels (3, n, n) of n things and their network (n, n): each kernel sees a third of what decides who is
    related.

    Every thing has a place in six dimensions; the nearest tenth of all pairs is related. Kernel k sees dimensions 2k
    and 2k + 1, with noise: all three tell about as much, and each another thing.
    """
    rng = np.random.default_rng(seed)
    places = rng.standard_normal((n, 6))
    distances = np.square(places[:, None] - places).sum(axis=2)
    related = distances <= np.quantile(distances[np.triu_indices(n, 1)], 0.1)
    seen = places + 0.4 * rng.standard_normal(places.shape)
    K = np.stack([_rbf(np.ascontiguousarray(seen[:, 2 * k : 2 * k + 2]), 1.5) for k in range(3)])
    network = related.astype(np.float64)
    np.fill_diagonal(network, 0.0)
    return K, network


def _rbf(X: Array, width: float) -> Array:
    values = values_of(RBF(width).met(X), X, X, False)
    return np.asarray((values + values.T) / 2.0)
