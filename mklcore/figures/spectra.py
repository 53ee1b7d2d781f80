"""Which bands of a spectrum a model uses: the mean spectrum, the selected bands behind it, the weights below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.arrays import Array, Indices
from mklcore.errors import ParameterError
from mklcore.figures import style
from mklcore.figures.graph_objects import go

USED = 1e-6  # share of the largest weight above which a kernel counts as used
SPLIT = (0.34, 0.42)  # the weights end and the spectrum begins at these heights


def selected_bands(
    wavelengths: Any,
    mean: Any,
    edges: Any,
    weights: Any,
    names: Sequence[str],
    families: Sequence[str],
    *,
    spread: Any = None,
    unit: str = "nm",
    dark: bool = False,
) -> go.Figure:
    """The mean spectrum ``mean`` (d,) over ``wavelengths`` (d,), with the bands of every used kernel shaded behind it.

    ``edges`` (M, 2): lowest and highest wavelength of each kernel; ``weights`` (M,), or shares of ||f||, drawn below as
    bars in the colours of the kernels, stacked where several kernels share a band; ``spread`` (d,) is drawn around the
    mean; ``unit`` may be empty. Raises ``ParameterError`` where the lengths disagree.
    """
    places, level = np.asarray(wavelengths, dtype=float), np.asarray(mean, dtype=float)
    limits, theta = np.asarray(edges, dtype=float), np.asarray(weights, dtype=float)
    _check(places, level, limits, theta, names, families, spread)
    used = np.flatnonzero(theta > USED * theta.max(initial=0.0))
    figure = style.new_figure("", dark, height=420, barmode="stack", bargap=0.0)
    _draw_spectrum(figure, places, level, spread, dark)
    bands = sorted({(float(limits[m, 0]), float(limits[m, 1])) for m in used})
    room = _half_step(places)
    for low, high in bands:
        band = {"x0": low - room, "x1": high + room, "line": {"width": 0}, "layer": "below"}
        figure.add_shape(
            type="rect", yref="paper", y0=0, y1=1, fillcolor=style.faded(style.theme(dark).grey, 0.22), **band
        )
    _draw_weights(figure, limits, theta, used, names, families, room, dark)
    title, ends = f"wavelength ({unit})" if unit else "wavelength", [places.min() - room, places.max() + room]
    figure.layout.xaxis = style.axis(title, dark, anchor="y2", range=ends, showgrid=False)
    figure.update_layout(
        yaxis=style.axis("mean spectrum", dark, domain=[SPLIT[1], 1.0]),
        yaxis2=style.axis("weight β", dark, domain=[0.0, SPLIT[0]], rangemode="tozero", nticks=4),
    )
    figure.layout.meta["alt"] = _as_text(bands, used.size, theta, unit, _all_bands(limits))
    return figure


def _check(
    places: Array,
    level: Array,
    limits: Array,
    theta: Array,
    names: Sequence[str],
    families: Sequence[str],
    spread: Any,
) -> None:
    M = theta.size
    if places.ndim != 1 or places.size < 2 or level.shape != places.shape:
        raise ParameterError(
            f"A spectrum needs two or more wavelengths and one mean for each; got {places.shape}, {level.shape}."
        )
    if spread is not None and np.shape(spread) != places.shape:
        raise ParameterError(f"The spread needs one value per wavelength, {places.shape}; got {np.shape(spread)}.")
    if limits.shape != (M, 2) or not M == len(names) == len(families):
        raise ParameterError(
            f"{M} weights need edges of shape ({M}, 2), {M} names and {M} families; got {limits.shape}, {len(names)} "
            f"and "
            f"{len(families)}."
        )


def _half_step(places: Array) -> float:
    return 0.5 * float(np.median(np.diff(np.sort(places))))


def _all_bands(limits: Array) -> int:
    return len({(float(low), float(high)) for low, high in limits})


def _draw_spectrum(figure: go.Figure, places: Array, level: Array, spread: Any, dark: bool) -> None:
    tone = style.theme(dark)
    if spread is not None:
        width = np.asarray(spread, dtype=float)
        figure.add_scatter(
            x=np.concatenate([places, places[::-1]]),
            y=np.concatenate([level + width, (level - width)[::-1]]),
            fill="toself",
            fillcolor=style.faded(tone.grey, style.STEP_BACK),
            line={"width": 0},
            hoverinfo="skip",
            mode="lines",
        )
    figure.add_scatter(
        x=places,
        y=level,
        mode="lines",
        line={"color": tone.ink, "width": 2},
        hovertemplate="%{x:.4g}: %{y:.3g}<extra></extra>",
    )


def _draw_weights(
    figure: go.Figure,
    limits: Array,
    theta: Array,
    used: Indices,
    names: Sequence[str],
    families: Sequence[str],
    room: float,
    dark: bool,
) -> None:
    colours = style.kernel_colours(families, theta, dark)
    for m in used:
        low, high = limits[m]
        figure.add_bar(
            x=[(low + high) / 2],
            y=[theta[m]],
            width=[high - low + room],
            marker={"color": colours[m], "line": {"width": 0}},
            text=[style.short(names[m], 60)],
            textposition="none",
            hovertemplate="%{text}<br>β = %{y:.3g}<extra></extra>",
            yaxis="y2",
        )


def _as_text(bands: list[tuple[float, float]], n_used: int, theta: Array, unit: str, n_bands: int) -> str:
    if not bands:
        return f"Mean spectrum. None of {style.counted(theta.size, 'kernel')} is used, so no band is shaded."
    ranges = style.joined([f"{low:g} to {high:g}" for low, high in bands[:6]]) + (
        " and others" if len(bands) > 6 else ""
    )
    return (
        f"Mean spectrum with {style.counted(len(bands), 'band')} of {n_bands} shaded, those that a kernel in use "
        f"looks at: "
        f"{f'{ranges} {unit}'.rstrip()}. {n_used} of {style.counted(theta.size, 'kernel')} "
        f"{'is' if n_used == 1 else 'are'} used."
    )
