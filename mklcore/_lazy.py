"""Names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec


def lazily(package: str, homes: Mapping[str, Sequence[str]] | None = None) -> Callable[[str], object]:
    """The ``__getattr__`` of a package: its modules, and names by the modules that they are taken from."""
    home = {name: module for module, names in (homes or {}).items() for name in names}

    def found(name: str) -> object:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        if not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}.")

    return found
