"""Descriptions of the points of a path: parameter, certificate, cost and scores.

They are plain texts, or lines of runs for the player ``texts``. A run is a pair (kind, text): "b"
is bold, "small" is small, and "badge good", "badge open" and "badge none" are badges. The player
never reads a text as markup, also where it comes from a table.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Mask
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import Texts
from mklcore.paths.path import Path
from mklcore.paths.scoring import ACCEPTED
from mklcore.paths.scoring import SHARES as SHARES_OF_ROWS

# Statuses of methods that select kernels: another selection may be better than a solved one.
_SELECTED = ("COMPLETE", "NO_GAIN", "EXHAUSTED", "BOUNDED")
PROVEN = 1e-6  # relative gap below which a selection counts as optimal
MOST_NAMED = 3  # kernels that a sentence names on one side

SHARES = SHARES_OF_ROWS | {ACCEPTED}  # scores that are shares of rows
SYMBOLS = {"lam": "λ"}
_PRODUCT = re.compile(r"(?P<columns>.+), (?P<factor>linear|RBF [^,]+?)(?: × (?P=factor))+")
_KERNEL = re.compile(r"linear |RBF [^,]+$|Laplacian [^,]+$|polynomial ", re.IGNORECASE)
Line = list[list[str]]


# Numbers with their names


def symbol(param: str) -> str:
    """The symbol of a parameter in formulas."""
    return SYMBOLS.get(param, param)


def label(param: str, value: float) -> str:
    """A parameter and its value: "C = 1.1"."""
    return f"{symbol(param)} = {style.number(value)}"


def seconds(value: float) -> str:
    """A time with one digit after the point."""
    return "< 0.1 s" if value < 0.1 else f"{value:.1f} s"


def score(name: str, value: float | None, mark: str = "") -> str:
    """A score as text, with ``mark`` on both sides; shares of rows are percentages."""
    if value is None or math.isnan(value):
        return "not measured"
    unit = " %" if name in SHARES else ""
    return f"{mark}{figure_of(name, value, zeros=True)}{unit}{mark}"


def figure_of(name: str, value: float, zeros: bool = False) -> str:
    """The digits of a score or of a difference of scores; ``zeros`` keeps zeros at the end."""
    return f"{100 * value:.1f}" if name in SHARES else style.number(value, zeros)


def runs(text: str, kind: str = "") -> Line:
    """A text as a line of runs; what stands between two pairs of asterisks is bold."""
    line = []
    for k, part in enumerate(text.split("**")):
        if part:
            line.append(["b" if k % 2 else kind, part])
    return line


# Whole paths


def checked(path: Any, index: int | None) -> int:
    """The point where the cursor begins: ``index``, or ``path.first_look`` without one."""
    n_points = len(path.values)
    if n_points == 0:
        raise ParameterError("The path has no points to move along. Fit it first, with fit_path.")
    if index is None:
        return int(path.first_look)
    if not 0 <= index < n_points:
        raise ParameterError(f"The path has points 0 to {n_points - 1}; got the index {index}.")
    return index


def solved(path: Any) -> Mask:
    """Which points of the path (L,) reached their tolerance."""
    return np.array([status.ok for status in path.statuses], dtype=bool)


def scores(path: Any) -> tuple[tuple[str, Any], ...]:
    """The scores along a path, by the rows on which they were measured."""
    return ("train", path.train_score), ("validation", path.val_score)


def along(path: Any) -> str:
    """The extent of a path: "along C from 0.01 to 10 (25 solved points)"."""
    low = style.number(np.min(path.values))
    high = style.number(np.max(path.values))
    points = style.counted(len(path.values), "solved point")
    return f"along {symbol(path.param)} from {low} to {high} ({points})"


def point_labels(path: Any) -> list[str]:
    """The parameter at every point of a path: "C = 1.1"."""
    return [label(path.param, float(value)) for value in path.values]


def scores_alt(path: Any, references: Sequence[tuple[str, float]]) -> str:
    """Where along a path each score is highest, and the scores of the reference models."""
    sentences = [f"Scores {along(path)}."]
    for part, values in scores(path):
        if np.isfinite(values).any():
            best = int(np.nanargmax(values))
            highest = f"{style.number(values[best])}, at {label(path.param, path.values[best])}"
            sentences.append(f"The {part} {path.score_name} is highest, {highest}.")
    if references:
        listed = ", ".join(f"{name} {style.number(value)}" for name, value in references)
        sentences.append(f"For comparison, on the same rows: {listed}.")
    return " ".join(sentences)


# One point of a path


def certificate(path: Any, index: int) -> Line:
    """The certificate of a point as a badge: how near the optimum it is, not how good the model."""
    gap = float(path.relative_gap[index])
    status = path.statuses[index]
    if np.isnan(gap):
        return [["badge none", "○ no certificate"]]
    if status.name == "PROVEN":
        return [["badge good", "✓ proven best"]]
    percent = style.percent(gap)
    if status.name in _SELECTED and gap > PROVEN:
        return [["badge none", f"○ the best is at most {percent} below"]]
    if status.ok:
        return [["badge good", f"✓ solved to {percent}"]]
    return [["badge open", "○ not solved"], *runs(f"gap **{percent}**; {status.value}")]


def cost(path: Any, index: int) -> list[Line]:
    """How many of several kernels have a positive weight, and what it took to find them."""
    used = int(path.n_nonzero[index])
    of = len(path.kernel_names)
    lines = []
    if of > 1:
        lines = [runs(f"**{used}** of {of} kernels used")]
    elif not used:
        lines = [runs("the only kernel is not used")]
    solves = style.counted(int(path.solves[index]), "solve")
    return [*lines, runs(f"{solves}, **{seconds(float(path.seconds[index]))}**")]


def measured(path: Any, index: int) -> list[Line]:
    """The scores on training and validation rows."""
    name = path.score_name
    lines = []
    for part, values in scores(path):
        value = score(name, float(values[index]), "**")
        lines.append(runs(f"{part} {name} {value}"))
    return lines


def facts(path: Any) -> list[list[list[Line]]]:
    """Certificate, cost and scores of every point of a path, as three columns of lines."""
    points = range(len(path.values))
    return [[[certificate(path, k)], cost(path, k), measured(path, k)] for k in points]


def spoken(path: Any, index: int) -> str:
    """Score and number of kernels of a point, for screen readers."""
    used = style.counted(int(path.n_nonzero[index]), "kernel")
    value = float(path.val_score[index])
    if math.isnan(value):
        return used
    return f"validation {path.score_name} {style.number(value)}, {used}"


def _place(path: Any, index: int) -> str:
    return f"At {label(path.param, float(path.values[index]))}"


def weights_said(path: Any, index: int) -> str:
    """The largest weights at a point, and how certain they are."""
    weights = np.asarray(path.weights[index], dtype=float)
    gap = float(path.relative_gap[index])
    if not path.statuses[index].ok:
        certainty = "not solved to tolerance"
    elif np.isnan(gap):
        certainty = "no certificate"
    else:
        certainty = f"within {style.percent(gap)} of the optimum"
    said = "no weight is above 0"
    if np.any(weights > 0):
        said = f"the largest weights are {style.leaders(weights, path.kernel_names)}"
    return f"{_place(path, index)}: {said}; {certainty}."


def scores_said(path: Any, index: int) -> str:
    """The scores at a point."""
    name = path.score_name
    listed = [f"{part} {score(name, float(values[index]))}" for part, values in scores(path)]
    return f"{_place(path, index)}: {', '.join(listed)}."


# Names of kernels


def families(names: Texts, kinds: Texts) -> tuple[str, ...]:
    """The families that colour kernels: an interaction of one column has its kernel's family."""
    found = []
    for name, kind in zip(names, kinds, strict=True):
        if kind == "interaction" and _KERNEL.match(name.partition(", ")[0]):
            kind = name.split()[0].lower()
        found.append(kind)
    return tuple(found)


def labels(names: Texts, families: Texts) -> tuple[str, ...]:
    """Short names of kernels for a picture.

    A linear kernel of one column has the name of the column, a product of equal kernels is named
    like one of them, and a width that all kernels of a family share is left out. Names that would
    become equal stay as they are.
    """
    merged = [_as_one(name, family) for name, family in zip(names, families, strict=True)]
    widths: dict[str, set[str]] = {}
    for name, family in merged:
        if family and ", " in name:
            widths.setdefault(family, set()).add(name.split(", ")[0])
    shortened = []
    for name, family in merged:
        head, comma, columns = name.partition(", ")
        if family == "linear":
            name = name.removeprefix("linear ")
        elif comma and len(widths.get(family, ())) == 1:
            name = f"{head.split()[0]} {columns}"
        shortened.append(name)
    counts = Counter(shortened)
    pairs = zip(shortened, names, strict=True)
    return tuple(short if counts[short] == 1 else name for short, name in pairs)


def _as_one(name: str, family: str) -> tuple[str, str]:
    """Name and family of an interaction of equal kernels: "RBF 1, a × b", "rbf"."""
    if family != "interaction":
        return name, family
    if product := _PRODUCT.fullmatch(name):
        columns = product["columns"]
        factor = product["factor"]
        name = f"linear {columns}" if factor == "linear" else f"{factor}, {columns}"
    elif " × " in name.rpartition(", ")[2]:
        return name, ""
    return name, name.split()[0].lower()


# How far a choice of few kernels is from the best choice of as many


def behind_best(
    path: Path,
    index: int,
    best: Path | None = None,
    named: Callable[[str], str] = str,
) -> str:
    """How far the kernels of a point of ``path`` are from the best choice of as many; "" without a
    certificate.

    ``best`` is a path of the best k kernels on the same rows; it is ignored where it was solved
    with another lam, for other kernels, or not for this number of them. ``named`` writes the name
    of a kernel.
    """
    value = float(path.objective[index])
    gap = float(path.relative_gap[index])
    if not np.isfinite(gap):
        return ""
    size = int(path.n_nonzero[index])
    kernels = f"{size} kernels" if size > 1 else "kernel"
    are = "are" if size > 1 else "is"
    place = None if best is None else _same_problem(path, index, best)
    if best is None or place is None:
        if gap <= PROVEN:
            return f"The chosen {kernels} {are} proven best."
        return f"The objective of the best {kernels} is at most {style.percent(gap)} lower."
    lowest = float(best.objective[place])
    bound = max(value * (1.0 - gap), lowest * (1.0 - float(best.relative_gap[place])))
    is_proven = bound >= lowest * (1.0 - PROVEN)
    excess = value / lowest - 1.0
    if excess <= PROVEN:
        if is_proven:
            return f"The chosen {kernels} {are} proven best."
        left = style.percent(1.0 - bound / value)
        return (
            f"The search found nothing better than the chosen {kernels}; the best {are} at "
            f"most {left} lower."
        )
    found = "" if is_proven else " that were found"
    said = f"The objective is {style.percent(excess)} above that of the best {kernels}{found}"
    more = (
        "" if is_proven else f" The best can be {style.percent(1.0 - bound / lowest)} lower still."
    )
    return f"{said}: {_exchanged(path, index, best, place, named)}.{more}"


def alternatives(
    best: Path,
    index: int,
) -> list[tuple[tuple[str, ...], float]]:
    """The choices within 1 % of the best that the search met, the best first: their kernels, and by
    which share their objective is above the lowest.
    """
    names = labels(best.kernel_names, best.kernel_families)
    lowest = float(best.objective[index])
    return [
        (tuple(names[m] for m in chosen), max(found / lowest - 1.0, 0.0))
        for chosen, found in best.estimators[index].alternatives_
    ]


def _same_problem(path: Path, index: int, best: Path) -> int | None:
    """The point of ``best`` that solves the problem of this point, None where there is none."""
    if path.kernel_names != best.kernel_names:
        return None
    wanted = _settings(path, index)
    for place in range(len(best)):
        if _settings(best, place) == wanted and best.n_nonzero[place] == path.n_nonzero[index]:
            return place
    return None


def _settings(path: Path, index: int) -> tuple[Any, ...]:
    """What the problem of a point depends on, beside rows and kernels."""
    model = path.estimators[index]
    return getattr(model, "lam", None), getattr(model, "fit_intercept", None)


def _exchanged(
    path: Path,
    index: int,
    best: Path,
    place: int,
    named: Callable[[str], str],
) -> str:
    """Which kernels were taken where others belong."""
    names = labels(path.kernel_names, path.kernel_families)
    own = np.asarray(path.weights[index]) > 0.0
    theirs = np.asarray(best.weights[place]) > 0.0
    taken = [named(names[m]) for m in np.flatnonzero(own & ~theirs)]
    missed = [named(names[m]) for m in np.flatnonzero(theirs & ~own)]
    if not taken or len(taken) > MOST_NAMED:
        return f"{len(taken)} of its kernels are not among them"
    return (
        f"it took {style.joined(taken)} where {style.joined(missed)} "
        f"{'belongs' if len(missed) == 1 else 'belong'}"
    )
