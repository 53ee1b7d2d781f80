"""Linear kernels of columns on a table that is neither copied nor converted: the numbers of the dictionary's."""

import tracemalloc

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.operators import Capability, KernelOperator, WeightedSum, columns, frobenius_norms
from mklcore.losses import make_loss
from mklcore.penalties import LpNorm
from mklcore.solvers import fit_weighted

pytestmark = pytest.mark.numerical
N, M = 30, 70
X = (np.random.default_rng(0).standard_normal((N, M)) * np.geomspace(0.01, 100.0, M) + 5.0).astype(np.float32)
Y = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
DICTIONARY = mkl.KernelDictionary.per_feature(mkl.Linear(), M)


@pytest.fixture(scope="module")
def truth():
    return DICTIONARY.grams(X.astype(float)).values


@pytest.fixture(params=[False, True], ids=["double", "single"])
def case(request, monkeypatch):
    monkeypatch.setattr(columns, "_VALUES", 7 * N)  # several stretches
    kernels = mkl.ColumnKernels(X)
    return (kernels.with_float32_sums(), 2e-5) if request.param else (kernels, 1e-10)


def test_every_product_is_that_of_the_stack(case, truth):
    kernels, near = case
    rng, some, rows = np.random.default_rng(1), np.array([20, 3, 11]), np.array([9, 2])
    a, weights = rng.standard_normal(N), rng.random(M)
    weights[::3] = 0.0
    whole = np.tensordot(weights, truth, 1)
    close = {"rtol": near, "atol": near * np.abs(whole).max()}
    assert isinstance(kernels, KernelOperator)
    assert isinstance(kernels.combine(weights), WeightedSum)
    assert (Capability.EXACT in kernels.capabilities) == (near < 1e-9)
    assert Capability.EXACT in kernels.exact.capabilities
    np.testing.assert_allclose(kernels.matvec(a), truth @ a, **close)
    np.testing.assert_allclose(kernels.matvec(a, some), truth[some] @ a, **close)
    np.testing.assert_allclose(kernels.quad(a), truth @ a @ a, **close)
    np.testing.assert_allclose(kernels.quad(np.column_stack([a, a]), some), 2.0 * (truth[some] @ a @ a), **close)
    np.testing.assert_allclose(kernels.combine(weights).matrix, whole, **close)
    np.testing.assert_allclose(kernels.combine(np.ones(M)).matrix, truth.sum(axis=0), **close)
    assert kernels.combine(weights, out := np.empty((N, N))).matrix is out
    np.testing.assert_allclose(kernels.combine_block(weights, rows), whole[np.ix_(rows, rows)], **close)
    np.testing.assert_allclose(kernels.decision(weights, a), whole @ a, **close)
    np.testing.assert_allclose(kernels.rows(rows), truth[:, rows], **close)
    scored = kernels.block(rows, some).scores(weights[None], a[None, some])[:, 0]
    np.testing.assert_allclose(scored, whole[np.ix_(rows, some)] @ a[some], **close)
    kernels.row_into(5, row := np.empty((M, N), dtype=np.float32))
    np.testing.assert_allclose(row, truth[:, 5], atol=1e-5)
    np.testing.assert_allclose(kernels.grams(some), truth[some], **close)
    np.testing.assert_allclose(kernels.gram(7), truth[7], **close)
    np.testing.assert_allclose(kernels.factor(7).T @ kernels.factor(7), truth[7], **close)
    np.testing.assert_allclose(kernels.select(some).select(np.array([2])).gram(0), truth[11], **close)
    np.testing.assert_allclose(kernels.take(rows).gram(4), truth[4][np.ix_(rows, rows)], **close)
    np.testing.assert_allclose(frobenius_norms(kernels), np.linalg.norm(truth, axis=(1, 2)), **close)


def test_diagonals_are_made_when_read(case, truth):
    diagonals, expected = case[0].diagonals(), np.einsum("mii->mi", truth)
    assert (len(diagonals), diagonals.shape) == (M, (M, N))
    np.testing.assert_allclose(np.asarray(diagonals), expected, rtol=1e-10)
    np.testing.assert_allclose(diagonals[np.array([3, 1])], expected[[3, 1]], rtol=1e-10)
    np.testing.assert_allclose(diagonals.mean(axis=1), expected.mean(axis=1), rtol=1e-10)


def test_new_rows_are_scored_without_a_block(case, truth):
    kernels, _ = case
    rng = np.random.default_rng(2)
    new, a, weights = rng.standard_normal((4, M)), rng.standard_normal((2, N)), rng.random((2, M))
    expected = DICTIONARY.grams(X.astype(float)).cross(new)
    np.testing.assert_allclose(kernels.cross(new), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    scores = np.stack([np.tensordot(weights[t], expected, 1) @ a[t] for t in range(2)], axis=1)
    np.testing.assert_allclose(kernels.blocks(new).scores(weights, a), scores, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, np.inf])
def test_estimators_find_what_they_find_with_the_dictionary(p, loss):
    kernels, new = mkl.ColumnKernels(X), np.random.default_rng(3).standard_normal((9, M)) + 5.0
    found = mkl.LpMKLClassifier(p=p, loss=loss, tol=1e-6).fit(kernels, Y)
    usual = mkl.LpMKLClassifier(p=p, loss=loss, tol=1e-6, kernels=DICTIONARY).fit(X, Y)
    assert found.objective_ == pytest.approx(usual.objective_, rel=2e-6)
    assert found.kernel_names_ == usual.kernel_names_
    decided = found.decision_function(kernels.blocks(new))
    np.testing.assert_allclose(decided, usual.decision_function(new), atol=2e-2 * np.abs(decided).max())
    assert (found.predict(kernels.blocks(new)) == np.where(decided > 0, 1, -1)).all()


def test_a_fit_is_certified_and_a_path_scores_new_rows():
    kernels = mkl.ColumnKernels(X)
    fit = fit_weighted(kernels, Y.astype(float), 1.0, make_loss("hinge"), LpNorm(4 / 3), True, tol=1e-4)
    assert fit.status.ok
    assert fit.relative_gap <= 1e-4
    path = mkl.fit_path(mkl.LpMKLClassifier(p=1.0), kernels, Y, "C", [0.1, 1.0], X, Y)
    assert path.val_score[-1] == path.train_score[-1] > 0.9


def test_constant_columns_are_left_out_and_the_table_is_not_copied(monkeypatch):
    monkeypatch.setattr(columns, "_VALUES", 50_000)
    table = np.random.default_rng(0).standard_normal((300, 5000), dtype=np.float32)
    table[:, 7] = 3.25
    mkl.LpMKLClassifier(p=1.0).fit(mkl.ColumnKernels(table[:, :500]), np.sign(table[:, 0]))  # what is loaded once
    tracemalloc.start()
    kernels = mkl.ColumnKernels(table)
    model = mkl.LpMKLClassifier(p=1.0).fit(kernels, np.sign(table[:, 0]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kernels.n_kernels == 4999
    assert "x7: constant" in kernels.notes[0]
    assert "linear x7" not in kernels.names
    assert kernels.specs[7] == mkl.Linear(features=(8,))
    assert model.kernel_names_[int(np.argmax(model.weights_))] == "linear x0"
    assert most < 8 * table.size  # a copy in double precision would be as much by itself


@pytest.mark.parametrize(
    ("table", "names", "error", "words"),
    [
        (np.ones(3), None, DataError, "need a table"),
        (np.ones((1, 3)), None, DataError, "two rows or more"),
        (np.ones((3, 2)), None, KernelError, "Every column is constant"),
        (np.eye(3), ("a",), KernelError, "1 names for 3 columns"),
        (np.eye(3), ("a", "b", "a"), KernelError, "Two columns have the same name"),
        (np.array([[1.0, 2.0], [np.nan, 3.0]]), ("age", "fare"), DataError, "Column age is not finite"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(table, names, error, words):
    with pytest.raises(error, match=words):
        mkl.ColumnKernels(table, names)


@pytest.mark.parametrize("new", [np.ones((2, 3)), np.full((2, M), np.inf), np.full((2, M), "a")])
def test_new_rows_that_do_not_fit_are_refused(new):
    with pytest.raises(DataError, match="New rows"):
        mkl.ColumnKernels(X).blocks(new)


def test_single_precision_is_a_way_and_never_a_certificate():
    kernels = mkl.ColumnKernels(X)
    double, single = (mkl.LpMKLClassifier(p=4 / 3).fit(one, Y) for one in (kernels, kernels.with_float32_sums()))
    assert single.objective_ == double.objective_
    assert single.dual_objective_ == double.dual_objective_


def test_folds_score_rows_without_blocks_of_them():
    model, kernels = mkl.LpMKLClassifier(p=2.0), mkl.ColumnKernels(X)
    found = mkl.cross_validate_path(model, kernels, Y, "C", [0.1, 1.0], n_splits=3)
    usual = mkl.cross_validate_path(model, DICTIONARY.grams(X.astype(float)), Y, "C", [0.1, 1.0], n_splits=3)
    np.testing.assert_allclose(found.scores, usual.scores, atol=1.1 / N)
    with pytest.raises(ParameterError, match='reads stored kernels, which ColumnKernels are not; use rule="kfold"'):
        mkl.choose_C(model, kernels, Y, [0.1, 1.0])
    assert mkl.choose_C(model, kernels, Y, [0.1, 1.0], rule="kfold").estimator.weights_.shape == (M,)


def test_blocks_of_other_kernels_and_single_parts_are_refused():
    kernels = mkl.ColumnKernels(X)
    model = mkl.LpMKLClassifier(p=2.0).fit(kernels.select(np.arange(5, 20)), Y)
    assert model.predict(kernels.select(np.arange(5, 20)).blocks(X)).shape == (N,)
    with pytest.raises(KernelError, match="Test blocks must be"):
        model.predict(kernels.blocks(X))
    with pytest.raises(KernelError, match="What single kernels say needs their blocks"):
        model.contributions(kernels.select(np.arange(5, 20)).blocks(X))


def test_more_rows_than_are_summed_are_refused():
    with pytest.raises(KernelError, match=r"on at most 4,000 rows, this table has 4,001\. Use KernelDictionary"):
        mkl.ColumnKernels(np.random.default_rng(0).standard_normal((4001, 2)))
