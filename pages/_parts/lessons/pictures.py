"""Lessons: which picture each lesson has, from its result to the scene at every position of the slider."""

from collections.abc import Callable
from typing import Any

from pages._parts.lessons import bands, copies, hull, norms, prices
from pages._parts.players.scene import Scene

PICTURES: dict[str, Callable[[Any, bool], Scene]] = {
    "sparse": norms.sparse,
    "dense": norms.dense,
    "copies": copies.duplicates,
    "prices": prices.ridge,
    "hull": hull.hulls,
    "bands": bands.spectra,
}
