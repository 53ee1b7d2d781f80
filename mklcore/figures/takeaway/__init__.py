"""Pages that leave: a path, several, hulls or a lesson as one HTML file that keeps moving without a server.

page.py      the file: players, numbers, words and a policy in one text
charts.py    lines along a path as numbers
words.py     our Markdown as HTML
paths.py     the page of a path
scenes.py    the page of a lesson's scene
"""

from mklcore.figures.takeaway.hulls import hulls_page
from mklcore.figures.takeaway.page import About, Problem
from mklcore.figures.takeaway.paths import path_page
from mklcore.figures.takeaway.scenes import Guess, scene_page
from mklcore.figures.takeaway.side_by_side import methods_page

__all__ = ["About", "Guess", "Problem", "hulls_page", "methods_page", "path_page", "scene_page"]
