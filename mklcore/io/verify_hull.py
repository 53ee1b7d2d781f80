"""The grid of kernels of hierarchical kernel learning, from its definition, for ``verify``: NumPy alone, no solver.

    k_v = product over i of k_{i, v_i},   d_v = base^|v| (root_weight at the root),   zeta_w = 1 / sum_{v <= w} 1 /
                                          eta_v

Every level of every variable is a full Gram matrix here, and every product is formed: slow, short, and easy to read.
Source: Bach (2008), Propositions 2 and 3.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from mklcore.errors import DataError

Array = Any
Node = tuple[int, ...]


def _hermite(x: Array, count: int) -> list[Array]:
    found = [np.ones_like(x), math.sqrt(2.0) * x]
    for k in range(1, count - 1):
        found.append(x * math.sqrt(2.0 / (k + 1)) * found[k] - math.sqrt(k / (k + 1)) * found[k - 1])
    return found[:count]


def _gaussian(basis: dict[str, Any], x: Array) -> list[Array]:
    a, b = 1.0 / (4.0 * basis["sigma2"]), basis["b"]
    c = math.sqrt(a * a + 2.0 * a * b)
    ratio = b / (a + b + c)
    bump = (1.0 - ratio**2) ** 0.25 * np.exp(-ratio * (a + c) * x**2)
    series = [ratio ** (k / 2) * bump * h for k, h in enumerate(_hermite(math.sqrt(2.0 * c) * x, basis["q"] + 60))]
    grams = [np.outer(phi, phi) for phi in series]
    rest = sum(grams[basis["q"] :])
    return [
        *grams[: basis["q"]],
        rest if ratio < 0.5 else np.exp(-b * (x[:, None] - x) ** 2) - sum(grams[: basis["q"]]),
    ]


def _kernel_pca(basis: dict[str, Any], x: Array) -> list[Array]:
    K = np.exp(-((x[:, None] - x) ** 2) / (2.0 * basis["width"] ** 2))
    values, vectors = np.linalg.eigh(K)
    order = np.argsort(-values)[: basis["q"]]
    parts = [max(values[k], 0.0) * np.outer(vectors[:, k], vectors[:, k]) for k in order]
    parts = [part if values[k] >= 1e-12 * values.max() else 0.0 * part for part, k in zip(parts, order, strict=True)]
    return [*parts, K - sum(parts)]


def _levels(basis: dict[str, Any], x: Array) -> list[Array]:
    kind = basis["is"]
    if kind == "PolynomialBasis":
        return [math.comb(basis["degree"], j) * np.outer(x, x) ** j for j in range(basis["degree"] + 1)]
    if kind == "GaussianBasis":
        return _gaussian(basis, x)
    if kind == "ANOVABasis":
        return [np.ones((x.size, x.size)), np.exp(-basis["b"] * (x[:, None] - x) ** 2)]
    if kind == "KernelPCABasis":
        return _kernel_pca(basis, x)
    raise DataError(f"This verifier does not know the basis {kind}; give its Gram matrices (p, q+1, n, n) as .npz.")


def levels_of(design: dict[str, Any], X: Array) -> Array:
    """K (p, q+1, n, n) of a table X (n, p), or of Gram matrices that are given, centred and scaled as the design
    says.
    """
    if X.ndim == 4:
        scaled = any(scale is not None for row in design["scaling"] for scale in row)
        K = np.array(X, dtype=float)
    else:
        scaled = bool(design["normalize"])
        scale = np.asarray(design["scale"], dtype=float)
        Z = (X - design["mean"]) / scale
        K = np.array([_levels(design["basis"], np.ascontiguousarray(x)) for x in Z.T])
    if scaled:
        for level in (K[i, j] for i in range(len(K)) for j in range(1, K.shape[1])):  # views, changed in place
            plain = float(np.abs(level).mean())
            level += level.mean() - level.mean(axis=0) - level.mean(axis=1)[:, None]
            size = float(np.trace(level)) / len(level)
            level *= 0.0 if size <= 1e-12 * max(1.0, plain) else 1.0 / size
    return K


class Hull:
    """Sums over nodes of the grid; ``K`` (p, q+1, n, n) are the levels."""

    def __init__(self, K: Array, base: float | None, root: float) -> None:
        self.K, self.p, self.q = K, len(K), K.shape[1] - 1
        self.base = float(max(4, math.ceil(math.sqrt(self.p)) - 1)) if base is None else float(base)
        self.root = float(root)

    def price(self, node: Node) -> float:
        """d_v."""
        return self.base ** sum(node) if any(node) else self.root

    def gram(self, node: Node) -> Array:
        """K_v (n, n)."""
        found = np.ones(self.K.shape[2:])
        for i, level in enumerate(node):
            found = found * self.K[i, level]
        return found

    def forms(self, nodes: list[Node], a: Array) -> Array:
        """a'K_v a for every node."""
        return np.array([max(float(a @ self.gram(node) @ a), 0.0) for node in nodes])

    def decision(self, nodes: list[Node], zeta: Array, a: Array) -> Array:
        """f (n,) = sum_v zeta_v K_v a."""
        return sum((z * (self.gram(node) @ a) for node, z in zip(nodes, zeta, strict=True) if z > 0), np.zeros(a.size))

    def _below(self, nodes: list[Node]) -> Array:
        """(m, m): 1 where the first node is below the second, or is it."""
        table = np.array(nodes)
        return np.all(table[:, None, :] <= table[None, :, :], axis=2).astype(float)

    def norm(self, nodes: list[Node], zeta: Array, forms: Array) -> float:
        """Omega(f) = sum_v d_v ||beta_D(v)||."""
        squares = self._below(nodes) @ (zeta**2 * forms)
        return float(np.array([self.price(node) for node in nodes]) @ np.sqrt(squares))

    def dual_norm_bound(self, proof: Any, a: Array) -> float:
        """A bound on Omega*(a)^2 over the whole grid: shares on the nodes of the proof, and one sum per source
        outside.
        """
        table, shares = np.asarray(proof[0]), np.asarray(proof[1], dtype=float)
        nodes = self.nodes_of(table, shares.size)
        if abs(shares.sum() - 1.0) > 1e-9 or shares.min() <= 0:
            return math.inf
        prices, below = np.array([self.price(node) for node in nodes]), self._below(nodes)
        eta = shares / prices**2
        zeta = 1.0 / (below.T @ (1.0 / eta))
        inside = below @ (zeta**2 * self.forms(nodes, a)) / eta / shares
        return max(float(inside.max()), max((self._descendants(t, a) for t in self.sources(nodes)), default=0.0))

    def nodes_of(self, table: Array, count: int) -> list[Node]:
        """The nodes of a proof, each given by the rows of ``table`` that begin with its place."""
        full = np.zeros((count, self.p), dtype=int)
        for place, variable, level in table.tolist():
            full[place, variable] = level
        return [tuple(row) for row in full.tolist()]

    def sources(self, nodes: list[Node]) -> list[Node]:
        """Nodes outside whose parents are all inside."""
        members, found = set(nodes), set()
        for node, i in product(nodes, range(self.p)):
            if node[i] < self.q:
                child = (*node[:i], node[i] + 1, *node[i + 1 :])
                parents = [(*child[:j], child[j] - 1, *child[j + 1 :]) for j in range(self.p) if child[j]]
                if child not in members and all(parent in members for parent in parents):
                    found.add(child)
        return sorted(found)

    def _descendants(self, t: Node, a: Array) -> float:
        """S_t = sum over w >= t of a'K_w a / (sum of d_v over t <= v <= w)^2, as one product over the variables."""
        whole = np.ones(self.K.shape[2:])
        for i, level in enumerate(t):
            sums = np.cumsum(self.base ** np.arange(level, self.q + 1.0))
            whole = whole * np.tensordot(1.0 / sums**2, self.K[i, level:], 1)
        return float(a @ whole @ a)
