"""Kernel dictionaries: which kernels a model may choose from, defined before any data are seen.

A dictionary is frozen and hashable, so it can be a cache key and a value of the app's parameters.
Widths may be multiples of the median distance of the training rows, and columns may be bands of a
table whose width is not known yet; `grams` resolves both on the training rows. Dictionaries are
added with `+`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from mklcore._numba.decorators import COMPILES
from mklcore.arrays import Array, Columns, Names, one_blas_thread
from mklcore.data.column_groups import measured_columns, wavelengths, with_bands
from mklcore.data.columns import distinct_names
from mklcore.data.dataset import Dataset, joined, listed
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import KernelError, ParameterError, check_cancelled
from mklcore.kernels.functions import (
    MOST_PARTS,
    RBF,
    Delta,
    KernelSpec,
    Laplacian,
    LazyColumns,
    Linear,
    Polynomial,
    fill_base,
)
from mklcore.kernels.grams import Forecast, GramStack, duplicate_notes
from mklcore.kernels.interactions import Interaction, interacting
from mklcore.kernels.kernel_map import (
    KernelMap,
    exponential_sums,
    finish_block,
    kernel_table,
    mirror,
    normalised,
    sum_kind,
    write_exponential,
)
from mklcore.kernels.sequences import (
    USUAL_DEGREE,
    USUAL_K,
    SequenceKernel,
    Spectrum,
    WeightedDegree,
    Words,
    on_sequence,
)
from mklcore.parameters import check_whole

# Multiple of the median distance, about scikit-learn's default width of an RBF of all columns.
WHOLE_WIDTH = 0.5
DEFAULT_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Columns up to which the default dictionary has one kernel per column.
DEFAULT_PER_FEATURE = 50
BAND_KERNELS: tuple[KernelSpec, ...] = (
    Linear(),
    Polynomial(3),
    RBF(0.5, relative=True),
    RBF(2.0, relative=True),
)

# Units of a table
MOST_COLUMNS = 40  # source columns beyond which kernels see groups, bands or clusters of them
MOST_UNITS = 20
MOST_DISTANCE = 0.3  # 1 - |correlation| of columns in one cluster
ROWS = 2000  # for correlations

# Default kernels of sequences
WORDS = (2, 3, 5)  # letters of a word
DEGREES = ((3, 0), (8, 0), (8, 5))  # degree and shift
SHIFTED = 400  # letters up to which there are shifts

# Storage
STACK_LIMIT_MB = 2048.0  # above this no stack is stored, if the method can work without it
QUICK_LIMIT_MB = 512.0  # the same where computing a kernel costs no more than reading it
COLUMNS_FROM = 500  # rows from which linear kernels are stored as the columns they see


def stored_as(
    dictionary: KernelDictionary,
    n_samples: int,
    n_features: int,
    forms: Sequence[str] = ("dense",),
    approximation: Any = None,
) -> Forecast:
    """The form in which the kernels of a dictionary are stored on so many rows, and its cost.

    "features" where there is an ``approximation``, or where all kernels are products of columns
    that are few compared with the rows, or of any number where the method takes "columns"; "rows",
    which are computed on request, where a stack would be too large; otherwise "dense" Gram
    matrices.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels.
    n_samples, n_features : int
        Size of the training table.
    forms : sequence of str, default ("dense",)
        What the method that asks can work on.
    approximation : Nystroem or None, default None
        Features of low rank in place of the kernels.

    Returns
    -------
    Forecast
        Bytes, a rough time, number of kernels, and the form as ``stored``.
    """
    check_whole("n_samples", n_samples)
    check_whole("n_features", n_features)
    specs = dictionary.specs
    M = len(specs)
    n = n_samples
    seen = 0
    bases: dict[Any, int] = {}
    for spec in specs:
        try:
            width = len(spec.columns(n_features))
        except KernelError:  # `grams` raises it
            width = 1
        seen += width
        bases[spec.base, spec.features] = width
    medians = {(spec.base, spec.features) for spec in specs if spec.relative}
    # Per entry a kernel takes 1.5 to 2 ns, its base 2 ns and 0.07 ns for each column, and a median
    # 8 ns. This was fitted to one thread of a 2 GHz server, with 400 to 1500 rows and 5 to 200
    # columns.
    entry = 2.0e-9 * (M + len(bases)) + 0.07e-9 * sum(bases.values())
    seconds = n**2 * entry + 8.0e-9 * min(n, 2000) ** 2 * len(medians)
    stored = "dense"
    size = 8 * n**2 * (M + 1)
    is_narrow = "features" in forms and n >= COLUMNS_FROM and n_features + seen <= n // 2
    is_wide = "columns" in forms and size > 1e6 * QUICK_LIMIT_MB
    if approximation is not None:
        stored = "features"
        size = 4 * M * n * min(approximation.n_components, n)
    elif (is_narrow or is_wide) and all(spec.is_base for spec in specs):
        stored = "features"
        size = 4 * n * seen
    elif "rows" in forms and ("dense" not in forms or size > 1e6 * QUICK_LIMIT_MB):
        is_quick = all(sum_kind(spec) != "other" for spec in specs)
        if is_quick or "dense" not in forms or size > 1e6 * STACK_LIMIT_MB:
            stored = "rows"
            size = 0
    return Forecast(size, seconds, M, stored)


@dataclass(frozen=True)
class Band(LazyColumns):
    """Band number `index` (from 0) of `count` contiguous bands of columns of nearly equal size."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"band {self.index + 1} of {self.count}"

    def resolve(self, n_features: int) -> Columns:
        if n_features < self.count:
            raise KernelError(
                f"{self.count} bands need at least {self.count} columns, the data have "
                f"{n_features}. Use fewer bands."
            )
        start = self.index * n_features // self.count
        stop = (self.index + 1) * n_features // self.count
        return tuple(range(start, stop))


@dataclass(frozen=True)
class RandomColumns(LazyColumns):
    """Draw number `index` (from 0) of `size` different columns, reproducible from `seed`."""

    index: int
    size: int
    seed: int

    def __str__(self) -> str:
        return f"random {self.size} columns, draw {self.index + 1}"

    def resolve(self, n_features: int) -> Columns:
        if n_features < self.size:
            raise KernelError(
                f"A random subspace of {self.size} columns needs at least as many, the "
                f"data have {n_features}. Use a smaller size."
            )
        rng = np.random.default_rng((self.seed, self.index))
        return tuple(sorted(rng.choice(n_features, self.size, replace=False).tolist()))


def _as_specs(specs: KernelSpec | Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    found = tuple(specs) if isinstance(specs, Iterable) else (specs,)
    for spec in found:
        if not isinstance(spec, KernelSpec):
            raise ParameterError(
                f"A dictionary holds kernel specs such as RBF(1.0) or Linear(), got {spec!r}."
            )
    if not found:
        raise ParameterError("A dictionary needs at least one kernel, got none.")
    return found


def _on_each(
    specs: KernelSpec | Iterable[KernelSpec], choices: Iterable[tuple[str | None, Any]]
) -> tuple[KernelSpec, ...]:
    """Each spec once on every choice of columns, which comes with a label or None."""
    found = _as_specs(specs)
    for spec in found:
        if spec.features is not None:
            raise ParameterError(
                f"{spec!r} already names its columns; this builder chooses them. Leave out "
                "features."
            )
    kernels: list[KernelSpec] = []
    for label, columns in choices:
        kernels += [replace(spec, features=columns, label=label or spec.label) for spec in found]
    return tuple(kernels)


@dataclass(frozen=True)
class KernelDictionary:
    """The kernels a model chooses from, with weights theta >= 0 of K = sum_m theta_m K_m.

    specs: kernel specs in order; standardize: standardise every column to mean 0 and variance 1 on
    the training rows first (constant columns are only centred); feature_names: names of the
    columns. Raises ``ParameterError`` for anything that is not a spec, and ``KernelError`` when the
    names and the columns of X do not match.

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
    feature_names: Names | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.standardize, bool | np.bool_):
            raise ParameterError(f"standardize must be True or False, got {self.standardize!r}.")
        names = self.feature_names
        self.__dict__.update(
            specs=_as_specs(self.specs),
            standardize=bool(self.standardize),
            feature_names=None if names is None else tuple(map(str, names)),
        )

    @classmethod
    def rbf_grid(cls, multiples: Iterable[float]) -> Self:
        """RBF kernels on all columns, with widths in multiples of the median distance of rows."""
        return cls(tuple(RBF(width, relative=True) for width in multiples))

    @classmethod
    def laplacian_grid(cls, multiples: Iterable[float]) -> Self:
        """Laplacian kernels on all columns, with widths in multiples of the median l1 distance."""
        return cls(tuple(Laplacian(width, relative=True) for width in multiples))

    @classmethod
    def rbf_widths(cls, widths: Iterable[float]) -> Self:
        """RBF kernels on all columns with absolute widths, in units of (standardised) columns."""
        return cls(tuple(RBF(width) for width in widths))

    @classmethod
    def per_feature(cls, spec: KernelSpec | Iterable[KernelSpec], n_features: int) -> Self:
        """Each spec once on every single column: M = len(specs) * n_features, column by column."""
        check_whole("n_features", n_features)
        return cls(_on_each(spec, [(None, (j,)) for j in range(n_features)]))

    @classmethod
    def per_group(
        cls,
        specs: KernelSpec | Iterable[KernelSpec],
        groups: Mapping[str, Sequence[int]] | Iterable[Any],
    ) -> Self:
        """Each spec once on every group of columns.

        Groups are (name, column indices) pairs, a mapping of them, or lists of indices.
        """
        if isinstance(groups, Mapping):
            return cls(_on_each(specs, groups.items()))
        return cls(_on_each(specs, map(_as_pair, groups)))

    @classmethod
    def bands(cls, n_bands: int, specs: KernelSpec | Iterable[KernelSpec]) -> Self:
        """Each spec once on each of `n_bands` contiguous bands of columns of the training table."""
        check_whole("n_bands", n_bands)
        return cls(_on_each(specs, [(None, Band(i, n_bands)) for i in range(n_bands)]))

    @classmethod
    def random_subspaces(
        cls,
        spec: KernelSpec | Iterable[KernelSpec],
        size: int,
        count: int,
        seed: int,
    ) -> Self:
        """Each spec once on `count` random choices of `size` different columns, fixed by `seed`."""
        check_whole("seed", seed, 0)
        check_whole("size", size)
        check_whole("count", count)
        return cls(_on_each(spec, [(None, RandomColumns(i, size, seed)) for i in range(count)]))

    @classmethod
    def default(cls, n_features: int) -> Self:
        """A dictionary for any table: RBF at five widths, linear and quadratic kernels.

        For 2 to 50 columns there is one linear kernel per column as well.
        """
        check_whole("n_features", n_features)
        whole = cls.rbf_grid(DEFAULT_MULTIPLES) + cls((Linear(), Polynomial(2)))
        if 2 <= n_features <= DEFAULT_PER_FEATURE:
            return whole + cls.per_feature(Linear(), n_features)
        return whole

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
        """A dictionary that shows which columns of this table matter.

        Every kernel sees one source column, one group, one band or one cluster (see `units`):
        linear and RBF at the median distance, delta for a category; columns one by one up to
        `most_columns` of them. With `whole`, one RBF and one linear kernel of all columns are
        added, so that columns that act together are not lost. ``curved=False`` leaves out the RBF
        kernels: a sum of straight lines then tolerates a large C that curved kernels do not. A
        sequence gets a spectrum of ``k`` letters, and a weighted degree kernel of this ``degree``
        and ``shift`` where its strings have one length; a text gets a kernel of its words.

        >>> from mklcore.data.samples import load_sample
        >>> len(KernelDictionary.recommended(load_sample("iris")))
        10
        """
        specs: list[KernelSpec] = []
        for unit in units(data, most_columns):
            if unit.kind not in ("sequence", "text"):
                specs += _on_unit(unit, curved)
        if whole and len(data.columns) > 1:
            specs += [RBF(WHOLE_WIDTH, relative=True), Linear()] if curved else [Linear()]
        for s in range(len(data.sequences)):
            specs += on_sequence(data, s, k, degree, shift)
        for s, (name, _) in enumerate(data.texts, len(data.sequences)):
            specs.append(Words(s, label=name))
        return cls(tuple(specs), feature_names=data.feature_names)

    @classmethod
    def interactions(
        cls,
        data: Dataset,
        order: int = 2,
        candidates: Iterable[Sequence[str]] | None = None,
        *,
        curved: bool = True,
        most_columns: int = MOST_COLUMNS,
    ) -> Self:
        """A dictionary that shows which columns matter, and which of them act together.

        It holds the kernels of `recommended` without those of all columns, each without its mean
        over the training rows, and products of such kernels on different source columns (see
        `Interaction`): no function of fewer columns can express what a product adds.
        ``candidates``: the sets of source columns that get products, by name, as ``[("sex",
        "class")]``; None finds at most 20 sets of up to ``order`` columns that explain what a sum
        over columns leaves of the target (`interacting`), so ``order=1`` means no products. A set
        of numeric columns has two products, of linear kernels and of RBF kernels; a category gives
        the same factor to both. The other parameters are those of `recommended`. Candidates are
        found with the target of ``data``, so pass training rows. Raises ``ParameterError`` for
        unknown names and for invalid sets.

        >>> from mklcore.data.samples import load_sample
        >>> pair = ("petal length (cm)", "petal width (cm)")
        >>> kernels = KernelDictionary.interactions(load_sample("iris"), candidates=[pair])
        >>> len(kernels), kernels.names[-1]
        (10, 'petal length (cm) × petal width (cm), RBF 1 × median × RBF 1 × median')
        """
        check_whole("order", order, 1, MOST_PARTS)
        alone = cls.recommended(data, whole=False, curved=curved, most_columns=most_columns)
        specs = [spec if spec.reads_strings else Interaction(spec) for spec in alone]
        if candidates is None and order > 1:
            candidates = interacting(data, int(order))
        for members in _as_sets(data, candidates or ()):
            kernels = [_on_unit(unit, curved) for unit in members]
            linear = Interaction(*(of_unit[0] for of_unit in kernels))
            nonlinear = Interaction(*(of_unit[-1] for of_unit in kernels))
            specs += [linear] if linear == nonlinear else [linear, nonlinear]
        return cls(tuple(specs), feature_names=data.feature_names)

    def __len__(self) -> int:
        return len(self.specs)

    def __iter__(self) -> Iterator[KernelSpec]:
        return iter(self.specs)

    def __add__(self, other: KernelDictionary) -> Self:
        if not isinstance(other, KernelDictionary):
            return NotImplemented
        if self.standardize != other.standardize:
            raise ParameterError(
                "Only dictionaries with the same standardize can be added; set it alike in both."
            )
        ours = self.feature_names
        theirs = other.feature_names
        if ours is not None and theirs is not None and ours != theirs:
            raise ParameterError(
                "Only dictionaries with the same feature_names can be added; set them "
                "alike in both."
            )
        names = theirs if ours is None else ours
        return replace(self, specs=self.specs + other.specs, feature_names=names)

    @property
    def names(self) -> Names:
        """A different name for every kernel: a name that occurs again gets a number."""
        return tuple(distinct_names(spec.name(self.feature_names) for spec in self.specs))

    @property
    def families(self) -> Names:
        """Registry key of every kernel."""
        return tuple(spec.family for spec in self.specs)

    def foresee(self, n_samples: int, n_features: int | None = None) -> Forecast:
        """Bytes, rough seconds and M for grams on `n_samples` rows, before anything is built.

        n_features: columns of the table; by default as many as there are feature names, or one.
        """
        return stored_as(self, n_samples, n_features or len(self.feature_names or ("",)))

    def grams(
        self,
        X: Any,
        normalise: str | None = "multiplicative",
        center: bool = False,
        memory_limit_mb: float = 4096.0,
        sample_weight: Array | None = None,
    ) -> GramStack:
        """Normalised Gram matrices of every kernel on training rows X (n, d), or a ``Dataset``.

        normalise: "multiplicative" (variance 1 in feature space), "spherical" (K_ii = 1), "trace"
        (tr K = 1), "diag" (max K_ii = 1) or None; center: H K H, before normalising. Kernels that
        are constant on the training rows cannot be scaled: they are left out and named in `notes`.
        sample_weight (n,): a row of weight w counts as w rows in the scales of columns and kernels
        and in median distances. Raises ``KernelError`` when no kernel is left, or when the stack
        needs more than `memory_limit_mb` megabytes, and ``DataError`` when X is not a finite
        numeric table.
        """
        dictionary: KernelDictionary = self
        if isinstance(X, Dataset):
            dictionary = self.on(X)
            X = X.table
        if dictionary.feature_names is not None and np.ndim(X) == 2:
            dictionary._check_names(np.shape(X)[1])
        plain = KernelMap.on(X, dictionary, normalise, sample_weight)
        names = dictionary.names
        M = len(names)
        n = len(plain.rows)
        _check_memory(M, n, memory_limit_mb)
        is_spherical = normalise == "spherical"
        # Without centring, a kernel is only divided by one number.
        is_divided = not (center or is_spherical) and sample_weight is None
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            # Overflow is reported by `normalised`, with the name of the kernel.
            values = np.empty((M, n, n))
            diagonals, totals, sums, bases = _filled(plain, sample_weight, is_divided, values)
            transform, kept, notes, _ = normalised(
                plain,
                names,
                normalise,
                center,
                diagonals,
                totals,
                sums,
                sample_weight,
            )
            for place in reversed(range(kept.size)):  # a base is overwritten after its kernels
                gram = values[kept[place]]
                scale = transform.scales[place]
                base = bases.get(int(kept[place]))
                if base is not None:
                    rate = transform.specs[place].rate
                    write_exponential(values[base], rate, 1.0 / scale, gram)
                elif center or is_spherical:
                    shift = transform.row_means[place] - 0.5 * transform.grand_means[place]
                    factor = transform.factors[place].copy()
                    finish_block(gram, shift, shift, factor, factor)
                elif scale != 1.0:
                    gram *= 1.0 / scale
        if kept.size < M:
            values = values[kept]
        labels = tuple(names[m] for m in kept)
        return GramStack(values, labels, transform, notes + duplicate_notes(values, labels))

    def on(self, data: Dataset) -> KernelDictionary:
        """The dictionary on the rows ``data.table``, where every kernel knows its columns.

        Where there are sequences, kernels of all columns refer to those of X, and kernels on
        sequences to the letters beside them. Raises ``KernelError`` where nothing is left, or a
        kernel needs columns or sequences that do not exist.
        """
        if not data.strings:
            return self
        names = tuple(name for name, _ in data.strings)
        d = data.n_features
        return self.beside(
            d,
            names,
            (data.table.shape[1] - d) // len(names),
        )

    def beside(self, n_features: int, names: Sequence[str], width: int) -> KernelDictionary:
        """The dictionary on rows with the letters of S sequences after ``n_features`` columns.

        The rows are (n, n_features + width S). See ``on``.
        """
        d = n_features
        self._check_names(d)
        for spec in self.specs:
            if not d and spec.features is None and not spec.reads_strings:
                raise KernelError(
                    f"{spec!r} needs columns, and the data have sequences only; leave such "
                    "kernels out."
                )
        specs = tuple(spec.beside(d, tuple(names), width) for spec in self.specs)
        feature_names = self.feature_names
        if feature_names is not None:
            feature_names += ("",) * (width * len(names))
        return KernelDictionary(specs, self.standardize, feature_names)

    def _check_names(self, n_features: int) -> None:
        if self.feature_names is not None and n_features != len(self.feature_names):
            raise KernelError(
                f"The dictionary names {len(self.feature_names)} columns, X has "
                f"{n_features}. Use dataclasses.replace(dictionary, feature_names=None), "
                "or the names of this table."
            )

    def _repr_html_(self) -> str:
        title = f"KernelDictionary({len(self)} kernels)"
        return kernel_table(title, kernel=self.names, family=self.families)


def _filled(
    plain: KernelMap, sample_weight: Array | None, is_divided: bool, values: Array
) -> tuple[Array, Array, Array, dict[int, int]]:
    """Fill the Gram matrices ``values`` (M, n, n) of a map, and return what normalisation needs.

    These are the diagonals (M, n), w'K w (M,), and K w (M, n). Where kernels ``is_divided`` by one
    number only, exponentials are written once, with their scale. Until then the first of those that
    share a base holds its base numbers: the last result holds its place for each of them.
    """
    M, n = values.shape[:2]
    weights = np.ones(n) if sample_weight is None else sample_weight
    shared_base = np.empty((n, n))
    diagonals = np.ones((M, n))
    totals = np.empty(M)
    sums = np.empty((M, n))
    bases: dict[int, int] = {}
    for members in plain.groups(range(M)):
        check_cancelled()
        rates = [plain.specs[m].rate for m in members]
        first = members[0]
        is_once = COMPILES and is_divided and None not in rates
        is_base = plain.specs[first].is_base and len(members) == 1
        numbers = values[first] if is_once or is_base else shared_base
        fill_base(plain.specs[first], plain.rows, plain.rows, True, numbers)
        if is_once:
            mirror(numbers)
            above = exponential_sums(numbers, np.array(rates, dtype=np.float64))
            totals[members] = n + 2.0 * above
            bases.update(dict.fromkeys(members, first))
            continue
        for m in members:
            check_cancelled()
            if not is_base:
                plain.specs[m].fill(numbers, True, values[m])
            mirror(values[m])
            diagonals[m] = values[m].diagonal()
            sums[m] = values[m] @ weights
            totals[m] = weights @ sums[m]
    return diagonals, totals, sums, bases


def _check_memory(n_kernels: int, n_samples: int, limit_mb: float) -> None:
    if not limit_mb > 0:
        raise ParameterError(
            f"memory_limit_mb must be a positive number of megabytes, got {limit_mb!r}."
        )
    needed = 8e-6 * n_samples**2 * (n_kernels + 1)
    if needed > limit_mb:
        most_rows = int(np.sqrt(limit_mb * 1e6 / (8 * (n_kernels + 1))))
        most_kernels = int(limit_mb * 1e6 / (8 * n_samples**2)) - 1
        fewer = f", at most {most_kernels:,} kernels" if most_kernels > 0 else ""
        raise KernelError(
            f"{n_kernels:,} kernels on {n_samples:,} rows need {needed:,.0f} MB, above the limit "
            f"of {limit_mb:,.0f} MB. Use at most {most_rows:,} rows{fewer}, or raise "
            "memory_limit_mb."
        )


def _on_unit(unit: Unit, curved: bool) -> tuple[KernelSpec, ...]:
    """The kernels of one unit: equality for a category, else linear, and an RBF if ``curved``."""
    is_single = len(unit.columns) == 1
    specs: tuple[KernelSpec, ...] = (Linear(),)
    if unit.kind == "category" and not is_single:
        specs = (Delta(),)
    elif unit.kind != "category" and curved:
        specs = (Linear(), RBF(1.0, relative=True))
    label = None if is_single else unit.name
    return tuple(replace(spec, features=unit.columns, label=label) for spec in specs)


def _as_sets(
    data: Dataset,
    sets: Iterable[Sequence[str]],
) -> Iterator[list[Unit]]:
    """The named source columns as units; ``ParameterError`` for invalid sets of columns."""
    known = {}
    if data.n_features:
        numeric = replace(data, sequences=(), texts=())
        known = {unit.name: unit for unit in units(numeric, len(data.columns))}
    seen = set()
    for names in sets:
        members = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in members if name not in known]
        if unknown:
            raise ParameterError(
                f"candidates name {unknown[0]!r}, which is no column of numbers or "
                f"categories: {listed(known)}."
            )
        if not 2 <= len(members) <= MOST_PARTS or len(set(members)) < len(members):
            raise ParameterError(
                f"candidates are sets of 2 to {MOST_PARTS} different columns, got {names!r}."
            )
        if frozenset(members) not in seen:
            seen.add(frozenset(members))
            yield [known[name] for name in members]


def _as_pair(group: Any) -> tuple[str | None, Any]:
    named = isinstance(group, Sequence) and len(group) == 2 and isinstance(group[0], str)
    return (group[0], group[1]) if named else (None, group)


# -- dictionaries of sequences and spectra


def as_dictionary(kernels: Any) -> KernelDictionary:
    """A dictionary, or the dictionary of a list of kernels; else ``ParameterError``."""
    if isinstance(kernels, KernelDictionary):
        return kernels
    description = f"a {type(kernels).__name__}"
    if isinstance(kernels, list | tuple) and kernels:
        if all(isinstance(one, KernelSpec) for one in kernels):
            return KernelDictionary(tuple(kernels))
        types = dict.fromkeys(type(one).__name__ for one in kernels)
        description += f" of {joined(types)}"
    raise ParameterError(
        "kernels must be None, a KernelDictionary, a list of kernels such as "
        f'[RBF(1.0), Linear()], or "precomputed"; got {description}.'
    )


@dataclass(frozen=True)
class SequenceDictionary(KernelDictionary):
    """Kernels on strings: `Spectrum`, `WeightedDegree`, or a subclass of `SequenceKernel`.

    ``grams`` takes a list of strings, one per row, or a ``Dataset`` with sequences. Raises
    ``ParameterError`` for kernels on columns.

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
    >>> stack = SequenceDictionary([Spectrum(2)]).grams(["ACGT", "ACGA", "TTTT"], normalise=None)
    >>> stack.values[0].astype(int).tolist(), stack.cross(["CGCG"])[0].tolist()
    ([[3, 2, 0], [2, 3, 0], [0, 0, 9]], [[2.0, 2.0, 0.0]])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for spec in self.specs:
            if not isinstance(spec, SequenceKernel):
                raise ParameterError(
                    "A SequenceDictionary holds kernels on strings such as Spectrum(3), "
                    f"got {spec!r}. Add a KernelDictionary of the columns with +."
                )

    @classmethod
    def suggested(cls, sizes: Sequence[Any]) -> Self:
        """Kernels for sequences: spectra, and weighted degrees for strings of one length.

        ``sizes``: for every sequence the lengths of its strings, in any order.
        """
        specs: list[KernelSpec] = []
        for s, of_sequence in enumerate(sizes):
            shortest = int(min(of_sequence))
            longest = int(max(of_sequence))
            specs += [Spectrum(k, s) for k in WORDS if k <= longest]
            if shortest < longest:
                continue
            for degree, shift in DEGREES:
                if not shift or shift < longest <= SHIFTED:
                    specs.append(WeightedDegree(degree, shift, s))
        return cls(tuple(specs))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, KernelDictionary):
            return replace(other, specs=self.specs + other.specs)
        return NotImplemented

    def __radd__(self, other: KernelDictionary) -> KernelDictionary:
        return replace(other, specs=other.specs + self.specs)

    def grams(
        self,
        X: Any,
        normalise: str | None = "spherical",
        center: bool = False,
        memory_limit_mb: float = 4096.0,
        sample_weight: Array | None = None,
    ) -> GramStack:
        """Gram matrices of every kernel on strings, one per row, or on sequences of a ``Dataset``.

        ``cross`` of the stack takes new strings. With normalise "spherical" every string has the
        same similarity to itself, whatever its length. Raises ``KernelError`` where strings of one
        length are needed, and ``DataError`` for values that are not strings.
        """
        if isinstance(X, Dataset):
            return super().grams(X, normalise, center, memory_limit_mb, sample_weight)
        table = letters([as_strings(X)])
        specs = tuple(spec.beside(0, ("",), table.shape[1]) for spec in self.specs)
        dictionary = KernelDictionary(specs)
        return dictionary.grams(table, normalise, center, memory_limit_mb, sample_weight)


# -- the units of a table


ALL_COLUMNS = "all columns together"
SEVERAL_GROUPS = "some columns together"


class Unit(NamedTuple):
    """A part of a table that a kernel may see, and its columns.

    The kind is "column", "category", "group", "band", "cluster", "sequence" or "text". Columns of a
    sequence are those derived from it and its letters, as in ``Dataset.table``.
    """

    name: str
    columns: Columns
    kind: str


def units(data: Dataset, most_columns: int = MOST_COLUMNS) -> tuple[Unit, ...]:
    """The units of a table, see ``_numeric``, and its sequences and texts with their columns."""
    columns = dict(data.columns)
    kinds = ["sequence"] * len(data.sequences) + ["text"] * len(data.texts)
    strings = []
    derived: set[int] = set()
    for (name, _), kind in zip(data.strings, kinds, strict=True):
        of_string = columns.get(name, ())
        derived.update(of_string)
        strings.append(Unit(name, (*of_string, *data.letter_columns(name)), kind))
    others = [j for j in range(data.n_features) if j not in derived]
    numeric: tuple[Unit, ...] = ()
    if others:
        numeric = _within(data, others, lambda part: _numeric(part, most_columns))
    return (*numeric, *strings)


def _numeric(data: Dataset, most_columns: int) -> tuple[Unit, ...]:
    """The units of a numeric table: source columns, else groups, bands or clusters.

    Up to ``most_columns`` source columns are units. Of more columns, the groups of the table are
    units where it has any; equal bands of the columns whose names are wavelengths or times, where
    most are, with the units of the other columns; else at most ``MOST_UNITS`` clusters of
    correlated columns, named by their first column.
    """
    if len(data.columns) <= most_columns:
        return tuple(Unit(name, members, _kind(data, members)) for name, members in data.columns)
    if data.groups:
        return tuple(Unit(name, members, "group") for name, members in data.groups)
    if measured := measured_columns(data):
        found = _within(data, sorted(measured), _bands)
        others = [j for j in range(data.n_features) if j not in set(measured)]
        if others:
            found += _within(data, others, lambda part: _numeric(part, most_columns))
        return found
    return _clusters(data)


def _within(
    data: Dataset,
    columns: Sequence[int],
    found: Callable[[Dataset], tuple[Unit, ...]],
) -> tuple[Unit, ...]:
    """The units of some of the columns, with their places in the whole table."""
    part = replace(data.select(columns), sequences=(), texts=())
    units_of_part = []
    for unit in found(part):
        places = tuple(columns[j] for j in unit.columns)
        units_of_part.append(unit._replace(columns=places))
    return tuple(units_of_part)


def _bands(data: Dataset) -> tuple[Unit, ...]:
    count = min(MOST_UNITS, int(np.unique(wavelengths(data)).size))
    return tuple(Unit(name, members, "band") for name, members in with_bands(data, count).groups)


def _kind(data: Dataset, members: Columns) -> str:
    """ "category" for columns of 0 and 1, also for several that came from one source column."""
    values = data.X[:, list(members)]
    return "category" if bool(np.isin(values, (0.0, 1.0)).all()) else "column"


def _clusters(data: Dataset) -> tuple[Unit, ...]:
    """Clusters of source columns by average linkage on 1 - |correlation|."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import
    from scipy.spatial.distance import squareform  # slow to import

    step = max(1, data.n_samples // ROWS)
    firsts = [members[0] for _, members in data.columns]
    first = data.X[::step, firsts]
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant column correlates with none
        correlations = np.abs(np.nan_to_num(np.corrcoef(first, rowvar=False)))
    distances = np.clip(1.0 - correlations, 0.0, None)
    tree = linkage(squareform(distances, checks=False), "average")
    labels = fcluster(tree, MOST_DISTANCE, "distance")
    if labels.max() > MOST_UNITS:
        labels = fcluster(tree, MOST_UNITS, "maxclust")
    clusters = []
    for label in dict.fromkeys(labels.tolist()):
        members = [data.columns[k] for k in np.flatnonzero(labels == label)]
        name = members[0][0]
        if len(members) > 1:
            name += f" and {len(members) - 1} more"
        columns = chain.from_iterable(of_source for _, of_source in members)
        clusters.append(Unit(name, tuple(columns), "cluster"))
    return tuple(clusters)


def kernels_by_columns(
    specs: Sequence[KernelSpec],
    groups: Sequence[tuple[str, Sequence[int]]],
    names: Sequence[str],
) -> dict[str, list[int]]:
    """Which kernels look at what: group of columns, single column, or all columns -> indices of
    kernels.

    ``specs`` M resolved kernels, ``groups`` (name, column indices) pairs, ``names`` (d,) of the
    columns, as in ``Dataset.source_names``. A kernel whose columns are in one group counts for the
    group; where there are no groups, for its column; an interaction for the columns that it is of.
    """
    found: dict[str, list[int]] = {}
    home = {j: name for name, members in groups for j in members}
    for m, spec in enumerate(specs):
        columns = spec.settled
        seen: dict[str, None] = {}
        for j in columns:
            seen[home.get(j, names[j] if j < len(names) else spec.label or "sequence")] = None
        is_product = isinstance(spec, Interaction) and len(spec.parts) > 1
        if len(columns) == len(names) > 1 and not is_product:
            label = ALL_COLUMNS
        elif is_product or len(seen) == 1:
            label = " × ".join(seen)
        else:
            label = (
                SEVERAL_GROUPS if groups else f"{len(columns)} columns, {names[columns[0]]} first"
            )
        found.setdefault(label, []).append(m)
    return found
