"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def lazily(package: str, file: str) -> tuple[Callable[[str], object], dict[str, str]]:
    """The ``__getattr__`` of a package, and the modules of the names that the stub (.pyi) beside its ``file`` has.

    The package's own modules are found as well.
    """
    stub = Path(file).with_suffix(".pyi")
    lines = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
    home = {alias.name: str(line.module) for line in lines if isinstance(line, ast.ImportFrom) for alias in line.names}

    def found(name: str) -> object:
        if (module := home.get(name, package)) != package:
            return getattr(import_module(module), name)
        if not name.startswith("__") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}; see dir({package}) and its modules.")

    return found, home
