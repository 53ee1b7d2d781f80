"""Start: a truth that one makes, the place for a table, and the samples as small pictures of their
answers.
"""

# ruff: noqa: E402  the door comes first

from pages.shared import state

state.through_app()

from pages.of_home import view

view.draw()
