"""The one table every other package works on, and the ways to cut it.

A `Dataset` is frozen: its arrays are read-only, and its `fingerprint` (sha256 of the features, the
target, the names, the groups and the task) identifies it in caches, jobs and links. What reading
changed is stated in `notes`.
"""

from __future__ import annotations

import hashlib
import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mklcore._lazy import cached_property
from mklcore.arrays import Array, Cells, Columns, Indices, Labels, Names, distinct_rows
from mklcore.data import sequences as strings_of
from mklcore.data import splitting
from mklcore.data.sequences import Sequences
from mklcore.errors import DataError

if TYPE_CHECKING:
    from mklcore.data.reading import TableEncoder

TASKS = ("binary", "multiclass", "regression", "novelty")
LARGEST_VALUE = 1e100  # squared distances between larger values overflow
Groups = tuple[tuple[str, Columns], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features X (n, d) and a target y (n,) for one learning task.

    ``table`` is X with the letters of its sequences and texts beside it, which kernels on these
    compare. Two data sets with one fingerprint are equal and hash alike.

    Raises DataError for shapes that disagree, values that are not finite, missing targets, fewer
    than two classes, and names that are doubled or do not fit.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of the table; finite numbers, kept as float64, C-contiguous and read-only. No column
        where there are only sequences or texts.
    y : array-like of shape (n,)
        Target: float64 for a regression; for classes the labels, int64 or str; for "novelty" it may
        be all ones.
    feature_names : tuple of str or None
        Names of the columns.
    target_name : str, default "y"
        Name of the target.
    task : str, default "regression"
        "binary", "multiclass", "regression" or "novelty"; None where it is to be found out.
    class_names : tuple of str
        Names of the classes in sorted order, found in y unless given; a part of a larger table
        keeps those of the whole.
    groups : sequence of (str, indices) pairs
        Families of columns.
    notes : tuple of str
        What was noticed while it was made, as sentences.
    columns : sequence of (str, indices) pairs
        Columns of the table as a person knows them: the 0/1 columns of a category are one. One per
        feature unless given.
    sequences : sequence of (str, strings) pairs
        Strings of every sequence column, one per row, DNA or any other.
    width : int, default 0
        Number of letters that strings have room for; at least that of the longest string.
    texts : sequence of (str, texts) pairs
        Free texts of every text column, one per row, "" where there is none.
    row_groups : array-like of shape (n,) or None
        Owner of every row, such as a patient: `split`, `drawn` and all folds keep the rows of one
        owner together.
    sample_weight : array-like of shape (n,) or None
        How much every row counts: finite, at least 0, not all 0.
    encoder : TableEncoder or None
        What made the features from the columns of a file or data frame, and makes those of new
        rows.
    """

    X: Array
    y: Labels
    feature_names: Names = ()
    target_name: str = "y"
    task: str = "regression"
    class_names: Names = ()
    groups: Groups = ()
    notes: Names = ()
    columns: Groups = ()
    sequences: Sequences = ()
    width: int = 0
    texts: Sequences = ()
    row_groups: Labels | None = None
    sample_weight: Array | None = None
    encoder: TableEncoder | None = None
    fingerprint: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise DataError(f"The task is {self.task!r}; expected one of {', '.join(TASKS)}.")
        X = _checked_features(self.X, self.feature_names, may_be_none=bool(self.strings))
        n_rows, n_features = X.shape
        names = tuple(map(str, self.feature_names)) or tuple(f"x{j}" for j in range(n_features))
        check_distinct("features", names)
        y = _checked_target(self.y, n_rows, self.task)
        sequences, texts = strings_of.checked(self.sequences, n_rows, self.texts)
        check_distinct("sequences or texts", [name for name, _ in (*sequences, *texts)])
        widths = [int(self.width), *map(strings_of.numbers_of, dict(texts).values())]
        widths += map(len, chain.from_iterable(dict(sequences).values()))
        self.__dict__.update(
            X=X,
            y=y,
            feature_names=names,
            target_name=str(self.target_name),
            class_names=_checked_classes(y, self.class_names, self.task),
            groups=_checked_groups(self.groups, n_features),
            notes=tuple(note if isinstance(note, str) else str(note) for note in self.notes),
            columns=_checked_columns(self.columns, names),
            row_groups=_checked_owners(self.row_groups, n_rows),
            sample_weight=_checked_weights(self.sample_weight, n_rows),
            sequences=sequences,
            texts=texts,
            width=max(widths),
        )
        self.__dict__["fingerprint"] = _fingerprint(self)

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def strings(self) -> Sequences:
        """Sequences, then texts: what follows X in ``table``."""
        return (*self.sequences, *self.texts)

    @cached_property
    def table(self) -> Array:
        """The rows for kernels: X and the letters of sequences and texts (n, d + W S)."""
        return self.with_letters()

    def with_letters(self, width: int = 0) -> Array:
        """``table`` with room for strings of at least ``width`` letters; read-only."""
        if not self.strings:
            return self.X
        sequences = list(dict(self.sequences).values())
        texts = list(dict(self.texts).values())
        letters = strings_of.letters(sequences, max(self.width, width), texts)
        table = np.hstack([self.X, letters])
        _freeze(table)
        return table

    def letter_columns(self, name: str) -> Columns:
        """The columns of ``table`` with the letters of a sequence or text, else ()."""
        names = list(dict(self.strings))
        if name not in names:
            return ()
        first = self.n_features + names.index(name)
        return tuple(range(first, self.table.shape[1], len(names)))

    @property
    def log_of(self) -> str:
        """The column whose logarithm is the target; "" where the target is no logarithm."""
        encoder = self.encoder
        return encoder.target_name if encoder is not None and encoder.log_target else ""

    @property
    def source_names(self) -> Names:
        """The source column of every feature (d,), by name."""
        home = [""] * self.n_features
        for name, members in self.columns:
            for j in members:
                home[j] = name
        return tuple(home)

    def __eq__(self, other: object) -> bool:
        return (
            self.fingerprint == other.fingerprint if isinstance(other, Dataset) else NotImplemented
        )

    def __hash__(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.pop("table", None)
        _freeze(self.X, self.y)  # numpy forgets the read-only flag on its way through pickle

    def __repr__(self) -> str:
        shape = f"{self.n_samples} x {self.n_features}"
        return (
            f"Dataset({shape}, {self.task}, target={self.target_name!r}, "
            f"fingerprint={self.fingerprint[:8]})"
        )

    def _repr_html_(self) -> str:
        """A heading, the first five rows of at most eight columns, and the notes."""
        from pandas import DataFrame  # not at start-up

        first = DataFrame(self.X[:5, :8], columns=self.feature_names[:8])
        first.insert(first.shape[1], self.target_name, self.y[:5], allow_duplicates=True)
        table = first.to_html(index=False, border=0, float_format="{:.4g}".format)
        size = f"{counted(self.n_samples, 'row')}, {counted(self.n_features, 'feature')}"
        classes = f": {', '.join(self.class_names[:10])}" if self.class_names else ""
        hidden = self.n_features - 8
        more = f"<p>{hidden} more features are not shown.</p>" if hidden > 0 else ""
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<div><strong>Dataset</strong> {size}, {self.task}{html.escape(classes)} "
            f"<code>{self.fingerprint[:8]}</code>{table}{more}<ul>{notes}</ul></div>"
        )

    def check_target(self, target: str | None) -> None:
        """DataError unless ``target`` is what this table predicts, or None."""
        if target not in (None, self.target_name):
            raise DataError(
                f"The Dataset predicts {self.target_name!r}; to predict {target!r}, name it where "
                f"the table is read: read_table(source, {target!r})."
            )

    def take(self, rows: Sequence[int] | Cells) -> Dataset:
        """The given rows, in the given order; the class names of the whole table stay."""
        places = np.arange(self.n_samples)[rows]
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            sequences=_rows_of(self.sequences, places),
            texts=_rows_of(self.texts, places),
            row_groups=None if self.row_groups is None else self.row_groups[rows],
            sample_weight=None if self.sample_weight is None else self.sample_weight[rows],
        )

    def select(self, features: Iterable[int | str]) -> Dataset:
        """The given columns, by index or by name, in the given order.

        Groups keep the columns that stay, and are left out where they become empty.
        """
        columns = [self._column(feature) for feature in features]
        if not columns and not self.strings:
            raise DataError("No feature is selected; keep at least one.")
        names = tuple(self.feature_names[j] for j in columns)
        place = {column: new for new, column in enumerate(columns)}
        return replace(
            self,
            X=self.X[:, columns],
            feature_names=names,
            groups=_moved(self.groups, place),
            columns=_moved(self.columns, place),
            encoder=None if self.encoder is None else self.encoder.select(names),
        )

    def drop(self, features: Iterable[int | str]) -> Dataset:
        """Every column but the given ones, which are indices or names."""
        dropped = {self._column(feature) for feature in features}
        return self.select(j for j in range(self.n_features) if j not in dropped)

    def with_row_groups(self, owners: Any) -> Dataset:
        """The same table with an owner for every row.

        ``owners`` (n,), or the name of a column that holds them, which then is no feature any more.
        """
        if not isinstance(owners, str):
            return replace(self, row_groups=owners)
        known = dict(self.columns)
        if owners not in known:
            raise DataError(f"There is no column {owners!r}; the first ones are {listed(known)}.")
        codes = distinct_rows(self.X[:, known[owners]])[1]
        return replace(self.drop(known[owners]), row_groups=codes)

    def with_sample_weight(self, weights: Any) -> Dataset:
        """The same table with a weight for every row.

        ``weights`` (n,), or the name of a column of numbers, which then is no feature any more.
        """
        if not isinstance(weights, str):
            return replace(self, sample_weight=weights)
        place = self._column(weights)
        return replace(self.drop([place]), sample_weight=self.X[:, place])

    def split(
        self, test_size: float = 0.3, seed: int = 0, hold_out: str = splitting.RANDOM
    ) -> tuple[Dataset, Dataset]:
        """Training and test part.

        `test_size` is a share of the rows in (0, 1) or a number of rows; ``hold_out`` is as in
        `three_way_split`. Classification is stratified. A class with one row stays in training, and
        a note of both parts says so. Rows of one of ``row_groups`` stay together, so that sizes are
        met as nearly as possible. Raises DataError where training would have fewer rows than
        classes.
        """
        train, test = _cut(self, (test_size,), seed, hold_out=hold_out)
        return train, test

    def drawn(self, count: int, seed: int = 0) -> Dataset:
        """``count`` of the rows at random, or all where there are no more.

        Every class has its share and at least one row, even if there are more than ``count``
        classes. Of ``row_groups`` whole ones are drawn, as many as have room.
        """
        if self.n_samples <= count:
            return self
        codes = _strata(self)
        return self.take(splitting.draw_rows(codes, self.n_samples, count, seed, self.row_groups))

    def _column(self, feature: int | str) -> int:
        if isinstance(feature, str):
            if feature not in self.feature_names:
                raise DataError(
                    f"There is no feature {feature!r}; the first ones are "
                    f"{listed(self.feature_names)}."
                )
            return self.feature_names.index(feature)
        if not 0 <= feature < self.n_features:
            raise DataError(
                f"There is no feature number {feature}; expected 0 to {self.n_features - 1}."
            )
        return int(feature)


class Split(NamedTuple):
    """The three parts of one table."""

    train: Dataset
    validation: Dataset
    test: Dataset


def three_way_split(
    data: Dataset,
    validation: float = 0.2,
    test: float = 0.2,
    seed: int = 0,
    stratify: bool = True,
    hold_out: str = splitting.RANDOM,
) -> Split:
    """Training, validation and test part, drawn without overlap.

    Sizes are shares of ALL rows, or numbers of rows. Classification is stratified unless
    ``stratify`` is False: then rows are drawn blindly. Training has rows of every class. Rows of
    one of ``row_groups`` stay together. A class with fewer than three rows stays in training, and a
    note of every part says so. Raises DataError where training would have fewer rows than classes.

    ``hold_out`` is "random"; or "last" where rows are in the order of time: the last rows are the
    test part, those before them the validation part, and only a row of a class that training lacks
    changes its place; or "first" where the newest rows come first.
    """
    train, held_out, tested = _cut(data, (validation, test), seed, stratify, hold_out)
    return Split(train, held_out, tested)


def listed(names: Iterable[object], most: int = 6) -> str:
    """'a', 'b' and 3 more: names in quotes, shortened for a sentence."""
    return joined((f"'{name}'" for name in names), most)


def joined(words: Iterable[str], most: int = 6) -> str:
    """a, b and 3 more."""
    every = list(words)
    more = len(every) - most
    return ", ".join(every) if more <= 0 else f"{', '.join(every[:most])} and {more} more"


def counted(number: int, noun: str) -> str:
    """1 row, 2 rows, 3 classes."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def _freeze(*arrays: Labels) -> None:
    for array in arrays:
        array.flags.writeable = False


def check_distinct(what: str, names: Sequence[str]) -> None:
    """DataError where two of these have one name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"Two {what} have the same name ({listed(repeated)}); rename one.")


def _checked_features(values: Any, names: Sequence[str], may_be_none: bool) -> Array:
    if np.iscomplexobj(values):
        raise DataError("The features hold complex numbers; expected real ones.")
    try:
        X = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The features are not a table of numbers ({error}); use read_table for mixed ones."
        ) from error
    if X.ndim != 2 or 0 in X.shape[: 1 if may_be_none else 2]:
        raise DataError(
            f"The features have shape {X.shape}; expected (rows, columns) with at least "
            "one of each."
        )
    if len(names) not in (0, X.shape[1]):
        raise DataError(
            f"There are {counted(len(names), 'feature name')} for {counted(X.shape[1], 'column')}."
        )
    bad = np.argwhere(~(np.abs(X) <= LARGEST_VALUE))
    if len(bad):
        row, column = bad[0]
        name = names[column] if names else f"x{column}"
        raise DataError(
            f"{counted(len(bad), 'feature value')} cannot be used, the first in row "
            f"{row + 1} of {name!r}: {X[row, column]}; expected finite numbers up to "
            f"{LARGEST_VALUE:g}. Fill, rescale or drop them."
        )
    _freeze(X)
    return X


def _checked_target(values: Any, n_rows: int, task: str) -> Labels:
    import pandas as pd  # not at start-up

    y = np.asarray(values)
    if y.shape != (n_rows,):
        raise DataError(f"The target has shape {y.shape}; expected one value per row, ({n_rows},).")
    missing = np.asarray(pd.isna(y))
    if missing.any():
        rows = joined((str(row + 1) for row in np.flatnonzero(missing)), most=5)
        raise DataError(
            f"The target is missing (NaN) in {counted(int(missing.sum()), 'row')}: {rows}. "
            "Drop them."
        )
    y = _as_numbers(y) if task == "regression" else _as_labels(y)
    _freeze(y)
    return y


def _as_numbers(y: Labels) -> Array:
    try:
        numbers = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"A regression target must hold numbers ({error}); set the task to a classification."
        ) from None
    if not np.abs(numbers).max() <= LARGEST_VALUE:
        raise DataError(
            f"The target holds values that are infinite or beyond {LARGEST_VALUE:g}; drop "
            "or rescale them."
        )
    return numbers


def _as_labels(y: Labels) -> Labels:
    """int64 where every label is a whole number, else strings."""
    if y.dtype.kind == "f":
        whole = np.isfinite(y).all() and (y == np.round(y)).all()
        if not whole or np.abs(y).max() > 2**53:
            raise DataError(
                "Class labels must be whole numbers or texts; for measured values use "
                "task 'regression'."
            )
        return y.astype(np.int64)
    found = np.array(y.tolist())  # the numbers in an array of objects
    if found.dtype.kind in "bi":
        return found.astype(np.int64)
    return np.array(list(map(str, y.tolist())), dtype=object)


def _checked_classes(y: Labels, given: Sequence[str], task: str) -> Names:
    names = tuple(map(str, given))
    if task == "regression":
        if names:
            raise DataError("A regression target has no classes; leave class_names empty.")
        return ()
    found = tuple(map(str, np.unique(y)))
    names = names or found
    if strange := [label for label in found if label not in names]:
        raise DataError(
            f"The target holds {listed(strange)}, not among the class names {listed(names)}."
        )
    if task != "novelty" and len(names) < 2:
        raise DataError(
            f"The target holds one class only ({names[0]!r}); a classifier needs at least two."
        )
    if task == "binary" and len(names) != 2:
        raise DataError(
            f"The target has {len(names)} classes ({listed(names)}); a binary task has "
            "two: 'multiclass'?"
        )
    return names


def _checked_groups(groups: Iterable[tuple[str, Iterable[int]]], n_features: int) -> Groups:
    settled = tuple((str(name), tuple(map(int, members))) for name, members in groups)
    check_distinct("groups", [name for name, _ in settled])
    for name, members in settled:
        different = set(members)
        if not members or len(different) < len(members) or not different <= set(range(n_features)):
            raise DataError(
                f"Group {name!r} is not a set of columns; expected different indices from "
                f"0 to {n_features - 1}."
            )
    return settled


def _checked_columns(columns: Iterable[tuple[str, Iterable[int]]], names: Names) -> Groups:
    """The source columns: one per feature unless given; given ones hold every feature once."""
    settled = _checked_groups(columns, len(names))
    held = sorted(chain.from_iterable(members for _, members in settled))
    if settled and held != list(range(len(names))):
        raise DataError(
            f"The source columns hold {counted(len(held), 'feature')}, the table has {len(names)}; "
            "every feature belongs to exactly one source column."
        )
    return settled or tuple((name, (j,)) for j, name in enumerate(names))


def _one_per_row(name: str, given: Any, n_rows: int, noun: str) -> Labels:
    """A read-only array of values (n_rows,); DataError for another shape."""
    values = np.array(given)
    if values.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {values.shape}; expected one {noun} per row, ({n_rows},)."
        )
    _freeze(values)
    return values


def _checked_owners(given: Any, n_rows: int) -> Labels | None:
    return None if given is None else _one_per_row("row_groups", given, n_rows, "owner")


def _checked_weights(given: Any, n_rows: int) -> Array | None:
    """The weight of every row, as numbers."""
    if given is None:
        return None
    weights = _one_per_row("sample_weight", np.array(given, dtype=np.float64), n_rows, "weight")
    usable = np.isfinite(weights).all() and weights.min() >= 0.0
    if not usable or weights.max() == 0.0:
        raise DataError(
            "Weights of rows are finite, at least 0, and not all 0; mend the column, or "
            "leave it out."
        )
    return weights


def _rows_of(strings: Sequences, rows: Cells) -> Sequences:
    """The same rows of every column of strings."""
    return tuple((name, tuple(map(texts.__getitem__, rows))) for name, texts in strings)


def _moved(groups: Groups, place: dict[int, int]) -> Groups:
    """Groups on the columns that stay, at their new positions, without those that become empty."""
    found = []
    for name, members in groups:
        moved = tuple(place[j] for j in members if j in place)
        if moved:
            found.append((name, moved))
    return tuple(found)


def _fingerprint(data: Dataset) -> str:
    words: tuple[object, ...] = (
        data.X.shape,
        data.feature_names,
        data.target_name,
        data.task,
        data.class_names,
        data.groups,
    )
    if any(len(members) > 1 for _, members in data.columns):
        words += (data.columns,)
    if data.sequences:
        words += (data.sequences,)
    if data.texts:
        words += ("texts", data.texts)
    digest = hashlib.sha256(repr(words).encode())
    digest.update(data.X.tobytes())
    digest.update(repr((data.y.dtype.kind, data.y.tolist())).encode())
    for name in ("row_groups", "sample_weight"):
        if (held := getattr(data, name)) is not None:
            digest.update(repr((name, held.tolist())).encode())
    return digest.hexdigest()


def _strata(data: Dataset) -> Indices | None:
    """Class numbers to stratify by, or None where there are none."""
    if data.task == "regression":
        return None
    codes = splitting.codes_of(data.y)
    return codes if codes.max() else None


def _cut(
    data: Dataset,
    sizes: tuple[float, ...],
    seed: int,
    stratify: bool = True,
    hold_out: str = splitting.RANDOM,
) -> list[Dataset]:
    """The training part and one part per size; a note names classes that are too rare."""
    codes = _strata(data)
    rows = splitting.split_rows(
        codes, data.n_samples, sizes, seed, stratify, hold_out, data.row_groups
    )
    note = "" if codes is None else splitting.rare_note(data.y, len(sizes) + 1)
    if note and note not in data.notes:
        data = replace(data, notes=(*data.notes, note))
    return [data.take(part) for part in rows]


def count_rows(X: Any) -> int:
    """How many rows kernels, a data set, a stack (M, n, n) or a table have."""
    known = getattr(X, "n_samples", None)
    if known is not None:
        return int(known)
    return int(np.shape(X)[-2 if np.ndim(X) == 3 else 0])


def row_fingerprints(rows: Array) -> Array:
    """64 bits of the SHA-256 of every row (n, d): the rows of a model, in their order."""
    # Adding zero turns -0.0 into 0.0.
    plain = np.asarray(rows, dtype="<f8") + 0.0
    digests = [hashlib.sha256(row.tobytes()).digest()[:8] for row in plain]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
