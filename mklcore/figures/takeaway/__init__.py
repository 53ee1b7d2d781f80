"""Pages that leave: a path, several, hulls or a lesson as one HTML file that keeps moving without a server.

page.py      the file: players, numbers, words and a policy in one text
charts.py    lines along a path as numbers
words.py     our Markdown as HTML
paths.py     the page of a path
scenes.py    the page of a lesson's scene
"""

from mklcore.figures.takeaway.hulls import hulls_page
from mklcore.figures.takeaway.lanes import lanes_page
from mklcore.figures.takeaway.page import About, Problem
from mklcore.figures.takeaway.paths import path_page
from mklcore.figures.takeaway.scenes import Guess, scene_page

__all__ = ["About", "Guess", "Problem", "hulls_page", "lanes_page", "path_page", "scene_page"]
