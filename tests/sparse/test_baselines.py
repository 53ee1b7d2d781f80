"""lq-norm ridge MKL, the two-stage rule, the counterexample to it, and what the papers' problems
have in common.
"""

import numpy as np
import pytest

from mklcore import DataError, ParameterError, duplicate_counterexample, lq_mkl, two_stage
from mklcore.sparse.variants import penalised_l1
from tests.helpers.every import every
from tests.oracles.greedy import DATA, KERNELS, TARGETS, X3, penalised

K1 = KERNELS["P1var"]
Y1 = TARGETS["P1var"]
LAM = 0.01


# lq-norm ridge MKL


@every("k", range(5))
def test_every_trusted_optimum(k):
    q = float(DATA["lq|q"][k])
    objective = DATA["lq|objective"][k]
    fit = lq_mkl(K1, Y1, LAM, q)
    assert fit.objective == pytest.approx(objective, rel=1e-6)
    assert fit.dual_objective <= objective * (1 + 1e-6)
    assert fit.relative_gap <= 1e-6
    assert np.linalg.norm(fit.weights, ord=q) == pytest.approx(1.0)
    residual = Y1 - np.tensordot(fit.weights, K1, 1) @ fit.dual_coef
    assert residual == pytest.approx(LAM * len(Y1) * fit.dual_coef)
    warm = lq_mkl(K1, Y1, LAM, q, warm=lq_mkl(K1, Y1, 2 * LAM, q))
    assert warm.objective == pytest.approx(objective, rel=1e-6)


# The symmetric solver and the two-stage rule


@every("case", penalised())
def test_the_symmetric_solver_reaches_every_optimum(case):
    fit = penalised_l1(case.K, case.y, case.lam, "symmetric", 1e-10)
    assert fit.objective == pytest.approx(case.objective, rel=1e-8)
    # also among copies: they share evenly
    assert fit.weights == pytest.approx(case.norms, abs=2e-5 * case.norms.max())


def test_two_stages_keep_the_largest_and_solve_again():
    case = next(case for case in penalised() if case.name == "P1_lam0.02")
    fit = two_stage(case.K, case.y, case.lam, 2)
    assert fit.selected == (1, 4)
    assert set(np.flatnonzero(fit.weights)) == {1, 4}
    # the exact optimum on {1, 4}
    assert fit.objective == pytest.approx(case.path_objective[1], rel=1e-9)
    assert fit.dual_objective == pytest.approx(case.objective, rel=1e-8)
    assert 0 < fit.gap < 1e-4
    fitted = np.einsum("mij,mj->i", case.K, fit.dual_coef)
    assert 0.5 * np.mean((case.y - fitted) ** 2) + case.lam * fit.weights.sum() == pytest.approx(
        fit.objective
    )


# The counterexample


def test_the_counterexample_of_the_paper():
    found = duplicate_counterexample()
    assert found.two_kernels == pytest.approx([0.8, 0.2], abs=1e-6)
    assert found.symmetric == pytest.approx([0.08] * 10 + [0.2], abs=1e-6)
    assert found.block_descent == pytest.approx([0.8] + [0.0] * 9 + [0.2], abs=1e-6)
    assert found.objective_two == pytest.approx(0.1297848212, abs=1e-9)
    assert found.objective_many == pytest.approx(found.objective_two, rel=1e-9)
    assert found.two_stage == {"symmetric": "B", "block": "A"}
    assert set(found.greedy.values()) == {"A"}
    assert len(found.greedy) == 6
    assert "keeps B" in found.words
    assert found.words in found._repr_html_()


def test_the_counterexample_on_given_kernels():
    y = np.sin(np.pi * X3[:, 0]) + 0.36118225 * np.sin(np.pi * X3[:, 1])
    few = duplicate_counterexample(KERNELS["P3two"], y, copies=3)
    assert few.symmetric == pytest.approx([0.8 / 3] * 3 + [0.2], abs=1e-6)
    assert few.two_stage["symmetric"] == "A"  # three copies are not enough to look small


@every("error, call, words", [
    (ParameterError, lambda K, y: lq_mkl(K, y, 0.1, 0.5), "must be 1 or more"),
    (ParameterError, lambda K, y: lq_mkl(K, y, 0.0, 2), "lam must be a finite number above 0; got 0"),
    (DataError, lambda K, y: lq_mkl(K, y[:-1], 0.1, 2), "30 finite numbers, one per row"),
    (ParameterError, lambda K, y: two_stage(K, y, 0.1, 3), "n_kernels must be a whole number from 1 to 2"),
    (ParameterError, lambda K, y: two_stage(K, y, 0.1, 1, solver="magic"), "solver must be one of symmetric"),
    (ParameterError, lambda K, y: duplicate_counterexample(K), "or neither for the built-in problem"),
    (ParameterError, lambda K, y: duplicate_counterexample(copies=1), "copies must be a whole number of 2 or more"),
    (DataError, lambda K, y: duplicate_counterexample(K, np.ones(30)), "two kernels and a target that varies"),
])  # fmt: skip
def test_refusals(error, call, words):
    with pytest.raises(error, match=words):
        call(KERNELS["P3two"], TARGETS["P3"])
