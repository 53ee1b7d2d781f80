"""What is said of a point of a path: where it is, how sure it is, what it cost and what it scores,
as text and in runs.

A run is a pair (kind, text): "b" is bold, "small" small, "badge good", "badge open" and "badge
none" are badges. A line is a list of runs, as the player ``texts`` wants them; texts that come from
a table stay texts there and are never markup.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Mask
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.paths.scoring import ACCEPTED
from mklcore.paths.scoring import SHARES as SHARES_OF_ROWS

_CHOSEN = ("COMPLETE", "NO_GAIN", "EXHAUSTED", "BOUNDED")  # statuses of methods that choose kernels
PROVEN = 1e-6  # relative gap below which nothing is left to prove

SHARES = SHARES_OF_ROWS | {ACCEPTED}  # scores that are shares of rows
SYMBOLS = {"lam": "λ"}
_PRODUCT = re.compile(r"(?P<columns>.+), (?P<factor>linear|RBF [^,]+?)(?: × (?P=factor))+")
# a kernel before its columns
_ONE = re.compile(r"linear |RBF [^,]+$|Laplacian [^,]+$|polynomial ", re.IGNORECASE)
Line = list[list[str]]


def symbol(param: str) -> str:
    """The sign a formula uses for a parameter."""
    return SYMBOLS.get(param, param)


def label(param: str, value: float) -> str:
    """Where a point is: "C = 1.1"."""
    return f"{symbol(param)} = {style.number(value)}"


def seconds(value: float) -> str:
    """A time with one digit after the point."""
    return "< 0.1 s" if value < 0.1 else f"{value:.1f} s"


def score(name: str, value: float | None, mark: str = "") -> str:
    """A score, its figure between ``mark``s: shares of rows as percentages."""
    if value is None or math.isnan(value):
        return "not measured"
    return f"{mark}{figure_of(name, value, zeros=True)}{' %' if name in SHARES else ''}{mark}"


def figure_of(name: str, value: float, zeros: bool = False) -> str:
    """A score, or a difference of scores, as the figure alone: points of a share of rows, else
    three digits, whose ``zeros`` at the end are kept.
    """
    return f"{100 * value:.1f}" if name in SHARES else style.number(value, zeros)


def runs(text: str, kind: str = "") -> Line:
    """A text as a line; what stands between two pairs of asterisks is bold."""
    return [["b" if k % 2 else kind, part] for k, part in enumerate(text.split("**")) if part]


def certificate(path: Any, index: int) -> Line:
    """The certificate of a point as a badge: it is about the optimum, and not about the model being
    good.
    """
    gap = float(path.relative_gap[index])
    status = path.statuses[index]
    if np.isnan(gap):
        return [["badge none", "○ no certificate"]]
    if status.name == "PROVEN":
        return [["badge good", "✓ proven best"]]
    # kernels were chosen; another choice may be better
    if status.name in _CHOSEN and gap > PROVEN:
        return [["badge none", f"○ the best is at most {style.percent(gap)} below"]]
    if status.ok:
        return [["badge good", f"✓ solved to {style.percent(gap)}"]]
    return [["badge open", "○ not solved"], *runs(f"gap **{style.percent(gap)}**; {status.value}")]


def cost(path: Any, index: int) -> list[Line]:
    """How many kernels are in use, and what it took to find them."""
    solves = style.counted(int(path.solves[index]), "solve")
    return [
        runs(f"**{int(path.n_nonzero[index])}** of {len(path.kernel_names)} kernels used"),
        runs(f"{solves}, **{seconds(float(path.seconds[index]))}**"),
    ]


def scores(path: Any) -> tuple[tuple[str, Any], ...]:
    """The scores along a path by the rows they were measured on."""
    return ("train", path.train_score), ("validation", path.val_score)


def measured(path: Any, index: int) -> list[Line]:
    """The scores on training and validation rows."""
    return [
        runs(f"{part} {path.score_name} {score(path.score_name, float(values[index]), '**')}")
        for part, values in scores(path)
    ]


def facts(path: Any) -> list[list[list[Line]]]:
    """What is known at every point of a path: certificate, kernels in use and what it cost, scores."""
    return [
        [[certificate(path, k)], cost(path, k), measured(path, k)] for k in range(len(path.values))
    ]


def spoken(path: Any, index: int) -> str:
    """Score and number of kernels of a point in a few words, for screen readers."""
    used = style.counted(int(path.n_nonzero[index]), "kernel")
    value = float(path.val_score[index])
    return (
        used if math.isnan(value) else f"validation {path.score_name} {style.number(value)}, {used}"
    )


def solved(path: Any) -> Mask:
    """Which points of the path did all they were asked to do (L,); the others stopped before their
    tolerance.
    """
    return np.array([status.ok for status in path.statuses], dtype=bool)


def checked(path: Any, index: int | None) -> int:
    """Where the cursor begins on a path: ``path.first_look`` without an index."""
    if len(path.values) == 0:
        raise ParameterError(
            "The path has no points; there is nothing to drag along. Fit it first, with fit_path."
        )
    if index is not None and not 0 <= index < len(path.values):
        raise ParameterError(
            f"The path has points 0 to {len(path.values) - 1}; got the index {index}."
        )
    return int(path.first_look) if index is None else index


def weights_said(path: Any, index: int) -> str:
    """The largest weights at a point, and how sure they are."""
    weights = np.asarray(path.weights[index], dtype=float)
    gap = float(path.relative_gap[index])
    sure = "no certificate" if np.isnan(gap) else f"within {style.percent(gap)} of the optimum"
    if not path.statuses[index].ok:
        sure = "not solved to tolerance"
    largest = style.leaders(weights, path.kernel_names) if np.any(weights > 0) else "none above 0"
    return (
        f"At {label(path.param, float(path.values[index]))}: the largest weights are "
        f"{largest}; {sure}."
    )


def scores_said(path: Any, index: int) -> str:
    """The scores at a point."""
    said = ", ".join(
        f"{part} {score(path.score_name, float(values[index]))}" for part, values in scores(path)
    )
    return f"At {label(path.param, float(path.values[index]))}: {said}."


def scores_alt(path: Any, references: Sequence[tuple[str, float]]) -> str:
    """Where along a path each score is highest, and the scores of other models."""
    said = [f"Scores {along(path)}."]
    for part, values in scores(path):
        if np.isfinite(values).any():
            best = int(np.nanargmax(values))
            where = label(path.param, path.values[best])
            said.append(
                f"The {part} {path.score_name} is highest, {style.number(values[best])}, "
                f"at {where}."
            )
    listed = ", ".join(f"{name} {style.number(value)}" for name, value in references)
    return " ".join([*said, f"Beside it, on the same rows: {listed}."] if listed else said)


def along(path: Any) -> str:
    """Where a path leads: "along C from 0.01 to 10 (25 solved points)"."""
    ends = [style.number(end) for end in (np.min(path.values), np.max(path.values))]
    return (
        f"along {symbol(path.param)} from {ends[0]} to {ends[1]} "
        f"({style.counted(len(path.values), 'solved point')})"
    )


def families(names: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
    """The families by which kernels are coloured: an interaction of one column is a kernel of that
    column.
    """
    alone = (name.partition(", ")[0] if ", " in name else name for name in names)
    return tuple(
        name.split()[0].lower() if kind == "interaction" and _ONE.match(head) else kind
        for name, head, kind in zip(names, alone, kinds, strict=True)
    )


def labels(names: Sequence[str], families: Sequence[str]) -> tuple[str, ...]:
    """The names of kernels a picture has room for: a linear kernel of one column goes by the name
    of the column, a product of alike kernels is named like one of them, and a width that all
    kernels of some columns have is left out.
    """
    alike = [_as_one(name, family) for name, family in zip(names, families, strict=True)]
    heads: dict[str, set[str]] = {}
    for name, family in alike:
        if family and ", " in name:
            heads.setdefault(family, set()).add(name.split(", ")[0])
    found = [
        name.removeprefix("linear ")
        if family == "linear"
        else _without_width(name, heads.get(family, set()))
        for name, family in alike
    ]
    return tuple(s if found.count(s) == 1 else name for s, name in zip(found, names, strict=True))


def _as_one(name: str, family: str) -> tuple[str, str]:
    """An interaction, "a × b, RBF 1 × RBF 1", named like its factors, "RBF 1, a × b", and their
    family.
    """
    if family != "interaction":
        return name, family
    if product := _PRODUCT.fullmatch(name):
        columns = product["columns"]
        factor = product["factor"]
        name = f"linear {columns}" if factor == "linear" else f"{factor}, {columns}"
    elif " × " in name.rpartition(", ")[2]:
        return name, ""
    return name, name.split()[0].lower()


def _without_width(name: str, heads: set[str]) -> str:
    head, comma, columns = name.partition(", ")
    return f"{head.split()[0]} {columns}" if comma and len(heads) == 1 else name
