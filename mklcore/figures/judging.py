"""How right a model is on rows it has not seen: confusion matrix, ROC curve, calibration, residuals against
prediction.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.graph_objects import go

HEIGHT = 300
MOST_NUMBERS = 12  # classes up to which every cell carries its number
DEEPEST = 0.6  # of the grey of a cell, on which its number can still be read


def confusion_figure(counts: Array, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Rows of each class (down) by the class the model says (across): ``counts`` (k, k), shades by share of the row."""
    table = np.asarray(counts, dtype=float)
    if table.shape != (len(names), len(names)):
        raise ParameterError(f"Counts must be ({len(names)}, {len(names)}) for {len(names)} names; got {table.shape}.")
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    called = [html.escape(style.short(str(name), 14)) for name in names]
    right = float(np.trace(table)) / max(float(table.sum()), 1.0)
    worst = int(np.argmin(np.diag(share)))
    alt = (
        f"Confusion matrix over {int(table.sum())} rows: {right:.1%} on the diagonal; the class found least often is "
        f"{names[worst]}, {share[worst, worst]:.1%} of its {int(table[worst].sum())} rows."
    )
    figure = style.new_figure(alt, dark, HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 40})
    tone = style.theme(dark)
    ticks = list(range(len(called)))  # by place: two long names may be cut to the same text
    figure.add_heatmap(
        z=share,
        x=ticks,
        y=ticks,
        zmin=0.0,
        zmax=1.0,
        showscale=False,
        customdata=table,
        colorscale=[[0.0, tone.grid], [1.0, style.faded(tone.grey, DEEPEST)]],
        xgap=2,
        ygap=2,
        text=[[f"{int(n)}" for n in row] for row in table] if len(called) <= MOST_NUMBERS else None,
        texttemplate="%{text}",
        textfont={"color": tone.ink},
        hovertemplate="%{customdata:.0f} rows, %{z:.1%} of their class<extra></extra>",
    )
    named = {"tickvals": ticks, "ticktext": called, "showgrid": False, "automargin": True}
    figure.layout.xaxis = style.axis("predicted class", dark, **named)
    figure.update_yaxes(style.axis("true class", dark, autorange="reversed", **named), title_standoff=14)
    return figure


def roc_figure(curves: Sequence[tuple[str, Array, Array, float]], *, dark: bool = False) -> go.Figure:
    """Share of a class that is found against share of the others taken for it; ``curves`` (name, false, true, AUC)."""
    tone = style.theme(dark)
    areas = "; ".join(f"{name} {area:.3f}" for name, _, _, area in curves)
    figure = style.new_figure(
        f"ROC curves, area under each: {areas}.", dark, HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 40}
    )
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": tone.grey, "width": 1, "dash": "dot"}, hoverinfo="skip"
    )
    dashes = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
    for k, (name, false, true, _) in enumerate(curves):
        figure.add_scatter(
            x=false, y=true, mode="lines",
            line={"color": tone.ink, "width": 2, "dash": dashes[k % len(dashes)]},
            hovertemplate=f"{html.escape(str(name))}<br>%{{y:.1%}} found, %{{x:.1%}} of the others taken for "
                          f"it<extra></extra>",
        )  # fmt: skip
    figure.layout.xaxis = style.axis("false positive rate", dark, range=[-0.02, 1.02], tickformat=".0%")
    figure.layout.yaxis = style.axis("true positive rate", dark, range=[-0.02, 1.02], tickformat=".0%")
    marks = ("———", "– – –", "· · ·", "–·–·", "—— ——", "——·——")
    lines = [
        f"{marks[k % len(marks)]} {html.escape(style.short(str(name), 16))}: AUC {area:.3f}"
        for k, (name, _, _, area) in enumerate(curves)
    ]
    figure.add_annotation(
        style.words(
            "<br>".join(lines),
            tone.ink,
            name="curves",
            x=0.98,
            y=0.03,
            xref="x domain",
            yref="y domain",
            xanchor="right",
            yanchor="bottom",
            align="right",
        )
    )
    return figure


def reliability_figure(said: Array, share: Array, counts: Array, name: str, *, dark: bool = False) -> go.Figure:
    """How often it was class ``name`` where the model said so with a probability: bins (b,), their rows as areas of
    marks.
    """
    tone = style.theme(dark)
    off = float(np.average(np.abs(np.asarray(said) - share), weights=counts)) if len(counts) else 0.0
    alt = f"Calibration for {name} over {int(np.sum(counts))} rows: shares are off by {off:.1%} on average."
    figure = style.new_figure(alt, dark, HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 40})
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"color": tone.grey, "width": 1, "dash": "dot"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=said,
        y=share,
        mode="lines+markers",
        line={"color": tone.ink, "width": 1},
        marker={
            "color": tone.ink,
            "size": 6 + 16 * np.sqrt(np.asarray(counts) / max(float(np.max(counts, initial=1)), 1.0)),
        },
        customdata=counts,
        hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows<extra></extra>",
    )
    figure.layout.xaxis = style.axis(
        f"predicted probability of {style.short(name, 16)}", dark, range=[-0.05, 1.05], tickformat=".0%"
    )
    figure.layout.yaxis = style.axis("observed share", dark, range=[-0.05, 1.05], tickformat=".0%")
    return figure


def residual_figure(predicted: Array, target: Array, name: str, *, dark: bool = False) -> go.Figure:
    """Target minus prediction against the prediction, (n,) each, with the line of no error."""
    tone = style.theme(dark)
    rest = np.asarray(target, dtype=float) - predicted
    alt = (
        f"Residuals of {name} over {rest.size} rows: mean {style.number(float(rest.mean()))}, "
        f"standard deviation {style.number(float(rest.std()))}, largest {style.number(float(np.abs(rest).max()))}."
    )
    figure = style.new_figure(alt, dark, HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 40})
    figure.add_scatter(
        x=predicted, y=rest, mode="markers", marker={"color": tone.ink, "size": 6, "opacity": 0.5},
        hovertemplate="predicted %{x:.4g}, off by %{y:.4g}<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=0.0, line={"color": tone.grey, "width": 1, "dash": "dot"})
    figure.layout.xaxis = style.axis(f"predicted {style.short(name, 24)}", dark, automargin=True)
    figure.layout.yaxis = style.axis("target minus prediction", dark, automargin=True)
    return figure


def choice_figure(
    scores: Array, place: tuple[int, ...], measure: str, param: str, values: Array, sizes: Array | None = None, *,
    dark: bool = False,
) -> go.Figure:  # fmt: skip
    """What a choice compared: ``scores`` (L,) over ``values``, or (L, S) over lambda and the number of kernels
    ``sizes``; a ring marks the chosen ``place``.
    """
    tone, table = style.theme(dark), np.asarray(scores, dtype=float)
    sign = captions.symbol(param)
    best = style.number(float(table[place]))
    margin = {"l": 56, "r": 16, "t": 12, "b": 44}
    if sizes is None:
        where = style.number(float(values[place[0]]))
        alt = f"{measure[:1].upper()}{measure[1:]} along {sign}, {table.size} points; the choice is {best} at {where}."
        figure = style.new_figure(alt, dark, HEIGHT, margin=margin)
        figure.add_scatter(
            x=values, y=table, mode="lines+markers", line={"color": tone.ink, "width": 2}, marker={"size": 4}
        )
        figure.layout.xaxis = style.log_axis(sign, values, dark)
        figure.layout.yaxis = style.axis(measure, dark, automargin=True)
        at = (float(values[place[0]]), float(table[place]))
    else:
        at = (float(sizes[place[1]]), float(place[0]))
        where = f"λ = {style.number(float(values[place[0]]))} and {style.counted(int(sizes[place[1]]), 'kernel')}"
        alt = (
            f"Surface of {measure} over {table.shape[0]} λ and {table.shape[1]} sizes; the choice is {best} at {where}."
        )
        figure = style.new_figure(alt, dark, HEIGHT, margin=margin)
        figure.add_heatmap(
            z=table, x=sizes, y=list(range(len(values))), colorscale=style.SEQUENTIAL,
            colorbar=style.colour_bar(measure, dark),
            hovertemplate="%{x} kernels: %{z:.4g}<extra></extra>",
        )  # fmt: skip
        ticks = {"tickvals": list(range(len(values))), "ticktext": [style.number(float(v)) for v in values]}
        figure.layout.xaxis = style.axis("number of kernels s", dark, showgrid=False)
        figure.layout.yaxis = style.axis("λ", dark, showgrid=False, automargin=True, **ticks)
    ring = {"symbol": "circle-open", "size": 14, "color": tone.ink, "line": {"width": 3}}
    figure.add_scatter(x=[at[0]], y=[at[1]], mode="markers", marker=ring, hoverinfo="skip", name="chosen")
    return figure
