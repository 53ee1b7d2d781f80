"""Colours, labels, axes and layout that every figure shares.

A colour means the family of a kernel and nothing else. The hues are those of Okabe and Ito, which
people with the common kinds of colour blindness can tell apart. Only their lightness is adjusted,
until marks reach a contrast of 3:1 with the theme's background and text 4.5:1 (WCAG 2); members of
a family differ in lightness. Backgrounds are transparent and no font is named, so that a figure
takes both from the page around it.
"""

from __future__ import annotations

import colorsys
import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mklcore._lazy import import_extra
from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.kernels.functions import COMPOSED, KERNELS
from mklcore.kernels.sequences import SEQUENCE_KERNELS

if TYPE_CHECKING:
    from plotly import graph_objects as graph_objects
    from plotly.graph_objects import Figure as Figure
else:
    Figure = Any

    class _GraphObjects:
        """Plotly's module, imported for the first figure: the library works without Plotly."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_extra("plotly.graph_objects", "app", "Figures"), name)

    graph_objects = _GraphObjects()

Json = dict[str, Any]  # what a player or Plotly draws
Texts = Sequence[str]
T = TypeVar("T")

# Both lists are in the order in which colours are assigned: the palette to the largest kernels of
# one family, the spare hues to families that define no hue themselves.
PALETTE = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
SPARE = ("#7A5195", "#8C6D31", "#2F7F86", "#9C3D54", "#5B6ABF", "#6B8E23")
_WITHOUT_SPEC = {"hkl": "#56B4E9", "precomputed": "#D55E00", "view": "#3B7A57"}
SEQUENTIAL = "Cividis"
MARK_CONTRAST = 3.0
TEXT_CONTRAST = 4.5
STRONGEST_CONTRAST = 9.0
# Covers the rounding to 8 bits per channel, and pages whose background is not quite the theme's.
SAFETY = 1.03
DOMINANT_SHARE = 0.8
N_NAMED = 6
FADED_OPACITY = 0.35
TRANSPARENT = "rgba(0,0,0,0)"
LABEL_SIZE = 12
# Pixels from ticks to title. Plotly measures ticks before the page's font, a little larger, loads.
STANDOFF = 10
FIGURE_HEIGHT = 330
SMALL_HEIGHT = 300
ENLARGED = 1.35  # of a figure for a projector
SMALL_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 40}
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


@dataclass(frozen=True)
class Theme:
    """The neutral colours of a theme: background, ink, quiet text, grey marks and grid lines."""

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


def family_hues() -> dict[str, str]:
    """The hue of every registered family of kernels, in the order of the palette."""
    kernels = (*KERNELS.values(), *SEQUENCE_KERNELS.values())
    specs = [*(kernel.spec for kernel in kernels), *COMPOSED.values()]
    hues = {spec.family: spec.hue for spec in specs if spec.hue} | _WITHOUT_SPEC
    free = (hue for hue in SPARE if hue not in hues.values())
    for spec in specs:
        if spec.family not in hues:
            hues[spec.family] = next(free, SPARE[-1])
    ranks = {hue: rank for rank, hue in enumerate(PALETTE)}
    return dict(sorted(hues.items(), key=lambda item: ranks.get(item[1], len(ranks))))


def _channels(colour: str) -> tuple[float, ...]:
    return tuple(channel / 255 for channel in bytes.fromhex(colour[1:]))


def _linear_light(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    """WCAG relative luminance of ``#rrggbb``, from 0 (black) to 1 (white)."""
    red, green, blue = map(_linear_light, _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """WCAG contrast ratio of two colours, from 1 (equal) to 21 (black on white)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=1024)
def at_contrast(colour: str, paper: str, ratio: float) -> str:
    """The shade of a hue at a contrast ``ratio``: darker on light paper, lighter on dark."""
    hue, _, saturation = colorsys.rgb_to_hls(*_channels(colour))
    base = luminance(paper) + 0.05
    paper_is_light = base > 0.23
    target = (base / ratio if paper_is_light else base * ratio) - 0.05
    # Luminance increases with lightness, so bisection finds the lightness.
    low = 0.0
    high = 1.0
    shade = colour
    for _ in range(24):
        middle = (low + high) / 2
        channels = colorsys.hls_to_rgb(hue, middle, saturation)
        shade = "#" + "".join(f"{round(255 * channel):02X}" for channel in channels)
        if luminance(shade) < target:
            low = middle
        else:
            high = middle
    return shade


def readable(colour: str, dark: bool, ratio: float = MARK_CONTRAST) -> str:
    """``colour``, with its lightness changed where it has too little contrast with the theme."""
    paper = theme(dark).paper
    needed = ratio * SAFETY
    return colour if contrast(colour, paper) >= needed else at_contrast(colour, paper, needed)


def faded(colour: str, opacity: float = FADED_OPACITY) -> str:
    """``colour`` with an opacity below 1, as CSS rgba."""
    red, green, blue = bytes.fromhex(colour[1:])
    return f"rgba({red},{green},{blue},{opacity:g})"


def _bit_reversed(index: int) -> float:
    """The sequence 0, 1/2, 1/4, 3/4, 1/8, ...: neighbours are far apart, later terms move none."""
    return int(f"{index:b}"[::-1], 2) / (1 << index.bit_length())


def family_shade(family: str, member: int, dark: bool) -> str:
    """Colour of the ``member``-th kernel of a family: the family's hue in a visible lightness."""
    first = readable(family_hues().get(family, _WITHOUT_SPEC["precomputed"]), dark)
    if member == 0:
        return first
    paper = theme(dark).paper
    weakest = MARK_CONTRAST * SAFETY
    span = math.log(STRONGEST_CONTRAST / weakest)
    start = math.log(contrast(first, paper) / weakest) / span
    turn = (start + _bit_reversed(member)) % 1.0
    return at_contrast(first, paper, weakest * math.exp(turn * span))


def floats(values: Any) -> Array:
    """``values`` as an array of floats."""
    return np.asarray(values, dtype=float)


def peak_weights(weights: Any, n_kernels: int) -> Array:
    """Largest weight of each kernel (M,), from weights (M,) or a path of weights (L, M)."""
    table = np.abs(np.atleast_2d(floats(weights)))
    return np.nan_to_num(table).max(axis=0) if table.size else np.zeros(n_kernels)


def largest(peaks: Array) -> list[int]:
    """Indices of the ``N_NAMED`` largest entries in rising order; ties go to the earlier entry."""
    return sorted(np.argsort(-peaks, kind="stable")[:N_NAMED].tolist())


def kernel_colours(
    families: Texts,
    weights: Any = None,
    dark: bool = False,
) -> list[str]:
    """One colour ``#rrggbb`` per kernel, the same on every page.

    A family has a hue, and its members differ in lightness. Where one family is more than four
    fifths of the dictionary and ``weights`` (M,) or (L, M) are given, the six largest kernels have
    ``distinct_colours`` instead. Pass the weights of the whole path, so that colours do not change
    while a cursor moves.
    """
    most_of_one = max(Counter(families).values(), default=0)
    if weights is not None and most_of_one > DOMINANT_SHARE * len(families):
        return distinct_colours(peak_weights(weights, len(families)), dark)
    members: Counter[str] = Counter()
    colours = []
    for family in families:
        colours.append(family_shade(family, members[family], dark))
        members[family] += 1
    return colours


# At these contrasts with the paper, the first six hues of the palette are at least 20 apart in
# CIELAB, also for protanopes, deuteranopes and tritanopes. Every combination of five contrasts was
# tried. Lines have a glyph each as well.
_SIX_CONTRASTS = {False: (11.0, 5.8, 8.0, 3.1, 3.1, 3.1), True: (3.1, 11.0, 11.0, 5.8, 11.0, 3.1)}
GLYPHS = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "x": "✖", "star": "★"}


def six_hues(dark: bool = False) -> list[str]:
    """Six colours that people with any kind of colour blindness can tell apart on the theme."""
    pairs = zip(PALETTE, _SIX_CONTRASTS[dark], strict=False)
    return [at_contrast(hue, theme(dark).paper, ratio) for hue, ratio in pairs]


def distinct_colours(peaks: Array, dark: bool = False) -> list[str]:
    """One colour per kernel: the six largest of ``peaks`` (M,) differ, and the others are grey."""
    hues = dict(zip(largest(peaks), six_hues(dark), strict=False))
    return [hues.get(m, theme(dark).grey) for m in range(len(peaks))]


def distinct_glyphs(peaks: Array) -> list[str]:
    """One sign per kernel for a legend: a different one for each of the six largest, else none."""
    glyphs = dict(zip(largest(peaks), GLYPHS.values(), strict=False))
    return [glyphs.get(m, "") for m in range(len(peaks))]


# Numbers


def number(value: float, zeros: bool = False, digits: int = 3) -> str:
    """Three significant digits, as 0.0123, −1.5, 1230 or 4.2 × 10⁷; ``zeros`` keeps 0.900."""
    value = float(value)
    if math.isnan(value):
        return "not available"
    if value < 0:
        return f"−{number(-value, zeros, digits)}"
    if value == 0 or value == math.inf:
        return "∞" if value else "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if not -4 <= power < 6:
        return f"{float(mantissa):g} × {power_of_ten(power)}"
    decimals = max(0, digits - 1 - power)
    text = f"{float(f'{mantissa}e{exponent}'):.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not zeros else text


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_ten(exponent: int) -> str:
    """10 to an integer power, written as 10⁷."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def minus(text: str) -> str:
    """Formatted numbers with the minus sign, which is as wide as a plus, in place of the hyphen."""
    return text.replace("-", "−")


def rounded_to(value: float, step: float, sign: bool = False) -> str:
    """A number rounded to the power of ten below ``step``; to three digits where ``step`` is 0."""
    if step > 0.0:
        digits = -math.floor(math.log10(step))
        value = round(value, digits) + 0.0
        text = f"{abs(value):,.{max(digits, 0)}f}"
    else:
        text = number(abs(value))
    if value < 0.0:
        return f"−{text}"
    return f"+{text}" if sign else text


def percent(share: float) -> str:
    """A relative gap as a percentage; one below a hundredth of a percent is never written as 0."""
    return "< 0.01 %" if share < 1e-4 else f"{number(100 * share)} %"


def as_given(value: float) -> str:
    """A value as it stands in a table: 2007, 12345.6."""
    return minus(f"{value:.10g}")


def date(days: float) -> str:
    """Days since 1970 as a date: "2019-05-17"."""
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(days // 1), "D"))


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def joined(parts: Texts) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def leaders(values: Array, names: Texts, count: int = 3) -> str:
    """The largest entries: "a with 0.5, b with 0.25 and c with 0.1"."""
    top = np.argsort(-np.nan_to_num(values), kind="stable")[:count]
    return joined([f"{names[m]} with {number(values[m])}" for m in top])


# Labels

_JOINTS = re.escape(" _-/")
_WORD = re.compile(rf"[^{_JOINTS}]+[{_JOINTS}]*|[{_JOINTS}]+")


def cut(name: str, length: int = 18) -> str:
    """A name as a label of at most ``length`` characters.

    Names of one family begin alike, so the label of a long name consists of its last words, or of
    its two ends where the last words are too short to tell much.
    """
    if len(name) <= length:
        return name
    words = _WORD.findall(name)
    tails = ["".join(words[first:]).lstrip("× ") for first in range(1, len(words))]
    tail = next((tail for tail in tails if len(tail) < length), "")
    if 2 * len(tail) >= length:
        return f"…{tail}"
    front = (length - 1) * 2 // 5
    back = length - 1 - front
    return f"{name[:front].rstrip()}…{name[-back:].lstrip()}"


def cuts(names: Texts, length: int = 18) -> list[str]:
    """Labels that stand side by side: different names whose labels would be alike stay whole."""
    labels = {name: cut(name, length) for name in names}
    counts = Counter(labels.values())
    return [labels[name] if counts[labels[name]] == 1 else name for name in names]


def harmless(label: str) -> str:
    """A label without anything that plotly would read as markup or as a placeholder."""
    return html.escape(label, quote=False).replace("%{", "%&#123;")


def short(name: str, length: int = 18) -> str:
    """A name as a harmless label for plotly of at most ``length`` characters."""
    return harmless(cut(name, length))


def each_short(names: Iterable[Any], length: int) -> list[str]:
    """Every name as a harmless label for plotly of at most ``length`` characters."""
    return [short(str(name), length) for name in names]


def chosen(items: Sequence[T], places: Iterable[int]) -> list[T]:
    """The ``items`` at some ``places``."""
    return [items[place] for place in places]


def shorts(names: Texts, length: int = 18) -> list[str]:
    """Names as harmless labels for plotly that stand side by side, see ``cuts``."""
    return [harmless(label) for label in cuts(names, length)]


# Layout


@cache
def template(dark: bool) -> Any:
    """Plotly's template with the neutral colours, axes and colour scales of a theme."""
    tone = theme(dark)
    quiet = {"color": tone.muted, "size": LABEL_SIZE}
    axis = {
        "title": {"font": quiet, "standoff": STANDOFF},
        "tickfont": {"color": tone.muted},
        "gridcolor": tone.grid,
        "zerolinecolor": tone.muted,
        "zeroline": False,
        "ticklabelstandoff": 3,
    }
    hover_label = {
        "bgcolor": tone.paper,
        "bordercolor": tone.muted,
        "font": {"color": tone.ink},
    }
    templates = import_extra("plotly.io", "app", "Figures").templates  # slow to import
    look = graph_objects.layout.Template(templates["plotly"])
    look.layout.update(
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        font={"color": tone.ink, "size": LABEL_SIZE},
        showlegend=False,
        hoverlabel=hover_label,
        xaxis=axis,
        yaxis=axis,
        annotationdefaults={"showarrow": False},
    )
    look.data.heatmap[0].update(
        colorscale=SEQUENTIAL,
        colorbar={"title": {"font": quiet}, "tickfont": quiet, "thickness": 12},
    )
    return look


def new_figure(alt: str, dark: bool, height: int = FIGURE_HEIGHT, **layout: Any) -> Figure:
    """An empty figure in the common style, with its alternative text in ``layout.meta["alt"]``."""
    defaults: Json = {
        "template": template(dark),
        "margin": {"l": 48, "r": 16, "t": 28, "b": 44} | layout.pop("margin", {}),
        "height": height,
        "meta": {"alt": alt},
    }
    return graph_objects.Figure(layout=defaults | layout)


def category_ticks(labels: Texts) -> Json:
    """Ticks at 0, 1, 2, ...: plotly would merge categories whose names are cut to one label."""
    return {"tickvals": list(range(len(labels))), "ticktext": list(labels), "showgrid": False}


def row_ticks(labels: Texts) -> Json:
    """Ticks of labelled rows, the first on top, with the room that plotly gives an empty title."""
    return {"title": "", "autorange": "reversed", **category_ticks(labels)}


def annotation(text: str, colour: str, **place: Any) -> Json:
    """Text on a figure; ``place`` holds plotly's coordinates of an annotation."""
    return {"text": text, "font": {"color": colour}, **place}


def empty_figure(message: str, dark: bool) -> Figure:
    """A figure with nothing to draw, whose message says what to do next."""
    figure = new_figure(message, dark, xaxis={"visible": False}, yaxis={"visible": False})
    centre = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    figure.add_annotation(annotation(harmless(message), theme(dark).muted, **centre))
    return figure


def enlarged(figure: Figure) -> Figure:
    """A copy for a projector: type, margins, height and lines are ``ENLARGED`` times as large."""
    larger = graph_objects.Figure(figure)
    layout = larger.layout
    layout.height *= ENLARGED
    layout.font.size = ENLARGED * LABEL_SIZE
    layout.margin = {side: ENLARGED * layout.margin[side] for side in ("l", "r", "t", "b")}
    for trace in larger.select_traces({"type": "scatter"}):
        width = 2 if trace.line.width is None else trace.line.width
        trace.line.width = ENLARGED * width
    size = layout.font.size
    return larger.update_xaxes(title_font_size=size).update_yaxes(title_font_size=size)


def around(values: Any, share: float = 0.06) -> tuple[float, float]:
    """Limits a little outside the finite ``values``; 0 and 1 where there are none."""
    finite = floats(values)
    finite = finite[np.isfinite(finite)]
    if not finite.size:
        return 0.0, 1.0
    room = share * float(np.ptp(finite)) or 0.05
    return float(finite.min()) - room, float(finite.max()) + room


def positive_or_one(values: Any) -> float:
    """The largest of ``values``, or 1 where none is above 0: a scale to divide by."""
    return float(np.max(values, initial=0.0)) or 1.0


def shaped(what: str, values: Any, *shape: int) -> Array:
    """``values`` as an array of floats; raises ``ParameterError`` for any other ``shape``."""
    table = floats(values)
    if table.shape != shape:
        raise ParameterError(
            f"{what} must have the shape {shape}, as the names have it; got {table.shape}."
        )
    return table


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> Array:
    """Positions nearest to ``wanted``, in the same order and at least ``gap`` apart.

    They lie within [low, high] where they fit. This is a least-squares problem: subtracting k * gap
    from the k-th smallest position turns the gaps into monotonicity, and the projection onto
    monotone sequences is isotonic regression.
    """
    from scipy.optimize import isotonic_regression  # slow to import

    target = floats(wanted)
    if not target.size:
        return target
    order = np.argsort(target, kind="stable")
    offsets = gap * np.arange(target.size)
    levels = isotonic_regression(target[order] - offsets).x
    positions = np.empty_like(target)
    positions[order] = np.clip(levels, low, max(low, high - offsets[-1])) + offsets
    return positions
