"""Kernels on sequences and texts: the similarity of two strings by the words that they share.

Words may count wherever they are, or only at the same place. Strings come as letters (see
`data.sequences`): one column per position, 0 behind the end. A resolved kernel holds the columns of
its sequence, every S-th one where rows have S sequences, so that rows of longer strings fit as
well.

Sources: Leslie, Eskin and Noble, The spectrum kernel, 2002; Raetsch and Sonnenburg, Accurate splice
site detection, 2004 (weighted degree); Raetsch, Sonnenburg and Schoelkopf, RASE, 2005 (shifts).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy

from mklcore._numba.decorators import jit_entry, jit_helper
from mklcore.arrays import Array, Columns, Names, read_only
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import lengths, unpacked
from mklcore.errors import DataError, KernelError, Repair
from mklcore.kernels.functions import KernelEntry, Medians, RowKernel
from mklcore.parameters import Parameter, check_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_LETTERS = 50  # of a word
MOST_SHIFT = 100
USUAL_K = 3
USUAL_DEGREE = 5
MOST_WORDS = 2000  # of all texts
IN_ROWS = 2  # rows that a word is in, at least


@jit_helper()
def degree_of(x: Array, z: Array, worth: Array, shift: int) -> float:
    """The weighted degree of two strings of one length; worth[r] is the value of r equal letters.

    A word of k letters is shared at i for every k up to the length of the run that starts there. So
    one walk from the end, which knows this length, replaces the sum over k.
    """
    total = 0.0
    longest = worth.size - 1
    for s in range(shift + 1):
        factor = 0.5 / (s + 1)
        ahead = 0
        behind = 0
        for i in range(x.size - s - 1, -1, -1):
            ahead = ahead + 1 if x[i + s] == z[i] else 0
            behind = behind + 1 if x[i] == z[i + s] else 0
            total += factor * (worth[min(ahead, longest)] + worth[min(behind, longest)])
    return total


@jit_entry(loops="The weighted-degree kernel of sequences")
def fill_degree(
    left: Array, right: Array, worth: Array, shift: int, upper: bool, out: Array
) -> None:
    """`degree_of` for every pair of rows, left (a, L) and right (b, L)."""
    for i in range(left.shape[0]):
        for j in range(i if upper else 0, right.shape[0]):
            out[i, j] = degree_of(left[i], right[j], worth, shift)


@dataclass(frozen=True, kw_only=True, repr=False)
class SequenceKernel(RowKernel):
    """A kernel on one sequence of every row, counted from 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, low, high in (*self.limits, ("sequence", 0, 1000)):
            check_whole(f"{type(self).__name__}: {name}", getattr(self, name), low, high)
            self.__dict__[name] = int(getattr(self, name))
        if isinstance(self.features, tuple) and len(self.features) < 2:
            raise KernelError(
                f"{type(self).__name__} reads the letters of a sequence: at least two columns."
            )

    limits: ClassVar[tuple[tuple[str, int, int], ...]]
    reads_strings = True

    @property
    def letters(self) -> Columns:
        return self.features if isinstance(self.features, tuple) else ()

    @property
    def place(self) -> int:
        """The number of the sequence; every subclass ends its fields with it."""
        place: int = getattr(self, "sequence")  # noqa: B009
        return place

    def columns(self, n_features: int) -> Columns:
        if self.features is None:
            raise KernelError(
                f"{self!r} compares strings, and a table of numbers has none. Pass a "
                "Dataset with sequences, or use SequenceDictionary(...).grams(strings)."
            )
        return super().columns(n_features)

    def beside(self, n_features: int, sequences: Sequence[str], width: int) -> Self:
        place = self.place
        if place >= len(sequences):
            raise KernelError(
                f"{self!r} needs sequence number {place}, the data have {len(sequences)}, "
                "counted from 0."
            )
        columns = range(n_features + place, n_features + width * len(sequences), len(sequences))
        return replace(self, features=tuple(columns), label=self.label or sequences[place] or None)

    def read(self, rows: Array) -> Array:
        """The letters (n, W) of the sequence in these rows, however long the strings are."""
        first, second = self.settled[:2]
        return np.ascontiguousarray(rows[:, first :: second - first])

    def name(self, feature_names: Sequence[str] | None = None) -> str:
        return f"{self.title} {self.label}" if self.label else self.title


@dataclass(frozen=True, repr=False)
class Spectrum(SequenceKernel):
    """k(x, z) = sum over words w of k letters of (count of w in x) (count of w in z).

    Strings may have any length; a string shorter than k shares no word with any other. Upper and
    lower case differ.

    Parameters
    ----------
    k : int
        Number of letters of a word, from 1.
    sequence : int, default 0
        Number of the sequence that the kernel sees, from 0.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    k: int
    sequence: int = 0

    family = "spectrum"
    limits = (("k", 1, MOST_LETTERS),)

    @property
    def title(self) -> str:
        return f"spectrum {self.k}"

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        counts = self._counted(left) if left is right else self._counted(left, right)
        out[...] = (counts[: len(left)] @ counts[-len(right) :].T).toarray()

    def own(self, rows: Array) -> Array:
        counts = self._counted(rows)
        return np.asarray(counts.multiply(counts).sum(axis=1)).ravel()

    def _counted(self, *parts: Array) -> Any:
        """The counts of words in rows, sparse (rows, words)."""
        from sklearn.feature_extraction.text import CountVectorizer  # not at start-up

        texts: list[str] = []
        for rows in parts:
            texts += unpacked(self.read(rows))
        try:
            return CountVectorizer(analyzer=self._words, dtype=np.float64).fit_transform(texts)
        except ValueError:  # no string has k letters, and so there is no word
            return scipy.sparse.csr_array((len(texts), 1))

    def _words(self, text: str) -> list[str]:
        """All words of k letters in a text, in their order."""
        starts = range(len(text) - self.k + 1)
        return [text[start : start + self.k] for start in starts]


@dataclass(frozen=True, repr=False)
class WeightedDegree(SequenceKernel):
    """k(x, z) = sum over words of 1 to `degree` letters that x and z have at one place, of b_k.

    b_k = 2 (degree - k + 1) / (degree (degree + 1)) for a word of k letters. With `shift` S a word
    may be s <= S places further in one of the two, which counts d_s = 1 / (2 (s + 1)) each way; the
    kernel is positive definite for every S. Strings have one length.

    Parameters
    ----------
    degree : int
        Degree, from 1.
    shift : int, default 0
        Number of places by which words may be moved, >= 0.
    sequence : int, default 0
        Number of the sequence that the kernel sees, from 0.
    features : tuple of int or None, default None
        Columns that the kernel sees; None for all of them.
    label : str or None, default None
        Name to show in place of the one that is made from the parameters.
    """

    degree: int
    shift: int = 0
    sequence: int = 0

    family = "degree"
    limits = (("degree", 1, MOST_LETTERS), ("shift", 0, MOST_SHIFT))

    @property
    def title(self) -> str:
        return f"weighted degree {self.degree}" + (f" (shift {self.shift})" if self.shift else "")

    @property
    def worth(self) -> Array:
        """The value of a run of 0 .. degree equal letters where it starts: b_1 + ... + b_r."""
        d = self.degree
        weights = 2.0 * (d - np.arange(1, d + 1) + 1) / (d * (d + 1))
        return np.concatenate([[0.0], np.cumsum(weights)])

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        theirs = self._of_one_length(right)
        ours = theirs if left is right else self._of_one_length(left)
        if ours.shape[1] != theirs.shape[1]:
            raise KernelError(
                f"{self.title} compares place by place: strings of {ours.shape[1]} "
                f"letters do not fit those of {theirs.shape[1]} it was built on. Cut or fill "
                "them to one length, or use Spectrum."
            )
        fill_degree(read_only(ours), read_only(theirs), self.worth, self.shift, upper, out)

    def _of_one_length(self, rows: Array) -> Array:
        letters = self.read(rows)
        sizes = lengths(letters)
        if sizes.min() != sizes.max():
            raise KernelError(
                f"{self.title} compares place by place and needs strings of one length; "
                f"here they have {sizes.min():,} to {sizes.max():,} letters. Cut or fill "
                "them to one length, or use Spectrum."
            )
        return np.ascontiguousarray(letters[:, : sizes[0]])


@dataclass(frozen=True, repr=False)
class Words(SequenceKernel):
    """k(x, z) = x'z for the TF-IDF vectors of two texts.

    The words are those of the training rows that are in at least two of them, at most 2,000; other
    words are ignored. The vector of a text has length 1, and that of an empty text is 0.

    Parameters
    ----------
    sequence : int, default 0
        Number of the text among the sequences and texts of the rows, from 0.
    vocabulary : tuple of str, default ()
        The words, found on the training rows unless given.
    rarity : tuple of float, default ()
        What every word is multiplied by.
    features : tuple of int or None, default None
        Columns that hold the text.
    label : str or None, default None
        Name of the text.
    """

    sequence: int = 0
    # Not part of the text of a kernel: both are learned from the training rows.
    vocabulary: Names = field(default=(), repr=False)
    rarity: tuple[float, ...] = field(default=(), repr=False)

    family = "words"
    limits = ()

    title: ClassVar[str] = "words"

    def settle(
        self, rows: Array, weights: Array | None = None, medians: Medians | None = None
    ) -> Self:
        if self.vocabulary:
            return self
        from sklearn.feature_extraction.text import TfidfVectorizer  # not at start-up

        vectorizer = TfidfVectorizer(max_features=MOST_WORDS, min_df=IN_ROWS, sublinear_tf=True)
        try:
            vectorizer.fit(unpacked(self.read(rows)))
        except ValueError:  # an empty vocabulary
            name = self.label or "text"
            raise DataError(
                (
                    f"No word of {name!r} is in {IN_ROWS} of the {len(rows):,} training rows, "
                    "so it cannot tell rows apart: leave it out, or add rows."
                ),
                repairs=[Repair.of(f"Leave {name!r} out", uses=((name, "left out"),))],
            ) from None
        words = tuple(vectorizer.get_feature_names_out().tolist())
        return replace(self, vocabulary=words, rarity=tuple(vectorizer.idf_.tolist()))

    def vectors(self, rows: Array) -> csr_matrix:
        """The words of rows as sparse unit vectors (n, n_words)."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # not at start-up

        vectorizer = TfidfVectorizer(vocabulary=list(self.vocabulary), sublinear_tf=True)
        vectorizer.idf_ = np.array(self.rarity)
        return vectorizer.transform(unpacked(self.read(rows)))

    def between(self, left: Array, right: Array, upper: bool, out: Array) -> None:
        left_vectors = self.vectors(left)
        right_vectors = left_vectors if left is right else self.vectors(right)
        out[...] = (left_vectors @ right_vectors.T).toarray()

    def own(self, rows: Array) -> Array:
        vectors = self.vectors(rows)
        squares = vectors.multiply(vectors)
        return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def on_sequence(
    data: Dataset, sequence: int, k: int = USUAL_K, degree: int = USUAL_DEGREE, shift: int = 0
) -> tuple[SequenceKernel, ...]:
    """The kernels of one sequence: a spectrum of k letters, and a weighted degree.

    The weighted degree is left out where strings have different lengths. 0 leaves out a kernel.
    """
    name, strings = data.sequences[sequence]
    sizes = {len(text) for text in strings}
    specs: list[SequenceKernel] = [Spectrum(k, sequence)] if k else []
    if degree and len(sizes) == 1:
        specs.append(WeightedDegree(degree, shift, sequence))
    return tuple(replace(spec, label=name) for spec in specs)


_K = Parameter(
    "k",
    "Letters of a word k",
    "integer",
    3,
    1,
    8,
    "Longer words: rarer, and more telling where they are shared.",
)
_D = Parameter(
    "degree",
    "Degree",
    "integer",
    5,
    1,
    20,
    "Larger degree: longer words at the same place count as well.",
)
_S = Parameter(
    "shift",
    "Shift",
    "integer",
    0,
    0,
    20,
    "Larger shift: a word may be some places further in one of the two.",
)

SEQUENCE_KERNELS: dict[str, KernelEntry] = {
    entry.key: entry
    for entry in (
        KernelEntry(
            "spectrum",
            "Spectrum",
            Spectrum,
            r"\sum_{w \in A^k} \#_w(x)\,\#_w(z)",
            "Words of k letters that two strings share, wherever they are.",
            (_K,),
        ),
        KernelEntry(
            "degree",
            "Weighted degree",
            WeightedDegree,
            r"\sum_{k=1}^{d} \beta_k \sum_i [x_i \dots x_{i+k-1} = z_i \dots z_{i+k-1}]",
            (
                "Words of up to d letters that two strings have at the same place, or a few "
                "places apart."
            ),
            (_D, _S),
        ),
        KernelEntry(
            "words",
            "Words",
            Words,
            r"\sum_{w} t_w(x)\,t_w(z)",
            "Words that two texts share; rare ones count more.",
        ),
    )
}
