"""Static lines over one axis: along a path, over iterations, and what was measured beside what it
is compared with.

Figures of a path read it by its fields alone: ``param``, ``values`` (L,), ``weights`` (L, M),
``statuses``, ``train_score``, ``val_score``, ``score_name``, ``kernel_names``, ``kernel_families``.
A line is solid between two points that are certain (solved to tolerance; a bound that says
something) and dashed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mklcore.arrays import Array, Mask
from mklcore.figures import axes, captions, player_data, style
from mklcore.figures.axes import norm_positions
from mklcore.figures.captions import symbol
from mklcore.figures.style import graph_objects as go

NO_PATH = "No path yet. Choose a range and press Compute."
MANY_POINTS = 20
DASHES = {"solid": "———", "dash": "– – –", "dot": "· · ·", "dashdot": "–·–·", "longdash": "—— ——"}
# of the distance of two rows: ours to the left; room between two series
SHIFT = 0.035
GAP = 0.6
SPREAD = 0.7  # of the distance of two rows that the markers of one take
# px at least
ROW_HEIGHT = 34
MARK_HEIGHT = 14
LABEL_GAP = 14  # px between two labels at line ends
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


def _line(
    figure: go.Figure,
    x: Array,
    y: Array,
    name: str,
    line: dict[str, Any],
    *,
    sure: Mask | None = None,
    **more: Any,
) -> None:
    """One line over ``x`` (L,), or several of one look parted by gaps, ``y`` (L,) or (L, K), dashed
    where it is not ``sure`` (L,).
    """
    table = y[:, None] if y.ndim == 1 else y
    certain = np.ones(len(x), dtype=bool) if sure is None else sure
    beside = ~certain | np.append(~certain[1:], False) | np.append(False, ~certain[:-1])
    places = np.tile(np.append(x, np.nan), table.shape[1])[:-1]
    more = {"mode": "lines" if len(x) > 1 else "markers", **more}
    for dash, kept in ((line.get("dash", "solid"), certain), ("dash", beside)):
        values = np.where(kept[:, None], table, np.nan)
        if np.isfinite(values).any():
            heights = np.pad(values, ((0, 1), (0, 0)), constant_values=np.nan).T.ravel()[:-1]
            figure.add_scatter(x=places, y=heights, name=name, line={**line, "dash": dash}, **more)


class _EndLabel(NamedTuple):
    """A label at the right end of a line that ends at height ``y``, and at ``x``, as plotly has it
    for annotations, unless it ends at the right edge.
    """

    text: str
    y: float
    colour: str
    x: float | None = None


def _label_ends(figure: go.Figure, labels: Sequence[_EndLabel], dark: bool) -> None:
    """Write each label to the right of its line's end on a logarithmic axis, moved where two would
    overlap.
    """
    margin, (low, high) = figure.layout.margin, figure.layout.yaxis.range
    gap = LABEL_GAP / (figure.layout.height - margin.t - margin.b)
    places = style.spread(
        [(np.log10(label.y) - low) / (high - low) for label in labels], gap, 0.0, 1.0
    )
    figure.layout.annotations += tuple(
        _end(
            label.text,
            style.readable(label.colour, dark, style.TEXT_CONTRAST),
            float(place),
            label.x,
        )
        for label, place in zip(labels, places, strict=True)
    )  # all at once: plotly looks at every one again when one is added


def _end(text: str, colour: str, y: float, x: float | None = None) -> dict[str, Any]:
    """A label at the share ``y`` of the height, beside the right edge or ``x``."""
    at = {"x": 1.0, "xref": "x domain"} if x is None else {"x": x, "xref": "x"}
    beside = {"xanchor": "left", "xshift": 6, "yref": "y domain", "yanchor": "middle"}
    return style.words(text, colour, name="end label", y=y, **at, **beside)


# Along a path


def weight_path(path: Any, index: int | None = None, *, dark: bool = False) -> go.Figure:
    """Kernel weights θ along the path, one line per kernel, with a cursor at the ``index``-th
    value.

    The six kernels largest anywhere on the path are drawn in their colours and named at the line's
    end; the rest step back to grey. Raises ``ParameterError`` for an index outside the path.
    """
    if len(path.values) == 0:
        return style.empty_figure(NO_PATH, dark)
    return _still(path, player_data.weights_chart(path, dark), index, dark)


def score_path(
    path: Any,
    index: int | None = None,
    *,
    references: Sequence[tuple[str, float]] = (),
    dark: bool = False,
) -> go.Figure:
    """Training (grey) and validation (dashed) score along the path, with a cursor at the
    ``index``-th value.

    Points not solved to tolerance are hollow. ``references``: scores of other models by name, as
    dotted lines; those far away are stated at the end of the scale.
    """
    drawn = (
        player_data.scores_chart(path, dark, references=references) if len(path.values) else None
    )
    if drawn is None:
        return style.empty_figure(
            NO_PATH if not len(path.values) else "No score was measured on this path.", dark
        )
    figure = _still(path, drawn, index, dark)
    short_of = ~captions.solved(path)
    if short_of.any():
        values = next(
            np.asarray(values)
            for _, values in reversed(captions.scores(path))
            if np.isfinite(values).any()
        )
        figure.add_scatter(
            x=norm_positions(path.values)[short_of],
            y=values[short_of],
            name="not solved to tolerance",
            mode="markers",
            marker={"symbol": "circle-open", "size": 7, "color": style.theme(dark).ink},
            hovertemplate="not solved to tolerance<extra></extra>",
        )
    return figure


def _still(path: Any, drawn: dict[str, Any], index: int | None, dark: bool) -> go.Figure:
    """The picture of a player of ``path`` with its cursor at a point."""
    panel = drawn["panels"][0]
    places = norm_positions(path.values)
    order = np.argsort(places, kind="stable")
    at = int(order[-1]) if index is None else captions.checked(path, index)
    alt = f"{drawn['alt']} {drawn['said'][at]}"
    margin = {"l": 52, "r": 130, "t": 16, "b": 44}
    figure, (low, high) = (
        style.new_figure(alt, dark, margin=margin),
        (panel["y"][end] for end in ("low", "high")),
    )
    x = places[order]
    sure = captions.solved(path)[order]
    named = [one for one in panel["lines"] if one.get("label")]
    rest = [one for one in panel["lines"] if not one.get("label")]
    for name, lines in [("the other kernels", rest)] * bool(rest) + [
        (one["name"], [one]) for one in named
    ]:
        table = np.array([one["ys"] for one in lines], dtype=float).T[order]
        called = np.repeat([style.short(one["name"], 60) for one in lines], len(x) + 1).tolist()[
            :-1
        ]
        dash = {6: "dash", 2: "dot"}.get(lines[0].get("dash", [0])[0], "solid")
        look = {"color": lines[0]["colour"], "width": lines[0]["width"], "dash": dash}
        hover = f"%{{text}}<br>%{{y:.3g}} at {symbol(path.param)} = %{{x:.3g}}<extra></extra>"
        certain = None if dash == "dot" else sure  # another model is no point of the path
        _line(figure, x, table, name, look, sure=certain, text=called, hovertemplate=hover)
    ends = (
        _end(style.short(one["label"], 40), one["label_colour"], one["label_at"]) for one in named
    )
    figure.layout.annotations = list(ends)
    figure.layout.xaxis = axes.parameter_axis(path).plotly(dark)
    values, texts = zip(
        *((low + at * (high - low), text) for at, text in panel["y"]["ticks"]), strict=True
    )
    ticks = {
        "tickvals": values,
        "ticktext": texts,
        "range": [low - 0.01 * (high - low), high],
        "zeroline": True,
    }
    figure.layout.yaxis = style.axis(panel["y"]["title"] or panel["title"], dark, **ticks)
    if index is not None:
        figure.add_vline(
            float(places[at]), name="cursor", line={"color": style.theme(dark).ink, "width": 1.5}
        )
    return figure


def choice_band(
    path: Any, index: int | None = None, *, best: Any = None, dark: bool = False
) -> go.Figure:
    """The objective of a choice of s kernels along a path over s, and the bound that no choice of
    as many is below.

    The best choice lies in the band between the two. Filled marks are proven best; diamonds are the
    values of ``best``, a path of the best k kernels for the same problem.
    """
    known = np.isfinite(np.asarray(path.dual_gap, dtype=float))
    if not known.any():
        return style.empty_figure("This method has no bound on the best choice.", dark)
    order = np.flatnonzero(known)[np.argsort(np.asarray(path.values)[known], kind="stable")]
    sizes = np.asarray(path.values, dtype=float)[order]
    values = np.asarray(path.objective, dtype=float)[order]
    bounds = values - np.asarray(path.dual_gap, dtype=float)[order]
    gaps = np.asarray(path.relative_gap, dtype=float)[order]
    is_proven = gaps <= captions.PROVEN
    alt = (
        f"Objective and bound over s from {style.number(sizes[0])} to {style.number(sizes[-1])}: "
        f"the best choice is at most {style.percent(float(gaps.max()))} below; "
        f"{int(is_proven.sum())} of {style.counted(len(sizes), 'choice')} proven best."
    )
    margin = {"l": 56, "r": 24, "t": 16, "b": 44}
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=margin)
    _band(figure, sizes, bounds, values, dark)
    tone = style.theme(dark)
    hover = "%{y:.4g} for %{x} kernels<extra></extra>"
    dashes = {"color": tone.muted, "width": 1.5, "dash": "dash"}
    _line(figure, sizes, bounds, "bound", dashes, hovertemplate=hover)
    symbols = np.where(is_proven, "circle", "circle-open").tolist()
    marker = {"symbol": symbols, "size": 8, "color": tone.ink}
    solid = {"color": tone.ink, "width": 2}
    look = {"mode": "lines+markers", "marker": marker, "hovertemplate": hover}
    _line(figure, sizes, values, "value", solid, **look)
    if best is not None:
        figure.add_scatter(
            x=best.n_nonzero,
            y=best.objective,
            mode="markers",
            name="best found",
            marker={"symbol": "diamond-open", "size": 13, "color": tone.ink},
            hovertemplate="best found: %{y:.4g} for %{x} kernels<extra></extra>",
        )
    figure.layout.xaxis = axes.whole("kernels s", sizes[0], sizes[-1]).plotly(dark)
    figure.layout.yaxis = style.axis("objective", dark)
    if index is not None:
        place = float(path.values[captions.checked(path, index)])
        figure.add_vline(place, name="cursor", line={"color": tone.ink, "width": 1.5})
    return figure


def _band(figure: go.Figure, x: Array, low: Array, high: Array, dark: bool) -> None:
    """Shade what lies between two lines."""
    figure.add_scatter(
        x=np.append(x, x[::-1]),
        y=np.append(high, low[::-1]),
        fill="toself",
        fillcolor=style.faded(style.theme(dark).grey, 0.3),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name="the best is in here",
    )


# One fit, one matrix, one model


def gap_convergence(history: Sequence[Any], *, dark: bool = False) -> go.Figure:
    """Relative duality gap, as a percentage of the optimum, after every iteration of one fit.

    ``history`` holds records with ``iteration``, ``relative_gap``, ``solves`` and ``seconds``.
    """
    gaps = np.array([np.nan if r.relative_gap is None else float(r.relative_gap) for r in history])
    known = gaps[np.isfinite(gaps)]
    if not known.size:
        return style.empty_figure(
            "This method has no certificate, so there is no gap to follow.", dark
        )
    alt = (
        f"Relative duality gap, on a logarithmic axis: {style.percent(known[0])} of the "
        f"optimum at the start and {style.percent(known[-1])} after "
        f"{style.counted(history[-1].iteration, 'iteration')} and "
        f"{style.counted(history[-1].solves, 'machine solve')}."
    )
    shown = 100 * np.maximum(gaps, np.finfo(float).eps)
    figure = style.new_figure(alt, dark, margin={"l": 56, "r": 72, "t": 16, "b": 44})
    iterations = np.array([r.iteration for r in history], dtype=float)
    _line(
        figure,
        iterations,
        shown,
        "relative gap",
        {"color": style.theme(dark).ink, "width": 2},
        mode="lines+markers",
        marker={"size": 5},
        customdata=[[r.solves, r.seconds] for r in history],
        hovertemplate="iteration %{x}: %{y:.2g} % of the optimum"
        "<br>%{customdata[0]} solves, %{customdata[1]:.1f} s<extra></extra>",
    )
    figure.layout.xaxis = style.axis("iteration", dark, tickformat="d", rangemode="tozero")
    figure.layout.yaxis = axes.logarithmic("gap, % of the optimum", shown, 0.06).plotly(
        dark, showgrid=True
    )
    return figure


def eigenvalue_decay(
    values: Any, names: Sequence[str], *, colours: Sequence[str] | None = None, dark: bool = False
) -> go.Figure:
    """Eigenvalues of one Gram matrix (n,) or several (M, n), largest first, on a logarithmic axis.

    Eigenvalues below n machine epsilons of the largest are numerical zeros and left out; the text
    tells how many stay. ``colours`` are those of these kernels in their dictionary
    (``kernel_colours``); six hues and grey without them.
    """
    table = np.atleast_2d(np.asarray(values, dtype=float))
    spectra = np.sort(style.shaped("Spectra", table, len(names), table.shape[1]), axis=1)[:, ::-1]
    if colours is None:
        colours = style.distinct_colours(-np.arange(float(len(names))), dark)
    kept = [row[row > row.size * np.finfo(float).eps * max(float(row[0]), 0.0)] for row in spectra]
    sentences = [
        _decay_as_text(*one)
        for one in list(zip(names, kept, spectra, strict=True))[: style.N_NAMED]
    ]
    alt = "Eigenvalue decay on a logarithmic axis. " + " ".join(sentences)
    figure = style.new_figure(alt, dark, margin={"l": 56, "r": 120, "t": 16, "b": 44})
    ends = []
    for name, row, colour in zip(names, kept, colours, strict=True):
        _line(
            figure,
            np.arange(1.0, row.size + 1),
            row,
            name,
            {"color": colour, "width": 2},
            hovertemplate=f"{style.short(name, 60)}<br>eigenvalue %{{x}}: %{{y:.3g}}<extra></extra>",
        )
        if row.size:
            ends.append(_EndLabel(style.short(name), float(row[-1]), colour, x=float(row.size)))
    figure.layout.xaxis = style.axis("rank of the eigenvalue", dark)
    figure.layout.yaxis = axes.logarithmic("eigenvalue", np.concatenate(kept), axes.PAD).plotly(
        dark, showgrid=True
    )
    _label_ends(figure, ends[: style.N_NAMED], dark)
    return figure


def _decay_as_text(name: str, kept: Array, spectrum: np.ndarray) -> str:
    if kept.size == 0:
        return f"{name} has no positive eigenvalue."
    half = int(np.searchsorted(np.cumsum(kept), 0.5 * kept.sum())) + 1
    first = "the first one holds" if half == 1 else f"the first {half} hold"
    return (
        f"{name} keeps {kept.size} of {spectrum.size} eigenvalues, and {first} half of the trace."
    )


def roc_figure(
    curves: Sequence[tuple[str, Array, Array, float]], *, dark: bool = False
) -> go.Figure:
    """Share of a class that is found against share of the others taken for it; ``curves`` (name,
    false, true, AUC).
    """
    tone = style.theme(dark)
    looks = list(DASHES.items())
    areas = "; ".join(f"{name} {area:.3f}" for name, _, _, area in curves)
    figure = _shares(
        f"ROC curves, area under each: {areas}.", "false positive rate", "true positive rate", dark
    )
    lines = []
    labels = style.shorts([str(name) for name, *_ in curves], 16)
    for k, (name, false, true, area) in enumerate(curves):
        dash, mark = looks[k % len(looks)]
        lines.append(f"{mark} {labels[k]}: AUC {area:.3f}")
        hover = (
            f"{style.short(str(name), 60)}<br>%{{y:.1%}} found, %{{x:.1%}} of the others taken "
            "for it"
        )
        look = {"color": tone.ink, "width": 2, "dash": dash}
        _line(
            figure,
            np.asarray(false),
            np.asarray(true),
            str(name),
            look,
            hovertemplate=f"{hover}<extra></extra>",
        )
    place = {
        "xref": "x domain",
        "yref": "y domain",
        "xanchor": "right",
        "yanchor": "bottom",
        "align": "right",
    }
    figure.add_annotation(
        style.words("<br>".join(lines), tone.ink, name="curves", x=0.98, y=0.03, **place)
    )
    return figure


def reliability_figure(
    said: Array, share: Array, counts: Array, name: str, *, dark: bool = False
) -> go.Figure:
    """How often it was class ``name`` where the model said so with a probability: bins (b,), their
    rows as areas of marks.
    """
    rows = np.asarray(counts, dtype=float)
    ink = style.theme(dark).ink
    off = float(np.average(np.abs(np.asarray(said) - share), weights=rows)) if rows.size else 0.0
    alt = (
        f"Calibration for {name} over {int(rows.sum())} rows: shares are off by {off:.1%} on "
        "average."
    )
    figure = _shares(
        alt, f"predicted probability of {style.short(name, 16)}", "observed share", dark
    )
    size = 6 + 16 * np.sqrt(rows / max(float(rows.max(initial=1)), 1.0))
    _line(
        figure,
        np.asarray(said),
        np.asarray(share),
        name,
        {"color": ink, "width": 1},
        mode="lines+markers",
        customdata=rows,
        marker={"color": ink, "size": size},
        hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows<extra></extra>",
    )
    return figure


def residual_figure(predicted: Array, target: Array, name: str, *, dark: bool = False) -> go.Figure:
    """Target minus prediction against the prediction, (n,) each, with the line of no error."""
    tone = style.theme(dark)
    rest = np.asarray(target, dtype=float) - predicted
    figure = style.new_figure(
        (
            f"Residuals of {name} over {rest.size} rows: mean "
            f"{style.number(float(rest.mean()))}, standard deviation "
            f"{style.number(float(rest.std()))}, largest "
            f"{style.number(float(np.abs(rest).max()))}."
        ),
        dark,
        style.SMALL_HEIGHT,
        margin=style.SMALL_MARGIN,
    )
    figure.add_scatter(
        x=predicted,
        y=rest,
        mode="markers",
        marker={"color": tone.ink, "size": 6, "opacity": 0.5},
        hovertemplate="predicted %{x:.4g}, off by %{y:.4g}<extra></extra>",
    )
    figure.add_hline(y=0.0, line={"color": tone.grey, "width": 1, "dash": "dot"})
    figure.layout.xaxis = style.axis(f"predicted {style.short(name, 24)}", dark)
    figure.layout.yaxis = style.axis("target minus prediction", dark)
    return figure


def _shares(alt: str, x_title: str, y_title: str, dark: bool) -> go.Figure:
    """Two axes of shares with their diagonal."""
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=style.SMALL_MARGIN)
    line = {"color": style.theme(dark).grey, "width": 1, "dash": "dot"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
    ends = {"range": [-0.03, 1.03], "tickformat": ".0%"}
    return figure.update_layout(
        xaxis=style.axis(x_title, dark, **ends), yaxis=style.axis(y_title, dark, **ends)
    )


# Beside what it is compared with


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: ``y`` (L,) with ``error`` (L,) standard errors; ``role`` is "bound", "other",
    "train" or "test".
    """

    name: str
    y: Array
    role: str = "bound"
    error: Array | None = None


def bound_curves(
    x: Any,
    curves: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    level: float | None = None,
    level_name: str = "says nothing above",
    kind: str = "count",
    dark: bool = False,
) -> go.Figure:
    """Draw ``curves`` over ``x`` (L,) on a log scale, with the ``level`` from which on a bound is
    vacuous.

    ``kind`` of the x axis: "norm" (p from 1 to infinity), "count" (whole numbers) or "log".
    """
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    values = np.asarray(x, dtype=float)[order]
    tone = style.theme(dark)
    where = axes.norm_positions(values) if kind == "norm" else values
    shown = [np.asarray(curve.y, dtype=float)[order] for curve in curves]
    shown = [np.where(np.isfinite(y) & (y > 0), y, np.nan) for y in shown]
    every = np.concatenate([*shown, [level] if level else []])
    if not np.isfinite(every).any():
        return style.empty_figure("Nothing to draw yet. Choose other values on the left.", dark)
    figure = style.new_figure(
        _bounds_alt(values, curves, shown, x_title, level),
        dark,
        380,
        margin={"l": 60, "r": 100, "t": 14, "b": 46},
    )
    if kind == "log":
        scale = axes.logarithmic(x_title, values, axes.PAD)
    else:
        scale = (
            axes.norms(x_title, values)
            if kind == "norm"
            else axes.whole(x_title, where[0], where[-1])
        )
    up = axes.logarithmic(y_title, every, 0.08)
    figure.layout.xaxis = scale.plotly(dark)
    figure.layout.yaxis = up.plotly(dark, showgrid=True)
    if level:
        _vacuous(figure, level, up.high, f"{level_name} {style.number(level)}", dark)
    looks = {
        "bound": (tone.muted, 4),
        "other": (tone.muted, 1.5),
        "train": (tone.grey, 2),
        "test": (tone.ink, 2),
    }
    ends = []
    for curve, y in zip(curves, shown, strict=True):
        (colour, width), known = looks[curve.role], np.flatnonzero(np.isfinite(y))
        more: dict[str, Any] = {"customdata": [style.number(value) for value in values]}
        more["hovertemplate"] = (
            f"{style.short(curve.name, 40)} %{{y:.3g}} at %{{customdata}}<extra></extra>"
        )
        if curve.role == "test" or known.size == 1:
            size = 8 if where.size == 1 else 6 if where.size <= MANY_POINTS else 4
            more |= {"mode": "lines+markers", "marker": {"size": size, "color": colour}}
        if curve.error is not None:
            more["error_y"] = {
                "type": "data",
                "array": np.asarray(curve.error)[order],
                "thickness": 1,
                "width": 0,
            }
        sure = y < level if level and curve.role in ("bound", "other") else None
        _line(figure, where, y, curve.name, {"color": colour, "width": width}, sure=sure, **more)
        if known.size:
            last = float(where[known[-1]])
            at = (
                None
                if known[-1] == where.size - 1
                else float(np.log10(last))
                if scale.log
                else last
            )
            ends.append(_EndLabel(style.short(curve.name, 24), float(y[known[-1]]), colour, at))
    _label_ends(figure, ends, dark)
    return figure


def _bounds_alt(
    values: Array, curves: Sequence[Curve], shown: Sequence[Array], title: str, level: float | None
) -> str:
    ends = [(curve.name, y[np.isfinite(y)]) for curve, y in zip(curves, shown, strict=True)]
    said = style.joined(
        [f"{n} from {style.number(y[0])} to {style.number(y[-1])}" for n, y in ends if y.size]
    )
    over = f"over {title} from {style.number(values[0])} to {style.number(values[-1])}"
    more = f" A bound of {style.number(level)} or more says nothing." if level else ""
    return f"{said[:1].upper()}{said[1:]}, {over}.{more}"


def _vacuous(figure: go.Figure, level: float, top: float, text: str, dark: bool) -> None:
    """Shade what is above ``level``, and say so."""
    tone = style.theme(dark)
    figure.add_hrect(
        y0=level, y1=top, fillcolor=style.faded(tone.grey, 0.13), line_width=0, layer="below"
    )
    figure.add_hline(y=level, line={"color": tone.muted, "width": 1})
    place = {
        "x": 0.0,
        "xref": "x domain",
        "xanchor": "left",
        "xshift": 4,
        "yref": "y",
        "yanchor": "bottom",
    }
    figure.add_annotation(style.words(text, tone.muted, y=float(np.log10(level)), **place))


def comparison_plot(
    comparison: Any,
    part: slice,
    *,
    y_title: str,
    row_name: str,
    ordered: bool = True,
    floor: float | None = None,
    marks: Sequence[tuple[str, str]] | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw the columns ``part`` of a comparison over its rows: ours filled, the reference hollow,
    with standard errors.

    ``comparison`` has ``rows``, ``columns``, and (rows, columns) arrays ``ours``, ``ours_error``,
    ``reference`` and ``reference_error``. Lines join the rows where they follow an order, else rows
    stand one below the other; ``floor`` is the error that no method can beat; ``marks`` are
    (series, tick) of every row, and lines end where a series does.
    """
    marks = marks or [("", row) for row in comparison.rows]
    columns = comparison.columns[part]
    cuts = np.flatnonzero([before[0] != after[0] for before, after in pairwise(marks)]) + 1
    places = np.arange(float(len(marks))) + GAP * np.searchsorted(
        cuts, np.arange(len(marks)), side="right"
    )
    height = 400 if ordered else 110 + max(MARK_HEIGHT * len(columns), ROW_HEIGHT) * len(marks)
    margin = {"l": 52, "r": 16, "t": 48, "b": 48}
    figure = style.new_figure(
        _comparison_alt(comparison, part, y_title),
        dark,
        height,
        showlegend=True,
        legend=LEGEND,
        margin=margin,
    )
    hues = [style.readable(hue, dark) for hue in style.family_hues().values()]
    for k, column in enumerate(columns):
        hue = hues[k] if k < len(hues) else style.theme(dark).grey
        for who, marker, shift in (
            ("ours", "circle", -SHIFT),
            ("reference", "diamond-open", SHIFT),
        ):
            aside = 0.0 if ordered else SPREAD * ((k + 0.5) / len(columns) - 0.5)
            values, errors = (
                getattr(comparison, who + more)[:, part][:, k] for more in ("", "_error")
            )
            at, values, errors = (
                np.insert(one, cuts, np.nan) for one in (places + aside + shift, values, errors)
            )
            bars = {"array": np.nan_to_num(errors), "thickness": 1.2, "width": 3, "color": hue}
            value, across = ("y", "x") if ordered else ("x", "y")
            figure.add_scatter(
                **{
                    value: values,
                    across: at,
                    f"error_{value}": bars if np.nan_to_num(errors).any() else None,
                },
                name=style.short(column, 30) + (", reference" if shift > 0 else ""),
                showlegend=shift < 0,
                mode="lines+markers" if ordered else "markers",
                marker={"size": 8, "symbol": marker, "color": hue},
                line={
                    "color": hue,
                    "width": 1 if shift > 0 else 2,
                    "dash": "dash" if shift > 0 else "solid",
                },
                customdata=np.insert(np.array(comparison.rows, dtype=object), cuts, "").tolist(),
                hovertemplate=(
                    f"{style.short(column, 40)}, {who}: %{{{value}:.3g}} at "
                    "%{customdata}<extra></extra>"
                ),
            )
    ticks = {
        "tickvals": places,
        "ticktext": style.shorts([tick for _, tick in marks], 26 if ordered else 48),
    }
    upright = style.axis(y_title, dark, rangemode="tozero" if ordered else "normal")
    along = style.axis(
        row_name, dark, showgrid=not ordered, autorange=True if ordered else "reversed", **ticks
    )
    figure.layout.xaxis, figure.layout.yaxis = (along, upright) if ordered else (upright, along)
    if floor is not None:
        line = {"color": style.theme(dark).grey, "width": 1, "dash": "dot"}
        draw = figure.add_hline if ordered else figure.add_vline
        said = {"text": "Bayes error", "font": {"color": style.theme(dark).muted}}
        draw(floor, line=line, annotation=said, annotation_position="top left")
    for name in dict.fromkeys(name for name, _ in marks if len(cuts)):
        middle = float(places[[one == name for one, _ in marks]].mean())
        place = {"x": middle, "y": 1.0, "yref": "paper", "yanchor": "top"}
        figure.add_annotation(style.words(f"<b>{escape(name)}</b>", style.theme(dark).ink, **place))
    return figure


def _comparison_alt(comparison: Any, part: slice, title: str) -> str:
    def cell(row: str, ours: float, theirs: float) -> str:
        both = ((ours, ""), (theirs, "reference "))
        known = [f"{who}{style.number(value)}" for value, who in both if np.isfinite(value)]
        return f"{row} {' against '.join(known) or 'unknown'}"

    columns = [
        f"{comparison.columns[k]}: "
        + ", ".join(map(cell, comparison.rows, comparison.ours[:, k], comparison.reference[:, k]))
        for k in range(len(comparison.columns))[part]
    ]
    return f"{title[:1].upper()}{title[1:]}, ours and the reference. {'; '.join(columns)}."
