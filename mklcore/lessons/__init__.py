"""Lessons as library calls, one file each: a computation with one surprise, its answer and its figures; ``LESSONS``
lists them.
"""

from mklcore.lessons.bands import BANDS
from mklcore.lessons.base import Lesson, Story
from mklcore.lessons.copies import COPIES
from mklcore.lessons.edge import EDGE
from mklcore.lessons.greedy import GREEDY
from mklcore.lessons.hull import HULL
from mklcore.lessons.landmarks import LANDMARKS_LESSON
from mklcore.lessons.letters import LETTERS
from mklcore.lessons.norms import DENSE, SPARSE
from mklcore.lessons.prices import PRICES

_FIRST_STEPS = (SPARSE, DENSE, EDGE)
_GOING_ON = (COPIES, PRICES, GREEDY, LETTERS)
_LOOKING_DEEPER = (HULL, BANDS, LANDMARKS_LESSON)
LESSONS: dict[str, Lesson] = {lesson.key: lesson for lesson in (*_FIRST_STEPS, *_GOING_ON, *_LOOKING_DEEPER)}

__all__ = ["LESSONS", "Lesson", "Story"]
