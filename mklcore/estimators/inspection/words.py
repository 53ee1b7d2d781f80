"""Which words of a text, and which letters of a sequence at which place, carry what a model says.

Of letters this is the mean decision with a word put there, above the mean,

    Q(w, i) = mean_x f(x with w at place i) - mean_x f(x)

over rows x as they come. Nothing is fitted again, and any kernel on sequences can be asked. Source:
Sonnenburg, Zien, Philips and Raetsch, POIMs: positional oligomer importance matrices, 2008; here
the mean runs over rows instead of random strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import END
from mklcore.errors import ParameterError
from mklcore.estimators.inspection.parts import one_output, specs_of, unblended
from mklcore.estimators.shapley import coefficients_of
from mklcore.kernels.sequences import SequenceKernel, Words

LETTER_ROWS = 30
LETTER_STEPS = 4e8  # letters compared, at one nanosecond or so each
MOST_LETTERS = 24
WORDS = 10  # that are named


class WordEffect(NamedTuple):
    """What a ``word`` adds, on average, to the decisions (T,) of texts that have it, and the share
    of ``rows`` that do.
    """

    word: str
    effect: Array
    rows: float


def strongest_words(model: Any, name: str, most: int = 12) -> tuple[WordEffect, ...]:
    """The words of the text column ``name`` that move the decision most over all rows, the
    strongest first.

    ParameterError where the model reads no such text.
    """
    model = unblended(model)
    found = model._map
    kernels = [
        m for m, spec in enumerate(found.specs) if isinstance(spec, Words) and spec.label == name
    ]
    if not kernels:
        raise ParameterError(f"No kernel of the model reads a text {name!r}.")
    spec = found.specs[kernels[0]]
    vectors = spec.vectors(found.rows)
    slopes = vectors.T @ sum(coefficients_of(model, m) for m in kernels)
    often = np.asarray((vectors > 0).mean(axis=0)).ravel()
    usual = np.asarray(vectors.mean(axis=0)).ravel() / np.maximum(often, 1e-12)
    effect = slopes * usual[:, None]
    moved = often * np.abs(effect).sum(axis=1)
    order = np.argsort(-moved, kind="stable")[:most]
    return tuple(
        WordEffect(spec.vocabulary[j], effect[j], float(often[j]))
        for j in order.tolist()
        if often[j] > 0
    )


class Word(NamedTuple):
    """A word, the place (from 0) of its first letter, and what it adds to the decision there."""

    word: str
    place: int
    effect: float


@dataclass(frozen=True, eq=False)
class Positions:
    """``values`` (A, L): what letter a at place i adds to the decision, over ``rows`` rows;
    ``words``, the strongest first.
    """

    letters: tuple[str, ...]
    values: Array
    words: tuple[Word, ...]
    rows: int

    @property
    def importance(self) -> Array:
        """The largest effect of any letter at every place, (L,)."""
        largest: Array = np.abs(self.values).max(axis=0)
        return largest


def positional_importance(model: Any, data: Dataset, *, sequence: int = 0, k: int = 6) -> Positions:
    """Which letters at which places of a sequence move the decisions of a fitted model, and which
    words of ``k`` letters.

    ``model`` fitted on a ``Dataset`` with sequences, ``data`` rows of the same kind, of which at
    most 30 are drawn; ``sequence`` its number from 0. Of several outputs it is the first. Places
    are counted from 0, as far as the shortest string drawn. ParameterError where no kernel in use
    sees the sequence.

    >>> from mklcore.data.synthetic import make_sequences
    >>> from mklcore.estimators.lp import LpMKLClassifier
    >>> from mklcore.kernels.dictionary import SequenceDictionary
    >>> from mklcore.kernels.sequences import WeightedDegree
    >>> data, truth = make_sequences(120, 30, [("TATAAT", 12)], seed=0, mutation=0.0)
    >>> model = LpMKLClassifier(kernels=SequenceDictionary([WeightedDegree(6)])).fit(data)
    >>> positional_importance(model, data).words[0][:2]
    ('TATAAT', 12)
    """
    model = unblended(model)
    weights = np.atleast_2d(np.asarray(model.weights_, dtype=float)).sum(axis=0)
    own = [
        m
        for m, spec in enumerate(specs_of(model))
        if isinstance(spec, SequenceKernel) and spec.place == sequence and weights[m] > 0
    ]
    if not own:
        raise ParameterError(
            f"No kernel in use sees sequence number {sequence}: its letters do not move "
            "the decisions."
        )
    columns = list(specs_of(model)[own[0]].settled)
    n_letters = model._map.rows.shape[1] - data.n_features
    rows = data.with_letters(n_letters // len(data.sequences))
    lengths = (rows[:, columns] != END).sum(axis=1)
    shortest = int(lengths.min())
    found, counts = np.unique(rows[:, columns], return_counts=True)
    order = np.argsort(-counts[found != END], kind="stable")[:MOST_LETTERS]
    letters = np.sort(found[found != END][order])
    steps = shortest * letters.size * model.n_train_ * len(columns) * len(own)
    most = min(LETTER_ROWS, len(rows))
    drawn = int(np.clip(LETTER_STEPS / max(steps, 1), 2, most))
    chosen = np.random.default_rng(0).choice(len(rows), drawn, replace=False)
    some = rows[np.sort(chosen)]

    def said(word: Any, place: int) -> float:
        """The mean decision with a word put there."""
        moved = some.copy()
        moved[:, columns[place : place + len(word)]] = word
        parts = model.contributions(moved, own).sum(axis=0).reshape(drawn, -1)
        return float(one_output(parts, 0).mean())

    usual = said((), 0)
    k = min(k, shortest)
    values = np.empty((len(letters), shortest))
    for a, i in np.ndindex(values.shape):
        values[a, i] = said((letters[a],), i) - usual
    best = letters[values.argmax(axis=0)]
    words = []
    for i in range(shortest - k + 1):
        word = best[i : i + k]
        text = "".join(map(chr, word.astype(int)))
        words.append(Word(text, i, said(word, i) - usual))
    words.sort(key=lambda one: (-one.effect, one.place))
    return Positions(
        tuple(map(chr, letters.astype(int))),
        values,
        tuple(words[:WORDS]),
        drawn,
    )
