"""What the players along a path show, as numbers and words: bars, texts and the slider that leads them.

The app sends these to its components, a page of its own writes them into itself. Every function reads a ``Path`` by its
fields alone and gives plain lists; the caller says where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import captions, style
from mklcore.figures.paths import path_positions, solved

N_BARS = 12
NAME_LENGTH = 32  # letters in the column of names, where it is as wide as it gets
Rows = Sequence[tuple[str, str, str]]  # name, full name and colour of every bar


def order(path: Any, most: int = N_BARS) -> list[int]:
    """The kernels with a bar, the largest along the whole path first: the order never moves with the cursor."""
    peaks = style.peak_weights(path.weights, len(path.kernel_names))
    ranked = [int(m) for m in np.argsort(-peaks, kind="stable")]
    return ranked if len(ranked) <= most + 1 else ranked[:most]


def heights(weights: Any, shown: Sequence[int]) -> Array:
    """The weights (..., M) of the bars, with the sum of all others as the last bar where there are others."""
    table = np.asarray(weights, dtype=float)
    bars: Array = table[..., list(shown)]
    if len(shown) == table.shape[-1]:
        return bars
    rest = table.sum(axis=-1) - bars.sum(axis=-1)
    return np.concatenate([bars, np.maximum(rest, 0)[..., None]], axis=-1)


def kernel_rows(path: Any, *, dark: bool, most: int = N_BARS) -> Rows:
    """Name, full name and colour of every kernel's bar, and of that of all others."""
    shown = order(path, most)
    colours = style.kernel_colours(path.kernel_families, style.peak_weights(path.weights, len(path.kernel_names)), dark)
    every = captions.labels(path.kernel_names, path.kernel_families)
    rows = [(style.cut(every[m], NAME_LENGTH), path.kernel_names[m], colours[m]) for m in shown]
    others = len(path.kernel_names) - len(shown)
    return [*rows, (f"{others} others, summed",) * 2 + (style.theme(dark).grey,)] if others else rows


def kernel_bars(path: Any, *, most: int = N_BARS) -> list[list[float]]:
    """The weights of those bars at every point."""
    table: list[list[float]] = np.round(heights(path.weights, order(path, most)), 6).tolist()
    return table


def longest_kernel(table: Sequence[Sequence[float]], rows: Rows, n_kernels: int) -> float:
    """The weight of the longest bar: the sum of the others does not count, it may be longer than any."""
    counted = len(rows) - (len(rows) < n_kernels)
    return max((max(entry[:counted]) for entry in table), default=0.0) or 1.0


def bars(
    path: Any, rows: Rows, table: Sequence[Sequence[float | None]], title: str, *, index: int, unit: str = "",
    most: float | None = None, moving: int | None = None, sortable: bool = False,
    tall: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """What the player ``bars`` shows: ``table`` holds the values of its rows at every point of the path.

    ``most`` is the value of the longest bar, ``moving`` how many of the rows the path moves; the others stay full.
    ``tall`` is a list too long to be seen at once.
    """
    largest = max((value for entry in table for value in entry if value is not None), default=0.0)
    return {
        "title": title,
        "labels": [captions.label(path.param, value) for value in path.values],
        "names": [name for name, _, _ in rows],
        "full": [full for _, full, _ in rows],
        "colours": [colour for _, _, colour in rows],
        "weights": [list(entry) for entry in table],
        "hollow": [not ok for ok in solved(path)],
        "moves": [moving is None or k < moving for k in range(len(rows))],
        "most": most or largest or 1.0,
        "unit": unit,
        "index": index,
        "waiting": False,
        "sortable": sortable,
        "tall": tall,
    }


def slider(path: Any, *, index: int) -> dict[str, Any]:
    """What the player ``path`` shows: where its points are, and what is said at each of them."""
    labels = [captions.label(path.param, value) for value in path.values]
    return {
        "x": path_positions(path).tolist(),
        "labels": labels,
        "spoken": [f"{text}, {captions.spoken(path, k)}" for k, text in enumerate(labels)],
        "index": index,
        "exact": None,
        "waiting": False,
    }
