"""What single columns say in a fitted model, what pairs and larger sets say together, and how much
each counts.

The kernels of a model are sorted by the columns they see, and what those of one set say is added
up: f = b + sum_t f_t. The share of a term is its variance on the training rows over the sum of the
variances of all terms. Of `KernelDictionary.interactions` and independent columns these are Sobol's
indices of f; correlated columns have correlated terms. A linear kernel of several columns is a sum
over these, and is taken apart.

A kernel of all columns can say what single columns say, too. What it says is regressed on functions
of single columns, and if asked of pairs that act together in it, by kernel ridge regression on the
training rows; these parts go to the columns and pairs, and what is left is the term "higher order".

Source: Sobol (1993), Sensitivity estimates for nonlinear mathematical models; Lu, Boukouvalas and
Hensman (2022), section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.data.dataset import Dataset
from mklcore.estimators.inspection.parts import kernels_in_use, outputs_of, specs_of, unblended
from mklcore.kernels.dictionary import KernelDictionary, Unit, units
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.interactions import Interaction, interacting

HIGHER_ORDER = ("higher order",)
PROJECTED_ROWS = 500  # on which functions of single columns are taken out of kernels of all columns
RIDGES = np.logspace(-6.0, 1.0, 15)  # times the number of rows
SURE = 2.0  # standard errors from zero
MOST_NAMED = 8  # source columns of a set beyond which it is of higher order
Columns = tuple[str, ...]


class Term(NamedTuple):
    """What a set of columns says together: its share of the variance, and what the score loses
    without it.

    ``importance``: by how much the squared error on held-out rows grows when what this term says
    goes to other rows, ``importance_sd`` its standard error over the rows; None where no rows were
    held out.
    """

    columns: Columns
    share: float
    importance: float | None = None
    importance_sd: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether held-out rows say that the error grows without it."""
        return bool(
            self.importance is not None and self.importance > SURE * (self.importance_sd or 0.0)
        )


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The terms of a model, the largest share first; shares add up to 1, and ``terms`` is () for a
    constant model.

    ``parts`` gives them at any rows.
    """

    terms: tuple[Term, ...]
    parts: TermValues


def decompose(
    model: Any,
    data: Dataset,
    *,
    pairs: bool = False,
) -> Decomposition:
    """What do single columns say to a fitted ``model``, and what do they say together?

    Parameters
    ----------
    model : fitted estimator
        Fitted on a table with a dictionary, or by hierarchical kernel learning.
    data : Dataset
        The training rows, whose source columns name the terms.
    pairs : bool, default False
        Whether functions of pairs, beside those of single columns, are taken out of kernels of all
        columns.

    Returns
    -------
    Decomposition
        The terms of the model, each with its share.

    Raises
    ------
    ParameterError
        for a model of ready stacks, which knows no columns

    References
    ----------
    Lu, X., Boukouvalas, A. and Hensman, J. (2022), Additive Gaussian processes revisited, ICML.

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> from mklcore.estimators.lp import LpMKLRegressor
    >>> from mklcore.kernels.dictionary import KernelDictionary
    >>> data = load_sample("sparse_polynomial")
    >>> kernels = KernelDictionary.interactions(data)
    >>> found = decompose(LpMKLRegressor(kernels=kernels, p=2, C=1.0).fit(data.X, data.y), data)
    >>> found.terms[0].columns, round(sum(term.share for term in found.terms), 9)
    (('x03', 'x10'), 1.0)
    """
    parts = TermValues(model, data, pairs)
    values = parts.values(data.table)
    values = values - values.mean(axis=1, keepdims=True)
    variances = np.mean(values * values, axis=1).mean(axis=1)
    total = float(variances.sum())
    by_size = np.argsort(-variances, kind="stable")
    order = by_size[variances[by_size] > 1e-12 * total].tolist()
    terms = tuple(Term(parts.columns[t], float(variances[t] / total)) for t in order)
    return Decomposition(terms, parts)


class TermValues:
    """The terms of a model, by the ``columns`` that each sees, and their values on any rows.

    ``data`` names the columns of the rows that the model was fitted on. ParameterError for a model
    that knows no columns.
    """

    def __init__(self, model: Any, data: Dataset, pairs: bool = False) -> None:
        names = _Names(data)
        self.model = model = unblended(model)
        self._kernels: dict[Columns, list[int]] = {}
        self._slopes: dict[Columns, list[tuple[int, Array]]] = {}
        for m, seen in _seen(model):
            if not seen:
                continue
            columns = names.of(seen)
            if (
                isinstance(seen, KernelSpec)
                and seen.is_base
                and (len(columns) > 1 or columns == HIGHER_ORDER)
            ):
                for j, slope in self._slopes_of(m):  # a linear kernel of several source columns
                    self._slopes.setdefault((names.home[j],), []).append((j, slope))
            else:
                self._kernels.setdefault(columns, []).append(m)
        self._alone: _Alone | None = None
        if whole := self._kernels.get(HIGHER_ORDER):
            step = -(-data.n_samples // PROJECTED_ROWS)
            few = data.take(np.arange(0, data.n_samples, step))
            said = outputs_of(model, few.table, whole).sum(axis=0)
            self._alone = _Alone(few, said, names, pairs)
        every = [*self._kernels, *self._slopes]
        if self._alone is not None:
            every += self._alone.columns
        self.columns = tuple(dict.fromkeys(every))

    def values(self, rows: Array, terms: Sequence[Columns] | None = None) -> Array:
        """(T, n, K) at ``rows`` as the model takes them, of all terms or of some of them."""
        chosen = self.columns if terms is None else terms
        outputs = max(1, int(np.size(self.model.intercept_)))
        out = np.zeros((len(chosen), len(rows), outputs))
        for term, columns in zip(out, chosen, strict=True):
            if kernels := self._kernels.get(columns):
                term += outputs_of(self.model, rows, kernels).sum(axis=0)
            for j, slope in self._slopes.get(columns, ()):
                mean = self.model._map.column_means[j]
                term += np.outer(rows[:, j] - mean, slope)
            if self._alone is not None and columns == HIGHER_ORDER:
                term -= self._alone.values(rows, self._alone.columns)
            elif self._alone is not None and columns in self._alone.columns:
                term += self._alone.values(rows, [columns])
        return out

    def _slopes_of(self, m: int) -> list[tuple[int, Array]]:
        """What a linear kernel says per unit of each of its columns, (K,)."""
        found = self.model._map
        columns = list(found.specs[m].settled)
        scales = found.column_scales[columns]
        steps = np.tile(found.column_means, (len(columns) + 1, 1))
        steps[np.arange(len(columns)), columns] += scales
        said = outputs_of(self.model, steps, [m])[0]
        slopes = (said[:-1] - said[-1]) / scales[:, None]
        return list(zip(columns, slopes, strict=True))


class _Alone:
    """Functions of single columns, and if asked of ``pairs`` that act together, that come nearest
    to ``values`` (n, K) on the rows of ``data``: additive kernel ridge regression, its penalty by
    generalised cross-validation. ``columns`` names them.
    """

    @one_blas_thread()
    def __init__(self, data: Dataset, values: Array, names: _Names, pairs: bool) -> None:
        said_most = values[:, int(np.argmax(values.var(axis=0)))]
        target = replace(data, y=said_most, task="regression", class_names=())
        stack = KernelDictionary.interactions(
            data, candidates=interacting(target, 2) if pairs else ()
        ).grams(data)
        # the curved kernel, where there is one
        last = {names.of(spec): m for m, spec in enumerate(stack.specs or ())}
        self._stack = stack.select(list(last.values()))
        self.columns = tuple(last)
        spectrum, vectors = np.linalg.eigh(self._stack.values.sum(axis=0))
        sizes = np.maximum(spectrum, 0.0)
        said = vectors.T @ (values - values.mean(axis=0))

        def error(ridge: float) -> float:
            lost = ridge / (sizes + ridge)
            residuals = lost[:, None] * said
            free = max(float(lost.sum()), 1e-9)
            return float(np.sum(residuals**2)) / free**2

        ridge = min((RIDGES * len(values)).tolist(), key=error)
        self._dual = vectors @ (said / (sizes + ridge)[:, None])

    def values(self, rows: Array, some: Sequence[Columns]) -> Array:
        """(n_new, K) of the sum of some of them at ``rows``."""
        places = [self.columns.index(columns) for columns in some]
        kernel = self._stack.select(places).cross(rows).sum(axis=0)
        found: Array = kernel @ self._dual
        return found


class _Names:
    """What sets of features are called: by source columns, or by the unit (group, band, cluster)
    that holds them.
    """

    def __init__(self, data: Dataset) -> None:
        self.home: dict[int, str] = {}
        for name, members in data.columns:
            self.home |= dict.fromkeys(members, name)
        for name, _ in data.strings:
            self.home |= dict.fromkeys(data.letter_columns(name), name)
        names = list(dict.fromkeys(self.home.values()))
        self.order = {name: place for place, name in enumerate(names)}
        self.units: tuple[Unit, ...] = units(data)

    def of(self, seen: KernelSpec | frozenset[int]) -> Columns:
        """The columns of the term that a kernel, or a product that sees these columns, belongs to."""
        if isinstance(seen, Interaction) and len(seen.parts) > 1:
            names = [self._one(part.settled) for part in seen.parts]
            return tuple(sorted(names, key=lambda name: self.order.get(name, len(self.order))))
        sources = self._sources(seen.settled if isinstance(seen, KernelSpec) else seen)
        if len(sources) == 1 or not isinstance(seen, KernelSpec):
            return sources
        if unit := self._unit(seen.settled):
            return (unit,)
        return (
            HIGHER_ORDER
            if len(sources) == len(self.order) or len(sources) > MOST_NAMED
            else sources
        )

    def _one(self, columns: Sequence[int]) -> str:
        sources = self._sources(columns)
        return sources[0] if len(sources) == 1 else self._unit(columns) or " and ".join(sources)

    def _sources(self, columns: Iterable[int]) -> Columns:
        names = {self.home[j] for j in columns}
        return tuple(sorted(names, key=self.order.__getitem__))

    def _unit(self, columns: Sequence[int]) -> str | None:
        for unit in self.units:
            if set(columns) <= set(unit.columns):
                return unit.name
        return None


def _seen(model: Any) -> list[tuple[int, KernelSpec | frozenset[int]]]:
    """Every kernel in use, and its function or the columns it sees; ParameterError where neither is
    known.
    """
    if getattr(model, "_map", None) is None and hasattr(model, "hull_"):
        return [
            (m, frozenset(j for j, level in enumerate(node) if level))
            for m, node in enumerate(model.hull_)
        ]
    return [(m, specs_of(model)[m]) for m in kernels_in_use(model)]
