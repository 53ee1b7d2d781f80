"""Every loss with every penalty under every solver: a certified optimum, or a refusal that says
what is missing.
"""

import re
from dataclasses import dataclass
from itertools import cycle, product
from typing import ClassVar

import numpy as np
import pytest
from numpy.random import default_rng

from mklcore import (
    LOSSES,
    RBF,
    SOLVERS,
    BlockNorm,
    ElasticNet,
    EllipticNorm,
    HKLRegressor,
    KernelDictionary,
    KernelError,
    Linear,
    LpMKLRegressor,
    LpNorm,
    ParameterError,
    WeightedLpNorm,
)
from mklcore.kernels.functions import KernelSpec, LazyColumns, RowKernel
from mklcore.kernels.grams import Rows
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import Status
from mklcore.problem.losses import Loss, make_loss
from mklcore.problem.penalties import GroupTerm, Penalty, norms
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.proofs import assert_proved
from tests.helpers.refusals import parameter_error, refused

N = 20
RNG = default_rng(3)
X = RNG.standard_normal((N, 3))
TARGET = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * RNG.standard_normal(N)
K = (
    (KernelDictionary.rbf_grid([0.5, 2.0]) + KernelDictionary.per_feature(RBF(1.0), 3))
    .grams(X)
    .values
)
PENALTIES = (
    LpNorm(1.0),
    LpNorm(2.0),
    LpNorm(np.inf),
    WeightedLpNorm(1.5, (1.0, 2.0, 1.0, 3.0, 1.0)),
    BlockNorm(4.0),
    EllipticNorm(np.eye(5) + 0.1),
    ElasticNet(0.3),
)


TRIPLES = list(product(LOSSES, PENALTIES, ("auto", *SOLVERS)))
COSTS = (1.0, 100.0)


def triples():
    """Every triple at one of the costs in turn, and at all where every case is asked for."""
    if EVERY_CASE:
        return [(*triple, C) for triple, C in product(TRIPLES, COSTS)]
    return [(*triple, C) for triple, C in zip(TRIPLES, cycle(COSTS), strict=False)]


@every("name, penalty, solver, C", triples())
def test_every_triple_is_certified_or_refused(name, penalty, solver, C):
    loss = make_loss(name)
    y = TARGET if "regression" in loss.tasks else np.where(TARGET > 0, 1.0, -1.0)
    y = np.ones(N) if "novelty" in loss.tasks else y
    cost = 1.0 / (0.5 * N) if loss.total else C
    try:
        fit = fit_weighted(K, y, cost, loss, penalty, loss.takes_intercept, solver=solver)
    except ParameterError as error:
        assert solver != "auto"
        assert re.search("needs|p = 1 only", str(error))  # noqa: PT017
        return
    assert fit.status.ok
    assert 0.0 <= fit.gap <= 1e-3 * abs(fit.objective)
    assert_proved(fit, K, y, loss, cost, penalty, loss.takes_intercept)
    if solver == "silp":  # its bound feels the machine's error to first order
        assert fit.solves < 100


def test_every_norm_is_among_the_penalties():
    assert {penalty.name for penalty in PENALTIES} == set(norms())


@every("loss, C", [("hinge", 1.0), ("squared", 10.0), ("logistic", 10.0)])
def test_cutting_planes_reach_a_fine_tolerance_or_say_that_they_stand_still(loss, C):
    """The linear programme's own tolerance gave the same theta forever, and "raise max_iter" was
    the advice.
    """
    rng = default_rng(2)
    rows = rng.standard_normal((40, 3))
    y = np.sign(rows[:, 0] + np.sin(2 * rows[:, 1]) + 0.3 * rng.standard_normal(40))
    K = KernelDictionary.rbf_grid([0.25, 0.5, 1, 2, 4]).grams(rows).values
    asked = K, y, C, make_loss(loss), LpNorm(1.0), True
    usual, fine = (
        fit_weighted(*asked, solver="silp", tol=tol, max_iter=100) for tol in (1e-5, 1e-13)
    )
    assert usual.status.ok
    assert fine.status in (Status.STALLED, Status.CONVERGED, Status.ROUNDED)
    assert fine.gap <= 1e-5 * fine.objective


# A penalty from outside


@dataclass(frozen=True)
class KSupport(Penalty):
    """0 <= theta <= 1, 1'theta <= k: the squared k-support norm of the block norms; at k = 1 the l1
    problem.
    """

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

    def conjugate(self, Q):
        return 0.5 * float(np.sort(Q)[-self.k :].sum())

    def update(self, weights, Q):
        return self._weights(weights * np.sqrt(np.maximum(Q, 0.0)))

    def _weights(self, n):
        """Proportional to the norms, those above one cut to it."""
        if not n.any():
            return self.start(n.size)
        sizes = np.sort(n)[::-1]
        order = np.argsort(-n)
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
    rng = default_rng(8)
    rows = rng.standard_normal((40, 12))
    y = np.where(rows[:, 0] * rows[:, 1] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    return KernelDictionary.per_feature(RBF(1.0), 12).grams(rows).values, y


@every(
    "loss, solver",
    [
        ("hinge", "auto"),
        ("hinge", "newton"),
        ("hinge", "wrapper"),
        ("hinge", "interleaved"),
        ("logistic", "auto"),
    ],
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


def fitting(loss, penalty, solver, stored=True):
    K = KernelDictionary.per_feature(RBF(1.0), 3)
    kernels = K.grams(X).values if stored else Rows.build(K, X)
    return lambda: fit_weighted(
        kernels, np.sign(TARGET), 5.0, make_loss(loss), penalty, True, solver=solver
    )


def regressor(**asked):
    return lambda: LpMKLRegressor(**asked).fit(X, TARGET)


def hull(**asked):
    return lambda: HKLRegressor(**asked).fit(X, TARGET)


class Halves:
    """A basis that forgot how its levels are called."""

    q = 1

    def fit(self, x):
        return None

    def parts(self, state, new, x):
        return [np.ones_like(new), new]


LACKING = "What is needed and huber lacks: being quadratic, smooth, or piecewise linear and signed"


def test_a_problem_is_refused_by_what_it_lacks():
    refused(
        (fitting("hinge", KSupport(3), "newton"), "needs an lp norm with finite p"),
        (fitting("hinge", LpNorm(np.inf), "newton"), "finite p"),
        (fitting("hinge", ElasticNet(0.5), "newton"), "needs an lp norm with finite p"),
        (fitting("hinge", LpNorm(2.0), "newton", stored=False), "needs the Gram matrices"),
        *(
            (fitting("hinge", penalty, "silp"), "p = 1 only")
            for penalty in (KSupport(3), LpNorm(2.0), ElasticNet(0.5))
        ),
        (
            fitting("hinge", ElasticNet(0.5), "interleaved"),
            "conjugate is homogeneous; that of the elastic net is not",
        ),
        (fitting("hinge", BlockNorm(3.0), "interleaved"), "needs a penalty whose weights descend"),
        (
            fitting("logistic", LpNorm(2.0), "interleaved"),
            "needs a loss that is piecewise linear; logistic is not",
        ),
        (fitting("huber", LpNorm(2.0), "interleaved"), "piecewise linear; huber is not"),
        (fitting("hinge", LpNorm(2.0), "magic"), "no solver called 'magic'"),
        (regressor(penalty="block norm"), r"pass the object, penalty=BlockNorm\(q=...\)"),
        (regressor(penalty="elliptic"), r"pass the object, penalty=EllipticNorm\(E=...\)"),
        (
            regressor(penalty="weighted lp"),
            r"pass the object, penalty=WeightedLpNorm\(p=..., d=...\)",
        ),
        (
            regressor(penalty="ridge"),
            "penalty must be None, a Penalty object or one of lp, .*; got 'ridge'",
        ),
        (regressor(penalty=2.0), "got 2.0"),
        (regressor(penalty=LpNorm), "got <class"),
        *((hull(loss=loss), LACKING) for loss in ("huber", make_loss("huber"))),
        (hull(loss="hinge"), "It is a loss for binary and multiclass, and regression is asked for"),
        (hull(basis=Halves()), "Halves is no complete basis: it lacks level_name"),
    )


@dataclass(frozen=True)
class Claiming(KSupport):
    """The same, with claims that hold for no k above one."""

    order: ClassVar[float] = 1.0


@pytest.mark.parametrize(("order", "found"), [(1.0, "6"), (np.inf, "39"), (2.0, "12.7475")])
def test_a_wrong_order_of_a_penalty_is_refused(many, monkeypatch, order, found):
    monkeypatch.setattr(Claiming, "order", order)
    words = f"claims order={order:g}, .* of the forms 1 to 12 it is 11.5 instead of {found}"
    with parameter_error(words):
        fit_weighted(*many, 5.0, make_loss("hinge"), Claiming(2), True)


@every("penalty", [WeightedLpNorm(np.inf, (1.0,) * 12), BlockNorm(2.0), ElasticNet(1.0)])
def test_the_plain_sum_under_another_name_is_one_machine(many, penalty):
    fit, plain = (
        fit_weighted(*many, 5.0, make_loss("hinge"), one, True) for one in (penalty, LpNorm(np.inf))
    )
    assert fit.status.ok
    assert fit.solves <= plain.solves + 1
    assert fit.objective == pytest.approx(plain.objective, rel=1e-8)


# What a class of one's own lacks


def derived(kind, /, **parts):
    return type("Own", (kind,), {"__module__": __name__, **parts})


@every("own, words", [
    (derived(Penalty, name="own"), r"abstract class Own .*conjugate"),
    (derived(KSupport, update=Penalty.update), "abstract class Own .*update"),
    (derived(GroupTerm), "abstract class Own .*slopes"),
    (derived(Loss, name="own", label="own", formula="v"), "abstract class Own .*best_intercept"),
    (derived(KernelSpec, family="own", base="inner"), "abstract class Own .*fill.*title"),
    (derived(RowKernel, family="own", title="own"), "abstract class Own .*between"),
    (derived(LazyColumns), "abstract class Own .*resolve"),
    (derived(Linear, base="cosine"), "Own has base = 'cosine', and there is no such base: the bases"),
])  # fmt: skip
def test_a_class_that_lacks_a_part_is_refused_by_the_part_where_it_is_first_used(own, words):
    with pytest.raises((TypeError, KernelError), match=words):
        own()


# Penalties and losses by name


def test_an_estimator_takes_a_penalty_by_name():
    named, made = (
        LpMKLRegressor(penalty=one).fit(X, TARGET) for one in ("elastic net", ElasticNet())
    )
    assert named.objective_ == made.objective_
    assert LpMKLRegressor(penalty="lp", p=2.0).penalty_in_use == LpNorm(2.0)
