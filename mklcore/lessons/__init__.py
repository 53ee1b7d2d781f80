"""Lessons as library calls, one file each: a computation with one surprise, its answer and its figures; ``LESSONS`` lists them."""

from mklcore.lessons.bands import BANDS
from mklcore.lessons.base import Lesson, Story
from mklcore.lessons.copies import COPIES
from mklcore.lessons.hull import HULL
from mklcore.lessons.norms import DENSE, SPARSE
from mklcore.lessons.prices import PRICES

LESSONS: dict[str, Lesson] = {lesson.key: lesson for lesson in (SPARSE, DENSE, COPIES, PRICES, HULL, BANDS)}

__all__ = ["LESSONS", "Lesson", "Story"]
