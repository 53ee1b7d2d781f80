"""The best k of M kernels for squared loss, and how far from the best any choice of k kernels can
be.

    min over z in {0, 1}^M, sum z <= k, of  J(z) = 1/2 sum_t y_t'(sum_m z_m K_m + rho I)^(-1) y_t,     rho = lam n

This is the problem of MKL-GOMP: the objective (5) of ``gomp`` with the kernels z is 2 lam J(z),
where an intercept has taken the means out of the targets beforehand. For every A = (a_1, ..., a_T),

    J(z) = max_A  <Y, A> - rho/2 ||A||^2 - 1/2 sum_m z_m q_m,     q_m = sum_t a_t'K_m a_t

so that J is convex in z, and ANY A proves a bound by one sort, the best multiple of A by a
division:

    best J  >=  <Y, A>^2 / (2 (rho ||A||^2 + sum of the k largest q_m))                                            (1)

The best of these bounds is the relaxation 0 <= z <= 1, the k-support norm in place of the count; at
k = 1 it is l1-norm MKL. Newton's method solves it: the gradient is -q/2, the Hessian sum_t
V_t'A^(-1) V_t with V_t = (K_1 a_t, ..., K_M a_t), and a step is a quadratic programme over the same
set.

Branch and bound decides kernel after kernel, the part with the lowest bound first. With some
kernels inside and others outside, (1) holds for what is left of the budget, so that the A of a part
often decides further kernels at no cost. A part that is not divided any further is a leaf: the
leaves and their A are the proof that ``proved_bound`` checks.

Source: the perspective relaxation of Bertsimas, Iglesias, Johnson (2025), arXiv 2511.21890, whose
semidefinite relaxation equals it by a Schur complement; the problem is that of Sindhwani and Lozano
(2011), equation (5).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import check_cancelled
from mklcore.kernels.operators import Capability, as_operator
from mklcore.problem.svm import newton_target

# What the search for the best k kernels is tuned by. A value changes how long a search takes, not
# what its bound proves.

# share of the best value by which a better one may be missed, and a bound be below it
SAME = 1e-6
STEPS = 40  # Newton steps of the first relaxation
STEPS_INSIDE = 8  # of one with some kernels decided
SHARP = 1e-7  # relative gap at which a relaxation has converged
TRIES = 3  # kernels that are tried in the place of another
SHORTEST = 1e-3  # share of a Newton step at least
NEAR = 0.01  # share of the best value by which an alternative may be above it
# beyond either, a relaxation takes longer than the pursuit that it bounds
MOST_KERNELS = 500
MOST_ROWS = 3000


Kernels = tuple[int, ...]


class Relaxed(NamedTuple):
    """A ``bound`` on J with the ``dual`` (n, T) that proves it, its ``forms`` (M,), and the weights
    z (M,) beside.
    """

    bound: float
    dual: Array
    forms: Array
    z: Array


class Proof(NamedTuple):
    """The leaves of a search: kernels ``decided`` (L, M), 1 inside and -1 outside, and for every
    leaf the place of its dual among ``duals`` (D, n, T), or -1 where the leaf holds one choice
    alone.
    """

    decided: Array
    places: Indices
    duals: Array


class Found(NamedTuple):
    """The best ``kernels`` that were met, their value, a ``bound`` that no choice is below, and the
    proof of it.
    """

    value: float
    kernels: Kernels
    bound: float
    proof: Proof
    relaxations: int

    @property
    def is_proven(self) -> bool:
        """Whether no other choice has a lower value, but for a share ``same`` of it."""
        return self.bound >= self.value * (1.0 - SAME)


_relaxes = ContextVar("relaxes", default=True)


@contextmanager
def without_relaxations() -> Iterator[None]:
    """Within, the bound of a greedy choice comes from its own dual: folds compare scores, and the
    relaxations took three quarters of their time.
    """
    before = _relaxes.set(False)
    try:
        yield
    finally:
        _relaxes.reset(before)


class BestK:
    """Values, bounds and searches for kernels ``K`` (M, n, n) or an operator, targets ``Y`` (n, T)
    and ``lam`` > 0.

    All values are those of the objective of MKL-GOMP, 2 lam J.
    """

    def __init__(self, K: object, Y: Array, lam: float) -> None:
        self.K = as_operator(K)
        self.Y = np.asarray(Y, dtype=np.float64).reshape(len(Y), -1)
        self.rho = lam * len(Y)
        self.scale = 2.0 * lam
        self.n_kernels = self.K.n_kernels
        # values and duals of the choices that were met
        self.met: dict[Kernels, tuple[float, Array]] = {}
        # weights of the relaxation before, from which the next one starts
        self._last: Array | None = None

    @property
    def is_quick(self) -> bool:
        """Whether a relaxation is wanted, and takes no longer than a pursuit on these kernels."""
        kept = {Capability.STORED, Capability.FEATURES} & self.K.capabilities
        return (
            _relaxes.get()
            and bool(kept)
            and self.n_kernels <= MOST_KERNELS
            and len(self.Y) <= MOST_ROWS
        )

    # -- values

    def value(self, chosen: Iterable[int]) -> float:
        """The objective with these kernels, solved exactly."""
        return self._solved(chosen)[0]

    def dual(self, chosen: Iterable[int]) -> Array:
        """The coefficients (n, T) with these kernels."""
        return self._solved(chosen)[1]

    def _choice(self, chosen: Iterable[int]) -> tuple[float, Kernels]:
        """The value of a choice, and its kernels in order."""
        return self.value(chosen), tuple(sorted(map(int, chosen)))

    def extended(self, chosen: Iterable[int], k: int) -> Kernels:
        """At most ``k`` of these kernels, and up to ``k`` those with the largest forms, one after
        the other.
        """
        kernels = tuple(chosen)[:k]
        while len(kernels) < k:
            gains = self.forms(self.dual(kernels))
            gains[list(kernels)] = -1.0
            kernels = (*kernels, int(np.argmax(gains)))
        return kernels

    def _free(self, inside: Kernels, outside: Kernels) -> Indices:
        """The kernels that are neither inside nor outside."""
        return np.delete(np.arange(self.n_kernels), [*inside, *outside])

    def _solved(self, chosen: Iterable[int]) -> tuple[float, Array]:
        kernels = tuple(sorted({int(m) for m in chosen}))
        if kernels not in self.met:
            z = np.zeros(self.n_kernels)
            z[list(kernels)] = 1.0
            self.met[kernels] = self._at(z)[:2]
        return self.met[kernels]

    def _at(
        self,
        z: Array,
    ) -> tuple[float, Array, Callable[[Array], Array]]:
        """The objective at weights z, the dual where it is reached, and what solves systems in sum
        z_m K_m + rho I.
        """
        shift = np.full(len(self.Y), self.rho)
        solve = self.K.combine(z).factor(shift)
        dual = solve(self.Y).reshape(self.Y.shape)
        return 0.5 * self.scale * float(np.vdot(self.Y, dual)), dual, solve

    def forms(self, dual: Array) -> Array:
        """q (M,) of a dual (n, T)."""
        columns = np.ascontiguousarray(dual.T)
        found: Array = np.sum([self.K.quad(a) for a in columns], axis=0)
        return found

    # -- bounds

    def bound(
        self, dual: Array, forms: Array, k: int, inside: Kernels = (), outside: Kernels = ()
    ) -> float:
        """(1) for at most ``k`` kernels, with some decided; infinite where more than k are inside."""
        if len(inside) > k:
            return np.inf
        free = np.delete(forms, [*inside, *outside])
        largest = np.sort(free)[::-1][: k - len(inside)]
        charge = self.rho * float(np.vdot(dual, dual))
        charge += float(forms[list(inside)].sum())
        charge += float(largest.sum())
        worth = 0.5 * self.scale * float(np.vdot(self.Y, dual)) ** 2
        return worth / charge if charge > 0.0 else 0.0

    def relax(
        self,
        k: int,
        inside: Kernels = (),
        outside: Kernels = (),
        z: Array | None = None,
        enough: float = np.inf,
        steps: int = STEPS,
    ) -> Relaxed:
        """The relaxation with some kernels decided, until the bound is ``enough`` or as good as the
        value.
        """
        check_cancelled()
        free = self._free(inside, outside)
        budget = float(min(k - len(inside), free.size))
        weights = np.zeros(self.n_kernels)
        weights[list(inside)] = 1.0
        first = np.zeros(free.size) if z is None else z[free]
        weights[free] = _within(first, budget)
        best: Relaxed | None = None
        value, dual, solve = self._at(weights)
        for _ in range(steps):
            columns = np.ascontiguousarray(dual.T)
            products = np.array([self.K.matvec(a) for a in columns])
            forms = np.maximum(np.einsum("tmi,it->m", products, dual), 0.0)
            bound = self.bound(dual, forms, k, inside, outside)
            if best is None or bound > best.bound:
                best = Relaxed(bound, dual, forms, weights)
            if best.bound >= enough or value - best.bound <= SHARP * value or free.size <= budget:
                break
            parts = [V[free] @ solve(np.ascontiguousarray(V[free].T)) for V in products]
            hessian: Array = np.sum(parts, axis=0)
            target = newton_target(weights[free], 0.5 * forms[free], hessian, 1e-9)
            way = np.clip(target, 0.0, 1.0) - weights[free]
            length = 1.0
            before = value
            start = weights[free]
            slope = 0.5 * self.scale * float(forms[free] @ way)
            while length >= SHORTEST:
                weights = weights.copy()
                weights[free] = np.clip(start + length * way, 0.0, 1.0)
                value, dual, solve = self._at(weights)
                if value <= before - 1e-4 * length * slope:
                    break
                length *= 0.5
            if not value < before:
                break  # rounding leaves nothing to gain
        assert best is not None
        return best

    def root(self, k: int) -> Relaxed:
        """The relaxation with no kernel decided, started from the one before."""
        found = self.relax(k, z=self._last)
        self._last = found.z
        return found

    # -- the search

    def swaps(self, chosen: Iterable[int]) -> tuple[float, Kernels]:
        """Exchange one kernel for another as long as that lowers the value."""
        kernels = tuple(sorted(int(m) for m in chosen))
        value = self.value(kernels)
        place = 0
        while place < len(kernels):
            rest = kernels[:place] + kernels[place + 1 :]
            gains = self.forms(self._solved(rest)[1])
            gains[list(kernels)] = -1.0
            n_tries = min(TRIES, self.n_kernels - len(kernels))
            tried = [self._choice([*rest, m]) for m in _largest(gains, n_tries)]
            better, exchanged = min(tried, default=(np.inf, kernels))
            place += 1
            if better < value * (1.0 - 1e-9):
                value = better
                kernels = exchanged
                place = 0
        return value, kernels

    def search(
        self,
        k: int,
        starts: Sequence[Iterable[int]] = (),
        most: int = 500,
    ) -> Found:
        """Branch and bound over all choices of at most ``k`` kernels, by at most ``most``
        relaxations.
        """
        k = min(k, self.n_kernels)
        tree = _Leaves(self.n_kernels)
        root = self.root(k)
        best = min(map(self.swaps, [*starts, _largest(root.z, k)]))
        parts: list[tuple[float, int, Kernels, Kernels, Relaxed]] = [(root.bound, 0, (), (), root)]
        count = 1
        while parts and count < most and parts[0][0] < best[0] * (1.0 - SAME):
            _, _, inside, outside, own = heapq.heappop(parts)
            inside, outside = self._decide_by_bounds(
                k, inside, outside, own, best[0] * (1.0 - SAME), tree
            )
            free = self._free(inside, outside)
            if len(inside) >= k or len(inside) + free.size <= k:
                whole = inside if len(inside) >= k else (*inside, *free.tolist())
                best = min(best, self._choice(whole))
                tree.add(inside, outside, None, self.value(whole))
                continue
            pick = int(free[np.argmin(np.abs(own.z[free] - 0.5))])
            halves = ((*inside, pick), outside), (inside, (*outside, pick))
            for ins, outs in halves:
                enough = best[0] * (1.0 - SAME)
                relaxed = self.relax(k, ins, outs, own.z, enough, STEPS_INSIDE)
                count += 1
                z = relaxed.z.copy()
                z[[*ins, *outs]] = -1.0
                best = min(best, self._choice([*ins, *_largest(z, k - len(ins))]))
                inherited = self.bound(own.dual, own.forms, k, ins, outs)
                if inherited > relaxed.bound:
                    relaxed = own._replace(bound=inherited, z=relaxed.z)
                if relaxed.bound >= enough:
                    tree.add(ins, outs, relaxed.dual, relaxed.bound)
                else:
                    heapq.heappush(parts, (relaxed.bound, count, ins, outs, relaxed))
        for bound, _, inside, outside, own in parts:
            tree.add(inside, outside, own.dual, bound)
        bound = min(tree.bound, best[0])
        return Found(*best, bound, tree.proof(self.Y.shape), count)

    def _decide_by_bounds(
        self, k: int, inside: Kernels, outside: Kernels, own: Relaxed, enough: float, tree: _Leaves
    ) -> tuple[Kernels, Kernels]:
        """Decide the kernels whose one side the dual of the part rules out."""
        for m in self._free(inside, outside).tolist():
            with_it = self.bound(own.dual, own.forms, k, (*inside, m), outside)
            without = self.bound(own.dual, own.forms, k, inside, (*outside, m))
            if with_it >= enough:
                tree.add((*inside, m), outside, own.dual, with_it)
                outside = (*outside, m)
            elif without >= enough:
                tree.add(inside, (*outside, m), own.dual, without)
                inside = (*inside, m)
        return inside, outside

    def near(self, k: int, value: float) -> list[tuple[Kernels, float]]:
        """The choices of ``k`` kernels that were met within 1 % of ``value``, the best first."""
        found = []
        for chosen, (reached, _) in self.met.items():
            if len(chosen) == k and reached <= value * (1.0 + NEAR):
                found.append((chosen, reached))
        return sorted(found, key=lambda one: one[1])


class _Leaves:
    """The parts of a search that are not divided any further."""

    def __init__(self, n_kernels: int) -> None:
        self.n_kernels = n_kernels
        self.bound = np.inf
        self._decided: list[np.ndarray] = []  # of int8
        self._places: list[int] = []
        self._duals: dict[int, tuple[int, Array]] = {}

    def add(
        self,
        inside: Kernels,
        outside: Kernels,
        dual: Array | None,
        bound: float,
    ) -> None:
        decided = np.zeros(self.n_kernels, dtype=np.int8)
        decided[list(inside)] = 1
        decided[list(outside)] = -1
        self._decided.append(decided)
        place = -1
        if dual is not None:
            place, _ = self._duals.setdefault(id(dual), (len(self._duals), dual))
        self._places.append(place)
        self.bound = min(self.bound, bound)

    def proof(self, shape: tuple[int, ...]) -> Proof:
        duals = [dual for _, dual in self._duals.values()]
        stacked = np.array(duals).reshape(-1, *shape)
        return Proof(np.array(self._decided), np.array(self._places), stacked)


def proved_bound(
    K: object,
    Y: Array,
    lam: float,
    k: int,
    proof: Proof,
) -> float:
    """The bound on the objective of at most ``k`` kernels that a proof gives, from scratch; minus
    infinity for none.

    No choice belongs to two leaves, and the shares 2^-(kernels decided) of all leaves sum to one:
    so every choice belongs to one. Those of a leaf have at least the value (1) of its dual, or are
    one choice, which is solved.
    """
    problem = BestK(K, Y, lam)
    decided = np.asarray(proof.decided, dtype=np.int64)
    inside = (decided == 1).astype(np.int64)
    outside = (decided == -1).astype(np.int64)
    is_apart = inside @ outside.T + outside @ inside.T > 0
    n_free = problem.n_kernels - np.abs(decided).sum(axis=1)
    shares = sum(1 << count for count in n_free.tolist())
    np.fill_diagonal(is_apart, True)
    if not is_apart.all() or shares != 1 << problem.n_kernels:
        return -np.inf
    forms = [problem.forms(dual) for dual in proof.duals]
    lowest = np.inf
    for row, place in zip(decided, proof.places, strict=True):
        ins = tuple(np.flatnonzero(row == 1).tolist())
        outs = tuple(np.flatnonzero(row == -1).tolist())
        if place >= 0:
            found = problem.bound(proof.duals[place], forms[place], k, ins, outs)
        elif len(ins) <= k:
            rest = np.flatnonzero(row == 0).tolist() if len(ins) < k else []
            found = problem.value([*ins, *rest]) if len(ins) + len(rest) <= k else -np.inf
        else:
            continue
        lowest = min(lowest, found)
    return lowest


def _within(z: Array, budget: float) -> Array:
    """Weights from 0 to 1 near ``z`` that sum to the ``budget``, at most one for each kernel."""
    total = float(z.sum())
    if total > budget:
        return z * (budget / total)
    room = z.size - total
    return z + (1.0 - z) * ((budget - total) / room) if room > 0.0 else z


def _largest(z: Array, count: int) -> list[int]:
    """The places of the largest weights."""
    chosen: list[int] = np.argsort(-z, kind="stable")[:count].tolist()
    return chosen
