"""Every loss with every penalty under every solver: a certified optimum, or a refusal that says what is missing."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.functions import KernelSpec, LazyColumns, RowKernel
from mklcore.kernels.grams import Rows
from mklcore.lp.schedule import SOLVERS, fit_weighted
from mklcore.problem.driver import Status
from mklcore.problem.losses import LOSSES, Hinge, Loss, make_loss
from mklcore.problem.penalties import (
    BlockNorm,
    ElasticNet,
    EllipticNorm,
    GroupTerm,
    LpNorm,
    Penalty,
    WeightedLpNorm,
    norms,
)
from mklcore.problem.problem import certificate
from tests.helpers.every import every

N = 20
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 3))
TARGET = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * RNG.standard_normal(N)
K = (mkl.KernelDictionary.rbf_grid([0.5, 2.0]) + mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 3)).grams(X).values
PENALTIES = (
    LpNorm(1.0),
    LpNorm(2.0),
    LpNorm(np.inf),
    WeightedLpNorm(1.5, (1.0, 2.0, 1.0, 3.0, 1.0)),
    BlockNorm(4.0),
    EllipticNorm(np.eye(5) + 0.1),
    ElasticNet(0.3),
)


def stated(name, C):
    """A loss with the target and the cost that suit it."""
    loss = make_loss(name)
    y = TARGET if "regression" in loss.tasks else np.where(TARGET > 0, 1.0, -1.0)
    y = np.ones(N) if "novelty" in loss.tasks else y
    return loss, y, 1.0 / (0.5 * N) if loss.total else C


def solved(name, penalty, solver, C):
    """The fit of one triple; None, and the reason, where it is refused."""
    loss, y, cost = stated(name, C)
    try:
        return fit_weighted(K, y, cost, loss, penalty, loss.takes_intercept, solver=solver), ""
    except ParameterError as error:
        return None, str(error)


@every("name", LOSSES)
def test_every_triple_is_certified_or_refused(name):
    assert {penalty.name for penalty in PENALTIES} == set(norms())
    for penalty in PENALTIES:
        for solver in ("auto", *SOLVERS):
            for C in (1.0, 100.0):
                fit, refused = solved(name, penalty, solver, C)
                loss, y, cost = stated(name, C)
                triple = f"{name}, {penalty}, {solver}, C = {C:g}: {refused or fit.status.name}"
                if fit is None:
                    assert solver != "auto", triple
                    assert "needs" in refused or "p = 1 only" in refused, triple
                else:
                    assert fit.status.ok, triple
                    assert 0.0 <= fit.gap <= 1e-3 * abs(fit.objective), triple
                    parts = fit.weights, fit.dual_coef, fit.intercept
                    reported = certificate(K, y, *parts, loss, cost, penalty, fit.dual_point, loss.takes_intercept)
                    assert reported == pytest.approx((fit.objective, fit.dual_objective), rel=1e-6), triple


@every("C", [1.0, 100.0])
def test_cutting_planes_ask_for_sharper_machines_where_the_gap_stands_still(C):
    """The bound feels the machine's error to first order, so that machines as sharp as the tolerance left a gap for
    ever.
    """
    planes, _ = solved("huber", LpNorm(1.0), "silp", C)
    exact, _ = solved("huber", LpNorm(1.0), "auto", C)
    assert planes.solves < 100
    assert exact.dual_objective <= planes.objective
    assert planes.dual_objective <= exact.objective


@every("loss, C", [("hinge", 1.0), ("squared", 10.0), ("logistic", 10.0)])
def test_cutting_planes_reach_a_fine_tolerance_or_say_that_they_stand_still(loss, C):
    """The linear programme's own tolerance gave the same theta forever, and "raise max_iter" was the advice."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((40, 3))
    y = np.sign(rows[:, 0] + np.sin(2 * rows[:, 1]) + 0.3 * rng.standard_normal(40))
    widths = mkl.KernelDictionary.rbf_grid([0.25, 0.5, 1, 2, 4]).grams(rows).values
    fits = [
        fit_weighted(widths, y, C, make_loss(loss), LpNorm(1.0), True, solver="silp", tol=tol, max_iter=100)
        for tol in (1e-5, 1e-13)
    ]
    assert fits[0].status.ok
    assert fits[1].status in (Status.STALLED, Status.CONVERGED, Status.ROUNDED)
    assert fits[1].gap <= 1e-5 * fits[1].objective


# A penalty from outside


@dataclass(frozen=True)
class KSupport(Penalty):
    """0 <= theta <= 1, 1'theta <= k: the squared k-support norm of the block norms; at k = 1 the l1 problem."""

    k: int = 1
    name: ClassVar[str] = "k-support norm"
    sparse: ClassVar[bool] = True

    @property
    def order(self):
        return 1.0 if self.k == 1 else None

    def start(self, M):
        return np.full(M, min(self.k / M, 1.0))

    def scale(self, weights):
        return self._weights(weights)

    def regulariser(self, n):
        theta = self._weights(n)
        live = theta > 0
        return 0.5 * float(np.sum(n[live] ** 2 / theta[live]))

    def dual_price(self, Q):
        return 0.5 * float(np.sort(Q)[-self.k :].sum())

    def update(self, weights, Q):
        return self._weights(weights * np.sqrt(np.maximum(Q, 0.0)))

    def _weights(self, n):
        """Proportional to the norms, those above one cut to it."""
        if not n.any():
            return self.start(n.size)
        sizes, order = np.sort(n)[::-1], np.argsort(-n)
        for cut in range(self.k):
            unit = sizes[cut:].sum() / (self.k - cut)
            if sizes[cut] <= unit:
                break
        theta = np.minimum(n / max(unit, 1e-300), 1.0)
        theta[order[:cut]] = 1.0
        return theta


@pytest.fixture(scope="module")
def many():
    """Twelve kernels, of which few matter, and labels."""
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((40, 12))
    y = np.where(rows[:, 0] * rows[:, 1] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    return mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 12).grams(rows).values, y


@every(
    "loss, solver",
    [("hinge", "auto"), ("hinge", "newton"), ("hinge", "wrapper"), ("hinge", "interleaved"), ("logistic", "auto")],
)
def test_the_l1_problem_under_another_name_takes_the_same_way(many, loss, solver):
    """What the solvers asked was p, so that an outsider's penalty took twenty times the steps."""
    known, named = (
        fit_weighted(*many, 5.0, make_loss(loss), penalty, True, solver=solver)
        for penalty in (LpNorm(1.0), KSupport(1))
    )
    assert named.n_iter <= 2 * known.n_iter + 2
    assert named.solves <= 2 * known.solves + 2
    assert named.status.ok == known.status.ok
    assert named.objective == pytest.approx(known.objective, rel=1e-3)


@every("solver", ["auto", "wrapper", "interleaved"])
def test_a_sparse_penalty_off_the_simplex_is_not_taken_for_p_1(many, solver):
    fit = fit_weighted(*many, 5.0, make_loss("hinge"), KSupport(3), True, solver=solver)
    assert fit.status.ok
    assert fit.weights.sum() == pytest.approx(3.0, rel=1e-2)


@every(
    "loss, penalty, solver, words",
    [
        ("hinge", KSupport(3), "newton", "needs an lp norm with finite p"),
        ("hinge", LpNorm(np.inf), "newton", "finite p"),
        ("hinge", ElasticNet(0.5), "newton", "needs an lp norm with finite p"),
        ("hinge", KSupport(3), "silp", "p = 1 only"),
        ("hinge", LpNorm(2.0), "silp", "for p = 1 only"),
        ("hinge", ElasticNet(0.5), "silp", "for p = 1 only"),
        ("hinge", ElasticNet(0.5), "interleaved", "price is homogeneous; that of the elastic net is not"),
        ("hinge", BlockNorm(3.0), "interleaved", "needs a penalty whose weights descend"),
        ("logistic", LpNorm(2.0), "interleaved", "needs a loss that is piecewise linear; logistic is not"),
        ("huber", LpNorm(2.0), "interleaved", "piecewise linear; huber is not"),
        ("hinge", LpNorm(2.0), "magic", "no solver called 'magic'"),
    ],
)
def test_solvers_refuse_a_problem_by_what_it_lacks(many, loss, penalty, solver, words):
    with pytest.raises(ParameterError, match=words):
        fit_weighted(*many, 5.0, make_loss(loss), penalty, True, solver=solver)


def test_newton_needs_stored_kernels():
    rows = Rows.build(mkl.KernelDictionary.per_feature(mkl.RBF(1.0), 3), X)
    with pytest.raises(ParameterError, match="needs the Gram matrices"):
        fit_weighted(rows, np.sign(TARGET), 1.0, make_loss("hinge"), LpNorm(2.0), True, solver="newton")


@dataclass(frozen=True)
class Claiming(KSupport):
    """The same, with claims that hold for no k above one."""

    order: ClassVar[float] = 1.0


@pytest.mark.parametrize(("order", "found"), [(1.0, "6"), (np.inf, "39"), (2.0, "12.7475")])
def test_a_claim_that_the_prices_of_a_penalty_do_not_keep_is_refused(many, monkeypatch, order, found):
    monkeypatch.setattr(Claiming, "order", order)
    words = f"claims order={order:g}, .* of the forms 1 to 12 it is 11.5 instead of {found}"
    with pytest.raises(ParameterError, match=words):
        fit_weighted(*many, 5.0, make_loss("hinge"), Claiming(2), True)


@every("penalty", [WeightedLpNorm(np.inf, (1.0,) * 12), BlockNorm(2.0), ElasticNet(1.0)])
def test_the_plain_sum_under_another_name_is_one_machine(many, penalty):
    fit, plain = (fit_weighted(*many, 5.0, make_loss("hinge"), one, True) for one in (penalty, LpNorm(np.inf)))
    assert fit.status.ok
    assert fit.solves <= plain.solves + 1
    assert fit.objective == pytest.approx(plain.objective, rel=1e-8)


# What a class of one's own lacks


def derived(kind, /, **parts):
    return type("Own", (kind,), {"__module__": __name__, **parts})


@every(
    "own, words",
    [
        (derived(Penalty, name="own"), r"Own derives from Penalty and lacks dual_price\(Q\): What the dual pays for"),
        (derived(KSupport, update=Penalty.update), r"lacks update\(weights, Q\): The analytic next weights"),
        (derived(Penalty), "lacks name: what texts, links and saved models call it; "),
        (derived(GroupTerm), r"Own derives from GroupTerm and lacks slopes\(r\): B_k = 2 dG / dr_k"),
        (derived(Loss, name="own", label="own", formula="v"), r"lacks best_intercept\(f, y\): The b that minimises"),
        (
            derived(Hinge, smooth=True),
            r"says smooth = True and lacks derivative\(t, y\): dV/dt for every point; .*; second_derivative\(t, y\)",
        ),
        (
            derived(KernelSpec, family="own", base="inner"),
            r"lacks fill\(base, upper, out\): .*; the property title: The kernel",
        ),
        (
            derived(KernelSpec),
            "lacks family: what figures and tables group it under; base: the numbers it is a function of: inner",
        ),
        (
            derived(RowKernel, family="own", title="own"),
            r"derives from RowKernel and lacks between\(left, right, upper, out\)",
        ),
        (derived(LazyColumns), r"lacks resolve\(n_features\): The indices of its columns"),
    ],
)
def test_a_class_that_lacks_a_part_is_refused_by_the_part_where_it_is_first_used(own, words):
    for _ in range(2):
        with pytest.raises(ParameterError, match=words):
            own()


def test_a_kernel_of_an_unknown_base_is_refused_by_name():
    own = derived(mkl.Linear, base="cosine")
    with pytest.raises(
        KernelError, match="Own says base = 'cosine', and there is no such base: the bases are inner, squared"
    ):
        own()
    assert derived(mkl.Linear, base="squared")().base == "squared"


class Halves:
    """A basis that forgot how its levels are called."""

    q = 1

    def fit(self, x):
        return None

    def parts(self, state, new, x):
        return [np.ones_like(new), new]


def test_a_basis_that_lacks_a_part_is_refused_by_the_part():
    with pytest.raises(ParameterError, match="Halves is no complete basis: it lacks level_name"):
        mkl.HKLRegressor(basis=Halves()).fit(X, TARGET)


# Penalties and losses by name


def test_an_estimator_takes_a_penalty_by_name():
    named, made = (mkl.LpMKLRegressor(penalty=one).fit(X, TARGET) for one in ("elastic net", ElasticNet()))
    assert named.objective_ == made.objective_
    assert mkl.LpMKLRegressor(penalty="lp", p=2.0).penalty_in_use == LpNorm(2.0)


@every(
    "penalty, words",
    [
        ("block norm", r"pass the object, penalty=BlockNorm\(q=...\)"),
        ("elliptic", r"pass the object, penalty=EllipticNorm\(E=...\)"),
        ("weighted lp", r"pass the object, penalty=WeightedLpNorm\(p=..., d=...\)"),
        ("ridge", "penalty must be None, a Penalty object or one of lp, .*; got 'ridge'"),
        (2.0, "got 2.0"),
        (LpNorm, "got <class"),
    ],
)
def test_a_penalty_that_no_name_makes_is_refused_with_the_object_to_pass(penalty, words):
    with pytest.raises(ParameterError, match=words):
        mkl.LpMKLRegressor(penalty=penalty).fit(X, TARGET)


def test_a_loss_that_hkl_cannot_take_is_refused_with_what_it_lacks():
    needed = "What is needed and huber lacks: being quadratic, smooth, or piecewise linear and signed"
    for loss in ("huber", make_loss("huber")):
        with pytest.raises(ParameterError, match=needed):
            mkl.HKLRegressor(loss=loss).fit(X, TARGET)
    with pytest.raises(ParameterError, match="It is a loss for binary and multiclass, and regression is asked for"):
        mkl.HKLRegressor(loss="hinge").fit(X, TARGET)
