"""Which column is the target when nobody says: the likeliest by name, place and two values, each with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from mklcore.data.columns import MAX_NAME, Profile, looks_like_id

MAX_CLASSES = 100
SHOWN = 3  # candidates beside each other
SURE = 0.8  # from this confidence on a guess is not called unsure
ROWS_A_CLASS = 5  # words of more than 20 kinds are classes if each has so many rows
AMOUNT = 20  # a measured quantity has more different values


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SETTLED = _words("target label labels class classes y outcome response klasse zielgröße classe cible clase objetivo")
# What people predict: where it is the whole name, and in the name of a column of two values.
NAMED = _words(
    "admit attrition charges churn default defects denied deny diagnosis direction fraud medv mpg participation price "
    "purchase quality released result rings sentiment spam species survived vote inlf lfp partic accepted admitted "
    "approved approve bought callback cancer chd churned death diabetes died disease exited failure fault hired passed "
    "problems purchased recid returned stroke volunteer won"
)
PRICE = _words("price preis precio prix value")
AMOUNTS = _words(
    "affairs charges cnt count counts earnings expectancy fertility gpa prestige profit rent revenue ridership salary "
    "sales sold strength trips visits wage wages yield"
)
KINDS = _words("category event grade risk status variety")
# Who, where and when: what people predict from.
GIVEN = _words(
    "address age black city country date day educ education ethnicity female gender hispanic holiday hour hr latitude "
    "longitude male marital married minority month name race region religion season sex south urban us weekday white "
    "workingday year yr zip inc income"
)
UNITS = _words("eur euro euros usd gbp chf dollars pct percent")
YES_NO = _words("no/yes n/y false/true f/t ja/nein non/oui no/si")
OUTCOMES = _words(
    "negative/positive bad/good absent/present benign/malignant loss/win +/- lost/won alive/dead fail/pass "
    "healthy/sick abnormal/normal down/up approved/denied accepted/rejected ham/spam case/control n/p"
)
CLASS_NAMES = _words("label labels class classes klasse classe clase")  # whole numbers in such a column are classes
INDEX_NAMES = ("rownames", "row.names", "column 1")  # R writes it before the first column, which is often the target
UNUSABLE = ("empty", "constant", "identifier", "date", "sequence")
UNNAMED = re.compile(r"column \d+|unnamed: \d+", re.I)  # a column without a name is no target


@dataclass(frozen=True)
class TargetCandidate:
    """A column that may be the target.

    place, name : which column. reason : what speaks for it. confidence : between 0 and 1, its share among the likeliest
    columns; a rule of thumb, not a measured probability.
    """

    place: int
    name: str
    reason: str
    confidence: float


def rank_targets(
    names: Sequence[str], profiles: Sequence[Profile], header: bool = True, task: str | None = None
) -> tuple[TargetCandidate, ...]:
    """The likeliest targets of a table, at most three, the likeliest first; none where no column can be the target.

    Every column that can be read as a target of ``task`` (any if None) gets points for its name (class, price,
    is_fraud), for its place (last, or first) and for two values (good and bad). Mostly empty and constant columns,
    identifiers and dates are no candidates.
    """
    known = {name.lower() for name in names}
    points = {
        j: [_by_name(name, known, item), _by_values(item, task)]
        for j, (name, item) in enumerate(zip(names, profiles, strict=True))
        if _can_be_target(item, task) and not (header and UNNAMED.fullmatch(name))
    }
    if points:
        first = next((j for j, found in points.items() if found[0][0] >= 0.0), min(points))
        last, ends = max(points), all(_is_blank(one) for one in profiles[max(points) + 1 :])
        where = "as the last column" if last == len(names) - 1 else "as the last column that can be one"
        points[last].append((2.5 if ends else 1.0, where))
        worth = 2.4 if names[0].lower() in INDEX_NAMES else 1.5
        points[first].append((worth - (first > min(points)), "as the first column"))
    for j in _odd(profiles) & points.keys() if not header else ():
        points[j].append((5.0, "as the only one of its kind among numbers"))
    total = {j: sum(worth for worth, _ in found) for j, found in points.items()}
    best = sorted(total, key=lambda j: (-total[j], -j))[:SHOWN]
    weights = [math.exp(total[j] - total[best[0]]) for j in best]
    return tuple(
        TargetCandidate(j, names[j], _reason(points[j]), round(weight / sum(weights), 3))
        for j, weight in zip(best, weights, strict=True)
    )


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


Point = tuple[float, str]  # how much it counts, and why


def _by_name(name: str, others: set[str], item: Profile) -> Point:
    """What a name says for or against its column; a unit and what stands in brackets do not count."""
    bare = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", name) or name
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", bare).strip(" _.-:").lower()
    words = re.split(r"[\s_.\-:]+", parted)
    words = words[:-1] if len(words) > 1 and words[-1] in UNITS else words
    whole, pair = " ".join(words), item.column.distinct == 2
    if whole in SETTLED and not (whole == "y" and "x" in others):  # coordinates
        return 6.5 if bare == name else 6.0, "by its name"
    told = (
        whole in NAMED
        or (pair and (words[0] in NAMED or words[-1] in NAMED))
        or (len(words) > 1 and words[-1] in SETTLED[:2])
    )
    if told or (words[-1] in PRICE and others.isdisjoint(AMOUNTS)):
        return 4.0, "by its name"
    if words[-1] in (KINDS if item.column.distinct <= AMOUNT else AMOUNTS):
        return 2.0, "by its name"
    made = re.fullmatch(r"l(.+)|(.+)sq", bare.lower())  # a logarithm or a square
    if made and (made[1] or made[2]) in others:
        return -2.5, ""
    if words[0] in GIVEN or words[-1] in GIVEN or (looks_like_id(name) and item.column.distinct > AMOUNT):
        return -2.5, ""
    return 0.0, ""


def _by_values(item: Profile, task: str | None) -> Point:
    """Two values that tell good from bad; gaps speak against a column, and words of many kinds."""
    if item.column.distinct != 2:
        many = item.labels is not None and item.column.distinct > AMOUNT // 2
        return -item.column.missing / len(item.values) - many, ""
    if task == "regression":
        return -8.0, ""
    pair = sorted({str(one).lower() for one in item.labels.tolist() if one != ""}) if item.labels is not None else []
    short, long = sorted(pair, key=len) if len(pair) == 2 else ("", "-")
    denied = len(short) > 2 and re.fullmatch(rf"(not?|non|un|in)?[\s_-]*{re.escape(short)}", long)
    if "/".join(pair) in OUTCOMES or denied:
        return 2.5, f"by its values {' and '.join(pair)}"
    return (1.25, "by its yes and no") if "/".join(pair) in YES_NO else (0.5, "by its two values")


def _odd(profiles: Sequence[Profile]) -> set[int]:
    """The one column of words among numbers, or a code before measured numbers."""
    words = {j for j, one in enumerate(profiles) if one.column.kind in ("category", "text")}
    measured = all(one.column.kind == "number" and one.column.distinct > AMOUNT for one in profiles[1:])
    code = measured and profiles[0].column.kind == "number" and profiles[0].column.distinct <= AMOUNT // 2
    return {0} if code else words if len(words) == 1 else set()


def _is_blank(item: Profile) -> bool:
    return item.column.kind in ("empty", "constant") or 2 * item.column.missing > len(item.values)


def _reason(points: Sequence[Point]) -> str:
    """What speaks for a column, the strongest first, two reasons at most."""
    for_it = sorted((point for point in points if point[0] > 0 and point[1]), key=lambda point: -point[0])
    return " and ".join(why for _, why in for_it[:2]) or "as no column is more likely"


def _can_be_target(item: Profile, task: str | None) -> bool:
    """Whether reading the column as the target of ``task`` would not be refused."""
    column, n_rows = item.column, len(item.values)
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
