"""What is made when it is first used: names of a package, packages of an extra, properties."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A property that is computed once.

    Before Python 3.12, that of functools has one lock for all objects of a class: while one
    visitor's answer fits the models beside it, the answers of all others would wait.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()


def lazily(
    package: str,
    file: str,
) -> tuple[Callable[[str], object], dict[str, str]]:
    """The ``__getattr__`` of a package, and the modules of the names that the stub (.pyi) beside
    its ``file`` has.

    The package's own modules are found as well.
    """
    stub = Path(file).with_suffix(".pyi")
    lines = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
    home = {
        alias.name: str(line.module)
        for line in lines
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }

    def found(name: str) -> object:
        if (module := home.get(name, package)) != package:
            return getattr(import_module(module), name)
        is_module_name = name.isidentifier() and not name.startswith("__")
        if is_module_name and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(
            f"module {package!r} has no attribute {name!r}; see dir({package}) and its modules."
        )

    return found, home


def import_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """A module that an extra of this package brings, for what a person asked for just now.

    Raises ImportError with the command that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ImportError(
            (
                f"{purpose} need the package {package}, which is not installed: pip install "
                f"'mklcore[{extra}]'."
            ),
            name=module,
        ) from error
