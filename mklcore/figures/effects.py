"""What a model does with its columns: curves over one, maps over two, letters of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import wrap
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import Figure, Json, Texts, floats

SPLIT = 0.26  # share of the height for the histogram below a curve
TITLE_LETTERS = 22  # of a line beside a curve, which has more than half of the height
N_BINS = 30
MOST_VALUES = 40  # whole numbers that have a bar each in a histogram
MOST_POINTS = 400
MILLISECONDS = 86_400_000  # of a day
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
CLASS_FAMILIES = ("linear", "rbf", "polynomial", "laplacian", "hkl", "precomputed")


# One column


def column_figure(effect: Any, target: str = "the score", *, dark: bool = False) -> Figure:
    """The effect of a column on a model, all others at their means, above a histogram of its rows.

    ``effect`` is the result of ``column_effect``, ``target`` the name of the model's value.
    """
    # The curve is a sum over kernels of several families, so it has the hue of none.
    ink = style.theme(dark).ink
    return _curve_above_rows(effect, "with all other columns at their means", target, ink, dark)


def column_dots(
    x: Any,
    added: Any,
    feature: str,
    target: str = "the prediction",
    *,
    is_date: bool = False,
    dark: bool = False,
) -> Figure:
    """What a column adds to ``target`` in every row, ``added`` (n,), over one of its features.

    ``x`` (n,) are the values of the feature; days since 1970 where the column holds dates.
    """

    def place(k: int) -> str:
        return style.date(x[k]) if is_date else style.as_given(float(x[k]))

    ends = _ends(floats(added), place)
    alt = f"What a column adds to {target} over {feature}, {len(x)} rows: {ends}."
    figure = style.new_figure(alt, dark)
    figure.add_scatter(
        x=_dates(x) if is_date else x,
        y=added,
        mode="markers",
        marker={"color": style.family_shade("linear", 0, dark), "size": 6, "opacity": 0.7},
        hovertemplate=f"{_x_hover(is_date)}: %{{y:+.3g}}<extra></extra>",
    )
    figure.update_xaxes(title=style.short(feature, 40))
    figure.update_yaxes(title=f"adds to {target}", zeroline=True)
    return figure


def term_plot(effect: Any, target: str = "the score", *, dark: bool = False) -> Figure:
    """What a term adds: a curve over one column above its training values, or a map over two.

    ``effect`` is the result of ``term_effect``, ``target`` the name of the model's value. Raises
    ``ParameterError`` for a term of more columns.
    """
    axes = effect.axes
    if len(axes) > 2:
        raise ParameterError(
            f"A term of {len(axes)} columns cannot be drawn; take one of one or two columns."
        )
    if len(axes) == 1:
        hue = style.family_shade("linear", 0, dark)
        return _curve_above_rows(effect, "on its own", target, hue, dark)
    values = floats(effect.values)
    first, second = axes

    def place(k: int) -> str:
        row, column = divmod(k, values.shape[1])
        return f"{first.name} {_place(first, column)} and {second.name} {_place(second, row)}"

    alt = (
        f"What {first.name} and {second.name} add to {target} together, beyond what each adds "
        f"alone: {_ends(values, place)}."
    )
    places = [style.shorts(axis.names, 14) if axis.names else axis.at for axis in axes]
    hover = f"{style.short(first.name)} %{{x}}, {style.short(second.name)} %{{y}}"
    figure = _map(
        alt,
        places[0],
        places[1],
        values,
        [first.name, second.name],
        dark,
        signed=True,
        colorbar={"title": {"text": f"adds to {target}", "side": "right"}},
        hovertemplate=f"{hover}<br>%{{z:+.3g}}<extra></extra>",
    )
    figure.layout.xaxis.type = "category" if first.names else None
    figure.layout.yaxis.type = "category" if second.names else None
    return figure


def component_plot(
    axes: Sequence[Any],
    values: Any,
    names: Texts,
    title: str,
    *,
    certified: bool = True,
    dark: bool = False,
) -> Figure:
    """What one node of a hull adds to the prediction: a line over one variable, or a map over two.

    ``axes`` are one or two arrays of positions, ``values`` (m,) or (m2, m1) the values there,
    ``names`` those of the variables, and ``title`` that of the node. Without a certificate the line
    is dashed and the alternative text says so. Raises ``ParameterError`` where shapes disagree.
    """
    grids = [floats(axis) for axis in axes[: len(names)]]
    table = style.shaped("A component", values, *(grid.size for grid in reversed(grids)))
    alt = (
        f"What {title} adds to the prediction over {' and '.join(names)}: from "
        f"{style.number(table.min())} to {style.number(table.max())}."
    )
    if not certified:
        alt += " Not certified."
    if len(grids) == 2:
        hover = "%{x:.3g}, %{y:.3g}: %{z:.3g}<extra></extra>"
        bar = {"title": "added"}
        x, y = grids
        return _map(alt, x, y, table, names, dark, colorbar=bar, hovertemplate=hover)
    figure = style.new_figure(alt, dark)
    dash = "solid" if certified else "dash"
    figure.add_scatter(
        x=grids[0],
        y=table,
        mode="lines",
        line={"color": style.family_shade("hkl", 0, dark), "width": 2, "dash": dash},
        hovertemplate="%{x:.3g}: %{y:.3g}<extra></extra>",
    )
    figure.update_xaxes(title=style.short(names[0], 30))
    figure.update_yaxes(title=f"added by {style.short(title, 30)}", zeroline=True)
    return figure


def _curve_above_rows(
    effect: Any,
    how: str,
    target: str,
    hue: str,
    dark: bool,
) -> Figure:
    """What a column adds, and ``how``, along its axis above a histogram of its rows."""
    axis = effect.axes[0]
    values = floats(effect.values)
    title = "<br>".join(wrap(f"adds to {target}", TITLE_LETTERS))
    figure = style.new_figure(
        f"What {axis.name} adds to {target} {how}: {_ends(values, partial(_place, axis))}.",
        dark,
        height=270,
        margin={"l": 70, "r": 12, "t": 10, "b": 40},
        bargap=0.05,
        yaxis={"title": title, "domain": [SPLIT + 0.06, 1], "zeroline": True, "nticks": 5},
        yaxis2={"title": "rows", "domain": [0, SPLIT], "nticks": 2, "showgrid": False},
        xaxis={"title": style.short(axis.name, 40), "anchor": "y2", "showgrid": False},
    )
    rows: Json = {"yaxis": "y2", "marker": {"color": style.theme(dark).grey}}
    if axis.names:
        labels = style.shorts(axis.names, 14)
        hover = f"%{{x}}<br>%{{y:+.3g}} to {target}<extra></extra>"
        figure.add_bar(x=labels, y=values, marker={"color": hue}, hovertemplate=hover)
        row_hover = "%{x}: %{y} rows<extra></extra>"
        return figure.add_bar(x=labels, y=axis.rows, hovertemplate=row_hover, **rows)
    place = _x_hover(axis.is_date)
    figure.add_scatter(
        x=_dates(axis.at) if axis.is_date else axis.at,
        y=values,
        mode="lines",
        line={"color": hue, "width": 2},
        name="term",
        hovertemplate=(
            f"{style.short(axis.name)} = {place}<br>%{{y:+.3g}} to {target}<extra></extra>"
        ),
    )
    known = floats(axis.rows)
    counts, edges = np.histogram(known, bins=histogram_bins(known))
    middles = (edges[:-1] + edges[1:]) / 2
    widths = np.diff(edges)
    if axis.is_date:
        middles = _dates(middles)
        widths = widths * MILLISECONDS
    row_hover = f"{place}: %{{y}} rows<extra></extra>"
    return figure.add_bar(x=middles, y=counts, width=widths, hovertemplate=row_hover, **rows)


def histogram_bins(rows: Array) -> Any:
    """One bin per value of a few whole numbers, where equal bins would be empty in turn."""
    low = float(rows.min())
    high = float(rows.max())
    if high - low < MOST_VALUES and bool((rows == np.round(rows)).all()):
        return np.arange(low - 0.5, high + 1.0)
    return N_BINS


def _dates(days: Any) -> Any:
    """Days since 1970 as dates for plotly."""
    return (floats(days) * MILLISECONDS).astype("datetime64[ms]")


def _x_hover(is_date: bool) -> str:
    return "%{x|%Y-%m-%d}" if is_date else "%{x:.10~g}"


def _place(axis: Any, k: int) -> str:
    """The ``k``-th position of an axis in a sentence."""
    if axis.names:
        return str(axis.names[k])
    return style.date(axis.at[k]) if axis.is_date else style.as_given(float(f"{axis.at[k]:.4g}"))


def _ends(values: Array, place: Callable[[int], str]) -> str:
    """The smallest and the largest of ``values``, and the ``place`` of each."""
    ends = []
    for word, k in (("least", int(values.argmin())), ("most", int(values.argmax()))):
        ends.append(f"{word}, {style.number(values.flat[k])}, at {place(k)}")
    return ", ".join(ends)


# Maps


def _map(
    alt: str,
    x: Any,
    y: Any,
    table: Array,
    names: Texts,
    dark: bool,
    *,
    signed: bool = False,
    height: int = 380,
    **options: Any,
) -> Figure:
    """Values over two axes; ``signed`` values have two hues, which meet in the background at 0."""
    figure = style.new_figure(
        alt,
        dark,
        height,
        margin={"l": 56, "r": 12, "t": 12},
    )
    look: Json = {}
    if signed:
        bound = float(np.abs(table).max()) or 1.0
        negative = _class_colour(0, dark)
        positive = _class_colour(1, dark)
        middle = style.theme(dark).paper
        look = {
            "zmin": -bound,
            "zmax": bound,
            "colorscale": [[0, negative], [0.5, middle], [1, positive]],
        }
    figure.add_heatmap(x=x, y=y, z=table, **look | options)
    figure.update_xaxes(title=style.short(names[0], 40), showgrid=False, hoverformat=".3g")
    figure.update_yaxes(title=style.short(names[1], 40), showgrid=False, hoverformat=".3g")
    return figure


def surface_plot(
    surface: Any,
    names: Texts,
    rows: Any,
    labels: Any,
    *,
    dark: bool = False,
) -> Figure:
    """A model over two columns as a map, with the training rows on it.

    ``surface`` has ``columns``, ``x``, ``y``, ``values`` (m, m), ``classes`` and ``kind``;
    ``names`` (d,) are those of all columns, ``rows`` (n, d) and ``labels`` (n,) the training rows.
    The map shows the signed score for two classes, with a line where it is 0; the predicted class
    for more classes; and the prediction for a numeric target.
    """
    table = style.shaped("A surface", surface.values, len(surface.y), len(surface.x))
    hover = "%{x:.3g}, %{y:.3g}<br>"
    if surface.kind == "class":
        look = _class_map(surface.classes, table, dark)
        look["hovertemplate"] = f"{hover}%{{text}}<extra></extra>"
    else:
        what = "score" if surface.kind == "score" else "prediction"
        look = {
            "colorbar": {"title": what},
            "zsmooth": "best",
            "opacity": 0.6 if what == "score" else 1.0,
            "hovertemplate": f"{hover}{what} %{{z:.3g}}<extra></extra>",
        }
    figure = _map(
        _surface_alt(surface, names, table),
        surface.x,
        surface.y,
        table,
        style.chosen(names, surface.columns),
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
    _add_rows(
        figure,
        surface,
        floats(rows),
        np.asarray(labels),
        dark,
    )
    return figure


def _class_map(
    classes: Texts,
    table: Array,
    dark: bool,
) -> Json:
    """The look of a map of class numbers: one colour per class."""
    count = len(classes)
    scale = []
    for k in range(count):
        colour = _class_colour(k, dark)
        scale += [[k / count, colour], [(k + 1) / count, colour]]
    return {
        "colorscale": scale,
        "opacity": 0.35,
        "zmin": -0.5,
        "zmax": count - 0.5,
        "showscale": False,
        "text": np.array(style.each_short(classes, 30))[table.astype(int)].tolist(),
    }


def _class_colour(k: int, dark: bool) -> str:
    return style.family_shade(CLASS_FAMILIES[k % len(CLASS_FAMILIES)], 0, dark)


def _add_rows(
    figure: Figure,
    surface: Any,
    rows: Array,
    labels: Array,
    dark: bool,
) -> None:
    """Draw training rows on a map, coloured by class or by numeric target."""
    step = max(1, len(rows) // MOST_POINTS)
    points = rows[::step][:, list(surface.columns)]
    labels = labels[::step]
    tone = style.theme(dark)
    if surface.kind == "number":
        figure.add_scatter(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            name="training rows",
            text=[style.number(value) for value in labels],
            marker={
                "size": 7,
                "color": labels.astype(float),
                "cmin": float(np.min(surface.values)),
                "cmax": float(np.max(surface.values)),
                "colorscale": style.SEQUENTIAL,
                "line": {"width": 1, "color": tone.ink},
            },
            hovertemplate="row with target %{text}<extra></extra>",
        )
        return
    for k, name in enumerate(surface.classes):
        members = labels.astype(str) == name
        figure.add_scatter(
            x=points[members, 0],
            y=points[members, 1],
            mode="markers",
            name=style.short(name, 30),
            marker={
                "symbol": SYMBOLS[k % len(SYMBOLS)],
                "size": 7,
                "color": _class_colour(k, dark),
                "line": {"width": 1, "color": tone.paper},
            },
            hovertemplate=f"{style.short(name, 30)}<extra></extra>",
        )


def _surface_alt(surface: Any, names: Texts, table: Array) -> str:
    ranges = []
    for j, grid in zip(surface.columns, (surface.x, surface.y), strict=True):
        ranges.append(f"{names[j]} from {style.number(grid[0])} to {style.number(grid[-1])}")
    over = f"over {' and '.join(ranges)}"
    if surface.kind == "number":
        low = style.number(table.min())
        return f"Prediction {over}: from {low} to {style.number(table.max())}."
    if surface.kind == "score":
        first, second = surface.classes
        share = 100 * float(np.mean(table > 0))
        return f"Score {over}. {second} wins on {share:.0f} % of the map, {first} on the rest."
    shares = []
    for k, name in enumerate(surface.classes):
        shares.append(f"{name} on {100 * float(np.mean(table == k)):.0f} %")
    return f"Class that wins {over}: {style.joined(shares)} of the map."


# Sequences


def positions_figure(effects: Any, name: str, *, dark: bool = False) -> Figure:
    """What every letter of the sequence ``name`` adds to the decision: blue for less, red for more.

    ``effects`` has ``letters`` (A,), ``values`` (A, L) and ``words``, as ``estimators.positions``
    returns them. Places are counted from 1.
    """
    values = floats(effects.values)
    strongest = effects.words[:3]
    words = [f"{word.word} at place {word.place + 1} ({word.effect:+.3g})" for word in strongest]
    alt = (
        f"What letters of {name} add to the decision, place by place. The strongest words: "
        f"{', '.join(words)}."
    )
    bound = float(np.abs(values).max()) or 1.0
    figure = _map(
        alt,
        np.arange(1, values.shape[1] + 1),
        list(effects.letters),
        values,
        [f"place in {name}", ""],
        dark,
        height=max(170, 22 * len(effects.letters) + 80),
        colorscale="RdBu_r",
        zmin=-bound,
        zmax=bound,
        colorbar={"nticks": 5},
        hovertemplate="%{y} at place %{x}: %{z:+.3g}<extra></extra>",
    )
    return figure.update_yaxes(type="category", autorange="reversed")
