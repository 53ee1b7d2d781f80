"""Kernel dictionaries: which kernels a model may choose from, written down before any data are seen.

A dictionary is frozen and hashable, so it is a cache key and a value of the app's parameters. Widths may be multiples
of the training median distance and columns may be bands of a table whose width is not known yet; both are settled when
`grams` meets the training rows, and nowhere else. Dictionaries add up with `+`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset, listed
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.columns import LazyColumns
from mklcore.kernels.functions import RBF, Delta, KernelSpec, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import Forecast, GramStack, build_grams, forecast, kernel_table
from mklcore.kernels.interactions import MOST_PARTS, Interaction
from mklcore.kernels.maps import as_rows
from mklcore.kernels.screening import interacting
from mklcore.kernels.sequences import USUAL_DEGREE, USUAL_K, on_sequence
from mklcore.kernels.units import MOST_COLUMNS, Unit, units

WHOLE_WIDTH = 0.5  # of the median distance: about scikit-learn's own width for an RBF of all columns
DEFAULT_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Beyond this many columns the default dictionary does not offer one kernel per column.
DEFAULT_PER_FEATURE = 50


@dataclass(frozen=True)
class Band(LazyColumns):
    """Band number `index` (from 0) of `count` contiguous, nearly equal column bands."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"band {self.index + 1} of {self.count}"

    def resolve(self, n_features: int) -> tuple[int, ...]:
        if n_features < self.count:
            raise KernelError(
                f"{self.count} bands need at least {self.count} columns, the data have {n_features}. Use fewer bands."
            )
        return tuple(range(self.index * n_features // self.count, (self.index + 1) * n_features // self.count))


@dataclass(frozen=True)
class RandomColumns(LazyColumns):
    """Draw number `index` (from 0) of `size` different columns, reproducible from `seed`."""

    index: int
    size: int
    seed: int

    def __str__(self) -> str:
        return f"random {self.size} columns, draw {self.index + 1}"

    def resolve(self, n_features: int) -> tuple[int, ...]:
        if n_features < self.size:
            raise KernelError(
                f"A random subspace of {self.size} columns needs at least as many, the data have {n_features}. "
                "Use a smaller size."
            )
        draw = np.random.default_rng((self.seed, self.index)).choice(n_features, self.size, replace=False)
        return tuple(sorted(int(j) for j in draw))


def _as_specs(specs: KernelSpec | Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    found = (specs,) if isinstance(specs, KernelSpec) else tuple(specs) if isinstance(specs, Iterable) else (specs,)
    for spec in found:
        if not isinstance(spec, KernelSpec):
            raise ParameterError(f"A dictionary holds kernel specs such as RBF(1.0) or Linear(), got {spec!r}.")
    if not found:
        raise ParameterError("A dictionary needs at least one kernel, got none.")
    return found


def _as_count(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least} on, got {value!r}.")
    return int(value)


def _without_columns(specs: KernelSpec | Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    found = _as_specs(specs)
    for spec in found:
        if spec.features is not None:
            raise ParameterError(f"{spec!r} already names its columns; this builder chooses them. Leave out features.")
    return found


@dataclass(frozen=True)
class KernelDictionary:
    """The kernels a model chooses from: min over weights theta >= 0 of a machine with K = sum_m theta_m K_m.

    specs: kernel specs in order; standardize: bring every column to mean 0 and variance 1 on the training rows first
    (constant columns are only centred); feature_names: what names call the columns. ParameterError for anything that
    is not a spec, KernelError when the names and the columns of X do not match.

    Parameters
    ----------
    specs : tuple of KernelSpec
        The kernels, in their order.
    standardize : bool, default True
        Whether columns get mean 0 and variance 1 on the training rows first.
    feature_names : tuple of str or None, default None
        Names of the columns.

    Examples
    --------
    >>> from mklcore.kernels.functions import Linear
    >>> kernels = KernelDictionary.rbf_grid([0.5, 1, 2]) + KernelDictionary.per_feature(Linear(), 4)
    >>> len(kernels)
    7
    """

    specs: tuple[KernelSpec, ...]
    standardize: bool = True
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "specs", _as_specs(self.specs))
        if not isinstance(self.standardize, bool | np.bool_):
            raise ParameterError(f"standardize must be True or False, got {self.standardize!r}.")
        object.__setattr__(self, "standardize", bool(self.standardize))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(str(name) for name in self.feature_names))

    @classmethod
    def rbf_grid(cls, multiples: Iterable[float], *, standardize: bool = True) -> Self:
        """RBF kernels on all columns, widths in multiples of the median distance between training rows."""
        return cls(tuple(RBF(width, relative=True) for width in multiples), standardize)

    @classmethod
    def laplacian_grid(cls, multiples: Iterable[float], *, standardize: bool = True) -> Self:
        """Laplacian kernels on all columns, widths in multiples of the median l1 distance between training rows."""
        return cls(tuple(Laplacian(width, relative=True) for width in multiples), standardize)

    @classmethod
    def rbf_widths(cls, widths: Iterable[float], *, standardize: bool = True) -> Self:
        """RBF kernels on all columns with these absolute widths, in units of the (standardised) columns."""
        return cls(tuple(RBF(width) for width in widths), standardize)

    @classmethod
    def per_feature(
        cls,
        spec: KernelSpec | Iterable[KernelSpec],
        n_features: int,
        *,
        standardize: bool = True,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Each spec once on every single column: M = len(specs) * n_features, column by column."""
        found, count = _without_columns(spec), _as_count("n_features", n_features)
        names = None if feature_names is None else tuple(feature_names)
        return cls(tuple(replace(s, features=(j,)) for j in range(count) for s in found), standardize, names)

    @classmethod
    def per_group(
        cls,
        specs: KernelSpec | Iterable[KernelSpec],
        groups: Mapping[str, Sequence[int]] | Iterable[Any],
        *,
        standardize: bool = True,
    ) -> Self:
        """Each spec once on every group of columns; groups are (name, column indices) pairs, a mapping of them, or
        bare lists of indices."""
        found = _without_columns(specs)
        pairs = list(groups.items()) if isinstance(groups, Mapping) else [_as_pair(group) for group in groups]
        return cls(tuple(replace(s, features=cols, label=name) for name, cols in pairs for s in found), standardize)

    @classmethod
    def bands(
        cls,
        n_bands: int,
        specs: KernelSpec | Iterable[KernelSpec],
        n_features: int | None = None,
        *,
        standardize: bool = True,
    ) -> Self:
        """Each spec once on every one of `n_bands` contiguous column bands; without n_features the bands are cut when
        the training rows are seen."""
        count = _as_count("n_bands", n_bands)
        return cls(_on(_without_columns(specs), [Band(i, count) for i in range(count)], n_features), standardize)

    @classmethod
    def random_subspaces(
        cls,
        spec: KernelSpec | Iterable[KernelSpec],
        size: int,
        count: int,
        seed: int,
        n_features: int | None = None,
        *,
        standardize: bool = True,
    ) -> Self:
        """Each spec once on `count` random choices of `size` different columns, the same for the same seed."""
        start, width = _as_count("seed", seed, 0), _as_count("size", size)
        draws = [RandomColumns(i, width, start) for i in range(_as_count("count", count))]
        return cls(_on(_without_columns(spec), draws, n_features), standardize)

    @classmethod
    def default(cls, n_features: int) -> Self:
        """A dictionary for a table nothing is known about: RBF at five widths, linear, quadratic, and one linear
        kernel per column for 2 to 50 columns."""
        count = _as_count("n_features", n_features)
        whole = cls.rbf_grid(DEFAULT_MULTIPLES) + cls((Linear(), Polynomial(2)))
        return whole + cls.per_feature(Linear(), count) if 2 <= count <= DEFAULT_PER_FEATURE else whole

    @classmethod
    def recommended(
        cls,
        data: Dataset,
        *,
        whole: bool = True,
        curved: bool = True,
        most_columns: int = MOST_COLUMNS,
        k: int = USUAL_K,
        degree: int = USUAL_DEGREE,
        shift: int = 0,
    ) -> Self:
        """A dictionary that answers which columns of this table count.

        Every kernel sees one source column, one group, one band or one cluster (see `units.units`): linear and RBF at
        the median distance, delta for a category; columns one by one up to `most_columns` of them. With `whole` one RBF
        and one linear kernel of everything stand beside them, so that columns acting together are not lost.
        ``curved=False`` leaves the RBF kernels out: a sum of straight lines then carries a large C that curved kernels
        do not. A sequence gets a spectrum of ``k`` letters, and a weighted degree of this ``degree`` and ``shift``
        where its strings have one length.

        >>> from mklcore.data.samples import load_sample
        >>> len(KernelDictionary.recommended(load_sample("iris")))
        10
        """
        specs: list[KernelSpec] = []
        for unit in units(data, most_columns):
            if unit.kind != "sequence":
                specs += _on_unit(unit, curved)
        if whole and len(data.columns) > 1:
            specs += [RBF(WHOLE_WIDTH, relative=True), Linear()] if curved else [Linear()]
        for s in range(len(data.sequences)):
            specs += on_sequence(data, s, k, degree, shift)
        return cls(tuple(specs), feature_names=data.feature_names)

    @classmethod
    def interactions(
        cls,
        data: Dataset,
        order: int = 2,
        candidates: Iterable[Sequence[str]] | None = None,
        *,
        whole: bool = False,
        curved: bool = True,
        most_columns: int = MOST_COLUMNS,
        k: int = USUAL_K,
        degree: int = USUAL_DEGREE,
        shift: int = 0,
    ) -> Self:
        """A dictionary that answers which columns count, and which of them act together.

        The kernels of `recommended` without those of all columns, each without its mean over the training rows, and
        products of such kernels on different source columns (see `Interaction`): what a product adds, no function of
        fewer columns could. ``candidates``: the sets of source columns that get products, by name, as ``[("sex",
        "class")]``; None finds at most 20 sets of up to ``order`` columns that explain what a sum over columns leaves
        of the target (see `screening`), so that ``order=1`` stands for no products. A set of numbers has two products,
        of linear kernels and of RBF kernels, a category gives the same factor to both. The other parameters are those
        of `recommended`; with ``whole`` kernels of all columns stand beside them, as they are. Candidates are found
        with the target of ``data``: pass training rows. ParameterError for unknown names and for sets that are none.

        >>> from mklcore.data.samples import load_sample
        >>> pair = ("petal length (cm)", "petal width (cm)")
        >>> kernels = KernelDictionary.interactions(load_sample("iris"), candidates=[pair])
        >>> len(kernels), kernels.names[-1]
        (10, 'petal length (cm) × petal width (cm), RBF 1 × median × RBF 1 × median')
        """
        if isinstance(order, bool | np.bool_) or not isinstance(order, Integral) or not 1 <= order <= MOST_PARTS:
            raise ParameterError(f"order must be a whole number from 1 to {MOST_PARTS}, got {order!r}.")
        alone = cls.recommended(data, whole=False, curved=curved, most_columns=most_columns)
        specs = [spec if spec.reads_strings else Interaction(spec) for spec in alone]
        sets = interacting(data, int(order)) if candidates is None and order > 1 else candidates or ()
        for members in _as_sets(data, sets):
            kinds = [_on_unit(unit, curved) for unit in members]
            products = [Interaction(*(kind[min(k, len(kind) - 1)] for kind in kinds)) for k in range(2)]
            specs += products[:1] if products[0] == products[1] else products
        return cls(tuple(specs), feature_names=data.feature_names)

    def with_feature_names(self, feature_names: Sequence[str] | None) -> Self:
        """The same dictionary, with columns called by these names."""
        return replace(self, feature_names=None if feature_names is None else tuple(feature_names))

    def __len__(self) -> int:
        return len(self.specs)

    def __iter__(self) -> Iterator[KernelSpec]:
        return iter(self.specs)

    def __add__(self, other: "KernelDictionary") -> Self:
        if not isinstance(other, KernelDictionary):
            return NotImplemented
        if self.standardize != other.standardize:
            raise ParameterError("Only dictionaries with the same standardize can be added; set it alike in both.")
        ours, theirs = self.feature_names, other.feature_names
        if ours is not None and theirs is not None and ours != theirs:
            raise ParameterError("Only dictionaries with the same feature_names can be added; set them alike in both.")
        return replace(self, specs=self.specs + other.specs, feature_names=theirs if ours is None else ours)

    @property
    def names(self) -> tuple[str, ...]:
        """One name per kernel, all different: a name met before gets a number."""
        met: Counter[str] = Counter()
        names = []
        for spec in self.specs:
            name = spec.name(self.feature_names)
            met[name] += 1
            names.append(name if met[name] == 1 else f"{name} ({met[name]})")
        return tuple(names)

    @property
    def families(self) -> tuple[str, ...]:
        """Registry key of every kernel."""
        return tuple(spec.family for spec in self.specs)

    def foresee(self, n_samples: int, n_features: int | None = None, n_new: int = 0) -> Forecast:
        """Bytes, a rough number of seconds and M for grams on `n_samples` rows, before anything is built.

        n_features: columns of the table; without it, as many as there are feature names, or one. n_new: new rows whose
        kernel values (M, n_new, n) against the others are to be kept as well.
        """
        count = _as_count("n_samples", n_samples)
        whole = len(self.feature_names or ("",)) if n_features is None else _as_count("n_features", n_features)
        bases = {(spec.base, spec.features): spec for spec in self.specs}
        medians = {(spec.base, spec.features) for spec in self.specs if spec.is_relative}
        columns = sum(_how_many(spec.features, whole) for spec in bases.values())
        return forecast(len(self), count, len(bases), columns, len(medians)).with_block(count, n_new)

    def grams(
        self,
        X: Any,
        normalise: str | None = "multiplicative",
        center: bool = False,
        memory_limit_mb: float = 4096.0,
        sample_weight: Array | None = None,
    ) -> GramStack:
        """Gram matrices of every kernel on the training rows X (n, d), or a ``Dataset``, centred and normalised as
        asked.

        normalise: "multiplicative" (variance 1 in feature space), "spherical" (K_ii = 1), "trace" (tr K = 1), "diag"
        (max K_ii = 1) or None; center: H K H, before normalising. Kernels that are constant on the training rows
        cannot be scaled: they are left out and named in `notes`, and KernelError is raised when none is left or when
        the stack needs more than `memory_limit_mb` megabytes. sample_weight (n,): a row of weight w counts as w rows in
        the scales of columns and kernels and in median distances. DataError when X is not a finite numeric table.
        """
        if isinstance(X, Dataset):
            return self.on(X)._grams(X.table, normalise, center, memory_limit_mb, sample_weight)
        return self._grams(X, normalise, center, memory_limit_mb, sample_weight)

    def on(self, data: Dataset) -> "KernelDictionary":
        """The dictionary on the rows ``data.table``: where there are sequences, every kernel knows its columns.

        Kernels of all columns then mean those of X, and kernels on sequences the letters beside them. KernelError where
        nothing is left, or a kernel asks for columns or sequences there are not.
        """
        if not data.sequences:
            return self
        names, d = tuple(name for name, _ in data.sequences), data.n_features
        return self.beside(d, names, (data.table.shape[1] - d) // len(names))

    def beside(self, n_features: int, names: Sequence[str], width: int) -> "KernelDictionary":
        """The dictionary on rows (n, n_features + width S): columns, then the letters of S sequences; see ``on``."""
        d = n_features
        self._check_names(d)
        if not d and (blind := [spec for spec in self.specs if spec.features is None and not spec.reads_strings]):
            raise KernelError(f"{blind[0]!r} needs columns, and the data have sequences only; leave such kernels out.")
        bound = tuple(spec.beside(d, tuple(names), width) for spec in self.specs)
        called = None if self.feature_names is None else (*self.feature_names, *("",) * (width * len(names)))
        return KernelDictionary(bound, self.standardize, called)

    def _check_names(self, n_features: int) -> None:
        if self.feature_names is not None and n_features != len(self.feature_names):
            raise KernelError(
                f"The dictionary names {len(self.feature_names)} columns, X has {n_features}. "
                "Use with_feature_names(None) or the names of this table."
            )

    def _grams(
        self, X: Any, normalise: str | None, center: bool, memory_limit_mb: float, sample_weight: Array | None
    ) -> GramStack:
        if self.feature_names is not None:
            X = as_rows(X)
            self._check_names(X.shape[1])
        return build_grams(
            X, self.specs, self.names, self.standardize, normalise, center, memory_limit_mb, sample_weight
        )

    def _repr_html_(self) -> str:
        return kernel_table(f"KernelDictionary({len(self)} kernels)", self.names, self.families)


def _on_unit(unit: Unit, curved: bool) -> tuple[KernelSpec, ...]:
    """The kernels of one thing that a table is made of: equality for a category, else a linear one, and an RBF if
    ``curved``.
    """
    if unit.kind == "category":
        kinds: tuple[KernelSpec, ...] = (Linear(),) if len(unit.columns) == 1 else (Delta(),)
    else:
        kinds = (Linear(), RBF(1.0, relative=True)) if curved else (Linear(),)
    label = None if len(unit.columns) == 1 else unit.name
    return tuple(replace(spec, features=unit.columns, label=label) for spec in kinds)


def _as_sets(data: Dataset, sets: Iterable[Sequence[str]]) -> Iterator[list[Unit]]:
    """The source columns that are named, as units; ParameterError for what is no set of columns of the table."""
    plain = units(replace(data, sequences=()), len(data.columns)) if data.n_features else ()
    known, met = {unit.name: unit for unit in plain}, set()
    for names in sets:
        members = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in members if name not in known]
        if unknown:
            raise ParameterError(
                f"candidates name {unknown[0]!r}, which is no column of numbers or categories: {listed(known)}."
            )
        if not 2 <= len(members) <= MOST_PARTS or len(set(members)) < len(members):
            raise ParameterError(f"candidates are sets of 2 to {MOST_PARTS} different columns, got {names!r}.")
        if frozenset(members) not in met:
            met.add(frozenset(members))
            yield [known[name] for name in members]


def _how_many(features: tuple[int, ...] | LazyColumns | None, whole: int) -> int:
    """How many columns a kernel sees, as far as it can be known before the table is there."""
    if features is None:
        return whole
    if isinstance(features, LazyColumns):
        try:
            return len(features.resolve(whole))
        except KernelError:
            return 1
    return len(features)


def _as_pair(group: Any) -> tuple[str | None, Any]:
    named = isinstance(group, Sequence) and len(group) == 2 and isinstance(group[0], str)
    return (group[0], group[1]) if named else (None, group)


def _on(specs: Sequence[KernelSpec], lazy: Sequence[LazyColumns], n_features: int | None) -> tuple[KernelSpec, ...]:
    """Every spec on every choice of columns, resolved at once where the number of columns is known."""
    if n_features is None:
        return tuple(replace(spec, features=columns) for columns in lazy for spec in specs)
    count = _as_count("n_features", n_features)
    return tuple(replace(s, features=cols.resolve(count), label=str(cols)) for cols in lazy for s in specs)
