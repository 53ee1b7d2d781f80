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

from mklcore.arrays import Array, Indices, Labels
from mklcore.data.columns import (
    MAX_NAME,
    MISSING,
    OTHER_LEVEL,
    Profile,
    ReadOptions,
    clean_name,
    hold_dates,
    levels_of,
    looks_like_id,
    missing_cells,
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

    place, name : which column. reason : what speaks for it. confidence : between 0 and 1, its share
    among the likeliest columns; a rule of thumb, not a measured probability.
    """

    place: int
    name: str
    reason: str
    confidence: float


def rank_targets(
    names: Sequence[str], profiles: Sequence[Profile], header: bool = True, task: str | None = None
) -> tuple[TargetCandidate, ...]:
    """The likeliest targets of a table, at most three; none if no column can be one.

    Every column that can be read as a target of ``task`` (any if None) gets points for its name
    (class, price, is_fraud), for its place (last, or first) and for two values (good and bad).
    Mostly empty and constant columns, identifiers and dates are no candidates.
    """
    known = {name.lower() for name in names}
    points: dict[int, list[Point]] = {}
    for j, (name, item) in enumerate(zip(names, profiles, strict=True)):
        is_unnamed = header and UNNAMED.fullmatch(name)
        if _can_be_target(item, task) and not is_unnamed:
            points[j] = [_by_name(name, known, item), _by_values(item, task)]
    if not points:
        return ()
    last = max(points)
    where = "as the last column"
    if last < len(names) - 1:
        where += " that can be one"
    points[last].append((2.5 if all(map(_is_blank, profiles[last + 1 :])) else 1.0, where))
    first = next((j for j, found in points.items() if found[0][0] >= 0.0), min(points))
    worth = 2.4 if names[0].lower() in INDEX_NAMES else 1.5
    points[first].append((worth - (first > min(points)), "as the first column"))
    if not header:
        for j in _odd(profiles) & points.keys():
            points[j].append((5.0, "as the only one of its kind among numbers"))
    totals = {j: sum(worth for worth, _ in found) for j, found in points.items()}
    best = sorted(totals, key=lambda j: (-totals[j], -j))[:SHOWN]
    weights = np.exp([totals[j] - totals[best[0]] for j in best])
    shares = (weights / weights.sum()).round(3).tolist()
    candidates = []
    for j, share in zip(best, shares, strict=True):
        candidates.append(TargetCandidate(j, names[j], _reason(points[j]), share))
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


def _by_name(name: str, others: set[str], item: Profile) -> Point:
    """Points for the name of a column; a unit and anything in brackets do not count."""
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
        many = item.labels is not None and item.column.distinct > AMOUNT // 2
        return -item.column.missing / len(item.values) - many, ""
    if task == "regression":
        return -8.0, ""
    labels = set() if item.labels is None else set(item.labels.tolist())
    pair = sorted({label.lower() for label in labels if label})
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
    words = {j for j, one in enumerate(profiles) if one.column.kind in ("category", "text")}
    return words if len(words) == 1 else set()


def _is_blank(item: Profile) -> bool:
    return item.column.kind in ("empty", "constant") or 2 * item.column.missing > len(item.values)


def _reason(points: Sequence[Point]) -> str:
    """What speaks for a column, the strongest first, two reasons at most."""
    in_favour = [point for point in points if point[0] > 0 and point[1]]
    in_favour.sort(key=lambda point: -point[0])
    return " and ".join(why for _, why in in_favour[:2]) or "as no column is more likely"


def _can_be_target(item: Profile, task: str | None) -> bool:
    """Whether reading the column as the target of ``task`` would not be refused."""
    column = item.column
    n_rows = len(item.values)
    present = n_rows - column.missing
    if column.kind in UNUSABLE and (task, column.kind) != ("novelty", "constant"):
        return False
    if 2 * present < n_rows or not present or (task == "binary" and column.distinct != 2):
        return False
    if task == "regression":
        return item.numbers is not None
    few = column.distinct <= MAX_CLASSES and 2 * column.distinct <= present
    if few and task != "novelty" and not _has_two_classes(item):
        return False
    if item.numbers is not None:
        return few or task in (None, "novelty")
    enough = column.kind == "category" or ROWS_A_CLASS * column.distinct <= present
    return few and enough and max(map(len, item.values.tolist())) <= MAX_NAME


def _has_two_classes(item: Profile) -> bool:
    """Whether two values stand in two rows or more, where values would be classes."""
    values = item.values if item.numbers is None else item.numbers[np.isfinite(item.numbers)]
    if not _are_classes(item.column.name, values, item.column.distinct):
        return True
    return bool(np.count_nonzero(np.unique(values, return_counts=True)[1] > 1) > 1)


MAX_NUMBER_CLASSES = 20
RARE_ROWS = 10  # a class with fewer is rare where rare classes are merged or left out
AS_NUMBER = Repair.of("Predict it as a number", task="regression")
AS_CLASSES = Repair.of("Predict it as classes", task="classification")
FIND_TASK = Repair.of("Find the task", task=None)
MERGE_RARE = Repair.of('Merge rare classes into "other"', rare_classes="merge")
DROP_RARE = Repair.of("Leave out rare classes", rare_classes="drop")


class TargetValues(NamedTuple):
    """Target values, the numbers of the rows that have one, the task, and notes."""

    values: Labels
    rows: Indices
    task: str
    notes: list[str]


def read_target(table: Table, place: int, settings: ReadOptions) -> TargetValues:
    """The target in column ``place`` of a table; DataError, with repairs, if it cannot be one."""
    name = table.names[place]
    cells = table.columns[place]
    numbers, missing, stray, cells = used_as(
        name, cells, table.decimal, settings.use_of(name), table.values
    )
    notes: list[str] = []
    if numbers is not None and (sentinel := sentinel_of(name, numbers)):
        value = f"{sentinel.value:g}"
        what = f"{value} in the target {name!r} ({counted(sentinel.cells, 'cell')})"
        labels = f"Read {value} as missing", f"Keep {value} as a number"
        notes.append(sentinel_note(what, settings.sentinels, *labels, urgent=True))
        if settings.sentinels == "missing":
            missing = missing | (numbers == sentinel.value)
    rows = np.flatnonzero(~missing)
    marks = _marks_as_classes(table, place, numbers is not None)
    if 2 * len(rows) < len(cells) or not len(rows):
        raise DataError(
            (
                f"The target {name!r} is missing in {len(cells) - len(rows):,} of "
                f"{counted(len(cells), 'row')}; choose another target, or remove these rows "
                "from the file."
            ),
            repairs=marks,
        )
    if gone := len(cells) - len(rows):
        text = f"Dropped {counted(gone, 'row')} without a usable target."
        notes.append(Note(text, marks, urgent=bool(marks)))
    values = numbers[rows] if numbers is not None else cells[rows]
    try:
        return _settled(name, values, rows, settings, notes)
    except DataError as error:
        if numbers is None and stray:
            what = (
                "The cell that is no number is"
                if stray == 1
                else f"The {stray:,} cells that are no numbers are"
            )
            error.repairs = (Repair.of(f"{what} missing", uses=((name, "number"),)), *error.repairs)
        error.repairs = (*error.repairs, *marks)
        raise


def _marks_as_classes(table: Table, place: int, numeric: bool) -> list[Repair]:
    """For every mark of a missing value among the target's cells: read it as a class."""
    cells = table.columns[place]
    if cells.dtype.kind == "f":
        return []
    found = Counter(cell for cell in cells[missing_cells(cells, table.values)].tolist() if cell)
    usual = MISSING - (table.values or frozenset()) - {""}
    uses = (("uses", ((table.names[place], "category"),)),) if numeric else ()
    repairs = []
    for mark, count in found.most_common(2):
        if count > 1:
            label = f"{mark!r} is a class ({counted(count, 'row')})"
            marks = tuple(sorted(usual - {mark}))
            repairs.append(Repair(label, (("missing_marks", marks), *uses)))
    return repairs


def _settled(
    name: str, values: Labels, rows: Indices, settings: ReadOptions, notes: list[str]
) -> TargetValues:
    """Task and labels of the values that are there."""
    task = settings.task
    numeric = values.dtype.kind == "f"
    distinct = len(levels_of(values))
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
    levels = levels_of(values)
    numeric = values.dtype.kind == "f"
    kept = repeated(values)
    alone = [shown(label) for label in np.unique(values[~kept])]
    why = ""
    if len(levels) > MAX_CLASSES:
        what = "has" if numeric else "is text with"
        why = f"{what} {len(levels):,} different values, more than {MAX_CLASSES} classes"
    elif len(rows) < 2 * len(levels):
        why = (
            f"has {len(levels)} classes in {counted(len(rows), 'row')}: fewer rows than "
            "classes need, two each"
        )
    elif len(levels) - len(alone) < 2:
        few = "one class only" if len(alone) < len(levels) else "no class"
        stand = "stands" if len(alone) == 1 else "stand"
        why = (
            f"has {few} with more than one row: {listed(alone)} {stand} in one row each, from "
            "which nothing is learnt"
        )
    if why:
        raise DataError(
            f"The target {name!r} {why}.",
            repairs=[*([AS_NUMBER] if numeric else []), *_fewer_classes(values)],
            code="table.classes",
            hint="Choose another target, join classes, or use task='regression' for numbers.",
        )
    labels = _labels(name, values[kept])
    if alone:
        what = "the only row of class" if len(alone) == 1 else "the only rows of classes"
        text = f"Left out: {what} {listed(alone)}; a class needs two rows to be learnt."
        notes.append(Note(text, [MERGE_RARE] if len(alone) > 1 else []))
    if rare := rare_note(labels, 3):
        notes.append(Note(rare, [MERGE_RARE, DROP_RARE]))
    task = "binary" if len(levels) - len(alone) == 2 else "multiclass"
    return TargetValues(labels, rows[kept], task, notes)


def _frequent(values: Labels) -> Labels:
    """The classes that are not rare, at most MAX_CLASSES - 1 of them."""
    levels, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")[: MAX_CLASSES - 1]
    return levels[order][counts[order] >= RARE_ROWS]


def _without_rare(
    name: str, values: Labels, rows: Indices, rule: str, notes: list[str]
) -> tuple[Labels, Indices]:
    """The values with rare classes merged or left out, and their rows."""
    frequent = np.isin(values, _frequent(values))
    rare = np.unique(values[~frequent])
    if not len(rare):
        return values, rows
    named = listed(shown(value) for value in rare)
    again = [Repair.of("Keep rare classes", rare_classes="keep")]
    if rule == "drop":
        classes = "the rare class" if len(rare) == 1 else f"{len(rare)} rare classes"
        many = counted(int((~frequent).sum()), "row")
        notes.append(Note(f"Left out: {many} of {classes}: {named}.", again))
        values = values[frequent]
        rows = rows[frequent]
    else:
        notes.append(Note(f"Merged into the class '{OTHER_LEVEL}': {named}.", again))
        texts = np.array([shown(value) for value in values], dtype=object)
        values = np.where(frequent, texts, OTHER_LEVEL)
    if len(np.unique(values)) < 2:
        raise DataError(
            f"Fewer than two classes of {name!r} have {RARE_ROWS} rows or more; keep rare classes.",
            repairs=again,
        )
    return values, rows


def _fewer_classes(values: Labels) -> list[Repair]:
    """How rare classes may go, where that leaves two classes or more."""
    often = _frequent(values)
    rest = np.count_nonzero(~np.isin(values, often))
    repairs = []
    if len(often) and rest > 1:
        repairs.append(MERGE_RARE)
    if len(often) > 1 and rest:
        repairs.append(DROP_RARE)
    return repairs


def _labels(name: str, values: Labels) -> Labels:
    if values.dtype.kind == "f":
        whole = bool((values == np.round(values)).all())
        return values if whole else np.array([f"{value:g}" for value in values], dtype=object)
    if max(map(len, values)) > MAX_NAME:
        raise DataError(
            f"The target {name!r} holds texts longer than {MAX_NAME} characters; expected "
            "short names of classes. Choose another target, or shorten them."
        )
    names = {value: clean_name(value) or "(blank)" for value in dict.fromkeys(values)}
    return np.array([names[value] for value in values], dtype=object)


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
    found: dict[str, Leak] = {}
    for leak in (*_explaining(data), *_parts(data)) if data.task != "novelty" else ():
        found.setdefault(leak.column, leak)
    telling = sorted(found.values(), key=lambda leak: -leak.strength)
    return (*telling, *(leak for leak in _ordering(data) if leak.column not in found))


def rows_in_order(data: Dataset) -> str:
    """Where the newest rows are if a column sorts the rows by time: "last", "first", or ""."""
    for leak in _ordering(data) if data.n_samples >= FEWEST else ():
        values = _along_rows(data, leak.column, dict(data.columns)[leak.column])
        return "last" if values[-1] > values[0] else "first"
    return ""


def _explaining(data: Dataset) -> list[Leak]:
    """The columns of which one alone predicts the target nearly without error, and dates."""
    few = data.drawn(ROWS, 0)
    regression = data.task == "regression"
    y = few.y if regression else codes_of(few.y)
    if np.ptp(y) == 0:
        return []
    columns = [(name, few.X[:, list(members)]) for name, members in few.columns]
    if len(columns) > COLUMNS:
        strength = np.array([_going_along(values, y) for _, values in columns])
        columns = [columns[j] for j in np.argsort(-strength, kind="stable")[:COLUMNS]]
    folds = fold_rows(None if regression else y, len(y), 3, 0)
    scores = {name: _alone(values, y, folds, regression) for name, values in columns}
    best, second = sorted([0.0, *scores.values()])[:-3:-1]
    what = "of the variance of its ranks" if regression else "of the rows of every class on average"
    found = []
    for name, score in scores.items():
        is_far_ahead = score == best >= AHEAD and 1.0 - second > FAR * (1.0 - score)
        if score >= NEARLY or is_far_ahead:
            text = (
                f"{name} alone predicts {data.target_name} nearly without error ({score:.1%} "
                f"{what}, on held-out rows). If its value is written after the target is "
                "known, or made from it, leave it out."
            )
            found.append(Leak(name, "explains", score, text))
    if not regression:  # above what guessing has
        guess = 1.0 / len(np.unique(y))
        scores = {name: (score - guess) / (1.0 - guess) for name, score in scores.items()}
    return [*found, *_dating(data, found, scores)]


def _going_along(values: Array, y: Labels) -> float:
    """The largest |correlation| of ranks between a column and the target."""
    ranks = np.argsort(np.argsort(np.column_stack([values, y]), axis=0), axis=0)
    return float(np.abs(np.atleast_2d(np.corrcoef(ranks, rowvar=False))[-1, :-1]).max())


def _alone(values: Array, y: Labels, folds: Sequence[Any], regression: bool) -> float:
    """The score of a tree on these columns alone on held-out rows.

    It is R² of ranks, or the mean over classes of the share of right rows.
    """
    from sklearn.metrics import balanced_accuracy_score, r2_score  # not at start-up
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # not at start-up

    if np.ptp(values, axis=0).max() == 0.0:
        return 0.0
    target = y
    kind, fewest = DecisionTreeClassifier, 2
    if regression:
        target = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(float)
        kind, fewest = DecisionTreeRegressor, 3
    tree = kind(min_samples_leaf=fewest, max_leaf_nodes=128, random_state=0)
    predicted = np.empty_like(target)
    for rows, held in folds:
        predicted[held] = tree.fit(values[rows], target[rows]).predict(values[held])
    # A row that is the only one of its class is in no fold.
    scored = np.concatenate([held for _, held in folds])
    if regression:
        return float(max(0.0, r2_score(target[scored], predicted[scored])))
    return float(balanced_accuracy_score(target[scored], predicted[scored]))


def _parts(data: Dataset) -> list[Leak]:
    """The columns of a sum with fixed factors that is the target, found one after the other."""
    from sklearn.preprocessing import scale  # not at start-up

    numbers = {name: members[0] for name, members in data.columns if len(members) == 1}
    if data.task != "regression" or not numbers or np.ptp(data.y) == 0.0:
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


def _along_rows(data: Dataset, name: str, members: Sequence[int]) -> Array:
    """The values of a column (n,), for dates their days; 0 if it cannot sort rows."""
    days = [j for j in members if data.feature_names[j] == f"day of {name}"]
    if len(members) > 1 and not days:
        return np.where(np.arange(data.n_samples) % 2, 1.0, 0.0)
    return data.X[:, days[0] if days else members[0]]


def _dating(
    data: Dataset,
    explaining: Sequence[Leak],
    scores: Mapping[str, float],
) -> list[Leak]:
    """Dates that explain the target well: what holds over time may not hold for newer rows."""
    known = {leak.column for leak in explaining}
    sorts = {leak.column for leak in _ordering(data)}
    found = []
    for name, members in data.columns:
        is_date = any(data.feature_names[j] == f"day of {name}" for j in members)
        if is_date and name not in known and scores.get(name, 0.0) >= DATED:
            how = (
                "Test on the newest rows"
                if name in sorts
                else f"Sort the file by {name}, then test on the last rows"
            )
            text = (
                f"{name} explains much of {data.target_name} ({scores[name]:.0%} on "
                "held-out rows): the target moves with time, and new rows are newer. "
                f"{how}, or leave it out."
            )
            found.append(Leak(name, "order", scores[name], text))
    return found


def _ordering(data: Dataset) -> list[Leak]:
    """Columns of numbers that never turn along the rows, which are in that order for a reason."""
    found = []
    for name, members in data.columns:
        values = _along_rows(data, name, members)
        steps = np.diff(values)
        is_falling = bool(np.all(steps <= 0.0))
        is_date = len(members) > 1
        least = FEWEST if is_date else DIFFERENT * len(values)
        if not (is_falling or np.all(steps >= 0.0)) or np.unique(values).size < least:
            continue
        way = "falls" if is_falling else "rises"
        text = (
            f"{name} only {way} along the rows, as a row number or a time does. New rows are "
            "beyond it: leave it out, and where rows are in the order of time, test on the last "
            "ones."
        )
        if is_date:
            text = (
                f"{name} only {way} along the rows: they are in the order of time. New rows come "
                "after them, so test on the newest."
            )
        found.append(Leak(name, "order", 1.0, text))
    return found
