"""Whether a run agrees with what a paper states.

A claim is a sentence with rows of checks; a check puts quantities into a relation:

    relation      of, than                                      in every row
    below         columns, columns                              each is below each of the others, by more than ``by``
    order         columns                                       each is below the next
    lowest        column or several, among columns              it, or the best of several, is below all others
    highest       the same, above
    alike         column, columns                               they differ by less than ``by``, or by a ``share``
    between       columns                                       each is between ``low`` and ``high``
    rises, falls  columns                                       from each row to the next, by more than ``by``
    same          columns                                       it differs by less than ``by`` from row to row
    trend up      columns, less the column ``than``             the line through the rows rises (``down``: falls)
    every         columns, columns                              never above, in any repetition, as theorems say
    published     columns (all by default)                      chance explains the difference to the printed number

Columns and rows are patterns such as "p = *"; without ``rows`` all measured ones count. Each
comparison is a number with its standard error over the repetitions, and the interval in which the
claim places it. It agrees where the 95 % confidence interval is inside, disagrees where that is
outside, and is undecided in between. A claim agrees where all its comparisons do. It disagrees
where one does, at the 95 % level of all together (Bonferroni).

A difference may also be nil. Where a claim is about the sign of a difference and the confidence
interval is within a margin around 0, the two are equal. The margin is half of the printed
difference or ``equal``, which is written down before the run, whichever is larger. A claim is equal
where at least one of its comparisons is and all others agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from mklcore.arrays import Array, Names
from mklcore.gallery.experiments.records import PaperComparison

Answer = Literal["agrees", "equal", "disagrees", "undecided", "without a number"]
AGREES: Answer = "agrees"
EQUAL: Answer = "equal"  # the difference is nil, to within a margin
DISAGREES: Answer = "disagrees"
UNSAID: Answer = "undecided"
ABSENT: Answer = "without a number"  # the run has not measured what the claim is about
ANSWERS = (DISAGREES, AGREES, EQUAL, UNSAID, ABSENT)  # in the order they are shown
OF_ONE = {
    DISAGREES: "the one claim disagrees",
    AGREES: "the one claim agrees",
    EQUAL: "the one claim is equal",
    UNSAID: "the difference of the one claim is too small to call",
    ABSENT: "the one claim has no number in this run",
}
LEVEL = 0.95
TIE = 1e-12
_MOST_SHOWN = 3
# How the claims with an answer are counted: one of them, and several after their number.
_COUNTED: tuple[tuple[Answer, str, str], ...] = (
    (DISAGREES, "1 disagrees", "disagree"),
    (EQUAL, "1 is equal", "are equal"),
    (UNSAID, "1 difference is too small to call", "differences are too small to call"),
    (ABSENT, "1 has no number in this run", "have no number in this run"),
)
# What the comparisons are called that are shown for a claim with an answer.
_SHOWN = {AGREES: "the closest", DISAGREES: "disagreeing", UNSAID: "not clear", EQUAL: "equal"}


@dataclass(frozen=True)
class Check:
    """One check of a claim: a relation of columns to others or to numbers, in some rows."""

    relation: str
    of: Names = ("*",)
    than: Names = ()
    rows: Names = ()
    by: float = 0.0
    share: float = 0.0
    low: float = -np.inf
    high: float = np.inf
    equal: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A sentence or number of a paper: its ``text`` in our words, its ``place`` and its ``checks``.

    Where the paper says ``mostly``, more than half of the comparisons decide. ``why`` is the reason
    where ours disagrees.
    """

    text: str
    place: str
    checks: tuple[Check, ...]
    mostly: bool = False
    why: str = ""

    @property
    def sentence(self) -> str:
        """The claim with its place in the paper."""
        return f"{self.text} ({self.place})"

    def judge(self, found: PaperComparison) -> ClaimVerdict:
        """Judge the claim by a run.

        A comparison of one repetition has no interval. It decides nothing where others have one.
        """
        compared: list[Estimate] = []
        for check in self.checks:
            compared += RELATIONS[check.relation](check, found)
        compared = [estimate for estimate in compared if np.isfinite(estimate.center)]
        if not compared:
            return ClaimVerdict(self, ABSENT, "This run has no number for it.")
        repeated = [estimate for estimate in compared if np.isfinite(estimate.error)]
        once = len(compared) - len(repeated) if repeated else 0
        compared = repeated or compared
        answers = [one.answer(1 if self.mostly else len(compared)) for one in compared]
        count = {answer: answers.count(answer) for answer in ANSWERS}
        if self.mostly:
            called = (AGREES, DISAGREES, EQUAL)
            answer = next((one for one in called if 2 * count[one] > len(compared)), UNSAID)
        else:
            answer = next((one for one in (DISAGREES, UNSAID, EQUAL) if count[one]), AGREES)
        figures = _figures(compared, answers, answer)
        if self.mostly:
            figures += ' The paper says "mostly": more than half decide.'
        if once:
            figures += f" Not counted: {once} of one repetition, which has no interval."
        if answer == DISAGREES and self.why:
            figures += f" Why: {self.why}"
        return ClaimVerdict(self, answer, figures)


class ClaimVerdict(NamedTuple):
    """The answer of a run to a claim, with the figures that decide.

    ``stand_in`` tells that none of its rows is on the paper's data.
    """

    claim: Claim
    answer: Answer
    figures: str
    stand_in: bool = False


class Estimate(NamedTuple):
    """One comparison: ``center`` with its ``error``, claimed to be between ``low`` and ``high``.

    ``freedom`` is infinite where nothing is random. ``beyond`` tells whether a printed number
    disagrees; it is None where the interval decides. ``equal`` is the margin around ``low`` within
    which the difference is nil.
    """

    said: str
    center: float
    error: float
    freedom: float
    low: float
    high: float
    claimed: str = ""
    beyond: bool | None = None
    equal: float = 0.0

    def reach(self, level: float = LEVEL) -> float:
        """Half the width of the confidence interval."""
        if self.error == 0:
            return 0.0
        if self.freedom <= 0:
            return np.inf
        return float(stdtrit(self.freedom, 0.5 + level / 2)) * self.error

    def answer(self, together: int = 1) -> Answer:
        """The answer, in which ``together`` comparisons share the level of a disagreement."""
        reach = self.reach()
        wide = self.reach(1 - (1 - LEVEL) / together)
        # Where nothing is random, a tie contradicts "below".
        tie = TIE if np.isinf(self.freedom) else 0.0
        disagrees = self.beyond
        if disagrees is None:
            is_below = self.center + wide < self.low + tie
            disagrees = is_below or self.center - wide > self.high - tie
        if disagrees:
            return DISAGREES
        if self.low < self.center - reach and self.center + reach < self.high:
            return AGREES
        return EQUAL if abs(self.center - self.low) + reach < self.equal else UNSAID

    def clearness(self) -> float:
        """How far from the nearer end of the interval that is claimed, in standard errors."""
        nearest = self._nearest_end()
        if self.error > 0:
            return nearest / self.error
        return np.inf if nearest else 0.0

    def _nearest_end(self) -> float:
        return min(abs(self.center - self.low), abs(self.center - self.high))

    def needed(self) -> float:
        """How many repetitions would decide the comparison, if center and spread stay.

        The confidence interval is then clear of the ends or within the margin. The number is NaN
        for printed numbers, because their own error stays.
        """
        if self.beyond is not None:
            return np.nan
        room = max(self._nearest_end(), self.equal - abs(self.center - self.low), TIE)
        count = self.freedom + 1.0
        wanted = count * (float(stdtrit(1e9, 0.975)) * self.error / room) ** 2
        return max(wanted, count + 1.0, 5.0)

    def text(self, answer: Answer = UNSAID) -> str:
        """The figures: "p = ∞ − p = 1 at n = 60: −10 ± 3.1, claimed above 0"."""
        center = 0.0 if abs(self.center) < TIE else self.center
        spread = ""
        if self.error != 0:
            reach = self.reach()
            spread = f" ± {reach:.2g}" if np.isfinite(reach) else " (no standard error)"
        claimed = self.claimed
        if not claimed:
            claimed = f"between {self.low:.4g} and {self.high:.4g}"
            if np.isinf(self.high):
                claimed = f"above {self.low:.4g}"
            elif np.isinf(self.low):
                claimed = f"below {self.high:.4g}"
        nil = f", nil to within {self.equal:.2g}" if answer == EQUAL else ""
        return f"{self.said}: {center:.4g}{spread}, claimed {claimed}{nil}".replace(": -", ": −")


def published_answers(claims: Sequence[Claim], found: PaperComparison) -> list[Answer]:
    """Whether ours is equal to every printed number up to chance, as the claims about them judge."""
    checks: list[Check] = []
    for claim in claims:
        checks += [check for check in claim.checks if check.relation == "published"]
    compared: list[Estimate] = []
    for check in checks or [Check("published")]:
        compared += _published(check, found)
    return [estimate.answer() for estimate in compared if np.isfinite(estimate.center)]


def counted(verdicts: Sequence[ClaimVerdict]) -> str:
    """How many claims have which verdict, or which verdict the only claim has.

    As in "6 of 9 agree; 1 disagrees; 2 differences are too small to call".
    """
    if len(verdicts) == 1:
        return OF_ONE[verdicts[0].answer]
    if not verdicts:
        return "nothing"
    count = Counter(verdict.answer for verdict in verdicts)
    said = [f"{count[AGREES]} of {len(verdicts)} agree"]
    for answer, one, several in _COUNTED:
        if count[answer]:
            said.append(one if count[answer] == 1 else f"{count[answer]} {several}")
    return "; ".join(said)


def by_data(verdicts: Sequence[ClaimVerdict]) -> list[tuple[str, list[ClaimVerdict]]]:
    """The verdicts on the paper's data, and those on stand-ins, each under its heading."""
    own = [verdict for verdict in verdicts if not verdict.stand_in]
    others = [verdict for verdict in verdicts if verdict.stand_in]
    return [
        ("What the paper states, on its data", own),
        ("What it states, on stand-ins", others),
    ]


def _figures(compared: list[Estimate], answers: list[Answer], answer: Answer) -> str:
    """The comparisons with the answer of the claim, the farthest first, or the closest that agrees.

    An undecided claim also has the number of repetitions that would decide it.
    """
    more = _more_runs(compared, answers) if answer == UNSAID else ""
    if len(compared) == 1:
        return f"{compared[0].text(answer)}.{more}"
    count = Counter(answers)
    head = f"{count[AGREES]} of {len(compared)} comparisons agree"
    if count[DISAGREES]:
        head += f", {count[DISAGREES]} disagree{'s' if count[DISAGREES] == 1 else ''}"
    if count[EQUAL]:
        head += f", {count[EQUAL]} equal"
    if count[UNSAID]:
        head += f", {count[UNSAID]} too small to call"
    deciding = [one for one, said in zip(compared, answers, strict=True) if said == answer]
    if not deciding:
        return f"{head}."
    deciding.sort(key=Estimate.clearness, reverse=answer != AGREES)
    shown = deciding[: 1 if answer == AGREES else _MOST_SHOWN]
    texts = "; ".join(estimate.text(answer) for estimate in shown)
    if answer != AGREES and len(deciding) > len(shown):
        texts += f"; and {len(deciding) - len(shown)} more"
    return f"{head}; {_SHOWN[answer]}: {texts}.{more}"


def _more_runs(compared: list[Estimate], answers: list[Answer]) -> str:
    """How many repetitions would decide a claim, where that can be estimated."""
    count = 0.0
    for estimate, answer in zip(compared, answers, strict=True):
        if answer == UNSAID:
            count = np.fmax(count, estimate.needed())
    if count == 0.0:
        return ""
    size = "more than 10,000" if count > 1e4 else f"about {int(np.ceil(count))}"
    return f" With these spreads {size} repetitions would decide."


# Relations


def _put(
    found: PaperComparison,
    said: str,
    values: Array,
    low: float,
    high: float = np.inf,
    equal: float = 0.0,
) -> Estimate:
    """The mean of one number per repetition, which is claimed to be between ``low`` and ``high``."""
    values = values[np.isfinite(values)]
    n = values.size
    error = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    freedom = n - 1.0
    if found.exact:
        error = 0.0
        freedom = np.inf
    center = float(values.mean()) if n else np.nan
    return Estimate(said, center, error, freedom, low, high, equal=equal)


Cell = tuple[str, str]  # row, column


def _nil(check: Check, found: PaperComparison, one: Cell, other: Cell) -> float:
    """The margin within which the difference of two cells is nil.

    It is half of the printed difference or that of the check, whichever is larger.
    """
    printed = abs(found.printed(*one) - found.printed(*other)) / 2.0
    return 0.0 if check.by else float(np.fmax(printed, check.equal))


def _pairs(
    check: Check,
    found: PaperComparison,
) -> Iterator[tuple[str, str, str, Array]]:
    """A row, a column, a column it is compared with, and how far that one is above it."""
    for one in found.named(check.of):
        for row in found.chosen(check.rows):
            for other in found.named(check.than):
                yield row, one, other, found.of(row, other) - found.of(row, one)


def _below(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for row, one, other, above in _pairs(check, found):
        nil = _nil(check, found, (row, one), (row, other))
        yield _put(found, f"{other} − {one} at {row}", above, check.by, equal=nil)


def _order(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for low, high in pairwise(found.named(check.of)):
        yield from _below(replace(check, of=(low,), than=(high,)), found)


def _extreme(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    sign = 1 if check.relation == "lowest" else -1
    several = found.named(check.of)
    for row in found.chosen(check.rows):
        means = [sign * np.nanmean(found.of(row, column)) for column in several]
        best = several[int(np.argmin(means))]
        for other in found.named(check.than):
            if other not in several:
                low, high = (best, other)[::sign]
                above = found.of(row, high) - found.of(row, low)
                nil = _nil(check, found, (row, low), (row, high))
                yield _put(found, f"{high} − {low} at {row}", above, 0.0, equal=nil)


def _alike(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for row, one, other, apart in _pairs(check, found):
        said = f"{other} − {one}"
        by = check.by
        if check.share:
            said = f"({said}) / mean {one}"
            by = check.share
            apart = apart / float(np.nanmean(found.of(row, one)))
        yield _put(found, f"{said} at {row}", apart, -by, by)


def _every(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for row, one, other, above in _pairs(check, found):
        said = f"least of {other} − {one} at {row}"
        least = float(np.nanmin(above))
        yield Estimate(said, least, 0.0, 1.0, -1e-9, np.inf, "at least 0 in every repetition")


def _between(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for row in found.chosen(check.rows):
        for column in found.named(check.of):
            yield _put(found, f"{column} at {row}", found.of(row, column), check.low, check.high)


def _along(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    for a, b in pairwise(found.chosen(check.rows)):
        for column in found.named(check.of):
            more = found.of(b, column) - found.of(a, column)
            if check.relation == "same":
                yield _put(found, f"{column}, {b} − {a}", more, -check.by, check.by)
            else:
                sign, name = (1.0, "rise") if check.relation == "rises" else (-1.0, "fall")
                nil = _nil(check, found, (a, column), (b, column))
                said = f"{column}, {name} from {a} to {b}"
                yield _put(found, said, sign * more, check.by, equal=nil)


def _trend(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    rows = found.chosen(check.rows)
    if len(rows) < 2:
        return
    ends = (0.0, np.inf) if check.relation == "trend up" else (-np.inf, 0.0)
    for column in found.named(check.of):
        values = np.array([found.of(row, column) for row in rows])
        said = column
        for minus in found.named(check.than):
            values = values - np.array([found.of(row, minus) for row in rows])
            said = f"{said} − {minus}"
        values = values[:, np.isfinite(values).all(axis=0)]
        slopes = np.polyfit(np.arange(len(rows)), values, 1)[0] if values.size else values[0]
        yield _put(found, f"{said}, per row from {rows[0]} to {rows[-1]}", slopes, *ends)


def _published(check: Check, found: PaperComparison) -> Iterator[Estimate]:
    """Compare with every printed number.

    A run is undecided where chance reaches farther than a share of the number, by default 0.25.
    """
    beyond = found.beyond()
    for row in found.chosen(check.rows):
        for column in found.named(check.of):
            if column not in found.columns:
                continue
            at = found.rows.index(row), found.columns.index(column)
            printed = float(found.reference[at])
            error = float(found.joint_error[at])
            by = max((check.share or 0.25) * abs(printed), 1e-9)
            said = f"{column} at {row} less the reference {printed:g}"
            if np.isfinite(error):
                center = float(found.difference[at])
                freedom = float(found.freedom[at])
                yield Estimate(
                    said, center, error, freedom, -by, by, "equal up to chance", bool(beyond[at])
                )


RELATIONS: dict[str, Callable[[Check, PaperComparison], Iterator[Estimate]]] = {
    "below": _below,
    "order": _order,
    "lowest": _extreme,
    "highest": _extreme,
    "alike": _alike,
    "between": _between,
    "rises": _along,
    "falls": _along,
    "same": _along,
    "trend up": _trend,
    "trend down": _trend,
    "every": _every,
    "published": _published,
}
