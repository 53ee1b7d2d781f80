"""Static lines: along a path, over iterations, and measurements beside what they are compared with.

Figures of a path read its fields alone: ``param``, ``values`` (L,), ``weights`` (L, M),
``statuses``, ``train_score``, ``val_score``, ``score_name``, ``kernel_names`` and
``kernel_families``. A line is solid between two certain points (solved to tolerance, or a bound
that is not vacuous) and dashed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices, Mask
from mklcore.figures import axes, captions, player_data, style
from mklcore.figures.axes import Scale, norm_positions
from mklcore.figures.style import Figure, Json, Texts, floats

NO_PATH = "No path yet. Choose a range and press Compute."
OTHER_KERNELS = "the other kernels"
MARK = 5  # pixels of a measured point of a bound's curve
DASHES = {"solid": "———", "dash": "– – –", "dot": "· · ·", "dashdot": "–·–·", "longdash": "—— ——"}
# The names of dashes in plotly, by their lengths in players.
DASH_NAMES = {(): "solid", (6, 4): "dash", (2, 3): "dot"}
# Units of a comparison are the distance of two rows.
SHIFT = 0.035  # our marks are this far to the left of the row, those of the reference to the right
SERIES_GAP = 0.6  # additional room between two series
SPREAD = 0.7  # how much of the distance the markers of one row take
# Pixels of a comparison whose rows stand one below the other, at least.
ROW_HEIGHT = 34
MARK_HEIGHT = 14
LABEL_GAP = 14  # least distance of two labels at line ends, in pixels
SYMBOLS = tuple(style.GLYPHS)


# Along a path


def weight_path(
    path: Any,
    index: int | None = None,
    *,
    dark: bool = False,
) -> Figure:
    """Kernel weights θ along the path, one line per kernel, with a cursor at the point ``index``.

    The six kernels with the largest weights anywhere on the path have colours and labels; the
    others are grey. Raises ``ParameterError`` for an index outside the path.
    """
    if len(path.values) == 0:
        return style.empty_figure(NO_PATH, dark)
    return _static(path, player_data.weights_chart(path, dark), index, dark)


def score_path(
    path: Any,
    index: int | None = None,
    *,
    references: Sequence[tuple[str, float]] = (),
    dark: bool = False,
) -> Figure:
    """Training (grey) and validation scores along the path, with a cursor at ``index``.

    ``references`` are scores of other models by name, drawn as dotted lines; one that is far away
    is written at the end of the scale instead.
    """
    if len(path.values) == 0:
        return style.empty_figure(NO_PATH, dark)
    drawn = player_data.scores_chart(path, dark, references=references)
    if drawn is None:
        return style.empty_figure("No score was measured on this path.", dark)
    return _static(path, drawn, index, dark)


def _static(path: Any, drawn: Json, index: int | None, dark: bool) -> Figure:
    """The first panel of a player of ``path`` as a static figure, with its cursor at a point."""
    panel = drawn["panels"][0]
    positions = norm_positions(path.values)
    order = np.argsort(positions, kind="stable")
    at = int(order[-1]) if index is None else captions.checked(path, index)
    alt = f"{drawn['alt']} {drawn['said'][at]}"
    figure = style.new_figure(alt, dark, margin={"l": 52, "r": 130, "t": 16})
    solved = captions.solved(path)[order]
    symbol = captions.symbol(path.param)
    labelled = [line for line in panel["lines"] if "label" in line]
    groups = [(line["name"], [line]) for line in labelled]
    # Lines without a label are one trace: hundreds of traces would make plotly slow.
    others = [line for line in panel["lines"] if "label" not in line]
    if others:
        groups.insert(0, (OTHER_KERNELS, others))
    for name, lines in groups:
        first = lines[0]
        dash = DASH_NAMES[tuple(first.get("dash", ()))]
        names = [style.short(line["name"], 60) for line in lines]
        _line(
            figure,
            positions[order],
            np.array([line["ys"] for line in lines], dtype=float).T[order],
            name,
            {"color": first["colour"], "width": first["width"], "dash": dash},
            # A dotted line is another model, and its score has no certificate.
            certain=None if dash == "dot" else solved,
            text=np.repeat(names, len(order) + 1).tolist()[:-1],
            hovertemplate=f"%{{text}}<br>%{{y:.3g}} at {symbol} = %{{x:.3g}}<extra></extra>",
        )
    annotations = []
    for line in labelled:
        label = style.short(line["label"], 40)
        annotations.append(_end_label(label, line["label_colour"], line["label_at"]))
    figure.layout.annotations = annotations
    y = panel["y"]
    span = y["high"] - y["low"]
    figure.update_xaxes(axes.parameter_axis(path).plotly())
    figure.update_yaxes(
        title=y["title"] or panel["title"],
        range=[y["low"] - 0.01 * span, y["high"]],
        zeroline=True,
        tickvals=[y["low"] + place * span for place, _ in y["ticks"]],
        ticktext=[text for _, text in y["ticks"]],
    )
    if index is not None:
        _add_cursor(figure, positions[at], dark)
    return figure


def _add_cursor(figure: Figure, place: float, dark: bool) -> None:
    line = {"color": style.theme(dark).ink, "width": 1.5}
    figure.add_vline(float(place), name="cursor", line=line)


def choice_band(
    path: Any, index: int | None = None, *, best: Any = None, dark: bool = False
) -> Figure:
    """The objective of choices of s kernels along a path over s, and the bound of the best choice.

    The best choice of as many kernels lies in the band between the two. Filled marks are proven
    best; diamonds are the values of ``best``, a path of the best k kernels for the same problem,
    whose bounds count as well.
    """
    gaps = floats(path.dual_gap)
    known = np.isfinite(gaps)
    if not known.any():
        return style.empty_figure("This method has no bound on the best choice.", dark)
    order = np.flatnonzero(known)[np.argsort(np.asarray(path.values)[known], kind="stable")]
    sizes = floats(path.values)[order]
    values = floats(path.objective)[order]
    bounds = values - gaps[order]
    if best is not None:
        proved = dict(zip(best.n_nonzero, best.objective - best.dual_gap, strict=True))
        counts = np.asarray(path.n_nonzero)[order]
        bounds = np.maximum(bounds, [proved.get(count, -np.inf) for count in counts])
    relative_gaps = (values - bounds) / np.where(values > 0.0, values, 1.0)
    is_proven = relative_gaps <= captions.PROVEN
    alt = (
        f"Objective and bound over s from {style.number(sizes[0])} to {style.number(sizes[-1])}: "
        f"the best choice is at most {style.percent(float(relative_gaps.max()))} below; "
        f"{int(is_proven.sum())} of {style.counted(len(sizes), 'choice')} proven best."
    )
    margin = {"l": 56, "r": 24, "t": 16}
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=margin)
    tone = style.theme(dark)
    figure.add_scatter(
        x=np.append(sizes, sizes[::-1]),
        y=np.append(values, bounds[::-1]),
        fill="toself",
        fillcolor=style.faded(tone.grey, 0.3),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name="the best is in here",
    )
    hover = "%{y:.4g} for %{x} kernels<extra></extra>"
    dashed = {"color": tone.muted, "width": 1.5, "dash": "dash"}
    _line(figure, sizes, bounds, "bound", dashed, hovertemplate=hover)
    symbols = np.where(is_proven, "circle", "circle-open").tolist()
    _line(
        figure,
        sizes,
        values,
        "value",
        {"color": tone.ink, "width": 2},
        mode="lines+markers",
        marker={"symbol": symbols, "size": 8, "color": tone.ink},
        hovertemplate=hover,
    )
    if best is not None:
        is_best = np.asarray(best.relative_gap) <= captions.PROVEN
        diamonds = np.where(is_best, "diamond", "diamond-open").tolist()
        figure.add_scatter(
            x=best.n_nonzero,
            y=best.objective,
            mode="markers",
            name="best found",
            marker={"symbol": diamonds, "size": 13, "color": tone.ink},
            hovertemplate="best found: %{y:.4g} for %{x} kernels<extra></extra>",
        )
    figure.update_xaxes(axes.whole("kernels s", sizes[0], sizes[-1]).plotly())
    figure.update_yaxes(title="objective")
    if index is not None:
        _add_cursor(figure, path.values[captions.checked(path, index)], dark)
    return figure


def _line(
    figure: Figure,
    x: Array,
    y: Array,
    name: str,
    line: Json,
    *,
    certain: Mask | None = None,
    **options: Any,
) -> None:
    """Add lines of one look over ``x`` (L,), with ``y`` (L,) or (L, K) for several of them.

    They are dashed beside points that are not ``certain`` (L,), and one trace with gaps between
    them.
    """
    table = y[:, None] if y.ndim == 1 else y
    solid = np.ones(len(x), dtype=bool) if certain is None else certain
    uncertain = ~solid
    dashed = uncertain.copy()
    dashed[:-1] |= uncertain[1:]
    dashed[1:] |= uncertain[:-1]
    positions = np.tile(np.append(x, np.nan), table.shape[1])[:-1]
    options = {"mode": "lines" if len(x) > 1 else "markers", **options}
    for dash, drawn in ((line.get("dash", "solid"), solid), ("dash", dashed)):
        values = np.where(drawn[:, None], table, np.nan)
        if np.isfinite(values).any():
            with_gaps = np.pad(values, ((0, 1), (0, 0)), constant_values=np.nan)
            heights = with_gaps.T.ravel()[:-1]
            look = {**line, "dash": dash}
            figure.add_scatter(x=positions, y=heights, name=name, line=look, **options)


# The label of a line: its text, the height and the colour of its end, and the place of that end
# unless it is at the right edge. Places are in units of the axis, logarithms on a logarithmic one.
_EndLabel = tuple[str, float, str, float | None]


def _label_ends(figure: Figure, labels: Sequence[_EndLabel], dark: bool) -> None:
    """Write labels to the right of line ends on a logarithmic axis, apart from each other."""
    margin = figure.layout.margin
    low, high = figure.layout.yaxis.range
    gap = LABEL_GAP / (figure.layout.height - margin.t - margin.b)
    ends = [(np.log10(y) - low) / (high - low) for _, y, *_ in labels]
    places = style.spread(ends, gap, 0.0, 1.0).tolist()
    annotations = []
    for (text, _, colour, x), place in zip(labels, places, strict=True):
        readable = style.readable(colour, dark, style.TEXT_CONTRAST)
        annotations.append(_end_label(text, readable, place, x))
    # All at once: plotly validates every annotation again when one is added.
    figure.layout.annotations += tuple(annotations)


def _end_label(
    text: str,
    colour: str,
    y: float,
    x: float | None = None,
) -> Json:
    """A label at the share ``y`` of the height, to the right of ``x`` or of the right edge."""
    place = {"x": 1.0, "xref": "x domain"} if x is None else {"x": x, "xref": "x"}
    place |= {"xanchor": "left", "xshift": 6, "yref": "y domain", "yanchor": "middle"}
    return style.annotation(text, colour, name="end label", y=y, **place)


# One fit, one matrix, one model


def gap_convergence(history: Sequence[Any], *, dark: bool = False) -> Figure:
    """Relative duality gap, as a percentage of the optimum, after every iteration of one fit.

    ``history`` holds records with ``iteration``, ``relative_gap`` and ``solves``.
    """
    gaps = np.array([record.relative_gap for record in history], dtype=float)
    finite = gaps[np.isfinite(gaps)]
    if not finite.size:
        return style.empty_figure(
            "This method has no certificate, so there is no gap to follow.", dark
        )
    last = history[-1]
    alt = (
        f"Relative duality gap, on a logarithmic axis: {style.percent(finite[0])} of the "
        f"optimum at the start and {style.percent(finite[-1])} after "
        f"{style.counted(last.iteration, 'iteration')} and "
        f"{style.counted(last.solves, 'machine solve')}."
    )
    percents = 100 * np.maximum(gaps, np.finfo(float).eps)
    figure = style.new_figure(alt, dark, margin={"l": 56, "r": 72, "t": 16})
    _line(
        figure,
        np.array([record.iteration for record in history], dtype=float),
        percents,
        "relative gap",
        {"color": style.theme(dark).ink, "width": 2},
        mode="lines+markers",
        marker={"size": 5},
        hovertemplate="iteration %{x}: %{y:.2g} % of the optimum<extra></extra>",
    )
    y = axes.logarithmic("gap, % of the optimum", percents, 0.06)
    figure.update_xaxes(title="iteration", tickformat="d", rangemode="tozero")
    figure.update_yaxes(y.plotly(showgrid=True))
    return figure


def eigenvalue_decay(
    values: Any,
    names: Texts,
    *,
    colours: Texts | None = None,
    dark: bool = False,
) -> Figure:
    """Eigenvalues of one Gram matrix (n,) or several (M, n), largest first, on a logarithmic axis.

    Eigenvalues below n machine epsilons of the largest are numerically zero and left out; the
    alternative text counts the others. ``colours`` are those of the kernels in their dictionary
    (``kernel_colours``); without them, the first six have distinct colours and the others are grey.
    """
    table = np.atleast_2d(floats(values))
    spectra = style.shaped("Spectra", table, len(names), table.shape[1])
    spectra = np.sort(spectra, axis=1)[:, ::-1]
    if colours is None:
        colours = style.distinct_colours(-np.arange(float(len(names))), dark)
    positive = []
    for spectrum in spectra:
        zero = spectrum.size * np.finfo(float).eps * max(float(spectrum[0]), 0.0)
        positive.append(spectrum[spectrum > zero])
    sentences = []
    for name, kept in zip(names[: style.N_NAMED], positive, strict=False):
        count = style.counted(kept.size, "positive eigenvalue")
        sentences.append(f"{name} has {count} of {table.shape[1]}.")
    alt = "Eigenvalue decay on a logarithmic axis. " + " ".join(sentences)
    figure = style.new_figure(alt, dark, margin={"l": 56, "r": 120, "t": 16})
    ends: list[_EndLabel] = []
    for name, spectrum, colour in zip(names, positive, colours, strict=True):
        hover = f"{style.short(name, 60)}<br>eigenvalue %{{x}}: %{{y:.3g}}<extra></extra>"
        ranks = np.arange(1.0, spectrum.size + 1)
        line = {"color": colour, "width": 2}
        _line(figure, ranks, spectrum, name, line, hovertemplate=hover)
        if spectrum.size:
            last = float(spectrum[-1])
            ends.append((style.short(name), last, colour, float(spectrum.size)))
    y = axes.logarithmic("eigenvalue", np.concatenate(positive), axes.PAD)
    figure.update_xaxes(title="rank of the eigenvalue")
    figure.update_yaxes(y.plotly(showgrid=True))
    _label_ends(figure, ends[: style.N_NAMED], dark)
    return figure


def roc_figure(
    curves: Sequence[tuple[str, Array, Array, float]],
    *,
    dark: bool = False,
) -> Figure:
    """ROC curves: the true positive rate against the false positive rate.

    ``curves`` are (name, false positive rates, true positive rates, area under the curve).
    """
    ink = style.theme(dark).ink
    areas = "; ".join(f"{name} {area:.3f}" for name, *_, area in curves)
    alt = f"ROC curves, area under each: {areas}."
    figure = _shares(alt, "false positive rate", "true positive rate", dark)
    labels = style.shorts([str(name) for name, *_ in curves], 16)
    dashes = list(DASHES.items())
    legend = []
    for k, (name, false, true, area) in enumerate(curves):
        dash, sign = dashes[k % len(dashes)]
        legend.append(f"{sign} {labels[k]}: AUC {area:.3f}")
        rates = "%{y:.1%} found, %{x:.1%} of the others mistaken for it"
        _line(
            figure,
            np.asarray(false),
            np.asarray(true),
            str(name),
            {"color": ink, "width": 2, "dash": dash},
            hovertemplate=f"{style.short(str(name), 60)}<br>{rates}<extra></extra>",
        )
    place = {"x": 0.98, "y": 0.03, "xref": "x domain", "yref": "y domain", "name": "curves"}
    place |= {"xanchor": "right", "yanchor": "bottom", "align": "right"}
    figure.add_annotation(style.annotation("<br>".join(legend), ink, **place))
    return figure


def reliability_figure(
    predicted: Array, share: Array, counts: Array, name: str, *, dark: bool = False
) -> Figure:
    """How often rows belonged to the class ``name``, against the probability that was predicted.

    ``predicted`` and ``share`` (b,) are means over bins; the areas of marks are the ``counts`` of
    their rows.
    """
    rows = floats(counts)
    ink = style.theme(dark).ink
    errors = np.abs(np.asarray(predicted) - share)
    mean_error = float(np.average(errors, weights=rows)) if rows.size else 0.0
    alt = (
        f"Calibration for {name} over {int(rows.sum())} rows: shares are off by {mean_error:.1%} "
        "on average."
    )
    title = f"predicted probability of {style.short(name, 16)}"
    figure = _shares(alt, title, "observed share", dark)
    sizes = 6 + 16 * np.sqrt(rows / max(float(rows.max(initial=1)), 1.0))
    _line(
        figure,
        np.asarray(predicted),
        np.asarray(share),
        name,
        {"color": ink, "width": 1},
        mode="lines+markers",
        customdata=rows,
        marker={"color": ink, "size": sizes},
        hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows<extra></extra>",
    )
    return figure


def _shares(alt: str, x_title: str, y_title: str, dark: bool) -> Figure:
    """An empty figure with two axes of shares and their diagonal."""
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=style.SMALL_MARGIN)
    line = {"color": style.theme(dark).grey, "width": 1, "dash": "dot"}
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line=line,
        hoverinfo="skip",
    )
    ends = {"range": [-0.03, 1.03], "tickformat": ".0%"}
    figure.update_xaxes(title=x_title, **ends)
    figure.update_yaxes(title=y_title, **ends)
    return figure


MOST_MARKS = 1000  # rows that have a mark of their own


def residual_figure(
    predicted: Array,
    target: Array,
    name: str,
    *,
    dark: bool = False,
) -> Figure:
    """Target minus prediction against the prediction, (n,) each, with a line where both agree.

    Of many rows ``MOST_MARKS`` have a mark, drawn at random: a browser takes seconds for more. The
    figures in the alternative text are those of all rows.
    """
    tone = style.theme(dark)
    residuals = floats(target) - predicted
    mean = style.number(float(residuals.mean()))
    deviation = style.number(float(residuals.std()))
    largest = style.number(float(np.abs(residuals).max()))
    alt = (
        f"Residuals of {name} over {residuals.size} rows: mean {mean}, standard deviation "
        f"{deviation}, largest {largest}."
    )
    figure = style.new_figure(alt, dark, style.SMALL_HEIGHT, margin=style.SMALL_MARGIN)
    n_rows = residuals.size
    marked = np.arange(n_rows)
    more = ""
    if n_rows > MOST_MARKS:
        marked = np.random.default_rng(0).choice(n_rows, MOST_MARKS, replace=False)
        more = f", for {MOST_MARKS:,} of {n_rows:,} rows"
    figure.add_scatter(
        x=np.asarray(predicted)[marked],
        y=residuals[marked],
        mode="markers",
        marker={"color": tone.ink, "size": 6, "opacity": 0.5},
        hovertemplate="predicted %{x:.4g}, off by %{y:.4g}<extra></extra>",
    )
    figure.add_hline(y=0.0, line={"color": tone.grey, "width": 1, "dash": "dot"})
    figure.update_xaxes(title=f"predicted {style.short(name, 24)}{more}")
    figure.update_yaxes(title="target minus prediction")
    return figure


# Bounds


@dataclass(frozen=True, eq=False)
class Curve:
    """One line ``y`` (L,), with standard errors ``error`` (L,) where they are known.

    ``role`` is "bound", "other" (a bound of less interest), "train" or "test".
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
) -> Figure:
    """Draw ``curves`` over ``x`` (L,) on a log scale; bounds above ``level`` are vacuous.

    ``kind`` of the x axis: "norm" (p from 1 to infinity), "count" (whole numbers) or "log".
    """
    order = np.argsort(floats(x), kind="stable")
    values = floats(x)[order]
    heights = []
    sentences = []
    for curve in curves:
        y = floats(curve.y)[order]
        y = np.where(np.isfinite(y) & (y > 0), y, np.nan)
        heights.append(y)
        finite = y[np.isfinite(y)]
        if finite.size:
            ends = f"{style.number(finite[0])} to {style.number(finite[-1])}"
            sentences.append(f"{curve.name} from {ends}")
    extent = np.concatenate([*heights, [level] if level else []])
    if not np.isfinite(extent).any():
        return style.empty_figure("Nothing to draw yet. Choose other values on the left.", dark)
    listed = style.joined(sentences)
    along = f"{x_title} from {style.number(values[0])} to {style.number(values[-1])}"
    alt = f"{listed[:1].upper()}{listed[1:]}, over {along}."
    if level:
        alt += f" A bound of {style.number(level)} or more says nothing."
    margin = {"l": 60, "r": 100, "t": 14, "b": 46}
    figure = style.new_figure(alt, dark, 380, margin=margin)
    positions, scale = _bound_axis(kind, x_title, values)
    y_scale = axes.logarithmic(y_title, extent, 0.08)
    figure.update_xaxes(scale.plotly())
    figure.update_yaxes(y_scale.plotly(showgrid=True))
    if level:
        text = f"{level_name} {style.number(level)}"
        _shade_vacuous(figure, level, y_scale.high, text, dark)
    tone = style.theme(dark)
    colours = {"train": tone.grey, "test": tone.ink}
    widths = {"bound": 4, "other": 1.5}
    labels: list[_EndLabel] = []
    for curve, y in zip(curves, heights, strict=True):
        drawn = np.flatnonzero(np.isfinite(y))
        colour = colours.get(curve.role, tone.muted)
        options: Json = {
            "customdata": [style.number(value) for value in values],
            "hovertemplate": (
                f"{style.short(curve.name, 40)} %{{y:.3g}} at %{{customdata}}<extra></extra>"
            ),
        }
        if curve.role == "test" or drawn.size == 1:
            options |= {"mode": "lines+markers", "marker": {"size": MARK, "color": colour}}
        if curve.error is not None:
            errors = np.asarray(curve.error)[order]
            options["error_y"] = {"type": "data", "array": errors, "thickness": 1, "width": 0}
        certain = y < level if level and curve.role in ("bound", "other") else None
        line = {"color": colour, "width": widths.get(curve.role, 2)}
        _line(figure, positions, y, curve.name, line, certain=certain, **options)
        if drawn.size:
            last = drawn[-1]
            end = None
            if last < len(values) - 1:
                end = float(np.log10(positions[last]) if scale.log else positions[last])
            labels.append((style.short(curve.name, 24), float(y[last]), colour, end))
    _label_ends(figure, labels, dark)
    return figure


def _bound_axis(kind: str, title: str, values: Array) -> tuple[Array, Scale]:
    """Where rising ``values`` are drawn, and their axis."""
    if kind == "norm":
        return axes.norm_positions(values), axes.norms(title, values)
    if kind == "log":
        return values, axes.logarithmic(title, values, axes.PAD)
    return values, axes.whole(title, float(values[0]), float(values[-1]))


def _shade_vacuous(
    figure: Figure,
    level: float,
    top: float,
    text: str,
    dark: bool,
) -> None:
    """Shade everything above ``level``, with a ``text`` at its lower edge."""
    tone = style.theme(dark)
    shade = style.faded(tone.grey, 0.13)
    figure.add_hrect(y0=level, y1=top, fillcolor=shade, line_width=0, layer="below")
    figure.add_hline(y=level, line={"color": tone.muted, "width": 1})
    place = {"x": 0.0, "xref": "x domain", "xanchor": "left", "xshift": 4}
    place |= {"y": float(np.log10(level)), "yref": "y", "yanchor": "bottom"}
    figure.add_annotation(style.annotation(text, tone.muted, **place))


# Experiments


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
) -> Figure:
    """Draw columns of a comparison over its rows: ours filled, the reference hollow, with errors.

    ``comparison`` has ``rows``, ``columns``, and (rows, columns) arrays ``ours``, ``ours_error``,
    ``reference`` and ``reference_error``, of which the columns ``part`` are drawn. Lines join the
    rows where they are ``ordered``; otherwise rows stand one below the other. ``floor`` is the
    error that no method can beat. ``marks`` are (series, tick) for every row, and lines end where a
    series ends.
    """
    marks = marks or [("", row) for row in comparison.rows]
    series = np.array([name for name, _ in marks])
    rows = np.arange(len(marks))
    breaks = rows[1:][series[1:] != series[:-1]]
    places = rows + SERIES_GAP * np.searchsorted(breaks, rows, side="right")
    columns = range(len(comparison.columns))[part]
    height = 400
    if not ordered:
        height = 110 + max(MARK_HEIGHT * len(columns), ROW_HEIGHT) * len(marks)
    figure = style.new_figure(
        _comparison_alt(comparison, columns, y_title),
        dark,
        height,
        showlegend=True,
        legend=style.LEGEND,
        margin={"l": 52, "t": 48, "b": 48},
    )
    tone = style.theme(dark)
    hues = [style.readable(hue, dark) for hue in style.family_hues().values()]
    hues += [tone.grey] * len(columns)
    for k, column in enumerate(columns):
        # Rows that stand one below the other have a line for each column.
        offset = 0.0 if ordered else SPREAD * ((k + 0.5) / len(columns) - 0.5)
        _add_comparison(figure, comparison, column, places + offset, breaks, ordered, hues[k])
    ticks = {
        "tickvals": places,
        "ticktext": style.shorts([tick for _, tick in marks], 26 if ordered else 48),
    }
    if ordered:
        figure.update_xaxes(title=row_name, showgrid=False, **ticks)
        figure.update_yaxes(title=y_title, rangemode="tozero")
    else:
        figure.update_xaxes(title=y_title)
        figure.update_yaxes(title=row_name, autorange="reversed", **ticks)
    if floor is not None:
        line = {"color": tone.grey, "width": 1, "dash": "dot"}
        note = {"text": "Bayes error", "font": {"color": tone.muted}}
        draw = figure.add_hline if ordered else figure.add_vline
        draw(floor, line=line, annotation=note, annotation_position="top left")
    for name in dict.fromkeys(series.tolist()) if len(breaks) else ():
        middle = float(places[series == name].mean())
        place = {"x": middle, "y": 1.0, "yref": "paper", "yanchor": "top"}
        figure.add_annotation(style.annotation(f"<b>{escape(name)}</b>", tone.ink, **place))
    return figure


def _add_comparison(
    figure: Figure,
    comparison: Any,
    column: int,
    places: Array,
    breaks: Indices,
    ordered: bool,
    hue: str,
) -> None:
    """Draw one column of a comparison, ours and the reference, at the ``places`` of its rows.

    A gap in the values at the ``breaks`` ends the line of a series.
    """
    name = comparison.columns[column]
    rows = np.insert(np.array(comparison.rows, dtype=object), breaks, "").tolist()
    value_axis, row_axis = ("y", "x") if ordered else ("x", "y")
    for source, symbol, dash, width, shift in (
        ("ours", "circle", "solid", 2, -SHIFT),
        ("reference", "diamond-open", "dash", 1, SHIFT),
    ):
        errors = getattr(comparison, f"{source}_error")[:, column]
        errors = np.nan_to_num(np.insert(errors, breaks, np.nan))
        bars = {"array": errors, "thickness": 1.2, "width": 3, "color": hue}
        coordinates = {
            value_axis: np.insert(getattr(comparison, source)[:, column], breaks, np.nan),
            row_axis: np.insert(places + shift, breaks, np.nan),
            f"error_{value_axis}": bars if errors.any() else None,
        }
        is_ours = source == "ours"
        figure.add_scatter(
            **coordinates,
            name=style.short(name, 30) + ("" if is_ours else ", reference"),
            showlegend=is_ours,
            mode="lines+markers" if ordered else "markers",
            marker={"size": 8, "symbol": symbol, "color": hue},
            line={"color": hue, "width": width, "dash": dash},
            customdata=rows,
            hovertemplate=(
                f"{style.short(name, 40)}, {source}: %{{{value_axis}:.3g}} at "
                "%{customdata}<extra></extra>"
            ),
        )


def _comparison_alt(comparison: Any, columns: Sequence[int], title: str) -> str:
    sentences = []
    for k in columns:
        cells = []
        pairs = zip(
            comparison.ours[:, k],
            comparison.reference[:, k],
            strict=True,
        )
        for row, (ours, reference) in zip(comparison.rows, pairs, strict=True):
            values = [style.number(ours)] if np.isfinite(ours) else []
            if np.isfinite(reference):
                values.append(f"reference {style.number(reference)}")
            cells.append(f"{row} {' against '.join(values) or 'unknown'}")
        sentences.append(f"{comparison.columns[k]}: {', '.join(cells)}")
    return f"{title[:1].upper()}{title[1:]}, ours and the reference. {'; '.join(sentences)}."


def agreement_plot(
    comparison: Any,
    part: slice,
    *,
    title: str,
    dark: bool = False,
) -> Figure:
    """Draw the columns ``part`` of a comparison as one dot per cell, the reference across and ours
    upwards, each with its standard error, and the diagonal where both are the same.

    ``comparison`` as for ``comparison_plot``. Both axes are logarithmic where the numbers are above
    0 and differ by more than a factor of 20.
    """
    both = np.stack([comparison.reference[:, part], comparison.ours[:, part]])
    known = np.isfinite(both).all(axis=0)
    values = both[:, known]
    if not values.size:
        return style.empty_figure("No cell has a number of ours and of the reference.", dark)
    columns = comparison.columns[part]
    apart = np.where(
        known,
        np.abs(both[1] - both[0]),
        -1.0,
    )
    row, column = np.unravel_index(int(np.argmax(apart)), apart.shape)
    reference, ours = map(style.number, both[:, row, column])
    alt = (
        f"{title[:1].upper()}{title[1:]}: ours against the reference in {known.sum()} cells, with "
        f"the diagonal where both are the same. The farthest from it is "
        f"{columns[column]} at {comparison.rows[row]}: ours {ours}, reference {reference}."
    )
    margin = {"l": 60, "t": 48, "b": 52}
    figure = style.new_figure(alt, dark, 430, showlegend=True, legend=style.LEGEND, margin=margin)
    figure.add_scatter(
        x=[values.min(), values.max()],
        y=[values.min(), values.max()],
        mode="lines",
        line={"color": style.theme(dark).grey, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    errors = np.nan_to_num(
        [comparison.reference_error[:, part], comparison.ours_error[:, part]],
    )
    hues = style.six_hues(dark)
    for k, name in enumerate(columns):
        kept = known[:, k]
        if not kept.any():
            continue
        hue = hues[k % len(hues)]
        bars = {"thickness": 1, "width": 0, "color": style.faded(hue, 0.6)}
        figure.add_scatter(
            x=both[0, kept, k],
            y=both[1, kept, k],
            error_x=bars | {"array": errors[0, kept, k]},
            error_y=bars | {"array": errors[1, kept, k]},
            name=style.short(name, 30),
            mode="markers",
            marker={"size": 8, "symbol": SYMBOLS[k % len(SYMBOLS)], "color": hue},
            customdata=np.array(comparison.rows, dtype=object)[kept].tolist(),
            hovertemplate=f"{style.short(name, 40)} at %{{customdata}}: ours %{{y:.3g}}, "
            "reference %{x:.3g}<extra></extra>",
        )
    is_wide = values.min() > 0 and values.max() > 20.0 * values.min()
    kind = {"type": "log"} if is_wide else {}
    figure.update_xaxes(title=f"reference: {title}", **kind)
    figure.update_yaxes(title=f"ours: {title}", **kind)
    return figure
