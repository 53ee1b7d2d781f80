"""Scenes: panels in units of their axes, with one entry per position of a slider, for the player ``lesson``.

Everything the slider can show is in the scene, so that a class sees it move without a server.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mklcore.figures import style

HEIGHT = 15.5  # of a panel, in rem: it grows with the type
LABEL_ROOM = 0.085  # between two labels at line ends, as a share of a panel
Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """One axis: its title, its ends, and where its ticks stand; ``log`` for a logarithmic one."""

    title: str
    low: float
    high: float
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()

    def at(self, value: float) -> float:
        """Return where ``value`` is, from 0 to 1; what is beyond the ends is drawn at them."""
        if self.log:
            value, low, high = (math.log10(max(v, 1e-300)) for v in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    def drawn(self) -> dict[str, Any]:
        """Return title and ticks as the browser wants them."""
        return {"title": self.title, "ticks": [(self.at(value), text) for value, text in self.ticks]}


def steps(title: str, names: Sequence[str]) -> Scale:
    """Return an axis with evenly spaced named places 0, 1, 2, ..."""
    return Scale(title, -0.4, len(names) - 0.6, ticks=tuple((float(k), name) for k, name in enumerate(names)))


def linear(title: str, low: float, high: float, count: int = 4) -> Scale:
    """Return a linear axis with about ``count`` round ticks."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    values = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return Scale(title, low, high, ticks=tuple((v, style.number(round(v, 12))) for v in values))


def logarithmic(title: str, low: float, high: float, *, falling: bool = False) -> Scale:
    """Return a logarithmic axis with human ticks, which says so; ``falling`` puts the largest value on the left."""
    ticks = style.human_ticks(math.log10(low), math.log10(high))[:8]
    plain = all(1e-4 <= tick < 1e6 for tick in ticks)
    labels = tuple((tick, style.tick_text(tick, plain=plain)) for tick in ticks)
    ends = (high, low) if falling else (low, high)
    return Scale(f"{title} ({'falling, ' if falling else ''}log scale)", *ends, log=True, ticks=labels)


@dataclass(frozen=True)
class Line:
    """A line through points in units of its panel; ``only`` is the position of the slider at which it comes to the
    front.
    """

    points: tuple[Point | None, ...]
    colour: str
    name: str = ""
    width: float = 2.25
    dash: str = ""
    opacity: float = 1.0
    label: str = ""
    label_at: float = 0.0
    label_colour: str = ""
    only: int | None = None
    fill: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar from ``x0`` to ``x1``: its height, and what is said on hover, at every position of the slider."""

    x0: float
    x1: float
    colour: str
    name: str
    heights: tuple[float, ...]
    spoken: tuple[str, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class Dot:
    """A dot that moves with the slider; None hides it."""

    colour: str
    at: tuple[Point | None, ...]


@dataclass(frozen=True)
class Cell:
    """A place of a grid: "inside", "extreme", "next" or "out"."""

    x: float
    y: float
    kind: str
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """One picture of the scene. ``cursor`` is where the slider stands on the x axis at each of its positions."""

    title: str
    alt: str
    x: Scale
    y: Scale
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    dots: tuple[Dot, ...] = ()
    cells: tuple[tuple[Cell, ...], ...] = ()
    cell: float = 0.2
    cursor: tuple[float, ...] | None = None
    wide: bool = False
    tone: dict[str, str] = field(default_factory=dict)

    def drawn(self) -> dict[str, Any]:
        """Return the panel as the browser wants it."""
        parts = asdict(self)
        return parts | {"x": self.x.drawn(), "y": self.y.drawn(), "height": HEIGHT}


@dataclass(frozen=True)
class Scene:
    """The panels of a lesson, the names of the slider's positions, one sentence for each, and where it begins."""

    steps: tuple[str, ...]
    said: tuple[str, ...]
    start: int
    panels: tuple[Panel, ...]

    def drawn(self) -> dict[str, Any]:
        """Return the scene as the browser wants it."""
        parts = {"steps": list(self.steps), "said": list(self.said), "start": self.start}
        return parts | {"panels": [panel.drawn() for panel in self.panels]}


def curve(x: Scale, y: Scale, xs: Any, ys: Any, colour: str, dark: bool, **more: Any) -> Line:
    """Return a line through values of the two axes; its label has a colour that can be read."""
    points = tuple((x.at(float(a)), y.at(float(b))) if np.isfinite(b) else None for a, b in zip(xs, ys, strict=True))
    last = next((point for point in reversed(points) if point), (0.0, 0.0))
    return Line(
        points, colour, label_at=last[1], label_colour=style.readable(colour, dark, style.TEXT_CONTRAST), **more
    )


def traced(
    title: str,
    alt: str,
    x: Scale,
    y: Scale,
    lines: Sequence[Line],
    values: Iterable[Any],
    dotted: Sequence[Line] | None = None,
    **more: Any,
) -> Panel:
    """Return a panel of lines with a dot on each, or on those of ``dotted``, at one of the ``values`` per position of
    the slider.
    """
    dots = tuple(Dot(line.colour, line.points) for line in (lines if dotted is None else dotted))
    cursor = tuple(x.at(float(value)) for value in values)
    return Panel(title, alt, x, y, lines=parted(lines), dots=dots, cursor=cursor, **more)


def parted(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines with their labels moved up or down where two would overlap."""
    labelled = [line for line in lines if line.label]
    places = iter(style.spread([line.label_at for line in labelled], LABEL_ROOM, 0.0, 1.0))
    return tuple(_moved(line, float(next(places))) if line.label else line for line in lines)


def _moved(line: Line, place: float) -> Line:
    return Line(**{**vars(line), "label_at": place})
