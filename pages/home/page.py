"""Start: a truth that one makes, the place for a table, and the samples as small pictures of their
answers.
"""

from pages.home import view

view.draw()
