"""One prediction taken apart: what every column of the table adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

MOST_STEPS, STEP_HEIGHT = 12, 26
BASE = "every column drawn by itself"


def waterfall(
    values: Any,
    names: Sequence[str],
    base: float,
    *,
    ends: tuple[str, str] = ("", ""),
    before: float | None = None,
    step: float = 0.0,
    title: str = "f(x)",
    limit: int = MOST_STEPS,
    dark: bool = False,
) -> go.Figure:
    """A waterfall from the base to the prediction, one bar per column of the table, in the given order.

    ``values`` (d,) the Shapley values of the columns ``names``, ``base`` the prediction with every column drawn by
    itself; ``ends`` what stands at both ends beside their numbers, as a probability; ``before`` the prediction at an
    earlier row, a dotted line. Numbers are rounded to ``step``. Columns beyond ``limit`` are one bar. ParameterError
    where lengths disagree.
    """
    parts = np.asarray(values, dtype=float)
    if parts.ndim != 1 or parts.size != len(names):
        raise ParameterError(f"One value and one name per column; got {parts.shape} and {len(names)} names.")
    rest = parts.size - limit
    if rest > 1:
        parts = np.append(parts[:limit], parts[limit:].sum())
        names = [*names[:limit], f"{rest} others together"]
    reached = base + np.concatenate([[0.0], np.cumsum(parts)])
    end, said = float(reached[-1]), [style.rounded_to(value, step) for value in (base, float(reached[-1]))]
    labels = [BASE, *names, "prediction"]
    tone, hues = style.theme(dark), style.six_hues(dark)
    up, down = (style.readable(hue, dark) for hue in (hues[0], hues[2]))
    colours = [tone.grey, *(up if part >= 0 else down for part in parts), tone.ink]
    texts = [
        f"{said[0]} {ends[0]}".strip(),
        *(style.rounded_to(part, step, sign=True) for part in parts),
        f"{said[1]} {ends[1]}".strip(),
    ]
    low, high = style.around(reached, 0.25)
    figure = style.new_figure("", dark, height=70 + STEP_HEIGHT * len(labels), bargap=0.35, margin={"l": 8, "t": 8})
    mark = 0.006 * (high - low)  # both ends are marks, not bars from a zero that may be far away
    starts = [base - mark / 2, *reached[:-1], end - mark / 2]
    figure.add_bar(
        base=starts, x=[mark, *parts, mark], y=np.arange(len(labels)), orientation="h", marker={"color": colours},
        text=texts, textposition="outside", textfont={"color": tone.ink, "size": style.LABEL_SIZE}, cliponaxis=False,
        customdata=[style.short(label, 60) for label in labels],
        hovertemplate="%{customdata}: %{text}<extra></extra>", constraintext="none",
    )  # fmt: skip
    if before is not None:
        figure.add_vline(x=before, line={"dash": "dot", "width": 2, "color": tone.muted})
    figure.layout.xaxis = style.axis(title, dark, range=[low, high])
    figure.layout.yaxis = style.row_axis([style.short(label, 30) for label in labels], dark)
    order = [j for j in np.argsort(-np.abs(parts), kind="stable")[:3] if parts[j] != 0.0]
    largest = [f"{names[j]} {style.rounded_to(parts[j], step, sign=True)}" for j in order]
    figure.layout.meta["alt"] = (
        f"From {said[0]}, {BASE}, to the prediction {said[1]}. "
        f"{f'The largest parts: {style.joined(largest)}.' if largest else 'No column adds anything.'}"
    )
    return figure
