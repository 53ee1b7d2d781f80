"""Python code, as text, that makes things of the library again.

These are values, kernels, dictionaries, estimators and their paths. Everything is written by its
fields and parameters, so that a new class needs no line here. The code expects ``import numpy as
np`` and ``import mklcore as mkl``; texts in it are written by ``repr``, whatever they contain.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from mklcore.data.samples import SAMPLES
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KERNELS, KernelSpec
from mklcore.lp.schedule import SOLVERS
from mklcore.problem.losses import LOSSES
from mklcore.problem.penalties import PENALTIES

LONGEST_LINE = 110
SHORTEST_RUN = 4  # so many similar kernels in a row become one line


def code(value: Any) -> str:
    """``value`` as an expression that makes it again.

    It may be a number, a text, an array, a tuple, a dict, or a frozen dataclass.
    """
    if isinstance(value, np.ndarray):
        return f"np.array({code(value.tolist())})"
    if isinstance(value, float | np.floating):
        return repr(float(value)) if np.isfinite(value) else f'float("{float(value)}")'
    if isinstance(value, tuple | list):
        inner = ", ".join(map(code, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{code(k)}: {code(v)}" for k, v in value.items()) + "}"
    if is_dataclass(value) and not isinstance(value, type):
        given = []
        for field in fields(value):
            part = getattr(value, field.name)
            if field.init and not _same(part, field.default):
                given.append(f"{field.name}={code(part)}")
        return f"{_place(type(value))}({', '.join(given)})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and not isinstance(value, np.ndarray) and value == usual


def _place(kind: type) -> str:
    """How code names a class: by the package if it is public there, else by its module."""
    front = sys.modules["mklcore"]  # importing the package here would be circular
    if getattr(front, kind.__name__, None) is kind:
        return f"mkl.{kind.__name__}"
    package, _, rest = kind.__module__.partition(".")
    module = f"mkl.{rest}" if package == "mklcore" else kind.__module__
    return f"{module}.{kind.__name__}"


def imports_for(text: str) -> str:
    """Lines that import the parts of ``text`` that other packages have registered.

    A part occurs by its class or by its name in a registry.
    """
    classes: list[Any] = [entry.spec for entry in KERNELS.values()]
    classes += [*LOSSES.values(), *PENALTIES.values()]
    named = [*LOSSES.items(), *PENALTIES.items(), *SOLVERS.items()]
    named += [(key, sample.load) for key, sample in SAMPLES.items()]
    for key, method in ESTIMATORS.items():
        for kind in (method.classifier, method.regressor, method.novelty):
            if kind is not None:
                classes.append(kind)
                named.append((key, kind))
    modules = {kind.__module__ for kind in classes if f"{kind.__module__}.{kind.__name__}(" in text}
    modules |= {part.__module__ for key, part in named if repr(key) in text}
    foreign = [module for module in sorted(modules) if not module.startswith("mklcore.")]
    return "".join(f"import {module}\n" for module in foreign)


def call(name: str, *parts: str, **named: str) -> str:
    """The call of ``name`` with expressions as arguments, on one line if it fits."""
    inner = [*parts, *(f"{key}={value}" for key, value in named.items())]
    line = f"{name}({', '.join(inner)})"
    return line if len(line) <= LONGEST_LINE else f"{name}(\n    " + ",\n    ".join(inner) + ",\n)"


def dictionary_code(kernels: KernelDictionary, feature_names: str | None = None) -> str:
    """Lines that make ``kernels``; neighbours that only differ in their column become one line.

    ``feature_names`` is an expression for the names of the columns; None writes them out.

    """
    lines = [f"    {line}," for line in _specs(kernels.specs)]
    plain = "" if kernels.standardize else ",\n    standardize=False"
    if kernels.feature_names is not None:
        plain += f",\n    feature_names={feature_names or code(kernels.feature_names)}"
    return (
        "specs = (\n"
        + "\n".join(lines)
        + f"\n)\nkernels = mkl.KernelDictionary(\n    specs{plain},\n)"
    )


def _specs(specs: Sequence[KernelSpec]) -> Iterable[str]:
    place = 0
    while place < len(specs):
        run = _run(specs, place)
        if run >= SHORTEST_RUN:
            first = specs[place].settled[0]
            same = code(replace(specs[place], features=None))[:-1]
            yield (
                f"*({same}{'' if same.endswith('(') else ', '}features=(j,)) for j in "
                f"range({first}, {first + run}))"
            )
            place += run
        else:
            yield code(specs[place])
            place += 1


def _run(specs: Sequence[KernelSpec], place: int) -> int:
    """How many kernels from ``place`` on are the same kernel on single neighbouring columns."""
    first = specs[place]
    if not isinstance(first.features, tuple) or len(first.features) != 1:
        return 0
    length = 0
    while place + length < len(specs) and specs[place + length] == replace(
        first, features=(first.features[0] + length,)
    ):
        length += 1
    return length


def model_code(
    estimator: Any,
    *,
    omit: Sequence[str] = ("callback",),
    **written: str,
) -> str:
    """A line that makes an unfitted ``estimator``, with the parameters that are not the default.

    ``omit`` are parameters to leave out; ``written`` are expressions for parameters, such as
    kernels="kernels".
    """
    usual = type(estimator)().get_params(deep=False)
    named = {
        name: code(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in (*omit, *written) and not _same(value, usual[name])
    }
    return call(f"model = {_place(type(estimator))}", **named, **written)


def path_code(
    param: str,
    n: int,
    X: str = "X",
    y: str = "y",
    X_val: str = "X_val",
    y_val: str = "y_val",
) -> str:
    """Lines that compute the path of ``model`` over ``param`` on a grid of ``n`` values.

    Arguments are expressions; ``X`` is a stack or a design, whose training rows scale the grid. The
    largest value is solved first.
    """
    order = "[::-1]  # the largest first: each starts the next"
    return (
        f"values = mkl.paths.path_grid(model, {X}, {y}, {param!r}, {n}){order}\n"
        f"path = mkl.fit_path(model, {X}, {y}, {param!r}, values, {X_val}, {y_val})"
    )
