"""Kernels in shards: a dictionary that is cut into k parts, each on a worker with the columns it sees; rows stay
together.

    down, to every worker     a (n,) and the weights of its kernels (M / k,)
    up, from every worker     Q (M / k,) = a'K_m a, and the part of K_theta of its kernels, (n, n)

That is all one step of lp-norm learning asks of the kernels, so that its solvers run on the caller's machine as they
are. The shards are built where they stay, from columns that travel once; a worker that is lost is replaced by another,
which builds its shard again. Sums are added in the order of the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError, cancellation_scope, never_asked
from mklcore.estimators.base import target_of
from mklcore.estimators.lp import LpBase
from mklcore.kernels.checks import one_blas_thread
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.maps import KernelMap, as_rows, column_scaling, standardise_rows
from mklcore.kernels.operators.base import DenseSum
from mklcore.kernels.operators.lazy import LazyKernels
from mklcore.parallel.cluster import answers, connected, held, while_wanted

NORMALISATIONS = ("multiplicative", "trace", "diag", None)
_SCALED = f"Kernels in shards are scaled as a whole; normalise must be one of {', '.join(map(repr, NORMALISATIONS))}, got {{!r}}."  # noqa: E501
Pulse: TypeAlias = Callable[[], Any]  # what it raises ends what is waited for


@dataclass(frozen=True, eq=False)
class Shard:
    """Some kernels of a dictionary, by place, and the columns they see."""

    places: Indices
    columns: Indices
    kernels: KernelDictionary

    @classmethod
    def cut(cls, dictionary: KernelDictionary, n_features: int, count: int) -> list[Shard]:
        """At most ``count`` shards of nearly equal size, in the order of the dictionary."""
        parts = np.array_split(np.arange(len(dictionary)), min(count, len(dictionary)))
        return [cls._of(dictionary, part, n_features) for part in parts]

    @classmethod
    def _of(cls, dictionary: KernelDictionary, places: Indices, n_features: int) -> Shard:
        seen = [dictionary.specs[m].columns(n_features) for m in places]
        columns = np.unique(np.concatenate([np.array(one) for one in seen]))
        here = {int(column): place for place, column in enumerate(columns)}
        specs = tuple(
            replace(dictionary.specs[m], features=tuple(here[c] for c in one))
            for m, one in zip(places, seen, strict=True)
        )
        return cls(places, columns, KernelDictionary(specs, standardize=dictionary.standardize))


@dataclass(frozen=True, eq=False)
class Built:
    """What a worker tells of its shard: which of its kernels are left, these resolved, their scales and diagonals,
    notes.
    """

    kept: Indices
    specs: tuple[KernelSpec, ...]
    scales: Array
    diagonal: Array
    notes: tuple[str, ...]


def built(shard: Shard, X: Array, normalise: str | None, pulse: Pulse | None = None) -> LazyKernels:
    """The kernels of a shard on rows X (n, s) of its columns; they stay where they are built.

    What ``pulse`` raises ends that; on a worker, without one, that nobody wants them any more.
    """
    with one_blas_thread(), cancellation_scope(pulse or while_wanted()):
        return LazyKernels.build(shard.kernels, X, normalise)


def described(rows: LazyKernels, shard: Shard) -> Built:
    """What the caller needs to know of them."""
    place = {name: m for m, name in enumerate(shard.kernels.names)}
    kept = shard.places[[place[name] for name in rows.names]]
    return Built(kept, rows.specs, np.asarray(rows.scales), rows.diagonals(), rows.notes)


def answered(rows: LazyKernels, what: str, *asked: Array) -> Array:
    """Its part of a sum: ``quad``, ``combine`` or ``decision``."""
    with one_blas_thread():
        found = getattr(rows, what)(*asked)
        part: Array = found.matrix if isinstance(found, DenseSum) else found
        return part


class Here:
    """Shards in this process, one after the other."""

    def __init__(self, shards: Sequence[Shard], X: Array, normalise: str | None, pulse: Pulse = never_asked) -> None:
        self._pulse = pulse
        self.shards, self._rows = (
            shards,
            [built(s, np.ascontiguousarray(X[:, s.columns]), normalise, pulse) for s in shards],
        )

    def described(self) -> list[Built]:
        return [described(rows, shard) for rows, shard in zip(self._rows, self.shards, strict=True)]

    def ask(self, what: str, asked: Sequence[tuple[Array, ...]]) -> Iterator[Array]:
        """The answers of all shards, in order."""
        for rows, own in zip(self._rows, asked, strict=True):
            self._pulse()
            yield answered(rows, what, *own)


class OnWorkers:
    """Shards on the workers of a Dask client, each where it was built as long as that worker lives."""

    def __init__(
        self, client: Any, shards: Sequence[Shard], X: Array, normalise: str | None, pulse: Pulse = never_asked
    ) -> None:
        self.shards, self._client, self._pulse = shards, client, pulse
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        self._where = [workers[k % len(workers)] for k in range(len(shards))]
        tables = [self._sent(k, held, np.ascontiguousarray(X[:, s.columns])) for k, s in enumerate(shards)]
        self._kept = tables
        self._rows = [self._sent(k, built, s, tables[k], normalise) for k, s in enumerate(shards)]

    def _sent(self, k: int, run: Callable[..., Any], *given: Any) -> Any:
        return self._client.submit(run, *given, workers=[self._where[k]], allow_other_workers=True, pure=False)

    def described(self) -> list[Built]:
        return list(self._answers([self._sent(k, described, self._rows[k], s) for k, s in enumerate(self.shards)]))

    def ask(self, what: str, asked: Sequence[tuple[Array, ...]]) -> Iterator[Array]:
        """The answers of all shards, in order, one at a time: a part of a sum is as large as the sum."""
        return self._answers([self._sent(k, answered, self._rows[k], what, *own) for k, own in enumerate(asked)])

    def _answers(self, futures: list[Any]) -> Iterator[Any]:
        return answers(self._client, futures, self._pulse, "a sum over the shards on its way")


class ShardedRows(LazyKernels):
    """``LazyKernels`` whose sums are made by the shards.

    ``sent`` and ``received`` count bytes of arrays per shard and in all.
    """

    def __init__(self, shards: Here | OnWorkers, dictionary: KernelDictionary, X: Array, normalise: str | None) -> None:
        descriptions = shards.described()
        self._shards = shards
        self._ends = np.cumsum([0, *(one.kept.size for one in descriptions)])
        kept = np.concatenate([one.kept for one in descriptions])
        d, names = X.shape[1], dictionary.names
        specs = tuple(
            replace(spec, features=dictionary.specs[m].columns(d), label=dictionary.specs[m].label)
            for one in descriptions
            for m, spec in zip(one.kept, one.specs, strict=True)
        )
        means, column_scales = column_scaling(X, specs, dictionary.standardize)
        n, scales = len(X), np.concatenate([one.scales for one in descriptions])
        transform = KernelMap(
            specs, standardise_rows(X, means, column_scales), means, column_scales, scales,
            np.broadcast_to((scales**-0.5)[:, None], (kept.size, n)), np.broadcast_to(0.0, (kept.size, n)),
            np.zeros(kept.size), np.arange(n), normalise,
        )  # fmt: skip
        notes = [note for one in descriptions for note in one.notes]
        super().__init__(
            transform, [names[m] for m in kept], np.concatenate([one.diagonal for one in descriptions]), notes
        )
        self.sent = self.received = 0

    def _ask(self, what: str, asked: Sequence[tuple[Array, ...]]) -> Iterator[Array]:
        self.sent += sum(array.nbytes for own in asked for array in own)
        for found in self._shards.ask(what, asked):
            self.received += found.nbytes
            yield found

    def _cut(self, values: Array) -> list[Array]:
        return [values[first:last] for first, last in zip(self._ends[:-1], self._ends[1:], strict=True)]

    def quad(self, a: Array, kernels: Indices | None = None) -> Array:
        """a'K_m a for a (n,), of every kernel (M,) or of some (k,)."""
        if kernels is None:
            return np.concatenate(list(self._ask("quad", [(a,)] * (self._ends.size - 1))))
        owner, out = np.searchsorted(self._ends, kernels, side="right") - 1, np.empty(len(kernels))
        places = [np.flatnonzero(owner == k) for k in range(self._ends.size - 1)]
        asked = [(a, kernels[own] - first) for own, first in zip(places, self._ends, strict=False)]
        for own, found in zip(places, self._ask("quad", asked), strict=True):
            out[own] = found
        return out

    def combine(self, weights: Array, out: Array | None = None) -> DenseSum:
        """sum_m weights_m K_m for weights (M,); made in ``out`` (n, n) where one is given."""
        matrix = np.empty((self.n_samples, self.n_samples)) if out is None else out
        matrix[:] = 0.0
        for part in self._ask("combine", [(own,) for own in self._cut(weights)]):
            matrix += part
        return DenseSum(matrix)

    def decision(self, weights: Array, a: Array) -> Array:
        """sum_m weights_m K_m a on the training rows, (n,)."""
        found: Array = np.sum(list(self._ask("decision", [(own, a) for own in self._cut(weights)])), axis=0)
        return found


@contextmanager
def sharded(
    dictionary: KernelDictionary, X: Any, normalise: str | None = "multiplicative", *, count: int | None = None,
    backend: str = "dask", pulse: Pulse = never_asked,
) -> Iterator[ShardedRows]:  # fmt: skip
    """The kernels of a dictionary on rows X (n, d) in ``count`` shards, by default one per worker; ``backend`` is
    "dask" (the cluster as ``sweep`` finds it) or "serial" (this process). ``pulse`` is called while a sum is waited
    for, and what it raises ends that. ParameterError for what needs all kernels of a row together, MKLError where the
    scheduler ends.
    """
    if normalise not in NORMALISATIONS:
        raise ParameterError(_SCALED.format(normalise))
    if backend not in ("dask", "serial"):
        raise ParameterError(f"Shards stay where they are built: backend must be 'dask' or 'serial', got {backend!r}.")
    rows = as_rows(X)
    if backend == "serial":
        shards = Shard.cut(dictionary, rows.shape[1], count or 2)
        yield ShardedRows(Here(shards, rows, normalise, pulse), dictionary, rows, normalise)
        return
    with connected() as client:
        shards = Shard.cut(dictionary, rows.shape[1], count or max(1, len(client.ncores())))
        yield ShardedRows(OnWorkers(client, shards, rows, normalise, pulse), dictionary, rows, normalise)


def why_not(estimator: Any) -> str:
    """why the kernels of an estimator cannot be put into shards; nothing where they can."""
    if not (isinstance(estimator, LpBase) and isinstance(estimator.kernels, KernelDictionary) and not estimator.center):
        return (
            "Kernels are put into shards from a dictionary, without centring: use an lp-norm estimator with "
            "kernels=KernelDictionary(...) and center=False."
        )
    if estimator.approximation is not None or estimator.penalty_in_use.plain_sum:
        return "Shards hold exact kernels with weights of their own: use approximation=None and a finite p."
    normalise = estimator.default_normalise if estimator.normalise == "auto" else estimator.normalise
    return "" if normalise in NORMALISATIONS else _SCALED.format(normalise)


def fit_shards(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    count: int | None = None,
    backend: str = "dask",
    pulse: Pulse = never_asked,
) -> Any:
    """``estimator``, an lp-norm estimator on a ``KernelDictionary``, fitted with the kernels in shards; it is not
    changed.

    X (n, d) and y (n,) as for ``fit``, ``count``, ``backend`` and ``pulse`` as for ``sharded``: raise in it, or in the
    estimator's ``callback``, to end the fit; the workers then end with the step they are in. p above 1 takes the
    analytic update on K_theta, p = 1 the working set, whose few kernels are made here. The fitted model is like any
    other.
    """
    if why := why_not(estimator):
        raise ParameterError(why)
    fitted = clone(estimator).set_params(callback=estimator.callback)
    fitted.sample_weight_ = None
    target = target_of(X, y)
    rows = fitted._checked_rows(X, reset=True)
    target = fitted._checked_target(rows, target)
    normalise = fitted.default_normalise if fitted.normalise == "auto" else fitted.normalise
    with sharded(estimator.kernels, rows, normalise, count=count, backend=backend, pulse=pulse) as stack:
        fitted.set_params(solver="auto" if estimator.penalty_in_use.simplex else "wrapper")
        fitted._fit_stack(stack, target)
    fitted._carry = None
    return fitted.set_params(solver=estimator.solver)
