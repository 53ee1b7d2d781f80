"""Scales and order: what changes only them changes nothing else, and what double precision cannot
carry is refused.
"""

import numpy as np
from numpy.random import default_rng

from mklcore import (
    BlockNorm,
    KernelDictionary,
    KernelError,
    LpMKLClassifier,
    LpNorm,
    fit_path,
    load_sample,
)
from mklcore.lp.schedule import fit_weighted
from mklcore.problem.driver import Status
from mklcore.problem.losses import make_loss
from mklcore.problem.problem import scales_of
from tests.helpers.every import every
from tests.helpers.proofs import assert_proved
from tests.helpers.refusals import kernel_error
from tests.lp.test_properties import LOSSES, draw


@every("span", [3, 6])
@every("loss", [loss for loss in LOSSES if loss != "one_class"])
def test_unnormalised_stacks_are_right_or_refused_with_two_scales(loss, span):
    right = refused = 0
    for seed, (p, C) in enumerate((p, C) for p in (1.0, 2.0) for C in (1e-2, 1.0, 1e3)):
        drawn = draw(seed, loss, n=30, M=5)
        K = drawn.K * np.geomspace(10.0**-span, 10.0**span, 5)[:, None, None]
        try:
            fit = fit_weighted(K, drawn.y, C, make_loss(loss), LpNorm(p), True, max_iter=30)
        except KernelError as error:
            refused += "has a mean diagonal of" in str(error)
            continue
        right += 1
        assert_proved(fit, K, drawn.y, loss, C, LpNorm(p), abs=1e-6 * fit.objective)
        assert fit.dual_objective <= fit.objective * (1 + 1e-9)
    assert right + refused == 6
    assert refused == 0 or span > 3


def test_the_extreme_stack_is_no_longer_answered_with_zeros():
    rng = default_rng(2)
    X = rng.standard_normal((30, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    K = np.stack([np.exp(-squared / width) for width in np.geomspace(0.5, 8.0, 5)])
    K *= np.geomspace(1e-12, 1e12, 5)[:, None, None]
    y = np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
    with kernel_error(
        r"kernel 0 has a mean diagonal of 1e-12, kernel 4 one of 1e\+12, C is 1e\+09"
    ):
        fit_weighted(np.ascontiguousarray(K), y, 1e9, make_loss("hinge"), LpNorm(2.0), True)


@every("loss", ["hinge", "logistic", "squared"])
def test_near_copies_at_a_huge_C_are_proved_or_refused(loss):
    """Five kernels that are one but for rounding, or nearly: what rounding makes of their
    differences is never a bound.
    """
    rng = default_rng(0)
    right = 0
    X = rng.standard_normal((30, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    y = (
        X[:, 0] + 0.3 * rng.standard_normal(30)
        if loss == "squared"
        else np.where(rng.random(30) < 0.5, 1.0, -1.0)
    )
    lines = np.stack([X @ X.T + 1e-12 * np.outer(v, v) for v in rng.standard_normal((5, 30))])
    for apart in (1e-12, 1e-6, 1e-2):
        K = np.stack([np.exp(-squared / (2.0 * (1.0 + apart * m))) for m in range(5)])
        for p in (1.0, 1.2, 2.0):
            try:
                fit = fit_weighted(K, y, 1e9, make_loss(loss), LpNorm(p), True)
            except KernelError:
                continue
            right += 1
            assert_proved(fit, K, y, loss, 1e9, LpNorm(p))
            assert fit.dual_objective <= fit.objective
    assert right >= 7
    # three columns, thirty rows: what five copies of that differ by is rounding alone
    if loss == "squared":
        with kernel_error("cannot be weighed in double precision: the kernels have mean diagonals"):
            fit_weighted(lines, y, 1e9, make_loss(loss), LpNorm(2.0), True)


def gap_in_long_double(K, y, C, fit):
    """Primal minus dual value for the Huber loss (delta 1) at p = 1.5."""
    K, y, a, theta, point = (
        np.asarray(v, np.longdouble) for v in (K, y, fit.dual_coef, fit.weights, fit.dual_point)
    )
    G = np.einsum("mij,j->mi", K, a)
    residuals = np.abs(theta @ G + fit.intercept - y)
    loss = C * np.where(residuals <= 1, residuals**2 / 2, residuals - 0.5).sum()
    norms = theta * np.sqrt(np.maximum(G @ a, 0))
    forms = np.maximum(np.einsum("i,mij,j->m", point, K, point), 0)
    primal = loss + np.sum(norms**1.2) ** (1 / np.longdouble(0.6)) / 2
    return primal - (
        point @ y - point @ point / (2 * C) - np.sum(forms**3) ** (1 / np.longdouble(3)) / 2
    )


@every("copied", [False, True])
@every("seed", range(3))
def test_a_published_gap_is_not_finer_than_its_arithmetic(seed, copied):
    """At C = 1e6 a kernel of one column leaves R fourteen digits below the sums that it is computed
    from.
    """
    rng = default_rng(seed)
    X = rng.standard_normal((100, 6))[rng.integers(0, 20, 100) if copied else slice(None)]
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(100)
    K = X.T[:, :, None] * X.T[:, None, :]
    K /= np.trace(K, axis1=1, axis2=2)[:, None, None] / 100
    for C in (1.0, 1e3, 1e6):
        fit = fit_weighted(K, y, C, make_loss("huber"), LpNorm(1.5), True, tol=1e-3)
        assert gap_in_long_double(K, y, C, fit) <= fit.gap * (1 + 1e-6)
        assert fit.status is (Status.ROUNDED if C == 1e6 else Status.CONVERGED)
        assert fit.history[-1].gap == fit.gap
        if C == 1e6:
            assert fit.gap <= 1.001e-7 * fit.objective


def test_kernels_of_one_scale_are_not_told_to_be_normalised():
    alike, unlike = (scales_of(np.array([[1.0, 1.0], [top, top]]), 1e9) for top in (1.0, 1e6))
    assert "ormalise" not in alike
    assert "Take a smaller C" in alike
    assert "normalise them" in unlike


def test_a_block_with_hardly_any_norm_does_not_end_a_path():
    """At q = 100 the dual sees next to nothing of one column: its form is rounding, and its weight
    was 10^7.
    """
    train, _ = load_sample("iris").split(test_size=0.3, seed=1)
    stack = KernelDictionary.default(4).grams(train.X)
    model = LpMKLClassifier(penalty=BlockNorm(100.0))
    path = fit_path(model, stack, train.y, "C", [0.3, 1.0, 30.0])
    assert path.finished.all()
    assert path.relative_gap.max() <= 1e-3
