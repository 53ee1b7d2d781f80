"""Which column is the target when nobody says: by its name, then by what stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from mklcore.data.columns import Column

TARGET_NAMES = (
    "target", "label", "labels", "class", "classes", "y", "outcome", "response", "survived", "diagnosis", "price",
    "sale price", "result", "default", "churn", "quality",
)  # fmt: skip
LAST_WORDS = ("target", "label", "class", "outcome", "response", "survived", "diagnosis", "price", "value")
USELESS = ("empty", "constant", "identifier", "date", "text", "sequence")


def guess_target(
    names: Sequence[str], column: Callable[[int], Column], header: bool, one_class: bool = False
) -> tuple[int, str]:
    """The place of the target and why it was taken, in words; ``column`` looks at a column where that is asked.

    A telling name, in any case: the whole name, then its last word. Else the one column of two words in a table without a
    header, else the last column. An empty or constant column, and one that only names the rows, is passed over;
    ``one_class`` lets a constant column be the target.
    """
    words = [_words(name) for name in names]
    by_name = [j for wanted in TARGET_NAMES for j, told in enumerate(words) if " ".join(told) == wanted]
    by_name += [j for wanted in LAST_WORDS for j, told in enumerate(words) if len(told) > 1 and told[-1] == wanted]
    for place in by_name:
        if column(place).kind not in (("empty",) if one_class else ("empty", "constant")):
            return place, f"No target was named: the column {names[place]!r} is taken, for its name."
    if not header:
        found = [column(j) for j in range(len(names))]
        pairs = [j for j, one in enumerate(found) if one.kind == "category" and one.distinct == 2 and not one.missing]
        if len(pairs) == 1 and all(one.kind != "category" for j, one in enumerate(found) if j != pairs[0]):
            why = "the only one with two words among numbers"
            return pairs[
                0
            ], f"No target was named: the column {names[pairs[0]]!r} is taken, {why}. target= names another."
    for place in range(len(names) - 1, -1, -1):
        if column(place).kind not in USELESS:
            last = "the last column" if place == len(names) - 1 else "the last column that can be one"
            return place, f"No target was named: {last}, {names[place]!r}, is taken. target= names another."
    return len(names) - 1, f"No target was named: the last column, {names[-1]!r}, is taken. target= names another."


def _words(name: str) -> tuple[str, ...]:
    """A name as lower-case words: "SalePrice", "sale_price" and "sale price" are the same."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return tuple(re.split(r"[\s_.\-:]+", parted.strip().lower()))
