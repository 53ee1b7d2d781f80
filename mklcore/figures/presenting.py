"""Figures for a room: the same picture with larger type, thicker lines and more height."""

from __future__ import annotations

from mklcore.figures.graph_objects import go

LARGER = 1.35


def enlarged(figure: go.Figure, factor: float = LARGER) -> go.Figure:
    """A copy of ``figure`` with type, margins, height, lines and markers ``factor`` times as large; the data stay as
    they are.
    """
    larger = go.Figure(figure)
    layout = larger.layout
    if layout.height:
        layout.height = layout.height * factor
    if layout.font.size:
        layout.font.size = layout.font.size * factor
    for side in ("l", "r", "t", "b"):
        if layout.margin[side] is not None:
            layout.margin[side] = layout.margin[side] * factor
    larger.for_each_xaxis(lambda axis: _axis(axis, factor))
    larger.for_each_yaxis(lambda axis: _axis(axis, factor))
    larger.for_each_annotation(lambda note: _note(note, factor))
    larger.for_each_trace(lambda trace: _trace(trace, factor))
    return larger


def _axis(axis: go.layout.XAxis | go.layout.YAxis, factor: float) -> None:
    for font in (axis.tickfont, axis.title.font):
        if font.size:
            font.size = font.size * factor


def _note(note: go.layout.Annotation, factor: float) -> None:
    if note.font.size:
        note.font.size = note.font.size * factor
    for shift in ("xshift", "yshift"):
        if note[shift]:
            note[shift] = note[shift] * factor


def _trace(trace: go.Scatter | go.Bar, factor: float) -> None:
    if trace.type != "scatter":
        return
    if trace.line.width:
        trace.line.width = trace.line.width * factor
    size = trace.marker.size
    if isinstance(size, int | float):
        trace.marker.size = size * factor
