"""Several paths side by side as one file: one slider leads weights, scores and facts of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import ParameterError
from mklcore.figures import captions, scenes, side_by_side, style
from mklcore.figures.compare import AXIS_TITLES, peak_shares, shares_of_weight
from mklcore.figures.paths import measured_scores
from mklcore.figures.side_by_side import NAME_LENGTH
from mklcore.figures.steps import Steps, nearest_to, steps
from mklcore.figures.takeaway import charts
from mklcore.figures.takeaway.page import About, Mount, explanation, page, place
from mklcore.figures.takeaway.paths import checked

CHART = "methods"
ALIKE = 1.001  # times the smallest share in use: kernels that weigh the same have no largest one


def methods_page(
    paths: Mapping[str, Any],
    about: About | None = None,
    *,
    step: int | None = None,
    columns: Mapping[str, Sequence[int]] | None = None,
) -> str:
    """One HTML file with several paths over the same kernels side by side, by their titles, led by one slider, offline.

    The slider begins where the first method scores best, or at ``step``. ``columns`` name the places of the kernels
    that see each column of a table: then its share of the weight is stated as well. Raises ``ParameterError`` for no
    paths, paths without points or over different kernels, and columns of kernels that there are not.
    """
    if not paths:
        raise ParameterError("There is no method to draw. Hand over at least one path, by its title.")
    best = tuple(checked(path, None) for path in paths.values())
    found = steps(list(paths.values()), [path.param for path in paths.values()])
    if step is not None and not 0 <= step < len(found.values):
        raise ParameterError(f"The slider has steps 0 to {len(found.values) - 1}; got the step {step}.")
    start = nearest_to(found, best) if step is None else step
    described = about or About()
    described = replace(described, title=described.title or "Kernel weights side by side")
    body = (
        f'<div class="side">{place("lead", leads=True)}{place("say", "say")}{place("chart")}{place("methods")}</div>'
        f'<div class="more"><div>{explanation(described)}</div></div>'
    )
    return page(described, body, lambda dark: _mounts(paths, found, start, columns or {}, dark))


def _mounts(
    paths: Mapping[str, Any], found: Steps, start: int, columns: Mapping[str, Sequence[int]], dark: bool
) -> list[Mount]:
    every = list(paths.values())
    shown = side_by_side.order(every)
    chart = _chart(paths, found, dark)
    each = [
        side_by_side.method(title, [path], panel["xs"], shown)
        for (title, path), panel in zip(paths.items(), chart["panels"][::2], strict=True)
    ]
    rows = side_by_side.kernels(every, shown, dark=dark)
    if columns:
        rows = _with_columns(rows, each, every, columns, dark)
    lead = {
        "chart": CHART,
        "methods": each,
        **side_by_side.led(found),
        "place": {"step": start, "free": False, "places": list(found.places[start]), "label": found.labels[start]},
        "turn": 1,
    }
    table = {
        "chart": CHART, "facts": side_by_side.facts(every), **rows, "methods": each, "most": side_by_side.longest(each),
    }  # fmt: skip
    texts = _words(paths, found)
    say = {"chart": CHART, "set": "", "texts": texts, "widths": [1], "index": start, "waiting": False}
    return [
        Mount("texts", "say", say), Mount("chart", "chart", chart), Mount("compare", "lead", lead),
        Mount("methods", "methods", table),
    ]  # fmt: skip


def _with_columns(
    rows: dict[str, Any],
    each: list[dict[str, Any]],
    paths: Sequence[Any],
    columns: Mapping[str, Sequence[int]],
    dark: bool,
) -> dict[str, Any]:
    """The rows of the kernels with one for each column below them, the largest anywhere first; methods get their
    shares.
    """
    last = len(paths[0].kernel_names) - 1
    strange = [name for name, kernels in columns.items() if not all(0 <= m <= last for m in kernels)]
    if strange:
        raise ParameterError(f"The paths have kernels 0 to {last}; got others for {', '.join(strange)}.")
    tables = [_by_column(path, columns) for path in paths]
    order = np.argsort(-np.concatenate(tables).max(axis=0), kind="stable")[: side_by_side.N_BARS]
    for method, table in zip(each, tables, strict=True):
        shares = np.round(table[:, order], 5).tolist()
        method["weights"] = [kernels + own for kernels, own in zip(method["weights"], shares, strict=True)]
    names = [list(columns)[g] for g in order]
    heading = "Columns" if len(order) == len(columns) else f"{len(order)} of {len(columns)} columns"
    return {
        "names": [*rows["names"], *(style.cut(name, NAME_LENGTH) for name in names)],
        "full": [*rows["full"], *names],
        "colours": [*rows["colours"], *(style.theme(dark).grey for _ in names)],
        "marks": [*rows["marks"], *("" for _ in names)],
        "parts": {str(len(rows["names"])): heading},
    }


def _by_column(path: Any, columns: Mapping[str, Sequence[int]]) -> Array:
    shares = shares_of_weight(path.weights)
    return np.column_stack([shares[:, list(kernels)].sum(axis=1) for kernels in columns.values()])


def _words(paths: Mapping[str, Any], found: Steps) -> list[list[list[captions.Line]]]:
    """What is said at every step: a line per method with the kernels in use, the score, and how sure the answer is."""
    listed = [_lines(title, path) for title, path in paths.items()]
    return [
        [[lines[at] for lines, at in zip(listed, points, strict=True) if at is not None]] for points in found.indices
    ]


def _lines(title: str, path: Any) -> list[captions.Line]:
    names, shares = captions.labels(path.kernel_names, path.kernel_families), shares_of_weight(path.weights)
    return [_line(title, path, k, names, shares[k]) for k in range(len(path.values))]


def _line(title: str, path: Any, index: int, names: Sequence[str], shares: Array) -> captions.Line:
    line = [["b", title], ["", f" at {captions.label(path.param, float(path.values[index]))}: "]]
    line += captions.cost(path, index)[0]
    top = int(np.argmax(shares))
    if shares[top] > ALIKE * np.min(shares[shares > 0], initial=1.0):
        line += [["", ", the largest "], ["b", names[top]], ["", f" ({100 * shares[top]:.0f} %)"]]
    return [
        *line,
        ["", "; "],
        *captions.measured(path, index)[1],
        ["", ". "],
        *captions.certificate(path, index, short=True),
    ]


def _chart(paths: Mapping[str, Any], found: Steps, dark: bool) -> dict[str, Any]:
    every = list(paths.values())
    peaks = peak_shares(every)
    top = 1.05 * (float(peaks.max(initial=0.0)) or 1.0)
    limits = style.around(measured_scores(every))
    panels: list[dict[str, Any]] = []
    for method, (title, path) in enumerate(paths.items()):
        panels += _panels(method, title, path, peaks, top, limits, dark, last=method == len(every) - 1)
    names = [f"{title}: {captions.symbol(path.param)}" for title, path in paths.items()]
    return {
        "chart": CHART,
        "figure": CHART,
        "columns": len(every),
        "rows": [12.5, 10.5],
        "left": 9.5,
        "narrow": 3,
        "right": 5.25,
        "gap": 1.5,
        "panels": panels,
        "points": [list(points) for points in found.indices],
        "alt": f"{style.counted(len(every), 'method')} side by side: shares of weight above, scores below. "
        f"{'; '.join(names)}.",
        "said": [_said(paths, points) for points in found.indices],
    }


def _panels(
    method: int, title: str, path: Any, peaks: Array, top: float, limits: tuple[float, float], dark: bool, *, last: bool
) -> list[dict[str, Any]]:
    """The panel of the shares and that of the scores; ticks and titles of the upright axes stand left of the first
    method.
    """
    x = charts.axis_of(path, AXIS_TITLES.get(path.param, path.param))
    shares = charts.score_axis("accuracy", 0.0, top, "share of weight" if method == 0 else "")
    scores = charts.score_axis(path.score_name, *limits, path.score_name if method == 0 else "")
    lines = charts.weight_lines(path, shares_of_weight(path.weights), peaks, dark)
    measured, ends = charts.score_lines(path, dark, [])
    measured = [{**line, "dot": True} for line in measured]
    if last:
        measured = charts.labelled(measured, dict(zip(ends, ends, strict=True)), scores, path, ends, room=0.16)
    upper, lower = ("" if method == 0 else str(2 * method + 1)), str(2 * method + 2)
    above = charts.panel_of(path, _bare(x), shares, lines, suffix=upper, column=method, title=title, method=method)
    below = charts.panel_of(
        path, x, scores, measured, suffix=lower, column=method, row=1, method=method, marks=charts.marks_of(path)
    )
    if method:
        above["y"]["ticks"] = [(at, "") for at, _ in above["y"]["ticks"]]
        below["y"]["ticks"] = [(at, "") for at, _ in below["y"]["ticks"]]
    return [above, below]


def _bare(x: scenes.Scale) -> scenes.Scale:
    return replace(x, title="", ticks=())


def _said(paths: Mapping[str, Any], points: Sequence[int | None]) -> str:
    sentences = [
        f"{title} at {side_by_side.position_facts(path, at)[0]}: validation {path.score_name} "
        f"{side_by_side.position_facts(path, at)[1]}, "
        f"{side_by_side.position_facts(path, at)[3]} kernels, {side_by_side.certificate(path, at)[2:]}"
        for (title, path), at in zip(paths.items(), points, strict=True)
        if at is not None
    ]
    return f"{'; '.join(sentences)}."
