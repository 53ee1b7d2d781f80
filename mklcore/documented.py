"""The parameters that estimators and functions share, described once: a decorator writes them into
each docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

PARAMETERS = r"""
X : array-like of shape (n, d)
    Rows of the table, or Gram matrices where the kernels are precomputed.
y : array-like of shape (n,)
    Target: numbers for a regression, labels of any kind for classes.
K : ndarray of shape (M, n, n) or GramStack
    Gram matrices of the M kernels on the same n rows.
p : float
    Norm of the kernel weights, from 1 (sparse) to infinity (the plain sum of the kernels).
C : float
    Weight of the loss against the regulariser, > 0: larger values fit the training rows more closely.
lam : float
    Weight of the regulariser, > 0: larger values fit the training rows less closely.
loss : str or Loss
    How a wrong prediction is penalised: the name of a loss in ``LOSSES``, or an object of your own.
epsilon : float
    Half width of the tube of the epsilon-insensitive loss, in units of the target, >= 0.
penalty : str, Penalty or None
    Regulariser of the kernel weights in place of the norm ``p``: a name of ``PENALTIES`` or an object.
solver : str
    "auto", "wrapper" (analytic update), "newton" (damped Newton on the weights), "interleaved" (kernel rows on the
    fly, no stored Gram matrix) or "silp" (cutting planes, p = 1, for comparison).
n_kernels : int or None
    Most kernels in the model, from 1; None for no bound.
score_tol : float
    Stop before adding a kernel whose score is below this share of ||y||^2 / n: a finite number of 0 or more, where
    0 never stops for a small score.
n_candidates : int or None
    Score only this many kernels per step, redrawn with ``random_state``; None for all.
keep_duplicates : bool
    Let exact copies of a kernel compete; by default only the first of them does.
criterion : str
    "functional" (Algorithm 1: the kernel with the largest functional gradient enters, then (1) is solved exactly on
    the kernels chosen; duality gap) or "empirical" (Algorithm 2: a gradient step along the kernel whose gradient is
    largest on the training rows; uses no lam and has no certificate).
step : str
    "unit" or "linesearch" (ours, Algorithm 2 only: the best step instead of the unit step).
terms : str or GroupTerm
    G, a sum of "log", "gl" (group lasso), "mf" (M-FOCUSS), "mkl" (squared group lasso), "mcp" and "scad" (prices
    that stop rising, beside the machine's 1/2 ||w||^2); or a term object.
eta : float or None
    Group weights: a number, one per kernel, or None: 1, and sqrt(d_k) for explicit linear groups, that is linear
    kernels with ``normalise=None`` such as ``KernelDictionary.per_group(Linear(), groups)``.
log_epsilon : float
    The number added inside the logarithm, above 0.
mf_power : float
    The power of the block norms, above 0 and at most 1.
groups : mapping, sequence or None
    Pairs of a name and columns that together hold every column once; None for every column alone.
tol_mode : str
    Whether ``tol`` is "relative" to the sum of the weights or "absolute", the printed algorithm to the letter. With
    "relative" exact copies of a kernel are left out first, what has settled with log or mf terms is shaken and
    followed down again for as long as the objective falls, and the answer is no kernel where all of them vanish and
    the objective without any is no higher.
init_jitter : float
    Relative random change of the equal first weights.
n_starts : int
    Further starts from random weights; the smallest objective is kept, ``start_objectives_`` and ``start_kernels_``
    tell where each ended.
kernels : KernelDictionary, sequence of KernelSpec, "precomputed" or None
    The kernels to combine; "precomputed" where ``fit`` gets their Gram matrices. None for one RBF kernel per
    bandwidth of a grid and one linear kernel.
normalise : str or None
    How every kernel is scaled on the training rows: "multiplicative", "spherical", "trace", "diag", None, or "auto"
    for the usual way of the method.
center : bool
    Whether the kernels are centred in their feature spaces on the training rows.
random_state : int or None
    Seed of everything that is drawn at random; a number gives the same fit each time.
class_weight : dict, "balanced" or None
    What C is multiplied by for the rows of each class, as in scikit-learn; None for 1.
n_jobs : int or None
    Problems of one class against the rest that are solved at a time; None for one, -1 for one per core.
max_relaxations : int
    Relaxations after which the search for the best kernels ends with what it has proved, from 1.
callback : callable or None
    Called after every step with a record of it; a true answer or raising ``CancelledError`` ends the fit.
approximation : Nystroem or None
    Features of low rank in place of the kernels; None for the kernels themselves.
fit_intercept : bool
    Whether the model has a free offset b.
tol : float
    Relative duality gap at which the solver stops, > 0.
max_iter : int
    Most steps of the outer loop, from 1; a fit that stops there gives a ``NotConvergedWarning``.
probability : bool
    Whether probabilities are calibrated on held-out folds, so that ``predict_proba`` can be used.
basis : Basis, str, ndarray or None
    None (polynomial of degree 4), a basis such as ``GaussianBasis(3)`` or its key ("gaussian"), or Gram matrices
    (p, q+1, n, n).
graph : Graph or None
    None for the grid of products; ``Graph(parents, kernels)`` for any directed acyclic graph with kernels of your
    own at its nodes. ``basis``, ``standardize`` and ``root_weight`` are then not used, and ``normalize_basis``
    scales kernel functions to variance 1.
depth_weight : float or None
    D_v = depth_weight ** depth; None for 4, or sqrt(p) - 1 where that is more; on a graph without weights 1.
root_weight : float
    D of the root, > 0.
normalize_basis : bool
    Centre every level above 0 and scale it to mean diagonal 1; False as in the paper.
standardize : bool
    Bring the columns of X to mean 0 and standard deviation 1 first.
search : str
    "certified" (train small, certify large), "printed" (the algorithm of the paper) or "necessary" (quick and
    provisional: it can miss interactions altogether, and has no gap).
max_nodes : int
    Bound on the certificate set, or as printed on the hull; the gap reached there is stated.
memory_mb : float
    Most memory for Gram matrices of levels and of the hull, in MB; none is needed for columns.
max_seconds : float or None
    Bound on the search, None for none, in seconds of the processor; the gap reached there is stated.
refit : bool
    Predict by unpenalised least squares on the features of the hull (bases of columns only).
**options : dict
    Further arguments of ``Design``.
"""
_HEADING = "Parameters\n----------\n"
_ENTRY = re.compile(r"^([\w*]+) : .*(?:\n    .*)*", re.MULTILINE)
_SECTION = re.compile(r"^[A-Z][A-Za-z ]+\n-{4,}$|^Source:", re.MULTILINE)
_SHARED = {entry[1]: entry[0] for entry in _ENTRY.finditer(PARAMETERS)}
Kind = TypeVar("Kind", bound=Callable[..., Any])  # a class or a function


def documented(kind: Kind) -> Kind:
    """The class or function with an entry for every parameter: its own, else that of
    ``PARAMETERS``.
    """
    before, heading, own = inspect.cleandoc(kind.__doc__ or "").partition(_HEADING)
    following = _SECTION.search(own if heading else before)
    if not heading:
        before, own = (
            (before, "")
            if following is None
            else (before[: following.start()], before[following.start() :])
        )
        following = _SECTION.search(own)
    rest = "" if following is None else own[following.start() :]
    entries = {
        entry[1]: entry[0]
        for entry in _ENTRY.finditer(own if following is None else own[: following.start()])
    }
    section = []
    for parameter in inspect.signature(kind).parameters.values():
        name = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        default = (
            f'"{parameter.default}"'
            if isinstance(parameter.default, str)
            else repr(parameter.default)
        )
        is_free = parameter.default is parameter.empty or name in entries
        first, _, what = entries.get(name, _SHARED.get(name, name)).partition("\n")
        section.append(f"{first}\n{what}" if is_free else f"{first}, default {default}\n{what}")
    kind.__doc__ = "\n".join([before.rstrip(), "", _HEADING.rstrip(), *section, "", rest])
    return kind
