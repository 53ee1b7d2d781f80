"""Splitters: how rows are drawn into training, validation and test rows, into folds and samples.

All of them share one rule for classes. Rows are drawn class by class in their shares. A class with
fewer rows than there are parts is too rare to be held out: all its rows stay in training. A class
with one row is in no fold but in the training rows of all of them. What is learnt from, a sample
included, has at least one row of every class. Where a class is not rare, the rows are those that
scikit-learn's splitters draw with the same seed.

Where rows have owners (``groups``: patients, customers, plots), all rows of an owner are in the
same part. An owner who alone has rows of some class stays in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mklcore.arrays import Indices, Labels, Mask
from mklcore.errors import DataError, ParameterError, Repair

RANDOM = "random"
HOLD_OUT = (RANDOM, "last", "first")  # which rows are held out
MOST_NAMED = 6  # rare classes that a note names
# in which owners are drawn; the one with the shares of classes nearest to those of all rows is
# taken
ORDERS = 20


def codes_of(y: Labels) -> Indices:
    """Class numbers (n,) from 0 of labels (n,), in sorted order."""
    codes: Indices = np.unique(y, return_inverse=True)[1]
    return codes


def repeated(y: Labels) -> Mask:
    """Of every label (n,) whether another row has it, too."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    found: Mask = counts[place] > 1
    return found


def rare_note(
    y: Labels, parts: int, doing: str = "their rows stay in training, and no score counts them"
) -> str:
    """Which classes have fewer rows than ``parts``, and what is done with them, as one sentence; ""
    where there are none.
    """
    labels, counts = np.unique(y, return_counts=True)
    rare = [
        (label, int(count))
        for label, count in zip(labels.tolist(), counts, strict=True)
        if count < parts
    ]
    if not rare:
        return ""
    named = [
        f"'{label}' ({count} {'row' if count == 1 else 'rows'})"
        for label, count in rare[:MOST_NAMED]
    ]
    more = f" and {len(rare) - MOST_NAMED} more" if len(rare) > MOST_NAMED else ""
    return (
        f"Too rare to be held out: {'class' if len(rare) == 1 else 'classes'} "
        f"{', '.join(named)}{more}; {doing}."
    )


def split_rows(
    codes: Indices | None,
    n_rows: int,
    sizes: Sequence[float],
    seed: int,
    stratify: bool = True,
    hold_out: str = RANDOM,
    groups: Labels | None = None,
) -> list[Indices]:
    """Row numbers of the training part and of one held-out part per size, in this order; the last
    part is drawn first.

    ``codes`` (n_rows,) class numbers, or None without classes. ``sizes``: shares of the rows that
    can be held out, or numbers of rows. Without ``stratify`` rows are drawn blindly. ``hold_out``
    as in `three_way_split`. ``groups`` (n,) the owner of every row. DataError where training would
    have fewer rows than classes.
    """
    if hold_out not in HOLD_OUT:
        raise ParameterError(
            f"hold_out must be one of {', '.join(map(repr, HOLD_OUT))}; got {hold_out!r}."
        )
    given = np.zeros(n_rows, dtype=np.intp) if codes is None else codes
    if groups is not None:
        return _whole_groups(
            given,
            codes_of(groups),
            [_row_count(size, n_rows, n_rows) for size in sizes],
            seed,
            hold_out,
        )
    blind = codes is None or not stratify or hold_out != RANDOM
    rows, aside = _parted(np.arange(n_rows), given, 1 if blind else len(sizes) + 1)
    counts = [_row_count(size, n_rows, len(rows)) for size in sizes]
    n_classes = len(np.unique(given))
    remaining = n_rows - sum(counts)
    if remaining < n_classes or len(rows) <= sum(counts):
        parts = " + ".join(str(count) for count in (remaining, *counts))
        raise DataError(
            (
                f"{n_rows:,} {'row' if n_rows == 1 else 'rows'} cannot be cut into "
                f"{parts}: the first part, for training, needs at least "
                f"{'one row' if n_classes == 1 else f'one row of each of the {n_classes} classes'}, "
                "and the others rows of classes that have one for every part. Add rows or "
                "change the shares."
            ),
            repairs=_for_a_split(counts, n_rows, blind),
        )
    if hold_out != RANDOM:
        return _in_order(given, [remaining, *counts], hold_out)
    drawn: list[Indices] = []
    for step, count in enumerate(reversed(counts)):
        more: Indices
        rows, more = _parted(rows, given, 1 if blind else len(counts) + 1 - step)
        aside = np.concatenate([aside, more])
        if len(rows) <= count:
            rows = np.concatenate([rows, aside])
            aside = aside[:0]
        rows, part = _two_parts(rows, given, count, seed, blind)
        drawn.insert(0, part)
    training = np.concatenate([rows, aside])
    return list(_with_every_class(training, drawn, given))


def _in_order(codes: Indices, counts: Sequence[int], hold_out: str) -> list[Indices]:
    """Parts of so many rows, one after the other as the rows stand, or from the last row backwards."""
    rows = np.arange(sum(counts))
    first, *others = np.split(rows if hold_out == "last" else rows[::-1], np.cumsum(counts)[:-1])
    return [np.sort(part) for part in _with_every_class(first, others, codes)]


def _whole_groups(
    codes: Indices, owners: Indices, counts: Sequence[int], seed: int, hold_out: str = RANDOM
) -> list[Indices]:
    """Training part and a part of about so many rows per count, in each of them whole owners."""
    free = _movable(codes, owners)
    if len(free) <= len(counts):
        raise DataError(
            f"Rows that belong together have {len(free)} owners that can be held out, and "
            f"{len(counts) + 1} parts need more than that: name another column, or none."
        )
    sizes = np.bincount(owners)
    whole = np.bincount(codes) / len(codes)
    rng = np.random.default_rng(seed)
    least = np.inf
    best: list[Indices] = []
    newest = np.zeros(len(sizes))
    np.maximum.at(
        newest, owners, np.arange(len(owners)) * (1 if hold_out == "last" else -1) + len(owners)
    )
    for _ in range(ORDERS if hold_out == RANDOM else 1):
        order = (
            rng.permutation(free)
            if hold_out == RANDOM
            else free[np.argsort(-newest[free], kind="stable")]
        )
        part_of = np.zeros(len(sizes), dtype=np.intp)
        place = 0
        for part in range(len(counts), 0, -1):
            ends = np.cumsum(sizes[order[place : len(order) - part]])
            many = max(1, int(np.argmin(np.abs(np.append(0, ends) - counts[part - 1]))))
            part_of[order[place : place + many]] = part
            place += many
        found: list[Indices] = [
            np.flatnonzero(part_of[owners] == part) for part in range(len(counts) + 1)
        ]
        shares = [np.bincount(codes[part], minlength=len(whole)) / len(part) for part in found]
        far = float(np.abs(np.array(shares) - whole).sum()) + 10.0 * np.count_nonzero(
            shares[0] == 0.0
        )
        if far < least:
            best = found
            least = far
    if least >= 10.0:
        raise DataError(
            "Training would lack a class: its rows belong to few owners. Hold out fewer rows."
        )
    return best


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
    codes: Indices | None, n_rows: int, count: int, seed: int, groups: Labels | None = None
) -> Indices:
    """The numbers of ``count`` rows of ``n_rows``, every class in its share; more where there are
    more classes than that. Of ``groups`` whole ones, about as many rows, where owners have few
    enough.
    """
    given = np.zeros(n_rows, dtype=np.intp) if codes is None else codes
    count = max(count, len(np.unique(given)))
    if count >= n_rows:
        return np.arange(n_rows)
    if groups is not None:
        owners = codes_of(groups)
        if len(_movable(given, owners)) > 1 and np.bincount(owners).max() <= count // 2:
            return _whole_groups(given, owners, [n_rows - count], seed)[0]
    rest, drawn = _two_parts(np.arange(n_rows), given, count, seed, codes is None)
    return _with_every_class(drawn, [rest], given)[0]


def fold_rows(
    codes: Indices | None, n_rows: int, n_splits: int, seed: int, groups: Labels | None = None
) -> list[tuple[Indices, Indices]]:
    """Row numbers to learn from and row numbers held out, a pair per fold: shuffled, and class by
    class where there are classes. Rows of one of ``groups`` are held out together, in as many folds
    as there are owners at most.

    ParameterError where ``n_splits`` is not a whole number from 2 to the number of rows that can be
    held out.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # not at start-up

    if groups is not None and n_splits >= 2:
        return _group_folds(codes, codes_of(groups), n_splits, seed)
    given = np.zeros(n_rows, dtype=np.intp) if codes is None else codes
    held, _ = _parted(np.arange(n_rows), given, 1 if codes is None else 2)
    whole = isinstance(n_splits, (int, np.integer)) and not isinstance(n_splits, bool)
    if not (whole and 2 <= n_splits <= len(held)):
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
    # neighbours of one class go to different folds
    rare = rare[np.argsort(given[rare], kind="stable")]
    fold[rare] = np.random.default_rng(seed).permutation(n_splits)[np.arange(len(rare)) % n_splits]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]


def _group_folds(
    codes: Indices | None, owners: Indices, n_splits: int, seed: int
) -> list[tuple[Indices, Indices]]:
    """Folds of whole owners; training has every class.

    Owners go to folds one after the other, those with most rows first, each to the fold that has
    least of its classes.
    """
    given = np.zeros(len(owners), dtype=np.intp) if codes is None else codes
    free = _movable(given, owners)
    count = min(int(n_splits), len(free))
    if count < 2:
        raise DataError(
            "Folds need at least two owners of rows that can be held out, and there are "
            f"{len(free)}: rows that belong together are never split. Name another column "
            "of owners, or none."
        )
    table = np.zeros((owners.max() + 1, given.max() + 1))
    np.add.at(table, (owners, given), 1.0)
    order = np.random.default_rng(seed).permutation(free)
    order = order[np.argsort(-table[order].sum(axis=1), kind="stable")]
    held = np.zeros((count, table.shape[1]))
    fold_of = np.full(len(table), -1)
    share = table / table.sum(axis=0)
    for owner in order:
        fold_of[owner] = int(np.argmin(held @ share[owner]))
        held[fold_of[owner]] += share[owner]
    found = []
    for fold in range(count):
        rows = _without_last_of_a_class(given, owners, np.flatnonzero(fold_of[owners] == fold))
        if rows.size:
            found.append((np.setdiff1d(np.arange(len(owners)), rows), rows))
    return found


def _without_last_of_a_class(codes: Indices, owners: Indices, held: Indices) -> Indices:
    """The held-out rows without owners whom training needs for a class that only these rows have."""
    kept = held
    outside = np.bincount(codes) - np.bincount(codes[held], minlength=codes.max() + 1)
    for code in np.flatnonzero(outside == 0):
        needed = owners[held[codes[held] == code]][0]
        kept = kept[owners[kept] != needed]
    return kept


def _parted(rows: Indices, codes: Indices, least: int) -> tuple[Indices, Indices]:
    """Those of the rows whose class has at least ``least`` of them, and the others."""
    members = np.bincount(codes[rows]) if len(rows) else np.zeros(1, dtype=np.intp)
    enough = members[codes[rows]] >= least
    return rows[enough], rows[~enough]


def _two_parts(
    rows: Indices, codes: Indices, count: int, seed: int, blind: bool
) -> tuple[Indices, Indices]:
    """The rows that are left, and ``count`` of them drawn: class by class, or blindly where a part
    has no room for all.
    """
    from sklearn.model_selection import train_test_split  # not at start-up

    strata = codes[rows]
    members = np.unique(strata, return_counts=True)[1]
    by_class = not blind and members.min() >= 2 and len(members) <= min(count, len(rows) - count)
    left, part = train_test_split(
        rows, test_size=count, random_state=seed, stratify=strata if by_class else None
    )
    return left, part


def _with_every_class(first: Indices, others: Iterable[Indices], codes: Indices) -> list[Indices]:
    """The same parts, where ``first`` has a row of every class: one comes from the part with most
    of them, and one of the class that ``first`` has most of goes there in its place.
    """
    parts = [first, *others]
    missing = np.setdiff1d(np.concatenate([codes[part] for part in parts]), codes[first])
    for code in missing:
        donor = 1 + int(np.argmax([np.count_nonzero(codes[part] == code) for part in parts[1:]]))
        wanted = int(np.flatnonzero(codes[parts[donor]] == code)[0])
        spare = int(np.flatnonzero(codes[parts[0]] == np.bincount(codes[parts[0]]).argmax())[0])
        parts[0], parts[donor] = parts[0].copy(), parts[donor].copy()
        parts[0][spare], parts[donor][wanted] = parts[donor][wanted], parts[0][spare]
    return parts


def _row_count(size: float, n_rows: int, n_free: int) -> int:
    """A share of the rows that can be held out as a number of rows, or such a number as it is."""
    whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
    if whole and 0 < size < n_rows:
        return int(size)
    if isinstance(size, float) and 0 < size < 1:
        return int(np.ceil(size * n_free - 1e-9))
    raise ParameterError(
        f"A part of size {size!r} is not possible; expected a share in (0, 1) or 1 to {n_rows - 1}."
    )
