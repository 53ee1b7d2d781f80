"""Colours, panels of bars side by side, and the axis of weights."""

from collections.abc import Sequence

import numpy as np

from mklcore.figures import scenes as scene
from mklcore.figures import style
from mklcore.figures.scenes import Bar, Panel

BAR_SHARE = 0.76  # of its slot that a bar fills
ROOM = 1.06  # above the highest value


def hue(family: str, dark: bool, member: int = 0) -> str:
    """Return the colour of a kernel of a family."""
    return style.family_shade(family, member, dark)


def slots(names: Sequence[str], heights: np.ndarray, top: float, colours: Sequence[str]) -> tuple[Bar, ...]:
    """Return one bar per column of ``heights`` (L, B), side by side."""
    width = 1.0 / len(names)
    gap = width * (1 - BAR_SHARE) / 2
    return tuple(
        Bar(
            width * k + gap,
            width * (k + 1) - gap,
            colours[k],
            name,
            tuple((heights[:, k] / top).round(4).tolist()),
            tuple(style.number(value) for value in heights[:, k]),
        )
        for k, name in enumerate(names)
    )


def share_axis(title: str, top: float) -> scene.Scale:
    """Return the axis of weights and shares."""
    return scene.linear(title, 0.0, top)


def bar_panel(
    title: str,
    alt: str,
    axes: tuple[str, str],
    names: Sequence[str],
    heights: np.ndarray,
    top: float,
    colours: Sequence[str],
    labels: Sequence[str],
) -> Panel:
    """Return a panel of one bar per column of ``heights`` (L, B) with its label below, where it has one."""
    ticks = tuple((float(k), label) for k, label in enumerate(labels) if label)
    x = scene.Scale(axes[0], -0.5, len(names) - 0.5, ticks=ticks)
    return Panel(title, alt, x, share_axis(axes[1], top), bars=slots(names, heights, top, colours))
