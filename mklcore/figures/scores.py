"""How right a model is on rows it has not seen: confusion matrix, ROC curve, calibration, residuals."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

HEIGHT = 300
MOST_NUMBERS = 12  # classes up to which every cell carries its number
DEEPEST = 0.6  # of the grey of a cell, on which its number can still be read
DASHES = {"solid": "———", "dash": "– – –", "dot": "· · ·", "dashdot": "–·–·", "longdash": "—— ——"}


def confusion_figure(counts: Array, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Rows of each class (down) by the class the model says (across): ``counts`` (k, k), shades by share of the row."""
    table = np.asarray(counts, dtype=float)
    if table.shape != (len(names), len(names)):
        raise ParameterError(f"Counts must be ({len(names)}, {len(names)}) for {len(names)} names; got {table.shape}.")
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    called = [html.escape(style.short(str(name), 14)) for name in names]
    right, worst = float(np.trace(table)) / max(float(table.sum()), 1.0), int(np.argmin(np.diag(share)))
    figure = _new(
        f"Confusion matrix over {int(table.sum())} rows: {right:.1%} on the diagonal; the class found least often is "
        f"{names[worst]}, {share[worst, worst]:.1%} of its {int(table[worst].sum())} rows.", dark
    )  # fmt: skip
    tone, ticks = style.theme(dark), list(range(len(called)))  # by place: two long names may be cut to the same text
    figure.add_heatmap(
        z=share, x=ticks, y=ticks, zmin=0.0, zmax=1.0, showscale=False, customdata=table, xgap=2, ygap=2,
        colorscale=[[0.0, tone.grid], [1.0, style.faded(tone.grey, DEEPEST)]], texttemplate="%{text}",
        text=[[f"{int(n)}" for n in row] for row in table] if len(called) <= MOST_NUMBERS else None,
        textfont={"color": tone.ink}, hovertemplate="%{customdata:.0f} rows, %{z:.1%} of their class<extra></extra>",
    )  # fmt: skip
    named = {"tickvals": ticks, "ticktext": called, "showgrid": False}
    figure.layout.xaxis = style.axis("predicted class", dark, **named)
    figure.update_yaxes(style.axis("true class", dark, autorange="reversed", **named), title_standoff=14)
    return figure


def roc_figure(curves: Sequence[tuple[str, Array, Array, float]], *, dark: bool = False) -> go.Figure:
    """Share of a class that is found against share of the others taken for it; ``curves`` (name, false, true, AUC)."""
    tone, looks = style.theme(dark), list(DASHES.items())
    areas = "; ".join(f"{name} {area:.3f}" for name, _, _, area in curves)
    figure = _diagonal(_new(f"ROC curves, area under each: {areas}.", dark), dark)
    lines = []
    for k, (name, false, true, area) in enumerate(curves):
        dash, mark = looks[k % len(looks)]
        lines.append(f"{mark} {html.escape(style.short(str(name), 16))}: AUC {area:.3f}")
        figure.add_scatter(
            x=false, y=true, mode="lines", line={"color": tone.ink, "width": 2, "dash": dash},
            hovertemplate=f"{html.escape(str(name))}<br>%{{y:.1%}} found, %{{x:.1%}} of the others taken for "
                          f"it<extra></extra>",
        )  # fmt: skip
    figure.layout.xaxis = style.axis("false positive rate", dark, range=[-0.02, 1.02], tickformat=".0%")
    figure.layout.yaxis = style.axis("true positive rate", dark, range=[-0.02, 1.02], tickformat=".0%")
    place = {"xref": "x domain", "yref": "y domain", "xanchor": "right", "yanchor": "bottom", "align": "right"}
    figure.add_annotation(style.words("<br>".join(lines), tone.ink, name="curves", x=0.98, y=0.03, **place))
    return figure


def reliability_figure(said: Array, share: Array, counts: Array, name: str, *, dark: bool = False) -> go.Figure:
    """How often it was class ``name`` where the model said so with a probability: bins (b,), their rows as areas of
    marks.
    """
    rows, ink = np.asarray(counts, dtype=float), style.theme(dark).ink
    off = float(np.average(np.abs(np.asarray(said) - share), weights=rows)) if rows.size else 0.0
    alt = f"Calibration for {name} over {int(rows.sum())} rows: shares are off by {off:.1%} on average."
    figure = _diagonal(_new(alt, dark), dark)
    figure.add_scatter(
        x=said, y=share, mode="lines+markers", line={"color": ink, "width": 1}, customdata=rows,
        marker={"color": ink, "size": 6 + 16 * np.sqrt(rows / max(float(rows.max(initial=1)), 1.0))},
        hovertemplate="predicted %{x:.0%}, observed %{y:.0%} of %{customdata} rows<extra></extra>",
    )  # fmt: skip
    title = f"predicted probability of {style.short(name, 16)}"
    figure.layout.xaxis = style.axis(title, dark, range=[-0.05, 1.05], tickformat=".0%")
    figure.layout.yaxis = style.axis("observed share", dark, range=[-0.05, 1.05], tickformat=".0%")
    return figure


def residual_figure(predicted: Array, target: Array, name: str, *, dark: bool = False) -> go.Figure:
    """Target minus prediction against the prediction, (n,) each, with the line of no error."""
    tone, rest = style.theme(dark), np.asarray(target, dtype=float) - predicted
    figure = _new(
        f"Residuals of {name} over {rest.size} rows: mean {style.number(float(rest.mean()))}, "
        f"standard deviation {style.number(float(rest.std()))}, largest {style.number(float(np.abs(rest).max()))}.",
        dark,
    )  # fmt: skip
    figure.add_scatter(
        x=predicted, y=rest, mode="markers", marker={"color": tone.ink, "size": 6, "opacity": 0.5},
        hovertemplate="predicted %{x:.4g}, off by %{y:.4g}<extra></extra>",
    )  # fmt: skip
    figure.add_hline(y=0.0, line={"color": tone.grey, "width": 1, "dash": "dot"})
    figure.layout.xaxis = style.axis(f"predicted {style.short(name, 24)}", dark)
    figure.layout.yaxis = style.axis("target minus prediction", dark)
    return figure


def _new(alt: str, dark: bool) -> go.Figure:
    return style.new_figure(alt, dark, HEIGHT, margin={"l": 8, "r": 8, "t": 8, "b": 40})


def _diagonal(figure: go.Figure, dark: bool) -> go.Figure:
    line = {"color": style.theme(dark).grey, "width": 1, "dash": "dot"}
    return figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=line, hoverinfo="skip")
