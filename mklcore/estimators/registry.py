"""Every algorithm a person can choose, with its words, its formula and its controls.

The app builds its select-boxes, sliders and explanations from ``ESTIMATORS`` alone, and the parametrised tests run over
it: a new algorithm is one entry here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mklcore.errors import ParameterError
from mklcore.estimators.baselines import SELECT, BestKernelClassifier, BestKernelRegressor
from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.greedy import GreedyMKLClassifier, GreedyMKLRegressor
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor
from mklcore.kernels.measures import alignment_matrix
from mklcore.penalties import BlockNorm, EllipticNorm, WeightedLpNorm
from mklcore.solvers import SOLVERS
from mklcore.solvers.hkl.bases import BASES
from mklcore.solvers.hkl.search import SEARCHES

CLASSIFICATION, REGRESSION = ("binary", "multiclass"), ("regression",)
EVERY_TASK = CLASSIFICATION + REGRESSION


@dataclass(frozen=True)
class Control:
    """One parameter as a person moves it.

    ``kind`` is "choice", "log" (positive, on a log scale), "p" (1 .. infinity), "integer" or "flag"; ``help`` says what
    moving it does to the picture; ``tasks`` are the kinds of data for which it is shown. ``advanced`` controls are folded
    away. ``when`` names another control and the values of it for which this one acts; ``paths`` the paths, all by default.
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
    advanced: bool = False
    when: tuple[str, tuple[Any, ...]] | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preset:
    """A named state of an algorithm's controls: what it is called, what it shows, ``settings`` by name, the path to draw."""

    label: str
    help: str
    settings: tuple[tuple[str, Any], ...]
    path: str = ""
    tasks: tuple[str, ...] = EVERY_TASK


@dataclass(frozen=True)
class Variant:
    """What is solved, what to look for and what it cannot tell where the control ``name`` has the value ``value``."""

    name: str
    value: Any
    formula: str
    look_for: str
    cannot_tell: str


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

    ``on`` is what it learns from: "kernels" (a dictionary or a stack) or "table" (the columns themselves). ``prepare``
    turns controls into the estimator's parameters where these are not the same.
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
    presets: tuple[Preset, ...] = ()
    variants: tuple[Variant, ...] = ()
    prepare: Callable[[dict[str, Any], Any, Any], dict[str, Any]] | None = None

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

    def told(self, values: Mapping[str, Any]) -> Algorithm | Variant:
        """Whose formula and words hold for these ``values`` of the controls: a variant's, or the algorithm's own."""
        return next((one for one in self.variants if values.get(one.name) == one.value), self)

    def shown(self, task: str, path: str, values: Mapping[str, Any]) -> tuple[Control, ...]:
        """The controls that act for ``task`` on a path over ``path``, given the ``values`` of the others by name."""
        attribute = self.path(path).attribute
        return tuple(
            control
            for control in self.controls
            if task in control.tasks
            and control.name != attribute
            and (not control.paths or path in control.paths)
            and (control.when is None or values.get(control.when[0]) in control.when[1])
        )

    def estimator(self, task: str, *, stack: Any = None, alignment: Any = None, **parameters: Any) -> Any:
        """An unfitted estimator for ``task``; parameters that do not apply to it are left out.

        ``stack`` the training ``GramStack`` and ``alignment`` its (M, M) alignment matrix or a function that returns it, for
        controls whose meaning depends on the kernels.
        """
        if self.prepare is not None:
            parameters = self.prepare(dict(parameters), stack, alignment)
        kind = self.regressor if task in REGRESSION else self.classifier
        known = inspect.signature(kind).parameters
        return kind(**{name: value for name, value in parameters.items() if name in known})


NORMS = ("lp", "weighted lp", "block norm", "elliptic")
FIXED_LEVELS = ("anova", "spline")  # bases whose number of levels is not chosen
COLUMN_BASES = ("polynomial", "hermite")  # every level a column, so that a hull has finitely many features
RIDGE_OF_E = 0.05  # keeps the elliptic norm's matrix positive definite among copies


def _penalty(parameters: dict[str, Any], stack: Any, alignment: Any) -> dict[str, Any]:
    """The penalty object that the controls "norm" and "q" ask for, in place of them."""
    norm, order = parameters.pop("norm", "lp"), parameters.pop("q", 4.0)
    if norm == "block norm":
        parameters["penalty"] = BlockNorm(order)
    elif norm != "lp" and stack is None:
        raise ParameterError(f"The {norm} norm is made from the kernels: pass stack, the training GramStack.")
    elif norm == "weighted lp":
        parameters["penalty"] = WeightedLpNorm(parameters.get("p", 1.0), column_prices(stack))
    elif norm == "elliptic":
        between = alignment_matrix(stack) if alignment is None else alignment() if callable(alignment) else alignment
        parameters["penalty"] = EllipticNorm(np.asarray(between) + RIDGE_OF_E * np.eye(stack.n_kernels))
    return parameters


def column_prices(stack: Any) -> tuple[float, ...]:
    """The price of every kernel of a stack: the number of columns it sees, 1 where that is not known."""
    if stack.specs is None:
        return (1.0,) * stack.n_kernels
    return tuple(float(len(spec.features)) for spec in stack.specs)


def _candidates(parameters: dict[str, Any], stack: Any, alignment: Any) -> dict[str, Any]:
    """0 candidates stand for all of them."""
    if parameters.get("n_candidates") == 0:
        parameters["n_candidates"] = None
    return parameters


def _jitter(parameters: dict[str, Any], stack: Any, alignment: Any) -> dict[str, Any]:
    """The jitter is chosen from a list of texts, because 0 has no place on a log scale."""
    if "init_jitter" in parameters:
        parameters["init_jitter"] = float(parameters["init_jitter"])
    return parameters


SHAPES = {
    "hermite": ("alpha", "alpha"),
    "gaussian": ("b", "gaussian_b"),
    "anova": ("b", "anova_b"),
    "kernel_pca": ("width", "width"),
}


def _hull(parameters: dict[str, Any], stack: Any, alignment: Any) -> dict[str, Any]:
    """The basis from its key, the number of its "levels" and its shape; a depth weight of "auto" is the estimator's own."""
    shapes = {control: parameters.pop(control) for _, control in SHAPES.values() if control in parameters}
    key, levels = parameters.get("basis"), parameters.pop("levels", None)
    if isinstance(key, str) and key in BASES:
        argument, control = SHAPES.get(key, ("", ""))
        shape = {argument: shapes[control]} if control in shapes else {}
        counted = () if levels is None or key in FIXED_LEVELS else (int(levels),)
        parameters["basis"] = BASES[key](*counted, **shape)
    if "depth_weight" in parameters:
        chosen = parameters["depth_weight"]
        parameters["depth_weight"] = None if chosen in (None, "auto") else float(chosen)
    return parameters


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
    "p",
    "Norm p",
    "p",
    1.0,
    "Smaller p: fewer kernels stay. 1 is sparse, ∞ is the plain sum.",
    1.0,
    float("inf"),
    when=("norm", ("lp", "weighted lp")),
)
_NORM = Control(
    "norm",
    "Norm of the weights",
    "choice",
    "lp",
    "Weighted lp: a kernel that sees many columns is dear and must earn its weight. Block norm: weights more even than the "
    "plain sum. Elliptic: kernels that look alike rise and fall together.",
    choices=NORMS,
    advanced=True,
    paths=("C",),
)
_Q = Control(
    "q",
    "Block norm q",
    "log",
    4.0,
    "Larger q: the kernels share the work more evenly; 2 is the plain sum.",
    2.0,
    100.0,
    advanced=True,
    when=("norm", ("block norm",)),
    paths=("C",),
)
_SOLVER = Control(
    "solver",
    "Solver",
    "choice",
    "auto",
    "All end in the same optimum; watch solves and seconds. silp works at p = 1 only, newton at finite p, interleaved with "
    "the hinge and ε-insensitive losses.",
    choices=("auto", *SOLVERS),
    advanced=True,
)
_INTERCEPT = Control(
    "fit_intercept", "Free offset b", "flag", True, "Off: the fit is zero far from all rows.", advanced=True
)
_TOL = Control(
    "tol",
    "Tolerance",
    "log",
    1e-3,
    "Smaller: the certificate tightens, and every point takes longer.",
    1e-7,
    0.1,
    advanced=True,
)
_MAX_ITER = Control(
    "max_iter", "Most iterations", "integer", 500, "A point stopped there is drawn dashed and says so.", 1, 5000,
    advanced=True,
)  # fmt: skip
_TOL_GREEDY = replace(_TOL, when=("criterion", ("functional",)))
_TOL_SMKL = replace(_TOL, help="Smaller: the weights settle further before it stops, and every point takes longer.")
_MEAN_CLASS = Control(
    "fit_intercept",
    "Subtract the mean",
    "flag",
    False,
    "On: the mean of the labels is taken off first and added back. Not with the hinge loss.",
    tasks=CLASSIFICATION,
    advanced=True,
)
_MEAN_REAL = Control(
    "fit_intercept",
    "Subtract the mean",
    "flag",
    True,
    "On: the mean of the target is taken off first and added back.",
    tasks=REGRESSION,
    advanced=True,
)
_COST = r"C\sum_i V\big(y_i,f(x_i)\big)"
_NORM_VARIANTS = (
    Variant(
        "norm",
        "weighted lp",
        r"\min_{w,b,\theta\ge 0}\; " + _COST + r"+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},"
        r"\qquad \Big(\sum_m d_m\,\theta_m^{\,p}\Big)^{1/p}\le 1,\quad d_m\text{ the columns of kernel }m",
        "Kernels of few columns gain on those of many. Compare with the lp norm at the same p: what falls away was dear.",
        "The prices are a choice made before the data: they count columns, not what a column is worth.",
    ),
    Variant(
        "norm",
        "block norm",
        r"\min_{w,b}\; " + _COST + r"+\tfrac12\Big(\sum_m\|w_m\|^q\Big)^{2/q},\qquad q\ge 2",
        "Every kernel stays. As q grows the parts of the kernels grow alike, beyond the plain sum at q = 2.",
        "Here a large weight marks a kernel that is helped because it is weak, not one that matters.",
    ),
    Variant(
        "norm",
        "elliptic",
        r"\min_{w,b,\theta\ge 0}\; " + _COST + r"+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},"
        r"\qquad \sqrt{\theta^{\top}E^{-1}\theta}\le 1,\quad E\text{ the alignments of the kernels}+"
        + f"{RIDGE_OF_E:g}"
        + r"\,I",
        "Kernels that look alike rise and fall together instead of taking each other's place.",
        "E comes from the kernels alone: it knows which of them are alike, not which of them help.",
    ),
)
_STEPS_VARIANT = Variant(
    "criterion",
    "empirical",
    r"\min_f\;\tfrac1{2n}\sum_i\big(y_i-f(x_i)\big)^2,\qquad f\leftarrow f+\text{a step along the steepest kernel}",
    "How the training error falls step by step, and after how many steps the validation score turns.",
    "There is no λ and no certificate: only the greedy order and the number of steps hold the fit back. "
    "Copies of a kernel are never told apart.",
)
_MACHINES = (
    Preset("margin", "The hinge loss: rows beyond the margin are free.", (("loss", "hinge"),), tasks=CLASSIFICATION),
    Preset("ridge", "Squared errors of the labels.", (("loss", "squared"),), tasks=CLASSIFICATION),
    Preset("tube", "Errors below ε are free.", (("loss", "epsilon_insensitive"),), tasks=REGRESSION),
    Preset("ridge", "Squared errors.", (("loss", "squared"),), tasks=REGRESSION),
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
    when=("loss", ("epsilon_insensitive",)),
)

_HULL_SHAPES = (
    Control(
        "alpha", "Hermite weight α", "log", 0.5, "Larger α: higher levels weigh more.", 0.05, 0.95, advanced=True,
        when=("basis", ("hermite",)),
    ),
    Control(
        "gaussian_b", "Gaussian b", "log", 0.5, "Larger b: narrower bumps, so higher levels weigh more.", 0.01, 10.0,
        advanced=True, when=("basis", ("gaussian",)),
    ),
    Control(
        "anova_b", "ANOVA b", "log", 0.0625, "Larger b: what one column adds may bend more.", 0.01, 10.0, advanced=True,
        when=("basis", ("anova",)),
    ),
    Control(
        "width", "Kernel PCA width", "log", 1.0, "Smaller width: what one column adds may bend more.", 0.1, 10.0,
        advanced=True, when=("basis", ("kernel_pca",)),
    ),
)  # fmt: skip
_HULL_PRICES = (
    Control(
        "depth_weight", "Price per step of depth", "choice", "auto",
        "Larger: deep nodes are dearer, hulls stay flat and certificates close sooner. auto is 4, or √p − 1 rounded up where "
        "that is more, for p columns.",
        choices=("auto", "2", "4", "6", "8", "11", "16"), advanced=True,
    ),
    Control(
        "root_weight", "Price of the root", "log", 0.1, "Larger: everything shrinks a little more, at every depth.", 1e-3,
        10.0, advanced=True,
    ),
    Control(
        "normalize_basis", "Scale the levels", "flag", True,
        "Off, as in the paper: high levels weigh more, and certificates seldom close at small λ.", advanced=True,
    ),
    Control(
        "standardize", "Standardise the columns", "flag", True, "Off: columns enter in their own units.", advanced=True
    ),
    Control(
        "fit_intercept", "Free offset b", "flag", True, "Off: without nodes the fit is zero.", advanced=True
    ),
    Control(
        "refit", "Refit by least squares", "flag", False,
        "On: predictions come from plain least squares on the nodes of the hull; hull and certificate stay.",
        advanced=True, when=("basis", COLUMN_BASES),
    ),
)  # fmt: skip
_HULL_LIMITS = (
    Control(
        "tol", "Tolerance", "log", 1e-3, "Smaller: the certificate tightens, and every λ takes longer.", 1e-6, 0.1,
        advanced=True,
    ),
    Control(
        "max_seconds", "Seconds per λ", "log", 10.0, "Larger: more λ end with a certificate, and the path may take longer.",
        0.1, 500.0, advanced=True,
    ),
    Control(
        "max_nodes", "Most nodes looked at", "integer", 5000, "Larger: certificates at small λ may still close.", 10,
        100_000, advanced=True,
    ),
    Control(
        "memory_mb", "Memory in MB", "integer", 800, "Larger: deeper hulls of ANOVA and Gaussian nodes fit.", 50, 1600,
        advanced=True,
    ),
)  # fmt: skip


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
            (
                _LOSS_CLASS,
                _LOSS_REAL,
                _P,
                _C,
                _EPSILON,
                _NORM,
                _Q,
                _SOLVER,
                _INTERCEPT,
                _TOL,
                _MAX_ITER,
            ),
            r"\min_{w,b,\theta\ge 0}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\frac{\|w_m\|^2}{\theta_m},"
            r"\qquad \|\theta\|_p\le 1",
            "At p = 1 few kernels carry the weight; as p grows the weight spreads. Watch whether the validation score follows: "
            "sparse is not always better.",
            "Among strongly correlated kernels the choice at p = 1 is arbitrary: a small change of the data can swap them. "
            "A weight says what this model uses, not what causes the target.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011)",
            presets=(
                Preset("sparse", "p = 1: few kernels carry all the weight.", (("norm", "lp"), ("p", 1.0)), "C"),
                Preset("balanced", "p = 4/3: small weights stay small.", (("norm", "lp"), ("p", 4 / 3)), "C"),
                Preset("smooth", "p = 2: the weight spreads over all.", (("norm", "lp"), ("p", 2.0)), "C"),
                Preset("from sparse to even", "The path runs over p itself.", (("norm", "lp"),), "p"),
            ),
            variants=_NORM_VARIANTS,
            prepare=_penalty,
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
                Control(
                    "score_tol",
                    "Least gain",
                    "log",
                    1e-4,
                    "Larger: it stops earlier, before a kernel that would explain less than this share of the target.",
                    1e-12,
                    1.0,
                    advanced=True,
                ),
                Control(
                    "n_candidates",
                    "Candidates per step",
                    "integer",
                    0,
                    "Fewer: faster, and another kernel may be taken. 0 looks at all.",
                    0,
                    10000,
                    advanced=True,
                ),
                Control(
                    "keep_duplicates",
                    "Let copies compete",
                    "flag",
                    False,
                    "Off: of exact copies only the first can enter.",
                    advanced=True,
                ),
                _MEAN_CLASS,
                _MEAN_REAL,
            ),
            r"\min_f\;\tfrac1n\sum_i V\big(y_i,f(x_i)\big)+\lambda\|f\|^2,\qquad \text{at most } s \text{ kernels}",
            "The order in which kernels enter, and the size s after which the validation score no longer rises.",
            "The choice is greedy and has no certificate: another set of the same size may fit better. "
            "Among correlated kernels the first one taken hides the others.",
            "Sindhwani and Lozano (2011)",
            presets=(
                Preset("kernel by kernel", "The usual λ; the path adds kernels.", (("lam", 0.01),), "s"),
                Preset("close fit", "A hundredth of the usual λ: each kernel fits all it can.", (("lam", 1e-4),), "s"),
                Preset("five kernels", "Five kernels at most; the path runs over λ.", (("n_kernels", 5),), "lam"),
            ),
            prepare=_candidates,
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
                    when=("criterion", ("empirical",)),
                ),
                _MEAN_CLASS,
                _MEAN_REAL,
                _TOL_GREEDY,
            ),
            r"\min_f\;\tfrac1{2n}\sum_i\big(y_i-f(x_i)\big)^2+\lambda\sum_j\|f_j\|_{\mathcal H_j}",
            "The certificate tightens with every kernel that enters; after the last one the l1 optimum is reached and no "
            "kernel outside is steeper than λ.",
            "Kernels that enter early may end with weight zero, and copies of a kernel are never told apart: the first one "
            "is taken. Bounds of the paper say nothing for Gaussian kernels, whose spans overlap completely.",
            "Jin, Yang and Mahdavi (2013)",
            variants=(_STEPS_VARIANT,),
            presets=(
                Preset(
                    "kernel by kernel",
                    "The certificate tightens with every kernel.",
                    (("criterion", "functional"),),
                    "s",
                ),
                Preset("price by price", "From where no kernel enters, down.", (("criterion", "functional"),), "lam"),
                Preset(
                    "plain steps",
                    "Gradient steps on the training error, as far as pays.",
                    (("criterion", "empirical"), ("step", "linesearch")),
                    "s",
                ),
            ),
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
                    choices=("log+gl", "log", "gl", "mf", "mkl", "log+mkl", "mf+gl", "mf+mkl"),
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
                Control(
                    "log_epsilon",
                    "Floor ε of the logarithm",
                    "log",
                    1e-6,
                    "Smaller: small kernels are dropped sooner, and local minima grow more.",
                    1e-12,
                    1.0,
                    advanced=True,
                    when=("terms", ("log+gl", "log", "log+mkl")),
                ),
                Control(
                    "mf_power",
                    "Power of mf",
                    "log",
                    0.5,
                    "Smaller: fewer kernels stay; 1 is the group lasso.",
                    0.05,
                    1.0,
                    advanced=True,
                    when=("terms", ("mf", "mf+gl", "mf+mkl")),
                ),
                Control(
                    "tol_mode",
                    "Change of weights, measured",
                    "choice",
                    "relative",
                    "Relative to the sum of the weights, or as it is.",
                    choices=("relative", "absolute"),
                    advanced=True,
                ),
                Control(
                    "init_jitter",
                    "Jitter of the start",
                    "choice",
                    "0",
                    "Above 0: exact copies start apart, so that one of them can win.",
                    choices=("0", "0.001", "0.01", "0.1"),
                    advanced=True,
                ),
                _INTERCEPT,
                _TOL_SMKL,
                _MAX_ITER,
            ),
            r"\min_{w,b}\; g(w)+C\sum_i V\big(y_i,f(x_i)\big),\qquad "
            r"g=\sum_m\log\sqrt{\epsilon+\|w_m\|^2}+\sum_m\|w_m\|\;\text{ or another sum of terms}",
            "How few kernels are left once the score has settled: compare with p = 1 at the same score. "
            "Larger C: more kernels come in, and below some C none is worth its price.",
            "The answer is a local minimum and has no certificate: another start may keep other kernels, so raise the "
            "number of starts and look at their spread. Exact duplicates share the weight unless they are parted by jitter.",
            "Subrahmanya and Shin (2010)",
            presets=(
                Preset("sparsest", "The logarithm alone drops kernels hardest.", (("terms", "log"),), "C"),
                Preset("usual", "Logarithm and group lasso.", (("terms", "log+gl"),), "C"),
                Preset("convex", "The price of p = 1: one optimum, more kernels.", (("terms", "mkl"),), "C"),
            ),
            prepare=_jitter,
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
                    advanced=True,
                ),
                *_HULL_SHAPES,
                *_HULL_PRICES,
                *_HULL_LIMITS,
            ),
            r"\min_{f=\sum_v f_v,\,b}\;\tfrac1n\sum_i \ell\big(y_i,f(x_i)+b\big)"
            r"+\tfrac{\lambda}{2}\Big(\sum_v d_v\,\|\beta_{D(v)}\|\Big)^2",
            "A product enters only after its factors. Look at the hollow nodes: how far each is from entering.",
            "A column outside the hull can still matter through one that stands in for it. At small λ the gap may not close: "
            "then the hull is a good model, not the certified one.",
            "Bach (2008)",
            on="table",
            prepare=_hull,
        ),
        Algorithm(
            "uniform",
            "Uniform sum",
            "Every kernel with weight one: the baseline every learned weighting has to beat.",
            UniformMKLClassifier,
            UniformMKLRegressor,
            (PATHS["C"],),
            (_LOSS_CLASS, _LOSS_REAL, _C, _EPSILON, _INTERCEPT, _TOL, _MAX_ITER),
            r"\min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\sum_m\|w_m\|^2",
            "Whether learning weights pays: compare the validation score with the same C under ℓp-norm MKL.",
            "Equal weights say nothing about which kernels matter.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011), the case p = ∞",
            presets=_MACHINES,
        ),
        Algorithm(
            "best",
            "Best single kernel",
            "Tries every kernel alone and keeps the best one: the other baseline a weighting has to beat.",
            BestKernelClassifier,
            BestKernelRegressor,
            (PATHS["C"],),
            (
                _LOSS_CLASS,
                _LOSS_REAL,
                _C,
                _EPSILON,
                Control(
                    "select",
                    "Best by",
                    "choice",
                    "objective",
                    "Objective: the lowest value of the problem below. Folds: the best score over inner folds, which takes longer.",
                    choices=SELECT,
                ),
                _INTERCEPT,
                _TOL,
                _MAX_ITER,
            ),
            r"\min_m\;\min_{w,b}\; C\sum_i V\big(y_i,f(x_i)\big)+\tfrac12\|w\|^2,\qquad f=\langle w,\psi_m\rangle+b",
            "Where the kernel changes along the path, and how far the score stays below that of a weighting.",
            "One kernel wins, and how close the others came is not shown. The certificate is for the machine on that kernel; "
            "chosen by folds, the choice itself carries none.",
            "Kloft, Brefeld, Sonnenburg, Zien (2011), the corners of p = 1",
            presets=_MACHINES,
        ),
    )
}
