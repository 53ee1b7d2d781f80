"""Which column is the target when nobody says: by its name, then by its place and by what stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mklcore.data.columns import Column

TARGET_NAMES = (
    "target", "label", "labels", "class", "classes", "y", "outcome", "response", "survived", "diagnosis", "price",
    "sale price", "result", "default", "churn", "churned", "exited", "attrition", "quality", "species", "sentiment",
    "klasse", "zielgröße", "preis", "classe", "cible", "prix", "clase", "objetivo", "precio",
)  # fmt: skip
UNITS = ("eur", "euro", "euros", "usd", "gbp", "chf", "dollars", "pct", "percent")
LAST_WORDS = ("target", "label", "class", "outcome", "response", "survived", "diagnosis", "price", "value")
# Words of what people want to foretell, but also of what they foretell it from: they count beside the place.
CLASS_WORDS = (
    "approved", "bought", "category", "death", "died", "event", "fraud", "purchased", "risk", "status", "type", "variety",
)  # fmt: skip
AMOUNT_WORDS = (
    "charges", "cnt", "consumption", "cost", "count", "counts", "delay", "demand", "expectancy", "income", "medv", "mpg",
    "profit", "rating", "rent", "revenue", "rings", "salary", "sales", "score", "sold", "strength", "wage", "yield",
)  # fmt: skip
USELESS = ("empty", "constant", "identifier", "date", "text", "sequence")
AMOUNT = 20  # a measured quantity has more different values
CODES = 10  # a class written as a whole number has at most so many
ASKED = ("is", "has", "was", "will")  # what a column of yes and no asks: is_fraud, has_churned
YES_OR_NO = ("default", "churn", "churned", "fraud", "attrition")  # first words that name what happens or does not
HAPPENED = ("approved", "bought", "death", "died", "fraud", "purchased")  # last words that do
TELLING, LAST, LIKELY, PAIR, FIRST = (
    2.5,
    2.0,
    2.0,
    1.5,
    1.0,
)  # what speaks for a column whose name alone does not settle it

Look = Callable[[int], Column]


def guess_target(names: Sequence[str], column: Look, header: bool, one_class: bool = False) -> tuple[int, str]:
    """The place of the target and why it was taken, in words; ``column`` looks at a column where that is asked.

    A telling name, in any case: the whole name, then its last word. Else, in a table without a header, the one column of
    two words among numbers, or of few whole numbers among measured ones if it comes first. Else the last column, with two
    exceptions. A name of something people foretell (a count, an income, a rating) takes it away for the first column that
    can be a target, and for a column of two values that says whether something happens (purchased, is_fraud, an income
    above or not). And where the last cannot be one, because it names, dates or describes the rows or never changes, the
    first is taken if the last that can be one has more than two values. Empty columns have no place.
    ``one_class`` lets a constant column be the target.
    """
    for place in _by_name(names):
        if column(place).kind not in (("empty",) if one_class else ("empty", "constant")):
            return place, f"No target was named: the column {names[place]!r} is taken, for its name."
    place, why = (None if header else _odd_one(len(names), column)) or _by_place(names, column)
    return place, f"No target was named: {why} target= names another."


def _by_name(names: Sequence[str]) -> list[int]:
    """The places whose names settle it, the most telling first; a name as it is before one without its unit."""
    words = [_words(name) for name in names]
    found = [j for wanted in TARGET_NAMES for j, told in enumerate(words) if " ".join(told) == wanted]
    found = [j for j in found if not (words[j] == ("y",) and ("x",) in words[:j] and j < len(words) - 1)]  # coordinates
    found.sort(key=lambda j: _bare(names[j]) != names[j])
    return found + [j for wanted in LAST_WORDS for j, told in enumerate(words) if len(told) > 1 and told[-1] == wanted]


def _odd_one(count: int, column: Look) -> tuple[int, str] | None:
    """The column that is of another sort than all others: two words among numbers, a code in front of measured ones."""
    found = [column(j) for j in range(count)]
    pairs = [j for j, one in enumerate(found) if one.kind == "category" and one.distinct == 2 and not one.missing]
    if len(pairs) == 1 and all(one.kind != "category" for j, one in enumerate(found) if j != pairs[0]):
        return pairs[0], f"the column {found[pairs[0]].name!r} is taken, the only one with two words among numbers."
    code, others = found[0], found[1:]
    if _is_code(code) and others and all(_is_amount(one) for one in others):
        what = f"a code of {code.distinct} values before measured numbers"
        return 0, f"the first column, {code.name!r}, is taken, {what}."
    return None


def _by_place(names: Sequence[str], column: Look) -> tuple[int, str]:
    """The last column, the first, or one between with a likely name, by what `guess_target` says."""
    count = len(names)
    end = next((j for j in range(count - 1, -1, -1) if column(j).kind != "empty"), count - 1)
    last = next((j for j in range(end, -1, -1) if column(j).kind not in USELESS), None)
    if last is None:
        return count - 1, f"the last column, {names[-1]!r}, is taken."
    first = next(j for j in range(count) if column(j).kind not in USELESS)
    likely = {j: worth for j in range(count) if (worth := _likely(names[j], j, column))}
    points = {j: (FIRST if j == first else 0) + likely.get(j, 0.0) for j in {first, last} | likely.keys()}
    points[last] += LAST if last == end else PAIR if column(last).distinct == 2 else 0
    place = max(points, key=lambda j: (points[j], j))
    if place == last:
        where = "the last column" if last == count - 1 else "the last column that can be one"
        return last, f"{where}, {names[last]!r}, is taken."
    why = "for its name" if place in likely else f"for the last, {names[end]!r}, cannot be one"
    return place, f"the {'first ' if place == first else ''}column {names[place]!r} is taken, {why}."


def _likely(name: str, place: int, column: Look) -> float:
    """How much a name and what stands in the column together say that this is what people foretell; 0 for nothing."""
    words = _words(name)
    asked = words[0] in ASKED and words[-1] in (*CLASS_WORDS, *YES_OR_NO)
    if (asked or words[0] in YES_OR_NO or words[-1] in (*HAPPENED, *AMOUNT_WORDS)) and _is_pair(column(place)):
        return TELLING
    if words[-1] in AMOUNT_WORDS:
        return LIKELY * _is_amount(column(place))
    return LIKELY * (
        words[-1] in CLASS_WORDS and column(place).kind not in USELESS and column(place).distinct <= AMOUNT
    )


def _is_pair(column: Column) -> bool:
    return column.kind not in USELESS and column.distinct == 2


def _is_amount(column: Column) -> bool:
    return column.kind == "number" and column.distinct > AMOUNT


def _is_code(column: Column) -> bool:
    return column.kind == "number" and 2 <= column.distinct <= CODES and column.example.removesuffix(".0").isdigit()


def _words(name: str) -> tuple[str, ...]:
    """A name as lower-case words without its unit: "SalePrice", "sale_price_eur" and "Sale price (EUR)" are the same."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", _bare(name))
    words = re.split(r"[\s_.\-:]+", parted.strip().lower())
    return tuple(words[:-1] if len(words) > 1 and words[-1] in UNITS else words)


def _bare(name: str) -> str:
    """A name without what stands in brackets."""
    return re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name) or name
