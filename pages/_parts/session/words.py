"""Session in words: how the screen says texts of the pages, text that came from a file, times and scores."""

import math
import re
from pathlib import Path as File

from mklcore.figures import style
from mklcore.scoring import ACCEPTED
from mklcore.scoring import SHARES as SHARES_OF_ROWS

SHARES = SHARES_OF_ROWS | {ACCEPTED}  # scores that are shares of rows
SCALES = {  # what a normalisation does to kernels
    "multiplicative": "scaled to unit variance",
    "spherical": "scaled to rows of unit length",
    "trace": "scaled to trace 1",
    "diag": "scaled to a largest entry of 1",
    "none": "not scaled",
}


def text(name: str) -> str:
    """Return one of the texts in ``pages/_parts/text``."""
    return (File(__file__).parent / "text" / f"{name}.md").read_text(encoding="utf-8")


def plain(text: object) -> str:
    """Return text that came from a file as it is, with what Markdown would read as signs made harmless."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>$:])", r"\\\1", str(text))


def seconds(value: float) -> str:
    """Return a time with one digit after the point, as the screen says it."""
    return "< 0.1 s" if value < 0.1 else f"{value:.1f} s"


def score(name: str, value: float | None, mark: str = "") -> str:
    """Return a score as the screen says it, its figure between ``mark``s: shares of rows as percentages."""
    if value is None or math.isnan(value):
        return "not measured"
    return f"{mark}{100 * value:.1f} %{mark}" if name in SHARES else f"{mark}{style.number(value)}{mark}"
