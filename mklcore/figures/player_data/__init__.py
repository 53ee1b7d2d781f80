"""What the players show, as JSON: a module for each kind of player, and one for whole pages.

``path_json`` and ``methods_json`` are mounted by the app, written into pages of one file and framed
in notebooks; ``picture_json`` draws a lesson with the same players. They read the fields of a
``Path`` alone. Colours are those of one theme; everything else is the same in both themes.
"""

from mklcore.figures.player_data.bars import (
    bars_first,
    column_bars,
    column_shares,
    heights,
    order,
    weight_bars,
)
from mklcore.figures.player_data.charts import scores_chart, weights_chart
from mklcore.figures.player_data.methods import MethodView, methods_json
from mklcore.figures.player_data.path import path_json, picture_json, slider, texts
from mklcore.figures.player_data.sliders import Places, SharedSlider, shared_slider

__all__ = [
    "MethodView",
    "Places",
    "SharedSlider",
    "bars_first",
    "column_bars",
    "column_shares",
    "heights",
    "methods_json",
    "order",
    "path_json",
    "picture_json",
    "scores_chart",
    "shared_slider",
    "slider",
    "texts",
    "weight_bars",
    "weights_chart",
]
