"""What a paper states, checked on a run of ours: a claim is a sentence or a number with a check, and the run gives the
verdict.

A check turns a record into comparisons. Each is a number with its standard error over the repetitions and the interval
that the claim puts it into: a difference of two columns of the same repetition above 0, an error within a margin of a
printed one. It agrees where the 95 % confidence interval is inside, disagrees where it is outside, and cannot be
said in between. A claim agrees where all its comparisons do; it disagrees where one does, at the 95 % level of all
together (Bonferroni).

    Claim("ℓ1-norm MKL is outperformed by the plain sum.", "section 6.3", order("p = 1", "p = ∞"))
    Claim("It mostly performs worse.", "section 6.1", below("p = 2", "p = 1"), mostly=True)
    Claim("MKL-GOMP selects 14 kernels.", "section 5.2", published("kernels of GOMP", rows="psortPos"))

Helpers take columns by name, and ``rows`` (all that were measured, by default); ``all_of`` joins checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from mklcore.arrays import Array, Mask

Answer = Literal["agrees", "disagrees", "undecided"]
AGREES: Answer = "agrees"
DISAGREES: Answer = "disagrees"
UNSAID: Answer = "undecided"
ANSWERS = (DISAGREES, AGREES, UNSAID)  # in the order they are shown
LEVEL = 0.95
TIE = 1e-12
_MOST_SHOWN = 3
Names = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Record:
    """A run as checks see it: ``samples`` (rows, repetitions, columns); ``exact`` where nothing in it is random.

    ``reference``, ``joint_error``, ``freedom`` and ``beyond`` (rows, columns): printed numbers, the standard error of
    the difference to them, its degrees of freedom, and where the difference is not explained by chance.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    samples: Array
    exact: bool
    reference: Array
    joint_error: Array
    freedom: Array
    beyond: Mask

    def of(self, row: str, column: str) -> Array:
        """All repetitions of one cell."""
        values: Array = self.samples[self.rows.index(row), :, self.columns.index(column)]
        return values

    def chosen(self, rows: Names) -> list[str]:
        """The rows asked for that were measured; all of them where none are named."""
        asked = _names(rows) or self.rows
        return [row for row in self.rows if row in asked]


class Compared(NamedTuple):
    """One comparison: ``center`` with ``error`` and ``freedom``, claimed to be between ``low`` and ``high``, in the
    words of ``claimed``.

    ``freedom`` is infinite where nothing is random. ``beyond``: whether it disagrees where that is decided elsewhere
    (printed numbers); None where the interval decides.
    """

    said: str
    center: float
    error: float
    freedom: float
    low: float
    high: float
    claimed: str
    beyond: bool | None = None

    def reach(self, level: float = LEVEL) -> float:
        """Half the width of the confidence interval."""
        if self.error == 0:
            return 0.0
        return float(stdtrit(self.freedom, 0.5 + level / 2)) * self.error if self.freedom > 0 else np.inf

    def answer(self, together: int = 1) -> Answer:
        """What this comparison says; a disagreement at the level of ``together`` comparisons at once."""
        reach, wide = self.reach(), self.reach(1 - (1 - LEVEL) / together)
        tie = TIE if np.isinf(self.freedom) else 0.0  # where nothing is random a tie contradicts "below"
        apart = self.center + wide < self.low + tie or self.center - wide > self.high - tie
        if apart if self.beyond is None else self.beyond:
            return DISAGREES
        return AGREES if self.low < self.center - reach and self.center + reach < self.high else UNSAID

    def text(self) -> str:
        """The figures: "p = ∞ − p = 1 at n = 60: −10 ± 3.1, claimed above 0"."""
        reach = self.reach()
        spread = "" if self.error == 0 else f" ± {reach:.2g}" if np.isfinite(reach) else " (no standard error)"
        return f"{self.said}: {self.center:.4g}{spread}, claimed {self.claimed}".replace(": -", ": −")


Check = Callable[[Record], list[Compared]]


@dataclass(frozen=True)
class Verdict:
    """What a run says of a claim, with the figures that it says so by."""

    answer: Answer
    figures: str


@dataclass(frozen=True)
class Claim:
    """A sentence or number of a paper: its ``text`` in our words, its ``place`` and the ``check`` on a record.

    ``mostly``: the paper says "mostly", so more than half of the comparisons decide. ``why``: the reason, where ours
    disagrees.
    """

    text: str
    place: str
    check: Check
    mostly: bool = False
    why: str = ""

    def verdict(self, record: Record) -> Verdict:
        """What the record says of it."""
        found = [one for one in self.check(record) if np.isfinite(one.center)]
        if not found:
            return Verdict(UNSAID, "This run has no number for it.")
        answers = [one.answer(1 if self.mostly else len(found)) for one in found]
        count = {answer: answers.count(answer) for answer in ANSWERS}
        if self.mostly:
            leading = [answer for answer in (AGREES, DISAGREES) if 2 * count[answer] > len(found)]
            answer = leading[0] if leading else UNSAID
        else:
            answer = DISAGREES if count[DISAGREES] else UNSAID if count[UNSAID] else AGREES
        return Verdict(answer, _figures(found, answers, answer))


def counted(verdicts: Sequence[Verdict]) -> str:
    """How many claims have which verdict: "1 disagrees, 3 agree, 2 undecided"."""
    many = {DISAGREES: "disagree", AGREES: "agree", UNSAID: "undecided"}
    count = {answer: sum(one.answer == answer for one in verdicts) for answer in ANSWERS}
    return ", ".join(f"{count[one]} {one if count[one] == 1 else many[one]}" for one in ANSWERS if count[one])


def _figures(found: list[Compared], answers: list[Answer], answer: Answer) -> str:
    """The comparisons that decide: those with the answer of the whole, the farthest first; of all that hold the
    closest.
    """
    if len(found) == 1:
        return found[0].text() + "."
    deciding = [one for one, said in zip(found, answers, strict=True) if said == answer]
    clearness = [_clearness(one) for one in deciding]
    order = np.argsort(clearness if answer == AGREES else [-value for value in clearness], kind="stable")
    shown = [deciding[place].text() for place in order[: 1 if answer == AGREES else _MOST_SHOWN]]
    head = f"{answers.count(AGREES)} of {len(found)} comparisons agree"
    apart = answers.count(DISAGREES)
    head += f", {apart} disagree{'s' * (apart == 1)}" if apart else ""
    head += f", {answers.count(UNSAID)} undecided" if answers.count(UNSAID) else ""
    name = {AGREES: "the closest", DISAGREES: "disagreeing", UNSAID: "not clear"}[answer]
    more = f"; and {len(deciding) - len(shown)} more" if answer != AGREES and len(deciding) > len(shown) else ""
    return f"{head}; {name}: {'; '.join(shown)}{more}." if shown else f"{head}."


def _clearness(one: Compared) -> float:
    """How far from the nearer end of the interval that is claimed, in standard errors."""
    nearest = min(abs(one.center - end) for end in (one.low, one.high))
    return nearest / one.error if one.error > 0 else np.inf if nearest else 0.0


def order(*columns: str, rows: Names = ()) -> Check:
    """The columns rise from left to right in every row: each is below its right neighbour."""
    return all_of(*(below(low, high, rows) for low, high in pairwise(columns)))


def below(low: str, high: Names, rows: Names = (), by: float = 0.0) -> Check:
    """One column is below each of the others, by more than ``by``, in every row."""

    def check(record: Record) -> list[Compared]:
        return [
            _paired(record, row, record.of(row, other) - record.of(row, low), f"{other} − {low}", by, np.inf)
            for row in record.chosen(rows)
            for other in _names(high)
        ]

    return check


def above(high: str, low: Names, rows: Names = (), by: float = 0.0) -> Check:
    """One column is above each of the others, by more than ``by``, in every row."""
    return all_of(*(below(other, high, rows, by) for other in _names(low)))


def lowest(columns: Names, among: Names, rows: Names = ()) -> Check:
    """The column, or the one of several that is lowest on average, is below all others of ``among``, in every row."""
    return _extreme(_names(columns), _names(among), rows, 1.0)


def highest(columns: Names, among: Names, rows: Names = ()) -> Check:
    """The column, or the one of several that is highest on average, is above all others of ``among``, in every row."""
    return _extreme(_names(columns), _names(among), rows, -1.0)


def _extreme(columns: tuple[str, ...], among: tuple[str, ...], rows: Names, sign: float) -> Check:
    def check(record: Record) -> list[Compared]:
        found = []
        for row in record.chosen(rows):
            best = min(columns, key=lambda column, row=row: sign * float(record.of(row, column).mean()))  # type: ignore[misc]
            made = below if sign > 0 else above
            found += made(best, [other for other in among if other not in columns], row)(record)
        return found

    return check


def alike(one: str, others: Names, by: float, rows: Names = ()) -> Check:
    """Two columns differ by less than ``by`` in every row."""

    def check(record: Record) -> list[Compared]:
        return [
            _paired(record, row, record.of(row, other) - record.of(row, one), f"{other} − {one}", -by, by)
            for row in record.chosen(rows)
            for other in _names(others)
        ]

    return check


def between(columns: Names, low: float, high: float, rows: Names = ()) -> Check:
    """Every column is between two numbers, in every row."""

    def check(record: Record) -> list[Compared]:
        return [
            _paired(record, row, record.of(row, column), column, low, high)
            for row in record.chosen(rows)
            for column in _names(columns)
        ]

    return check


def close(columns: Names, value: float, by: float, rows: Names = ()) -> Check:
    """Every column is within ``by`` of a number, in every row."""
    return between(columns, value - by, value + by, rows)


def at_most(columns: Names, value: float, rows: Names = ()) -> Check:
    """Every column is below a number, in every row."""
    return between(columns, -np.inf, value, rows)


def at_least(columns: Names, value: float, rows: Names = ()) -> Check:
    """Every column is above a number, in every row."""
    return between(columns, value, np.inf, rows)


def falls(columns: Names, *rows: str, by: float = 0.0) -> Check:
    """Every column falls, by more than ``by``, from each of the rows to the next; all rows in their order by
    default.
    """
    return _along(_names(columns), rows, -1.0, by)


def rises(columns: Names, *rows: str, by: float = 0.0) -> Check:
    """Every column rises, by more than ``by``, from each of the rows to the next; all rows in their order by
    default.
    """
    return _along(_names(columns), rows, 1.0, by)


def _along(columns: tuple[str, ...], rows: tuple[str, ...], sign: float, by: float) -> Check:
    def check(record: Record) -> list[Compared]:
        there = [row for row in rows or record.rows if row in record.rows]
        return [
            _found(
                record, sign * (record.of(b, column) - record.of(a, column)),
                f"{column}, {'rise' if sign > 0 else 'fall'} from {a} to {b}", by, np.inf,
            )
            for a, b in pairwise(there)
            for column in columns
        ]  # fmt: skip

    return check


def same(columns: Names, row: str, other: str, by: float) -> Check:
    """Every column differs by less than ``by`` between two rows."""

    def check(record: Record) -> list[Compared]:
        if not {row, other} <= set(record.rows):
            return []
        return [
            _found(record, record.of(other, c) - record.of(row, c), f"{c}, {other} − {row}", -by, by)
            for c in _names(columns)
        ]

    return check


def trend(columns: Names, rows: Names = (), rising: bool = True, minus: str = "") -> Check:
    """Every column, less the column ``minus``, has a rising (or falling) straight line through the rows in their
    order.
    """

    def check(record: Record) -> list[Compared]:
        there = record.chosen(rows)
        if len(there) < 2:
            return []
        found = []
        for column in _names(columns):
            values = np.array([record.of(row, column) - (record.of(row, minus) if minus else 0.0) for row in there])
            slopes = np.polyfit(np.arange(len(there)), values, 1)[0]
            said = f"{column}{f' − {minus}' * bool(minus)}, per row from {there[0]} to {there[-1]}"
            found.append(_found(record, slopes, said, *((0.0, np.inf) if rising else (-np.inf, 0.0))))
        return found

    return check


def every(low: Names, high: str, rows: Names = (), slack: float = 1e-9) -> Check:
    """Each of some columns is at most another in every single repetition, as theorems say: the worst one decides."""

    def check(record: Record) -> list[Compared]:
        return [
            Compared(
                f"least of {high} − {column} at {row}", float((record.of(row, high) - record.of(row, column)).min()),
                0.0, 1.0, -slack, np.inf, "at least 0 in every repetition",
            )
            for row in record.chosen(rows)
            for column in _names(low)
        ]  # fmt: skip

    return check


def measured(said: str, values: Callable[[Record, str], Array], low: float, high: float, rows: Names = ()) -> Check:
    """Anything else: ``values(record, row)``, one per repetition, is between two numbers in every row."""

    def check(record: Record) -> list[Compared]:
        return [_paired(record, row, values(record, row), said, low, high) for row in record.chosen(rows)]

    return check


def published(columns: Names = (), rows: Names = (), share: float = 0.25) -> Check:
    """The printed numbers, in every cell that has one: chance explains the difference, as on the Experiments page.

    Where chance reaches farther than ``share`` of the printed number the run is too small to say anything.
    """

    def check(record: Record) -> list[Compared]:
        found = []
        for row in record.chosen(rows):
            for column in _names(columns) or record.columns:
                i, j = record.rows.index(row), record.columns.index(column)
                ours, printed = float(record.samples[i, :, j].mean()), float(record.reference[i, j])
                by = max(share * abs(printed), 1e-9)
                found.append(
                    Compared(
                        f"{column} at {row} less the reference {printed:g}",
                        ours - printed,
                        float(record.joint_error[i, j]),
                        float(record.freedom[i, j]),
                        -by,
                        by,
                        "equal up to chance",
                        bool(record.beyond[i, j]),
                    )
                )
        return [one for one in found if np.isfinite(one.error)]

    return check


def all_of(*checks: Check) -> Check:
    """All comparisons of several checks."""
    return lambda record: [one for check in checks for one in check(record)]


def _paired(record: Record, row: str, values: Array, said: str, low: float, high: float) -> Compared:
    return _found(record, values, f"{said} at {row}", low, high)


def _found(record: Record, values: Array, said: str, low: float, high: float) -> Compared:
    n = values.size
    error = 0.0 if record.exact else float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    freedom = np.inf if record.exact else n - 1.0
    return Compared(said, float(values.mean()), error, freedom, low, high, _interval(low, high))


def _interval(low: float, high: float) -> str:
    if np.isinf(high):
        return f"above {low:.4g}"
    return f"below {high:.4g}" if np.isinf(low) else f"between {low:.4g} and {high:.4g}"


def _names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
