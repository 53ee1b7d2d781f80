"""Group selection terms: derivatives, concavity, sums, group weights, refusals."""

import numpy as np
import pytest
from scipy.integrate import quad

from mklcore import PENALTIES, SMKLRegressor
from mklcore.problem.penalties import (
    TERMS,
    GroupLasso,
    LogTerm,
    MFocuss,
    MinimaxConcave,
    SmoothlyClipped,
    SquaredGroupLasso,
    SumOfTerms,
    as_eta,
    make_terms,
)
from tests.helpers.every import every
from tests.helpers.refusals import refused

ETA = (0.5, 1.0, 2.0, 1.5)
SINGLE = [
    LogTerm(ETA),
    LogTerm(ETA, 0.3),
    GroupLasso(ETA),
    MFocuss(ETA, 0.5),
    MFocuss(ETA, 0.2),
    MFocuss(ETA, 1.0),
    SquaredGroupLasso(ETA),
    MinimaxConcave(ETA),
    MinimaxConcave(ETA, 0.4),
    SmoothlyClipped(ETA),
    SmoothlyClipped(ETA, 2.5),
]
EVERY = [
    *SINGLE,
    LogTerm(ETA) + GroupLasso(ETA),
    LogTerm() + MFocuss(1.0, 0.7) + SquaredGroupLasso(ETA),
]


@every("term", EVERY)
def test_slopes_are_twice_the_derivative_of_a_concave_penalty_and_the_update_inverts_them(term):
    rng = np.random.default_rng(0)
    for e in np.diag([0.7, 2.0, 0.05, 11.0]):
        r = np.array([0.7, 2.0, 0.05, 11.0])
        step = 1e-6 * e
        # 2 dG / dr over a step of 2
        difference = (term.value(r + step) - term.value(r - step)) / step.max()
        assert term.slopes(r)[e > 0] == pytest.approx(difference, rel=1e-7)
    for _ in range(50):  # the tangent lies above and touches
        r, other = rng.exponential(size=(2, 4)) ** 3 + 1e-9
        tangent = term.value(r) + 0.5 * float(term.slopes(r) @ (other - r))
        assert term.value(other) <= tangent + 1e-12 * (1.0 + abs(tangent))
    weights = np.array([0.2, 0.3, 0.4, 0.1])
    Q = np.array([1.0, 5.0, 0.2, 9.0])
    assert term.update(weights, Q) == pytest.approx(1.0 / term.slopes(weights**2 * Q), rel=1e-14)
    assert term.regulariser(weights * np.sqrt(Q)) == pytest.approx(
        term.value(weights**2 * Q), rel=1e-14
    )


@every("term, value, convex", [
    (LogTerm((1.0, 2.0), 0.5), 0.5 * np.log(4.5) + np.log(9.5), False),
    (GroupLasso((1.0, 2.0)), 2 + 6, True),
    (MFocuss((1.0, 2.0), 0.5), 2**0.5 + 2 * 3**0.5, False),
    (MFocuss((1.0, 2.0), 1.0), 2 + 6, True),
    (SquaredGroupLasso((1.0, 2.0)), 32.0, True),
    (GroupLasso((1.0, 2.0)) + SquaredGroupLasso((1.0, 2.0)), 8 + 32, True),
    (GroupLasso((1.0, 2.0)) + LogTerm((1.0, 2.0), 0.5), 8 + 0.5 * np.log(4.5) + np.log(9.5), False),
    (MinimaxConcave(1.0, 1.0), 0.5 * 13 + 2 * 0.5, False),
    (SmoothlyClipped(1.0, 2.5), 0.5 * 13 + 5 / 3 + 7 / 4, False),
])  # fmt: skip
def test_formulas_by_hand(term, value, convex):
    assert term.value(np.array([4.0, 9.0])) == pytest.approx(value)
    assert term.is_convex is convex


def test_zero_blocks_stay_out_except_under_the_pure_log_term():
    weights = np.array([0.0, 1.0])
    Q = np.array([3.0, 4.0])
    for term in (
        GroupLasso(),
        MFocuss(),
        SquaredGroupLasso(),
        MinimaxConcave(),
        LogTerm() + GroupLasso(),
    ):
        assert np.array_equal(term.update(weights, Q) > 0.0, [False, True])
        assert not np.any(term.update(weights, np.zeros(2)))
    assert LogTerm(2.0, 1e-3).update(weights, Q)[0] == pytest.approx(1e-3 / 2)
    with pytest.raises(TypeError):
        LogTerm() + 1.0


def test_terms_by_name():
    term = make_terms(" Log + gl", eta=(1, 2), log_epsilon=1e-4)
    assert term == LogTerm((1, 2), 1e-4) + GroupLasso([1, 2]) == SumOfTerms(tuple(term._parts))
    assert term.formula == "log+gl"
    assert make_terms(term) is term
    assert hash(term) == hash(make_terms("log+gl", eta=(1, 2), log_epsilon=1e-4))
    assert make_terms("mf", mf_power=0.3) == MFocuss(1.0, 0.3)
    assert make_terms("mcp", eta=0.7) == MinimaxConcave(0.7, 3.0)
    assert make_terms("scad") == SmoothlyClipped(1.0, 3.7)
    assert set(TERMS) == {"log", "gl", "mf", "mkl", "mcp", "scad"} <= set(PENALTIES)


def test_refusals():
    refused(
        (lambda: make_terms("log+ridge"), "terms must be a sum of log, gl, mf, mkl, mcp, scad"),
        (lambda: make_terms(""), "terms must be a sum of"),
        (lambda: make_terms(3), "terms must be a sum of"),
        (lambda: make_terms("log", log_epsilon=0.0), "log_epsilon is the floor"),
        (lambda: make_terms("log", log_epsilon="small"), "log_epsilon is the floor"),
        (lambda: make_terms("mf", mf_power=1.5), "mf_power is the power"),
        (lambda: MFocuss(1.0, 0.0), "mf_power is the power"),
        (lambda: MinimaxConcave(1.0, 0.0), "reach is how far the penalty of MCP rises"),
        (
            lambda: SmoothlyClipped(1.0, 2.0),
            "knee is where the penalty of SCAD stops rising, and must be above 2",
        ),
        (lambda: as_eta(-1.0), "finite and above 0"),
        (lambda: as_eta([1.0, np.nan]), "finite and above 0"),
        (lambda: as_eta([]), "finite and above 0"),
        (lambda: as_eta("many"), "eta must be a number"),
        (
            lambda: GroupLasso((1.0, 2.0)).value(np.ones(3)),
            "eta holds 2 group weights, but there are 3 kernels",
        ),
    )


@every("term, rise", [
        (MinimaxConcave(1.2, 2.0), lambda t: max(1.2 - t / 2.0, 0.0)),
        (SmoothlyClipped(1.2, 3.0), lambda t: 1.2 if t <= 1.2 else max(3.6 - t, 0.0) / 2.0),
    ])  # fmt: skip
def test_penalties_that_stop_rising_are_their_integrals_and_those_of_a_plain_machine_beyond(
    term, rise
):
    for t in (0.3, 1.2, 2.0, 5.0):
        penalty = quad(rise, 0.0, t, points=[1.2, 2.4, 3.6])[0]
        assert term.value(np.array([t * t])) == pytest.approx(0.5 * t * t + penalty)
    assert term.slopes(np.array([25.0])) == pytest.approx(1.0)
    assert term.update(np.array([0.0]), np.array([1.0])) == 0.0


@every("term", [MinimaxConcave(0.5), SmoothlyClipped(0.5)])
def test_one_row_per_kernel_is_thresholded_as_in_the_closed_form(term):
    """K_k = e_k e_k', squared loss: every block is min_t C/2 (y - t)^2 + g(t), here by brute force
    over t.
    """
    y = np.array([0.2, 0.6, -1.5, 4.0])
    C = 2.0
    K = np.stack([np.outer(one, one) for one in np.eye(4)])
    model = SMKLRegressor(
        term,
        C=C,
        loss="squared",
        kernels="precomputed",
        normalise=None,
        fit_intercept=False,
        tol=1e-7,
        max_iter=2000,
    ).fit(K, y)
    grid = np.linspace(0.0, 5.0, 10_001)
    penalties = np.array([term.value(np.array([t * t])) for t in grid])
    best = [np.sign(v) * grid[np.argmin(0.5 * C * (abs(v) - grid) ** 2 + penalties)] for v in y]
    assert model.predict(K) == pytest.approx(best, abs=1e-3)
    # beyond the reach: ridge alone
    assert model.predict(K)[3] == pytest.approx(4.0 * C / (1.0 + C))
