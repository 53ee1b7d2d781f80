"""Columns computed from others: copies, logarithms, squares, and two values that say on which side of a threshold a
number is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mklcore.arrays import Array
from mklcore.data.columns import Profile

ROWS = 256  # looked at first, evenly drawn
ALIKE = 1 - 1e-6  # correlation; numbers are written with some digits only
RANKS_ALIKE = 0.99  # of ranks, so that one huge value does not make two columns alike
CLASSES = 50
LEAST_ROWS = 8  # in fewer, columns are alike by chance
LEAST_SIDE = 5  # rows on each side of a threshold, so that it is none by chance

Transform = Callable[[Array], Array]


@dataclass(frozen=True)
class Relation:
    """What the values of one column have to do with those of others, by their places.

    copies : the same up to a factor and a shift, or the same classes under other names. log_of, square_of : what the
        column
    was computed from. has_log, has_square : what was computed from it. split_by : numbers of which its two values say
    whether they are above a threshold.
    """

    copies: tuple[int, ...] = ()
    log_of: tuple[int, ...] = ()
    square_of: tuple[int, ...] = ()
    has_log: tuple[int, ...] = ()
    has_square: tuple[int, ...] = ()
    split_by: tuple[int, ...] = ()


class Relations:
    """The relations of single columns to all others of a table, found when they are asked for.

    A column costs a few products of a vector with a matrix (256, columns); what looks alike there is compared on all
    rows.
    """

    def __init__(self, profiles: Sequence[Profile]) -> None:
        self._profiles = profiles
        self._found: dict[int, Relation] = {}

    def of(self, place: int) -> Relation:
        """The relations of the column at ``place``."""
        if place not in self._found:
            self._found[place] = self._relation(place)
        return self._found[place]

    def _relation(self, place: int) -> Relation:
        column = self._profiles[place].column
        if column.distinct < 2 or len(self._rows) < LEAST_ROWS:
            return Relation()
        copies = self._same_classes(place) | self._alike(place, _same, _same)
        if column.distinct == 2:
            return Relation(tuple(sorted(copies)), split_by=self._thresholds(place))
        found = (
            self._alike(place, _same, np.log), self._alike(place, _same, np.square),
            self._alike(place, np.log, _same), self._alike(place, np.square, _same),
        )  # fmt: skip
        return Relation(tuple(sorted(copies)), *(tuple(sorted(one - copies)) for one in found))

    # Numbers

    @cached_property
    def _places(self) -> dict[int, int]:
        """The columns of numbers that differ, and their places in the matrix of drawn rows."""
        numeric = [j for j, one in enumerate(self._profiles) if one.numbers is not None and one.column.distinct > 1]
        return {j: k for k, j in enumerate(numeric)}

    @cached_property
    def _rows(self) -> np.ndarray:
        count = len(self._profiles[0].values)
        return np.unique(np.linspace(0, count - 1, min(count, ROWS)).astype(int))

    @cached_property
    def _drawn(self) -> Array:
        """The drawn rows (rows, columns) of the columns of numbers."""
        return np.column_stack([self._numbers(j)[self._rows] for j in self._places])

    def _numbers(self, place: int) -> Array:
        """A column in shares of its largest number, so that squares do not overflow."""
        numbers = self._profiles[place].numbers
        assert numbers is not None
        shares: Array = numbers / np.nanmax(np.abs(numbers))
        return shares

    def _alike(self, place: int, mine: Transform, theirs: Transform) -> set[int]:
        """The columns of numbers whose transform is that of this column up to a factor and a shift."""
        if place not in self._places:
            return set()
        own = self._drawn[:, self._places[place]]
        kept = np.isfinite(own)
        others = self._transformed[theirs] if kept.all() else _standardised(theirs, self._drawn[kept])
        near = np.abs(_standardised(mine, own[kept]) @ others) > ALIKE
        found = [j for j, k in self._places.items() if near[k] and j != place]
        return {j for j in found if _are_alike(self._numbers(place), self._numbers(j), mine, theirs)}

    @cached_property
    def _transformed(self) -> dict[Transform, Array]:
        return {transform: _standardised(transform, self._drawn) for transform in (_same, np.log, np.square)}

    # Classes

    @cached_property
    def _classes(self) -> dict[bytes, list[int]]:
        """The columns of a few values by the classes that they make of the drawn rows."""
        found = defaultdict(list)
        for j, item in enumerate(self._profiles):
            if 2 <= item.column.distinct <= CLASSES:
                found[_codes(item.values[self._rows])].append(j)
        return found

    def _same_classes(self, place: int) -> set[int]:
        """The columns that part the rows into the same classes, under whatever names."""
        item = self._profiles[place]
        if item.column.distinct > CLASSES:
            return set()
        same = self._classes[_codes(item.values[self._rows])]
        if len(same) < 2:
            return set()
        codes = _codes(item.values)
        return {j for j in same if j != place and _codes(self._profiles[j].values) == codes}

    def _thresholds(self, place: int) -> tuple[int, ...]:
        """The columns of numbers of which every one in one class of a pair is below every one in the other."""
        item = self._profiles[place]
        if item.column.missing or not self._places:
            return ()
        values = item.values
        side = values == values[0]
        drawn = side[self._rows]
        if min(drawn.sum(), (~drawn).sum()) < LEAST_SIDE:
            return ()
        apart = _apart(self._drawn, drawn)
        found = [j for j, k in self._places.items() if apart[k] and self._profiles[j].column.distinct > 2]
        return tuple(j for j in found if _apart(self._numbers(j)[:, None], side)[0])


def _same(values: Array) -> Array:
    return values


def _are_alike(a: Array, b: Array, mine: Transform, theirs: Transform) -> bool:
    kept = np.isfinite(a)
    x, y = _standardised(mine, a[kept]), _standardised(theirs, b[kept])
    if abs(float(x @ y)) <= ALIKE:
        return False
    ranks = [_standardised(_same, np.unique(one, return_inverse=True)[1].astype(float)) for one in (x, y)]
    return abs(float(ranks[0] @ ranks[1])) > RANKS_ALIKE


def _standardised(transform: Transform, values: Array) -> Array:
    """Transformed columns with mean 0 and length 1; those with a gap, without spread or without a transform are all
    0.
    """
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        new = transform(values)
        centred = new - new.mean(axis=0)
        length = np.sqrt((centred**2).sum(axis=0))
    good = np.isfinite(length) & (length > 1e-150)
    return np.where(good, centred, 0.0) / np.where(good, length, 1.0)


def _apart(columns: Array, side: np.ndarray) -> np.ndarray:
    """Of which columns (rows, columns) the values on one side are all above those on the other; false where one is
    missing.
    """
    high, low = columns[side], columns[~side]
    with np.errstate(invalid="ignore"):
        found: np.ndarray = (low.max(axis=0) < high.min(axis=0)) | (high.max(axis=0) < low.min(axis=0))
    return found


def _codes(values: np.ndarray) -> bytes:
    """The classes of the rows, counted from 0 in the order in which they first come; a missing one is a class."""
    filled = np.where(np.isnan(values), np.inf, values) if values.dtype.kind == "f" else values
    _, first, codes = np.unique(filled, return_index=True, return_inverse=True)
    order: np.ndarray = np.argsort(np.argsort(first))[codes].astype(np.int16)
    return order.tobytes()
