"""Which picture each lesson has, from its result to the scene at every position of a slider; one file each."""

from collections.abc import Callable
from typing import Any

from mklcore.figures.scenes import Scene
from mklcore.lessons.pictures import bands, copies, edge, greedy, hull, landmarks, letters, norms, prices

PICTURES: dict[str, Callable[[Any, bool], Scene]] = {
    "sparse": norms.sparse,
    "dense": norms.dense,
    "copies": copies.duplicates,
    "prices": prices.ridge,
    "hull": hull.hulls,
    "bands": bands.spectra,
    "letters": letters.weighing,
    "edge": edge.beyond,
    "landmarks": landmarks.few,
    "greedy": greedy.against_convex,
}
