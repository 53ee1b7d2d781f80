"""How a method is presented: its paths, controls, presets, formula and descriptions.

``registry`` lists all methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any

from mklcore.arrays import Names
from mklcore.errors import ParameterError
from mklcore.problem.losses import CLASSIFICATION, LOSSES, REGRESSION

EVERY_TASK = CLASSIFICATION + REGRESSION  # those with a target
NOVELTY = "novelty"


class Live(Sequence[Any]):
    """A tuple that is computed on every access, so that it always agrees with the registries."""

    def __init__(self, make: Callable[[], Sequence[Any]]) -> None:
        self._make = make

    def __getitem__(self, place: Any) -> Any:
        return tuple(self._make())[place]

    def __len__(self) -> int:
        return len(self._make())

    def __iter__(self) -> Iterator[Any]:
        # Computed once, and not for every index: a page iterates over controls a hundred times.
        return iter(self._make())


@dataclass(frozen=True)
class Control:
    """One parameter as a person changes it.

    ``kind`` is "choice", "log" (positive, on a log scale), "p" (1 .. infinity), "integer" or
    "flag"; ``help`` says what moving it does to the picture; ``tasks`` are the kinds of data for
    which it is shown. ``advanced`` controls are folded away. ``when`` names another control and the
    values of it for which this one acts; ``paths`` the paths, all by default.
    """

    name: str
    label: str
    kind: str
    default: Any
    help: str
    low: float = 0.0
    high: float = 0.0
    choices: Sequence[str] = ()
    tasks: Names = (*EVERY_TASK, NOVELTY)
    advanced: bool = False
    when: tuple[str, tuple[Any, ...]] | None = None
    paths: Names = ()


@dataclass(frozen=True)
class Preset:
    """A named state of an algorithm's controls.

    ``help`` describes what it shows, ``settings`` are values by name, ``path`` is the path to draw.
    """

    label: str
    help: str
    settings: tuple[tuple[str, Any], ...]
    path: str = ""
    tasks: Names = (*EVERY_TASK, NOVELTY)


@dataclass(frozen=True)
class Variant:
    """The problem and its description where the control ``name`` has the value ``value``."""

    name: str
    value: Any
    formula: str
    look_for: str
    cannot_tell: str


@dataclass(frozen=True)
class PathParameter:
    """A parameter along which a path is drawn.

    ``key`` is "C", "lam", "p" or "s", ``attribute`` the parameter of the estimator.
    """

    key: str
    attribute: str
    label: str
    help: str


@dataclass(frozen=True)
class Algorithm:
    """One method: its estimators, paths, controls and description.

    Formulas are LaTeX.

    ``on`` is what it learns from: "kernels" (a dictionary or a stack) or "table" (the columns
    themselves). ``prepare`` turns controls into the estimator's parameters where these are not the
    same. ``novelty`` is the estimator for a table without a target, None where the method needs
    one, and ``novelty_words`` what to tell about it. ``is_approximable``: the estimators also take
    kernels as features, by their parameter ``approximation``. ``normalise``: how they scale kernels
    by themselves. ``offered_for``: the tasks whose lists of methods show it; for others it can be
    the same as another method. Each of the estimators may be given as its place,
    "package.module.Class": it is imported when somebody asks for it, so that a method can be listed
    and described without scikit-learn.
    """

    key: str
    label: str
    one_line: str
    classifier: Any
    regressor: Any
    paths: tuple[PathParameter, ...]
    controls: Sequence[Control]
    formula: str
    look_for: str
    cannot_tell: str
    paper: str
    on: str = "kernels"
    presets: tuple[Preset, ...] = ()
    variants: Sequence[Variant] = ()
    prepare: Callable[[dict[str, Any], Any, Any], dict[str, Any]] | None = None
    novelty: Any = None
    novelty_words: Variant | None = None
    is_approximable: bool = False
    normalise: str | None = "multiplicative"
    offered_for: Names = (*EVERY_TASK, NOVELTY)

    def __hash__(self) -> int:
        return hash(self.key)  # the hash of all fields would import the classes

    @property
    def path_params(self) -> Names:
        """Keys of the parameters that a path may follow."""
        return tuple(path.key for path in self.paths)

    def path(self, key: str) -> PathParameter:
        """The path parameter called ``key``."""
        for path in self.paths:
            if path.key == key:
                return path
        raise ParameterError(
            f"{self.label} has no path over {key!r}; it has {', '.join(self.path_params)}."
        )

    def fits(self, task: str) -> bool:
        """Whether the method can learn ``task``: most methods need a target."""
        return task != NOVELTY or vars(self)["novelty"] is not None

    def is_offered(self, task: str, chosen: str = "") -> bool:
        """Whether a list of methods for ``task`` shows it, as it does for the ``chosen`` key."""
        return self.key == chosen or (self.fits(task) and task in self.offered_for)

    def words_for(self, values: Mapping[str, Any], task: str = "") -> Algorithm | Variant:
        """The formula and description for ``task`` and these ``values`` of the controls.

        They are those of a variant, or of the algorithm.
        """
        described = next((one for one in self.variants if values.get(one.name) == one.value), self)
        if task == NOVELTY and self.novelty_words is not None:
            return replace(self.novelty_words, formula=_without_target(described.formula))
        return described

    def shown(
        self,
        task: str,
        path: str,
        values: Mapping[str, Any],
    ) -> tuple[Control, ...]:
        """The controls that act for ``task`` on a path over ``path``.

        ``values`` are those of the other controls, by name.
        """
        attribute = self.path(path).attribute
        shown = list[Control]()
        for control in self.controls:
            on_path = not control.paths or path in control.paths
            acts = control.when is None or values.get(control.when[0]) in control.when[1]
            if task in control.tasks and control.name != attribute and on_path and acts:
                shown.append(control)
        return tuple(shown)

    def kind(self, task: str) -> Any:
        """The class of estimators for ``task``; ParameterError without the target that it needs."""
        if not self.fits(task):
            raise ParameterError(
                f"{self.label} needs a target, and this table has none. Choose a target or "
                "another method."
            )
        if task == NOVELTY:
            return self.novelty
        return self.regressor if task in REGRESSION else self.classifier

    def estimator(
        self, task: str, *, stack: Any = None, alignment: Any = None, **parameters: Any
    ) -> Any:
        """An unfitted estimator for ``task``; parameters that do not apply to it are left out.

        ``stack`` the training ``GramStack`` and ``alignment`` its (M, M) alignment matrix or a
        function that returns it, for controls whose meaning depends on the kernels.
        """
        kind = self.kind(task)
        if self.prepare is not None:
            parameters = self.prepare(dict(parameters), stack, alignment)
        known = inspect.signature(kind).parameters
        parameters = _with_loss(parameters, known)
        return kind(**{name: value for name, value in parameters.items() if name in known})


class _Imported:
    """An attribute that may be given as the place of a class, which is imported on access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        given = vars(owner)[self._name] if owner is not None else None
        if not isinstance(given, str):
            return given
        module, _, name = given.rpartition(".")
        return getattr(import_module(module), name)

    def __set__(self, owner: Any, given: Any) -> None:
        vars(owner)[self._name] = given


# Set after the dataclass is made, which would take these for default values.
for _name in ("classifier", "regressor", "novelty"):
    setattr(Algorithm, _name, _Imported(_name))


def _with_loss(
    parameters: dict[str, Any],
    known: Mapping[str, Any],
) -> dict[str, Any]:
    """The loss as an object, if it has numbers that are no parameters of the estimator."""
    kind: Any = LOSSES.get(str(parameters.get("loss")))
    numbers = () if kind is None else fields(kind)
    names = [field.name for field in numbers if field.name not in known]
    given = {name: parameters[name] for name in names if name in parameters}
    return parameters | {"loss": kind(**given)} if given else parameters


def _without_target(formula: str) -> str:
    """The problem with the loss of novelty detection in place of V, and without the free b."""
    return formula.replace(r"V\big(y_i,f(x_i)\big)", r"\max\big(0,\,1-f(x_i)\big)").replace(
        "{w,b", "{w"
    )
