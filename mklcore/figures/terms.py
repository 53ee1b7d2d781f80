"""The terms of a model: their shares as bars, a column's curve with its band, a pair's surface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.columns import curve_figure
from mklcore.figures.graph_objects import go

MOST_BARS = 15
ROW_HEIGHT = 24
SPREAD = 2.0  # standard errors either way
ALONE, TOGETHER = "linear", "rbf"  # families whose hues mark single columns and sets of them


def term_bars(terms: Sequence[Any], *, limit: int = MOST_BARS, dark: bool = False) -> go.Figure:
    """Columns and sets of columns that act together, sorted by share of variance, the largest on top.

    ``terms`` with ``columns`` and ``share``, as `decompose` returns them; beyond ``limit`` the others are one bar.
    Terms with a ``probability`` of selection below one half are drawn grey.
    """
    if not terms:
        return style.empty_figure("The model is constant: no column has a share.", dark)
    shown, rest = list(terms[:limit]), list(terms[limit:])
    names = [" × ".join(term.columns) for term in shown]
    shares = [float(term.share) for term in shown]
    hues = [_hue(term, dark) for term in shown]
    if rest:
        names.append(style.counted(len(rest), "other"))
        shares.append(float(sum(term.share for term in rest)))
        hues.append(style.theme(dark).grey)
    figure = style.new_figure(
        "", dark, height=56 + ROW_HEIGHT * len(names), bargap=0.3, margin={"l": 8, "r": 56, "t": 6, "b": 40}
    )
    style.add_row_bars(
        figure, shares, names, hues, "%{customdata}<br>%{x:.1%}<extra></extra>", dark, 34,
        text=[style.percent(share) for share in shares], textposition="outside", cliponaxis=False,
        customdata=[style.short(name, 80) for name in names],
    )  # fmt: skip
    figure.layout.xaxis = style.axis(
        "share of the variance", dark, range=[0, 1.02 * max(shares)], tickformat=".0%", nticks=5
    )
    figure.layout.meta["alt"] = _bars_alt(terms, shown)
    return figure


def _hue(term: Any, dark: bool) -> str:
    probability = getattr(term, "probability", None)
    if probability is not None and probability < 0.5:
        return style.theme(dark).grey
    return style.readable(style.FAMILY_HUES[ALONE if _is_single(term) else TOGETHER], dark)


def _is_single(term: Any) -> bool:
    return len(term.columns) == 1 and term.columns != ("higher order",)


def _bars_alt(terms: Sequence[Any], shown: Sequence[Any]) -> str:
    together = sum(float(term.share) for term in terms if not _is_single(term))
    listed = [f"{' × '.join(term.columns)} {style.percent(float(term.share))}" for term in shown[:5]]
    return (
        f"Share of the variance of {style.counted(len(terms), 'term')}: {style.joined(listed)}. Sets of columns that "
        f"act together have {style.percent(together) if together else 'none'} of it."
    )


def term_plot(effect: Any, said: str = "the score", *, dark: bool = False) -> go.Figure:
    """What a term adds: a curve over one column above its training values, or a map over two.

    ``effect`` as `term_effect` returns it; its ``error`` becomes a band of two standard errors either way, and on a map
    shows where one points. ``said`` is what the model's value is called. ParameterError for a term of more columns.
    """
    if len(effect.axes) == 1:
        return _curve(effect, said, dark)
    if len(effect.axes) == 2:
        return _surface(effect, said, dark)
    raise ParameterError(f"A term of {len(effect.axes)} columns cannot be drawn; take one of one or two columns.")


def _curve(effect: Any, said: str, dark: bool) -> go.Figure:
    (axis,) = effect.axes
    hue = style.readable(style.FAMILY_HUES[ALONE], dark)
    values = np.asarray(effect.values, dtype=float)
    reach = None if effect.error is None else SPREAD * np.asarray(effect.error, dtype=float)
    return curve_figure(axis, values, reach, axis.name, said, _curve_alt(effect, said), hue, dark)


def _surface(effect: Any, said: str, dark: bool) -> go.Figure:
    first, second = effect.axes
    table = np.asarray(effect.values, dtype=float)
    reach = float(np.abs(table).max()) or 1.0
    cold, warm = (style.readable(style.FAMILY_HUES[family], dark) for family in (ALONE, TOGETHER))
    error = np.zeros(table.shape) if effect.error is None else SPREAD * np.asarray(effect.error, dtype=float)
    reported = "" if effect.error is None else " ± %{customdata:.2g}"
    names = [style.short(axis.name) for axis in effect.axes]
    figure = style.new_figure(
        _surface_alt(effect, said, table), dark, height=360, margin={"l": 56, "r": 12, "t": 12, "b": 44}
    )
    figure.add_heatmap(
        x=_ticks(first), y=_ticks(second), z=table, zmin=-reach, zmax=reach,
        colorscale=[[0, cold], [0.5, style.theme(dark).paper], [1, warm]], customdata=error,
        colorbar=style.colour_bar(f"adds to {said}", dark, title_side="right"),
        hovertemplate=f"{names[0]} %{{x}}, {names[1]} %{{y}}<br>%{{z:+.3g}}{reported}<extra></extra>",
    )  # fmt: skip
    figure.layout.xaxis = _axis(first, dark)
    figure.layout.yaxis = _axis(second, dark)
    return figure


def _ticks(axis: Any) -> Any:
    return [style.short(name, 14) for name in axis.names] if axis.names else axis.at


def _axis(axis: Any, dark: bool) -> dict[str, Any]:
    kind = {"type": "category"} if axis.names else {}
    return style.axis(style.short(axis.name, 40), dark, showgrid=False, hoverformat=".3g", **kind)


def _place(axis: Any, k: int) -> str:
    return str(axis.names[k]) if axis.names else style.number(float(axis.at[k]))


def _curve_alt(effect: Any, said: str) -> str:
    (axis,), values = effect.axes, np.asarray(effect.values, dtype=float)
    low, high = int(values.argmin()), int(values.argmax())
    band = ""
    if effect.error is not None:
        sure = float(np.mean(np.abs(values) > SPREAD * np.asarray(effect.error)))
        band = f" Two standard errors leave out 0 on {100 * sure:.0f} % of it."
    return (
        f"What {axis.name} adds to {said} on its own: least, {style.number(values[low])}, at {_place(axis, low)}, "
        f"most, {style.number(values[high])}, at {_place(axis, high)}.{band}"
    )


def _surface_alt(effect: Any, said: str, table: Array) -> str:
    first, second = effect.axes

    def at(flat: int) -> str:
        row, column = divmod(flat, table.shape[1])
        return f"{first.name} {_place(first, column)} and {second.name} {_place(second, row)}"

    low, high = int(table.argmin()), int(table.argmax())
    return (
        f"What {first.name} and {second.name} add to {said} together, beyond what each adds alone: least, "
        f"{style.number(table.min())}, at {at(low)}, most, {style.number(table.max())}, at {at(high)}."
    )
