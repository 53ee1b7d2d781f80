"""Horizontal bars and marks in rows: kernels, terms, columns, and parts of one prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from pandas import DataFrame

from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.style import Figure, Texts, leaders

ROW_HEIGHT = 23
N_BARS = 12
MOST_TERMS = 15
MOST_COLUMNS = 16
MOST_STEPS = 12
MOST_VARIABLES = 20
FAMILY_WORDS = {"rbf": "RBF", "hkl": "node of a hull"}
BASE = "no column known"
NEGLIGIBLE = 5e-4  # largest share of all other kernels that is not worth a row


def row_bars(
    alt: str,
    values: Any,
    names: Texts,
    colours: Texts,
    title: str,
    hover: str,
    dark: bool,
    *,
    letters: int = 18,
    limits: Sequence[float] | None = None,
    **bars: Any,
) -> Figure:
    """A bar per row beside its name, cut to ``letters``; %{text} of ``hover`` is the whole name."""
    height = 70 + ROW_HEIGHT * len(names)
    figure = style.new_figure(
        alt,
        dark,
        height,
        bargap=0.3,
        margin={"l": 8, "t": 8},
    )
    defaults = {"text": style.each_short(names, 60), "textposition": "none"}
    figure.add_bar(
        x=values,
        y=np.arange(len(names)),
        orientation="h",
        hovertemplate=hover,
        marker={"color": list(colours), "line": {"width": 0}},
        **defaults | bars,
    )
    figure.update_xaxes(title=title, range=limits)
    figure.update_yaxes(**style.row_ticks(style.shorts(names, letters)))
    return figure


# Kernels


def weights_bar(
    weights: Any,
    names: Texts,
    families: Texts,
    *,
    peaks: Any = None,
    limit: int = N_BARS,
    certified: bool = True,
    dark: bool = False,
) -> Figure:
    """Kernel weights θ as horizontal bars, the largest on top.

    ``weights`` (M,); ``peaks`` (M,) or (L, M) are the weights along a path, which determine the
    order, the colours and the axis. At most ``limit`` bars are drawn, and the alternative text
    counts the others. Weights that are not ``certified`` are drawn hollow. Raises
    ``ParameterError`` where the lengths disagree.
    """
    theta = style.shaped("Weights", weights, len(names))
    if theta.size == 0:
        return style.empty_figure("No kernel yet. Add one on the Kernels page.", dark)
    highest = style.peak_weights(theta if peaks is None else peaks, theta.size)
    used = int(np.count_nonzero(theta > 0))
    have = "has" if used == 1 else "have"
    alt = (
        f"Kernel weights. {used} of {style.counted(theta.size, 'kernel')} {have} a positive "
        f"weight; the largest are {leaders(theta, names)}."
    )
    if theta.size > limit:
        alt += f" {style.counted(theta.size - limit, 'smaller kernel')} left out."
    if not certified:
        alt += " These weights are provisional: the solver has not reached its tolerance."
    shown = np.argsort(-highest, kind="stable")[:limit]
    colours = style.kernel_colours(families, highest, dark)
    figure = row_bars(
        alt,
        theta[shown],
        style.chosen(names, shown),
        style.chosen(colours, shown),
        "weight θ",
        "%{text}<br>θ = %{x:.3g}<extra></extra>",
        dark,
        limits=[0, 1.05 * style.positive_or_one(highest)],
    )
    if not certified:
        outline = {"color": figure.data[0].marker.color, "width": 1.5}
        figure.update_traces(marker={"color": style.TRANSPARENT, "line": outline})
    return figure


def kernels_by_column(
    groups: Mapping[str, Sequence[int]],
    values: Any,
    names: Texts,
    families: Texts,
    title: str,
    *,
    dark: bool = False,
) -> Figure:
    """A row per column of the table with a mark per kernel of it, at its entry of ``values`` (M,).

    ``groups`` holds the kernels of each column; columns with the largest entries come first.
    ``title`` is that of the axis. A family has one hue and one mark.
    """
    places = np.nan_to_num(style.shaped("Values", values, len(names)))
    ranked = sorted(groups, key=lambda name: -places[list(groups[name])].max())
    shown = ranked[:MOST_COLUMNS]
    count = style.counted(len(ranked), "column")
    alt = f"Kernels of {count}, {title}: the largest are {leaders(places, names)}."
    if len(ranked) > len(shown):
        alt += f" {style.counted(len(ranked) - len(shown), 'column')} with smaller ones left out."
    figure = style.new_figure(
        alt,
        dark,
        78 + ROW_HEIGHT * len(shown),
        margin={"l": 8, "t": 34, "b": 40},
        showlegend=True,
        legend=style.LEGEND,
    )
    for family, symbol in zip(dict.fromkeys(families), cycle(style.GLYPHS), strict=False):
        marks = []
        for row, name in enumerate(shown):
            marks += [(m, row) for m in groups[name] if families[m] == family]
        if not marks:
            continue
        members, rows = map(list, zip(*marks, strict=True))
        figure.add_scatter(
            x=places[members],
            y=rows,
            mode="markers",
            name=FAMILY_WORDS.get(family, family),
            marker={"symbol": symbol, "size": 9, "color": style.family_shade(family, 0, dark)},
            customdata=members,
            text=style.each_short(style.chosen(names, members), 60),
            hovertemplate="%{text}: %{x:.3f}<extra></extra>",
        )
    figure.update_xaxes(title=title, rangemode="tozero")
    figure.update_yaxes(style.row_ticks(style.shorts(shown, 34)), showgrid=True)
    return figure


def compare_weights(
    models: Mapping[str, Any],
    *,
    most: int = 12,
    dark: bool = False,
) -> Figure:
    """The shares of kernels in each of several models, comparable across methods.

    ``models`` maps names to fitted estimators or answers. Weights of different methods have
    different units (the weight of a kernel, the norm of a function, one per class). So a share is
    that of the standard deviations of f_m over the background rows of a model, or that of the
    weights for models of precomputed Gram matrices. The ``most`` kernels with the largest shares
    are drawn, and the sum of the others is one row.
    """
    shares = {}
    families: dict[str, str] = {}
    for label, answer_or_model in models.items():
        model = getattr(answer_or_model, "model", answer_or_model)
        shares[label] = kernel_shares(model)
        families |= dict(zip(model.kernel_names_, model.kernel_families_, strict=True))
    if not shares:
        raise ParameterError(
            "compare_weights takes fitted models by name, as in {'p = 1': model}; got none."
        )
    # A row for each kernel in the order of the models, and a column for each model.
    table = DataFrame(shares).reindex(list(families)).fillna(0.0)
    largest = table.max(axis=1).sort_values(ascending=False, kind="stable")
    shown = largest.index[largest > 0.0][:most]
    table = table.loc[shown]
    sentences = []
    for label, column in table.items():
        sentences.append(f"{label}: {leaders(column.to_numpy(), shown)}.")
    colours = [style.family_shade(families[name], 0, dark) for name in shown]
    others = 1.0 - table.sum()
    if others.max() > NEGLIGIBLE:
        table.loc["all others"] = others
        colours.append(style.theme(dark).grey)
    figure = style.new_figure(
        f"Shares of kernels. {' '.join(sentences)}",
        dark,
        90 + ROW_HEIGHT * len(table),
        margin={"l": 8, "t": 40, "b": 40},
    )
    width = 1.0 / len(shares)
    for k, (label, column) in enumerate(table.items()):
        suffix = str(k + 1) if k else ""
        figure.add_bar(
            x=column.tolist(),
            y=list(range(len(table))),
            orientation="h",
            marker={"color": colours},
            xaxis=f"x{suffix}",
            name=label,
            customdata=style.each_short(table.index, 60),
            hovertemplate="%{customdata}: %{x:.1%}<extra></extra>",
        )
        figure.layout[f"xaxis{suffix}"] = {
            "title": style.short(label, 28),
            "range": [0.0, 1.05 * max(largest.max(), others.max())],
            "tickformat": ".0%",
            "nticks": 4,
            "domain": [k * width + (0.02 if k else 0.0), (k + 1) * width],
        }
    figure.update_yaxes(**style.row_ticks(style.each_short(table.index, 34)))
    return figure


def kernel_shares(model: Any) -> dict[str, float]:
    """The share of every kernel, by name, in the decision of a fitted model; they sum to 1."""
    rows = getattr(model, "background_", None)
    if rows is None:
        sizes = np.atleast_2d(np.asarray(model.weights_, dtype=float)).mean(axis=0)
    else:
        columns = getattr(model, "feature_names_in_", None)
        if columns is not None:
            rows = DataFrame(rows, columns=columns)
        parts = np.asarray(model.contributions(rows))
        per_class = parts.reshape(*parts.shape[:2], -1)
        sizes = per_class.std(axis=1).mean(axis=1)
    shares = sizes / (float(sizes.sum()) or 1.0)
    return dict(zip(model.kernel_names_, shares.tolist(), strict=True))


# Columns, terms and words


def relevance_bars(
    relevance: Any,
    names: Texts,
    *,
    dark: bool = False,
) -> Figure:
    """Relevance (p,) of each variable of a hull, as a share of the largest.

    The relevance is the sum of ||beta_v||^2 over the nodes that contain the variable. An
    interaction counts for each of its variables, so relative shares may add up to more than one.
    """
    values = style.shaped("Relevance", relevance, len(names))
    order = np.argsort(-values, kind="stable")[:MOST_VARIABLES]
    used = int(np.count_nonzero(values > 0))
    shares = values / style.positive_or_one(values)
    alt = (
        f"Relevance of variables. {used} of {style.counted(values.size, 'variable')} "
        f"{'is' if used == 1 else 'are'} in the hull; the largest shares are "
        f"{leaders(shares, names)}."
    )
    return row_bars(
        alt,
        shares[order],
        style.chosen(names, order),
        [style.family_shade("hkl", 0, dark)] * len(order),
        "relevance, share of the largest",
        "%{text}<br>%{x:.1%} of the most relevant<extra></extra>",
        dark,
        limits=[0, 1.05],
    )


def term_bars(terms: Sequence[Any], *, dark: bool = False) -> Figure:
    """Shares of the variance of columns and of sets of columns that act together.

    ``terms`` have ``columns`` and ``share``, the largest first, as ``decompose`` returns them. The
    sum of all terms after the first fifteen is one bar.
    """
    if not terms:
        return style.empty_figure("The model is constant: no column has a share.", dark)
    names = [" × ".join(term.columns) for term in terms]
    shares = [float(term.share) for term in terms]
    colours = []
    together = 0.0
    for term, share in zip(terms, shares, strict=True):
        alone = len(term.columns) == 1 and term.columns != ("higher order",)
        together += 0.0 if alone else share
        colours.append(style.family_shade("linear" if alone else "rbf", 0, dark))
    largest = zip(names[:5], shares, strict=False)
    listed = style.joined([f"{name} {style.percent(share)}" for name, share in largest])
    alt = (
        f"Share of the variance of {style.counted(len(terms), 'term')}: {listed}. Sets of columns "
        f"that act together have {style.percent(together) if together else 'none'} of it."
    )
    n_others = len(terms) - MOST_TERMS
    if n_others > 0:
        names[MOST_TERMS:] = [style.counted(n_others, "other")]
        shares[MOST_TERMS:] = [sum(shares[MOST_TERMS:])]
        colours[MOST_TERMS:] = [style.theme(dark).grey]
    figure = row_bars(
        alt,
        shares,
        names,
        colours,
        "share of the variance",
        "%{customdata}<br>%{x:.1%}<extra></extra>",
        dark,
        letters=34,
        limits=[0, 1.02 * max(shares)],
        cliponaxis=False,
        customdata=style.each_short(names, 80),
        text=[style.percent(share) for share in shares],
        textposition="outside",
    )
    figure.layout.margin.r = 56
    return figure.update_xaxes(tickformat=".0%", nticks=5)


def word_bars(
    words: Sequence[Any],
    name: str,
    target: str = "the decision",
    output: int = 0,
    *,
    dark: bool = False,
) -> Figure:
    """What ``words`` of a text add to the ``target``, in two colours for more and for less.

    ``words`` are those of ``strongest_words``, ``output`` is the number of the class.
    """
    values = np.array([word.effect[output] for word in words])
    more, _, less, *_ = style.six_hues(dark)
    strongest = zip(words[:5], values, strict=False)
    listed = style.joined([f"{word.word} {value:+.2g}" for word, value in strongest])
    return row_bars(
        f"Words of {name} and what they add to {target}: {listed}.",
        values,
        [word.word for word in words],
        [more if value >= 0.0 else less for value in values],
        f"added to {target}",
        "%{text}: %{x:+.3g}, in %{customdata:.0%} of the texts<extra></extra>",
        dark,
        customdata=[word.rows for word in words],
    )


# One prediction


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
) -> Figure:
    """A waterfall from the base to the prediction, one bar per column of the table.

    ``values`` (d,) are the Shapley values of the columns ``names``, which are texts, or the
    ``source_columns_`` of the model, which may name a category. ``base`` is the prediction that
    knows no column, ``ends`` are texts beside the numbers at both ends, such as probabilities, and
    ``before`` is the prediction for an earlier row, drawn as a dotted line. Numbers are rounded to
    ``step``. All columns after the first twelve are one bar. Raises ``ParameterError`` where the
    lengths disagree.
    """
    columns = [name if isinstance(name, str) else str(name[0]) for name in names]
    parts = style.shaped("Shapley values", values, len(columns))
    n_others = parts.size - MOST_STEPS
    if n_others > 1:
        parts = np.append(parts[:MOST_STEPS], parts[MOST_STEPS:].sum())
        columns[MOST_STEPS:] = [f"{n_others} others together"]
    changes = [style.rounded_to(part, step, sign=True) for part in parts]
    reached = base + np.concatenate([[0.0], np.cumsum(parts)])
    end = float(reached[-1])
    base_text = style.rounded_to(base, step)
    end_text = style.rounded_to(end, step)
    largest = np.argsort(-np.abs(parts), kind="stable")[:3]
    listed = [f"{columns[j]} {changes[j]}" for j in largest if parts[j] != 0.0]
    alt = f"From {base_text}, {BASE}, to the prediction {end_text}. " + (
        f"The largest parts: {style.joined(listed)}." if listed else "No column adds anything."
    )
    low, high = style.around(reached, 0.5 if any(ends) else 0.25)
    # Both ends are thin marks: a bar from zero could start far outside the picture.
    mark = 0.006 * (high - low)
    tone = style.theme(dark)
    rising = style.readable(style.PALETTE[0], dark)
    falling = style.readable(style.PALETTE[2], dark)
    labels = [BASE, *columns, "prediction"]
    figure = row_bars(
        alt,
        [mark, *parts, mark],
        labels,
        [tone.grey, *(rising if part >= 0 else falling for part in parts), tone.ink],
        title,
        "%{customdata}: %{text}<extra></extra>",
        dark,
        letters=30,
        limits=[low, high],
        base=[base - mark / 2, *reached[:-1], end - mark / 2],
        cliponaxis=False,
        constraintext="none",
        textfont={"color": tone.ink, "size": style.LABEL_SIZE},
        text=[f"{base_text} {ends[0]}".strip(), *changes, f"{end_text} {ends[1]}".strip()],
        textposition="outside",
        customdata=style.each_short(labels, 60),
    )
    if before is not None:
        figure.add_vline(x=before, line={"dash": "dot", "width": 2, "color": tone.muted})
    return figure
