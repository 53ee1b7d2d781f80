"""Kernel dictionaries: which kernels a model may choose from, written down before any data are
seen.

A dictionary is frozen and hashable, so it is a cache key and a value of the app's parameters.
Widths may be multiples of the training median distance and columns may be bands of a table whose
width is not known yet; both are settled when `grams` meets the training rows, and nowhere else.
Dictionaries add up with `+`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.data.column_groups import measured_columns, wavelengths, with_bands
from mklcore.data.dataset import Dataset, joined, listed
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import KernelError, ParameterError, check_cancelled
from mklcore.kernels.fills import exponential_sums, finish_block, mirror, write_exponential
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
from mklcore.kernels.grams import Forecast, GramStack, duplicate_notes, kernel_table
from mklcore.kernels.interactions import Interaction, interacting
from mklcore.kernels.maps import KernelMap, normalised, sum_kind
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

# of the median distance: about scikit-learn's own width for an RBF of all columns
WHOLE_WIDTH = 0.5
DEFAULT_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Beyond this many columns the default dictionary does not offer one kernel per column.
DEFAULT_PER_FEATURE = 50
BAND_KERNELS: tuple[KernelSpec, ...] = (
    Linear(),
    Polynomial(3),
    RBF(0.5, relative=True),
    RBF(2.0, relative=True),
)

# of units
MOST_COLUMNS = 40  # source columns beyond which kernels see groups, bands or clusters of them
MOST_UNITS = 20
ALIKE = 0.3  # 1 - |correlation| up to which columns carry the same
ROWS = 2000  # from which correlations are taken

# of sequences
WORDS = (2, 3, 5)  # letters of the words that are compared where nothing else is asked for
DEGREES = ((3, 0), (8, 0), (8, 5))  # degree and shift
SHIFTED = 400  # letters up to which shifts are tried unasked

# of storing
STACK_LIMIT_MB = 2048.0  # above this no stack is stored, where the method can do without
QUICK_LIMIT_MB = 512.0  # the same where making a kernel again costs no more than reading it
COLUMNS_FROM = 500  # rows from which linear kernels are kept as the columns they see


def stored_as(
    dictionary: KernelDictionary,
    n_samples: int,
    n_features: int,
    forms: Sequence[str] = ("dense",),
    approximation: Any = None,
) -> Forecast:
    """In which form the kernels of a dictionary on so many rows and columns are stored, and what
    that costs.

    "features" where there is an ``approximation``, or where all kernels are products of columns
    that are few beside the rows, or of any number where the method takes "columns"; "rows", which
    are computed when asked for, where a stack would be too large; else "dense" Gram matrices.

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
    M = len(dictionary.specs)
    n = n_samples
    seen = 0
    is_linear = True
    bases: dict[Any, int] = {}
    medians = set()
    for spec in dictionary.specs:
        try:
            width = len(spec.columns(n_features))
        except KernelError:  # refused when the table is there
            width = 1
        seen = seen + width
        key = (spec.base, spec.features)
        bases[key] = width
        if spec.relative:
            medians.add(key)
        is_linear = is_linear and spec.is_base
    # per entry 1.5 to 2 ns for a kernel, 2 ns and 0.07 ns a column for its base, 8 ns for a median:
    # fitted to one thread of a 2 GHz server, with 400 to 1500 rows and 5 to 200 columns
    entry = 2.0e-9 * (M + len(bases)) + 0.07e-9 * sum(bases.values())
    seconds = n**2 * entry + 8.0e-9 * min(n, 2000) ** 2 * len(medians)
    stored = "dense"
    size = 8 * n**2 * (M + 1)
    is_narrow = "features" in forms and n >= COLUMNS_FROM and n_features + seen <= n // 2
    is_wide = "columns" in forms and size > 1e6 * QUICK_LIMIT_MB
    if approximation is not None:
        stored = "features"
        size = 4 * M * n * min(approximation.n_components, n)
    elif is_linear and (is_narrow or is_wide):
        stored = "features"
        size = 4 * n * seen
    elif "rows" in forms and ("dense" not in forms or size > 1e6 * QUICK_LIMIT_MB):
        is_quick = all(sum_kind(spec) != "other" for spec in dictionary.specs)
        if is_quick or "dense" not in forms or size > 1e6 * STACK_LIMIT_MB:
            stored = "rows"
            size = 0
    return Forecast(size, seconds, M, stored)


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
                f"{self.count} bands need at least {self.count} columns, the data have "
                f"{n_features}. Use fewer bands."
            )
        return tuple(
            range(
                self.index * n_features // self.count, (self.index + 1) * n_features // self.count
            )
        )


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
                f"A random subspace of {self.size} columns needs at least as many, the "
                f"data have {n_features}. Use a smaller size."
            )
        draw = np.random.default_rng((self.seed, self.index)).choice(
            n_features, self.size, replace=False
        )
        return tuple(sorted(int(j) for j in draw))


def _as_specs(specs: KernelSpec | Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    found = (
        (specs,)
        if isinstance(specs, KernelSpec)
        else tuple(specs)
        if isinstance(specs, Iterable)
        else (specs,)
    )
    for spec in found:
        if not isinstance(spec, KernelSpec):
            raise ParameterError(
                f"A dictionary holds kernel specs such as RBF(1.0) or Linear(), got {spec!r}."
            )
    if not found:
        raise ParameterError("A dictionary needs at least one kernel, got none.")
    return found


def _without_columns(specs: KernelSpec | Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    found = _as_specs(specs)
    for spec in found:
        if spec.features is not None:
            raise ParameterError(
                f"{spec!r} already names its columns; this builder chooses them. Leave out "
                "features."
            )
    return found


@dataclass(frozen=True)
class KernelDictionary:
    """The kernels a model chooses from: min over weights theta >= 0 of a machine with K = sum_m
    theta_m K_m.

    specs: kernel specs in order; standardize: bring every column to mean 0 and variance 1 on the
    training rows first (constant columns are only centred); feature_names: what names call the
    columns. ParameterError for anything that is not a spec, KernelError when the names and the
    columns of X do not match.

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
            object.__setattr__(
                self, "feature_names", tuple(str(name) for name in self.feature_names)
            )

    @classmethod
    def rbf_grid(cls, multiples: Iterable[float]) -> Self:
        """RBF kernels on all columns, widths in multiples of the median distance between training
        rows.
        """
        return cls(tuple(RBF(width, relative=True) for width in multiples))

    @classmethod
    def laplacian_grid(cls, multiples: Iterable[float]) -> Self:
        """Laplacian kernels on all columns, widths in multiples of the median l1 distance between
        training rows.
        """
        return cls(tuple(Laplacian(width, relative=True) for width in multiples))

    @classmethod
    def rbf_widths(cls, widths: Iterable[float]) -> Self:
        """RBF kernels on all columns with these absolute widths, in units of the (standardised)
        columns.
        """
        return cls(tuple(RBF(width) for width in widths))

    @classmethod
    def per_feature(cls, spec: KernelSpec | Iterable[KernelSpec], n_features: int) -> Self:
        """Each spec once on every single column: M = len(specs) * n_features, column by column."""
        check_whole("n_features", n_features)
        found = _without_columns(spec)
        return cls(tuple(replace(s, features=(j,)) for j in range(n_features) for s in found))

    @classmethod
    def per_group(
        cls,
        specs: KernelSpec | Iterable[KernelSpec],
        groups: Mapping[str, Sequence[int]] | Iterable[Any],
    ) -> Self:
        """Each spec once on every group of columns; groups are (name, column indices) pairs, a
        mapping of them, or bare lists of indices.
        """
        found = _without_columns(specs)
        pairs = (
            list(groups.items())
            if isinstance(groups, Mapping)
            else [_as_pair(group) for group in groups]
        )
        return cls(
            tuple(replace(s, features=cols, label=name) for name, cols in pairs for s in found)
        )

    @classmethod
    def bands(cls, n_bands: int, specs: KernelSpec | Iterable[KernelSpec]) -> Self:
        """Each spec once on every one of `n_bands` contiguous column bands, cut when the training
        rows are seen.
        """
        check_whole("n_bands", n_bands)
        found = _without_columns(specs)
        bands = [Band(i, n_bands) for i in range(n_bands)]
        return cls(tuple(replace(s, features=band) for band in bands for s in found))

    @classmethod
    def random_subspaces(
        cls,
        spec: KernelSpec | Iterable[KernelSpec],
        size: int,
        count: int,
        seed: int,
    ) -> Self:
        """Each spec once on `count` random choices of `size` different columns, the same for the
        same seed.
        """
        for name, value, least in (("seed", seed, 0), ("size", size, 1), ("count", count, 1)):
            check_whole(name, value, least)
        found = _without_columns(spec)
        draws = [RandomColumns(i, size, seed) for i in range(count)]
        return cls(tuple(replace(s, features=draw) for draw in draws for s in found))

    @classmethod
    def default(cls, n_features: int) -> Self:
        """A dictionary for a table nothing is known about: RBF at five widths, linear, quadratic,
        and one linear kernel per column for 2 to 50 columns.
        """
        check_whole("n_features", n_features)
        count = n_features
        whole = cls.rbf_grid(DEFAULT_MULTIPLES) + cls((Linear(), Polynomial(2)))
        return (
            whole + cls.per_feature(Linear(), count) if 2 <= count <= DEFAULT_PER_FEATURE else whole
        )

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

        Every kernel sees one source column, one group, one band or one cluster (see `units.units`):
        linear and RBF at the median distance, delta for a category; columns one by one up to
        `most_columns` of them. With `whole` one RBF and one linear kernel of everything stand
        beside them, so that columns acting together are not lost. ``curved=False`` leaves the RBF
        kernels out: a sum of straight lines then carries a large C that curved kernels do not. A
        sequence gets a spectrum of ``k`` letters, and a weighted degree of this ``degree`` and
        ``shift`` where its strings have one length; a text one of its words.

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
        specs += [
            Words(s, label=name) for s, (name, _) in enumerate(data.texts, len(data.sequences))
        ]
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
        """A dictionary that answers which columns count, and which of them act together.

        The kernels of `recommended` without those of all columns, each without its mean over the
        training rows, and products of such kernels on different source columns (see `Interaction`):
        what a product adds, no function of fewer columns could. ``candidates``: the sets of source
        columns that get products, by name, as ``[("sex", "class")]``; None finds at most 20 sets of
        up to ``order`` columns that explain what a sum over columns leaves of the target
        (`interacting`), so that ``order=1`` stands for no products. A set of numbers has two
        products, of linear kernels and of RBF kernels, a category gives the same factor to both.
        The other parameters are those of `recommended`. Candidates are found with the target of
        ``data``: pass training rows. ParameterError for unknown names and for sets that are none.

        >>> from mklcore.data.samples import load_sample
        >>> pair = ("petal length (cm)", "petal width (cm)")
        >>> kernels = KernelDictionary.interactions(load_sample("iris"), candidates=[pair])
        >>> len(kernels), kernels.names[-1]
        (10, 'petal length (cm) × petal width (cm), RBF 1 × median × RBF 1 × median')
        """
        check_whole("order", order, 1, MOST_PARTS)
        alone = cls.recommended(data, whole=False, curved=curved, most_columns=most_columns)
        specs = [spec if spec.reads_strings else Interaction(spec) for spec in alone]
        sets = (
            interacting(data, int(order)) if candidates is None and order > 1 else candidates or ()
        )
        for members in _as_sets(data, sets):
            kinds = [_on_unit(unit, curved) for unit in members]
            products = [
                Interaction(*(kind[min(k, len(kind) - 1)] for kind in kinds)) for k in range(2)
            ]
            specs += products[:1] if products[0] == products[1] else products
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
        return replace(
            self, specs=self.specs + other.specs, feature_names=theirs if ours is None else ours
        )

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

    def foresee(self, n_samples: int, n_features: int | None = None) -> Forecast:
        """Bytes, a rough number of seconds and M for grams on `n_samples` rows, before anything is
        built.

        n_features: columns of the table; without it, as many as there are feature names, or one.
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
        """Gram matrices of every kernel on the training rows X (n, d), or a ``Dataset``, centred
        and normalised as asked.

        normalise: "multiplicative" (variance 1 in feature space), "spherical" (K_ii = 1), "trace"
        (tr K = 1), "diag" (max K_ii = 1) or None; center: H K H, before normalising. Kernels that
        are constant on the training rows cannot be scaled: they are left out and named in `notes`,
        and KernelError is raised when none is left or when the stack needs more than
        `memory_limit_mb` megabytes. sample_weight (n,): a row of weight w counts as w rows in the
        scales of columns and kernels and in median distances. DataError when X is not a finite
        numeric table.
        """
        known: KernelDictionary = self
        if isinstance(X, Dataset):
            known = self.on(X)
            X = X.table
        if known.feature_names is not None and np.ndim(X) == 2:
            known._check_names(np.shape(X)[1])
        plain = KernelMap.on(X, known, normalise, sample_weight)
        names = known.names
        M = len(names)
        rows = plain.rows
        n = len(rows)
        is_spherical = normalise == "spherical"
        if not memory_limit_mb > 0:
            raise ParameterError(
                f"memory_limit_mb must be a positive number of megabytes, got {memory_limit_mb!r}."
            )
        if (needed := 8e-6 * n**2 * (M + 1)) > memory_limit_mb:
            most_rows = int(np.sqrt(memory_limit_mb * 1e6 / (8 * (M + 1))))
            most_kernels = int(memory_limit_mb * 1e6 / (8 * n**2)) - 1
            fewer = f", at most {most_kernels:,} kernels" if most_kernels > 0 else ""
            raise KernelError(
                f"{M:,} kernels on {n:,} rows need {needed:,.0f} MB, above the limit of "
                f"{memory_limit_mb:,.0f} MB. Use at most {most_rows:,} rows{fewer}, or "
                "raise memory_limit_mb."
            )
        # by one number, and nothing else
        is_divided = not (center or is_spherical) and sample_weight is None
        w = np.ones(n) if sample_weight is None else sample_weight
        values = np.empty((M, n, n))
        room = np.empty((n, n))
        diagonals = np.ones((M, n))
        totals = np.empty(M)
        sums = np.empty((M, n))
        # of exponentials that are written once, with their scale: where their base is
        bases: dict[int, int] = {}
        # what overflows is reported by name
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for (base, columns), members in plain.groups.items():
                check_cancelled()
                rates = list(map(attrgetter("rate"), map(plain.specs.__getitem__, members)))
                first = values[members[0]]
                is_once = is_divided and None not in rates
                is_itself = plain.specs[members[0]].is_base and len(members) == 1
                shared = first if is_once or is_itself else room
                fill_base(base, columns, rows, rows, True, shared)
                if is_once:
                    mirror(shared)
                    totals[members] = n + 2.0 * exponential_sums(
                        shared, np.array(rates, dtype=np.float64)
                    )
                    bases |= dict.fromkeys(members, members[0])
                    continue
                for m in members:
                    check_cancelled()
                    if not is_itself:
                        plain.specs[m].fill(shared, True, values[m])
                    mirror(values[m])
                    diagonals[m] = values[m].diagonal()
                    sums[m] = values[m] @ w
                    totals[m] = w @ sums[m]
            transform, kept, notes, _ = normalised(
                plain, names, normalise, center, diagonals, totals, sums, sample_weight
            )
            for place in reversed(range(kept.size)):  # a base is overwritten last
                gram = values[kept[place]]
                scale = transform.scales[place]
                if kept[place] in bases:
                    write_exponential(
                        values[bases[kept[place]]], transform.specs[place].rate, 1.0 / scale, gram
                    )
                elif center or is_spherical:
                    shift = transform.row_means[place] - 0.5 * transform.grand_means[place]
                    factor = transform.factors[place].copy()
                    finish_block(gram, shift, shift, factor, factor)
                elif scale != 1.0:
                    gram *= 1.0 / scale
        for place, m in enumerate(kept):  # close the gaps that dropped kernels leave
            if place != m:
                values[place] = values[m]
        values = values[: kept.size]
        labels = tuple(map(names.__getitem__, kept))
        families = tuple(map(attrgetter("family"), transform.specs))
        notes += duplicate_notes(values, labels)
        return GramStack(
            values, labels, transform.scales, families, transform.specs, notes, transform
        )

    def on(self, data: Dataset) -> KernelDictionary:
        """The dictionary on the rows ``data.table``: where there are sequences, every kernel knows
        its columns.

        Kernels of all columns then mean those of X, and kernels on sequences the letters beside
        them. KernelError where nothing is left, or a kernel asks for columns or sequences there are
        not.
        """
        if not data.strings:
            return self
        names = tuple(name for name, _ in data.strings)
        d = data.n_features
        return self.beside(d, names, (data.table.shape[1] - d) // len(names))

    def beside(self, n_features: int, names: Sequence[str], width: int) -> KernelDictionary:
        """The dictionary on rows (n, n_features + width S): columns, then the letters of S
        sequences; see ``on``.
        """
        d = n_features
        self._check_names(d)
        if not d and (
            blind := [
                spec for spec in self.specs if spec.features is None and not spec.reads_strings
            ]
        ):
            raise KernelError(
                f"{blind[0]!r} needs columns, and the data have sequences only; leave such "
                "kernels out."
            )
        bound = tuple(spec.beside(d, tuple(names), width) for spec in self.specs)
        called = (
            None
            if self.feature_names is None
            else (*self.feature_names, *("",) * (width * len(names)))
        )
        return KernelDictionary(bound, self.standardize, called)

    def _check_names(self, n_features: int) -> None:
        if self.feature_names is not None and n_features != len(self.feature_names):
            raise KernelError(
                f"The dictionary names {len(self.feature_names)} columns, X has "
                f"{n_features}. Use dataclasses.replace(dictionary, feature_names=None), "
                "or the names of this table."
            )

    def _repr_html_(self) -> str:
        return kernel_table(f"KernelDictionary({len(self)} kernels)", self.names, self.families)


def _on_unit(unit: Unit, curved: bool) -> tuple[KernelSpec, ...]:
    """The kernels of one thing that a table is made of: equality for a category, else a linear one,
    and an RBF if ``curved``.
    """
    if unit.kind == "category":
        kinds: tuple[KernelSpec, ...] = (Linear(),) if len(unit.columns) == 1 else (Delta(),)
    else:
        kinds = (Linear(), RBF(1.0, relative=True)) if curved else (Linear(),)
    label = None if len(unit.columns) == 1 else unit.name
    return tuple(replace(spec, features=unit.columns, label=label) for spec in kinds)


def _as_sets(data: Dataset, sets: Iterable[Sequence[str]]) -> Iterator[list[Unit]]:
    """The source columns that are named, as units; ParameterError for what is no set of columns of
    the table.
    """
    plain = (
        units(replace(data, sequences=(), texts=()), len(data.columns)) if data.n_features else ()
    )
    known = {unit.name: unit for unit in plain}
    met = set()
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
        if frozenset(members) not in met:
            met.add(frozenset(members))
            yield [known[name] for name in members]


def _as_pair(group: Any) -> tuple[str | None, Any]:
    named = isinstance(group, Sequence) and len(group) == 2 and isinstance(group[0], str)
    return (group[0], group[1]) if named else (None, group)


# -- dictionaries of sequences and spectra


def as_dictionary(kernels: Any) -> KernelDictionary:
    """A dictionary, or the dictionary of a list of kernels.

    ParameterError, by name, for anything else.
    """
    if isinstance(kernels, KernelDictionary):
        return kernels
    if (
        isinstance(kernels, list | tuple)
        and kernels
        and all(isinstance(one, KernelSpec) for one in kernels)
    ):
        return KernelDictionary(tuple(kernels))
    held = [type(one).__name__ for one in kernels] if isinstance(kernels, list | tuple) else []
    what = f"a {type(kernels).__name__}{f' of {joined(dict.fromkeys(held))}' if held else ''}"
    raise ParameterError(
        'kernels must be None, a KernelDictionary, a list of kernels such as [RBF(1.0), Linear()], or "precomputed"; '
        f"got {what}."
    )


@dataclass(frozen=True)
class SequenceDictionary(KernelDictionary):
    """Kernels on strings: `Spectrum`, `WeightedDegree`, or your own `SequenceKernel`.

    ``grams`` takes a list of strings, one per row, or a ``Dataset`` with sequences. ParameterError
    for kernels on columns.

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
        """Kernels for every sequence, given how many letters its strings have: spectra, and
        weighted degrees for one length.

        ``sizes``: for every sequence the lengths of its strings, in any order.
        """
        specs: list[KernelSpec] = []
        for s, own in enumerate(sizes):
            shortest = int(min(own))
            longest = int(max(own))
            specs += [Spectrum(k, s) for k in WORDS if k <= longest]
            if shortest == longest:
                specs += [
                    WeightedDegree(d, S, s) for d, S in DEGREES if not S or S < longest <= SHIFTED
                ]
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
        """Gram matrices of every kernel on strings, one per row, or on the sequences of a
        ``Dataset``.

        ``cross`` of the stack takes new strings. normalise "spherical" makes every string as alike
        to itself as any other, whatever its length. KernelError where strings of one length are
        needed; DataError for what are no strings.
        """
        if isinstance(X, Dataset):
            return super().grams(X, normalise, center, memory_limit_mb, sample_weight)
        table = letters([as_strings(X)])
        bound = KernelDictionary(
            tuple(spec.beside(0, ("",), table.shape[1]) for spec in self.specs)
        )
        return bound.grams(table, normalise, center, memory_limit_mb, sample_weight)


# -- what a table is made of


class Unit(NamedTuple):
    """One thing that kernels may see, and its columns: "column", "category", "group", "band",
    "cluster", "sequence" or "text".

    Columns of a sequence are what was made of it and its letters, as ``Dataset.table`` has them.
    """

    name: str
    columns: tuple[int, ...]
    kind: str


def units(data: Dataset, most_columns: int = MOST_COLUMNS) -> tuple[Unit, ...]:
    """The units of a table, see ``_numeric``, and its sequences and texts, each with what was
    counted in it.
    """
    if not data.strings:
        return _numeric(data, most_columns)
    names = [name for name, _ in data.strings]
    own = dict(data.columns)
    counted = {j for name in names for j in own.get(name, ())}
    rest = [j for j in range(data.n_features) if j not in counted]
    found: tuple[Unit, ...] = ()
    if rest:
        found = _within(data, rest, lambda part: _numeric(part, most_columns))
    kinds = ["sequence"] * len(data.sequences) + ["text"] * len(data.texts)
    letters = ((*own.get(name, ()), *data.letter_columns(name)) for name in names)
    return found + tuple(map(Unit, names, letters, kinds))


def _numeric(data: Dataset, most_columns: int) -> tuple[Unit, ...]:
    """The units of a table: its source columns up to ``most_columns`` of them, else groups, bands
    or clusters.

    Groups where the table has them; equal bands of the columns whose names are wavelengths or
    times, where most are, and the units of what stands beside them; else at most ``MOST_UNITS``
    clusters of columns that are correlated, called by their first column.
    """
    if len(data.columns) <= most_columns:
        return tuple(Unit(name, members, _kind(data, members)) for name, members in data.columns)
    if data.groups:
        return tuple(Unit(name, members, "group") for name, members in data.groups)
    if measured := measured_columns(data):
        bands = _within(data, sorted(measured), _bands)
        rest = [j for j in range(data.n_features) if j not in set(measured)]
        return bands + (
            _within(data, rest, lambda part: _numeric(part, most_columns)) if rest else ()
        )
    return _clusters(data)


def _within(
    data: Dataset, columns: Sequence[int], found: Callable[[Dataset], tuple[Unit, ...]]
) -> tuple[Unit, ...]:
    """The units that are found in a part of the columns, by their places in the whole table."""
    part = replace(data.select(columns), sequences=(), texts=())
    return tuple(
        unit._replace(columns=tuple(columns[j] for j in unit.columns)) for unit in found(part)
    )


def _bands(data: Dataset) -> tuple[Unit, ...]:
    count = min(MOST_UNITS, int(np.unique(wavelengths(data)).size))
    return tuple(Unit(name, members, "band") for name, members in with_bands(data, count).groups)


def _kind(data: Dataset, members: tuple[int, ...]) -> str:
    """A column of 0 and 1 is a category; so are several that came from one column of the table."""
    values = data.X[:, list(members)]
    return "category" if bool(np.isin(values, (0.0, 1.0)).all()) else "column"


def _clusters(data: Dataset) -> tuple[Unit, ...]:
    """Source columns by average linkage on 1 - |correlation|, so that what carries the same is one
    unit.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # not at start-up
    from scipy.spatial.distance import squareform  # not at start-up

    step = max(1, data.n_samples // ROWS)
    first = np.column_stack([data.X[::step, members[0]] for _, members in data.columns])
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant column goes with none
        alike = np.abs(np.nan_to_num(np.corrcoef(first, rowvar=False)))
    tree = linkage(squareform(np.clip(1.0 - alike, 0.0, None), checks=False), "average")
    home = fcluster(tree, ALIKE, "distance")
    if home.max() > MOST_UNITS:
        home = fcluster(tree, MOST_UNITS, "maxclust")
    found = []
    for label in dict.fromkeys(home.tolist()):
        places = np.flatnonzero(home == label)
        names = [data.columns[k][0] for k in places]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        found.append(
            Unit(
                f"{names[0]}{more}", tuple(j for k in places for j in data.columns[k][1]), "cluster"
            )
        )
    return tuple(found)
