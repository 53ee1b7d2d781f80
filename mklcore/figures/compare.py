"""Several methods side by side: one column per method, weights above scores, on scales that all methods share.

Weights are drawn as shares, so that methods whose weights have other units stand on one scale. The six largest kernels
have six colours and marks, the same in all methods. Lines are solid between points solved to tolerance and dashed
elsewhere.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, style
from mklcore.figures.graph_objects import go
from mklcore.figures.paths import kernel_lines, measured_scores, norm_axis, path_positions
from mklcore.selection.scoring import SHARES

LEFT, RIGHT = 164, 74  # pixels: names of the bars below stand left of the first method, line labels right of the last
GAP = 0.03
TICK_ROOM = 0.05  # of its axis that a tick keeps from either end, where the next method begins
WEIGHT_ROWS, SCORE_ROWS = (0.55, 1.0), (0.0, 0.42)
HEIGHT = 300
MARKS = 6  # along a line
TITLE_LETTERS = 104  # of all methods together, at the width of a laptop
AXIS_TITLES = {"lam": "λ", "C": "C", "p": "p", "s": "s, kernels"}
NORM_TICKS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")


@dataclass(frozen=True)
class MethodView:
    """One method: its title, its ``path`` (None while there is none, with a ``note`` that says why), and whether it is
    older.
    """

    title: str
    path: Any = None
    note: str = ""
    waiting: bool = False


def shares_of_weight(weights: Any) -> Array:
    """Each weight over the sum of its row: weights (..., M) in, shares (..., M) out; a row of zeros stays zero."""
    table = np.asarray(weights, dtype=float)
    total = table.sum(axis=-1, keepdims=True)
    shares: Array = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    return shares


def peak_shares(paths: Sequence[Any]) -> Array:
    """The largest share of each kernel (M,) on any of the ``paths``: it fixes order and colours for all of them.

    Raises ``ParameterError`` where the paths are over different kernels.
    """
    if not paths:
        return np.zeros(0)
    names = paths[0].kernel_names
    if any(path.kernel_names != names for path in paths):
        raise ParameterError("Methods can be set side by side over the same kernels only. Use one dictionary for all.")
    peaks: Array = np.max([shares_of_weight(path.weights).max(axis=0) for path in paths], axis=0)
    return peaks


@dataclass
class _Drawing:
    """What is drawn, as plain dicts for one look of plotly's: part by part it takes five times as long over the
    same.
    """

    layout: dict[str, Any]
    traces: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)

    def line(self, **trace: Any) -> None:
        self.traces.append({"type": "scatter", **trace})

    def figure(self) -> go.Figure:
        return go.Figure(self.traces, {**self.layout, "annotations": self.notes, "shapes": self.shapes})


def methods_figure(methods: Sequence[MethodView], *, dark: bool = False, height: int = HEIGHT) -> go.Figure:
    """Weight shares above training (grey) and validation (dashed) scores, one column per method.

    Method ``i`` of n has the axes x and y of number 2i + 1 for weights and 2i + 2 for scores. No cursor is drawn: it is
    laid over in the browser, at ``path_positions(path)``. Raises ``ParameterError`` where methods have different
    kernels.
    """
    paths = [method.path for method in methods if method.path is not None]
    peaks = peak_shares(paths)
    titles = _titles([method.title for method in methods])
    margin = {"l": LEFT, "r": RIGHT, "t": 26 + 18 * any("<br>" in title for title in titles), "b": 42}
    drawing = _Drawing(style.house_layout(_alt(methods), dark, height, margin=margin))
    scores = style.around(measured_scores(paths))
    named = style.largest(peaks)
    colours = style.distinct_colours(peaks, dark)
    width = (1 - GAP * (len(methods) - 1)) / max(len(methods), 1)
    for place, method in enumerate(methods):
        domain = (place * (width + GAP), min(1.0, place * (width + GAP) + width))
        _axes(drawing, place, method, domain, 1.05 * (float(peaks.max(initial=0.0)) or 1.0), scores, paths, dark)
        if method.path is not None:
            _weights(drawing, place, method.path, named, colours, dark)
            _scores(drawing, place, method.path, dark)
        _words(drawing, place, method, titles[place], domain, dark)
    _name_scores(drawing, methods, scores, dark)
    return drawing.figure()


def _suffixes(place: int) -> tuple[str, str]:
    return ("" if place == 0 else str(2 * place + 1)), str(2 * place + 2)


def _axes(
    drawing: _Drawing, place: int, method: MethodView, domain: tuple[float, float], top: float,
    scores: tuple[float, float], paths: Sequence[Any], dark: bool,
) -> None:  # fmt: skip
    upper, lower = _suffixes(place)
    below = {} if method.path is None else _parameter_axis(method.path, dark)
    above = {**below, "title": None, "showticklabels": False, "matches": f"x{lower}"}
    first = place == 0
    score_name = paths[0].score_name if paths else "score"
    score_ticks = {"tickformat": ".0%"} if score_name in SHARES else {}
    quiet = {"showticklabels": first, "automargin": False, "nticks": 4}
    plain = style.axis("", dark, automargin=False, showgrid=False)
    drawing.layout.update(
        {
            f"xaxis{upper}": {**plain, **above, "domain": domain, "anchor": f"y{upper}"},
            f"xaxis{lower}": {**plain, **below, "domain": domain, "anchor": f"y{lower}"},
            f"yaxis{upper}": style.axis(
                "share of weight" if first else "", dark, range=[-0.01 * top, top], tickformat=".0%", **quiet,
                domain=WEIGHT_ROWS, anchor=f"x{upper}",
            ),
            f"yaxis{lower}": style.axis(
                score_name if first else "", dark, range=list(scores), **score_ticks, **quiet,
                domain=SCORE_ROWS, anchor=f"x{lower}",
            ),
        }
    )  # fmt: skip


def _away_from_ends(ticks: list[tuple[float, str]], positions: Array) -> list[tuple[float, str]]:
    """The ticks whose text does not reach over an end of a logarithmic axis to that of the next method; all where none
    would stay.
    """
    low, high = np.log(positions.min()), np.log(positions.max())
    inner = [
        (value, text) for value, text in ticks if TICK_ROOM <= (np.log(value) - low) / (high - low) <= 1 - TICK_ROOM
    ]
    return inner or ticks


def _parameter_axis(path: Any, dark: bool) -> dict[str, Any]:
    title, positions = AXIS_TITLES.get(path.param, path.param), path_positions(path)
    if path.param == "s":
        ends = [float(positions.min()) - 0.5, float(positions.max()) + 0.5]
        return style.axis(title, dark, tickformat="d", showgrid=False, nticks=6, automargin=False, range=ends)
    if path.param != "p":
        found = style.log_axis(title, positions, dark, automargin=False)
        kept = list(zip(found["tickvals"], found["ticktext"], strict=True))[:: 1 + len(found["tickvals"]) // 5]
        kept = _away_from_ends(kept, positions)
        return {
            **found,
            "tickangle": 0,
            "tickvals": [value for value, _ in kept],
            "ticktext": [text for _, text in kept],
        }
    return norm_axis(path.values, title, NORM_TICKS, 0.13, dark, automargin=False)


def _weights(
    drawing: _Drawing, place: int, path: Any, named: Sequence[int], colours: Sequence[str], dark: bool
) -> None:
    shares = shares_of_weight(path.weights)
    rest = [m for m in range(shares.shape[1]) if m not in named]
    grey = style.faded(style.theme(dark).grey)
    upper, _ = _suffixes(place)
    drawn = [(rest, {"color": grey, "width": 1}, "")]
    drawn += [
        ([m], {"color": colours[m], "width": 2}, glyph)
        for m, glyph in reversed([*zip(named, style.GLYPHS, strict=False)])
    ]
    for kernels, line, glyph in drawn:
        for trace in kernel_lines(path, shares, kernels, line, "%{y:.1%} of the weight"):
            marker = {"symbol": glyph or "circle", "size": 7, "maxdisplayed": MARKS, "color": line["color"]}
            mode = "lines+markers" if glyph and trace["mode"] == "lines" else trace["mode"]
            drawing.line(**{**trace, "mode": mode}, marker=marker, xaxis=f"x{upper}", yaxis=f"y{upper}")


def _scores(drawing: _Drawing, place: int, path: Any, dark: bool) -> None:
    _, lower = _suffixes(place)
    tone = style.theme(dark)
    positions = path_positions(path)
    order = np.argsort(positions, kind="stable")
    looks = (("train", path.train_score, tone.grey, "solid"), ("validation", path.val_score, tone.ink, "dash"))
    for name, scores, colour, dash in looks:
        drawing.line(
            x=positions[order],
            y=np.asarray(scores, dtype=float)[order],
            name=name,
            mode="lines" if len(order) > 1 else "markers",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"{name} {path.score_name} %{{y:.3f}} at %{{x:.3g}}<extra></extra>",
            xaxis=f"x{lower}",
            yaxis=f"y{lower}",
        )


def _titles(names: Sequence[str]) -> list[str]:
    """The titles of the methods: what all of them begin with is said once, above the first, to leave room for the
    rest.
    """
    heads, tails = [name.partition(", ")[0] for name in names], [name.partition(", ")[2] for name in names]
    if len(names) > 1 and len(set(heads)) == 1 and all(tails):
        short = [style.short(tail, TITLE_LETTERS // len(names)) for tail in tails]
        return [f"{style.short(heads[0], TITLE_LETTERS)}<br>{short[0]}", *short[1:]]
    return [style.short(name, TITLE_LETTERS // len(names)) for name in names]


def _words(
    drawing: _Drawing, place: int, method: MethodView, title: str, domain: tuple[float, float], dark: bool
) -> None:
    tone = style.theme(dark)
    paper = {"xref": "paper", "yref": "paper"}
    drawing.notes.append(style.words(
        title, tone.ink, name="title", x=domain[0], xanchor="left", y=1.0, yanchor="bottom", align="left", yshift=5,
        **paper,
    ))  # fmt: skip
    if method.path is None:
        drawing.notes.append(style.words(
            _wrapped(method.note), tone.muted, name="note", x=sum(domain) / 2, xanchor="center", y=0.55,
            yanchor="middle", **paper,
        ))  # fmt: skip
    elif method.waiting:
        drawing.shapes.append({
            "type": "rect", "x0": domain[0] - 0.01, "x1": domain[1] + 0.01, "y0": -0.15, "y1": 1.0,
            "fillcolor": style.faded(tone.paper, 0.33), "line": {"width": 0}, **paper,
        })  # fmt: skip


def _wrapped(note: str, width: int = 30) -> str:
    """A note in lines short enough for a column, at most six of them."""
    lines = [""]
    for word in note.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word[:width]}".strip()
    cut = lines if len(lines) <= 6 else [*lines[:6], "…"]
    return "<br>".join(html.escape(line, quote=False) for line in cut)


def _name_scores(drawing: _Drawing, methods: Sequence[MethodView], limits: tuple[float, float], dark: bool) -> None:
    """Name the two lines once, beside the last method that has them."""
    drawn = [place for place, method in enumerate(methods) if method.path is not None]
    if not drawn or drawn[-1] != len(methods) - 1:
        return
    path, tone = methods[drawn[-1]].path, style.theme(dark)
    last = int(np.argmax(path_positions(path)))
    ends = [("train", float(path.train_score[last]), tone.grey), ("validation", float(path.val_score[last]), tone.ink)]
    shown = [end for end in ends if np.isfinite(end[1])]
    panel = (drawing.layout["height"] - 68) * (SCORE_ROWS[1] - SCORE_ROWS[0])
    scale = panel / (limits[1] - limits[0])
    places = style.spread([(y - limits[0]) * scale for _, y, _ in shown], style.LABEL_GAP, 0.0, panel)
    _, lower = _suffixes(drawn[-1])
    for (name, y, colour), after in zip(shown, places, strict=True):
        drawing.notes.append(
            style.words(
                name,
                style.readable(colour, dark, style.TEXT_CONTRAST),
                name="end label",
                x=1.0,
                xref=f"x{lower} domain",
                xanchor="left",
                xshift=6,
                y=y,
                yref=f"y{lower}",
                yanchor="middle",
                yshift=float(after - (y - limits[0]) * scale),
            )
        )


def _alt(methods: Sequence[MethodView]) -> str:
    sentences = []
    for method in methods:
        if method.path is None:
            sentences.append(f"{method.title}: no path yet.")
            continue
        scores = np.asarray(method.path.val_score, dtype=float)
        at = int(np.nanargmax(scores)) if np.isfinite(scores).any() else len(scores) - 1
        used = int(np.count_nonzero(np.asarray(method.path.weights)[at] > 0))
        sentences.append(
            f"{method.title}: highest validation {method.path.score_name} {style.number(scores[at])} at "
            f"{captions.label(method.path.param, method.path.values[at])} with {style.counted(used, 'kernel')}."
        )
    return f"There are {len(methods)} methods side by side. " + " ".join(sentences)


# Sparse against non-sparse


def sparsity_figure(
    norms: Sequence[float], levels: Sequence[str], means: Any, errors: Any, floor: float, *, dark: bool = False
) -> go.Figure:
    """Test error in % against p, one line per sparsity level, and the Bayes error that no method can beat.

    ``norms`` (P,) with infinity last; ``levels`` names of the R lines; ``means`` (R, P), NaN where nothing is measured
    yet; ``errors`` (R, P) standard errors of the means, NaN without repetitions; ``floor`` the Bayes error in %.
    """
    table, spread = np.asarray(means, dtype=float), np.asarray(errors, dtype=float)
    measured = [row for row in range(len(levels)) if np.isfinite(table[row]).any()]
    if not measured:
        return style.empty_figure("No point is measured yet. Start the runs, and they appear one by one.", dark)
    finite = [p for p in norms if np.isfinite(p)]
    places = np.array([p if np.isfinite(p) else 2 * max(finite) for p in norms])
    top = 1.06 * float(np.nanmax(table + np.nan_to_num(spread)))
    figure = style.new_figure(
        _sparsity_alt(norms, levels, table, floor), dark, 360, margin={"l": 52, "r": 150, "t": 16, "b": 44}
    )
    ends = []
    for row in measured:
        colour = level_colour(row, dark)
        bars = {"type": "data", "array": np.nan_to_num(spread[row]), "width": 4, "thickness": 1.2}
        figure.add_scatter(
            x=places, y=table[row], name=levels[row], mode="lines+markers", line={"color": colour, "width": 2},
            marker={"symbol": SYMBOLS[row % len(SYMBOLS)], "size": 8},
            error_y=bars if np.isfinite(spread[row]).any() else None,
            text=[style.number(p) for p in norms],
            hovertemplate=f"{html.escape(levels[row])}<br>p = %{{text}}: %{{y:.1f}} % test error<extra></extra>",
        )  # fmt: skip
        ends.append(style.EndLabel(levels[row], float(table[row][np.isfinite(table[row])][-1]), colour))
    tone = style.theme(dark)
    figure.add_hline(floor, line={"color": tone.muted, "width": 1.5, "dash": "dot"}, name="Bayes error")
    figure.add_annotation(
        style.words(
            f"Bayes error {style.number(floor)} %",
            tone.muted,
            x=0,
            xref="paper",
            xanchor="left",
            y=floor,
            yanchor="top",
        )
    )
    ticks: dict[str, Any] = {"tickvals": list(places), "ticktext": [style.number(p) for p in norms]}
    figure.layout.xaxis = style.log_axis("p, norm of the weights", places, dark, **ticks)
    figure.layout.yaxis = style.axis("test error, %", dark, range=[0, top])
    style.label_ends(figure, ends, (0.0, top), dark)
    return figure


def level_colour(row: int, dark: bool) -> str:
    """The colour of a sparsity level: one of six distinct ones, readable as text."""
    hues = style.six_hues(dark)
    return style.readable(hues[row % len(hues)], dark, style.TEXT_CONTRAST)


def _sparsity_alt(norms: Sequence[float], levels: Sequence[str], table: Array, floor: float) -> str:
    sentences = []
    for level, line in zip(levels, table, strict=True):
        if np.isfinite(line).any():
            best = int(np.nanargmin(line))
            sentences.append(f"{level}: least {style.number(line[best])} % at p = {style.number(norms[best])}.")
    return f"Test error against p; the Bayes error is {style.number(floor)} %. " + " ".join(sentences)
