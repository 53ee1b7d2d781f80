"""Dictionaries of kernels on sequences, alone or beside those of a table's columns.

SequenceDictionary([Spectrum(3), WeightedDegree(5)]).grams(strings)
(KernelDictionary.default(d) + SequenceDictionary([Spectrum(3)])).grams(data)      one stack
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import as_strings, letters
from mklcore.errors import ParameterError
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KernelSpec
from mklcore.kernels.grams import GramStack
from mklcore.kernels.sequences import SequenceKernel, Spectrum, WeightedDegree

WORDS = (2, 3, 5)  # letters of the words that are compared where nothing else is asked for
DEGREES = ((3, 0), (8, 0), (8, 5))  # degree and shift
SHIFTED = 400  # letters up to which shifts are tried unasked


@dataclass(frozen=True)
class SequenceDictionary(KernelDictionary):
    """Kernels on strings: `Spectrum`, `WeightedDegree`, or your own `SequenceKernel`.

    ``grams`` takes a list of strings, one per row, or a ``Dataset`` with sequences. ParameterError for kernels on
    columns.

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
                    f"A SequenceDictionary holds kernels on strings such as Spectrum(3), got {spec!r}. Add a "
                    f"KernelDictionary "
                    "of the columns with +."
                )

    @classmethod
    def suggested(cls, sizes: Sequence[Any]) -> Self:
        """Kernels for every sequence, given how many letters its strings have: spectra, and weighted degrees for one
        length.

        ``sizes``: for every sequence the lengths of its strings, in any order.
        """
        specs: list[KernelSpec] = []
        for s, own in enumerate(sizes):
            shortest, longest = int(min(own)), int(max(own))
            specs += [Spectrum(k, s) for k in WORDS if k <= longest]
            if shortest == longest:
                specs += [WeightedDegree(d, S, s) for d, S in DEGREES if not S or S < longest <= SHIFTED]
        return cls(tuple(specs))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SequenceDictionary):
            return replace(self, specs=self.specs + other.specs)
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
        """Gram matrices of every kernel on strings, one per row, or on the sequences of a ``Dataset``.

        ``cross`` of the stack takes new strings. normalise "spherical" makes every string as alike to itself as any
        other, whatever its length. KernelError where strings of one length are needed; DataError for what are no
        strings.
        """
        if isinstance(X, Dataset):
            return super().grams(X, normalise, center, memory_limit_mb, sample_weight)
        table = letters([as_strings(X)])
        bound = KernelDictionary(tuple(spec.beside(0, ("",), table.shape[1]) for spec in self.specs))
        return bound.grams(table, normalise, center, memory_limit_mb, sample_weight)
