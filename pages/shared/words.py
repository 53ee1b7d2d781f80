"""Session: how the screen says texts of the pages, text that came from a file, times and scores."""

import re
from pathlib import Path as File

from mklcore.figures.captions import SHARES, score, seconds

__all__ = ["SHARES", "plain", "score", "seconds", "text"]
EARLIER = "Computed earlier with these settings. The models are being fitted here; what needs them appears then."
TASKS = {
    "binary": "two classes",
    "multiclass": "more than two classes",
    "regression": "a number (regression)",
    "novelty": "one-class (anomaly detection)",
}


def text(name: str) -> str:
    """Return one of the texts in ``pages/shared/text``."""
    return (File(__file__).parent / "text" / f"{name}.md").read_text(encoding="utf-8")


def plain(text: object) -> str:
    """Return text that came from a file as it is, with what Markdown would read as signs made harmless."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~<>$:])", r"\\\1", str(text))
