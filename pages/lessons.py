"""Lessons: stories about kernels, each in three steps: guess, reveal, why."""

# ruff: noqa: E402  the door comes first

from pages._parts.session import nav

nav.through_app()

from pages._parts.lessons import steps
from pages._parts.session import history

if history.current().lesson:
    steps.lesson()
else:
    steps.gallery()
