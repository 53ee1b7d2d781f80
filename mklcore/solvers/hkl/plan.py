"""What is multiplied with what, so that the forms of many nodes share their products.

The variables are halved again and again. Of a node v an interval I sees v|I, the levels of its variables; w are the
weights of the entries, and o multiplies entry by entry:

    V(I, u) = V(left half, u|left) o V(right half, u|right)       of a single variable i: the matrix of level u_i
    O(I)    = w o V(everything outside I, level zero)
    form of v = <O(I) o V(left half, v|left), V(right half, v|right)>   I: the smallest interval with all that v touches

A product is made once, however many nodes ask for it. Of the 4960 triples of 32 variables each is an inner product, and
860 products serve them all; sorted nodes that share what they begin with would need 5456.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from mklcore.arrays import Indices, Mask
from mklcore.solvers.hkl.dag import ROOT, Node

TILE = 512  # entries worked on at once: the vectors many ask for stay in a cache, and a loop is long enough to pay
_CHUNK = 60_000_000  # multiplications in one call of the compiled function: about 50 ms


@dataclass(frozen=True, eq=False)
class Plan:
    """Vectors by number: 0 the weights, then one per row of ``pairs`` (variable, level), sorted, then one per row of
    ``products``.

    ``products`` (k, 2): the two vectors of each, earlier ones. A row of ``single`` (k, 3) are two vectors and the node
    whose form is their inner product; a row of ``eights`` (k, 14) are two vectors, four others, and the nodes of the
    four inner products of the first and of the second with them: what is read once serves several.
    """

    pairs: Indices
    products: Indices
    single: Indices
    eights: Indices

    @classmethod
    def of(cls, nodes: Sequence[Node], p: int, unit: Mask | None = None) -> Plan:
        """The plan for ``nodes`` over ``p`` variables; where ``unit[i]``, level zero of variable i is one."""
        shared = _Shared(p, np.zeros(p, dtype=bool) if unit is None else unit)
        forms = shared.numbered(np.array([shared.form(node) for node in nodes], dtype=np.int64).reshape(-1, 2)).tolist()
        single, eights = _gathered(forms)
        return cls(
            np.array(sorted(shared.levels), dtype=np.int64).reshape(-1, 2),
            shared.numbered(np.array(shared.products, dtype=np.int64).reshape(-1, 2)),
            np.array(single, dtype=np.int64).reshape(-1, 3),
            np.array(eights, dtype=np.int64).reshape(-1, 14),
        )

    @property
    def nodes(self) -> int:
        """How many nodes have a form."""
        return len(self.single) + 8 * len(self.eights)

    @property
    def vectors(self) -> int:
        """How many vectors there are."""
        return 1 + len(self.pairs) + len(self.products)

    @property
    def cost_of_entry(self) -> int:
        """Multiplications per entry, about."""
        return 6 * len(self.pairs) + 2 * len(self.products) + len(self.single) + 4 * len(self.eights)

    @property
    def chunk(self) -> int:
        """Entries for one call of the compiled function: a whole number of tiles, about 50 ms."""
        return max(1, _CHUNK // (self.cost_of_entry * TILE)) * TILE


def _gathered(forms: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Inner products, two times four of them where two vectors meet the same four."""
    asked = Counter(vector for pair in forms for vector in pair)
    partners, single, eights = defaultdict[int, dict[int, int]](dict), list[list[int]](), list[list[int]]()
    for k, pair in enumerate(forms):
        rare, common = sorted(pair, key=asked.__getitem__)
        if partners[rare].setdefault(common, k) != k:
            single.append([rare, common, k])  # a node that is asked for twice
    alike = sorted(partners, key=lambda vector: sorted(partners[vector]))
    for one, two in zip_longest(alike[::2], alike[1::2]):
        first, second = partners[one], partners.get(two, {})
        both = [vector for vector in first if vector in second]
        for at in range(0, len(both) - 3, 4):
            four = both[at : at + 4]
            eights.append([one, two, *four, *(first.pop(vector) for vector in four), *map(second.pop, four)])
        single += [[one, vector, k] for vector, k in first.items()] + [[two, vector, k] for vector, k in second.items()]
    return single, eights


class _Shared:
    """Vectors asked for so far: 0 the weights, -1 - k the k-th level, 1 + k the k-th product; None is all ones."""

    def __init__(self, p: int, unit: Mask) -> None:
        self._p, self._unit = p, unit.tolist()
        self.levels: dict[tuple[int, int], int] = {}
        self.products: list[tuple[int, int]] = []
        self._inside: dict[tuple[int, int, Node], int | None] = {}
        self._outside: dict[tuple[int, int], int] = {(0, p): 0}
        self._weighed: dict[tuple[int, int, Node], int] = {}

    def form(self, node: Node) -> tuple[int, int]:
        """The two vectors whose inner product is the form of ``node``."""
        low, high = self._smallest(node)
        outside = self._outside[low, high]
        if high - low == 1:
            return outside, self._level(low, node[0][1] if node else 0)
        middle = (low + high) // 2
        cut = next(k for k, (i, _) in enumerate(node) if i >= middle)
        key = (low, high, node[:cut])
        if key not in self._weighed:
            self._weighed[key] = self._weigh(outside, self._of(low, middle, node[:cut]))
        right = self._of(middle, high, node[cut:])
        assert right is not None  # it holds a level above zero
        return self._weighed[key], right

    def numbered(self, vectors: Indices) -> Indices:
        """As ``Plan`` counts them."""
        rank = {level: k for k, level in enumerate(sorted(self.levels))}
        place = np.array([0, *(1 + rank[level] for level in self.levels)])  # of the weights, and of levels as asked for
        return np.where(vectors <= 0, place[np.maximum(-vectors, 0)], vectors + len(rank))

    def _smallest(self, node: Node) -> tuple[int, int]:
        """The smallest interval with all that ``node`` touches; for the root the first variable. What is outside is
        made."""
        low, high = 0, self._p
        first, last = (node[0][0], node[-1][0]) if node != ROOT else (0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            if first < middle <= last:
                break
            inner, other = ((low, middle), (middle, high)) if last < middle else ((middle, high), (low, middle))
            if inner not in self._outside:
                self._outside[inner] = self._weigh(self._outside[low, high], self._of(*other, ROOT))
            low, high = inner
        return low, high

    def _of(self, low: int, high: int, seen: Node) -> int | None:
        """V of the interval low .. high - 1, of which ``seen`` is touched."""
        if high - low == 1:
            return None if not seen and self._unit[low] else self._level(low, seen[0][1] if seen else 0)
        key = (low, high, seen)
        if key not in self._inside:
            middle = (low + high) // 2
            cut = next((k for k, (i, _) in enumerate(seen) if i >= middle), len(seen))
            left, right = self._of(low, middle, seen[:cut]), self._of(middle, high, seen[cut:])
            self._inside[key] = right if left is None else self._weigh(left, right)
        return self._inside[key]

    def _level(self, i: int, level: int) -> int:
        return -1 - self.levels.setdefault((i, level), len(self.levels))

    def _weigh(self, left: int, right: int | None) -> int:
        if right is None:
            return left
        self.products.append((left, right))
        return len(self.products)
