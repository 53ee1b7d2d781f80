"""Every algorithm a person can choose, with its words, its formula and its controls.

The app builds its select-boxes, sliders and explanations from ``ESTIMATORS`` alone, and the parametrised tests run over
it: a new algorithm is one entry here.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from mklcore.errors import ParameterError
from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor

CLASSIFICATION, REGRESSION = ("binary", "multiclass"), ("regression",)
EVERY_TASK = CLASSIFICATION + REGRESSION


@dataclass(frozen=True)
class Control:
    """One parameter as a person moves it.

    ``kind`` is "choice", "log" (positive, on a log scale), "p" (1 .. infinity), "integer" or "flag"; ``help`` says what
    moving it does to the picture; ``tasks`` are the kinds of data for which it is shown.
    """

    name: str
    label: str
    kind: str
    default: Any
    help: str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    tasks: tuple[str, ...] = EVERY_TASK


@dataclass(frozen=True)
class PathParameter:
    """A parameter along which a path is drawn: its key ("C", "lam", "p" or "s"), the estimator's name for it, its words."""

    key: str
    attribute: str
    label: str
    help: str


@dataclass(frozen=True)
class Algorithm:
    """One method: two estimators, its paths and controls, and what to tell about it. Formulas are LaTeX."""

    key: str
    label: str
    one_line: str
    classifier: type
    regressor: type
    paths: tuple[PathParameter, ...]
    controls: tuple[Control, ...]
    formula: str
    look_for: str
    cannot_tell: str
    paper: str

    @property
    def path_params(self) -> tuple[str, ...]:
        """Keys of the parameters a path may run along."""
        return tuple(path.key for path in self.paths)

    def path(self, key: str) -> PathParameter:
        """The path parameter called ``key``."""
        for path in self.paths:
            if path.key == key:
                return path
        raise ParameterError(f"{self.label} has no path over {key!r}; it has {', '.join(self.path_params)}.")

    def estimator(self, task: str, **parameters: Any) -> Any:
        """An unfitted estimator for ``task``; parameters that do not apply to it are left out."""
        kind = self.regressor if task in REGRESSION else self.classifier
        known = inspect.signature(kind).parameters
        return kind(**{name: value for name, value in parameters.items() if name in known})


PATHS: dict[str, PathParameter] = {
    path.key: path
    for path in (
        PathParameter("C", "C", "C, the cost of an error", "Larger C: the fit follows the data more closely."),
        PathParameter(
            "p", "p", "p, the norm of the weights", "Smaller p: fewer kernels stay. 1 is sparse, ∞ is the plain sum."
        ),
        PathParameter("lam", "lam", "λ, the ridge penalty", "Larger λ: a smoother fit, and later kernels matter less."),
        PathParameter(
            "s",
            "n_kernels",
            "s, the number of kernels",
            "One step to the right adds the kernel that explains most of what is left.",
        ),
    )
}

_C = Control("C", "Cost C", "log", 1.0, "Larger C: the fit follows the data more closely.", 1e-4, 1e4)
_P = Control(
    "p", "Norm p", "p", 1.0, "Smaller p: fewer kernels stay. 1 is sparse, ∞ is the plain sum.", 1.0, float("inf")
)
_LAM = Control("lam", "Ridge λ", "log", 0.01, "Larger λ: a smoother fit, and later kernels matter less.", 1e-8, 1e4)
_LOSS_CLASS = Control(
    "loss",
    "Loss",
    "choice",
    "hinge",
    "Which errors count, and how much.",
    choices=("hinge", "logistic", "squared"),
    tasks=CLASSIFICATION,
)
_LOSS_REAL = Control(
    "loss",
    "Loss",
    "choice",
    "squared",
    "Which errors count, and how much.",
    choices=("squared", "epsilon_insensitive"),
    tasks=REGRESSION,
)
_EPSILON = Control(
    "epsilon",
    "Tube ε",
    "log",
    0.1,
    "Wider tube: errors below ε are free, and fewer rows support the fit.",
    1e-4,
    1e3,
    tasks=REGRESSION,
)

ESTIMATORS: dict[str, Algorithm] = {
    algorithm.key: algorithm
    for algorithm in (
        Algorithm(
            "lp",
            "ℓp-norm MKL",
            "Learns all kernel weights at once under a norm; p sets how sparse they are.",
            LpMKLClassifier,
            LpMKLRegressor,
            (PATHS["C"], PATHS["p"]),
            (_LOSS_CLASS, _LOSS_REAL, _P, _C, _EPSILON),
            r"\min_{w,b,\theta\ge 0}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},"
            r"\qquad \|\theta\|_p\le 1",
            "At p = 1 few kernels carry the weight; as p grows the weight spreads. Watch whether the validation score follows: "
            "sparse is not always better.",
            "Among strongly correlated kernels the choice at p = 1 is arbitrary: a small change of the data can swap them. "
            "A weight says what this model uses, not what causes the target.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011)",
        ),
        Algorithm(
            "gomp",
            "MKL-GOMP",
            "Adds one kernel after another, each time the one that explains most of the residual.",
            GOMPClassifier,
            GOMPRegressor,
            (PATHS["s"], PATHS["lam"]),
            (
                _LAM,
                Control(
                    "n_kernels", "Kernels s", "integer", 10, "More kernels: a closer fit to the training rows.", 1, 200
                ),
            ),
            r"\min_f\;\tfrac1n\sum_i\big(y_i-f(x_i)\big)^2+\lambda\|f\|^2,\qquad \text{at most } s \text{ kernels}",
            "The order in which kernels enter, and the size s after which the validation score no longer rises.",
            "The choice is greedy and has no certificate: another set of the same size may fit better. "
            "Among correlated kernels the first one taken hides the others.",
            "Sindhwani and Lozano (2011)",
        ),
        Algorithm(
            "uniform",
            "Uniform sum",
            "Every kernel with weight one: the baseline every learned weighting has to beat.",
            UniformMKLClassifier,
            UniformMKLRegressor,
            (PATHS["C"],),
            (_LOSS_CLASS, _LOSS_REAL, _C, _EPSILON),
            r"\min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\|w_m\|^2",
            "Whether learning weights pays: compare the validation score with the same C under ℓp-norm MKL.",
            "Equal weights say nothing about which kernels matter.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011), the case p = ∞",
        ),
    )
}
