"""Where or what: kernels that read letters at their places against one that counts words anywhere.

Strings of DNA with one planted word. Six kernels compare letters place by place, each within its own band of places; a
seventh counts words wherever they stand. The word's place varies more and more, and sparse lp-norm MKL tells which
kernels it uses.

Source: Kloft, Brefeld, Sonnenburg and Zien (2011), section 6.2, whose kernels on DNA are of both kinds; Sonnenburg,
Rätsch and Rieck (2007) for weighted degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.synthetic import make_sequences
from mklcore.errors import suppress_convergence_warnings
from mklcore.figures.style import number
from mklcore.kernels.dictionary import SequenceDictionary
from mklcore.kernels.grams import GramStack
from mklcore.kernels.sequences import SequenceKernel, Spectrum, WeightedDegree
from mklcore.lessons.base import Lesson, Tick, silent
from mklcore.paths.path import fit_path

N_ROWS, LENGTH, N_BANDS, WORD_LENGTH = 240, 60, 6, 4
WORD, PLACE = "TATAAT", 23  # inside the third band; places count from 0
JITTERS = (0, 1, 2, 3, 4, 8, 16)
COSTS = 10.0 ** np.linspace(-1.0, 1.0, 5)
BAND = LENGTH // N_BANDS
SURE = 0.8  # share of the weight with which one kind of kernel has it


@dataclass(frozen=True, eq=False)
class Letters:
    """At every jitter (L,): ``shares`` (L, 7) of the weight, the six bands and the words last; accuracies in % on
    validation rows of all kernels together, of the bands alone and of the words alone, each with its own best cost.
    """

    jitters: tuple[int, ...]
    shares: Array
    both: Array
    places_only: Array
    words_only: Array

    @property
    def words_share(self) -> Array:
        """Share of the weight that is on the count of words, (L,)."""
        share: Array = self.shares[:, -1]
        return share

    @property
    def answer(self) -> str:
        """Who has the weight where the place varies most."""
        last = float(self.words_share[-1])
        if last >= SURE:
            return "words"
        return "band" if float(self.shares[-1].max()) > 0.5 else "bands" if last < 1 - SURE else "even"

    @property
    def facts(self) -> dict[str, str]:
        """Figures for the text."""
        own = int(np.argmax(self.shares[0]))
        turns = next((j for j, s in zip(self.jitters, self.words_share, strict=True) if s > 0.5), self.jitters[-1])
        return {
            "first_band": number(100 * self.shares[0, own]),
            "band_number": str(own + 1),
            "first_words": number(100 * self.words_share[0]),
            "last_words": number(100 * self.words_share[-1]),
            "turns": str(turns),
            "last": str(self.jitters[-1]),
            "first_both": number(self.both[0]),
            "last_both": number(self.both[-1]),
            "first_words_only": number(self.words_only[0]),
            "first_places_only": number(self.places_only[0]),
            "last_words_only": number(self.words_only[-1]),
            "last_places_only": number(self.places_only[-1]),
        }


def letters(tick: Tick = silent, seed: int = 0) -> Letters:
    """Solve along the cost at every jitter, with all kernels and with either kind alone."""
    tick(0, len(JITTERS))
    rows = []
    for k, jitter in enumerate(JITTERS):
        rows.append(_at(jitter, seed))
        tick(k + 1, len(JITTERS))
    shares, both, places, words = (np.array(column) for column in zip(*rows, strict=True))
    return Letters(JITTERS, shares, 100 * both, 100 * places, 100 * words)


def _at(jitter: int, seed: int) -> tuple[Array, float, float, float]:
    """Shares of the weight at the best cost, and validation accuracies of both kinds, of places and of words."""
    from mklcore.estimators.lp import LpMKLClassifier

    data = make_sequences(N_ROWS, LENGTH, [(WORD, PLACE)], seed, jitter=jitter)[0]
    train, check = data.split(0.5, seed)
    stacks = [SequenceDictionary((spec,)).grams(_cut(train, *places)) for spec, *places in _cuts()]
    blocks = np.concatenate(
        [stack.cross(_cut(check, *places)) for stack, (_, *places) in zip(stacks, _cuts(), strict=True)]
    )
    values = np.concatenate([stack.values for stack in stacks])
    paths = []
    for kept in (slice(None), slice(0, N_BANDS), slice(N_BANDS, None)):
        stack = GramStack.from_array(values[kept], [f"kernel {m + 1}" for m in range(len(values[kept]))])
        with suppress_convergence_warnings():
            paths.append(fit_path(LpMKLClassifier(p=1.0), stack, train.y, "C", COSTS, blocks[kept], check.y))
    weights = paths[0].weights[paths[0].first_look]
    both, places, words = (float(path.val_score[path.first_look]) for path in paths)
    return weights / weights.sum(), both, places, words


def _cuts() -> list[tuple[SequenceKernel, int, int]]:
    """The kernels, each with the places it reads: one per band, then words anywhere."""
    bands = [(WeightedDegree(WORD_LENGTH), b * BAND, (b + 1) * BAND) for b in range(N_BANDS)]
    return [*bands, (Spectrum(WORD_LENGTH), 0, LENGTH)]


def _cut(data: Dataset, first: int, end: int) -> list[str]:
    return [text[first:end] for text in data.sequences[0][1]]


LETTERS = Lesson(
    "letters",
    len(JITTERS),
    letters,
    {
        "bands": str(N_BANDS),
        "length": str(LENGTH),
        "band": str(BAND),
        "word": WORD,
        "word_length": str(WORD_LENGTH),
        "rows": str(N_ROWS // 2),
        "most": str(JITTERS[-1]),
    },
    ("band", "bands", "words", "even"),
)
