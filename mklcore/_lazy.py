"""Names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazily(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package: its names by the modules they are taken from when they are first used."""
    home = {name: module for module, names in homes.items() for name in names}

    def found(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}.")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return found
