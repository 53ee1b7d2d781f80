"""Inputs nobody prepared, drawn by hypothesis: links, pages under them, kernel stacks, model files, kept work."""

from collections.abc import Callable
from importlib import import_module

from benchmarks.fuzzing.targets import Target

_HOMES = {"links": "links", "pages": "links", "stacks": "stacks", "models": "models", "store": "kept"}


def _from(name: str, home: str) -> Callable[[], Target]:
    return lambda: getattr(import_module(f"benchmarks.fuzzing.{home}"), name)


TARGETS = {name: _from(name, home) for name, home in _HOMES.items()}
