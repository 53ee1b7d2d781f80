"""Descriptions of the points of a path: parameter, certificate, cost and scores.

They are plain texts, or lines of runs for the player ``texts``. A run is a pair (kind, text): "b"
is bold, "small" is small, and "badge good", "badge open" and "badge none" are badges. The player
never reads a text as markup, also where it comes from a table.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Mask
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.paths.scoring import ACCEPTED
from mklcore.paths.scoring import SHARES as SHARES_OF_ROWS

# Statuses of methods that select kernels: another selection may be better than a solved one.
_SELECTED = ("COMPLETE", "NO_GAIN", "EXHAUSTED", "BOUNDED")
PROVEN = 1e-6  # relative gap below which a selection counts as optimal

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
    """How many kernels have a positive weight, and what it took to find them."""
    used = int(path.n_nonzero[index])
    of = len(path.kernel_names)
    sizes = f"**{used}** of {of} kernels used"
    if of == 1:
        sizes = "the only kernel is used" if used else "the only kernel is not used"
    solves = style.counted(int(path.solves[index]), "solve")
    return [
        runs(sizes),
        runs(f"{solves}, **{seconds(float(path.seconds[index]))}**"),
    ]


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


def families(names: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    """The families that colour kernels: an interaction of one column has its kernel's family."""
    found = []
    for name, kind in zip(names, kinds, strict=True):
        if kind == "interaction" and _KERNEL.match(name.partition(", ")[0]):
            kind = name.split()[0].lower()
        found.append(kind)
    return tuple(found)


def labels(names: Sequence[str], families: Sequence[str]) -> tuple[str, ...]:
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
