"""Explore, the path: weights as bars that follow the cursor, beside weights and scores along the whole path."""

from dataclasses import replace

import streamlit as st

from mklcore.figures import captions, moving, score_path, weight_path
from pages._parts.derive import paths, references
from pages._parts.drawing import charts
from pages._parts.explore import columns, views
from pages._parts.export import downloads
from pages._parts.params import places as params_places
from pages._parts.players import path_player
from pages._parts.session import history


def draw(shown: paths.Answer, index: int, baselines: columns.Baselines) -> list[path_player.View]:
    """Draw bars and figures; return what follows the cursor."""
    path, kernels = shown.path, views.kernels(shown.path)
    left, right = st.columns((views.LEFT, sum(views.RIGHT)), gap="medium")
    with left:
        rows = moving.kernel_rows(path, dark=charts.is_dark())
        most = moving.longest_kernel(kernels.of(path), rows, len(path.kernel_names))
        path_player.bars(
            kernels, path, index, rows, "Weights θ at ", waiting=shown.older, most=most, sortable=True,
        )  # fmt: skip
    with right:
        _figures(shown, baselines)
    return [kernels]


def _figures(shown: paths.Answer, baselines: columns.Baselines) -> None:
    """Draw the weights and the scores along the path, over which the browser lays the cursor."""
    dark, path = charts.is_dark(), paths.picture(shown.params, shown.path, shown.tag)[1]
    named = replace(path, kernel_names=captions.labels(path.kernel_names, path.kernel_families))
    plain = tuple(references.lines(baselines))
    score_name = f"{path.score_name[:1].upper()}{path.score_name[1:]}"
    cursor = {"chart": path_player.CHART}
    drawn = {
        path_player.CHART: (
            "Solution path", moving.weights_chart(path, dark, figure=path_player.CHART, **cursor),
            lambda k: weight_path(named, k),
        ),
        path_player.SCORES: (
            score_name, moving.scores_chart(path, dark, figure=path_player.SCORES, references=plain, **cursor),
            lambda k: score_path(path, k, references=plain),
        ),
    }  # fmt: skip
    places = st.columns(views.RIGHT, gap="small")
    for place, (key, (title, made, at)) in zip(places, drawn.items(), strict=True):
        with place:
            take = lambda at=at: at(params_places.place(path, history.current().at).index)  # noqa: E731  where the cursor is by then
            downloads.titled(f":small[**{title}**]", take, title)
            if made is not None:
                path_player.chart(key, made, waiting=shown.older)
