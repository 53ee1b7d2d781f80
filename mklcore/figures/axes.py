"""Axes with ends and readable ticks, shared by static figures and players."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style
from mklcore.figures.style import Json, floats

TITLES = {
    "C": "C, cost of an error",
    "lam": "λ, ridge penalty",
    "p": "p, norm of the weights",
    "s": "s, number of kernels",
}
NORM_TICKS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
NORM_ROOM = 0.09  # least distance of two ticks of a norm, as a share of the axis
PAD = 0.02  # room on both sides of a path, as a share of the axis
MOST_TICKS = 8
Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Scale:
    """One axis: its title, its two ends, its ticks (value, text), and whether it is logarithmic."""

    title: str
    low: float
    high: float
    log: bool = False
    ticks: Ticks = ()

    def at(self, value: float) -> float:
        """The place of ``value`` from 0 to 1; a value beyond an end is drawn at that end."""
        places = [self.low, value, self.high]
        if self.log:
            places = [math.log10(max(place, 1e-300)) for place in places]
        low, at, high = places
        share = (at - low) / ((high - low) or 1.0)
        return round(min(max(share, 0.0), 1.0), 5)

    def to_json(self) -> Json:
        """The axis for a player; ticks are (place from 0 to 1, text)."""
        ticks = [(self.at(value), text) for value, text in self.ticks]
        return {"title": self.title, "ticks": ticks, "low": self.low, "high": self.high}

    def plotly(self, **options: Any) -> Json:
        """The axis for a static figure."""
        layout: Json = {
            "title": self.title,
            "range": [self.low, self.high],
            "showgrid": False,
        }
        if self.log:
            layout |= {"type": "log", "range": [math.log10(self.low), math.log10(self.high)]}
        if self.ticks:
            values, texts = zip(*self.ticks, strict=True)
            layout |= {"tickvals": values, "ticktext": texts}
        return layout | options


def linear(title: str, low: float, high: float, unit: str = "") -> Scale:
    """A linear axis with about four round ticks; the ``unit`` "%" shows shares as percentages."""
    factor = 100.0 if unit == "%" else 1.0
    rough_step = factor * (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough_step)) if rough_step > 0 else 1.0
    steps = [multiple * power for multiple in (1, 2, 2.5, 5, 10)]
    step = next(step for step in steps if step >= rough_step * 0.999)
    first = math.ceil(factor * low / step - 1e-9)
    last = math.floor(factor * high / step + 1e-9)
    ticks = []
    for k in range(first, last + 1):
        value = round(k * step, 12)
        ticks.append((value / factor, f"{style.number(value)} {unit}".strip()))
    return Scale(title, low, high, ticks=tuple(ticks))


def logarithmic(title: str, values: Any, pad: float = 0.0) -> Scale:
    """A logarithmic axis over the positive ``values``, wider by a share ``pad`` on both sides.

    The title says that the scale is logarithmic. Ticks are powers of ten, or 1, 2 and 5 times
    powers of ten where fewer than two powers fit.
    """
    positive = floats(values)
    positive = positive[np.isfinite(positive) & (positive > 0)]
    low = 0.0
    high = 1.0
    if positive.size:
        low = float(np.log10(positive.min()))
        high = float(np.log10(positive.max()))
    room = pad * (high - low) if high - low > 1e-9 else 0.3
    low -= room
    high += room
    ticks = _log_ticks(low, high)
    plain = all(1e-4 <= tick < 1e6 for tick in ticks)
    labels = tuple((tick, tick_text(tick, plain)) for tick in ticks)
    return Scale(f"{title} (log scale)", 10.0**low, 10.0**high, log=True, ticks=labels)


def _log_ticks(low: float, high: float) -> list[float]:
    """Round values from 10^low to 10^high, at least one and at most about ``MOST_TICKS``."""
    powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    if len(powers) >= 2:
        return [float(f"1e{d}") for d in powers[:: math.ceil(len(powers) / MOST_TICKS)]]
    ticks = []
    for d in range(math.floor(low), math.ceil(high) + 1):
        for mantissa in (1, 2, 5):
            tick = float(f"{mantissa}e{d}")
            if low - 1e-9 <= math.log10(tick) <= high + 1e-9:
                ticks.append(tick)
    return ticks or [float(f"{10 ** ((low + high) / 2):.2g}")]


def tick_text(value: float, plain: bool = True) -> str:
    """0.01, 0.1, 1, 10; a value outside 0.01 to 100 becomes a power of ten unless ``plain``."""
    if plain or 0.01 <= value <= 100:
        return f"{value:.10f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.0e}".split("e")
    power = style.power_of_ten(int(exponent))
    return power if mantissa == "1" else f"{mantissa} × {power}"


def norms(title: str, values: Any) -> Scale:
    """The axis of norms p, with ∞ at its end where one of them is infinite."""
    positions = norm_positions(values)
    finite = np.isfinite(floats(values))
    low = float(positions.min())
    high = float(positions.max())
    last = float(positions[finite].max(initial=1.0))
    least_ratio = (high / low) ** NORM_ROOM
    ticks = list[tuple[float, str]]()
    for tick in NORM_TICKS:
        if low <= tick <= last and (not ticks or tick / ticks[-1][0] >= least_ratio):
            ticks.append((tick, f"{tick:g}"))
    if not finite.all():
        ticks.append((high, "∞"))
    room = (high / low) ** PAD if high > low else 2.0
    return Scale(f"{title} (log scale)", low / room, high * room, log=True, ticks=tuple(ticks))


def whole(title: str, low: float, high: float) -> Scale:
    """An axis of whole numbers."""
    room = PAD * (high - low) or 0.5
    step = max(1, math.ceil((high - low) / MOST_TICKS))
    values = np.arange(math.ceil(low), high + 1e-9, step).tolist()
    ticks = tuple((float(value), f"{value:g}") for value in values)
    return Scale(title, low - room, high + room, ticks=ticks)


def named(title: str, names: Sequence[str]) -> Scale:
    """An axis with evenly spaced places 0, 1, 2, ...; a place with an empty name has no tick."""
    ticks = tuple((float(k), name) for k, name in enumerate(names) if name)
    return Scale(title, -0.5, len(names) - 0.5, ticks=ticks)


def parameter_axis(path: Any, title: str | None = None) -> Scale:
    """The axis of the parameter along which ``path`` was fitted."""
    title = TITLES.get(path.param, path.param) if title is None else title
    positions = norm_positions(path.values)
    if path.param == "s":
        return whole(title, float(positions.min()), float(positions.max()))
    return norms(title, path.values) if path.param == "p" else logarithmic(title, positions, PAD)


def norm_positions(values: Any) -> Array:
    """Positions of values (L,) on an axis: infinity lies at twice the largest finite value."""
    values = floats(values)
    finite = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, 2 * finite.max() if finite.size else 1.0)
