"""Which method solves which problem: five rows, of which the first that holds is taken; at p =
infinity one machine on the sum of the kernels is the optimum.

A row gives methods in turn: the next begins where one is done or stands still, or where a ``leave``
says that it goes on faster; the driver sees a single history. ``benchmarks.ablation`` measures each
row beside the next that holds, and each method of a row beside the row without it: the figures are
in docs/ablation.md.

Squared loss on features, from sums over the rows: any table with the same Z'Z, Z = [Phi, y], has
the same weights.

The weights are found on the D + 1 rows of a square root of Z'Z, a free intercept taking the means
out first; the ordinary method begins at them, and one machine on all rows is the answer and its
certificate.

At p = 1 on copied columns that is a group lasso, which ``group_lasso.py`` solves on the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from mklcore.arrays import Array
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.features import Features, scatter_of
from mklcore.kernels.grams import SummedRows
from mklcore.kernels.operators import CachedOperator, Dense, KernelOperator, cached, is_stored
from mklcore.lp.group_lasso import is_group_lasso, weights_of_groups
from mklcore.lp.interior import Interior
from mklcore.lp.interleaved import Interleaved, lacking
from mklcore.lp.live import FROM_KERNELS, NEGLIGIBLE, LiveKernels
from mklcore.lp.newton import Newton
from mklcore.lp.reweighting import SILP, Reweighting
from mklcore.problem.driver import AnyIterate, Fit, Iterate, Status, Trace, run
from mklcore.problem.losses import Cost, Loss
from mklcore.problem.penalties import LpNorm, Penalty
from mklcore.problem.problem import Carried, Phase, Problem, WarmStart, WeightedMethod, begun

# Where one row or one method gives way to the next. A value changes how long a fit takes, not
# what its certificate proves.

# tolerance down to which pairs on rows in single precision are of use at first
FINEST = 1e-5
# of the sum of all kernels at p = infinity; above, its rows are computed when asked for
LARGEST_MB = 2000.0
# beyond, a chunk of pairs reads so many rows that a sum of the stack is faster
MOST_ROWS = 800
# kernels at p = 1 on more rows: beyond, setting apart those with weight pays
MOST_KERNELS = 200
# of pairs: they close most of the gap while Newton solves its first machines, and creep later
CHUNKS = 30
# Newton steps on all kernels at p = 1: an easy problem ends before a few are worth setting
# apart
OPENING_STEPS = 10
LOOK_BACK = 6  # steps whose pace is measured
INTERIOR_STEPS = 15  # steps that interior points take at all: the pace to compare with
# of the gap at least must be in sight: Newton's last digits come all at once
DIGITS = 0.01
# points off their bounds for each kernel with weight, at most: Newton's Hessian is of no use
KINK = 1.5
MOST_NEWTON = 40  # Newton steps after which a problem counts as hard
MOST_INTERIOR = 50  # interior point steps after which no more is to be had
# p from which the analytic update on features needs few cheap steps
NEWTON_ON_FEATURES = 1.2
# p outside of which weights follow the forms too steeply for interior points on features, or
# hardly
ORDERS = (1.2, 3.0)
UNIT = 2.0  # diagonal of the sum of kernels where the next three were fitted
CREEP = 0.85  # cost of coordinates on features: C to this power
PASSES = 0.48  # cost of interior points beside it, and per feature:
PRODUCTS = 0.0013
MOST_BYTES = 1e9  # of the inner system on features and what is made of it
# points in a row, none nearer than those before: rounding leads interior points away
STANDSTILL = 12


FEATURE_SOLVERS = ("auto", "wrapper", "newton")
MOST_SUMMED = 8000  # rows up to which the sum of kernels that are not stored is stored: 0.5 GB


# -- when a method is left


def stands_still(problem: Problem, trace: Trace) -> bool:
    """At the pace of the last steps the tolerance is farther away than interior points would take."""
    gaps = trace.gaps[-1 - LOOK_BACK :]
    if len(gaps) <= LOOK_BACK or gaps[0] == np.inf or gaps[-1] <= 0.0:
        return False
    wanted = max(trace.target / gaps[-1], DIGITS)
    return bool(gaps[-1] > gaps[0] * wanted ** (LOOK_BACK / INTERIOR_STEPS))


def is_kinked(problem: Problem, trace: Trace) -> bool:
    """Hardly more points off their bounds than kernels with weight: the Hessian of Newton's step is
    that of a few points, and the optimum a kink.
    """
    a = trace.best.dual
    weights = trace.best.weights
    low, high = problem.box
    free = np.count_nonzero((a > low) & (a < high) & (a != 0.0))
    used = np.count_nonzero(weights > NEGLIGIBLE * weights.max())
    return bool(free <= KINK * used) or stands_still(problem, trace)


def no_nearer(problem: Problem, trace: Trace) -> bool:
    """The gap has not become smaller for many steps."""
    gaps = trace.gaps[-1 - STANDSTILL :]
    return len(gaps) > STANDSTILL and gaps[-1] >= gaps[0]


# -- the methods of the rows


def interior(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Interior | None:
    """Interior points, where Lin is linear and the box of the dual has an inside."""
    suits = problem.loss.piecewise_linear and Interior.suits(problem)
    return Interior(problem, tol=tol, warm=warm) if suits else None


def opening(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Newton | None:
    """Newton on all kernels, where no neighbour says which of them have weight."""
    return Newton(problem, tol=tol) if warm is None else None


def live(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> LiveKernels:
    """Newton and interior points on the kernels that may have weight."""
    return LiveKernels(problem, NEWTON_THEN_INTERIOR, tol=tol, warm=warm)


class Constant(WeightedMethod[Any]):
    """The model that says the same of every row: a point, and nothing that it proves."""

    name = "the constant model"

    def init(self) -> AnyIterate:
        task = self.problem
        zeros = np.zeros(self.problem.y.size)
        b, errors = task.loss_at(zeros)
        return Iterate(
            task.penalty.start(task.K.n_kernels),
            zeros,
            b,
            errors,
            -np.inf,
            solves=0,
        )

    def step(self, best: AnyIterate, last: AnyIterate, trace: Trace) -> AnyIterate | Status:
        return Status.STALLED


def constant(problem: Problem, *, tol: float, warm: WarmStart | None = None) -> Constant | None:
    """The constant model, where interior points would follow it."""
    return None if interior(problem, tol=tol) is None else Constant(problem, tol=tol)


MACHINE, NEWTON, PAIRS, INTERIOR = (
    Phase(Reweighting),
    Phase(Newton),
    Phase(Interleaved),
    Phase(interior),
)
SOME_PAIRS, LIVE_KERNELS = Phase(Interleaved, most=CHUNKS), Phase(live)
NEWTON_THEN_INTERIOR = (Phase(Newton, is_kinked, MOST_NEWTON), INTERIOR)
ONE_KERNEL = (MACHINE, Phase(constant), Phase(interior, most=MOST_INTERIOR))


# -- the rows


def inside_pays(task: Problem) -> bool:
    """Whether interior points on D features cost less than coordinates, which take the longer the
    larger C: in units in which kernels of any scale cost alike.
    """
    K = task.K
    D = task.K.n_features
    p = task.order
    if not ORDERS[0] <= p <= ORDERS[1] or not task.loss.piecewise_linear:
        return False
    cost = (
        float(np.mean(task.C))
        * float(task.penalty.start(K.n_kernels) @ K.diagonals().mean(axis=1))
        / UNIT
    )
    pays = cost**CREEP > PASSES + PRODUCTS * D
    return bool(pays and MOST_BYTES >= 32.0 * D * D) and Interior.suits(task)


def on_features(task: Problem, tol: float) -> tuple[Phase, ...]:
    """Interior points at p = 1 and where C is large, Newton near p = 1, else one machine after
    another.
    """
    if task.order == 1 and task.loss.piecewise_linear and Interior.suits(task):
        return (INTERIOR,)
    if inside_pays(task):
        return Phase(interior, no_nearer), MACHINE
    return (NEWTON,) if task.order < NEWTON_ON_FEATURES else (MACHINE,)


def on_rows(task: Problem, tol: float) -> tuple[Phase, ...]:
    """Pairs on rows; sums of the kernels where pairs cannot work."""
    return (MACHINE,) if lacking(task.loss, task.penalty) else (PAIRS,)


def at_one(task: Problem, tol: float) -> tuple[Phase, ...]:
    """Newton on all kernels, then on the live ones; on all of few kernels, and on many rows, where
    Newton's steps cost little beside its machines.
    """
    M = task.K.n_kernels
    if M < FROM_KERNELS:
        return NEWTON_THEN_INTERIOR
    if task.y.size > MOST_ROWS and M <= MOST_KERNELS:
        return Phase(Newton, stands_still, MOST_NEWTON), INTERIOR
    return Phase(opening, stands_still, OPENING_STEPS), LIVE_KERNELS


def by_size(task: Problem, tol: float) -> tuple[Phase, ...]:
    """Pairs at first, where the stack is small."""
    small = task.y.size <= MOST_ROWS and tol >= FINEST and not lacking(task.loss, task.penalty)
    return (SOME_PAIRS, NEWTON) if small else (NEWTON,)


class ScheduleRow(NamedTuple):
    """A class of problems: when it is one, its methods, and why they are taken."""

    problems: str
    when: Callable[[Problem], bool]
    phases: Callable[[Problem, float], tuple[Phase, ...]]
    why: str


TABLE = (
    ScheduleRow(
        "features", lambda task: task.on_features, on_features, "features cost no kernel value"
    ),
    ScheduleRow(
        "kernels that are not stored",
        lambda task: not is_stored(task.K) and task.order != 1,
        on_rows,
        "the kernels are computed when asked for, and no Gram matrix is stored",
    ),
    ScheduleRow(
        "p = 1", lambda task: task.order == 1, at_one, "at p = 1 the analytic update would crawl"
    ),
    ScheduleRow(
        "p > 1",
        lambda task: task.order < np.inf,
        by_size,
        "at p = {p:.4g} the analytic update would crawl",
    ),
    ScheduleRow(
        "every other penalty",
        lambda task: True,
        lambda task, tol: (MACHINE,),
        "the analytic update of the {name} needs few steps and no Hessian",
    ),
)


def row_for(task: Problem) -> ScheduleRow:
    """The row that holds for a problem."""
    for row in TABLE:
        if row.when(task):
            break
    return row


def by_newton(task: Problem, *, tol: float, warm: WarmStart | None = None) -> Any:
    """Newton; ParameterError where a penalty has no such step."""
    if not task.order < np.inf:
        raise ParameterError(
            'solver="newton" needs an lp norm with finite p; use solver="auto" or "wrapper".'
        )
    phases = at_one(task, tol) if task.order == 1 and not task.on_features else (NEWTON,)
    return begun(task, phases, tol=tol, warm=warm)


def by_pairs(task: Problem, *, tol: float, warm: WarmStart | None = None) -> Any:
    """Interleaved pairs, which at p = 1 come near the optimum only."""
    phases = (SOME_PAIRS, LIVE_KERNELS) if task.order == 1 else (PAIRS,)
    return begun(task, phases, tol=tol, warm=warm)


SOLVERS: dict[str, Callable[..., Any]] = {
    "wrapper": Reweighting,
    "newton": by_newton,
    "interleaved": by_pairs,
    "silp": SILP,
}


def fit_weighted(
    K: Array | KernelOperator,
    y: Array,
    C: Cost,
    loss: Loss,
    penalty: Penalty,
    fit_intercept: bool,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int = 500,
    warm: WarmStart | None = None,
    callback: Callable[..., Any] | None = None,
    screen: bool = True,
) -> Fit:
    """Learn kernel weights and machine together:

        min_{w, b, theta >= 0}  C sum_i V(t_i, y_i) + 1/2 sum_m ||w_m||^2 / theta_m    over weights ``penalty`` allows

    ``K`` (M, n, n) float64 or an operator, ``y`` (n,) float64 (labels -1 / +1 for hinge and
    logistic), ``C`` > 0, a number or one per row (n,). ``solver`` is a key of ``SOLVERS`` or
    "auto": the rows of ``TABLE`` say which methods that is, and the fit's ``solver`` text repeats
    why. ``screen`` leaves kernels unread that cannot have weight at p = 1. Source: Kloft, Brefeld,
    Sonnenburg, Zien (2011), equation (16).
    """
    if not penalty.certifies:
        raise ParameterError(
            f"The term {getattr(penalty, 'formula', penalty.name)!r} is concave and has no "
            "dual, which this solver needs for its certificate; use SMKLClassifier or "
            "SMKLRegressor."
        )
    loss.check_cost(y.size, C)
    if solver not in ("auto", *SOLVERS):
        raise ParameterError(
            f"There is no solver called {solver!r}; the solvers are auto, {', '.join(SOLVERS)}."
        )
    kernels = cached(K, None if warm is None else warm.carried.kernels)
    penalty.check_claims(kernels.n_kernels)
    cost = C if np.ndim(C) else float(C)
    task = Problem(y, cost, loss, fit_intercept, kernels, penalty, screen)
    if loss.total != 0.0:
        check_mean(task)
    if task.on_features and solver not in FEATURE_SOLVERS:
        raise ParameterError(
            f'solver="{solver}" works on kernel values, which an approximation does not make; use one of '
            f"{', '.join(FEATURE_SOLVERS)}, or approximation=None."
        )
    stored = is_stored(kernels)
    if (
        task.order == np.inf
        and not task.on_features
        and (solver in ("auto", "wrapper") or not stored)
    ):
        return fit_sum(task, tol=tol, max_iter=max_iter, warm=warm, callback=callback)
    if not stored and solver in ("newton", "silp"):
        raise ParameterError(
            f'solver="{solver}" needs the Gram matrices; use solver="auto" or '
            '"interleaved" to work without them.'
        )
    if task.on_features and solver == "auto" and is_group_lasso(task):
        warm = weights_of_groups(task, tol=tol, warm=warm)
        solver = "newton"
    elif (
        task.on_features and loss.quadratic and kernels.n_features < y.size and solver != "wrapper"
    ):
        warm = from_sums(task, tol=tol, warm=warm)
        solver = "newton" if task.order < np.inf else "wrapper"
    if solver == "auto":
        row = row_for(task)
        method = begun(task, row.phases(task, tol), tol=tol, warm=warm)
        why = f", chosen because {row.why.format(p=task.order, name=penalty.name)}"
    else:
        method = SOLVERS[solver](task, tol=tol, warm=warm)
        why = ""
    return run(method, tol=tol, max_iter=max_iter, callback=callback, why=why)


def check_mean(task: Problem) -> None:
    """KernelError where the rows surround the origin evenly in every kernel, so that the nu form
    has no boundary.

    Equal duals, or duals as the costs are, stand for the mean of the rows and are always feasible
    in the nu form. Where the mean is the origin, their dual value is 0, which f = 0 and rho = 0
    reach: the optimum tells no row from another, and a computed one would consist of rounding.
    """
    costs = np.broadcast_to(task.C, task.y.size)
    mean = costs / costs.sum()
    lengths = task.K.diagonals().mean(axis=1)
    if np.all(task.K.quad(mean) <= _SAME_PLACE * lengths.max()):
        raise KernelError(
            "The mean of the training rows is the origin in every kernel, as it always is "
            "with center=True. The nu form looks for a boundary between the rows and the "
            "origin, and there is none: its exact optimum is f = 0 for every row. Use "
            "center=False, and add a kernel such as RBF where all kernels are linear and "
            "the columns are centred."
        )


def fit_sum(
    task: Problem,
    *,
    tol: float,
    max_iter: int,
    warm: WarmStart | None,
    callback: Callable[..., Any] | None,
) -> Fit:
    """p = infinity as the problem of one kernel, K = sum_m K_m, at p = 1: the conjugates agree, for
    sum_m a'K_m a = a'K a.

    Where not even the sum fits in memory, its rows are computed when asked for, by interleaved
    pairs. Source: Kloft et al. (2011), (17) at p* = 1.
    """
    K = task.K
    n = task.y.size
    room = LARGEST_MB
    needed = 8e-6 * n**2
    source = cast(Any, task.K.source)
    if needed > room and (missing := lacking(task.loss, task.penalty)):
        raise KernelError(
            f"The sum of the kernels on {n:,} rows takes {needed:,.0f} MB, above the "
            f"{room:,.0f} MB that are stored, and to do without it takes {missing}. Use "
            "fewer rows, such a loss, or an approximation (Nystroem(n_components=200), "
            "say)."
        )
    ones = np.ones(K.n_kernels)
    phases = ONE_KERNEL if needed <= room else (PAIRS,)
    one = Dense(cast(Any, K.combine(ones).matrix)[None]) if needed <= room else SummedRows(source)
    alone = replace(
        task, K=cached(one, None if warm is None else warm.carried.few), penalty=LpNorm(1.0)
    )
    start = None if warm is None else WarmStart(np.ones(1), warm.dual)
    why = f", on the plain sum of {K.n_kernels} kernels"
    fit = run(
        begun(alone, phases, tol=tol, warm=start),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
        why=why,
    )
    return replace(fit, weights=ones, carry=Carried(K, few=alone.K))


_CUT = 1e-14  # of the largest eigenvalue: directions below it are rounding


def on_root(stack: Features, scatter: Array) -> tuple[Features, Array]:
    """Features and a target on D + 1 rows with the squares and products ``scatter``.

    Squared loss on them has the same solutions as on the rows of the (D + 1, D + 1) ``scatter``.
    """
    values, vectors = np.linalg.eigh(scatter)
    sizes = np.where(values > _CUT * values[-1], values, 0.0)
    root = np.sqrt(sizes)[:, None] * vectors.T
    features: Any = stack  # a root is in double precision, which features need not be
    return replace(features, table=np.ascontiguousarray(root[:, :-1])), root[:, -1].copy()


def from_sums(task: Problem, *, tol: float, warm: WarmStart | None = None) -> WarmStart:
    """The weights of a problem with squared loss on features, to begin with."""
    stack: Any = task.K.source
    C: Array = np.broadcast_to(np.asarray(task.C, dtype=np.float64), task.y.shape)
    cost = float(C.mean())
    root, target = on_root(stack, scatter_of(stack, task.y, C / cost, task.fit_intercept))
    alone = replace(task, K=CachedOperator(root), y=target, C=cost, fit_intercept=False)
    start = None if warm is None else WarmStart(warm.weights, np.zeros(target.size))
    method = Newton if task.order < np.inf else Reweighting
    fit = run(
        method(alone, tol=0.1 * tol, warm=start),
        tol=0.1 * tol,
        max_iter=500,
    )
    return WarmStart(fit.weights, np.zeros(task.y.size))


# of the rows' squared length: nearer to the origin their mean is rounding, as for wide centred RBF
_SAME_PLACE = 1e-7
