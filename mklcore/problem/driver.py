"""The one outer loop, and what a method tells it.

Everything that methods have in common lives here.

The driver keeps history, best primal point, best dual value, the stopping rule, the non-finite
check and the cancel callback, and returns one frozen ``Fit`` for every ``Method``.

Stopping rule: best primal minus best dual <= tol * R, where R is the regulariser term of the dual.
R, not the objective: at small C the objective is nearly all loss and accepts the uniform start. A
gap below the rounding of its two values is published as that rounding; where the tolerance is
finer, the status is ``ROUNDED``.

Nothing leaves the driver unproved: a polish that costs more than tol * R is undone, and four
invariants are checked before anything is published:

    objective            the published coefficients give the published objective
    dual value           the published dual point gives the published dual value
    dual below primal    the dual value does not exceed the objective
    history              the published point is no worse than the best one seen, but for tol R

A violation is a ``ProofError``, unless round-off explains it: then the kernels are too badly scaled
for float64, and a ``KernelError`` names the scales.
"""

from __future__ import annotations

import enum
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from mklcore.arrays import Array, one_blas_thread
from mklcore.errors import KernelError, MKLError, ProofError, check_cancelled, warn_short

# Where a run is at the end of its digits. What counts as rounding is never more than `check`
# allows.

# share of the objective that its rounding is at most: values from scratch agree to that, or
# nothing is published
DIGITS = 1e-7
RESTATED = 5  # times that running sums may claim a gap that is none, before a run ends


EXACT = 1e-6  # share of the objective up to which two computations of one number agree
_SHARP = 1e-7  # the same where round-off is the reason: another machine may be ten times less lucky
# share of the objective that round-off may cost at the very worst, which is hardly ever met
_TOO_MUCH = 3e-4
# shares of the objective: a gap that is no answer, round-off that explains one
_FAR = 1e-2
_STRAINED = 1e-5
ROUNDING = 8.0 * np.finfo(float).eps


class Status(enum.Enum):
    """How a fit ended; the text says what that means and what to do next."""

    CONVERGED = "converged: the certificate is within the tolerance"
    SETTLED = (
        "settled: the kernel weights no longer change; with log or mf terms other starts may "
        "end elsewhere"
    )
    COMPLETE = "complete: the number of kernels asked for was reached"
    NO_GAIN = "complete: no further kernel improves the fit by more than score_tol"
    ROUNDED = "complete: the gap that is left is the rounding of the objective in double precision"
    PROVEN = "proven best: no other choice of as many kernels has a lower objective"
    BOUNDED = (
        "complete: max_relaxations were made; the bound says how far from the best choice "
        "this one can be"
    )
    EXHAUSTED = "complete: every kernel is in use"
    CANCELLED = "cancelled before the tolerance was reached; start again to go on from here"
    MAX_ITER = "stopped at max_iter before the tolerance was reached; raise max_iter or tol"
    MAX_NODES = (
        "not certified: stopped at max_nodes; raise max_nodes or depth_weight, loosen tol, or "
        "take a larger lam"
    )
    OUT_OF_TIME = (
        "not certified: stopped at max_seconds; raise max_seconds or depth_weight, loosen "
        "tol, or take a larger lam"
    )
    OUT_OF_MEMORY = (
        "not certified: stopped at memory_mb; raise memory_mb or depth_weight, use fewer "
        "rows, or take a larger lam"
    )
    PROVISIONAL = (
        "provisional: only the necessary condition was checked; the answer can be wrong in "
        'kind, use search="certified"'
    )
    RAN_AWAY = (
        "stopped at the last point that double precision can carry, because a kernel weight runs away; add the group "
        'lasso, which bounds it (terms="log+gl"), or take a smaller C'
    )
    STALLED = (
        "no step improves the objective any more; loosen tol, or remove near-duplicate kernels"
    )

    @property
    def ok(self) -> bool:
        """True when the method did all it was asked to do."""
        return self in _OK


_OK = frozenset(
    (
        Status.CONVERGED,
        Status.SETTLED,
        Status.COMPLETE,
        Status.NO_GAIN,
        Status.ROUNDED,
        Status.EXHAUSTED,
        Status.PROVEN,
        Status.BOUNDED,
    )
)


class Screened(NamedTuple):
    """At p = 1: how many kernels cannot have weight at the optimum, and how many were never read,
    of all of them.
    """

    ruled_out: int
    unread: int


State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class Iterate(Generic[State]):
    """One iterate: a model, its objective, and, where the method has one, its certificate.

    weights : (M,), the weights of the kernels
    dual : (n,) or (n, T), signed dual coefficients
    intercept : offset of the model
    objective : primal value
    dual_objective : lower bound of the optimum, or None
    scale : R of the stopping rule
    solves : machines that were solved for it
    selected : kernels in order of entry; None for methods that weigh all
    state : what the method needs for the next step
    dual_point : (n,), the signed feasible dual point whose value is ``dual_objective``; it may be
        another than ``dual``
    """

    weights: Array
    dual: Array
    intercept: float
    objective: float
    dual_objective: float | None = None
    scale: float = 0.0
    solves: int = 1
    selected: tuple[int, ...] | None = None
    state: State = None  # type: ignore[assignment]  # None for methods that need nothing
    dual_point: Array | None = None


AnyIterate: TypeAlias = Iterate[Any]  # of a method whose state is its own affair


class Bounded:
    """An ``objective`` and the ``dual_objective`` that bounds the optimum from below; None without
    a certificate.
    """

    objective: float
    dual_objective: float | None

    @property
    def gap(self) -> float | None:
        """Primal minus dual: the distance to the optimum is at most this.

        None for methods without a certificate.
        """
        return None if self.dual_objective is None else self.objective - self.dual_objective

    @property
    def relative_gap(self) -> float | None:
        """The gap as a share of the objective."""
        if self.gap is None:
            return None
        return self.gap / max(abs(self.objective), np.finfo(float).tiny)


@dataclass(frozen=True)
class Record(Bounded):
    """One line of the history: best primal and dual so far, cumulative machine solves and seconds.

    ``note`` of the first line names the method and, where it was chosen for the caller, says why.
    """

    iteration: int
    objective: float
    dual_objective: float | None
    solves: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Fit(Bounded):
    """What every solver returns. A field that does not apply to a method is None, never absent.

    ``n_iter`` counts the steps after the first point, and is 1 where that point was the answer
    already. ``dual_point`` (n,) signed is the feasible dual point whose value is
    ``dual_objective``, less the rounding where the gap would be below it; it may be another than
    ``dual_coef``, which gives the best primal.

    Parameters
    ----------
    weights : ndarray of shape (M,)
        Kernel weights, non-negative.
    dual_coef : ndarray of shape (n,)
        Signed dual coefficients of the training rows.
    intercept : float
        Offset b of the model.
    objective : float
        Primal objective at the solution.
    dual_objective : float or None
        Value of the feasible dual point, None where the method has no certificate.
    status : Status
        Why the solver stopped.
    n_iter : int
        Number of steps after the first point.
    history : tuple of Record
        Records of the steps.
    solver : str
        Name of a solver in ``SOLVERS``; "auto" lets the library choose.
    solves : int
        Number of machines that were solved.
    seconds : float
        Seconds that the fit took.
    selected : tuple of int or None, default None
        Indices of the kernels in the order in which they entered.
    points : ndarray or None, default None
        Coefficients of a path of steps, see above.
    carry : object or None, default None
        What a neighbouring problem may start from.
    dual_point : ndarray of shape (n,) or None, default None
        Feasible dual point that proves ``dual_objective``.
    decision : ndarray of shape (n,) or None, default None
        Decision values of the training rows.
    screened : Screened or None, default None
        At p = 1, how many kernels screening ruled out and how many were never read; None where
        nothing was screened.
    """

    weights: Array
    dual_coef: Array
    intercept: float
    objective: float
    dual_objective: float | None
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    solver: str
    solves: int
    seconds: float
    selected: tuple[int, ...] | None = None
    points: tuple[AnyIterate, ...] | None = field(default=None, repr=False)
    # what the method hands to the fit of a neighbouring problem
    carry: Any = field(default=None, repr=False)
    dual_point: Array | None = field(default=None, repr=False)
    # f (n,) on the training rows, no intercept, where known
    decision: Array | None = field(default=None, repr=False)
    screened: Screened | None = None

    def _repr_html_(self) -> str:
        certificate = "no certificate"
        if self.relative_gap is not None:
            certificate = f"within {100 * self.relative_gap:.3g} % of the optimum"
        used = int(np.count_nonzero(self.weights > 0))
        return (
            f"<b>{self.solver}</b>: objective {self.objective:.6g}, {certificate}, {used} "
            f"of {self.weights.size} kernels, {self.solves} solves, {self.seconds:.2f} s "
            f"({self.status.value})"
        )


class Method(ABC, Generic[State]):
    """A method as the driver runs it; made for one problem, with a warm start where there is one.

    ``State`` is what its iterates carry from step to step.

    Attributes
    ----------
    name : what a fit says of how it was found
    keeps_points : whether the fit holds every iterate
    descends : False for a method that may end above its best iterate
    listener : what to call in the middle of long steps, which end where it answers yes; None where
        nobody wants to be called
    scales : the scales of the problem, for a refusal
    carry : what the fit of a neighbouring problem can use
    screened : how many kernels screening ruled out, and how many were never read; None where
        nothing is screened
    """

    name: str
    keeps_points: ClassVar[bool] = False
    descends: bool = True
    listener: Callable[[], Any] | None = None
    screened: Screened | None = None

    @abstractmethod
    def init(self) -> Iterate[State]:
        """The first iterate."""

    @abstractmethod
    def step(
        self, best: Iterate[State], last: Iterate[State], trace: Trace
    ) -> Iterate[State] | Status:
        """The next iterate, or how the method ends."""

    def successor(self, trace: Trace, has_ended: bool) -> Method[Any] | None:
        """What goes on from the best iterate, where this method has ended or would be slower; None:
        nothing does.
        """
        return None

    def restate(self, best: Iterate[State], dual_point: Array | None) -> Iterate[State]:
        """``best`` with values from scratch, for a method that updates them from step to step;
        ``best`` where they are exact.

        Asked before a run ends as converged, and at its end; a restated iterate is returned as it
        is.
        """
        return best

    def polish(self, best: Iterate[State]) -> Iterate[State]:
        """The last improvement, such as pruning and solving again; its certificate counts, too."""
        return best

    def certify(self, best: Iterate[State], dual_point: Array | None) -> Certificate | None:
        """Objective and dual value of the published coefficients and dual point, from scratch;
        None: unknown.
        """
        return None

    @property
    def carry(self) -> Any:
        return None

    @property
    def scales(self) -> str:
        return "a linear system in them is singular. Scale the kernels alike, or remove near-copies"


class Certificate(NamedTuple):
    """Objective and dual value (None without one) from scratch; ``rounding``, what round-off can
    move them by at most; ``floor``, what it moves them by even where the fit is perfect;
    ``decision`` (n,), f on the training rows without intercept.
    """

    objective: float
    dual_objective: float | None = None
    rounding: float = 0.0
    floor: float = 0.0
    decision: Array | None = None


@dataclass
class Trace:
    """What the driver remembers of a run: best primal point, best dual value and the point that has
    it, how near they have come, and at what cost, line by line.

    ``gap`` is infinite as long as nothing is proved; ``scale`` is R of the stopping rule, that of
    the dual that proves most, for far from the optimum R can be anything; ``target`` is the gap at
    which the run may stop; ``gaps`` are those after every point.
    """

    tol: float
    note: str = ""
    best: Any = None  # an ``Iterate``, from the first on
    dual: float | None = None
    dual_point: Array | None = None
    lowest: float = np.inf
    solves: int = 0
    gap: float = np.inf
    scale: float = 0.0
    target: float = 0.0
    gaps: list[float] = field(default_factory=list)
    history: list[Record] = field(default_factory=list)
    _scale: float = 0.0
    _clock: float = field(default_factory=time.perf_counter)

    def add(self, point: AnyIterate) -> None:
        """Take one iterate and write a line of the history.

        MKLError where its objective is no number.
        """
        if not np.isfinite(point.objective):
            raise MKLError(
                f"The objective became {point.objective} at iteration {len(self.gaps)}. "
                "The kernels or targets are too badly scaled for this tolerance: "
                "normalise the kernels, or scale the target to unit variance."
            )
        is_unproved = point.dual_objective is None
        if self.best is None or is_unproved or point.objective <= self.best.objective:
            self.best = point
        self.hear(point)
        self.lowest = min(self.lowest, point.objective)
        self.gaps.append(self.gap)
        self.solves += point.solves
        seconds = time.perf_counter() - self._clock
        note = "" if self.history else self.note
        objective = self.best.objective
        record = Record(len(self.history), objective, self.dual, self.solves, seconds, note)
        self.history.append(record)

    def hear(self, point: AnyIterate) -> None:
        """Take the dual value of ``point``, and nothing else of it."""
        dual = point.dual_objective
        if dual is not None and (self.dual is None or dual > self.dual):
            self.dual = dual
            self.dual_point = point.dual_point
            self._scale = point.scale
        objective = float(self.best.objective)
        self.gap = np.inf if self.dual is None else objective - self.dual
        self.scale = self.best.scale if self.dual is None else min(self._scale, abs(objective))
        self.target = max(self.tol * self.scale, 100 * np.finfo(float).eps * abs(objective))

    def restate(self, best: AnyIterate) -> None:
        """Take ``best`` for what has been seen so far: the published values came from running sums;
        these are truer.
        """
        self.best = best
        self.dual = None
        self.dual_point = None
        self.lowest = best.objective
        self.hear(best)
        self.tell_no_more(best.objective, self.dual)

    def tell_no_more(self, objective: float, dual: float | None) -> None:
        """No line of the history claims more than these values."""
        for place, line in enumerate(self.history):
            below = line.dual_objective
            below = below if below is None or dual is None else min(below, dual)
            self.history[place] = replace(
                line, objective=max(line.objective, objective), dual_objective=below
            )


def run(
    method: Method[Any],
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[Record], Any] | None = None,
    why: str = "",
) -> Fit:
    """Drive ``method`` until its certificate is within ``tol``, it says it is done, or ``max_iter``
    steps are made.

    ``callback(record)`` is called after every iteration, and with the last record again in the
    middle of one that computes many kernel rows; a true answer ends the run with
    ``Status.CANCELLED``, an exception passes through. The best point seen is kept, with its proof
    computed from scratch where a method needs one. A division by zero or a singular system inside a
    method, compiled or not, is a KernelError that names the scales of the problem. ``why`` the
    method was taken is named.
    """
    methods = [method]
    try:
        with one_blas_thread():
            return _driven(methods, Trace(tol, method.name + why), max_iter, callback, why)
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise KernelError(
            f"These kernels cannot be weighed in double precision: {methods[-1].scales}."
        ) from error
    finally:
        for one in methods:
            one.listener = None


def _driven(
    methods: list[Method[Any]],
    trace: Trace,
    max_iter: int,
    callback: Callable[[Record], Any] | None,
    why: str,
) -> Fit:
    """The loop: a point, the stopping rule, the next method in turn or the next step; then the best
    point is published.

    ``methods`` grows by those that take over. ``handed`` is the best point when the present method
    took over; as long as it stays the best, it belongs to a method before.
    """
    method = methods[0]
    restated = 0
    handed = None
    points: list[AnyIterate] = []
    listener = None
    if callback is not None:
        listener = lambda: bool(trace.history) and callback(trace.history[-1])  # noqa: E731
    method.listener = listener
    following: Any = method.init()
    status: Status | None = None
    while isinstance(following, Iterate):
        last = following
        check_cancelled()
        trace.add(last)
        if method.keeps_points:
            points.append(last)
        if trace.gap <= trace.target:
            status = Status.CONVERGED
            if _restate(method, trace, handed) and trace.gap > trace.target:
                restated += 1  # what running sums said was not so: on from there
                last = trace.best
                status = None if restated < RESTATED else Status.STALLED
        elif callback is not None and callback(trace.history[-1]):
            status = Status.CANCELLED
        elif len(trace.history) > max_iter:
            status = Status.MAX_ITER
        if status is not None:
            break
        following = method.successor(trace, has_ended=False) or method.step(trace.best, last, trace)
        if isinstance(following, Status):
            status = following
            following = method.successor(trace, has_ended=True)
        if isinstance(following, Method):
            # its points have another state
            method = following
            handed = trace.best
            status = None
            methods.append(method)
            method.listener = listener
            following = method.init()
    steps = max(1, len(trace.history) - 1)
    _restate(method, trace, handed)
    if trace.best is not handed:
        _polish(method, trace)
    assert status is not None
    name = ", then ".join(one.name for one in methods) + why
    return _published(method, trace, status, steps, name, tuple(points))


def _restate(method: Method[Any], trace: Trace, handed: AnyIterate | None) -> bool:
    """Whether the best point has other values from scratch than were reported; they are in its
    place then.
    """
    if trace.best is handed:
        return False
    truer = method.restate(trace.best, trace.dual_point)
    if truer is trace.best:
        return False
    trace.restate(truer)
    trace.add(truer)
    return True


def _polish(method: Method[Any], trace: Trace) -> None:
    """The method's last word on its best point, undone where it costs more than the tolerance
    allows.
    """
    best = trace.best
    polished = method.polish(best)
    if polished is best:
        return
    if polished.objective > trace.lowest + trace.tol * (trace.scale or abs(best.objective)):
        trace.hear(polished)
        trace.solves += polished.solves
        return
    trace.best = None
    trace.add(polished)
    # a polish without a certificate is no step: the history ends before it
    if polished.dual_objective is None:
        trace.history.pop()


def _published(
    method: Method[Any],
    trace: Trace,
    status: Status,
    steps: int,
    name: str,
    points: tuple[AnyIterate, ...],
) -> Fit:
    """The best point as a fit, after its values from scratch have been compared with those that
    were reported.
    """
    best = trace.best
    values = method.certify(best, trace.dual_point)
    allowed = trace.tol * (trace.scale or abs(best.objective)) if method.descends else np.inf
    check(name, best.objective, trace.dual, trace.lowest, allowed, values)
    rounding = 0.0 if values is None else min(values.rounding, DIGITS * abs(best.objective))
    if status in (Status.STALLED, Status.CONVERGED) and np.isfinite(trace.gap):
        if max(trace.gap, rounding) <= trace.target:
            status = Status.CONVERGED
        else:
            status = Status.ROUNDED if trace.gap <= max(trace.target, rounding) else Status.STALLED
    is_far = status is Status.STALLED and np.inf > trace.gap > _FAR * abs(best.objective)
    if is_far and values is not None and values.rounding > _STRAINED * abs(best.objective):
        raise FloatingPointError("round-off keeps the fit far from its bound")
    dual = None if trace.dual is None else min(trace.dual, best.objective - rounding)
    trace.tell_no_more(-np.inf, dual)
    return Fit(
        best.weights,
        best.dual,
        best.intercept,
        best.objective,
        dual,
        status,
        steps,
        tuple(trace.history),
        name,
        trace.solves,
        trace.history[-1].seconds,
        best.selected,
        points if method.keeps_points else None,
        method.carry,
        trace.dual_point,
        None if values is None else values.decision,
        method.screened,
    )


def warn_unless_converged(fit: Fit, tol: float) -> None:
    """A NotConvergedWarning that tells the gap reached, the gap asked and what to change."""
    if fit.status.ok:
        return
    reached = ""
    if fit.relative_gap is not None:
        reached = f" Relative gap reached {fit.relative_gap:.2e}, tolerance asked {tol:.0e}."
    warn_short(f"{fit.solver} {fit.status.value}.{reached}", stacklevel=3)


# -- what is checked


def check(
    name: str,
    objective: float,
    dual_objective: float | None,
    lowest: float,
    allowed: float,
    values: Certificate | None,
) -> None:
    """Raise unless the four invariants hold: FloatingPointError where round-off explains what is
    wrong.

    ``objective`` and ``dual_objective`` are about to be published, ``lowest`` is the best objective
    seen, ``allowed`` what the published one may exceed it by, ``values`` what the coefficients give
    (None where a method cannot say).
    """
    size = max(abs(objective), abs(dual_objective or 0.0))
    rounded = 0.0
    if values is not None:
        if values.rounding > _TOO_MUCH * size + values.floor:
            raise FloatingPointError("round-off costs too much")
        rounded = values.floor
        _agree("objective", name, objective, values.objective, size, values)
        rounded += abs(values.objective - objective)
        if dual_objective is not None and np.isfinite(dual_objective):
            if values.dual_objective is None:
                raise ProofError(
                    f"Invariant 'dual value' is violated: {name} has a dual value and no "
                    "point that proves it."
                )
            _agree("dual value", name, dual_objective, values.dual_objective, size, values)
            rounded += abs(values.dual_objective - dual_objective)
    if dual_objective is not None and dual_objective - objective > 1e-9 * size + rounded:
        if values is not None and dual_objective - objective <= values.rounding:
            raise FloatingPointError("round-off is more than the gap")
        raise ProofError(
            f"Invariant 'dual below primal' is violated: {name} has dual value "
            f"{dual_objective:.10g} above its objective {objective:.10g}."
        )
    slack = 1e-9 * size if dual_objective is not None else EXACT * size
    if objective - lowest > allowed + slack + rounded:
        raise ProofError(
            f"Invariant 'history' is violated: {name} ends at {objective:.10g}, "
            f"{objective - lowest:.3g} above the best point it had seen, where "
            f"{allowed:.3g} is allowed."
        )


def is_carried(objective: float, values: Certificate) -> bool:
    """Whether double precision carries a point: round-off cannot cost much, and its coefficients
    give its objective.
    """
    size = abs(objective)
    strained = values.rounding > _TOO_MUCH * size + values.floor
    return not strained and abs(objective - values.objective) <= _SHARP * size + values.floor


def _agree(
    what: str, name: str, reported: float, found: float, size: float, values: Certificate
) -> None:
    off = abs(reported - found)
    if off <= _SHARP * size + values.floor:
        return
    if not off > values.rounding:
        raise FloatingPointError(f"round-off moves the {what}")
    if not off <= EXACT * size:
        raise ProofError(
            f"Invariant '{what}' is violated: {name} tells {reported:.10g}, its own "
            f"coefficients give {found:.10g}."
        )
