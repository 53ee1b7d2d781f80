"""What a model does with its columns: the curve of one, the map over two, letters at their places."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import graph_objects as go

SPLIT = 0.26  # share of the height for the values below a curve
TITLE_LETTERS = 22  # of a line beside a curve, which has a good half of the height
# bars of a histogram; whole numbers that have a bar each
BINS = 30
MOST_VALUES = 40
MOST_POINTS = 400
MILLISECONDS = 86_400_000  # of a day
APART = 0.02  # of an axis: how far the outermost of many rows at one place is moved
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
CLASS_HUES = ("linear", "rbf", "polynomial", "laplacian", "hkl", "precomputed")


# One column


def column_figure(effect: Any, said: str = "the score", *, dark: bool = False) -> go.Figure:
    """What a column does to a model, all others at their means, with the training rows' values
    below.

    ``effect`` as `column_effect` returns it, ``said`` what the model's value is called.
    """
    (axis,), values = effect.axes, np.asarray(effect.values, dtype=float)
    alt = (
        f"What {axis.name} adds to {said} with all other columns at their means: "
        f"{_ends(axis, values)}."
    )
    # a sum over kernels of several families has the hue of none
    return _curve_above_rows(axis, values, said, alt, style.theme(dark).ink, dark)


def column_dots(
    x: Any,
    added: Any,
    feature: str,
    said: str = "the prediction",
    *,
    is_date: bool = False,
    dark: bool = False,
) -> go.Figure:
    """What a column adds to ``said`` for every row, ``added`` (n,), over one of its features ``x``
    (n,): numbers, or days since 1970 of a column of dates.
    """
    least = int(np.argmin(added))
    most = int(np.argmax(added))
    ends = [style.date(x[k]) if is_date else style.as_given(float(x[k])) for k in (least, most)]
    alt = (
        f"What a column adds to {said} over {feature}, {len(x)} rows: least, "
        f"{style.number(added[least])}, at {ends[0]}, most, {style.number(added[most])}, "
        f"at {ends[1]}."
    )
    figure = style.new_figure(alt, dark)
    mark = {"color": style.family_shade("linear", 0, dark), "size": 6, "opacity": 0.7}
    shown = _dates(x) if is_date else x
    hover = f"{_hover_of(is_date)}: %{{y:+.3g}}<extra></extra>"
    figure.add_scatter(x=shown, y=added, mode="markers", marker=mark, hovertemplate=hover)
    figure.layout.xaxis = style.axis(style.short(feature, 40), dark)
    figure.layout.yaxis = style.axis(f"adds to {said}", dark, zeroline=True)
    return figure


def term_plot(effect: Any, said: str = "the score", *, dark: bool = False) -> go.Figure:
    """What a term adds: a curve over one column above its training values, or a map over two.

    ``effect`` as `term_effect` returns it, ``said`` what the model's value is called.
    ParameterError for a term of more columns.
    """
    values = np.asarray(effect.values, dtype=float)
    axes = effect.axes
    if len(axes) > 2:
        raise ParameterError(
            f"A term of {len(axes)} columns cannot be drawn; take one of one or two columns."
        )
    if len(axes) == 1:
        alt = f"What {axes[0].name} adds to {said} on its own: {_ends(axes[0], values)}."
        hue = style.family_shade("linear", 0, dark)
        return _curve_above_rows(axes[0], values, said, alt, hue, dark)
    first, second = axes

    def at(flat: int) -> str:
        row, column = divmod(flat, values.shape[1])
        return f"{first.name} {_place(first, column)} and {second.name} {_place(second, row)}"

    alt = (
        f"What {first.name} and {second.name} add to {said} together, beyond what each "
        f"adds alone: least, {style.number(values.min())}, at {at(int(values.argmin()))}, "
        f"most, {style.number(values.max())}, at {at(int(values.argmax()))}."
    )
    names = [style.short(axis.name) for axis in axes]
    places = [style.shorts(axis.names, 14) if axis.names else axis.at for axis in axes]
    figure = _map(
        alt,
        places[0],
        places[1],
        values,
        [axis.name for axis in axes],
        dark,
        signed=True,
        colorbar=style.colour_bar(f"adds to {said}", dark, title_side="right"),
        hovertemplate=f"{names[0]} %{{x}}, {names[1]} %{{y}}<br>%{{z:+.3g}}<extra></extra>",
    )
    for axis, own in zip((figure.layout.xaxis, figure.layout.yaxis), axes, strict=True):
        axis.type = "category" if own.names else None
    return figure


def component_plot(
    axes: Sequence[Any],
    values: Any,
    names: Sequence[str],
    title: str,
    *,
    certified: bool = True,
    dark: bool = False,
) -> go.Figure:
    """What one node of a hull adds to the prediction: a line over one variable, or a map over two.

    ``axes`` one or two arrays of positions, ``values`` (m,) or (m2, m1) at them, ``names`` of the
    variables, ``title`` of the node. Without a certificate the line is dashed and the text says so.
    Raises ParameterError for shapes that disagree.
    """
    grids = [np.asarray(axis, dtype=float) for axis in axes[: len(names)]]
    table = style.shaped("A component", values, *(grid.size for grid in reversed(grids)))
    alt = (
        f"What {title} adds to the prediction over {' and '.join(names)}: from "
        f"{style.number(table.min())} to {style.number(table.max())}."
    ) + ("" if certified else " Not certified.")
    if len(grids) == 2:
        return _map(
            alt,
            grids[0],
            grids[1],
            table,
            names,
            dark,
            colorbar=style.colour_bar("added", dark),
            hovertemplate="%{x:.3g}, %{y:.3g}: %{z:.3g}<extra></extra>",
        )
    figure = style.new_figure(alt, dark)
    line = {
        "color": style.family_shade("hkl", 0, dark),
        "width": 2,
        "dash": "solid" if certified else "dash",
    }
    figure.add_scatter(
        x=grids[0],
        y=table,
        mode="lines",
        line=line,
        hovertemplate="%{x:.3g}: %{y:.3g}<extra></extra>",
    )
    figure.layout.xaxis = style.axis(style.short(names[0], 30), dark)
    figure.layout.yaxis = style.axis(f"added by {style.short(title, 30)}", dark, zeroline=True)
    return figure


def _curve_above_rows(
    axis: Any, values: Array, said: str, alt: str, hue: str, dark: bool
) -> go.Figure:
    """What a column adds, ``values`` (m,) at the places of its ``axis``, above its training rows."""
    tone = style.theme(dark)
    name = axis.name
    title = "<br>".join(wrap(f"adds to {said}", TITLE_LETTERS))
    figure = style.new_figure(
        alt,
        dark,
        height=270,
        margin={"l": 70, "r": 12, "t": 10, "b": 40},
        bargap=0.05,
        yaxis=style.axis(title, dark, domain=[SPLIT + 0.06, 1], zeroline=True, nticks=5),
        yaxis2=style.axis("rows", dark, domain=[0, SPLIT], nticks=2, showgrid=False),
        xaxis=style.axis(style.short(name, 40), dark, anchor="y2", showgrid=False),
    )
    if axis.names:
        shown = style.shorts(axis.names, 14)
        figure.add_bar(
            x=shown,
            y=values,
            marker={"color": hue},
            hovertemplate=f"%{{x}}<br>%{{y:+.3g}} to {said}<extra></extra>",
        )
        below: dict[str, Any] = {
            "x": shown,
            "y": axis.rows,
            "hovertemplate": "%{x}: %{y} rows<extra></extra>",
        }
    else:
        place = _hover_of(axis.is_date)
        figure.add_scatter(
            x=_dates(axis.at) if axis.is_date else axis.at,
            y=values,
            mode="lines",
            line={"color": hue, "width": 2},
            name="term",
            hovertemplate=f"{style.short(name)} = {place}<br>%{{y:+.3g}} to {said}<extra></extra>",
        )
        rows = np.asarray(axis.rows, dtype=float)
        counts, edges = np.histogram(rows, bins=histogram_bins(rows))
        middles = (edges[:-1] + edges[1:]) / 2
        widths = np.diff(edges)
        below = {
            "x": middles,
            "y": counts,
            "width": widths,
            "hovertemplate": f"{place}: %{{y}} rows<extra></extra>",
        }
        if axis.is_date:
            below |= {"x": _dates(middles), "width": widths * MILLISECONDS}
    figure.add_bar(yaxis="y2", marker={"color": tone.grey}, **below)
    return figure


def histogram_bins(rows: Array) -> Any:
    """One bar per value of few whole numbers: equal bins beside them would be empty in turn."""
    low = float(rows.min())
    high = float(rows.max())
    few = high - low < MOST_VALUES and bool((rows == np.round(rows)).all())
    return np.arange(low - 0.5, high + 1.0) if few else BINS


def _dates(days: Any) -> Any:
    """Days since 1970 as dates for plotly."""
    return (np.asarray(days, dtype=float) * MILLISECONDS).astype("datetime64[ms]")


def _hover_of(is_date: bool) -> str:
    return "%{x|%Y-%m-%d}" if is_date else "%{x:.10~g}"


def _place(axis: Any, k: int) -> str:
    if axis.names:
        return str(axis.names[k])
    return style.date(axis.at[k]) if axis.is_date else style.as_given(float(f"{axis.at[k]:.4g}"))


def _ends(axis: Any, values: Array) -> str:
    low = int(values.argmin())
    high = int(values.argmax())
    ends = (
        (word, style.number(float(values[k])), _place(axis, k))
        for word, k in (("least", low), ("most", high))
    )
    return ", ".join(f"{word}, {value}, at {place}" for word, value, place in ends)


# Maps


def _map(
    alt: str,
    x: Any,
    y: Any,
    table: Array,
    names: Sequence[str],
    dark: bool,
    *,
    signed: bool = False,
    height: int = 380,
    **more: Any,
) -> go.Figure:
    """Values over two axes; ``signed`` ones from one hue over the background, where they are 0, to
    another.
    """
    figure = style.new_figure(alt, dark, height, margin={"l": 56, "r": 12, "t": 12, "b": 44})
    look: dict[str, Any] = {"colorscale": style.SEQUENTIAL}
    if signed:
        reach, (cold, warm) = (
            float(np.abs(table).max()) or 1.0,
            (_class_colour(k, dark) for k in (0, 1)),
        )
        look = {
            "zmin": -reach,
            "zmax": reach,
            "colorscale": [[0, cold], [0.5, style.theme(dark).paper], [1, warm]],
        }
    figure.add_heatmap(x=x, y=y, z=table, **{**look, **more})
    figure.layout.xaxis = style.axis(
        style.short(names[0], 40), dark, showgrid=False, hoverformat=".3g"
    )
    figure.layout.yaxis = style.axis(
        style.short(names[1], 40), dark, showgrid=False, hoverformat=".3g"
    )
    return figure


def surface_plot(
    surface: Any, names: Sequence[str], rows: Any, labels: Any, *, dark: bool = False
) -> go.Figure:
    """A model over two columns as a map, with the training rows on it.

    ``surface`` with ``columns``, ``x``, ``y``, ``values`` (m, m), ``classes`` and ``kind``;
    ``names`` (d,) of the columns, ``rows`` (n, d) and ``labels`` (n,) of the training rows. Two
    classes: the signed score, its border at 0 drawn as a line; more: the class that wins; a number:
    the prediction.
    """
    table = style.shaped("A surface", surface.values, len(surface.y), len(surface.x))
    T = len(surface.classes)
    hover = "%{x:.3g}, %{y:.3g}<br>"
    if surface.kind == "class":
        colours = [_class_colour(k, dark) for k in range(T)]
        look: dict[str, Any] = {
            "colorscale": [[place, colours[k]] for k in range(T) for place in (k / T, (k + 1) / T)],
            "opacity": 0.35,
            "zmin": -0.5,
            "zmax": T - 0.5,
            "showscale": False,
            "hovertemplate": f"{hover}%{{text}}<extra></extra>",
            "text": [[style.short(surface.classes[int(k)], 30) for k in row] for row in table],
        }
    else:
        what = "score" if surface.kind == "score" else "prediction"
        look = {
            "colorbar": style.colour_bar(what, dark),
            "zsmooth": "best",
            "opacity": 0.6 if what == "score" else 1.0,
            "hovertemplate": f"{hover}{what} %{{z:.3g}}<extra></extra>",
        }
    figure = _map(
        _surface_alt(surface, names, table),
        surface.x,
        surface.y,
        table,
        [names[j] for j in surface.columns],
        dark,
        signed=surface.kind == "score",
        height=420,
        **look,
    )
    if surface.kind == "score":
        ink = style.theme(dark).ink
        figure.add_contour(
            x=surface.x,
            y=surface.y,
            z=table,
            showscale=False,
            hoverinfo="skip",
            name="border",
            line={"width": 2},
            contours={"start": 0, "end": 0, "size": 1, "coloring": "lines"},
            colorscale=[[0, ink], [1, ink]],
        )
    _rows_on_map(figure, surface, np.asarray(rows, dtype=float), np.asarray(labels), dark)
    return figure


def _class_colour(k: int, dark: bool) -> str:
    return style.family_shade(CLASS_HUES[k % len(CLASS_HUES)], 0, dark)


def _rows_on_map(figure: go.Figure, surface: Any, rows: Array, labels: Array, dark: bool) -> None:
    step = max(1, len(rows) // MOST_POINTS)
    at = _apart(rows[::step][:, list(surface.columns)])
    called = labels[::step]
    if surface.kind == "number":
        low = float(np.min(surface.values))
        high = float(np.max(surface.values))
        marker = {
            "size": 7,
            "color": called.astype(float),
            "cmin": low,
            "cmax": high,
            "colorscale": style.SEQUENTIAL,
            "line": {"width": 1, "color": style.theme(dark).ink},
        }
        figure.add_scatter(
            x=at[:, 0],
            y=at[:, 1],
            mode="markers",
            name="training rows",
            text=[style.number(v) for v in called],
            marker=marker,
            hovertemplate="row with target %{text}<extra></extra>",
        )
        return
    edge = {"width": 1, "color": style.theme(dark).paper}
    for k, name in enumerate(surface.classes):
        mine = called.astype(str) == name
        figure.add_scatter(
            x=at[mine, 0],
            y=at[mine, 1],
            mode="markers",
            name=style.short(name, 30),
            marker={
                "symbol": SYMBOLS[k % len(SYMBOLS)],
                "size": 7,
                "color": _class_colour(k, dark),
                "line": edge,
            },
            hovertemplate=f"{style.short(name, 30)}<extra></extra>",
        )


def _apart(at: Array) -> Array:
    """Points (m, 2) with those at the same place moved a little, so that none hides another."""
    _, home, counts = np.unique(at, axis=0, return_inverse=True, return_counts=True)
    moved = np.random.default_rng(0).uniform(-APART, APART, at.shape) * (
        np.ptp(at, axis=0) if len(at) else 1.0
    )
    return np.where(counts[home.ravel(), None] > 1, at + moved, at)


def _surface_alt(surface: Any, names: Sequence[str], table: Array) -> str:
    first, second = (names[j] for j in surface.columns)
    over = (
        f"over {first} from {style.number(surface.x[0])} to {style.number(surface.x[-1])} and "
        f"{second} from "
    )
    over += f"{style.number(surface.y[0])} to {style.number(surface.y[-1])}"
    if surface.kind == "number":
        return (
            f"Prediction {over}: from {style.number(table.min())} to {style.number(table.max())}."
        )
    if surface.kind == "score":
        won = 100 * float(np.mean(table > 0))
        return (
            f"Score {over}. {surface.classes[1]} wins on {won:.0f} % of the map, "
            f"{surface.classes[0]} on the rest."
        )
    shares = [
        f"{name} on {100 * float(np.mean(table == k)):.0f} %"
        for k, name in enumerate(surface.classes)
    ]
    return f"Class that wins {over}: {style.joined(shares)} of the map."


def positions_figure(found: Any, name: str, *, dark: bool = False) -> go.Figure:
    """What every letter of a sequence adds to the decision at every place: blue less, red more.

    ``found`` with ``letters`` (A,), ``values`` (A, L) and ``words``, as `estimators.positions`
    makes it; ``name`` of the sequence. Places are counted from 1.
    """
    values = np.asarray(found.values, dtype=float)
    words = ", ".join(
        f"{one.word} at place {one.place + 1} ({one.effect:+.3g})" for one in found.words[:3]
    )
    reach = float(np.abs(values).max()) or 1.0
    figure = _map(
        (
            f"What letters of {name} add to the decision, place by place. The strongest words: "
            f"{words}."
        ),
        np.arange(1, values.shape[1] + 1),
        list(found.letters),
        values,
        [f"place in {name}", ""],
        dark,
        height=max(170, 22 * len(found.letters) + 80),
        colorscale="RdBu_r",
        zmin=-reach,
        zmax=reach,
        colorbar=style.colour_bar("", dark, nticks=5),
        hovertemplate="%{y} at place %{x}: %{z:+.3g}<extra></extra>",
    )
    return figure.update_yaxes(type="category", autorange="reversed")
