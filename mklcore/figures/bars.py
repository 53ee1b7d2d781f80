"""Bars and marks, one row each: kernel weights, terms, relevance of columns, one prediction taken
apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from pandas import DataFrame

from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import graph_objects as go
from mklcore.figures.style import leaders

ROW_HEIGHT = 23
N_BARS = 12
MOST_TERMS = 15
MOST_COLUMNS = 16
MOST_STEPS = 12
MOST_VARIABLES = 20
WORDS = {"rbf": "RBF", "hkl": "node of a hull"}  # families under another word
BASE = "no column known"


def row_bars(
    alt: str,
    values: Any,
    names: Sequence[str],
    hues: Sequence[str],
    title: str,
    hover: str,
    dark: bool,
    *,
    letters: int = 18,
    limits: Sequence[float] | None = None,
    **bars: Any,
) -> go.Figure:
    """A horizontal bar per row with its name beside it, cut to ``letters``; ``hover`` knows the
    whole name, %{text}.
    """
    bars = {"text": [style.short(name, 60) for name in names], "textposition": "none", **bars}
    figure = style.new_figure(
        alt, dark, height=70 + ROW_HEIGHT * len(names), bargap=0.3, margin={"l": 8, "t": 8}
    )
    figure.add_bar(
        x=values,
        y=np.arange(len(names)),
        orientation="h",
        hovertemplate=hover,
        marker={"color": list(hues), "line": {"width": 0}},
        **bars,
    )
    figure.layout.xaxis = style.axis(title, dark, range=limits)
    figure.layout.yaxis = style.row_axis(style.shorts(names, letters), dark)
    return figure


def weights_bar(
    weights: Any,
    names: Sequence[str],
    families: Sequence[str],
    *,
    peaks: Any = None,
    limit: int = N_BARS,
    certified: bool = True,
    dark: bool = False,
) -> go.Figure:
    """Kernel weights θ as horizontal bars, the largest on top.

    ``weights`` (M,); ``peaks`` (M,) or (L, M), the weights along a path: they fix the order, the
    colours and the axis. At most ``limit`` bars are drawn and the alternative text counts the
    others. Weights that are not ``certified`` are drawn hollow. Raises ``ParameterError`` where the
    lengths disagree.
    """
    theta = style.shaped("Weights", weights, len(names))
    if theta.size == 0:
        return style.empty_figure("No kernel yet. Add one on the Kernels page.", dark)
    highest = style.peak_weights(theta if peaks is None else peaks, theta.size)
    used = int(np.count_nonzero(theta > 0))
    shown = np.argsort(-highest, kind="stable")[:limit]
    colours = style.kernel_colours(families, highest, dark)
    alt = (
        (
            f"Kernel weights. {used} of {style.counted(theta.size, 'kernel')} "
            f"{'has' if used == 1 else 'have'} a positive weight; the largest are "
            f"{leaders(theta, names)}."
        )
        + (
            f" {style.counted(theta.size - limit, 'smaller kernel')} left out."
            if theta.size > limit
            else ""
        )
        + (
            ""
            if certified
            else " These weights are provisional: the solver has not reached its tolerance."
        )
    )
    figure = row_bars(
        alt,
        theta[shown],
        [names[m] for m in shown],
        [colours[m] for m in shown],
        "weight θ",
        "%{text}<br>θ = %{x:.3g}<extra></extra>",
        dark,
        limits=[0, 1.05 * (float(highest.max()) or 1.0)],
    )
    if not certified:
        bars = figure.data[0]
        bars.marker = {
            "color": style.TRANSPARENT,
            "line": {"color": bars.marker.color, "width": 1.5},
        }
    return figure


def kernels_by_column(
    groups: Mapping[str, Sequence[int]],
    values: Any,
    names: Sequence[str],
    families: Sequence[str],
    title: str,
    *,
    dark: bool = False,
) -> go.Figure:
    """One row per column with a mark per kernel of it at its entry of ``values`` (M,); the largest
    columns first.

    ``groups`` name the kernels of every column, ``title`` is that of the axis. A family has one hue
    and one mark.
    """
    heights = np.nan_to_num(style.shaped("Values", values, len(names)))
    ranked = sorted(groups, key=lambda name: -max(heights[m] for m in groups[name]))
    shown = ranked[:MOST_COLUMNS]
    rest = len(ranked) - MOST_COLUMNS
    alt = (
        f"Kernels of {style.counted(len(ranked), 'column')}, {title}: the largest are "
        f"{leaders(heights, names)}.{f' {rest} columns with smaller ones are left out.' if rest > 0 else ''}"
    )
    figure = style.new_figure(
        alt,
        dark,
        78 + ROW_HEIGHT * len(shown),
        margin={"l": 8, "r": 16, "t": 34, "b": 40},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "yref": "paper"},
    )
    place = {m: row for row, name in enumerate(shown) for m in groups[name]}
    for family, symbol in zip(dict.fromkeys(families), cycle(style.GLYPHS), strict=False):
        mine = [m for m in place if families[m] == family]
        if mine:
            figure.add_scatter(
                x=heights[mine],
                y=[place[m] for m in mine],
                mode="markers",
                name=WORDS.get(family, family),
                marker={"symbol": symbol, "size": 9, "color": style.family_shade(family, 0, dark)},
                customdata=mine,
                text=[style.short(names[m], 60) for m in mine],
                hovertemplate="%{text}: %{x:.3f}<extra></extra>",
            )
    figure.layout.xaxis = style.axis(title, dark, rangemode="tozero")
    figure.layout.yaxis = {**style.row_axis(style.shorts(list(shown), 34), dark), "showgrid": True}
    return figure


def relevance_bars(relevance: Any, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """How much each variable carries, as shares: sum of ||beta_v||^2 over the nodes that touch it,
    ``relevance`` (p,).

    An interaction counts for each of its variables, so shares may add up to more than one.
    """
    values = style.shaped("Relevance", relevance, len(names))
    order = np.argsort(-values, kind="stable")[:MOST_VARIABLES]
    used = int(np.count_nonzero(values > 0))
    shares = values / (float(values.max(initial=0.0)) or 1.0)
    return row_bars(
        (
            f"Relevance of variables. {used} of {style.counted(values.size, 'variable')} "
            f"{'is' if used == 1 else 'are'} in the hull; the largest shares are "
            f"{leaders(shares, names)}."
        ),
        shares[order],
        [names[i] for i in order],
        [style.family_shade("hkl", 0, dark)] * len(order),
        "relevance, share of the largest",
        "%{text}<br>%{x:.1%} of the most relevant<extra></extra>",
        dark,
        limits=[0, 1.05],
    )


def term_bars(terms: Sequence[Any], *, dark: bool = False) -> go.Figure:
    """Columns and sets of columns that act together, sorted by share of variance, the largest on
    top.

    ``terms`` with ``columns`` and ``share``, as `decompose` returns them; many of them end in one
    bar.
    """
    if not terms:
        return style.empty_figure("The model is constant: no column has a share.", dark)
    shown = list(terms[:MOST_TERMS])
    rest = list(terms[MOST_TERMS:])
    names = [" × ".join(term.columns) for term in shown]
    shares = [float(term.share) for term in shown]
    alone = [len(term.columns) == 1 and term.columns != ("higher order",) for term in terms]
    hues = [
        style.family_shade("linear" if single else "rbf", 0, dark) for single in alone[:MOST_TERMS]
    ]
    if rest:
        names = [*names, style.counted(len(rest), "other")]
        hues = [*hues, style.theme(dark).grey]
        shares.append(float(sum(term.share for term in rest)))
    together = sum(
        float(term.share) for term, single in zip(terms, alone, strict=True) if not single
    )
    listed = [
        f"{' × '.join(term.columns)} {style.percent(float(term.share))}" for term in shown[:5]
    ]
    figure = row_bars(
        (
            f"Share of the variance of {style.counted(len(terms), 'term')}: "
            f"{style.joined(listed)}. Sets of columns that act together have "
            f"{style.percent(together) if together else 'none'} of it."
        ),
        shares,
        names,
        hues,
        "share of the variance",
        "%{customdata}<br>%{x:.1%}<extra></extra>",
        dark,
        letters=34,
        limits=[0, 1.02 * max(shares)],
        cliponaxis=False,
        customdata=[style.short(name, 80) for name in names],
        text=[style.percent(share) for share in shares],
    )
    figure.layout.margin.r = 56
    return figure.update_traces(textposition="outside").update_xaxes(tickformat=".0%", nticks=5)


def compare_weights(models: Mapping[str, Any], *, most: int = 12, dark: bool = False) -> go.Figure:
    """How much every kernel says in each of several models, as shares that can be compared across
    methods.

    ``models`` name -> fitted estimator, or answer. Weights of methods have different units (the
    weight of a kernel, the norm of a function, one per class), so a share is that of the standard
    deviations of f_m over the rows that a model keeps as its background; of models of ready stacks
    it is that of their weights. The ``most`` kernels with the largest shares are drawn, the others
    together are one row.
    """
    shares = {name: kernel_shares(getattr(model, "model", model)) for name, model in models.items()}
    if not shares:
        raise ParameterError(
            "compare_weights takes fitted models by name, as in {'p = 1': model}; got none."
        )
    top: dict[str, float] = {}
    families: dict[str, str] = {}
    for model, own in zip(models.values(), shares.values(), strict=True):
        fitted = getattr(model, "model", model)
        families |= dict(zip(fitted.kernel_names_, fitted.kernel_families_, strict=True))
        for name, share in own.items():
            top[name] = max(top.get(name, 0.0), share)
    shown = sorted((name for name in top if top[name] > 0.0), key=lambda name: -top[name])[:most]
    rest = {label: 1.0 - sum(own.get(name, 0.0) for name in shown) for label, own in shares.items()}
    rows = [*shown, "all others"] if max(rest.values()) > 5e-4 else shown
    alt = "Shares of kernels. " + " ".join(
        f"{label}: {leaders(np.array([own.get(name, 0.0) for name in shown]), shown)}."
        for label, own in shares.items()
    )
    figure = style.new_figure(
        alt, dark, 90 + ROW_HEIGHT * len(rows), margin={"l": 8, "r": 16, "t": 40, "b": 40}
    )
    width = 1.0 / len(shares)
    hues = [style.family_shade(families[name], 0, dark) for name in shown]
    hues += [style.theme(dark).grey] * (len(rows) - len(shown))
    for k, (label, own) in enumerate(shares.items()):
        values = [own.get(name, 0.0) for name in shown]
        values += [rest[label]] * (len(rows) - len(shown))
        axis = "" if k == 0 else str(k + 1)
        figure.add_bar(
            x=values,
            y=list(range(len(rows))),
            orientation="h",
            marker={"color": hues},
            xaxis=f"x{axis}",
            name=label,
            customdata=[style.short(name, 60) for name in rows],
            showlegend=False,
            hovertemplate="%{customdata}: %{x:.1%}<extra></extra>",
        )
        domain = [k * width + 0.02 * (k > 0), (k + 1) * width]
        title = style.short(label, 28)
        limits = [0.0, 1.05 * max(*top.values(), *rest.values())]
        scale = style.axis(title, dark, range=limits, tickformat=".0%", nticks=4)
        figure.layout[f"xaxis{axis}"] = {**scale, "domain": domain}
    figure.layout.yaxis = style.row_axis([style.short(name, 34) for name in rows], dark)
    return figure


def kernel_shares(model: Any) -> dict[str, float]:
    """The share of every kernel, by name, in what a fitted model says: they sum to 1."""
    names = list(model.kernel_names_)
    rows = getattr(model, "background_", None)
    if rows is None:
        sizes = np.atleast_2d(np.asarray(model.weights_, dtype=float)).mean(axis=0)
    else:
        if (columns := getattr(model, "feature_names_in_", None)) is not None:
            rows = DataFrame(rows, columns=columns)
        parts = np.asarray(model.contributions(rows))
        sizes = parts.reshape(*parts.shape[:2], -1).std(axis=1).mean(axis=1)
    return dict(zip(names, (sizes / (float(sizes.sum()) or 1.0)).tolist(), strict=True))


def word_bars(
    ranked: Sequence[Any],
    name: str,
    said: str = "the decision",
    output: int = 0,
    *,
    dark: bool = False,
) -> go.Figure:
    """What words of a text, as `strongest_words` gives them, add to ``said``; two colours for more
    and less.
    """
    values = np.array([one.effect[output] for one in ranked])
    hues = style.six_hues(dark)
    colours = [style.readable(hues[0 if value >= 0.0 else 2], dark) for value in values]
    listed = style.joined(
        [f"{one.word} {value:+.2g}" for one, value in zip(ranked[:5], values, strict=False)]
    )
    return row_bars(
        f"Words of {name} and what they add to {said}: {listed}.",
        values,
        [one.word for one in ranked],
        colours,
        f"added to {said}",
        "%{text}: %{x:+.3g}, in %{customdata:.0%} of the texts<extra></extra>",
        dark,
        customdata=[one.rows for one in ranked],
    )


def waterfall(
    values: Any,
    names: Sequence[Any],
    base: float,
    *,
    ends: tuple[str, str] = ("", ""),
    before: float | None = None,
    step: float = 0.0,
    title: str = "f(x)",
    dark: bool = False,
) -> go.Figure:
    """A waterfall from the base to the prediction, one bar per column of the table, in the given
    order.

    ``values`` (d,) the Shapley values of the columns ``names``: texts, or the ``source_columns_``
    of the model, of which a category is one; ``base`` the prediction with every column drawn by
    itself; ``ends`` what stands at both ends beside their numbers, as a probability; ``before`` the
    prediction at an earlier row, a dotted line. Numbers are rounded to ``step``. Beyond twelve,
    columns are one bar. ParameterError where lengths disagree.
    """
    called = [name if isinstance(name, str) else str(name[0]) for name in names]
    parts = style.shaped("Shapley values", values, len(called))
    rest = parts.size - MOST_STEPS
    if rest > 1:
        parts = np.append(parts[:MOST_STEPS], parts[MOST_STEPS:].sum())
        called = [*called[:MOST_STEPS], f"{rest} others together"]
    reached = base + np.concatenate([[0.0], np.cumsum(parts)])
    end = float(reached[-1])
    tone = style.theme(dark)
    said = [style.rounded_to(value, step) for value in (base, end)]
    up, down = (style.readable(hue, dark) for hue in (style.PALETTE[0], style.PALETTE[2]))
    # room for what stands at both ends
    low, high = style.around(reached, 0.5 if any(ends) else 0.25)
    mark = 0.006 * (high - low)  # both ends are marks, not bars from a zero that may be far away
    order = [j for j in np.argsort(-np.abs(parts), kind="stable")[:3] if parts[j] != 0.0]
    largest = [f"{called[j]} {style.rounded_to(parts[j], step, sign=True)}" for j in order]
    figure = row_bars(
        f"From {said[0]}, {BASE}, to the prediction {said[1]}. "
        f"{f'The largest parts: {style.joined(largest)}.' if largest else 'No column adds anything.'}",
        [mark, *parts, mark],
        [BASE, *called, "prediction"],
        [tone.grey, *(up if part >= 0 else down for part in parts), tone.ink],
        title,
        "%{customdata}: %{text}<extra></extra>",
        dark,
        letters=30,
        limits=[low, high],
        base=[base - mark / 2, *reached[:-1], end - mark / 2],
        cliponaxis=False,
        constraintext="none",
        textfont={"color": tone.ink, "size": style.LABEL_SIZE},
        text=[
            f"{said[0]} {ends[0]}".strip(),
            *(style.rounded_to(part, step, sign=True) for part in parts),
            f"{said[1]} {ends[1]}".strip(),
        ],
        customdata=[style.short(label, 60) for label in (BASE, *called, "prediction")],
    )
    figure.update_traces(textposition="outside")
    if before is not None:
        figure.add_vline(x=before, line={"dash": "dot", "width": 2, "color": tone.muted})
    return figure
