"""Every module can be imported first: the order decides which modules are incomplete when another one imports them.

A fresh interpreter for each would take minutes, so Python's way through the import statements is followed in the
sources: a module is entered after its packages, its statements run in order, and ``from a import b`` needs ``b`` to be
bound in ``a`` by then, to be a module of ``a``, or a ``__getattr__`` there.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.test_house import CORE, ROOT, module_name, parsed, sources


@dataclass(frozen=True)
class Step:
    """A statement at the top of a module: the module it imports with the names taken of it, and the names it binds."""

    source: str = ""
    names: tuple[str, ...] = ()
    binds: frozenset[str] = frozenset()


def steps(name: str, is_package: bool, statements: list[ast.stmt]) -> Iterator[Step]:
    """What importing a module does, in its order."""
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (Step(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = name if is_package else name.rpartition(".")[0]
            above = here.split(".")[: len(here.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield Step(source, tuple(alias.name for alias in node.names))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from steps(name, is_package, node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For):
            for block in ("body", "handlers", "orelse", "finalbody"):
                inner = [one for part in getattr(node, block, []) for one in getattr(part, "body", [part])]
                yield from steps(name, is_package, inner)
        yield Step(binds=frozenset(_binds(node)))


class Process:
    """What one interpreter has imported so far of modules that are given by their steps."""

    def __init__(self, modules: dict[str, list[Step]]) -> None:
        self.modules = modules
        self.bound: dict[str, set[str]] = {}  # the names of every module that has been entered
        self.done: list[str] = []

    def enter(self, name: str) -> Iterator[str]:
        """Import a module; yield what is asked for before it is there."""
        package, _, own = name.rpartition(".")
        if package in self.modules:
            yield from self.enter(package)
        if name in self.bound or name not in self.modules:
            return
        bound = self.bound[name] = set()
        for step in self.modules[name]:
            if step.source.split(".")[0] == name.split(".")[0] or step.source in self.modules:
                yield from self._take(name, step)
            bound |= step.binds
        self.done.append(name)
        if package in self.bound:
            self.bound[package].add(own)

    def _take(self, name: str, step: Step) -> Iterator[str]:
        yield from self.enter(step.source)
        for taken in step.names:
            if f"{step.source}.{taken}" in self.modules:
                yield from self.enter(f"{step.source}.{taken}")
            elif taken != "*" and not self.bound.get(step.source, {taken}) & {taken, "__getattr__"}:
                yield f"{name} asks {step.source} for {taken}, which is not there yet"


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def core() -> dict[str, list[Step]]:
    """The steps of every module of the library."""
    files = {module_name(file): file for file in sources(CORE)}
    return {name: list(steps(name, file.name == "__init__.py", parsed(file).body)) for name, file in files.items()}


def test_every_module_can_be_imported_first() -> None:
    modules = core()
    assert len(modules) > 250
    assert [(first, found) for first in modules if (found := list(Process(modules).enter(first)))] == []


@pytest.mark.parametrize(
    ("texts", "first", "found"),
    [
        ({"a": "from b import y\nx = 1", "b": "from a import x\ny = 1"}, "a", 1),
        ({"a": "x = 1\nfrom b import y", "b": "from a import x\ny = 1"}, "a", 0),
        ({"a": "x = 1\nfrom b import y", "b": "from a import x\ny = 1"}, "b", 1),
        ({"p": "from p.m import x", "p.m": "from p import y\nx = 1"}, "p.m", 1),
        ({"p": "from p.m import x", "p.m": "from p import n\nx = 1", "p.n": ""}, "p.m", 0),
        ({"a": "def f():\n    from b import y", "b": "from a import f\ny = 1"}, "b", 0),
        ({"a": "def __getattr__(name): ...\nfrom b import y", "b": "from a import x\ny = 1"}, "a", 0),
    ],
)  # fmt: skip
def test_a_planted_circle_of_statements_is_found(texts: dict[str, str], first: str, found: int) -> None:
    modules = {name: list(steps(name, name == "p", ast.parse(text).body)) for name, text in texts.items()}
    assert len(list(Process(modules).enter(first))) == found


def test_the_way_through_the_sources_is_the_one_that_python_takes(tmp_path: Path) -> None:
    """The modules that an interpreter has entered, in its order, for a module that takes many others along."""
    process = Process(core())
    assert list(process.enter("mklcore.solvers.gomp")) == []
    show = "import sys, mklcore.solvers.gomp; print(*[name for name in sys.modules if name.split('.')[0] == 'mklcore'])"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", show], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert process.done == done.stdout.split()
