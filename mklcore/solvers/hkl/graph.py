"""Any directed acyclic graph of kernels for hierarchical kernel learning.

    a kernel may enter the model only after all of its parents

``Graph(parents, kernels)``, ``Graph.tree``. Without a graph the estimators search the grid of products.

Source: Bach (2008), section 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed acyclic graph with a kernel at every node.

    Parameters
    ----------
    parents : object
        For each of the M nodes the nodes it can enter after, as indices; or a mapping from a node's name to the names
        of its parents.
    kernels : sequence of kernels
        Gram matrices (M, n, n) of the training rows, used as they are; a ``KernelDictionary`` or a list of kernels such
        as ``Linear(features=(0, 3))``, one per node in order, which also works on new rows; None where a stack of
        kernels is handed to ``fit`` in place of the table. A mapping by name where ``parents`` is one.
    weights : sequence of float or None
        Price d_v > 0 of every node in the norm sum_v d_v ||f_D(v)||; None for ``depth_weight`` (1 where that is None)
        to the power of the node's depth, the longest way from a root.
    names : sequence of str, default None
        One per node; of a mapping its keys.

    Raises
    ------
    ParameterError for a circle, an unknown parent, or parts that do not fit together.

    >>> from mklcore.kernels.functions import Linear
    >>> graph = Graph([(), (0,), (0,), (1, 2)], [Linear(features=(j,)) for j in range(4)])
    >>> graph.depths
    (0, 1, 1, 2)
    """

    parents: Any
    kernels: Any = None
    weights: Any = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        keys = list(self.parents) if isinstance(self.parents, Mapping) else None
        if self.parents is None or isinstance(self.parents, str) or not len(self.parents):
            raise ParameterError("A graph needs at least one node: parents lists the parents of each.")
        if keys is not None:
            object.__setattr__(self, "names", tuple(map(str, keys)))
        count = len(self.parents)
        if self.names is not None and (len(self.names) != count or len(set(self.names)) < count):
            raise ParameterError(f"names must hold {count} different names, one per node; got {len(self.names)}.")
        kernels, weights = (_in_order(part, keys) for part in (self.kernels, self.weights))
        object.__setattr__(self, "parents", _as_parents(self.parents, keys))
        object.__setattr__(self, "kernels", _as_kernels(kernels, count))
        object.__setattr__(self, "weights", _as_weights(weights, count))
        object.__setattr__(self, "names", None if self.names is None else tuple(map(str, self.names)))
        self._sorted()

    def __len__(self) -> int:
        return len(self.parents)

    def __repr__(self) -> str:
        kind = "no kernels" if self.kernels is None else "Gram matrices" if self.is_precomputed else "kernel functions"
        return f"Graph({len(self)} nodes, {sum(map(len, self.parents))} edges, {kind})"

    @property
    def is_precomputed(self) -> bool:
        """Whether the kernels are Gram matrices."""
        return isinstance(self.kernels, np.ndarray)

    @property
    def order(self) -> tuple[int, ...]:
        """The nodes, every one after its parents."""
        return self._sorted()

    @property
    def depths(self) -> tuple[int, ...]:
        """The longest way from a root to every node."""
        found = [0] * len(self)
        for node in self.order:
            found[node] = max((found[parent] + 1 for parent in self.parents[node]), default=0)
        return tuple(found)

    def prices(self, base: float | None = None) -> Array:
        """d_v (M,): the ``weights``, or ``base`` to the power of the depth."""
        if self.weights is not None:
            return np.array(self.weights)
        prices: Array = (1.0 if base is None else float(base)) ** np.array(self.depths, dtype=float)
        return prices

    def _sorted(self) -> tuple[int, ...]:
        children: list[list[int]] = [[] for _ in self.parents]
        left = [len(above) for above in self.parents]
        for node, above in enumerate(self.parents):
            for parent in above:
                children[parent].append(node)
        found = [node for node, count in enumerate(left) if not count]
        for node in found:
            for child in children[node]:
                left[child] -= 1
                if not left[child]:
                    found.append(child)
        if len(found) < len(left):
            circle = [str(self.names[k] if self.names else k) for k, count in enumerate(left) if count][:5]
            raise ParameterError(
                f"The graph has a circle through or above {', '.join(circle)}; parents must not be descendants of "
                f"their children."
            )
        return tuple(found)

    @classmethod
    def tree(cls, parent: Any, kernels: Any = None, *, weights: Any = None, names: Sequence[str] | None = None) -> Self:
        """A tree or forest: ``parent`` holds one parent per node, None for a root; or maps names to the parent's name.

        >>> Graph.tree({"body": None, "arm": "body", "hand": "arm"}).depths
        (0, 1, 2)
        """
        if isinstance(parent, Mapping):
            found: Any = {key: () if above is None else (above,) for key, above in parent.items()}
        else:
            found = [() if above is None else (above,) for above in parent]
        return cls(found, kernels, weights, None if names is None else tuple(names))


def _in_order(part: Any, keys: list[Any] | None) -> Any:
    if not isinstance(part, Mapping):
        return part
    if keys is None or set(part) != set(keys):
        raise ParameterError("Kernels and weights by name need parents by the same names.")
    return [part[key] for key in keys]


def _as_parents(parents: Any, keys: list[Any] | None) -> tuple[tuple[int, ...], ...]:
    place = None if keys is None else {key: k for k, key in enumerate(keys)}
    rows = list(parents.values()) if isinstance(parents, Mapping) else list(parents)
    found = []
    for k, above in enumerate(rows):
        try:
            listed = [place[one] if place is not None else one for one in above]
        except (KeyError, TypeError):
            raise ParameterError(
                f"The parents of node {k} must be a list of nodes of the graph; got {above!r}."
            ) from None
        good = all(isinstance(one, (int, np.integer)) and 0 <= one < len(rows) and one != k for one in listed)
        if not good or len(set(listed)) < len(listed):
            raise ParameterError(
                f"The parents of node {k} must be different nodes, from 0 to {len(rows) - 1} and not itself; got "
                f"{above!r}."
            )
        found.append(tuple(int(one) for one in listed))
    return tuple(found)


def _as_kernels(kernels: Any, count: int) -> Any:
    if kernels is None:
        return None
    if isinstance(kernels, KernelDictionary):
        found: Any = kernels
    elif isinstance(kernels, (list, tuple)) and kernels and all(isinstance(one, KernelSpec) for one in kernels):
        found = KernelDictionary(tuple(kernels))
    else:
        try:
            found = np.ascontiguousarray(np.asarray(kernels, dtype=np.float64))
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim != 3 or found.shape[1] != found.shape[2]:
            raise KernelError(
                "The kernels of a graph are Gram matrices (M, n, n), a KernelDictionary, or a list of kernels, one "
                "per node."
            )
    if len(found) != count:
        raise KernelError(f"The graph has {count} nodes and {len(found)} kernels; there must be one per node.")
    return found


def _as_weights(weights: Any, count: int) -> tuple[float, ...] | None:
    if weights is None:
        return None
    try:
        found = tuple(float(one) for one in weights)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count or not all(np.isfinite(one) and one > 0 for one in found):
        raise ParameterError(f"weights must hold {count} numbers above 0, one per node; got {weights!r}.")
    return found
