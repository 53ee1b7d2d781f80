"""Admin: what the server holds for everybody, and what may go; behind a password."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from pages._parts.admin import view

view.draw()
