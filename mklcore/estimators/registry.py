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
from mklcore.estimators.greedy import GreedyMKLClassifier, GreedyMKLRegressor
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.search import SEARCHES

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
    """One method: two estimators, its paths and controls, and what to tell about it. Formulas are LaTeX.

    ``on`` is what it learns from: "kernels" (a dictionary or a stack) or "table" (the columns themselves).
    """

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
    on: str = "kernels"

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
                Control(
                    "loss",
                    "Loss",
                    "choice",
                    "squared",
                    "Hinge lets rows beyond the margin alone; its scores take one machine per kernel and step.",
                    choices=("squared", "hinge"),
                    tasks=CLASSIFICATION,
                ),
                _LAM,
                Control(
                    "n_kernels", "Kernels s", "integer", 10, "More kernels: a closer fit to the training rows.", 1, 200
                ),
            ),
            r"\min_f\;\tfrac1n\sum_i V\big(y_i,f(x_i)\big)+\lambda\|f\|^2,\qquad \text{at most } s \text{ kernels}",
            "The order in which kernels enter, and the size s after which the validation score no longer rises.",
            "The choice is greedy and has no certificate: another set of the same size may fit better. "
            "Among correlated kernels the first one taken hides the others.",
            "Sindhwani and Lozano (2011)",
        ),
        Algorithm(
            "greedy",
            "Greedy sparse MKL",
            "Grows the exact l1 solution kernel by kernel: the steepest kernel enters, then all entered kernels are solved again.",
            GreedyMKLClassifier,
            GreedyMKLRegressor,
            (PATHS["s"], PATHS["lam"]),
            (
                Control(
                    "lam",
                    "Penalty λ",
                    "log",
                    0.01,
                    "Larger λ: fewer kernels enter and each is held smaller; beyond the critical λ none enters.",
                    1e-8,
                    1e4,
                ),
                Control(
                    "n_kernels",
                    "Kernels s",
                    "integer",
                    10,
                    "More kernels: closer to the full l1 solution. For the empirical criterion: more steps.",
                    1,
                    200,
                ),
                Control(
                    "criterion",
                    "Gradient",
                    "choice",
                    "functional",
                    "functional solves the penalised problem and certifies it; empirical takes plain gradient steps without λ.",
                    choices=("functional", "empirical"),
                ),
                Control(
                    "step",
                    "Step",
                    "choice",
                    "unit",
                    "Empirical criterion only: the published unit step is slow; the line search goes as far as pays.",
                    choices=("unit", "linesearch"),
                ),
            ),
            r"\min_f\;\tfrac1{2n}\sum_i\big(y_i-f(x_i)\big)^2+\lambda\sum_j\|f_j\|_{\mathcal H_j}",
            "The certificate tightens with every kernel that enters; after the last one the l1 optimum is reached and no "
            "kernel outside is steeper than λ.",
            "Kernels that enter early may end with weight zero, and copies of a kernel are never told apart: the first one "
            "is taken. Bounds of the paper say nothing for Gaussian kernels, whose spans overlap completely.",
            "Jin, Yang and Mahdavi (2013)",
        ),
        Algorithm(
            "smkl",
            "SMKL, concave selection",
            "Prices every kernel by a concave function of its norm, so that few kernels stay: fewer than under p = 1.",
            SMKLClassifier,
            SMKLRegressor,
            (PATHS["C"],),
            (
                _LOSS_CLASS,
                _LOSS_REAL,
                Control(
                    "terms",
                    "Price g",
                    "choice",
                    "log+gl",
                    "log and mf drop kernels hardest; gl and mkl (the price of p = 1) are convex and keep more.",
                    choices=("log+gl", "log", "gl", "mf", "mkl", "log+mkl"),
                ),
                _C,
                _EPSILON,
                Control(
                    "n_starts",
                    "Starts",
                    "integer",
                    1,
                    "More starts: the best of several local minima is kept. The first start has equal weights.",
                    1,
                    50,
                ),
            ),
            r"\min_{w,b}\; g(w)+C\sum_i V\big(y_i,f(x_i)\big),\qquad "
            r"g=\sum_m\log\sqrt{\epsilon+\|w_m\|^2}+\sum_m\|w_m\|\;\text{ or another sum of terms}",
            "How few kernels are left once the score has settled: compare with p = 1 at the same score. "
            "Larger C: more kernels come in, and below some C none is worth its price.",
            "The answer is a local minimum and has no certificate: another start may keep other kernels, so raise the "
            "number of starts and look at their spread. Exact duplicates share the weight unless they are parted by jitter.",
            "Subrahmanya and Shin (2010)",
        ),
        Algorithm(
            "hkl",
            "Hierarchical kernel learning",
            "Finds which columns matter and which of them act together, in a grid of kernels far too large to list.",
            HKLClassifier,
            HKLRegressor,
            (
                PathParameter(
                    "lam",
                    "lam",
                    "λ, the price of the norm",
                    "Smaller λ: deeper nodes may enter. The hull need not grow step by step.",
                ),
            ),
            (
                Control(
                    "loss",
                    "Loss",
                    "choice",
                    "logistic",
                    "Which errors count, and how much.",
                    choices=("logistic", "hinge", "squared"),
                    tasks=CLASSIFICATION,
                ),
                Control(
                    "basis",
                    "Basis",
                    "choice",
                    "polynomial",
                    "What a column is turned into before columns are multiplied; ANOVA and splines bend freely, one level each.",
                    choices=tuple(BASES),
                ),
                Control(
                    "lam",
                    "Price λ",
                    "log",
                    1e-3,
                    "Smaller λ: the fit follows the data more closely and deeper nodes may enter.",
                    1e-8,
                    1e4,
                ),
                Control(
                    "search",
                    "Search",
                    "choice",
                    "certified",
                    "Certified bounds the gap over all kernels; necessary is quick and provisional, and can miss interactions.",
                    choices=SEARCHES,
                ),
            ),
            r"\min_{f=\sum_v f_v,\,b}\;\tfrac1n\sum_i \ell\big(y_i,f(x_i)+b\big)"
            r"+\tfrac{\lambda}{2}\Big(\sum_v d_v\,\|\beta_{D(v)}\|\Big)^2",
            "A product enters only after its factors. Look at the hollow nodes: how far each is from entering.",
            "A column outside the hull can still matter through one that stands in for it. At small λ the gap may not close: "
            "then the hull is a good model, not the certified one.",
            "Bach (2008)",
            on="table",
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
