"""The graph of all strings on n training sequences, grown letter by letter as it is searched.

A node is a string u; its kernel has rank one, k_u(x, z) = c_u(x) c_u(z), c_u(x) how often u occurs in x. All positions
of all training sequences are sorted by the letters that follow, so that u is an interval of them, and with d_l the
price of length l

    S_u = sum_{l >= |u|} sum_{w = u.., |w| = l} (c_w'a)^2 / ( sum_{k = |u|..l} d_k )^2

is a sum over the intervals inside: strings that never occur have a kernel of zeros and cost nothing.

Source: Bach (2008), section 2.1, where a graph of substrings is an example; the sums are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.data.sequences import END, as_strings, letters
from mklcore.solvers.hkl.dag import ROOT, Node
from mklcore.solvers.hkl.space import GraphSpace
from mklcore.solvers.hkl.work import Work


@dataclass(frozen=True)
class LengthPrices:
    """d_u = base^|u|, and ``root`` for the empty string."""

    base: float
    root: float

    def of(self, nodes: Sequence[Node]) -> Array:
        """d_u for every node."""
        return np.array([self.base ** len(node) if node else self.root for node in nodes])

    def between(self, shortest: int, longest: int) -> float:
        """sum of the prices of the lengths from ``shortest`` to ``longest``."""
        return float(sum(self.base**k if k else self.root for k in range(shortest, longest + 1)))


class StringSpace(GraphSpace):
    """All strings of up to ``max_length`` letters on training ``sequences``; columns are divided by ``scale``."""

    root_is_constant = True

    def __init__(
        self, sequences: Iterable[str], max_length: int, *, normalise: bool = True, memory_mb: float = 2048.0
    ) -> None:
        self.sequences, self.max_length, self.memory_mb = as_strings(sequences), int(max_length), memory_mb
        self.n, self.roots, self.normalise = len(self.sequences), (ROOT,), normalise
        self.scale = float(np.sqrt(np.mean([len(text) for text in self.sequences]))) if normalise else 1.0
        self.alphabet = "".join(sorted(set("".join(self.sequences))))
        self.p = max(1, len(self.alphabet))
        self._sort()
        self._spans: dict[Node, tuple[int, int]] = {ROOT: (0, self._rows.size)}
        self._last: tuple[Array, list[Array]] | None = None

    def _sort(self) -> None:
        """All positions by the letters that follow: ``_words`` (N, L) as places in the alphabet from 1, ``_rows``
        (N,)."""
        table = letters([self.sequences])
        codes = np.array([ord(letter) for letter in self.alphabet], dtype=float)
        places = np.where(table == END, 0, np.searchsorted(codes, table) + 1).astype(np.int64)
        padded = np.pad(places, ((0, 0), (0, self.max_length)))
        words = np.lib.stride_tricks.sliding_window_view(padded, self.max_length, axis=1)[:, : table.shape[1]]
        rows, starts = np.nonzero(places)
        words = words[rows, starts]
        order = np.lexsort(words.T[::-1])
        self._words: Indices = np.ascontiguousarray(words[order])
        self._rows: Indices = rows[order]
        fresh = np.ones((self._rows.size, self.max_length), dtype=bool)
        fresh[1:] = np.logical_or.accumulate(self._words[1:] != self._words[:-1], axis=1)
        self._starts = [
            np.flatnonzero(fresh[:, level]) for level in range(self.max_length)
        ]  # of strings one letter longer

    # -- the graph -------------------------------------------------------------------------------------------------

    @property
    def n_dag_kernels(self) -> int:
        """How many strings there are over the letters of the training sequences."""
        return sum(len(self.alphabet) ** length for length in range(self.max_length + 1))

    def weights(self, base: float | None, root: float) -> LengthPrices:
        return LengthPrices(2.0 if base is None else float(base), root)

    def parents(self, node: Node) -> Sequence[Node]:
        return (node[:-1],) if node else ()

    def children(self, node: Node) -> Iterable[Node]:
        """The strings one letter longer that occur."""
        level = len(node)
        if level == self.max_length:
            return ()
        low, high = self._span(node)
        return [(*node, (level, int(letter))) for letter in np.unique(self._words[low:high, level]) if letter]

    def depth(self, node: Node) -> int:
        return len(node)

    def key(self, node: Node) -> str:
        """The string itself."""
        return "".join(self.alphabet[letter - 1] for _, letter in node)

    def node_of(self, key: Any) -> Node:
        return tuple((level, self.alphabet.index(letter) + 1) for level, letter in enumerate(str(key)))

    def name(self, node: Node) -> str:
        return self.key(node) if node else "1"

    # -- kernels ---------------------------------------------------------------------------------------------------

    def _span(self, node: Node) -> tuple[int, int]:
        """The interval of positions at which the string begins."""
        if node not in self._spans:
            low, high = self._span(node[:-1])
            level, letter = len(node) - 1, node[-1][1]
            column = self._words[low:high, level]
            self._spans[node] = (
                low + int(np.searchsorted(column, letter, "left")),
                low + int(np.searchsorted(column, letter, "right")),
            )
        return self._spans[node]

    def column(self, node: Node) -> Array:
        """c_u (n,), divided by the scale; ones for the empty string."""
        if not node:
            return np.ones(self.n)
        low, high = self._span(node)
        counts: Array = np.bincount(self._rows[low:high], minlength=self.n) / self.scale
        return counts

    def forms(self, nodes: Sequence[Node], a: Array, work: Work | None = None) -> Array:
        """(c_u'a)^2 for every node."""
        found = np.empty(len(nodes))
        for k, node in enumerate(nodes):
            low, high = self._span(node)
            found[k] = (a[self._rows[low:high]].sum() / self.scale if node else a.sum()) ** 2
        if work is not None:
            work.spend(float(self.n) * len(nodes))
        return found

    def descendant_sums(self, nodes: Sequence[Node], a: Array, weights: Any, work: Work | None = None) -> Array:
        """S_u for every node: the sum over all strings that begin with it."""
        squares = self._squares(a, work)
        found = np.zeros(len(nodes))
        for k, node in enumerate(nodes):
            low, high = self._span(node)
            if not node:
                found[k] = float(a.sum()) ** 2 / weights.between(0, 0) ** 2
            for level in range(max(len(node), 1) - 1, self.max_length):
                first, last = np.searchsorted(self._starts[level], (low, high))
                found[k] += squares[level][first:last].sum() / weights.between(len(node), level + 1) ** 2
        return found

    def _squares(self, a: Array, work: Work | None) -> list[Array]:
        """(c_w'a)^2 of every string that occurs, by its length from 1 on; the last dual's are kept."""
        if self._last is None or not np.array_equal(self._last[0], a):
            found = []
            for level, starts in enumerate(self._starts):
                ended = self._words[:, level] == 0
                inner = np.add.reduceat(np.where(ended, 0.0, a[self._rows]), starts) / self.scale
                found.append(inner**2)
            self._last = a.copy(), found
            if work is not None:
                work.spend(float(self._rows.size) * self.max_length)
        return self._last[1]

    def release(self) -> None:
        self._last = None

    # -- rows ------------------------------------------------------------------------------------------------------

    @property
    def values(self) -> StringRows:
        return StringRows(self, None)

    def cross(self, rows: Any) -> StringRows:
        """New sequences."""
        return StringRows(self, as_strings(rows))


class StringRows:
    """New sequences (None: the training ones), in which strings are counted as they are asked for."""

    def __init__(self, space: StringSpace, sequences: tuple[str, ...] | None) -> None:
        self.space, self.sequences = space, sequences
        self.size = space.n if sequences is None else len(sequences)

    def node(self, node: Node) -> tuple[Array, Array | None]:
        """The column (m,) of the string, and None."""
        if self.sequences is None or not node:
            return (self.space.column(node) if node else np.ones(self.size)), None
        word = self.space.key(node)
        counts = np.array([_occurrences(word, text) for text in self.sequences], dtype=float)
        return counts / self.space.scale, None

    def product(self, node: Node, a: Array) -> Array:
        """K_u(new, training) a: (m,) for a (n,), (m, T) for a (n, T)."""
        product: Array = np.multiply.outer(self.node(node)[0], self.space.column(node) @ a)
        return product


def _occurrences(word: str, text: str) -> int:
    """How often ``word`` occurs in ``text``, overlaps included."""
    return sum(text.startswith(word, k) for k in range(len(text) - len(word) + 1))
