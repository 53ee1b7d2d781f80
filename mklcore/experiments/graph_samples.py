"""Generated tables for hulls on graphs of kernels, with the nodes that decide: strings, groups, regions, a tree.

Source: Bach (2008), sections 2.1 and 6, names these graphs; the tables are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.kernels.functions import Linear
from mklcore.solvers.hkl.graph import Graph, StringGraph

N_TRAIN, N_CHECK = 120, 80
NOISE = 0.5


class Drawn(NamedTuple):
    """Rows to train on and to choose lambda on, with their targets, and the graph."""

    train: Any
    y: Array
    check: Any
    y_check: Array
    graph: Graph | StringGraph


class GraphSample(NamedTuple):
    """One sample: its name, what the rows are, the nodes that decide, and ``make(seed)``."""

    label: str
    about: str
    truth: tuple[str, ...]
    make: Callable[[int], Drawn]


def _strings(seed: int) -> Drawn:
    rng = np.random.default_rng([seed, 0])
    texts = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(N_TRAIN + N_CHECK)]
    y = np.array([text.count("ACG") - text.count("TT") for text in texts]) / 2 + 0.2 * rng.standard_normal(len(texts))
    return Drawn(texts[:N_TRAIN], y[:N_TRAIN], texts[N_TRAIN:], y[N_TRAIN:], StringGraph(4))


def _groups(seed: int) -> Drawn:
    X, noise = _rows(seed, 1, 24)
    members = {f"pathway {k + 1}": range(6 * k, 6 * k + 6) for k in range(4)}
    genes = [f"gene {j + 1}" for j in range(24)]
    graph = Graph.groups({"all genes": range(24), **members}, feature_names=genes)
    return _parted(X, X[:, 6:12] @ np.array([1.0, -1.0, 1.0, 0.5, -0.5, 1.0]) + noise, graph)


def _regions(seed: int) -> Drawn:
    X, noise = _rows(seed, 2, 64)
    pixels = X.reshape(-1, 8, 8)
    quarter, eighth = pixels[:, :4, :4].sum(axis=(1, 2)), pixels[:, :2, 2:4].sum(axis=(1, 2))
    return _parted(X, quarter / 4 + eighth + noise, Graph.regions((8, 8), smallest=2))


def _tree(seed: int) -> Drawn:
    X, noise = _rows(seed, 3, 15)
    parents = [None, *((j - 1) // 2 for j in range(1, 15))]
    names = [f"node {j + 1}" for j in range(15)]
    graph = Graph.tree(parents, [Linear(features=(j,)) for j in range(15)], names=names)
    return _parted(X, X[:, [0, 1, 4]].sum(axis=1) + noise, graph)


def _rows(seed: int, place: int, columns: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, place])
    X: Array = rng.standard_normal((N_TRAIN + N_CHECK, columns))
    return X, NOISE * rng.standard_normal(len(X))


def _parted(X: Array, y: Array, graph: Graph) -> Drawn:
    return Drawn(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:], graph)


GRAPH_SAMPLES = {
    "strings": GraphSample(
        "Substrings",
        "Sequences of 40 letters; a word may enter after the word without its last letter. y counts ACG less TT.",
        ("ACG", "TT"),
        _strings,
    ),
    "groups": GraphSample(
        "Genes in pathways",
        "24 genes in four pathways; a gene may enter after its pathway. y is a weighted sum of the genes of pathway 2.",
        ("pathway 2", *(f"gene {j}" for j in range(7, 13))),
        _groups,
    ),
    "regions": GraphSample(
        "Regions of an image",
        "Images of 8 × 8 pixels; a quarter of a region may enter after the region. y is the sum over one eighth of the "
        "side, and a quarter as much of the quarter around it.",
        ("rows 0-3, columns 0-3", "rows 0-1, columns 2-3"),
        _regions,
    ),
    "tree": GraphSample(
        "A tree",
        "15 columns in a binary tree; a column may enter after the one above it. y is the sum of three on one branch.",
        ("node 1", "node 2", "node 5"),
        _tree,
    ),
}
