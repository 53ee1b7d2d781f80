"""Axes: their ends, and ticks that people read; the same for players and for static figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.figures import style

TITLES = {
    "C": "C, cost of an error",
    "lam": "λ, ridge penalty",
    "p": "p, norm of the weights",
    "s": "s, number of kernels",
}
NORM_TICKS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
NORM_ROOM = 0.09  # of the axis between two ticks
PAD = 0.02  # of the axis, left and right of a path
MOST_TICKS = 8


@dataclass(frozen=True)
class Scale:
    """One axis: its title, its ends, and its ticks as (value, text); ``log`` for a logarithmic one."""

    title: str
    low: float
    high: float
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        """Where ``value`` is, from 0 to 1; what is beyond the ends is drawn at them."""
        ends = (value, self.low, self.high)
        value, low, high = (math.log10(max(v, 1e-300)) for v in ends) if self.log else ends
        return round(min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0), 5)

    def drawn(self) -> dict[str, Any]:
        """Title, ticks and ends as a player wants them."""
        ticks = [(self.at(value), text) for value, text in self.ticks]
        return {"title": self.title, "ticks": ticks, "low": self.low, "high": self.high}

    def plotly(self, dark: bool, **more: Any) -> dict[str, Any]:
        """The axis of a static figure."""
        own: dict[str, Any] = {"range": [self.low, self.high], "showgrid": False}
        if self.log:
            own |= {"type": "log", "range": [math.log10(self.low), math.log10(self.high)]}
        if self.ticks:
            own |= {
                "tickvals": [value for value, _ in self.ticks],
                "ticktext": [text for _, text in self.ticks],
            }
        return style.axis(self.title, dark, **own | more)


def linear(title: str, low: float, high: float, unit: str = "") -> Scale:
    """A linear axis with about four round ticks; with the ``unit`` "%" shares are ticked as
    percentages.
    """
    times = 100.0 if unit == "%" else 1.0
    rough = times * (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(times * low / step - 1e-9)
    last = math.floor(times * high / step + 1e-9)
    values = [round(k * step, 12) for k in range(first, last + 1)]
    ticks = tuple((v / times, f"{style.number(v)} {unit}".strip()) for v in values)
    return Scale(title, low, high, ticks=ticks)


def logarithmic(title: str, values: Any, pad: float = 0.0) -> Scale:
    """A logarithmic axis over the positive ``values``, a share ``pad`` wider on both sides, which
    says so.

    Ticks are powers of ten, or 1, 2, 5 where fewer than two decades fit.
    """
    positive = np.asarray(values, dtype=float)
    positive = positive[np.isfinite(positive) & (positive > 0)]
    low, high = (
        (float(np.log10(end)) for end in (positive.min(), positive.max()))
        if positive.size
        else (0.0, 1.0)
    )
    room = pad * (high - low) if high - low > 1e-9 else 0.3
    low = low - room
    high = high + room
    decades = [float(f"1e{d}") for d in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)]
    ticks = decades[:: math.ceil(len(decades) / MOST_TICKS) or 1]
    if len(decades) < 2:
        steps = [
            float(f"{m}e{d}")
            for d in range(math.floor(low), math.ceil(high) + 1)
            for m in (1, 2, 5)
        ]
        inside = [step for step in steps if low - 1e-9 <= math.log10(step) <= high + 1e-9]
        ticks = inside or [float(f"{10 ** ((low + high) / 2):.2g}")]
    plain = all(1e-4 <= tick < 1e6 for tick in ticks)
    labels = tuple((tick, tick_text(tick, plain)) for tick in ticks)
    return Scale(f"{title} (log scale)", 10.0**low, 10.0**high, log=True, ticks=labels)


def norms(title: str, values: Any) -> Scale:
    """The axis of norms p, with ∞ at its end where one of them is."""
    places = norm_positions(values)
    finite = np.isfinite(np.asarray(values, dtype=float))
    low = float(places.min())
    high = float(places.max())
    last = float(places[finite].max(initial=1.0))
    gap = NORM_ROOM * math.log(high / low)
    ticks = list[tuple[float, str]]()
    for tick in NORM_TICKS:
        if low <= tick <= last and (not ticks or math.log(tick / ticks[-1][0]) >= gap):
            ticks.append((tick, f"{tick:g}"))
    room = (high / low) ** PAD if high > low else 2.0
    ends = () if finite.all() else ((high, "∞"),)
    return Scale(f"{title} (log scale)", low / room, high * room, log=True, ticks=(*ticks, *ends))


def whole(title: str, low: float, high: float) -> Scale:
    """An axis of whole numbers."""
    room = PAD * (high - low) or 0.5
    step = max(1, math.ceil((high - low) / MOST_TICKS))
    ticks = tuple((float(v), f"{v:g}") for v in np.arange(math.ceil(low), high + 1e-9, step))
    return Scale(title, low - room, high + room, ticks=ticks)


def named(title: str, names: Sequence[str]) -> Scale:
    """An axis with evenly spaced places 0, 1, 2, ...; those with an empty name have no tick."""
    ticks = tuple((float(k), name) for k, name in enumerate(names) if name)
    return Scale(title, -0.5, len(names) - 0.5, ticks=ticks)


def parameter_axis(path: Any, title: str | None = None) -> Scale:
    """The axis of the path's own parameter."""
    title = TITLES.get(path.param, path.param) if title is None else title
    places = norm_positions(path.values)
    if path.param == "s":
        return whole(title, float(places.min()), float(places.max()))
    return norms(title, path.values) if path.param == "p" else logarithmic(title, places, PAD)


def norm_positions(p: Any) -> Array:
    """Where values are on an axis (L,): the value itself, and infinity a doubling beyond the
    largest finite.
    """
    values = np.asarray(p, dtype=float)
    finite = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, 2 * finite.max() if finite.size else 1.0)


def tick_text(value: float, plain: bool = True) -> str:
    """0.01, 0.1, 1, 10; powers of ten outside 0.01 to 100 where another tick of the axis needs one."""
    if plain or 0.01 <= value <= 100:
        return f"{value:.10f}".rstrip("0").rstrip(".")
    mantissa, exponent = f"{value:.0e}".split("e")
    power = style.power_of_ten(int(exponent))
    return power if mantissa == "1" else f"{mantissa} × {power}"
