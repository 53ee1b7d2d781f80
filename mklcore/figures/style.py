"""Colours, axes, numbers and labels: what every figure shares.

Colour carries one meaning, the family of a kernel. The hues are those of Okabe and Ito, which
people with the common kinds of colour blindness tell apart; only their lightness moves, until they
can be seen on the theme's background: marks reach a contrast of 3:1 and text 4.5:1 (WCAG 2).
Members of a family differ in lightness. Backgrounds stay transparent and no font is named, so a
figure takes both from the page around it.
"""

from __future__ import annotations

import colorsys
import html
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mklcore._lazy import import_extra
from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.functions import COMPOSED, KERNELS
from mklcore.kernels.sequences import SEQUENCE_KERNELS

if TYPE_CHECKING:
    from plotly import graph_objects as graph_objects

else:

    class _GraphObjects:
        """Plotly's, imported when the first figure is drawn: the library works without Plotly."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_extra("plotly.graph_objects", "app", "Figures"), name)

    graph_objects = _GraphObjects()

# In the order in which they are given out: to families without a hue of their own, and to the
# largest kernels of one family.
PALETTE = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
SPARE = ("#7A5195", "#8C6D31", "#2F7F86", "#9C3D54", "#5B6ABF", "#6B8E23")
_WITHOUT_SPEC = {"hkl": "#56B4E9", "precomputed": "#D55E00", "view": "#3B7A57"}


def family_hues() -> dict[str, str]:
    """The hue of every family of kernels, also of those added later, in the order in which the
    palette gives them.
    """
    specs = [
        *(entry.spec for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())),
        *COMPOSED.values(),
    ]
    hues = {spec.family: spec.hue for spec in specs if spec.hue} | _WITHOUT_SPEC
    free = (hue for hue in SPARE if hue not in hues.values())
    for spec in specs:
        if spec.family not in hues:
            hues[spec.family] = next(free, SPARE[-1])
    place = {hue: rank for rank, hue in enumerate(PALETTE)}
    return dict(sorted(hues.items(), key=lambda item: place.get(item[1], len(place))))


SEQUENTIAL = "Cividis"
MARK_CONTRAST = 3.0
TEXT_CONTRAST = 4.5
STRONGEST_CONTRAST = 9.0
SAFETY = 1.03  # rounding to 8 bits per channel, and paper that is not quite the theme's
DOMINANT_SHARE = 0.8
N_NAMED = 6
STEP_BACK = 0.35
TRANSPARENT = "rgba(0,0,0,0)"
LABEL_SIZE = 12
# px from ticks to title: their size is taken before the font is there, and it is a little larger
STANDOFF = 10
FIGURE_HEIGHT = 330
SMALL_HEIGHT = 300
SMALL_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 40}


@dataclass(frozen=True)
class Theme:
    """The neutral colours of one theme: background, drawing ink, quiet text, grey marks, grid."""

    paper: str
    ink: str
    muted: str
    grey: str
    grid: str


LIGHT = Theme(paper="#FFFFFF", ink="#1A1A1A", muted="#63625E", grey="#7F7E7A", grid="#E6E5E0")
DARK = Theme(paper="#171614", ink="#FFFFFF", muted="#B3B0A8", grey="#8E8B84", grid="#3A3833")


def theme(dark: bool) -> Theme:
    return DARK if dark else LIGHT


# Colours


def _channels(colour: str) -> tuple[float, float, float]:
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def luminance(colour: str) -> float:
    """WCAG relative luminance of ``#rrggbb``, from 0 (black) to 1 (white)."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """WCAG contrast ratio of two colours, from 1 (the same) to 21 (black on white)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=1024)
def at_contrast(colour: str, paper: str, ratio: float) -> str:
    """The lightness of a hue whose contrast with ``paper`` is ``ratio``: darker on light paper,
    lighter on dark.
    """
    hue, _, saturation = colorsys.rgb_to_hls(*_channels(colour))
    base = luminance(paper) + 0.05
    paper_is_light = base > 0.23
    wanted = (base / ratio if paper_is_light else base * ratio) - 0.05
    low = 0.0
    high = 1.0
    shade = colour
    for _ in range(24):
        middle = (low + high) / 2
        shade = "#" + "".join(
            f"{round(255 * c):02X}" for c in colorsys.hls_to_rgb(hue, middle, saturation)
        )
        low, high = (middle, high) if luminance(shade) < wanted else (low, middle)
    return shade


def readable(colour: str, dark: bool, ratio: float = MARK_CONTRAST) -> str:
    """``colour`` itself where it can be seen on the theme's background, else the nearest lightness
    that can.
    """
    paper = theme(dark).paper
    return (
        colour
        if contrast(colour, paper) >= ratio * SAFETY
        else at_contrast(colour, paper, ratio * SAFETY)
    )


def faded(colour: str, opacity: float = STEP_BACK) -> str:
    """``colour`` stepped back, as CSS rgba."""
    red, green, blue = (round(255 * c) for c in _channels(colour))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _bit_reversed(index: int) -> float:
    """0, 1/2, 1/4, 3/4, 1/8, ...: neighbours are far apart, and adding a kernel moves no earlier
    one.
    """
    value = 0.0
    step = 0.5
    while index:
        value += step * (index & 1)
        index = index >> 1
        step = step / 2
    return value


def family_shade(family: str, member: int, dark: bool) -> str:
    """Colour of the ``member``-th kernel of a family: the family's hue, in one of the lightnesses
    that can be seen.
    """
    first = readable(family_hues().get(family, _WITHOUT_SPEC["precomputed"]), dark)
    paper = theme(dark).paper
    weakest = MARK_CONTRAST * SAFETY
    span = math.log(STRONGEST_CONTRAST / weakest)
    start = math.log(contrast(first, paper) / weakest) / span
    turn = (start + _bit_reversed(member)) % 1.0
    return first if member == 0 else at_contrast(first, paper, weakest * math.exp(turn * span))


def peak_weights(weights: Any, n_kernels: int) -> Array:
    """Largest weight of each kernel (M,), from weights (M,) or a path of weights (L, M)."""
    table = np.abs(np.atleast_2d(np.asarray(weights, dtype=float)))
    return np.nan_to_num(table).max(axis=0) if table.size else np.zeros(n_kernels)


def largest(peaks: Array, count: int = N_NAMED) -> list[int]:
    """Indices of the ``count`` largest kernels, in the order of the dictionary; ties go to the
    earlier kernel.
    """
    return sorted(int(m) for m in np.argsort(-peaks, kind="stable")[:count])


def kernel_colours(families: Sequence[str], weights: Any = None, dark: bool = False) -> list[str]:
    """One ``#rrggbb`` per kernel, the same on every page.

    Families take their hue and members differ in lightness. Where one family is more than four
    fifths of the dictionary and ``weights`` (M,) or (L, M) are given, the six largest kernels have
    ``distinct_colours``. Hand over the weights of the whole path, so that colours stay while a
    cursor moves.
    """
    if weights is not None and max(Counter(families).values(), default=0) > DOMINANT_SHARE * len(
        families
    ):
        return distinct_colours(peak_weights(weights, len(families)), dark)
    seen: Counter[str] = Counter()
    colours = []
    for name in families:
        colours.append(family_shade(name, seen[name], dark))
        seen[name] += 1
    return colours


# Contrasts with the paper at which the palette's six hues are at least 20 apart in CIELAB, also for
# protanopes, deuteranopes and tritanopes (every combination of five contrasts was tried); every
# line has a mark of its own as well.
_SIX_CONTRASTS = {False: (11.0, 5.8, 8.0, 3.1, 3.1, 3.1), True: (3.1, 11.0, 11.0, 5.8, 11.0, 3.1)}
GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "x": "✖", "star": "★"}


def six_hues(dark: bool = False) -> list[str]:
    """Six colours that people with any kind of colour blindness tell apart on the theme's
    background.
    """
    pairs = zip(PALETTE, _SIX_CONTRASTS[dark], strict=False)
    return [at_contrast(hue, theme(dark).paper, ratio) for hue, ratio in pairs]


def distinct_colours(peaks: Array, dark: bool = False) -> list[str]:
    """One colour per kernel: six for the six largest of ``peaks`` (M,), whatever their family, grey
    for the others.
    """
    hues = dict(zip(largest(peaks), six_hues(dark), strict=False))
    return [hues.get(m, theme(dark).grey) for m in range(len(peaks))]


def distinct_glyphs(peaks: Array) -> list[str]:
    """The mark of each kernel as a sign for a legend, one for each of the six largest, none for the
    others.
    """
    signs = dict(zip(largest(peaks), GLYPHS.values(), strict=False))
    return [signs.get(m, "") for m in range(len(peaks))]


# Numbers and words

_JOINTS = " _-/"
_WORD = re.compile(rf"[^{re.escape(_JOINTS)}]+[{re.escape(_JOINTS)}]*|[{re.escape(_JOINTS)}]+")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, zeros: bool = False, digits: int = 3) -> str:
    """Three significant digits and a minus as wide as a plus: 0.0123, −1.5, 1230, 4.2 × 10⁷; with
    ``zeros`` at the end where values stand beside each other: 0.900.
    """
    value = float(value)
    if value < 0:
        return f"−{number(-value, zeros, digits)}"
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "∞" if value == math.inf else "not available"
    rounded, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if not -4 <= power < 6:
        return f"{float(rounded):g} × {power_of_ten(power)}"
    text = f"{float(f'{rounded}e{exponent}'):.{max(0, digits - 1 - power)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not zeros else text


def power_of_ten(exponent: int) -> str:
    """10 to a whole number, as 10⁷."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def minus(text: str) -> str:
    """Formatted numbers, each minus as wide as a plus."""
    return text.replace("-", "−")


def rounded_to(value: float, step: float, sign: bool = False) -> str:
    """A number as far as it is known: a multiple of the power of ten below ``step``, at three
    digits without one.
    """
    if step > 0.0:
        digits = -math.floor(math.log10(step))
        value = round(value, digits) + 0.0
        text = f"{abs(value):,.{max(digits, 0)}f}"
    else:
        text = number(abs(value))
    return ("−" if value < 0.0 else "+" if sign else "") + text


def percent(share: float) -> str:
    """A gap as a percentage of the optimum; what is below a hundredth of a percent is said to be."""
    return "< 0.01 %" if share < 1e-4 else f"{number(100 * share)} %"


def joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def as_given(value: float) -> str:
    """A value of a table as the table has it: 2007, 12345.6."""
    return minus(f"{value:.10g}")


def date(days: float) -> str:
    """Days since 1970 as a date: "2019-05-17"."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(days // 1), "D"))


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def leaders(values: Array, names: Sequence[str], count: int = 3) -> str:
    """The largest entries: "a with 0.5, b with 0.25 and c with 0.1"."""
    top = np.argsort(-np.nan_to_num(values), kind="stable")[:count]
    return joined([f"{names[m]} with {number(values[m])}" for m in top])


def cut(name: str, length: int = 18) -> str:
    """A name as a label of at most ``length`` characters.

    Names of one family begin alike, so a long one keeps its last words; where these say little, its
    two ends.
    """
    if len(name) <= length:
        return name
    words = _WORD.findall(name)
    tails = ["".join(words[first:]).lstrip("× ") for first in range(1, len(words))]
    tail = next((tail for tail in tails if len(tail) < length), "")
    if 2 * len(tail) >= length:
        return f"…{tail}"
    front = (length - 1) * 2 // 5
    return f"{name[:front].rstrip()}…{name[len(name) - length + 1 + front :].lstrip()}"


def cuts(names: Sequence[str], length: int = 18) -> list[str]:
    """Names as labels that stand side by side: cut, but names that differ keep as many letters as
    tell them apart.
    """
    found = [cut(name, length) for name in names]
    for label in {one for one in found if found.count(one) > 1}:
        alike = {name for name, one in zip(names, found, strict=True) if one == label}
        longer = range(length, max(length, *map(len, alike)) + 1)
        enough = next(
            count for count in longer if len({cut(name, count) for name in alike}) == len(alike)
        )
        found = [
            cut(name, enough) if name in alike else one
            for name, one in zip(names, found, strict=True)
        ]
    return found


def short(name: str, length: int = 18) -> str:
    """A name as a label for plotly: cut, and what would be read as markup or as a place to fill in
    made harmless.
    """
    return harmless(cut(name, length))


def shorts(names: Sequence[str], length: int = 18) -> list[str]:
    """Labels for plotly that stand side by side, see `cuts`."""
    return [harmless(label) for label in cuts(names, length)]


def harmless(label: str) -> str:
    """A label without what plotly would read as markup or as a place to fill in."""
    return html.escape(label, quote=False).replace("%{", "%&#123;")


# Layout, axes and labels


def new_figure(
    alt: str, dark: bool, height: int = FIGURE_HEIGHT, **layout: Any
) -> graph_objects.Figure:
    """An empty figure in the common style; ``alt`` is its alternative text, kept in
    ``layout.meta["alt"]``.
    """
    tone = theme(dark)
    usual: dict[str, Any] = {
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": {"color": tone.ink, "size": LABEL_SIZE},
        "margin": {"l": 48, "r": 16, "t": 28, "b": 44} | layout.pop("margin", {}),
        "height": height,
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": tone.paper,
            "bordercolor": tone.muted,
            "font": {"color": tone.ink},
        },
        "meta": {"alt": alt},
    }
    return graph_objects.Figure(layout=usual | layout)


def axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    """A linear axis: quiet ticks, hair grid, its title with the symbol and the unit."""
    tone = theme(dark)
    return {
        "title": {
            "text": title,
            "font": {"color": tone.muted, "size": LABEL_SIZE},
            "standoff": STANDOFF,
        },
        "tickfont": {"color": tone.muted},
        "gridcolor": tone.grid,
        "zerolinecolor": tone.muted,
        "zeroline": False,
        "automargin": True,
        "ticklabelstandoff": 3,
        **more,
    }


def row_axis(labels: Sequence[str], dark: bool) -> dict[str, Any]:
    """The axis of labelled rows, the first on top."""
    places = list(range(len(labels)))  # two names may be cut to the same text
    return axis(
        "", dark, tickvals=places, ticktext=list(labels), autorange="reversed", showgrid=False
    )


def colour_bar(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    """The scale beside a map."""
    tone = theme(dark)
    named = {"text": title, "font": {"color": tone.muted, "size": LABEL_SIZE}}
    return {"title": named, "tickfont": named["font"], "thickness": 12, "outlinewidth": 0, **more}


def around(values: Any, share: float = 0.06, least: float = 0.05) -> tuple[float, float]:
    """From a little below the finite ``values`` to a little above; 0 to 1 where there are none."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not known.size:
        return 0.0, 1.0
    room = share * float(np.ptp(known)) or least
    return float(known.min()) - room, float(known.max()) + room


def shaped(what: str, values: Any, *shape: int) -> Array:
    """``values`` as numbers, one for each name of what a figure shows; ParameterError for any other
    ``shape``.
    """
    found = np.asarray(values, dtype=float)
    if found.shape != shape:
        raise ParameterError(
            f"{what} must have the shape {shape}, as the names have it; got {found.shape}."
        )
    return found


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> Array:
    """Positions nearest to ``wanted``, in the same order, at least ``gap`` apart and within [low,
    high] where they fit.

    Least squares: subtracting k * gap from the k-th smallest turns the gaps into monotonicity.
    """
    from scipy.optimize import isotonic_regression  # not at start-up

    target = np.asarray(wanted, dtype=float)
    if not target.size:
        return target
    order = np.argsort(target, kind="stable")
    steps = gap * np.arange(target.size)
    level = isotonic_regression(target[order] - steps).x
    placed = np.empty_like(target)
    placed[order] = np.clip(level, low, max(low, high - steps[-1])) + steps
    return placed


def words(text: str, colour: str | None, **place: Any) -> dict[str, Any]:
    """Words on a figure, at a place as annotations of plotly have it."""
    return {"text": text, "showarrow": False, "font": {"color": colour}, **place}


def empty_figure(message: str, dark: bool, height: int = FIGURE_HEIGHT) -> graph_objects.Figure:
    """A figure with nothing to draw, which says what to do next."""
    figure = new_figure(message, dark, height, xaxis={"visible": False}, yaxis={"visible": False})
    text = html.escape(message, quote=False)
    figure.add_annotation(words(text, theme(dark).muted, x=0.5, y=0.5, xref="paper", yref="paper"))
    return figure


def enlarged(figure: graph_objects.Figure, factor: float = 1.35) -> graph_objects.Figure:
    """A copy of ``figure`` for a room: type, margins, height and lines ``factor`` times as large;
    the data stay as they are.
    """
    larger = graph_objects.Figure(figure)
    layout = larger.layout
    layout.height, layout.font.size = layout.height * factor, layout.font.size * factor
    layout.margin = {side: factor * layout.margin[side] for side in ("l", "r", "t", "b")}
    for trace in larger.select_traces({"type": "scatter"}):
        trace.line.width = factor * (2 if trace.line.width is None else trace.line.width)
    return larger.update_xaxes(title_font_size=layout.font.size).update_yaxes(
        title_font_size=layout.font.size
    )
