"""Which column is the target when nobody says: the likeliest ones, each with its reason and a confidence."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mklcore.data.columns import MAX_NAME, Profile, looks_like_id
from mklcore.data.computed import Relations

MAX_CLASSES = 50
SHOWN = 3  # candidates beside each other
SURE = 0.8  # from this confidence on a guess is not called unsure
LOOKED_AT = 40  # so many of the likeliest columns are compared with all others; fewer in a wide table
AMOUNT = 20  # a measured quantity has more different values
CODES = 10  # a class written as a whole number has at most so many
ROWS_A_CLASS = 5  # words of more than 20 kinds are classes if each has so many rows

# Names, in lower case and without units. Words of what people predict; the points say how often they are right.
SETTLED = (
    "target",
    "label",
    "labels",
    "class",
    "classes",
    "y",
    "outcome",
    "response",
    "klasse",
    "zielgröße",
    "classe",
    "cible",
    "clase",
    "objetivo",
)
NAMED = (
    "admit",
    "admitted",
    "approve",
    "approved",
    "attrition",
    "charges",
    "churn",
    "churned",
    "default",
    "defects",
    "deny",
    "denied",
    "diagnosis",
    "direction",
    "exited",
    "fraud",
    "inlf",
    "lfp",
    "medv",
    "mpg",
    "partic",
    "participation",
    "purchase",
    "purchased",
    "released",
    "result",
    "rings",
    "sentiment",
    "spam",
    "species",
    "survived",
    "vote",
)
SOLD_FOR = ("sale price", "saleprice", "selling price", "house price", "median house value", "quality")
PRICE = ("price", "preis", "prix", "precio")
SALES = ("sales", "sold", "demand", "quantity", "units")  # beside them a price explains
LAST_WORDS = ("target", "label", "outcome", "response")
HAPPENED = (
    "accepted",
    "admitted",
    "approved",
    "bought",
    "callback",
    "cancer",
    "chd",
    "churned",
    "death",
    "default",
    "denied",
    "diabetes",
    "died",
    "disease",
    "failure",
    "fault",
    "fraud",
    "hired",
    "left",
    "passed",
    "problems",
    "purchased",
    "recid",
    "released",
    "returned",
    "stroke",
    "survived",
    "volunteer",
    "won",
)
ASKED = ("is", "has", "was", "will", "received")  # what a column of two values asks: is_fraud, has_churned
CLASS_WORDS = ("category", "class", "diagnosis", "disease", "event", "grade", "risk", "species", "status", "variety")
PAID = ("earnings", "salary", "wage", "wages")
AMOUNT_WORDS = (
    "affairs",
    "charges",
    "cnt",
    "count",
    "counts",
    "expectancy",
    "fertility",
    "gpa",
    "prestige",
    "profit",
    "rent",
    "revenue",
    "ridership",
    "sales",
    "sold",
    "strength",
    "trips",
    "visits",
    "yield",
)
OFTEN_GIVEN = (
    "balance",
    "consumption",
    "cost",
    "crime",
    "delay",
    "demand",
    "eval",
    "expenditure",
    "points",
    "rate",
    "rating",
    "score",
    "temperature",
    "time",
    "value",
)
# Who, where and when: what people predict from.
GIVEN = (
    "address", "age", "black", "city", "country", "date", "day", "educ", "education", "ethnicity", "female", "gender",
    "hispanic", "holiday", "hour", "hr", "latitude", "longitude", "male", "marital", "maritl", "married", "minority",
    "month", "mnth", "name", "race", "region", "religion", "season", "sex", "south", "urban", "us", "weekday", "white",
    "workingday", "year", "yr", "zip",
)  # fmt: skip
INCOME = ("inc", "income")  # also at the end of a word
UNITS = ("eur", "euro", "euros", "usd", "gbp", "chf", "dollars", "pct", "percent")
INDEX_NAMES = ("rownames", "row.names", "column 1", "x")  # of what R writes before the first column
OUTCOMES = (
    {"positive", "negative"},
    {"good", "bad"},
    {"present", "absent"},
    {"benign", "malignant"},
    {"win", "loss"},
    {"+", "-"},
    {"won", "lost"},
    {"alive", "dead"},
    {"pass", "fail"},
    {"healthy", "sick"},
    {"normal", "abnormal"},
    {"up", "down"},
    {"approved", "denied"},
    {"accepted", "rejected"},
    {"spam", "ham"},
    {"case", "control"},
    {"p", "n"},
)
YES_NO = ({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"ja", "nein"}, {"oui", "non"}, {"si", "no"})
UNUSABLE = ("empty", "constant", "identifier", "date", "sequence")

UNNAMED = re.compile(r"column \d+|unnamed: \d+", re.I)  # a column without a name is no target

Point = tuple[float, str]  # how much it counts, and why; nothing is said of what speaks against


@dataclass(frozen=True)
class TargetCandidate:
    """A column that may be the target.

    place, name : which column. reason : what speaks for it. confidence : between 0 and 1, its share among the likeliest
    columns; a rule of thumb from names, places and values, not a measured probability.
    """

    place: int
    name: str
    reason: str
    confidence: float


def rank_targets(
    names: Sequence[str], profiles: Sequence[Profile], header: bool = True, task: str | None = None
) -> tuple[TargetCandidate, ...]:
    """The likeliest targets of a table, at most three, the likeliest first; none where no column can be the target.

    Every column that can be read as a target of ``task`` (any if None) gets points: for its name (class, price,
    is_fraud), for its place (last, or first after an index column as R writes it), for its values (good and bad, the
    only words among numbers) and for what other columns are made from it (its logarithm, a threshold). Mostly empty and
    constant columns, identifiers, dates, and columns computed from others (copies, logarithms, squares) are no
    candidates.
    """
    return _Ranking(names, profiles, header, task).likeliest()


def as_text(candidates: Sequence[TargetCandidate]) -> str:
    """The note about a guess: what was taken and why, and what else is likely where that is unsure."""
    best, *others = candidates
    text = f"No target was named: the column {best.name!r} was chosen, {best.reason}."
    if not is_sure(candidates):
        beside = " or ".join(f"{one.name!r} ({one.reason})" for one in others)
        text += f" The guess is unsure; it may also be {beside}."
    return f"{text} target= names another."


def is_sure(candidates: Sequence[TargetCandidate]) -> bool:
    """Whether one candidate is far ahead of the others."""
    return len(candidates) < 2 or candidates[0].confidence >= SURE


@dataclass
class _Ranking:
    """The points of every column of one table."""

    names: Sequence[str]
    profiles: Sequence[Profile]
    header: bool
    task: str | None

    def __post_init__(self) -> None:
        self.n_rows = len(self.profiles[0].values)
        self.usable = [
            j
            for j, one in enumerate(self.profiles)
            if _can_be_target(one, self.n_rows, self.task) and not (self.header and UNNAMED.fullmatch(self.names[j]))
        ]
        self.words = [name_words(name) for name in self.names]
        self.relations = Relations(self.profiles)
        self.most = min(LOOKED_AT, 8 + 4000 // len(self.names))
        self.worth = {j: self._name_worth(j) for j in self.usable}
        self.by_name = {j: self._name(j) for j in self.usable}
        self.odd = self._odd()

    def likeliest(self) -> tuple[TargetCandidate, ...]:
        """The columns with the most points; only they are compared with all others, for that takes time."""
        points = {j: [*self.by_name[j], *self._values(j)] for j in self.usable}
        for j, point in self._places():
            points[j].append(point)
        total = {j: sum(worth for worth, _ in found) for j, found in points.items()}
        for j in heapq.nlargest(self.most, total, key=lambda j: (total[j], j)):
            points[j] += self._related(j)
            total[j] = sum(worth for worth, _ in points[j])
            if self._is_computed(j):
                del total[j]
        best = heapq.nlargest(SHOWN, total, key=lambda j: (total[j], j))
        weights = [math.exp(total[j] - total[best[0]]) for j in best]
        return tuple(
            TargetCandidate(j, self.names[j], _reason(points[j]), round(weight / sum(weights), 3))
            for j, weight in zip(best, weights, strict=True)
        )

    def _name(self, j: int) -> list[Point]:
        """What the name says for and against the column."""
        worth, words = self.worth[j], self.words[j]
        points: list[Point] = [(worth, "by its name")] if worth else []
        many = self.profiles[j].labels is not None and self.profiles[j].column.distinct > CODES
        if worth < 2 and (words[0] in GIVEN or words[-1] in GIVEN or words[-1].endswith(INCOME)):
            points.append((-2.0, ""))
        elif worth < 2 and many:
            points.append((-1.0, ""))
        if looks_like_id(self.names[j]) and self.profiles[j].column.distinct > AMOUNT:
            points.append((-3.0, ""))
        return points

    def _name_worth(self, j: int) -> float:
        words, column = self.words[j], self.profiles[j].column
        whole, last = " ".join(words), words[-1]
        if whole == "y" and ("x",) in self.words[:j] and j < len(self.words) - 1:
            return 0.0  # coordinates
        if whole in SETTLED:
            return 6.5 if _bare(self.names[j]) == self.names[j] else 6.0
        if whole in SOLD_FOR or (len(words) > 1 and last in LAST_WORDS):
            return 4.5
        if whole in NAMED:
            return 4.0
        if last in PRICE:
            beside = any(other[-1] in SALES for other in self.words)
            return 1.0 if beside else 4.0 if len(words) == 1 else 3.5
        pair, asked = column.distinct == 2, words[0] in ASKED
        if pair and (words[0] in HAPPENED or last in (*HAPPENED, *PAID, *INCOME) or (asked and last in CLASS_WORDS)):
            return 3.0
        if re.fullmatch(r"y ?1", whole) and ("x1",) in self.words:
            return 3.0
        if last in PAID and _is_amount(self.profiles[j]):
            return 3.0
        if last in AMOUNT_WORDS and column.kind == "number":
            return 2.0
        if last in CLASS_WORDS and column.distinct <= AMOUNT:
            return 2.0
        if set(words) & {"target", "label", "class", *PRICE}:
            return 2.0
        return 0.5 if last == "type" else 1.0 if last in OFTEN_GIVEN or whole in ("num", "game") else 0.0

    def _values(self, j: int) -> list[Point]:
        """What stands in the column: two words that tell good from bad, yes from no; gaps speak against it."""
        item = self.profiles[j]
        if item.column.distinct == 2 and self.task == "regression":
            return [(-4.0, "")]
        found: list[Point] = [self.odd[j]] if j in self.odd else []
        if item.column.distinct == 2:
            pair = _pair_of_words(item)
            found.append((1.25, "by its yes and no") if pair in YES_NO else (0.5, "by its two values"))
            if pair in OUTCOMES or _denies(pair):
                found.append((2.5, f"by its values {' and '.join(sorted(pair))}"))
        return [*sorted(found, reverse=True)[:1], (-item.column.missing / self.n_rows, "")]

    def _places(self) -> Iterable[tuple[int, Point]]:
        """The first and the last column that can be one; R writes an index column before the first."""
        from_r = len(self.names) > 1 and _is_index(self.names[0], self.profiles[0])
        wanted = [j for j in self.usable if not self._is_given(j)]
        first = next((j for j in wanted[: self.most] if not self._is_computed(j)), None)
        last = next((j for j in self.usable[: -self.most - 1 : -1] if not self._is_computed(j)), None)
        if first is None or last is None:
            return
        after = [self.profiles[j].column for j in range(last + 1, len(self.names))]
        made = last < max(self.usable)  # columns of squares and logarithms stand behind
        at_end = all(one.kind in ("empty", "constant") or 2 * one.missing > self.n_rows for one in after)
        leads = first == min(self.usable)
        plain = (1.0 if at_end else 1.5) - (not leads) / 2
        worth = (2.0 if leads else 1.25) + made if from_r else plain
        yield first, (worth, "as the first column" if leads else "as the first column that can be one")
        where = "as the last column" if not after else "as the last column that can be one"
        yield last, ((2.0 if from_r else 2.5) if at_end else 1.0, where)

    def _odd(self) -> dict[int, Point]:
        """The column of another sort than all others; without names it is all there is to go by."""
        kinds = [item.column for item in self.profiles]
        if not any(_is_measured(item) for item in self.profiles):
            return {}
        measured = len(kinds) > 1 and all(_is_amount(item) for item in self.profiles[1:])
        if not self.header and measured and self.usable[:1] == [0] and _is_code(self.profiles[0]):
            return {0: (5.0, f"as a code of {kinds[0].distinct} values before measured numbers")}
        words = [j for j, one in enumerate(kinds) if one.kind in ("category", "text")]
        if len(words) == 1 and words[0] in self.by_name and not self._is_given(words[0]):
            return {words[0]: (1.25 if self.header else 5.0, "as the only one with words among numbers")}
        pairs = [j for j in self.usable if kinds[j].distinct == 2 and not self._is_given(j)]
        return {pairs[0]: (1.25, "as the only one with two values")} if len(pairs) == 1 else {}

    def _is_given(self, j: int) -> bool:
        return sum(worth for worth, _ in self.by_name[j]) < 0

    def _is_computed(self, j: int) -> bool:
        """Whether another column says the same or is what this one was computed from; a telling name overrules both."""
        found, worth = self.relations.of(j), self.worth[j]
        if any(self._comes_first(k, j) for k in found.copies):
            return True
        return worth < 4 and any(k in self.by_name for k in (*found.log_of, *found.square_of))

    def _comes_first(self, k: int, j: int) -> bool:
        """Whether of two columns that say the same the other one is the original: by its name, else by its place."""
        if k not in self.by_name:
            return False
        return (-self.worth[k], k) < (-self.worth[j], j)

    def _related(self, j: int) -> list[Point]:
        found = self.relations.of(j)
        points: list[Point] = []
        if found.has_log:
            points.append((0.75, f"as {self.names[found.has_log[0]]!r} is its logarithm"))
        if found.copies:
            points.append((0.75, f"as {self.names[found.copies[0]]!r} is made from it"))
        if found.has_square:
            points.append((-1.5, ""))
        if missing := [k for k in found.split_by if k not in self.by_name or not self._is_given(k)]:
            points.append((1.0, f"as {self.names[missing[0]]!r} has the same information"))
        return points


def _reason(points: Sequence[Point]) -> str:
    """What speaks for a column, the strongest first, two reasons at most."""
    for_it = sorted((point for point in points if point[0] > 0 and point[1]), key=lambda point: -point[0])
    return " and ".join(why for _, why in for_it[:2]) or "as no column is more likely"


def _can_be_target(item: Profile, n_rows: int, task: str | None) -> bool:
    """Whether reading the column as the target of ``task`` would not be refused."""
    column = item.column
    if column.kind in UNUSABLE and not (task == "novelty" and column.kind == "constant"):
        return False
    present = n_rows - column.missing
    if 2 * present < n_rows or not present:
        return False
    if task == "regression":
        return item.numbers is not None
    if task == "binary" and column.distinct != 2:
        return False
    few = column.distinct <= MAX_CLASSES and 2 * column.distinct <= present
    if item.numbers is not None:
        return few or task is None or task == "novelty"
    assert item.labels is not None
    enough = column.kind == "category" or ROWS_A_CLASS * column.distinct <= present
    return few and enough and max(map(len, set(item.labels.tolist()))) <= MAX_NAME


def _pair_of_words(item: Profile) -> set[str]:
    if item.labels is None:
        return set()
    return {str(label).lower() for label in set(item.labels.tolist()) if label != ""}


def _denies(pair: set[str]) -> bool:
    """Whether one of two words denies the other: remote and not remote, diabetic and non-diabetic."""
    if len(pair) != 2:
        return False
    short, long = sorted(pair, key=len)
    return len(short) > 2 and re.fullmatch(rf"(not?|non|un|in)?[\s_-]*{re.escape(short)}", long) is not None


def _is_index(name: str, item: Profile) -> bool:
    kinds = ("identifier",) if len(name) == 1 else ("identifier", "text", "number")
    return name.lower() in INDEX_NAMES and item.column.kind in kinds


def _is_amount(item: Profile) -> bool:
    return item.column.kind == "number" and item.column.distinct > AMOUNT


def _is_measured(item: Profile) -> bool:
    return item.column.kind == "number" and item.column.distinct > CODES


def _is_code(item: Profile) -> bool:
    column = item.column
    return column.kind == "number" and 2 <= column.distinct <= CODES and column.example.removesuffix(".0").isdigit()


def name_words(name: str) -> tuple[str, ...]:
    """A name as lower-case words without its unit: "SalePrice", "sale_price_eur" and "Sale price (EUR)" are the
    same.
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", _bare(name))
    words = re.split(r"[\s_.\-:]+", parted.strip(" _.-:").lower())
    return tuple(words[:-1] if len(words) > 1 and words[-1] in UNITS else words)


def _bare(name: str) -> str:
    """A name without what stands in brackets."""
    return re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name) or name
