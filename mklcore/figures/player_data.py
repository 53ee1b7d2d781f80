"""What the players show, as JSON: one path, several side by side, and panels of lines and bars
under any slider.

``path_json`` and ``methods_json`` are what the app mounts, a page of its own writes into itself and
a notebook frames; ``picture_json`` draws a lesson with the same players. They read a ``Path`` by
its fields alone; colours are those of one theme, and everything else is the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.axes import Scale, linear, named, norm_positions, parameter_axis
from mklcore.figures.captions import checked, solved

N_BARS = 12
N_METHOD_BARS = 9
# letters in the column of names, where it is as wide as it gets
NAME_LENGTH = 32
METHOD_NAME_LENGTH = 24
DIGITS = 4  # of every number that is drawn
LABEL_ROOM = 0.08  # between two labels at line ends, as a share of a panel
# of the spread of the scores, by which a reference may be outside and still have its line
REACH = 0.5
# of a slider for several paths: over one parameter, over shares of each path
MOST_STEPS = 60
SHARES = 41
CHART = "path"  # the cursor of a path that stands alone
# of a step between two solved points, within which a place is the solved point itself
SOLVED = 1e-6
Rows = Sequence[tuple[str, str, str]]  # name, full name and colour of every bar
Json = dict[str, Any]
Places = tuple[float | None, ...]
Indices = tuple[int | None, ...]


# Panels: what the player ``chart`` draws


def rounded(values: Any) -> list[float | None]:
    """Numbers with four significant digits, None for what is not finite."""
    return [
        float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None
        for v in np.asarray(values, dtype=float).ravel().tolist()
    ]


def line(name: str, ys: Any, colour: str, dark: bool, *, label: str = "", **more: Any) -> Json:
    """One line of a panel, with a ``label`` at its right end in a colour that can be read."""
    drawn = {"name": name, "ys": rounded(ys), "colour": colour, "width": 2, **more}
    if label:
        drawn |= {"label": label, "label_colour": style.readable(colour, dark, style.TEXT_CONTRAST)}
    return drawn


def panel(
    x: Scale,
    y: Scale,
    lines: Sequence[Json],
    positions: Any = (),
    labels: Sequence[str] = (),
    **more: Any,
) -> Json:
    """A panel of ``lines`` over ``positions`` of the axis ``x``; labels that would overlap are
    moved up or down.
    """
    places = [x.at(float(position)) for position in positions]
    ends = [one for one in lines if one.get("label")]
    last = int(np.argmax(places)) if places else 0
    wanted = [y.at(one.pop("end") if "end" in one else one["ys"][last] or 0.0) for one in ends]
    for one, place in zip(ends, style.spread(wanted, LABEL_ROOM, 0.0, 1.0), strict=True):
        one["label_at"] = round(float(place), 4)
    drawn = {
        "suffix": "",
        "title": "",
        "x": x.drawn(),
        "y": y.drawn(),
        "xs": places,
        "labels": list(labels),
    }
    return drawn | {"sure": [True] * len(places), "lines": list(lines)} | more


def _chart(
    name: str, figure: str, panels: Sequence[Json], alt: str, said: Sequence[str], **more: Any
) -> Json:
    """Panels of one figure, which follow the cursor called ``name``; ``said`` is read out at each
    of its places.
    """
    usual = {"columns": 1, "rows": [19], "left": 3.5, "right": 5.25, "gap": 0}
    return {
        "chart": name,
        "figure": figure,
        **usual,
        "panels": list(panels),
        "alt": alt,
        "said": list(said),
        **more,
    }


def bars(
    path: Any,
    rows: Rows,
    table: Sequence[Sequence[float | None]],
    title: str,
    *,
    index: int,
    unit: str = "",
    most: float | None = None,
    sortable: bool = False,
    tall: bool = False,
) -> Json:
    """What the player ``bars`` shows: ``table`` holds the values of its rows at every point of the
    path.

    ``most`` is the value of the longest bar, ``tall`` a list too long to be seen at once.
    """
    largest = max((value for entry in table for value in entry if value is not None), default=0.0)
    names, full, colours = ([row[k] for row in rows] for k in range(3))
    return {
        "title": title,
        "labels": labels_of(path),
        "names": names,
        "full": full,
        "colours": colours,
        "weights": [list(entry) for entry in table],
        "hollow": [not ok for ok in solved(path)],
        "most": most or largest or 1.0,
        "unit": unit,
        "index": index,
        "sortable": sortable,
        "tall": tall,
    }


def texts(chart: str, entries: Sequence[Any], widths: Sequence[float], index: int) -> Json:
    """What the player ``texts`` shows: columns of lines of runs, as ``captions`` makes them, at
    every point.
    """
    return {
        "chart": chart,
        "set": "",
        "texts": list(entries),
        "widths": list(widths),
        "index": index,
    }


# One path


def labels_of(path: Any) -> list[str]:
    """What the points of a path are called: "C = 1.1"."""
    return [captions.label(path.param, float(value)) for value in path.values]


def _colours(path: Any, peaks: Any, dark: bool) -> list[str]:
    return style.kernel_colours(
        captions.families(path.kernel_names, path.kernel_families), peaks, dark
    )


def order(path: Any, most: int = N_BARS) -> list[int]:
    """The kernels with a bar: the largest along the whole path, sorted by their weights at the
    point to look at first.

    The order never moves with the cursor.
    """
    shown = _first(style.peak_weights(path.weights, len(path.kernel_names)), most)
    first = path.weights[path.first_look]
    return sorted(shown, key=lambda m: -first[m])


def _first(peaks: Array, most: int) -> list[int]:
    ranked = [int(m) for m in np.argsort(-peaks, kind="stable")]
    return ranked if len(ranked) <= most + 1 else ranked[:most]


def heights(weights: Any, shown: Sequence[int]) -> Array:
    """The weights (..., M) of the bars, with the sum of all others as the last bar where there are
    others.
    """
    table = np.asarray(weights, dtype=float)
    own: Array = table[..., list(shown)]
    if len(shown) == table.shape[-1]:
        return own
    rest = table.sum(axis=-1) - own.sum(axis=-1)
    return np.concatenate([own, np.maximum(rest, 0)[..., None]], axis=-1)


def _rows_of(
    path: Any, shown: Sequence[int], colours: Sequence[str], length: int, dark: bool
) -> Rows:
    every = captions.labels(path.kernel_names, path.kernel_families)
    labels = style.cuts([every[m] for m in shown], length)
    rows = [
        (label, path.kernel_names[m], colours[m]) for label, m in zip(labels, shown, strict=True)
    ]
    others = len(path.kernel_names) - len(shown)
    return (
        [*rows, (f"{others} others, summed",) * 2 + (style.theme(dark).grey,)] if others else rows
    )


def weight_bars(path: Any, *, index: int, dark: bool, every: bool = False) -> Json:
    """What the player ``bars`` shows of the kernel weights: the largest along the path, or a tall
    list of ``every``.
    """
    M = len(path.kernel_names)
    shown = order(path, M if every else N_BARS)
    colours = _colours(path, style.peak_weights(path.weights, M), dark)
    table = np.round(heights(path.weights, shown), 6)
    # the sum of the others may be longer than any
    most = float(table[:, : len(shown)].max(initial=0.0)) or 1.0
    title = "Every kernel at " if every else "Weights θ at "
    rows = _rows_of(path, shown, colours, NAME_LENGTH, dark)
    return bars(
        path, rows, table.tolist(), title, index=index, most=most, sortable=True, tall=every
    )


def slider(path: Any, *, index: int) -> Json:
    """What the player ``path`` shows: where its points are, and what is said at each of them."""
    axis = parameter_axis(path)
    values = norm_positions(path.values).tolist()
    return {
        "x": [axis.at(value) for value in values],
        "values": values,
        "labels": labels_of(path),
        "spoken": [f"{text}, {captions.spoken(path, k)}" for k, text in enumerate(labels_of(path))],
        "index": index,
        "exact": None,
    }


def column_shares(along: Any) -> Array:
    """Effects (L, G) as shares of their sum, with the sum of the small ones as the last bar where
    there are many.
    """
    return shares_of(heights(along, range(min(np.shape(along)[1], N_BARS)))).round(4)


def bars_first(columns: Sequence[Any], along: Any) -> list[int]:
    """In which order columns have bars: the largest effect first, and of those without one the
    largest elsewhere along the path, so that no column that a path uses is among the others.
    """
    peaks = shares_of(along).max(axis=0)
    return sorted(range(len(columns)), key=lambda k: (-columns[k].effect, -peaks[k]))


def column_bars(
    path: Any, columns: Sequence[Any], along: Any, *, index: int, dark: bool, at: int | None = None
) -> Json:
    """How far each source column moves the prediction, along a path: what the player ``bars`` shows
    of an answer.

    ``columns`` with ``name``, ``effect``, ``alone`` and ``chance``, the largest first; ``along``
    (L, G) their effects at every point. A column that could be chance is grey; a tick marks what it
    does alone at the point ``at``.
    """
    effects = style.shaped("Effects of columns", along, len(path.values), len(columns))
    order = bars_first(columns, effects)
    columns = [columns[k] for k in order]
    effects = effects[:, order]
    shown = columns[:N_BARS]
    grey = style.theme(dark).grey
    hue = style.family_shade("linear", 0, dark)
    moves = "the prediction" if path.score_name in ("R²", "r2") else "the decision"
    rows = []
    for one, label in zip(shown, style.cuts([one.name for one in shown], NAME_LENGTH), strict=True):
        effect = _amount(one.effect)
        alone = _amount(one.alone)
        full = f"{one.name} moves {moves} by {effect} on average; alone by {alone}"
        rows.append((label, full, grey if one.chance else hue))
    others = columns[len(shown) :]
    if others:
        chances = sum(bool(one.chance) for one in others)
        name = style.counted(len(others), "other") + f", {chances} grey" * (
            0 < chances < len(others)
        )
        rows.append((name, name, grey if chances == len(others) else hue))
    shares = column_shares(effects)
    total = sum(one.effect for one in columns) or 1.0
    numbers = [[_amount(value) for value in row] for row in heights(effects, range(len(shown)))]
    return bars(
        path,
        rows,
        shares.tolist(),
        f"How far each column moves {moves}, and its share, at ",
        index=index,
        unit="%",
        most=max(0.25, float(shares.max(initial=0.0))),
        sortable=True,
    ) | {
        "numbers": numbers,
        "ticked": index if at is None else at,
        "ticks": [one.alone / total for one in shown] + [None] * bool(others),
        "picks": [one.name for one in shown] + [None] * bool(others),
    }


def _amount(value: float) -> str:
    """An effect at two digits, as sentences have it: 64,000."""
    text = style.number(value, digits=2)
    return f"{int(text):,}" if text.isdecimal() else text


def path_json(
    path: Any,
    *,
    dark: bool,
    index: int | None = None,
    columns: tuple[Sequence[Any], Any] | None = None,
    references: Sequence[tuple[str, float]] = (),
    says: Sequence[str] = (),
) -> dict[str, Json]:
    """What every player of a path shows, by its place: "play", "chart", "scores", "bars", "all",
    "columns", "facts".

    ``index`` is where the cursor begins, ``path.first_look`` without it. ``columns`` are the two of
    ``column_bars``; ``references`` scores of other models by name; ``says`` sentences above the
    picture ("say"). Raises ``ParameterError`` for a path without points, and for an index or
    effects that do not belong to it.
    """
    start = checked(path, index)
    found: dict[str, Json] = {
        "chart": weights_chart(path, dark),
        "bars": weight_bars(path, index=start, dark=dark),
        "all": weight_bars(path, index=start, dark=dark, every=True),
        "facts": texts(CHART, captions.facts(path), [1.4, 1, 1.35], start),
    }
    scores = scores_chart(path, dark, references=references)
    if scores is not None:
        found["scores"] = scores
    if says:
        found["say"] = texts(
            CHART, [[[captions.runs(text) for text in says]]] * len(path.values), [1], start
        )
    if columns is not None:
        found["columns"] = column_bars(path, *columns, index=start, dark=dark) | {"picks": None}
    for name in {"bars", "all", "columns"} & found.keys():
        found[name] |= {"chart": CHART, "set": name}
    charts = [found[name]["figure"] for name in ("chart", "scores") if name in found]
    found["play"] = {**slider(path, index=start), "chart": CHART, "charts": charts, "turn": 1}
    return found


def _along(path: Any, x: Scale, y: Scale, lines: Sequence[Json], **more: Any) -> Json:
    sure = [bool(ok) for ok in solved(path)]
    return panel(x, y, lines, norm_positions(path.values), labels_of(path), sure=sure, **more)


def _marks(path: Any) -> list[str]:
    """Of every point whether it is certified: "sure", "open", or "none" where the method has no
    certificate.
    """
    gaps = np.asarray(path.relative_gap, dtype=float)
    return [
        "none" if np.isnan(g) else "sure" if ok else "open"
        for g, ok in zip(gaps, solved(path), strict=True)
    ]


def _weight_lines(
    path: Any,
    weights: Array,
    peaks: Array,
    colours: Sequence[str],
    dark: bool,
    **own: Sequence[str],
) -> list[Json]:
    """One line per kernel, ``weights`` (L, M): the six with the largest ``peaks`` (M,) coloured,
    the others grey.

    ``own``: what each of the six has beside its colour, (M,).
    """
    largest = [m for m in style.largest(peaks) if peaks[m] > 0]
    quiet = style.faded(style.theme(dark).grey)
    drawn = [
        line(path.kernel_names[m], weights[:, m], quiet, dark, width=1)
        for m in range(len(peaks))
        if m not in largest
    ]
    for m in largest:
        more: Json = {name: each[m] for name, each in own.items()}
        drawn.append(
            line(path.kernel_names[m], weights[:, m], colours[m], dark, width=2.25, **more)
        )
    return drawn


def weights_chart(
    path: Any, dark: bool, *, chart: str = CHART, figure: str = "path_weights"
) -> Json:
    """The solution path: kernel weights along the parameter, with a mark for the certificate of
    every point.
    """
    weights = np.asarray(path.weights, dtype=float)
    peaks = style.peak_weights(weights, weights.shape[1])
    y = linear("weight θ", 0.0, 1.05 * (float(peaks.max(initial=0.0)) or 1.0))
    labels = style.cuts(captions.labels(path.kernel_names, path.kernel_families))
    lines = _weight_lines(path, weights, peaks, _colours(path, peaks, dark), dark, label=labels)
    alt = f"Weights of {style.counted(weights.shape[1], 'kernel')} {captions.along(path)}."
    said = [captions.weights_said(path, k) for k in range(len(path.values))]
    drawn = _along(path, parameter_axis(path), y, lines, marks=_marks(path), title="Solution path")
    return _chart(chart, figure, [drawn], alt, said, right=8)


def scores_chart(
    path: Any,
    dark: bool,
    *,
    chart: str = CHART,
    figure: str = "path_scores",
    references: Sequence[tuple[str, float]] = (),
) -> Json | None:
    """Training (grey) and validation (dashed) score along the path; None where none was measured.

    ``references``: scores of other models by name, as dotted lines; those far away are stated at
    the end of the scale.
    """
    lines = _score_lines(path, dark)
    known = [value for one in lines for value in one["ys"] if value is not None]
    if not known:
        return None
    low = min(known)
    high = max(known)
    room = REACH * (high - low) or 0.05
    for name, value in references:
        near = low - room <= value <= high + room
        grey = style.theme(dark).grey
        label = name if near else f"{name} {'↓' if value < low else '↑'} {style.number(value)}"
        if math.isfinite(value):
            ys = np.full(len(path.values), value if near else np.nan)
            lines.append(
                line(name, ys, grey, dark, label=label, width=1, dash=[2, 3], dot=False)
                | {"end": value}
            )
            known += [value] if near else []
    unit = "%" if path.score_name in captions.SHARES else ""
    title = path.score_name
    y = linear("", *style.around(known), unit)
    drawn = _along(
        path,
        parameter_axis(path, captions.symbol(path.param)),
        y,
        lines,
        title=title[:1].upper() + title[1:],
    )
    said = [captions.scores_said(path, k) for k in range(len(path.values))]
    return _chart(chart, figure, [drawn], captions.scores_alt(path, references), said, left=3.25)


def _score_lines(path: Any, dark: bool) -> list[Json]:
    tone = style.theme(dark)
    looks: Mapping[str, Json] = {
        "train": {"colour": tone.grey},
        "validation": {"colour": tone.ink, "dash": [6, 4]},
    }
    return [
        line(name, scores, dark=dark, label=name, **looks[name])
        for name, scores in captions.scores(path)
        if np.isfinite(np.asarray(scores, dtype=float)).any()
    ]


# A picture under any slider


def picture_json(
    slider: Scale,
    positions: Sequence[float],
    labels: Sequence[str],
    said: Sequence[str],
    panels: Sequence[Json],
    *,
    start: int,
    columns: int = 3,
    **more: Any,
) -> dict[str, Json]:
    """Panels that one slider leads, by place: "play", "say" and "chart"; ``panels`` as ``panel``
    makes them, without places for what does not stand over the slider's own axis. ``said`` is a
    sentence at each of the ``positions``.
    """
    for k, one in enumerate(panels):
        one["suffix"] = str(k + 1) if k else ""
    own = [one["suffix"] for one in panels if one["xs"]]
    alt = " ".join(f"{one['title']}." for one in panels)
    size = {"columns": columns, "rows": [15.5], "left": 3.25, "right": 5.25, "wraps": 17}
    play = {
        "x": [slider.at(position) for position in positions],
        "labels": list(labels),
        "chart": "picture",
        "charts": ["picture"],
        "spoken": [f"{text}. {words}" for text, words in zip(labels, said, strict=True)],
        "index": start,
        "exact": None,
        "turn": 1,
        "panels": own,
        **more,
    }
    return {
        "play": play,
        "say": texts("picture", [[[captions.runs(text)]] for text in said], [1], start),
        "chart": _chart("picture", "picture", panels, alt, said, **size),
    }


def bar_panel(
    title: str,
    axes: tuple[str, str],
    names: Sequence[str],
    table: Any,
    colours: Sequence[str],
    ticks: Sequence[str],
    **more: Any,
) -> Json:
    """A panel of one upright bar per column of ``table`` (L, B), whose heights follow the slider."""
    values = np.asarray(table, dtype=float)
    each = [
        {"name": name, "ys": rounded(values[:, k]), "colour": colours[k]}
        for k, name in enumerate(names)
    ]
    y = linear(axes[1], 0.0, 1.05 * (float(values.max(initial=0.0)) or 1.0))
    return panel(named(axes[0], ticks), y, [], title=title, bars=each, **more)


# Several paths under one slider


@dataclass(frozen=True)
class MethodView:
    """One method: its title and its ``path``, None while there is none, with a ``note`` that says
    why.
    """

    title: str
    path: Any = None
    note: str = ""


@dataclass(frozen=True)
class SharedSlider:
    """A slider over several paths, which may also stand between two of its steps.

    ``shared`` is the parameter all methods run over, "" if they run over different ones; ``values``
    are its values, or shares of each path in percent; ``places`` tell for every step where each
    method stands on its own path: the index of a solved point, a fraction between two of them, None
    without a path.
    """

    shared: str
    values: tuple[float, ...]
    labels: tuple[str, ...]
    places: tuple[Places, ...]

    @property
    def positions(self) -> list[float]:
        """The values on the axis: p = ∞ is one doubling beyond the largest finite norm."""
        positions: list[float] = norm_positions(self.values).tolist()
        return positions

    @property
    def indices(self) -> tuple[Indices, ...]:
        """The solved point nearest to the place of each method, at every step."""
        return tuple(
            tuple(None if at is None else round(at) for at in places) for places in self.places
        )

    def value(self, position: float) -> float:
        """The value at a position of the slider, which may be between two steps."""
        found = _between(self.positions, position, bool(self.shared))
        return self.values[self.positions.index(found)] if found in self.positions else found

    def position(self, value: float) -> float:
        """The position of the slider at a value; beyond the ends it is the end."""
        asked = self.positions[-1] if math.isinf(value) else value
        return float(_places(self.positions, [asked], bool(self.shared))[0])

    def at(self, position: float) -> Places:
        """Where each method stands at a position of the slider."""
        each = zip(*self.places, strict=True)
        return tuple(None if own[0] is None else _between(own, position) for own in each)

    def text(self, position: float) -> str:
        """A position as a link has it."""
        value = self.value(position)
        if not self.shared:
            return f"{value:.2f}".rstrip("0").rstrip(".") + "%"
        return repr(value if value in self.values else float(f"{value:.4g}"))

    def nearest_to(self, indices: Indices) -> int:
        """The step at which the first method that has a path stands nearest to its place among
        ``indices``.
        """
        lead = next((k for k, index in enumerate(indices) if index is not None), None)
        if lead is None:
            return 0
        away = [abs((step[lead] or 0) - (indices[lead] or 0)) for step in self.places]
        return away.index(min(away))


def shared_slider(paths: Sequence[Any], overs: Sequence[str]) -> SharedSlider:
    """The slider for methods whose paths run over the parameters ``overs``; a method without a path
    yet, None, stays behind.
    """
    if len(set(overs)) > 1:
        shares = np.linspace(0.0, 100.0, SHARES).tolist()
        places = (
            tuple(None if path is None else _at_share(path, share) for path in paths)
            for share in shares
        )
        return SharedSlider(
            "", tuple(shares), tuple(f"{share:g} % of each path" for share in shares), tuple(places)
        )
    shared = overs[0]
    known = [np.asarray(path.values, dtype=float) for path in paths if path is not None]
    values = np.unique(np.concatenate(known or [np.ones(1)]))
    if (
        len(values) > max([MOST_STEPS, *map(len, known)])
        and np.isfinite(values).all()
        and shared != "s"
    ):
        values = np.array(
            [float(f"{v:.3g}") for v in np.geomspace(values[0], values[-1], MOST_STEPS)]
        )
    ends = norm_positions(values)
    each = [
        [None] * len(ends)
        if path is None
        else _places(norm_positions(path.values), ends, shared != "s").tolist()
        for path in paths
    ]
    labels = tuple(captions.label(shared, value) for value in values)
    return SharedSlider(shared, tuple(values.tolist()), labels, tuple(zip(*each, strict=True)))


def _between(values: Sequence[Any], position: float, by_factors: bool = False) -> float:
    """The value at a position among ``values``, which may be between two of them."""
    inner = min(max(position, 0.0), len(values) - 1.0)
    if abs(inner - round(inner)) < SOLVED:
        return float(values[round(inner)])
    low = values[int(inner)]
    high = values[int(inner) + 1]
    share = inner - int(inner)
    factors = by_factors and min(low, high) > 0
    return float(low * (high / low) ** share if factors else low + share * (high - low))


def _places(axis: Any, values: Any, by_factors: bool) -> Array:
    """Where ``values`` are among the monotone ``axis``, as indices that may be fractions; beyond
    the ends the ends.
    """
    points = np.asarray(axis, dtype=float)
    asked = np.asarray(values, dtype=float)
    if by_factors and min(points.min(), asked.min()) > 0:
        points = np.log(points)
        asked = np.log(asked)
    order = np.argsort(points, kind="stable")
    found = np.interp(asked, points[order], order.astype(float))
    places: Array = np.where(np.abs(found - np.round(found)) < SOLVED, np.round(found), found)
    return places


def _at_share(path: Any, share: float) -> float:
    ranked = norm_positions(path.values)
    at: float = share / 100 * (len(ranked) - 1)
    at = at if ranked[-1] >= ranked[0] else len(ranked) - 1 - at
    return float(round(at)) if path.param == "s" else at


def shares_of(values: Any) -> Array:
    """Each entry over the sum of its row: (..., M) in, shares (..., M) out; a row of zeros stays
    zero.
    """
    table = np.asarray(values, dtype=float)
    total = table.sum(axis=-1, keepdims=True)
    shares: Array = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    return shares


def peak_shares(paths: Sequence[Any]) -> Array:
    """The largest share of each kernel (M,) on any of the ``paths``: it fixes order and colours for
    all of them.

    Raises ``ParameterError`` where the paths are over different kernels.
    """
    if not paths:
        return np.zeros(0)
    if any(path.kernel_names != paths[0].kernel_names for path in paths):
        raise ParameterError(
            "Methods can be set side by side over the same kernels only. Use one "
            "dictionary for all."
        )
    peaks: Array = np.max([shares_of(path.weights).max(axis=0) for path in paths], axis=0)
    return peaks


def methods_json(
    methods: Sequence[MethodView],
    found: SharedSlider,
    *,
    dark: bool,
    step: int = 0,
    chart: str = "methods",
) -> dict[str, Json]:
    """What every player of several paths shows, by its place: "lead" (the slider), "chart",
    "methods" (facts and bars of each).

    The slider begins at ``step`` of ``found``. Raises ``ParameterError`` where the paths have
    different kernels.
    """
    paths = [one.path for one in methods if one.path is not None]
    peaks = peak_shares(paths)
    shown = _first(peaks, N_METHOD_BARS)
    colours = style.distinct_colours(peaks, dark)
    glyphs = style.distinct_glyphs(peaks)
    panels = _method_panels(methods, paths, peaks, colours, dark)
    each = [_method(one, shown, top["xs"]) for one, top in zip(methods, panels, strict=False)]
    rows = _rows_of(paths[0], shown, colours, METHOD_NAME_LENGTH, dark) if paths else []
    names, full, hues = ([row[k] for row in rows] for k in range(3))
    table: Json = {
        "names": names,
        "full": full,
        "colours": hues,
        "marks": [glyphs[m] for m in shown],
    }
    table["marks"] += [""] * (len(rows) - len(shown))
    said = [
        "; ".join(
            f"{each[m]['title']}: {', '.join(each[m]['facts'][k])}"
            for m, k in enumerate(own)
            if k is not None
        )
        for own in found.indices
    ]
    places = zip(found.labels, found.positions, found.places, strict=True)
    most = (
        max((max(map(max, one["weights"])) for one in each if one["weights"]), default=1.0) or 1.0
    )
    alt = (
        f"{style.counted(len(methods), 'method')} side by side: shares of weight above, scores "
        "below."
    )
    size = {
        "rows": [12.5, 10.5],
        "left": 9.5,
        "narrow": 3,
        "gap": 1.5,
        "columns": max(len(methods), 1),
    }
    return {
        "lead": {
            "chart": chart,
            "methods": [
                {name: one[name] for name in ("title", "positions", "whole")} for one in each
            ],
            "sign": captions.symbol(found.shared) if found.shared else "",
            "steps": [
                {"label": label, "value": at, "places": list(stand)} for label, at, stand in places
            ],
            "place": {
                "step": step,
                "free": False,
                "places": list(found.places[step]),
                "label": found.labels[step],
            },
            "turn": 1,
        },
        "chart": _chart(
            chart,
            chart,
            panels,
            alt,
            said,
            points=[list(points) for points in found.indices],
            **size,
        ),
        "methods": {
            "chart": chart,
            "facts": _fact_names(paths),
            **table,
            "methods": each,
            "most": most,
        },
    }


def _method_panels(
    methods: Sequence[MethodView],
    paths: Sequence[Any],
    peaks: Array,
    colours: Sequence[str],
    dark: bool,
) -> list[Json]:
    """The panels of the shares, then those of the scores; upright axes are written left of the
    first method.
    """
    score = paths[0].score_name if paths else "score"
    top = 1.05 * (float(peaks.max(initial=0.0)) or 1.0)
    every = [value for path in paths for _, scores in captions.scores(path) for value in scores]
    unit = "%" if score in captions.SHARES else ""
    limits = style.around(every)
    glyphs = style.distinct_glyphs(peaks)
    last = max((k for k, one in enumerate(methods) if one.path is not None), default=None)
    above = list[Json]()
    below = list[Json]()
    for k, one in enumerate(methods):
        shares = linear("" if k else "share of weight", 0.0, top, "%")
        scores = linear("" if k else score, *limits, unit)
        if k:
            shares, scores = (
                replace(axis, ticks=tuple((at, "") for at, _ in axis.ticks))
                for axis in (shares, scores)
            )
        more: Json = {"method": k}
        if one.path is None:
            bare = Scale("", 0.0, 1.0)
            above.append(panel(bare, shares, [], title=one.title, note=one.note, **more))
            below.append(panel(bare, scores, [], **more))
        else:
            x = parameter_axis(one.path, captions.symbol(one.path.param))
            lines = _weight_lines(
                one.path, shares_of(one.path.weights), peaks, colours, dark, mark=glyphs
            )
            above.append(
                _along(
                    one.path, replace(x, title="", ticks=()), shares, lines, title=one.title, **more
                )
            )
            measured = [
                own | {"dot": True, "label": own["label"] if k == last else ""}
                for own in _score_lines(one.path, dark)
            ]
            below.append(_along(one.path, x, scores, measured, marks=_marks(one.path), **more))
        above[-1]["suffix"] = str(2 * k + 1) if k else ""
        below[-1]["suffix"] = str(2 * k + 2)
    return above + below


def _fact_names(paths: Sequence[Any]) -> list[str]:
    score = paths[0].score_name if paths else "score"
    return [
        "at",
        f"validation {score}",
        f"train {score}",
        "kernels used",
        "certificate",
        "solves, time",
    ]


def _facts(path: Any, index: int) -> list[str]:
    gap = float(path.relative_gap[index])
    sure = (
        f"● within {style.percent(gap)}"
        if path.statuses[index].ok
        else f"○ open, gap {style.percent(gap)}"
    )
    return [
        captions.label(path.param, float(path.values[index])),
        captions.score(path.score_name, float(path.val_score[index])),
        captions.score(path.score_name, float(path.train_score[index])),
        f"{int(path.n_nonzero[index])} of {len(path.kernel_names)}",
        "○ none for this method" if np.isnan(gap) else sure,
        f"{int(path.solves[index])}, {captions.seconds(float(path.seconds[index]))}",
    ]


def _method(one: MethodView, shown: Sequence[int], places: Sequence[float]) -> Json:
    """What the browser needs of one method, which stands at ``places`` of its axis."""
    empty: Json = {"positions": [], "facts": [], "hollow": [], "weights": [], "whole": False}
    if one.path is None:
        return {"title": one.title, "note": one.note, **empty}
    return {
        "title": one.title,
        "note": "",
        "whole": one.path.param == "s",
        "positions": list(places),
        "facts": [_facts(one.path, k) for k in range(len(one.path.values))],
        "hollow": [not status.ok for status in one.path.statuses],
        "weights": np.round(heights(shares_of(one.path.weights), shown), 5).tolist(),
    }
