"""Lessons: six stories about kernels, each in three steps: guess, reveal, why."""

# ruff: noqa: E402  the door comes first

from pages._parts import nav

nav.through_app()

from pages._parts import lessons, state

if state.current().lesson:
    lessons.lesson()
else:
    lessons.gallery()
