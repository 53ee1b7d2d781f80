"""The player ``bars``: weights of kernels or effects of columns, which follow a slider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.figures.player_data.charts import CURSOR, path_colours
from mklcore.figures.style import Json, floats

N_BARS = 12
NAME_LENGTH = 32  # letters in the widest column of names
LEAST_SCALE = 0.25  # share that a bar of full length stands for, at least


Bar = tuple[str, str, str]  # its label, its whole name and its colour


def bars_json(
    path: Any,
    bars: Sequence[Bar],
    table: Array,
    title: str,
    most: float,
    index: int,
) -> Json:
    """The ``bars`` with heights ``table`` (L, B) at every point of a path.

    ``most`` is the value of a full bar, ``tall`` tells that a list is too long to be seen at once,
    and ``hollow`` which points are not solved to tolerance. Effects of columns also have their
    ``numbers`` as text, the names to report when a bar is clicked (``picks``), and ``ticks`` at the
    point ``ticked``.
    """
    return {
        "chart": CURSOR,
        "set": "",
        "title": title,
        "labels": captions.point_labels(path),
        **by_part(bars),
        "weights": table.tolist(),
        "hollow": (~captions.solved(path)).tolist(),
        "most": most,
        "unit": "",
        "index": index,
        "sortable": True,
        "tall": False,
    }


def by_part(bars: Sequence[Bar]) -> Json:
    """The labels, the whole names and the colours of bars."""
    parts = ("names", "full", "colours")
    return {part: [bar[k] for bar in bars] for k, part in enumerate(parts)}


def heights(values: Any, shown: Sequence[int]) -> Array:
    """The columns ``shown`` of ``values`` (..., M), and the sum of all others as a last column."""
    table = floats(values)
    chosen: Array = table[..., list(shown)]
    if len(shown) == table.shape[-1]:
        return chosen
    others = table.sum(axis=-1) - chosen.sum(axis=-1)
    return np.concatenate([chosen, np.maximum(others, 0)[..., None]], axis=-1)


def shares_of(values: Any) -> Array:
    """Each entry (..., M) divided by the sum of its row; a row of zeros stays zero."""
    table = floats(values)
    totals = table.sum(axis=-1, keepdims=True)
    shares: Array = table / np.where(totals > 0, totals, 1.0)
    return shares


# Kernels


def largest_first(peaks: Array, most: int) -> list[int]:
    """The ``most`` largest entries, the largest first; all of them if only one would be left."""
    ranked: list[int] = np.argsort(-peaks, kind="stable").tolist()
    return ranked if len(ranked) <= most + 1 else ranked[:most]


def order(path: Any, most: int = N_BARS) -> list[int]:
    """The kernels with the largest weights along a path, sorted by their weights at its first look.

    The order does not change while the cursor moves.
    """
    shown = largest_first(style.peak_weights(path.weights, len(path.kernel_names)), most)
    first = path.weights[path.first_look]
    return sorted(shown, key=lambda m: -first[m])


def kernel_bars(
    path: Any, shown: Sequence[int], colours: Sequence[str], length: int, dark: bool
) -> list[Bar]:
    """A bar for each kernel ``shown``, and a grey one for the sum of all others."""
    short_names = captions.labels(path.kernel_names, path.kernel_families)
    labels = style.cuts(style.chosen(short_names, shown), length)
    bars = []
    for m, label in zip(shown, labels, strict=True):
        bars.append((label, path.kernel_names[m], colours[m]))
    n_others = len(path.kernel_names) - len(shown)
    if n_others:
        name = f"{n_others} others, summed"
        bars.append((name, name, style.theme(dark).grey))
    return bars


def weight_bars(
    path: Any,
    *,
    index: int,
    dark: bool,
    every: bool = False,
) -> Json:
    """Bars of the kernels with the largest weights along a path, or a tall list of ``every``."""
    n_kernels = len(path.kernel_names)
    shown = order(path, n_kernels if every else N_BARS)
    colours = path_colours(path, style.peak_weights(path.weights, n_kernels), dark)
    table = np.round(heights(path.weights, shown), 6)
    # The sum of the other kernels may be larger than any weight, and is cut off then.
    most = style.positive_or_one(table[:, : len(shown)])
    title = "Every kernel at " if every else "Weights θ at "
    bars = kernel_bars(path, shown, colours, NAME_LENGTH, dark)
    return bars_json(path, bars, table, title, most, index) | {"tall": every}


# Columns


def column_shares(effects: Any) -> Array:
    """Effects (L, G) as shares of their sum; beyond ``N_BARS`` the rest is one last share."""
    n_shown = min(np.shape(effects)[1], N_BARS)
    return shares_of(heights(effects, range(n_shown))).round(4)


def bars_first(columns: Sequence[Any], effects: Any) -> list[int]:
    """The order of columns: by effect, then by the largest share of ``effects`` (L, G) anywhere.

    So no column that some model of a path uses is summed up with those without any effect.
    """
    peaks = shares_of(effects).max(axis=0)
    return sorted(range(len(columns)), key=lambda k: (-columns[k].effect, -peaks[k]))


def column_bars(
    path: Any,
    columns: Sequence[Any],
    along: Any,
    *,
    index: int,
    dark: bool,
    at: int | None = None,
) -> Json:
    """Bars that show how far each source column moves the prediction along a path.

    ``columns`` have ``name``, ``effect``, ``alone`` and ``chance``; ``along`` (L, G) are their
    effects at every point. A column that could be chance is grey. A tick marks the effect of the
    column alone at the point ``at``, which is ``index`` by default.
    """
    effects = style.shaped("Effects of columns", along, len(path.values), len(columns))
    ranked = bars_first(columns, effects)
    columns = style.chosen(columns, ranked)
    effects = effects[:, ranked]
    names = [column.name for column in columns[:N_BARS]]
    target = "the prediction" if path.score_name in ("R²", "r2") else "the decision"
    shares = column_shares(effects)
    is_kernels = columns and {column.name for column in columns} <= set(path.kernel_names)
    noun = "kernel" if is_kernels else "column"
    drawn = bars_json(
        path,
        _column_rows(columns, target, dark),
        shares,
        f"How far each {noun} moves {target}, and its share, at ",
        max(LEAST_SCALE, float(shares.max(initial=0.0))),
        index,
    )
    total = sum(column.effect for column in columns) or 1.0
    others = [None] * (len(columns) > N_BARS)
    amounts = [[_amount(value) for value in row] for row in heights(effects, range(len(names)))]
    return drawn | {
        "unit": "%",
        "numbers": amounts,
        "ticked": index if at is None else at,
        "ticks": [*(column.alone / total for column in columns[:N_BARS]), *others],
        "picks": [*names, *others],
    }


def _column_rows(columns: Sequence[Any], target: str, dark: bool) -> list[Bar]:
    grey = style.theme(dark).grey
    hue = style.family_shade("linear", 0, dark)
    shown = columns[:N_BARS]
    others = columns[N_BARS:]
    labels = style.cuts([column.name for column in shown], NAME_LENGTH)
    bars = []
    for column, label in zip(shown, labels, strict=True):
        name = (
            f"{column.name} moves {target} by {_amount(column.effect)} on average; "
            f"alone by {_amount(column.alone)}"
        )
        bars.append((label, name, grey if column.chance else hue))
    if others:
        n_grey = sum(bool(column.chance) for column in others)
        name = style.counted(len(others), "other")
        if 0 < n_grey < len(others):
            name += f", {n_grey} grey"
        bars.append((name, name, grey if n_grey == len(others) else hue))
    return bars


def _amount(value: float) -> str:
    """An effect with two digits, as in sentences: 64,000."""
    text = style.number(value, digits=2)
    return f"{int(text):,}" if text.isdecimal() else text
