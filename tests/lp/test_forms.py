"""Ivanov and Tikhonov, the one-class forms, bounds, and inputs at the edge."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from mklcore import (
    KernelDictionary,
    KernelError,
    LpMKLOneClass,
    LpNorm,
    Nystroem,
    ivanov_to_tikhonov,
    lp_margin_bound,
    lp_rademacher_bound,
    lp_risk_bound,
    nu_from_one_class,
    tikhonov_to_ivanov,
)
from mklcore.gallery.theory.lp import lp_conversion
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.losses import make_loss
from tests.helpers.every import every
from tests.helpers.refusals import parameter_error, refused
from tests.oracles.reference import lp_optima

CASE = next(case for case in lp_optima() if (case.part, case.loss) == ("generic", "hinge"))


def fitted(C=1.0):
    """The fit of the constrained form, and R = 1/2 theta'Q at it."""
    fit = fit_weighted(CASE.K, CASE.y, C, make_loss("hinge"), LpNorm(4 / 3), True, tol=1e-8)
    return fit, 0.5 * float(
        fit.weights @ np.einsum("i,mij,j->m", fit.dual_coef, CASE.K, fit.dual_coef)
    )


@every("s", [0.3, 1.0, 2.5])
def test_constrained_to_penalised_and_back(s):
    fit, R = fitted()
    there = ivanov_to_tikhonov(fit.objective, R, 1.0, s)
    # the penalised objective at s theta
    direct = there.C_tilde * (fit.objective - R) + R / s + there.mu * s**2
    assert direct == pytest.approx(there.objective, rel=1e-6)
    back = tikhonov_to_ivanov(there.objective, R / s, there.C_tilde, there.mu)
    assert (back.s, back.C, back.objective) == pytest.approx((s, 1.0, fit.objective), rel=1e-9)


def test_one_class_forms_agree():
    y = np.ones(len(CASE.y))
    n = len(CASE.y)
    first = fit_weighted(CASE.K, y, 0.2, make_loss("one_class"), LpNorm(2.0), False, tol=1e-9)
    nu = nu_from_one_class(first.dual_coef, 0.2)
    loss = make_loss("nu_one_class", nu=nu.nu)
    second = fit_weighted(CASE.K, y, 1 / (nu.nu * n), loss, LpNorm(2.0), True, tol=1e-9)
    assert second.weights == pytest.approx(first.weights, abs=1e-3)
    assert second.dual_coef == pytest.approx(nu.dual_coef, abs=1e-4)
    assert -second.intercept == pytest.approx(nu.rho, rel=1e-4)
    forms = np.einsum("i,mij,j->m", nu.dual_coef, CASE.K, nu.dual_coef)
    assert second.objective == pytest.approx(-0.5 * np.linalg.norm(forms), rel=1e-5)


@every("stored", [True, False])
def test_the_nu_form_is_refused_at_another_C_with_the_right_one(stored):
    """Its intercept takes C = 1 / (nu n) for granted."""
    X = default_rng(0).standard_normal((20, 2))
    y = np.ones(20)
    loss = make_loss("nu_one_class", nu=0.2)
    kernels = KernelDictionary.rbf_grid([1.0, 2.0])
    K = kernels.grams(X).values if stored else Nystroem(10).features(kernels, X)
    with parameter_error(r"with nu=0.2 on 20 rows is C=0.25 .* got C=1\. Take that C"):
        fit_weighted(K, y, 1.0, loss, LpNorm(2.0), True)
    assert fit_weighted(K, y, np.full(20, 0.25), loss, LpNorm(2.0), True).status.ok


def test_one_class_estimator():
    X = default_rng(0).standard_normal((80, 2))
    model = LpMKLOneClass(nu=0.1, p=2.0).fit(X)
    assert np.mean(model.predict(X) == -1) <= 0.1 + 1 / 80
    assert np.all(model.predict(X + 10) == -1)
    assert model.decision_function(X) == pytest.approx(model.score_samples(X) - model.offset_)
    hard = LpMKLOneClass(C=1.0).fit(X)
    assert (hard.offset_, hard.intercept_) == (1.0, 0.0)
    assert hard.relative_gap_ <= 1e-3


def test_refusals():
    refused(
        (lambda: ivanov_to_tikhonov(1.0, 0.0, 1.0), "w different from 0"),
        (lambda: ivanov_to_tikhonov(1.0, 1.0, -1.0), "must be above 0"),
        (lambda: tikhonov_to_ivanov(1.0, 1.0, 1.0, 0.0), "must be above 0"),
        (lambda: nu_from_one_class(np.zeros(3), 1.0), "a dual that is not zero"),
        *(
            (lambda nu=nu: LpMKLOneClass(nu=nu).fit(np.eye(3)), words)
            for nu, words in (
                (1.5, "share of points left outside"),
                ("few", "nu must be None or a number"),
            )
        ),
        (lambda: lp_rademacher_bound(0.5, 8, 100), "must be 1 or more"),
        (lambda: lp_rademacher_bound(2, 1, 100), "need M > 1"),
        (lambda: lp_risk_bound(0.1, 2, 8, 100, delta=1.0), "between 0 and 1"),
        (lambda: lp_margin_bound(0.1, 2, 8, 100, margin=0), "margin must be above 0"),
        (lambda: lp_conversion(0.1, 3, 2, 8), "from a smaller norm"),
    )


# -- bounds
# ------------------------------------------------------------------------------------------------------------


def test_bounds_rise_with_p_and_fall_with_n():
    # ceil(p*) = 2 on all of these
    values = [lp_rademacher_bound(p, 64, 1000) for p in (2.0, 3.0, 4.0, 16.0)]
    assert all(a < b for a, b in pairwise(values))
    assert lp_rademacher_bound(1.0, 64, 1000) < lp_rademacher_bound(np.inf, 64, 1000)
    assert lp_rademacher_bound(2.0, 32, 1000) < values[0]
    assert lp_rademacher_bound(2, 64, 4000) == pytest.approx(0.5 * lp_rademacher_bound(2, 64, 1000))
    assert lp_rademacher_bound(2, 64, 1000, conservative=True) >= lp_rademacher_bound(2, 64, 1000)


def test_bounds_at_their_ends():
    c = 23 / 22
    M = 8
    n = 500
    assert lp_rademacher_bound(1, M, n) == pytest.approx(np.sqrt(c * np.e * np.ceil(np.log(M)) / n))
    assert lp_rademacher_bound(np.inf, M, n) == pytest.approx(np.sqrt(c * M / n))
    assert lp_rademacher_bound(1e9, M, n) == pytest.approx(np.sqrt(2 * c * M / n), rel=1e-6)
    complexity = lp_risk_bound(0.0, 2, M, n, delta=0.05) - np.sqrt(np.log(2 / 0.05) / (2 * n))
    assert complexity == pytest.approx(4 * np.sqrt(c * np.sqrt(M) * 2 / n))
    assert lp_margin_bound(0.1, 2, M, n, margin=0.5) > lp_margin_bound(0.1, 2, M, n, margin=1.0)
    assert lp_conversion(0.3, 1.0, 1.0, 8) == pytest.approx(0.3)
    assert lp_conversion(0.3, 1.0, np.inf, 9) == pytest.approx(0.9)


# -- properties over random problems
# -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    p=st.sampled_from([1.0, 1.0001, 1.3, 2.0, 1000.0, np.inf]),
    C=st.sampled_from([1e-8, 1e-3, 1.0, 1e3, 1e8]),
    name=st.sampled_from(["hinge", "squared"]),
)
def test_edges_converge_or_warn_with_the_gap(seed, p, C, name):
    rng = default_rng(seed)
    B = rng.standard_normal((4, 20, 3))
    K = B @ B.transpose(0, 2, 1)
    K[3] = K[2]
    y = np.where(rng.random(20) > 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    try:
        fit = fit_weighted(
            np.ascontiguousarray(K), y, C, make_loss(name), LpNorm(p), True, max_iter=300
        )
    except KernelError:
        # a singular stack at such a C: which processor can carry it is a matter of rounding
        assert C == 1e8
        return
    assert fit.objective >= fit.dual_objective - 1e-6 * abs(fit.objective)
    assert fit.status.ok or "no step improves" in fit.status.value or "max_iter" in fit.status.value
    if 1e-3 <= C <= 1e3:
        assert fit.relative_gap <= 2e-2
