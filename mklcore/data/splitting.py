"""Splitters draw rows into training, validation and test rows, folds and samples.

All of them share one rule for classes. Rows are drawn class by class, in the shares of the classes.
A class with fewer rows than there are parts is too rare to be held out: all its rows stay in
training. A class with one row is in no fold but in the training rows of all of them. Training rows,
and samples, have at least one row of every class. Where a class is not rare, the rows are those
that scikit-learn's splitters draw with the same seed.

Where rows have owners (``row_groups``: patients, customers, plots), all rows of an owner are in the
same part. An owner who alone has rows of some class stays in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from mklcore.arrays import Indices, Labels, Mask
from mklcore.errors import DataError, ParameterError, Repair
from mklcore.parameters import is_whole_number

RANDOM = "random"
HOLD_OUT = (RANDOM, "last", "first")  # which rows are held out
MOST_NAMED = 6  # rare classes that a note names
# Owners are drawn in so many orders; the one whose shares of classes are closest to those of all
# rows is used.
ORDERS = 20


def codes_of(y: Labels) -> Indices:
    """Class numbers (n,) from 0 of labels (n,), in sorted order."""
    return np.unique(y, return_inverse=True)[1]


def repeated(y: Labels) -> Mask:
    """For every label (n,), whether another row has it as well."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    return counts[place] > 1


def rare_note(y: Labels, parts: int) -> str:
    """A sentence on the classes with fewer rows than ``parts``; "" if there are none."""
    labels, counts = np.unique(y, return_counts=True)
    named = []
    for label, count in zip(labels, counts, strict=True):
        if count < parts:
            named.append(f"'{label}' ({count} {'row' if count == 1 else 'rows'})")
    if not named:
        return ""
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    what = "class" if len(named) == 1 else "classes"
    return (
        f"Too rare to be held out: {what} {', '.join(named[:MOST_NAMED])}{more}; their rows stay "
        "in training, and no score counts them."
    )


def split_rows(
    codes: Indices | None,
    n_rows: int,
    sizes: Sequence[float],
    seed: int,
    stratify: bool = True,
    hold_out: str = RANDOM,
    row_groups: Labels | None = None,
) -> list[Indices]:
    """Row numbers of the training part and of one held-out part per size, in this order.

    The last part is drawn first. ``codes`` (n_rows,) are class numbers, or None without classes.
    ``sizes`` are shares of the rows that can be held out, or numbers of rows. Without ``stratify``
    rows are drawn blindly. ``hold_out`` is as in `three_way_split`. ``row_groups`` (n,) is the
    owner of every row. DataError where training would have fewer rows than classes.
    """
    if hold_out not in HOLD_OUT:
        raise ParameterError(
            f"hold_out must be one of {', '.join(map(repr, HOLD_OUT))}; got {hold_out!r}."
        )
    given = _or_one_class(codes, n_rows)
    if row_groups is not None:
        counts = [_row_count(size, n_rows, n_rows) for size in sizes]
        return _whole_groups(given, codes_of(row_groups), counts, seed, hold_out)
    blind = codes is None or not stratify or hold_out != RANDOM
    rows, aside = _parted(np.arange(n_rows), given, 1 if blind else len(sizes) + 1)
    counts = [_row_count(size, n_rows, len(rows)) for size in sizes]
    n_classes = len(np.unique(given))
    remaining = n_rows - sum(counts)
    if remaining < n_classes or len(rows) <= sum(counts):
        parts = " + ".join(map(str, (remaining, *counts)))
        needed = "one row" if n_classes == 1 else f"one row of each of the {n_classes} classes"
        raise DataError(
            (
                f"{n_rows:,} {'row' if n_rows == 1 else 'rows'} cannot be cut into "
                f"{parts}: the first part, for training, needs at least "
                f"{needed}, "
                "and the others rows of classes that have one for every part. Add rows or "
                "change the shares."
            ),
            repairs=_for_a_split(counts, n_rows, blind),
        )
    if hold_out != RANDOM:
        return _in_order(given, [remaining, *counts], hold_out)
    drawn: list[Indices] = []
    for least, count in zip(range(len(counts) + 1, 1, -1), reversed(counts), strict=True):
        rows, more = _parted(rows, given, 1 if blind else least)
        aside = np.concatenate([aside, more])
        if len(rows) <= count:
            rows = np.concatenate([rows, aside])
            aside = aside[:0]
        rows, part = _two_parts(rows, given, count, seed, blind)
        drawn.insert(0, part)
    training = np.concatenate([rows, aside])
    return _with_every_class(training, drawn, given)


def _or_one_class(codes: Indices | None, n_rows: int) -> Indices:
    """Class numbers (n_rows,), those of a single class where there are none."""
    return np.zeros(n_rows, dtype=np.intp) if codes is None else codes


def _in_order(codes: Indices, counts: Sequence[int], hold_out: str) -> list[Indices]:
    """Parts of the given sizes in the order of the rows, or from the last row backwards."""
    rows = np.arange(sum(counts))
    if hold_out != "last":
        rows = rows[::-1]
    first, *others = np.split(rows, np.cumsum(counts)[:-1])
    return [np.sort(part) for part in _with_every_class(first, others, codes)]


def _whole_groups(
    codes: Indices, owners: Indices, counts: Sequence[int], seed: int, hold_out: str = RANDOM
) -> list[Indices]:
    """A training part and a part of about ``count`` rows for every count, with whole owners."""
    movable = _movable(codes, owners)
    if len(movable) <= len(counts):
        raise DataError(
            f"Rows that belong together have {len(movable)} owners that can be held out, and "
            f"{len(counts) + 1} parts need more than that: name another column, or none."
        )
    sizes = np.bincount(owners)
    shares = np.bincount(codes) / len(codes)
    smallest = 10.0
    best = None
    for order in _orders(movable, owners, seed, hold_out):
        part_of = _parts_of_owners(order, sizes, counts)[owners]
        table = np.zeros((len(counts) + 1, len(shares)))
        np.add.at(table, (part_of, codes), 1.0)
        table /= table.sum(axis=1, keepdims=True)
        distance = np.abs(table - shares).sum()
        if distance < smallest and (table[0] > 0.0).all():
            best = part_of
            smallest = distance
    if best is None:
        raise DataError(
            "Training would lack a class: its rows belong to few owners. Hold out fewer rows."
        )
    return [np.flatnonzero(best == part) for part in range(len(counts) + 1)]


def _orders(movable: Indices, owners: Indices, seed: int, hold_out: str) -> Iterator[Indices]:
    """The orders in which owners are drawn: at random, or the newest first."""
    if hold_out == RANDOM:
        rng = np.random.default_rng(seed)
        for _ in range(ORDERS):
            yield rng.permutation(movable)
        return
    ages = np.arange(len(owners))
    newest = np.empty_like(ages)
    newest[owners if hold_out == "last" else owners[::-1]] = ages  # the last row of an owner stays
    yield movable[np.argsort(-newest[movable])]


def _parts_of_owners(order: Indices, sizes: Indices, counts: Sequence[int]) -> Indices:
    """The part of every owner: those in ``order`` fill the last part first, then those before it.

    An owner is in the part to which the middle one of its rows belongs, but no part stays empty.
    """
    middles = np.cumsum(sizes[order]) - sizes[order] / 2.0
    parts = len(counts) - np.searchsorted(np.cumsum(counts[::-1]), middles, side="right")
    parts[0] = len(counts)
    # Along the order parts fall to 0, by one at most.
    places = np.arange(len(order))
    parts = np.minimum(parts, places[::-1])
    part_of = np.zeros(len(sizes), dtype=np.intp)
    part_of[order] = np.maximum.accumulate(parts + places) - places
    return part_of


def _movable(codes: Indices, owners: Indices) -> Indices:
    """The owners that can be held out: those who are not the only one with rows of some class."""
    pairs = np.unique(np.column_stack([codes, owners]), axis=0)
    alone = np.bincount(pairs[:, 0])[pairs[:, 0]] == 1
    return np.setdiff1d(owners, pairs[alone, 1])


def _for_a_split(counts: Sequence[int], n_rows: int, blind: bool) -> list[Repair]:
    """Fewer held-out rows, rows drawn without regard to classes, or fewer classes."""
    smaller = Repair.of("Hold out fewer rows: 10 % and 10 %", validation=0.1, test=0.1)
    fewer = [smaller] if len(counts) == 2 and sum(counts) > 0.2 * n_rows else []
    if blind:
        return fewer
    strata = Repair.of("Split without strata", stratify=False)
    return [strata, Repair.of("Leave out rare classes", rare_classes="drop"), *fewer]


def draw_rows(
    codes: Indices | None, n_rows: int, count: int, seed: int, row_groups: Labels | None = None
) -> Indices:
    """The numbers of ``count`` rows of ``n_rows``, every class in its share.

    There are more rows where there are more classes than ``count``. Of ``row_groups`` whole ones
    are drawn, with about as many rows, where no owner has too many.
    """
    given = _or_one_class(codes, n_rows)
    count = max(count, len(np.unique(given)))
    if count >= n_rows:
        return np.arange(n_rows)
    if row_groups is not None:
        owners = codes_of(row_groups)
        are_small = np.bincount(owners).max() <= count // 2
        if are_small and len(_movable(given, owners)) > 1:
            return _whole_groups(given, owners, [n_rows - count], seed)[0]
    rest, drawn = _two_parts(np.arange(n_rows), given, count, seed, codes is None)
    return _with_every_class(drawn, [rest], given)[0]


def fold_rows(
    codes: Indices | None, n_rows: int, n_splits: int, seed: int, row_groups: Labels | None = None
) -> list[tuple[Indices, Indices]]:
    """A pair per fold: the row numbers to learn from, and the row numbers that are held out.

    Rows are shuffled, class by class where there are classes. Rows of one of ``row_groups`` are
    held out together, in at most as many folds as there are owners. ParameterError where
    ``n_splits`` is not a whole number from 2 to the number of rows that can be held out.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # not at start-up

    given = _or_one_class(codes, n_rows)
    if row_groups is not None and n_splits >= 2:
        return _group_folds(given, codes_of(row_groups), n_splits, seed)
    held, _ = _parted(np.arange(n_rows), given, 1 if codes is None else 2)
    if not (is_whole_number(n_splits) and 2 <= n_splits <= len(held)):
        without = " whose class has another one" if len(held) < n_rows else ""
        raise ParameterError(
            f"n_splits must be a whole number from 2 to the {len(held)} rows{without}; got "
            f"{n_splits!r}."
        )
    if codes is None:
        return list(KFold(n_splits, shuffle=True, random_state=seed).split(given))
    often, rare = _parted(held, given, n_splits)
    fold = np.full(n_rows, -1)
    if len(often):
        cut = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        for k, (_, test) in enumerate(cut.split(given[often], given[often])):
            fold[often[test]] = k
    # Rows of one class that follow each other go to different folds.
    rare = rare[np.argsort(given[rare], kind="stable")]
    order = np.random.default_rng(seed).permutation(n_splits)
    fold[rare] = order[np.arange(len(rare)) % n_splits]
    return _by_fold(fold)


def _group_folds(
    codes: Indices, owners: Indices, n_splits: int, seed: int
) -> list[tuple[Indices, Indices]]:
    """Folds of whole owners; the training rows have every class.

    Owners with most rows come first, and each goes to the fold that has least of its classes.
    """
    free = _movable(codes, owners)
    count = min(int(n_splits), len(free))
    if count < 2:
        raise DataError(
            "Folds need at least two owners of rows that can be held out, and there are "
            f"{len(free)}: rows that belong together are never split. Name another column "
            "of owners, or none."
        )
    table = np.zeros((owners.max() + 1, codes.max() + 1))
    np.add.at(table, (owners, codes), 1.0)
    share = table / table.sum(axis=0)
    order = np.random.default_rng(seed).permutation(free)
    held = np.zeros((count, table.shape[1]))
    fold_of = np.full(len(table), -1)
    for owner in order[np.argsort(-table[order].sum(axis=1), kind="stable")]:
        fold_of[owner] = np.argmin(held @ share[owner])
        held[fold_of[owner]] += share[owner]
    fold = fold_of[owners]
    for code in range(table.shape[1]):
        of_class = np.flatnonzero(codes == code)
        if (fold[of_class] == fold[of_class[0]]).all():
            # Where a fold would hold out a whole class, one of its owners stays in training.
            fold[owners == owners[of_class[0]]] = -1
    return _by_fold(fold)


def _by_fold(fold: Indices) -> list[tuple[Indices, Indices]]:
    """The rows to learn from and those that are held out, by the fold of every row."""
    folds = np.unique(fold[fold >= 0])
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in folds]


def _parted(rows: Indices, codes: Indices, least: int) -> tuple[Indices, Indices]:
    """The rows whose class has at least ``least`` of them, and all other rows."""
    members = np.bincount(codes[rows]) if len(rows) else np.zeros(1, dtype=np.intp)
    enough = members[codes[rows]] >= least
    return rows[enough], rows[~enough]


def _two_parts(
    rows: Indices, codes: Indices, count: int, seed: int, blind: bool
) -> tuple[Indices, Indices]:
    """The remaining rows, and ``count`` drawn ones.

    They are drawn class by class, or blindly where a part has no room for all classes.
    """
    from sklearn.model_selection import train_test_split  # not at start-up

    strata = codes[rows]
    members = np.unique(strata, return_counts=True)[1]
    smaller = min(count, len(rows) - count)
    by_class = not blind and members.min() >= 2 and len(members) <= smaller
    left, part = train_test_split(
        rows, test_size=count, random_state=seed, stratify=strata if by_class else None
    )
    return left, part


def _with_every_class(first: Indices, others: Iterable[Indices], codes: Indices) -> list[Indices]:
    """The same parts, changed so that ``first`` has a row of every class.

    A missing class comes from the part with most of it, in exchange for a row of the class that
    ``first`` has most of.
    """
    first, *rest = (part.copy() for part in (first, *others))
    everywhere = np.concatenate([codes[first], *(codes[part] for part in rest)])
    for code in np.setdiff1d(everywhere, codes[first]):
        donor = max(rest, key=lambda part: np.count_nonzero(codes[part] == code))
        wanted = np.argmax(codes[donor] == code)
        spare = np.argmax(codes[first] == np.bincount(codes[first]).argmax())
        first[spare], donor[wanted] = donor[wanted], first[spare]
    return [first, *rest]


def _row_count(size: float, n_rows: int, n_free: int) -> int:
    """A share of the rows that can be held out as a number of rows; a number of rows as it is."""
    if is_whole_number(size) and 0 < size < n_rows:
        return int(size)
    if isinstance(size, float) and 0 < size < 1:
        return int(np.ceil(size * n_free - 1e-9))
    raise ParameterError(
        f"A part of size {size!r} is not possible; expected a share in (0, 1) or 1 to {n_rows - 1}."
    )
