"""Small pictures of panels: lines, bars and cells of one position, without axes and words."""

from collections.abc import Mapping
from typing import Any

WIDTH, HEIGHT, EDGE = 200.0, 72.0, 5.0
MOST_LINES = 12
Drawn = Mapping[str, Any]


def thumbnail(panel: Drawn, index: int) -> str:
    """A panel as :meth:`Panel.drawn` gives it, at one position of its slider, as SVG.

    Parameters
    ----------
    panel : mapping
        The panel, in units from 0 to 1.
    index : int
        The position of the slider.

    Returns
    -------
    str
        The picture, 200 by 72.
    """
    parts = [*_bars(panel["bars"], index), *_lines(panel["lines"]), *_dots(panel["dots"], index)]
    cells = panel["cells"][index] if panel["cells"] else ()
    parts += [_cell(cell, panel["cell"], panel["tone"]) for cell in cells]
    view = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} width="{WIDTH:g}" height="{HEIGHT:g}">{"".join(parts)}</svg>'
    )


def _x(at: float) -> float:
    return round(EDGE + at * (WIDTH - 2 * EDGE), 1)


def _y(at: float) -> float:
    return round(HEIGHT - EDGE - at * (HEIGHT - 2 * EDGE), 1)


def _bars(bars: list[Drawn], index: int) -> list[str]:
    return [
        f'<rect x="{_x(bar["x0"])}" y="{_y(bar["heights"][index])}" width="{_x(bar["x1"]) - _x(bar["x0"]):.1f}" '
        f'height="{_y(0.0) - _y(bar["heights"][index]):.1f}" fill="{bar["colour"]}" opacity="{bar["opacity"]}"/>'
        for bar in bars
    ]


def _lines(lines: list[Drawn]) -> list[str]:
    found = []
    for line in lines[-MOST_LINES:]:
        points = " ".join(f"{_x(point[0])},{_y(point[1])}" for point in line["points"] if point)
        found.append(
            f'<polyline points="{points}" fill="none" stroke="{line["colour"]}" stroke-width="{line["width"]}" '
            f'opacity="{line["opacity"]}" stroke-linejoin="round"/>'
        )
    return found


def _dots(dots: list[Drawn], index: int) -> list[str]:
    places = [(dot["colour"], dot["at"][index]) for dot in dots]
    return [f'<circle cx="{_x(at[0])}" cy="{_y(at[1])}" r="3.5" fill="{colour}"/>' for colour, at in places if at]


def _cell(cell: Drawn, size: float, tone: Mapping[str, str]) -> str:
    if cell["kind"] in ("out", "next"):
        return f'<circle cx="{_x(cell["x"])}" cy="{_y(cell["y"])}" r="1.5" fill="{tone["grey"]}"/>'
    side = 0.62 * size * HEIGHT
    return (
        f'<rect x="{_x(cell["x"]) - side / 2:.1f}" y="{_y(cell["y"]) - side / 2:.1f}" width="{side:.1f}" '
        f'height="{side:.1f}" rx="1.5" fill="{tone["hue"]}"/>'
    )
