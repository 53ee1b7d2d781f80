"""Compute lessons again and record what they found: ``python -m mklcore.gallery.lessons [KEY
...]``.
"""

import sys
from pathlib import Path

from mklcore.gallery.lessons import LESSONS

FOLDER = Path(__file__).parent / "recorded"


def main(keys: list[str]) -> None:
    """Record the lessons named, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    for lesson in LESSONS.values():
        if not keys or lesson.key in keys:
            (FOLDER / f"{lesson.key}.json").write_text(
                lesson.compute().to_json() + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
