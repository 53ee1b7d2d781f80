"""Group selection terms: derivatives, concavity, sums, group weights, refusals."""

import numpy as np
import pytest

from mklcore.errors import ParameterError
from mklcore.penalties import PENALTIES
from mklcore.penalties.terms import (
    TERMS,
    GroupLasso,
    LogTerm,
    MFocuss,
    SquaredGroupLasso,
    SumOfTerms,
    as_eta,
    make_terms,
)

ETA = (0.5, 1.0, 2.0, 1.5)
SINGLE = [
    LogTerm(ETA),
    LogTerm(ETA, 0.3),
    GroupLasso(ETA),
    MFocuss(ETA, 0.5),
    MFocuss(ETA, 0.2),
    MFocuss(ETA, 1.0),
    SquaredGroupLasso(ETA),
]
EVERY = [*SINGLE, LogTerm(ETA) + GroupLasso(ETA), LogTerm() + MFocuss(1.0, 0.7) + SquaredGroupLasso(ETA)]
BY_NAME = {"ids": lambda term: repr(term)[:40]}


@pytest.mark.parametrize("term", EVERY, **BY_NAME)
def test_slopes_are_twice_the_derivative(term):
    r = np.array([0.7, 2.0, 0.05, 11.0])
    step = 1e-6 * r
    for k in range(r.size):
        up, down = r.copy(), r.copy()
        up[k] += step[k]
        down[k] -= step[k]
        difference = (term.value(up) - term.value(down)) / step[k]  # 2 dG / dr over a step of 2
        assert term.slopes(r)[k] == pytest.approx(difference, rel=1e-7)


@pytest.mark.parametrize("term", EVERY, **BY_NAME)
def test_the_tangent_lies_above_and_touches(term):
    rng = np.random.default_rng(0)
    for _ in range(50):
        r, other = rng.exponential(size=(2, 4)) ** 3 + 1e-9
        tangent = term.value(r) + 0.5 * float(term.slopes(r) @ (other - r))
        assert term.value(other) <= tangent + 1e-12 * (1.0 + abs(tangent))


@pytest.mark.parametrize("term", EVERY, **BY_NAME)
def test_update_inverts_the_slopes_at_the_block_norms(term):
    weights, Q = np.array([0.2, 0.3, 0.4, 0.1]), np.array([1.0, 5.0, 0.2, 9.0])
    assert term.update(weights, Q) == pytest.approx(1.0 / term.slopes(weights**2 * Q), rel=1e-14)
    assert term.regulariser(weights * np.sqrt(Q)) == pytest.approx(term.value(weights**2 * Q), rel=1e-14)


def test_formulas_by_hand():
    r = np.array([4.0, 9.0])
    assert LogTerm((1.0, 2.0), 0.5).value(r) == pytest.approx(0.5 * np.log(4.5) + np.log(9.5))
    assert GroupLasso((1.0, 2.0)).value(r) == pytest.approx(2 + 6)
    assert MFocuss((1.0, 2.0), 0.5).value(r) == pytest.approx(2**0.5 + 2 * 3**0.5)
    assert SquaredGroupLasso((1.0, 2.0)).value(r) == pytest.approx(32.0)
    assert MFocuss(2.0, 1.0).slopes(r) == pytest.approx(GroupLasso(2.0).slopes(r))


def test_zero_blocks_stay_out_except_under_the_pure_log_term():
    weights, Q = np.array([0.0, 1.0]), np.array([3.0, 4.0])
    for term in (GroupLasso(), MFocuss(), SquaredGroupLasso(), LogTerm() + GroupLasso()):
        assert term.update(weights, Q)[0] == 0.0
        assert term.update(weights, Q)[1] > 0.0
        assert np.array_equal(term.update(weights, np.zeros(2)), [0.0, 0.0])
    assert LogTerm(2.0, 1e-3).update(weights, Q)[0] == pytest.approx(1e-3 / 2)


def test_weights_of_the_squared_group_lasso_lie_on_the_simplex_of_eta():
    term = SquaredGroupLasso(ETA)
    found = term.update(np.array([0.2, 0.3, 0.4, 0.1]), np.array([1.0, 5.0, 0.2, 9.0]))
    assert np.square(ETA) @ found == pytest.approx(1.0)


def test_what_is_convex():
    assert [term.is_convex for term in SINGLE] == [False, False, True, False, False, True, True]
    assert (GroupLasso() + SquaredGroupLasso()).is_convex
    assert not (GroupLasso() + LogTerm()).is_convex


def test_terms_by_name():
    term = make_terms(" Log + gl", eta=(1, 2), log_epsilon=1e-4)
    assert term == SumOfTerms((LogTerm((1.0, 2.0), 1e-4), GroupLasso((1.0, 2.0))))
    assert term == LogTerm((1, 2), 1e-4) + GroupLasso([1, 2])
    assert term.formula == "log+gl"
    assert make_terms("mf", mf_power=0.3) == MFocuss(1.0, 0.3)
    assert make_terms(term) is term
    assert hash(term) == hash(make_terms("log+gl", eta=(1, 2), log_epsilon=1e-4))
    assert set(TERMS) == {"log", "gl", "mf", "mkl"}
    assert set(TERMS) <= set(PENALTIES)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_terms("log+ridge"), "terms must be a sum of log, gl, mf, mkl"),
        (lambda: make_terms(""), "terms must be a sum of"),
        (lambda: make_terms(3), "terms must be a sum of"),
        (lambda: make_terms("log", log_epsilon=0.0), "log_epsilon is the floor"),
        (lambda: make_terms("log", log_epsilon="small"), "log_epsilon is the floor"),
        (lambda: make_terms("mf", mf_power=1.5), "mf_power is the power"),
        (lambda: MFocuss(1.0, 0.0), "mf_power is the power"),
        (lambda: as_eta(-1.0), "finite and above 0"),
        (lambda: as_eta([1.0, np.nan]), "finite and above 0"),
        (lambda: as_eta([]), "finite and above 0"),
        (lambda: as_eta("many"), "eta must be a number"),
        (lambda: GroupLasso((1.0, 2.0)).value(np.ones(3)), "eta holds 2 group weights, but there are 3 kernels"),
    ],
)
def test_refusals_in_words(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_only_terms_add_up():
    with pytest.raises(TypeError):
        LogTerm() + 1.0
