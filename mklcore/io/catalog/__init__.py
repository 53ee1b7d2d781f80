"""What the app says of each algorithm: its words, formula, controls, presets and paths.

``ESTIMATORS`` lists the algorithms; pages build their select boxes, sliders and explanations from
it alone. Listing and describing them imports neither an estimator nor scikit-learn. A module of
your own adds its entries when ``plugins`` loads it.
"""

from mklcore.io.catalog.algorithm import (
    EVERY_TASK,
    NOVELTY,
    Algorithm,
    Control,
    Live,
    PathParameter,
    Preset,
    Variant,
)
from mklcore.io.catalog.registry import ESTIMATORS

__all__ = [
    "ESTIMATORS",
    "EVERY_TASK",
    "NOVELTY",
    "Algorithm",
    "Control",
    "Live",
    "PathParameter",
    "Preset",
    "Variant",
]
