"""The target: which column it is, its values and classes, and columns that may give it away.

Guessed by name, place and two values, each with its reason. Every refusal of a target carries its
repairs: a mark that is a class, classes merged or left out, another task. Columns that may give the
target away, or the order of the rows, are reported before the scores:

explains   one column alone predicts held-out rows nearly without error: a logarithm of the target,
           a status written afterwards
parts      a number is the sum, up to rounding, of up to three columns with fixed factors
order      a column rises or falls all along the rows: a row number, an identifier, a date that
           sorts them
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Cells, Indices, Labels
from mklcore.data.columns import (
    MAX_NAME,
    MISSING,
    OTHER_LEVEL,
    Profile,
    ReadOptions,
    hold_dates,
    looks_like_id,
    newest_rows,
    sentinel_note,
    sentinel_of,
    shown,
    used_as,
    words_in,
    words_of,
)
from mklcore.data.dataset import Dataset, counted, listed
from mklcore.data.files import Table
from mklcore.data.splitting import codes_of, fold_rows, rare_note, repeated
from mklcore.errors import DataError, Note, Repair

MAX_CLASSES = 100
SHOWN = 3  # so many candidates are shown
SURE = 0.8  # with this confidence or more, a guess is not called unsure
ROWS_A_CLASS = 5  # words of more than 20 kinds are classes if each kind has so many rows
AMOUNT = 20  # a measured quantity has more different values than this


SETTLED = words_in(
    "target label labels class classes y outcome response klasse zielgröße classe cible "
    "clase objetivo"
)
# What people predict: where it is the whole name, and in the name of a column of two values.
NAMED = words_in(
    "admit attrition charges churn default defects denied deny diagnosis direction fraud "
    "medv mpg participation price purchase quality released result rings sentiment spam "
    "species survived vote inlf lfp partic accepted admitted approved approve bought "
    "callback cancer chd churned death diabetes died disease exited failure fault hired "
    "passed problems purchased recid returned stroke volunteer won"
)
PRICE = words_in("price preis precio prix value")
AMOUNTS = words_in(
    "affairs charges cnt count counts earnings expectancy fertility gpa prestige profit "
    "rent revenue ridership salary sales sold strength trips visits wage wages yield"
)
KINDS = words_in("category event grade risk status variety")
# Who, where and when: what people predict from.
GIVEN = words_in(
    "address age black city country date day educ education ethnicity female gender "
    "hispanic holiday hour hr latitude longitude male marital married minority month name "
    "race region religion season sex south urban us weekday white workingday year yr zip "
    "inc income"
)
UNITS = words_in("eur euro euros usd gbp chf dollars pct percent")
YES_NO = words_in("no/yes n/y false/true f/t ja/nein non/oui no/si")
OUTCOMES = words_in(
    "negative/positive bad/good absent/present benign/malignant loss/win +/- lost/won "
    "alive/dead fail/pass healthy/sick abnormal/normal down/up approved/denied "
    "accepted/rejected ham/spam case/control n/p"
)
# Whole numbers in a column with such a name are classes.
CLASS_NAMES = words_in("label labels class classes klasse classe clase")
# R writes such a name before the first column, which is often the target.
INDEX_NAMES = ("rownames", "row.names", "column 1")
UNUSABLE = ("empty", "constant", "identifier", "date", "sequence", "words")
UNNAMED = re.compile(r"column \d+|unnamed: \d+", re.I)  # a column without a name is no target


@dataclass(frozen=True)
class TargetCandidate:
    """A column that may be the target.

    name : which column. reason : what speaks for it. confidence : between 0 and 1, its share among
    the likeliest columns; a rule of thumb, not a measured probability.
    """

    name: str
    reason: str
    confidence: float


def rank_targets(
    profiles: Sequence[Profile], header: bool = True, task: str | None = None
) -> tuple[TargetCandidate, ...]:
    """The likeliest targets of a table, at most three; none if no column can be one.

    Every column that can be read as a target of ``task`` (any if None) gets points for its name
    (class, price, is_fraud), for its place (last, or first) and for two values (good and bad).
    Mostly empty and constant columns, identifiers and dates are no candidates.
    """
    known = {item.name.lower() for item in profiles}
    points: dict[int, list[Point]] = {}
    for j, item in enumerate(profiles):
        is_unnamed = header and UNNAMED.fullmatch(item.name)
        if _can_be_target(item, task) and not is_unnamed:
            points[j] = [_by_name(item, known), _by_values(item, task)]
    if not points:
        return ()
    last = max(points)
    where = "as the last column"
    if last < len(profiles) - 1:
        where += " that can be one"
    points[last].append((2.5 if all(map(_is_blank, profiles[last + 1 :])) else 1.0, where))
    first = next((j for j, found in points.items() if found[0][0] >= 0.0), min(points))
    worth = 2.4 if profiles[0].column.name.lower() in INDEX_NAMES else 1.5
    points[first].append((worth - (first > min(points)), "as the first column"))
    if not header:
        for j in _odd(profiles) & points.keys():
            points[j].append((5.0, "as the only one of its kind among numbers"))
    totals = {j: sum(worth for worth, _ in found) for j, found in points.items()}
    best = sorted(totals, key=lambda j: (-totals[j], -j))[:SHOWN]
    weights = np.exp([totals[j] - totals[best[0]] for j in best])
    candidates = []
    for j, share in zip(best, (weights / weights.sum()).round(3).tolist(), strict=True):
        name = profiles[j].column.name
        candidates.append(TargetCandidate(name, _reason(points[j]), share))
    return tuple(candidates)


def as_text(candidates: Sequence[TargetCandidate]) -> str:
    """The statement on a guess: the choice and its reason, and what else is likely if it is unsure."""
    best, *others = candidates
    text = f"No target was named: the column {best.name!r} was chosen, {best.reason}."
    if not is_sure(candidates):
        beside = " or ".join(f"{one.name!r} ({one.reason})" for one in others)
        text += f" The guess is unsure; it may also be {beside}."
    return text


def is_sure(candidates: Sequence[TargetCandidate]) -> bool:
    """Whether one candidate is far ahead of the others."""
    return len(candidates) < 2 or candidates[0].confidence >= SURE


Point = tuple[float, str]  # how much it counts, and why


def _by_name(item: Profile, others: set[str]) -> Point:
    """Points for the name of a column; a unit and anything in brackets do not count."""
    name = item.name
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name) or name
    words = words_of(bare)
    words = words[:-1] if len(words) > 1 and words[-1] in UNITS else words
    whole = " ".join(words)
    ends = {words[0], words[-1]}
    distinct = item.column.distinct
    if whole in SETTLED and not (whole == "y" and "x" in others):  # coordinates
        return 6.5 if bare == name else 6.0, "by its name"
    is_named = whole in NAMED or (distinct == 2 and not ends.isdisjoint(NAMED))
    is_target = len(words) > 1 and words[-1] in SETTLED[:2]
    if is_named or is_target or (words[-1] in PRICE and others.isdisjoint(AMOUNTS)):
        return 4.0, "by its name"
    if words[-1] in (KINDS if distinct <= AMOUNT else AMOUNTS):
        return 2.0, "by its name"
    made = re.fullmatch(r"l(.+)|(.+)sq", bare.lower())  # a logarithm or a square
    is_made = made is not None and not others.isdisjoint(made.groups())
    if is_made or not ends.isdisjoint(GIVEN) or (looks_like_id(name) and distinct > AMOUNT):
        return -2.5, ""
    return 0.0, ""


def _by_values(item: Profile, task: str | None) -> Point:
    """Two values that tell good from bad; gaps speak against a column, and words of many kinds."""
    if item.column.distinct != 2:
        many = not item.is_numeric and item.column.distinct > AMOUNT // 2
        return -item.column.missing / len(item.values) - many, ""
    if task == "regression":
        return -8.0, ""
    labels = () if item.is_numeric else item.values[~item.missing]
    pair = sorted(set(map(str.lower, labels)))
    if "/".join(pair) in YES_NO:
        return 1.25, "by its yes and no"
    short, long = sorted(pair, key=len) if len(pair) == 2 else ("", "-")
    denied = len(short) > 2 and re.fullmatch(rf"(not?|non|un|in)?[\s_-]*{re.escape(short)}", long)
    if "/".join(pair) in OUTCOMES or denied:
        return 2.5, f"by its values {' and '.join(pair)}"
    return 0.5, "by its two values"


def _odd(profiles: Sequence[Profile]) -> set[int]:
    """The one column of words among numbers, or a code before measured numbers."""
    first, *others = (one.column for one in profiles)
    measured = all(one.kind == "number" and one.distinct > AMOUNT for one in others)
    if measured and first.kind == "number" and first.distinct <= AMOUNT // 2:
        return {0}
    words = {j for j, one in enumerate(profiles) if one.kind in ("category", "text")}
    return words if len(words) == 1 else set()


def _is_blank(item: Profile) -> bool:
    return item.kind in ("empty", "constant") or item.is_sparse


def _reason(points: Sequence[Point]) -> str:
    """What speaks for a column, the strongest first, two reasons at most."""
    in_favour = sorted(points, key=lambda point: -point[0])
    reasons = [why for worth, why in in_favour if worth > 0 and why]
    return " and ".join(reasons[:2]) or "as no column is more likely"


def _can_be_target(item: Profile, task: str | None) -> bool:
    """Whether reading the column as the target of ``task`` would not be refused."""
    column = item.column
    values = item.values[~item.missing]
    if column.kind in UNUSABLE and (task, column.kind) != ("novelty", "constant"):
        return False
    if item.is_sparse or not len(values) or (task == "binary" and column.distinct != 2):
        return False
    if task == "regression":
        return item.is_numeric
    few = column.distinct <= MAX_CLASSES and 2 * column.distinct <= len(values)
    if few and task != "novelty" and _are_classes(column.name, values, column.distinct):
        counts = np.unique(values, return_counts=True)[1]
        if np.count_nonzero(counts > 1) < 2:
            return False
    if item.is_numeric:
        return few or task in (None, "novelty")
    enough = column.kind == "category" or ROWS_A_CLASS * column.distinct <= len(values)
    return few and enough and max(map(len, values)) <= MAX_NAME


MAX_NUMBER_CLASSES = 20
RARE_ROWS = 10  # a class with fewer is rare where rare classes are merged or left out
AS_NUMBER = Repair.of("Predict it as a number", task="regression")
AS_CLASSES = Repair.of("Predict it as classes", task="classification")
FIND_TASK = Repair.of("Find the task", task=None)
MERGE_RARE = Repair.of('Merge rare classes into "other"', rare_classes="merge")
DROP_RARE = Repair.of("Leave out rare classes", rare_classes="drop")


class TargetValues(NamedTuple):
    """Target values, the numbers of the rows that have one, the task, notes, and its name."""

    values: Labels
    rows: Indices
    task: str
    notes: list[str]
    name: str = ""


def read_target(table: Table, name: str, settings: ReadOptions) -> TargetValues:
    """The target in a column of a table; DataError, with repairs, if it cannot be one."""
    cells = table.columns[name]
    use = settings.uses.get(name)
    if use == "left out":  # a column that is left out may still be the target
        use = None
    found, missing, stray = used_as(name, cells, table.decimal, use, table.values)
    is_numeric = found.dtype.kind == "f"
    notes: list[str] = []
    if is_numeric and (sentinel := sentinel_of(name, found)):
        value = f"{sentinel.value:g}"
        what = f"{value} in the target {name!r} ({counted(sentinel.cells, 'cell')})"
        labels = f"Read {value} as missing", f"Keep {value} as a number"
        notes.append(sentinel_note(what, settings.sentinels, *labels, urgent=True))
        if settings.sentinels == "missing":
            missing = missing | (found == sentinel.value)
    rows = np.flatnonzero(~missing)
    repairs = _marks_as_classes(table, name, cells[missing], is_numeric)
    gone = len(cells) - len(rows)
    if gone > len(rows) or not len(rows):
        raise DataError(
            (
                f"The target {name!r} is missing in {gone:,} of "
                f"{counted(len(cells), 'row')}; choose another target, or remove these rows "
                "from the file."
            ),
            repairs=repairs,
        )
    if gone:
        text = f"Dropped {counted(gone, 'row')} without a usable target."
        notes.append(Note(text, repairs, urgent=bool(repairs)))
    try:
        target = _settled(name, found[rows], rows, settings, notes)
    except DataError as error:
        if stray and not is_numeric:
            what = "cell that is no number is" if stray == 1 else "cells that are no numbers are"
            many = "The" if stray == 1 else f"The {stray:,}"
            as_missing = Repair.of(f"{many} {what} missing", uses=((name, "number"),))
            error.repairs = (as_missing, *error.repairs)
        error.repairs = (*error.repairs, *repairs)
        raise
    return target._replace(name=name)


def _marks_as_classes(table: Table, name: str, gone: Cells, is_numeric: bool) -> list[Repair]:
    """For every mark of a missing value among the target's missing cells: read it as a class."""
    usual = MISSING - (table.values or frozenset()) - {""}
    uses = (("uses", ((name, "category"),)),) if is_numeric else ()
    repairs = []
    for mark, count in Counter(filter(MISSING.__contains__, gone.tolist())).most_common(3):
        if mark and count > 1:
            label = f"{mark!r} is a class ({counted(count, 'row')})"
            marks = tuple(sorted(usual - {mark}))
            repairs.append(Repair(label, (("missing_marks", marks), *uses)))
    return repairs[:2]


def _settled(
    name: str, values: Labels, rows: Indices, settings: ReadOptions, notes: list[str]
) -> TargetValues:
    """Task and labels of the values that are there."""
    task = settings.task
    numeric = values.dtype.kind == "f"
    distinct = len(set(values.tolist()))
    if distinct == 1 and task != "novelty":
        raise DataError(
            f"The target {name!r} holds one class only ({shown(values[0])!r} in every row); "
            "expected at least two different values. Choose another target."
        )
    if not numeric and task in (None, "regression") and hold_dates(values):
        raise DataError(
            (
                f"The target {name!r} holds dates (as {shown(values[0])!r}): replace it by a "
                "number of days, such as the days since the first of them, or choose another "
                "target."
            ),
            repairs=[AS_CLASSES],
        )
    found = task or ("classification" if _are_classes(name, values, distinct) else "regression")
    if found == "regression" and not numeric:
        raise DataError(
            f"The target {name!r} is text (as {shown(values[0])!r}); regression needs numbers.",
            repairs=[AS_CLASSES],
        )
    if found != "regression" and settings.rare_classes != "keep":
        values, rows = _without_rare(name, values, rows, settings.rare_classes, notes)
        distinct = len(np.unique(values))
    if task == "binary" and distinct != 2:
        raise DataError(
            f"The target {name!r} has {distinct:,} different values; a binary task needs two.",
            repairs=[FIND_TASK],
            code="table.not_binary",
            hint="Choose another target, or leave task= out to find it.",
        )
    if task is None:
        notes.append(_how_found(name, values, distinct, found))
    if found == "regression":
        return TargetValues(values, rows, found, notes)
    if found == "novelty":
        return TargetValues(_labels(name, values), rows, found, notes)
    return _classes(name, values, rows, notes)


def _are_classes(name: str, values: Labels, distinct: int) -> bool:
    """Whether the values of a target are classes: words, two values, or few whole numbers."""
    if distinct == 2 or values.dtype.kind != "f":
        return True
    called = name.lower() in CLASS_NAMES and distinct <= MAX_CLASSES
    few = (distinct <= MAX_NUMBER_CLASSES or called) and len(values) >= (
        2 if called else 5
    ) * distinct
    return few and bool((values == np.round(values)).all())


def _how_found(name: str, values: Labels, distinct: int, task: str) -> str:
    """The note about a task that was found."""
    if task == "regression":
        classes = [AS_CLASSES] if distinct <= MAX_CLASSES and 2 * distinct <= len(values) else []
        return Note(f"{name!r} has {distinct:,} different numbers: a regression task.", classes)
    if distinct == 2:
        low, high = np.unique(values)
        text = f"{name!r} has two values ({shown(low)} and {shown(high)}): a binary task."
        return Note(text, code="table.binary")
    if values.dtype.kind != "f":
        return f"{name!r} has {distinct} classes: a multiclass task."
    how = f"{name!r} has {distinct} different whole numbers, read as classes: a multiclass task."
    return Note(how, [AS_NUMBER], hint="task='regression' reads them as numbers.")


def _classes(name: str, values: Labels, rows: Indices, notes: list[str]) -> TargetValues:
    """The labels of a classification; a class with a single row is left out."""
    levels, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    numeric = values.dtype.kind == "f"
    alone = list(map(shown, levels[counts == 1]))
    n_classes = len(levels) - len(alone)
    why = ""
    if len(levels) > MAX_CLASSES:
        what = "has" if numeric else "is text with"
        why = f"{what} {len(levels):,} different values, more than {MAX_CLASSES} classes"
    elif n_classes < 2 or len(rows) < 2 * len(levels):
        why = (
            f"has {len(levels)} classes in {counted(len(rows), 'row')}, {n_classes} of them in more "
            "than one row; two rows of each class are needed to learn it"
        )
    if why:
        raise DataError(
            f"The target {name!r} {why}.",
            repairs=[*([AS_NUMBER] if numeric else []), *_fewer_classes(values)],
            code="table.classes",
            hint="Choose another target, join classes, or use task='regression' for numbers.",
        )
    kept = counts[places] > 1
    labels = _labels(name, values[kept])
    if alone:
        what = "the only row of class" if len(alone) == 1 else "the only rows of classes"
        text = f"Left out: {what} {listed(alone)}; a class needs two rows to be learnt."
        notes.append(Note(text, [MERGE_RARE] if len(alone) > 1 else []))
    if rare := rare_note(labels, 3):
        notes.append(Note(rare, [MERGE_RARE, DROP_RARE]))
    task = "binary" if n_classes == 2 else "multiclass"
    return TargetValues(labels, rows[kept], task, notes)


def _frequent(values: Labels) -> Labels:
    """The classes that are not rare, at most MAX_CLASSES - 1 of them."""
    levels, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 1]
    return levels[order[counts[order] >= RARE_ROWS]]


def _without_rare(
    name: str, values: Labels, rows: Indices, rule: str, notes: list[str]
) -> tuple[Labels, Indices]:
    """The values with rare classes merged or left out, and their rows."""
    frequent = np.isin(values, _frequent(values))
    if frequent.all():
        return values, rows
    rare = np.unique(values[~frequent])
    named = listed(map(shown, rare))
    again = [Repair.of("Keep rare classes", rare_classes="keep")]
    if rule == "drop":
        classes = "the rare class" if len(rare) == 1 else f"{len(rare)} rare classes"
        many = counted(int((~frequent).sum()), "row")
        text = f"Left out: {many} of {classes}: {named}."
        values = values[frequent]
        rows = rows[frequent]
    else:
        text = f"Merged into the class '{OTHER_LEVEL}': {named}."
        values = np.where(frequent, np.array(list(map(shown, values)), dtype=object), OTHER_LEVEL)
    notes.append(Note(text, again))
    if len(np.unique(values)) < 2:
        raise DataError(
            f"Fewer than two classes of {name!r} have {RARE_ROWS} rows or more; keep rare classes.",
            repairs=again,
        )
    return values, rows


def _fewer_classes(values: Labels) -> list[Repair]:
    """How rare classes may go: merged into one beside a frequent class, left out beside two."""
    return [MERGE_RARE, DROP_RARE][: len(_frequent(values))]


def _labels(name: str, values: Labels) -> Labels:
    if values.dtype.kind == "f" and (values == np.round(values)).all():
        return values
    labels = np.array(list(map(class_name, values)), dtype=object)
    if values.dtype.kind != "f" and max(map(len, values)) > MAX_NAME:
        raise DataError(
            f"The target {name!r} holds texts longer than {MAX_NAME} characters; expected "
            "short names of classes. Choose another target, or shorten them."
        )
    return labels


def class_name(value: float | str) -> str:
    """What a class is called."""
    return shown(value) or "(blank)"


ROWS = 1000  # that are looked at
COLUMNS = 200  # source columns, those that go with the target most
FEWEST = 30  # rows from which anything is said
NEARLY = 0.98  # of a score of one column alone
# or this, where what is left is so many times less than of the second best column
AHEAD = 0.9
FAR = 5.0
# columns of a sum, and its share of the variance
PARTS = 3
EXACT = 1.0 - 1e-6
DATED = 0.25  # of a score, from which a date is reported that explains the target
DIFFERENT = 0.5  # share of rows with values of their own in a column that may sort them


class Leak(NamedTuple):
    """A source column that may give the target away, with the reason and a sentence.

    The reason is "explains", "parts" or "order", the strength a number from 0 to 1.
    """

    column: str
    kind: str
    strength: float
    text: str


def find_leaks(data: Dataset) -> tuple[Leak, ...]:
    """Columns of ``data`` that may give its target away, the strongest first, or that sort rows.

    At most 1000 rows are looked at and the 200 columns that go with the target most; nothing is
    said of fewer than 30 rows. What is reported may be right to use: whether a value is known
    before the target is, only a person can say.

    >>> rows = np.random.default_rng(0).uniform(1.0, 9.0, (100, 2))
    >>> data = Dataset(rows, np.exp(rows[:, 1]), ("a", "b"), "y", "regression")
    >>> [leak.column for leak in find_leaks(data)]
    ['b']
    """
    if data.n_samples < FEWEST or not data.columns:
        return ()
    order = _sorting(data)
    telling = []
    if data.task != "novelty" and np.ptp(codes_of(data.y)):
        telling = [*_explaining(data, order), *_parts(data)]
    found: dict[str, Leak] = {}
    for leak in sorted(telling, key=lambda leak: -leak.strength):
        found.setdefault(leak.column, leak)
    for name, newest in order.items():
        way = "rises" if newest == "last" else "falls"
        if _day(data, name) is None:
            text = (
                f"{name} only {way} along the rows, as a row number or a time does. New rows are "
                "beyond it: leave it out, and where rows are in the order of time, test on the "
                "last ones."
            )
        else:
            text = (
                f"{name} only {way} along the rows: they are in the order of time. New rows come "
                "after them, so test on the newest."
            )
        found.setdefault(name, Leak(name, "order", 1.0, text))
    return tuple(found.values())


def rows_in_order(data: Dataset) -> str:
    """Where the newest rows are if a column sorts the rows by time: "last", "first", or ""."""
    order = _sorting(data) if data.n_samples >= FEWEST else {}
    return next(iter(order.values()), "")


def _sorting(data: Dataset) -> dict[str, str]:
    """The columns of numbers and dates that never turn along the rows, which are in that order for
    a reason, and where the newest rows are by each.
    """
    found = {}
    for name, members in data.columns:
        day = _day(data, name)
        if day is None and len(members) > 1:
            continue
        values = data.X[:, members[0] if day is None else day]
        if newest := newest_rows(values, DIFFERENT * len(values) if day is None else FEWEST):
            found[name] = newest
    return found


def _day(data: Dataset, name: str) -> int | None:
    """The feature with the days of a column of dates; None for any other column."""
    title = f"day of {name}"
    return data.feature_names.index(title) if title in data.feature_names else None


def _explaining(data: Dataset, order: Mapping[str, str]) -> list[Leak]:
    """The columns of which one alone predicts the target nearly without error, and dates that
    explain it well: what holds over time may not hold for newer rows.
    """
    from scipy.stats import rankdata  # not at start-up
    from sklearn.feature_selection import r_regression  # not at start-up

    regression = data.task == "regression"
    few = data.drawn(ROWS, 0)
    if not regression:
        few = few.take(repeated(few.y))
    y = rankdata(few.y) if regression else codes_of(few.y)
    strength = np.abs(r_regression(rankdata(few.X, axis=0), y))
    columns = sorted(few.columns, key=lambda one: -strength[list(one[1])].max())[:COLUMNS]
    folds = fold_rows(None if regression else y, len(y), 3, 0)
    scores = {
        name: _alone(few.X[:, list(places)], y, folds, regression) for name, places in columns
    }
    best, second = sorted([0.0, *scores.values()])[:-3:-1]
    guess = 0.0 if regression else 1.0 / (y.max() + 1)
    what = "of the variance of its ranks" if regression else "of the rows of every class on average"
    found = []
    for name, score in scores.items():
        is_far_ahead = score == best >= AHEAD and 1.0 - second > FAR * (1.0 - score)
        above_guess = (score - guess) / (1.0 - guess)
        if score >= NEARLY or is_far_ahead:
            text = (
                f"{name} alone predicts {data.target_name} nearly without error ({score:.1%} "
                f"{what}, on held-out rows). If its value is written after the target is "
                "known, or made from it, leave it out."
            )
            found.append(Leak(name, "explains", score, text))
        elif above_guess >= DATED and _day(data, name) is not None:
            how = f"Sort the file by {name}, then test on the last rows"
            if name in order:
                how = "Test on the newest rows"
            text = (
                f"{name} explains much of {data.target_name} ({above_guess:.0%} on "
                "held-out rows): the target moves with time, and new rows are newer. "
                f"{how}, or leave it out."
            )
            found.append(Leak(name, "order", above_guess, text))
    return found


def _alone(values: Array, y: Labels, folds: Sequence[Any], regression: bool) -> float:
    """The score of a tree on these columns alone on held-out rows.

    It is R² of ranks, or the mean over classes of the share of right rows.
    """
    from sklearn.metrics import balanced_accuracy_score, r2_score  # not at start-up
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # not at start-up

    kind = DecisionTreeRegressor if regression else DecisionTreeClassifier
    tree = kind(min_samples_leaf=3 if regression else 2, max_leaf_nodes=128, random_state=0)
    predicted = np.empty_like(y)
    for rows, held in folds:
        predicted[held] = tree.fit(values[rows], y[rows]).predict(values[held])
    score = r2_score if regression else balanced_accuracy_score
    return max(0.0, float(score(y, predicted)))


def _parts(data: Dataset) -> list[Leak]:
    """The columns of a sum with fixed factors that is the target, found one after the other."""
    from sklearn.preprocessing import scale  # not at start-up

    numbers = {name: members[0] for name, members in data.columns if len(members) == 1}
    if data.task != "regression" or not numbers:
        return []
    few = data.drawn(ROWS, 0)
    X = scale(few.X[:, list(numbers.values())])
    y = scale(few.y)
    chosen: list[int] = []
    left = y
    for _ in range(min(PARTS, X.shape[1])):
        chosen.append(int(np.argmax(np.abs(X.T @ left))))
        part = X[:, chosen]
        left = y - part @ np.linalg.lstsq(part, y, rcond=None)[0]
        explained = 1.0 - float(left @ left) / len(y)
        if explained >= EXACT and len(set(chosen)) > 1:
            names = [list(numbers)[j] for j in chosen]
            text = (
                f"{' and '.join(names)} with fixed factors add up to {data.target_name}: they "
                "are its parts."
            )
            return [Leak(name, "parts", explained, text) for name in names]
    return []
