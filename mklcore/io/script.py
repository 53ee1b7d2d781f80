"""Python that makes things of the library again: values, kernels, dictionaries, estimators and
their paths, as text.

Everything is written by its fields and parameters, so that a new class needs no line here. The text
expects ``import numpy as np`` and ``import mklcore as mkl``; texts in it are written by ``repr``,
whatever they hold.
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
SHORTEST_RUN = 4  # of neighbours that become one line


def code(value: Any) -> str:
    """``value`` as an expression that makes it again: numbers, texts, arrays, tuples, dicts, and
    frozen dataclasses.
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
        arguments = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        usual = {f.name: f.default for f in fields(value)}
        given = [
            f"{name}={code(part)}"
            for name, part in arguments.items()
            if not _same(part, usual[name])
        ]
        return f"{_place(type(value))}({', '.join(given)})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _same(value: Any, usual: Any) -> bool:
    return type(value) is type(usual) and not isinstance(value, np.ndarray) and value == usual


def _place(kind: type) -> str:
    """How a class is reached: by the front door where it stands there, else by its module."""
    # always there when this runs; to import it here would be a circle
    front = sys.modules["mklcore"]
    if getattr(front, kind.__name__, None) is kind:
        return f"mkl.{kind.__name__}"
    package, _, rest = kind.__module__.partition(".")
    return (
        f"mkl.{rest}.{kind.__name__}"
        if package == "mklcore"
        else f"{kind.__module__}.{kind.__name__}"
    )


def imports_for(text: str) -> str:
    """Lines that import what ``text`` speaks of and the registries have from elsewhere, by its
    class or by its name there.
    """
    classes: list[Any] = [entry.spec for entry in KERNELS.values()] + [
        *LOSSES.values(),
        *PENALTIES.values(),
    ]
    named = [
        *LOSSES.items(),
        *PENALTIES.items(),
        *SOLVERS.items(),
        *((key, one.load) for key, one in SAMPLES.items()),
    ]
    for key, method in ESTIMATORS.items():
        kinds = [
            kind
            for kind in (method.classifier, method.regressor, method.novelty)
            if kind is not None
        ]
        classes += kinds
        named += [(key, kind) for kind in kinds]
    found = {kind.__module__ for kind in classes if f"{kind.__module__}.{kind.__name__}(" in text}
    found |= {made.__module__ for key, made in named if repr(key) in text}
    return "".join(
        f"import {module}\n" for module in sorted(found) if not module.startswith("mklcore.")
    )


def call(name: str, *parts: str, **named: str) -> str:
    """The call of ``name`` with arguments that are expressions, on one line where it fits."""
    inner = [*parts, *(f"{key}={value}" for key, value in named.items())]
    line = f"{name}({', '.join(inner)})"
    return line if len(line) <= LONGEST_LINE else f"{name}(\n    " + ",\n    ".join(inner) + ",\n)"


def dictionary_code(kernels: KernelDictionary, feature_names: str | None = None) -> str:
    """Lines that make ``kernels``; neighbours that differ in their column only become one line.

    ``feature_names``: an expression for the names of the columns where the dictionary has them;
    None writes them out.
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
    """How many kernels from ``place`` on are one kernel on single neighbouring columns."""
    first = specs[place]
    if not isinstance(first.features, tuple) or len(first.features) != 1:
        return 0
    length = 0
    while place + length < len(specs) and specs[place + length] == replace(
        first, features=(first.features[0] + length,)
    ):
        length += 1
    return length


def model_code(estimator: Any, *, omit: Sequence[str] = ("callback",), **written: str) -> str:
    """A line that makes an unfitted ``estimator``: its parameters where they are not the usual
    ones.

    ``omit`` : parameters to omit; ``written`` : expressions that stand for parameters, such as
    kernels="kernels"
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
    *,
    falling: bool = False,
    scoring: str | None = None,
) -> str:
    """Lines that make the path of ``model`` over ``param`` on the grid of ``n`` values that the
    data suggest.

    Arguments are expressions; ``X`` a stack or a design, whose training rows the grid is scaled by.
    ``falling`` solves the largest value first. ``scoring``: the name of a score other than the
    estimator's own.
    """
    order = "[::-1]  # the largest first: each starts the next" if falling else ""
    measured = "" if scoring is None else f", scoring={scoring!r}"
    return (
        f"values = mkl.paths.path_grid(model, {X}, {y}, {param!r}, {n}){order}\n"
        f"path = mkl.fit_path(model, {X}, {y}, {param!r}, values, {X_val}, {y_val}{measured})"
    )
