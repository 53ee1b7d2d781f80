"""The parameters as a person moves them: paths, controls and presets that methods share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from mklcore.arrays import Names
from mklcore.hkl.bases import BASES
from mklcore.io.catalog.algorithm import (
    EVERY_TASK,
    NOVELTY,
    Control,
    Live,
    PathParameter,
    Preset,
    Variant,
)
from mklcore.lp.schedule import SOLVERS
from mklcore.parameters import Parameter
from mklcore.problem.losses import CLASSIFICATION, LOSSES, REGRESSION, losses_for
from mklcore.problem.penalties import PENALTIES, LpNorm, norms

NORMS = Live(norms)
FIXED_LEVELS = ("anova",)  # bases whose number of levels is not chosen
COLUMN_BASES = ("polynomial",)  # every level a column, so that a hull has finitely many features


def penalty(
    parameters: dict[str, Any],
    stack: Any,
    alignment: Any,
) -> dict[str, Any]:
    """The penalty object from the control "norm" and the controls of its numbers."""
    kind = PENALTIES[parameters.pop("norm", LpNorm.name)]
    values = {
        name: parameters[name] for name in ("p", *_numbers_of_penalties()) if name in parameters
    }
    parameters = {
        name: value for name, value in parameters.items() if name == "p" or name not in values
    }
    if kind is not LpNorm:
        parameters["penalty"] = kind.chosen(values, stack, alignment)
    return parameters


def _numbers_of_penalties() -> dict[str, tuple[Parameter, Names]]:
    """The numbers of all penalties but p: each with the penalties that have it."""
    found = _by_name({name: PENALTIES[name].parameters for name in norms()})
    found.pop("p", None)
    return found


def _by_name(
    numbers: Mapping[str, Sequence[Parameter]],
) -> dict[str, tuple[Parameter, Names]]:
    """Every number by its name, with the parameter of its first owner and all owners."""
    found: dict[str, tuple[Parameter, Names]] = {}
    for owner, parameters in numbers.items():
        for parameter in parameters:
            first, owners = found.get(parameter.name, (parameter, ()))
            found[parameter.name] = (first, (*owners, owner))
    return found


def _control_of(number: Parameter, **more: Any) -> Control:
    """The control of a number that a loss or a penalty has."""
    return Control(
        number.name,
        number.label,
        number.kind,
        number.default,
        number.help,
        number.low,
        number.high,
        **more,
    )


def of_losses() -> tuple[Control, ...]:
    """A control for every number of a loss, shown where the loss is chosen."""
    suiting = {name: LOSSES[name].parameters for name in losses_for(EVERY_TASK)}
    controls = []
    for number, owners in _by_name(suiting).values():
        tasks = dict.fromkeys(chain.from_iterable(LOSSES[owner].tasks for owner in owners))
        controls.append(_control_of(number, tasks=tuple(tasks), when=("loss", owners)))
    return tuple(controls)


def of_machine(*weights: Control) -> tuple[Control, ...]:
    """The controls of a machine on kernels, and those of how its kernel weights are found."""
    return LOSS_CLASS, LOSS_REAL, C, *of_losses(), *weights, INTERCEPT, TOL, MAX_ITER


def of_penalties() -> tuple[Control, ...]:
    """A control for every number of a penalty, shown where the penalty is chosen."""
    return tuple(
        _control_of(number, advanced=True, when=("norm", owners), paths=("C",))
        for number, owners in _numbers_of_penalties().values()
    )


def p_of_norms() -> Control:
    """The control of p, shown where the norm has one."""
    number, owners = _by_name({name: PENALTIES[name].parameters for name in norms()})["p"]
    return _control_of(number, when=("norm", owners))


def norm() -> Control:
    """The control of the penalty, with what each of them does."""
    helps = [
        f"{name[0].upper()}{name[1:]}: {PENALTIES[name].help}."
        for name in norms()
        if PENALTIES[name].help
    ]
    return Control(
        "norm",
        "Norm of the weights",
        "choice",
        LpNorm.name,
        " ".join(helps),
        choices=NORMS,
        advanced=True,
        paths=("C",),
    )


def _variants() -> tuple[Variant, ...]:
    """Formula and description of every penalty that has its own."""
    kinds = [PENALTIES[name] for name in norms() if PENALTIES[name].look_for]
    start = {kind: r",\theta\ge 0" if r"\theta" in kind.problem else "" for kind in kinds}
    return tuple(
        Variant(
            "norm",
            kind.name,
            rf"\min_{{w,b{start[kind]}}}\; {COST}+{kind.problem}",
            kind.look_for,
            kind.cannot_tell,
        )
        for kind in kinds
    )


def candidates(
    parameters: dict[str, Any],
    stack: Any,
    alignment: Any,
) -> dict[str, Any]:
    """0 candidates mean all of them."""
    if parameters.get("n_candidates") == 0:
        parameters["n_candidates"] = None
    return parameters


def jitter(
    parameters: dict[str, Any],
    stack: Any,
    alignment: Any,
) -> dict[str, Any]:
    """The jitter is chosen from a list of texts, because 0 has no place on a log scale."""
    if "init_jitter" in parameters:
        parameters["init_jitter"] = float(parameters["init_jitter"])
    return parameters


RELAXATIONS = 10  # of a search for one size: a page answers in seconds


def relaxations(
    parameters: dict[str, Any],
    stack: Any,
    alignment: Any,
) -> dict[str, Any]:
    """A page takes fewer relaxations than the library does, unless a person asks for more."""
    return {"max_relaxations": RELAXATIONS} | parameters


SHAPES = {
    "gaussian": ("b", "gaussian_b"),
    "anova": ("b", "anova_b"),
    "kernel_pca": ("width", "width"),
}


def hull(
    parameters: dict[str, Any],
    stack: Any,
    alignment: Any,
) -> dict[str, Any]:
    """The basis from its key, its number of "levels" and its shape; "auto" keeps the default."""
    shapes = {control: parameters.pop(control, "auto") for _, control in SHAPES.values()}
    key = parameters.get("basis")
    levels = parameters.pop("levels", None)
    if key in BASES:
        counted = () if levels is None or key in FIXED_LEVELS else (int(levels),)
        argument, control = SHAPES.get(key, ("", ""))
        value = shapes.get(control, "auto")
        parameters["basis"] = BASES[key](
            *counted, **({} if value == "auto" else {argument: float(value)})
        )
    if parameters.get("depth_weight") == "auto":
        parameters["depth_weight"] = None
    elif "depth_weight" in parameters:
        parameters["depth_weight"] = float(parameters["depth_weight"])
    return parameters


PATHS: dict[str, PathParameter] = {
    path.key: path
    for path in (
        PathParameter(
            "C", "C", "C, the cost of an error", "Larger C: the fit follows the data more closely."
        ),
        PathParameter(
            "p",
            "p",
            "p, the norm of the weights",
            "Smaller p: the weight gathers on fewer kernels. 1 is sparse, ∞ is the plain sum.",
        ),
        PathParameter(
            "lam",
            "lam",
            "λ, the ridge penalty",
            "Larger λ: a smoother fit, and later kernels matter less.",
        ),
        PathParameter(
            "s",
            "n_kernels",
            "s, the number of kernels",
            "One step to the right adds the kernel that explains most of what is left.",
        ),
    )
}

GREEDY_PATHS = (
    PathParameter(
        "s",
        "n_kernels",
        "s, the number of kernels",
        (
            "One step to the right lets the steepest kernel in; under the empirical criterion "
            "it is one more step."
        ),
    ),
    PathParameter(
        "lam",
        "lam",
        "λ, the penalty of a kernel",
        "Larger λ: fewer kernels enter, and each is held smaller.",
    ),
)
C = Control(
    "C", "Cost C", "log", 1.0, "Larger C: the fit follows the data more closely.", 1e-4, 1e4
)
SOLVER = Control(
    "solver",
    "Solver",
    "choice",
    "auto",
    (
        "All end in the same optimum; watch solves and seconds. silp works at p = 1 only, "
        "newton at finite p, interleaved with the hinge and ε-insensitive losses."
    ),
    choices=Live(lambda: ("auto", *SOLVERS)),
    advanced=True,
)
INTERCEPT = Control(
    "fit_intercept",
    "Free offset b",
    "flag",
    True,
    "Off: the fit has no constant of its own, only what the kernels add.",
    tasks=EVERY_TASK,
    advanced=True,
)
TOL = Control(
    "tol",
    "Tolerance",
    "log",
    1e-3,
    "Smaller: the certificate tightens, and every point takes longer.",
    1e-7,
    0.1,
    advanced=True,
)
MAX_ITER = Control(
    "max_iter",
    "Most iterations",
    "integer",
    500,
    "A point stopped there is drawn dashed and says so.",
    1,
    5000,
    advanced=True,
)
TOL_GREEDY = replace(TOL, when=("criterion", ("functional",)))
TOL_SMKL = replace(
    TOL, help="Smaller: the weights settle further before it stops, and every point takes longer."
)
MEAN_CLASS = Control(
    "fit_intercept",
    "Subtract the mean",
    "flag",
    False,
    "On: the mean of the labels is taken off first and added back. Not with the hinge loss.",
    tasks=CLASSIFICATION,
    advanced=True,
)
MEAN_REAL = Control(
    "fit_intercept",
    "Subtract the mean",
    "flag",
    True,
    "On: the mean of the target is taken off first and added back.",
    tasks=REGRESSION,
    advanced=True,
)
COST = r"C\sum_i V\big(y_i,f(x_i)\big)"
NORM_VARIANTS = Live(_variants)
NOVELTY_WORDS = Variant(
    "task",
    NOVELTY,
    "",
    (
        "Small C leaves many rows outside, large C few. Which kernels carry the boundary, and "
        "on Predict, whether rows you know to be odd fall outside."
    ),
    (
        "Without a target no score says which C, p or kernels are right: the share accepted "
        "tells how tight the boundary is. Wide kernels, under which all rows look alike, "
        "reach their boundary cheaply and draw the weight at small p. A row outside is unlike "
        "the training rows; that alone does not make it wrong."
    ),
)
STEPS_VARIANT = Variant(
    "criterion",
    "empirical",
    r"\min_f\;\tfrac1n\sum_i V\big(y_i,f(x_i)\big),"
    r"\qquad f\leftarrow f+\text{a step along the steepest kernel},\qquad "
    r"V=\tfrac12(y-f)^2\text{ for squared loss}",
    (
        "How the training error falls step by step, and after how many steps the validation "
        "score turns."
    ),
    (
        "There is no λ and no certificate: only the greedy order and the number of steps hold "
        "the fit back. Copies of a kernel are never distinguished."
    ),
)
CONVEX_VARIANTS = (
    Variant(
        "terms",
        "gl",
        r"\min_{w,b}\; \sum_m\|w_m\|+" + COST,
        "How many kernels stay beside the concave penalties: compare log at the same score.",
        (
            "The problem is convex, so starts do not matter, yet this solver gives no "
            "certificate: it stops when the weights settle, and small weights fade slowly."
        ),
    ),
    Variant(
        "terms",
        "mkl",
        r"\min_{w,b}\; \tfrac12\Big(\sum_m\|w_m\|\Big)^2+" + COST,
        (
            "Under the same normalisation this is ℓp-norm MKL at p = 1: compare the weights, "
            "and how many stay."
        ),
        (
            "The problem is convex, so starts do not matter, yet this solver gives no "
            "certificate: ℓp-norm MKL at p = 1 does. Small weights fade slowly."
        ),
    ),
)
MACHINES = (
    Preset(
        "margin",
        "The hinge loss: rows beyond the margin are free.",
        (("loss", "hinge"),),
        tasks=CLASSIFICATION,
    ),
    Preset("ridge", "Squared errors of the labels.", (("loss", "squared"),), tasks=CLASSIFICATION),
    Preset(
        "tube", "Errors below ε are free.", (("loss", "epsilon_insensitive"),), tasks=REGRESSION
    ),
    Preset("ridge", "Squared errors.", (("loss", "squared"),), tasks=REGRESSION),
)
MARGIN_VARIANTS = (
    Variant(
        "rule",
        "margin",
        r"\mu_m\propto g^\top YK_mYg,\qquad g=\arg\min_g\;(1-\lambda)\,g^\top Y\sum_m K_m"
        r"\,Yg+\lambda\|g\|^2,\quad "
        r"g\ge 0,\;"
        r"\sum_{y_i=+1}g_i=\sum_{y_i=-1}g_i=1",
        (
            "Which kernels part the nearest points of the two classes. Copies of a kernel "
            "each get their weight."
        ),
        (
            "There is no certificate: the margin is that of the plain sum, and the weights "
            "are not those of any joint problem (EasyMKL; Aiolli and Donini, 2015)."
        ),
    ),
)
LAM = Control(
    "lam",
    "Ridge λ",
    "log",
    0.01,
    "Larger λ: a smoother fit, and later kernels matter less.",
    1e-8,
    1e4,
)
LOSS_CLASS = Control(
    "loss",
    "Loss",
    "choice",
    "hinge",
    "How a wrong prediction is penalised.",
    choices=Live(lambda: losses_for(CLASSIFICATION)),
    tasks=CLASSIFICATION,
)
LOSS_REAL = Control(
    "loss",
    "Loss",
    "choice",
    "squared",
    "How a wrong prediction is penalised.",
    choices=Live(lambda: losses_for(REGRESSION)),
    tasks=REGRESSION,
)

GREEDY_LOSS_REAL = Control(
    "loss",
    "Loss",
    "choice",
    "squared",
    "Huber limits the effect of outliers.",
    choices=("squared", "huber"),
    tasks=REGRESSION,
)

HULL_SHAPES = (
    Control(
        "gaussian_b",
        "Gaussian b",
        "choice",
        "auto",
        (
            "Larger: narrower bumps in every column at once; with many columns nothing but a "
            "few rows is left inside all of them. auto is a tenth over the spread of the "
            "rows' squared lengths."
        ),
        choices=("auto", "0.001", "0.01", "0.05", "0.1", "0.5", "1"),
        advanced=True,
        when=("basis", ("gaussian",)),
    ),
    Control(
        "anova_b",
        "ANOVA b",
        "log",
        0.0625,
        "Larger b: what one column adds may bend more.",
        0.01,
        10.0,
        advanced=True,
        when=("basis", ("anova",)),
    ),
    Control(
        "width",
        "Kernel PCA width",
        "log",
        1.0,
        "Smaller width: what one column adds may bend more.",
        0.1,
        10.0,
        advanced=True,
        when=("basis", ("kernel_pca",)),
    ),
)
HULL_WEIGHTS = (
    Control(
        "depth_weight",
        "Weight per step of depth",
        "choice",
        "auto",
        (
            "Larger: deep nodes cost more, hulls stay flat and certificates close sooner. "
            "auto is 4, or √p − 1 rounded up where that is more, for p columns."
        ),
        choices=("auto", "2", "4", "6", "8", "11", "16"),
        advanced=True,
    ),
    Control(
        "root_weight",
        "Weight of the root",
        "log",
        0.1,
        "Larger: everything shrinks a little more, at every depth.",
        1e-3,
        10.0,
        advanced=True,
    ),
    Control(
        "normalize_basis",
        "Scale the levels",
        "flag",
        True,
        "Off, as in the paper: high levels weigh more, and certificates seldom close at small λ.",
        advanced=True,
    ),
    Control(
        "standardize",
        "Standardise the columns",
        "flag",
        True,
        "Off: columns enter in their own units.",
        advanced=True,
    ),
    Control(
        "fit_intercept",
        "Free offset b",
        "flag",
        True,
        "Off: without nodes the fit is zero.",
        advanced=True,
    ),
    Control(
        "refit",
        "Refit by least squares",
        "flag",
        False,
        (
            "On: predictions come from plain least squares on the nodes of the hull; hull and "
            "certificate stay."
        ),
        advanced=True,
        when=("basis", COLUMN_BASES),
    ),
)
HULL_LIMITS = (
    Control(
        "tol",
        "Tolerance",
        "log",
        1e-3,
        "Smaller: the certificate tightens, and every λ takes longer.",
        1e-6,
        0.1,
        advanced=True,
    ),
    Control(
        "max_seconds",
        "Seconds per λ",
        "log",
        10.0,
        "Larger: more λ end with a certificate, and the path may take longer.",
        0.1,
        500.0,
        advanced=True,
    ),
    Control(
        "max_nodes",
        "Most nodes looked at",
        "integer",
        5000,
        "Larger: certificates at small λ may still close.",
        10,
        100_000,
        advanced=True,
    ),
    Control(
        "memory_mb",
        "Memory in MB",
        "integer",
        800,
        "Larger: deeper hulls of ANOVA and Gaussian nodes fit.",
        50,
        1600,
        advanced=True,
    ),
)
