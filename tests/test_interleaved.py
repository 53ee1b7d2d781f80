"""The interleaved solver, kernel rows and cutting planes: equal to the wrapper, inside their budget, refusing in
words.
"""

from dataclasses import replace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError
from mklcore.kernels.operators.dense import DenseKernels
from mklcore.kernels.operators.lazy import PIECE, LazyKernels
from mklcore.kernels.operators.row_cache import RowCache
from mklcore.losses import make_loss
from mklcore.penalties import BlockNorm, LpNorm
from mklcore.solvers import certificate, choose_solver, fit_weighted, interleaved
from mklcore.solvers.column_generation import ColumnGeneration
from mklcore.solvers.driver import Status, run
from mklcore.solvers.interleaved import Interleaved, Pulse
from mklcore.solvers.newton import Newton
from mklcore.solvers.problem import Problem, WarmStart
from mklcore.solvers.schedule import Phase, Phased, few_chunks
from tests.settings import setting

KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1, 2]) + mkl.KernelDictionary.per_feature(mkl.RBF(1.0, relative=True), 6)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    target = X[:, 0] + np.sin(2 * X[:, 1]) + 0.4 * rng.standard_normal(300)
    return X, np.sign(target), target, KERNELS.grams(X), LazyKernels.build(KERNELS, X)


@pytest.mark.parametrize("normalise", ["multiplicative", "spherical", "trace", "diag", None])
@pytest.mark.parametrize("center", [False, True])
def test_rows_equal_the_stack(normalise, center):
    X = np.random.default_rng(1).standard_normal((40, 3))
    whole = (mkl.Linear(), mkl.Polynomial(2), mkl.RBF(1.0, relative=True), mkl.Laplacian(2.0))
    parts = (mkl.Linear(features=(2, 0)), mkl.RBF(1.0, features=(2, 0)), mkl.Laplacian(2.0, features=(1, 2)))
    kernels = mkl.KernelDictionary(whole + parts)
    stack = kernels.grams(X, normalise=normalise, center=center)
    rows = LazyKernels.build(kernels, X, normalise=normalise, center=center)
    assert rows.rows(np.arange(40)) == pytest.approx(stack.values, abs=1e-12)
    assert rows.diagonals() == pytest.approx(np.einsum("mii->mi", stack.values), abs=1e-12)
    assert rows.cross(X[:5] + 0.1) == pytest.approx(stack.cross(X[:5] + 0.1), abs=1e-12)
    assert rows.names == stack.names


def test_constant_kernels_are_left_out_and_named():
    X = np.column_stack([np.random.default_rng(2).standard_normal(20), np.ones(20)])
    rows = LazyKernels.build(mkl.KernelDictionary.per_feature(mkl.Linear(), 2), X)
    assert rows.n_kernels == 1
    assert "constant on the training rows" in rows.notes[0]
    with pytest.raises(KernelError, match="Every kernel is constant"):
        LazyKernels.build(mkl.KernelDictionary.per_feature(mkl.Linear(), 1), X[:, 1:])
    with pytest.raises(ParameterError, match="normalise must be one of"):
        LazyKernels.build(KERNELS, np.ones((3, 6)), normalise="odd")


@pytest.mark.parametrize("p", [1.0, 1.1, 4 / 3, 2.0, 4.0])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_interleaved_equals_the_wrapper(loss, p, problem):
    _, labels, target, stack, rows = problem
    y = labels if loss == "hinge" else target
    exact = fit_weighted(stack.values, y, 1.0, make_loss(loss), LpNorm(p), True, tol=1e-6)
    fit = fit_weighted(rows, y, 1.0, make_loss(loss), LpNorm(p), True, max_iter=5000)
    stored = fit_weighted(stack.values, y, 1.0, make_loss(loss), LpNorm(p), True, solver="interleaved", max_iter=5000)
    assert fit.status.ok
    assert fit.objective == pytest.approx(exact.objective, rel=1e-3)
    assert fit.dual_objective <= exact.objective
    assert fit.objective >= exact.dual_objective
    assert stored.objective == pytest.approx(fit.objective, rel=1e-3)


def test_without_an_intercept_single_points_move(problem):
    _, labels, _, stack, rows = problem
    exact = fit_weighted(stack.values, labels, 1.0, make_loss("hinge"), LpNorm(2.0), False, tol=1e-6)
    fit = fit_weighted(rows, labels, 1.0, make_loss("hinge"), LpNorm(2.0), False, max_iter=5000)
    assert fit.status.ok
    assert fit.intercept == 0.0
    assert fit.objective == pytest.approx(exact.objective, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 10])
def test_an_unfinished_run_ends_with_the_best_point_it_saw(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    K = np.stack([np.exp(-squared / width) for width in (4.0, 4.001, 4.01)])
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(40)
    loss, penalty = make_loss("epsilon_insensitive"), LpNorm(1.2)
    for most in (40, 60):
        fit = fit_weighted(K, y, 3e3, loss, penalty, True, solver="interleaved", max_iter=most)
        assert fit.n_iter <= most
        assert fit.objective <= min(record.objective for record in fit.history) * (1.0 + 1e-9)
        reported = mkl.certificate(K, y, fit.weights, fit.dual_coef, fit.intercept, loss, 3e3, penalty, fit.dual_point)
        assert (fit.objective, fit.dual_objective) == pytest.approx(reported, rel=1e-9)
        assert fit.history[-1].objective == fit.objective


def test_rows_in_single_precision_are_left_where_a_large_C_would_show_their_rounding():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    y = np.sign(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(150))
    rows, loss = LazyKernels.build(mkl.KernelDictionary.rbf_grid([0.5, 1, 2]), X), make_loss("hinge")
    fit = fit_weighted(rows, y, 1e6, loss, LpNorm(1.5), True)
    assert fit.status.ok
    assert fit.objective <= min(record.objective for record in fit.history)
    plain = Interleaved(Problem(rows, y, 1.0, loss, LpNorm(1.5), True), tol=1e-3)
    run(plain, tol=1e-3, max_iter=500)
    assert not plain._exact  # at C = 1 single precision is enough, and half as many bytes


def test_what_one_method_found_is_kept_where_the_next_finds_nothing_better(problem):
    """After a change of method that leads nowhere, the best point is that of the pairs."""
    _, labels, _, stack, rows = problem
    loss, penalty = make_loss("hinge"), LpNorm(1.0)

    def idle(cls):
        """The method with a bad first point and no second one."""
        start = cls.init
        changes = {"init": lambda self: replace(start(self), objective=1e9), "step": lambda *_: Status.STALLED}
        return type("Idle", (cls,), changes)

    for K, closing in ((stack.values, Newton), (rows, ColumnGeneration)):
        phases = Phase("pairs", Interleaved, few_chunks), Phase("idle", idle(closing))
        method = Phased(Problem(K, labels, 1.0, loss, penalty, True), phases, tol=1e-9)
        fit = run(method, tol=1e-9, max_iter=200)
        assert fit.status is Status.STALLED
        assert fit.objective == pytest.approx(
            min(record.objective for record in fit.history), rel=1e-5
        )  # rows are rounded


def test_cutting_planes_equal_newton(problem):
    _, labels, _, stack, _ = problem
    planes = fit_weighted(stack.values, labels, 1.0, make_loss("hinge"), LpNorm(1.0), True, solver="silp", tol=1e-2)
    newton = fit_weighted(stack.values, labels, 1.0, make_loss("hinge"), LpNorm(1.0), True, tol=1e-6)
    assert planes.status.ok
    assert planes.objective == pytest.approx(newton.objective, rel=1e-2)


def test_the_cache_keeps_its_budget_and_its_order():
    values = np.random.default_rng(3).standard_normal((2, 30, 30))
    cache = RowCache(DenseKernels(values), budget_mb=1e-6, least=4)
    first = cache.fetch(np.array([1, 2, 3]))
    assert cache.slab[first] == pytest.approx(values[:, [1, 2, 3]].transpose(1, 0, 2), rel=1e-6)
    assert (cache.hits, cache.misses) == (0, 3)
    cache.fetch(np.array([1, 5]))
    assert (cache.hits, cache.misses) == (1, 4)
    cache.fetch(np.array([6]))  # 2 was used longest ago
    assert cache.fetch(np.array([1, 3, 5])).size == 3
    assert cache.misses == 5
    assert cache.slab.shape[0] == 4


def test_estimators_never_build_a_stack(problem, monkeypatch):
    X, labels, _, _, _ = problem
    monkeypatch.setattr(mkl.KernelDictionary, "grams", lambda *a, **k: pytest.fail("a stack was built"))
    model = mkl.LpMKLClassifier(kernels=KERNELS, p=2.0, solver="interleaved").fit(X, labels)
    assert model.score(X, labels) > 0.8
    assert "interleaved" in model.fit_.solver


def test_auto_says_which_solver_and_why(problem):
    *_, stack, rows = problem
    assert choose_solver(rows, LpNorm(2.0))[0] == "interleaved"
    assert choose_solver(stack.values, LpNorm(1.0))[0] == "newton"
    assert choose_solver(stack.values, LpNorm(np.inf))[0] == "wrapper"
    assert choose_solver(stack.values, LpNorm(8.0))[0] == "wrapper"
    assert choose_solver(stack.values, BlockNorm(3.0))[0] == "wrapper"
    fit = fit_weighted(stack.values, problem[1], 1.0, make_loss("hinge"), LpNorm(1.0), True)
    assert "chosen because" in fit.solver
    assert fit.history[0].note == fit.solver


def test_refusals(problem):
    _, labels, _, stack, rows = problem
    with pytest.raises(ParameterError, match="needs a loss that is piecewise linear; logistic is not"):
        fit_weighted(rows, labels, 1.0, make_loss("logistic"), LpNorm(2.0), True, solver="interleaved")
    with pytest.raises(ParameterError, match="needs a penalty whose weights descend"):
        fit_weighted(rows, labels, 1.0, make_loss("hinge"), BlockNorm(3.0), True, solver="interleaved")
    with pytest.raises(ParameterError, match="needs the Gram matrices"):
        fit_weighted(rows, labels, 1.0, make_loss("hinge"), LpNorm(2.0), True, solver="newton")
    with pytest.raises(ParameterError, match="for p = 1 only"):
        fit_weighted(stack.values, labels, 1.0, make_loss("hinge"), LpNorm(2.0), True, solver="silp")


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("p", [1.01, 4 / 3, 2.0, 3.0])
def test_interleaved_pairs_open_for_newton_and_end_at_the_same_optimum(p, C, problem):
    values, y = problem[3].values, problem[1]
    opened = fit_weighted(values, y, C, make_loss("hinge"), LpNorm(p), True, tol=1e-4)
    newton = fit_weighted(values, y, C, make_loss("hinge"), LpNorm(p), True, tol=1e-4, solver="newton")
    assert "interleaved" in opened.solver
    assert opened.status.ok
    assert newton.status.ok
    assert opened.objective == pytest.approx(newton.objective, rel=2e-4)
    assert opened.dual_objective <= newton.objective * (1 + 1e-9)
    assert opened.objective >= newton.dual_objective * (1 - 1e-9)


def test_a_fine_tolerance_and_a_large_stack_are_newtons_from_the_start(monkeypatch, problem):
    values, y = problem[3].values, problem[1]
    fine = fit_weighted(values, y, 1.0, make_loss("hinge"), LpNorm(2.0), True, tol=1e-7)
    assert "interleaved" not in fine.solver
    setting(monkeypatch, "mklcore.solvers.schedule.most_rows", 10)
    large = fit_weighted(values, y, 1.0, make_loss("hinge"), LpNorm(2.0), True, tol=1e-3)
    assert "interleaved" not in large.solver


def test_a_neighbour_hands_on_its_rows_and_products_and_changes_nothing(problem):
    values, y = problem[3].values, problem[1]
    loss, penalty = make_loss("hinge"), LpNorm(2.0)
    first = fit_weighted(values, y, 1.0, loss, penalty, True)
    for C in (0.1, 1.0, 3.0):
        warm = WarmStart(first.weights, first.dual_coef, 1.0, first.carry)
        carried = fit_weighted(values, y, C, loss, penalty, True, tol=1e-5, warm=warm)
        alone = fit_weighted(values, y, C, loss, penalty, True, tol=1e-5)
        assert carried.objective == pytest.approx(alone.objective, rel=2e-5)
    stranger = WarmStart(first.weights, first.dual_coef, 1.0, first.carry)
    other = fit_weighted(2.0 * values, y, 0.5, loss, penalty, True, tol=1e-5, warm=stranger)
    assert 2.0 * other.objective == pytest.approx(
        fit_weighted(values, y, 1.0, loss, penalty, True, tol=1e-5).objective, rel=2e-5
    )


@pytest.mark.parametrize("after", [1, 3])
def test_a_cancel_is_heard_in_the_middle_of_a_step(after, problem, monkeypatch):
    """Counted, not timed: once the answer is yes, no more than the current piece is computed."""
    _, labels, _, _, rows = problem
    M, n = rows.diagonals().shape
    monkeypatch.setattr(Pulse, "EVERY", 4 * M * n)  # asked after every fourth row
    computed: list[int] = []
    block = rows.rows
    monkeypatch.setattr(rows, "rows", lambda chosen: computed.append(len(chosen)) or block(chosen))
    asked: list[int] = []

    def stop(record):
        asked.append(sum(computed))
        if len(asked) > 1 + after:  # the first question comes after the start, before any row
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fit_weighted(rows, labels, 1.0, make_loss("hinge"), LpNorm(2.0), True, solver="interleaved", callback=stop)
    assert all(0 <= more <= 4 for more in np.diff(asked))
    assert sum(computed) == asked[-1]


def test_no_stretch_of_work_is_long_between_two_questions(problem, monkeypatch):
    """Rows that are computed and rows that are summed, counted from the first question after the start to the end."""
    _, labels, _, _, rows = problem
    monkeypatch.setattr(Pulse, "EVERY", 4 * rows.diagonals().size)
    done, asked = [0], []
    block, add = rows.rows, interleaved.add_rows

    def counted(size, result):
        done[0] += size
        return result

    monkeypatch.setattr(rows, "rows", lambda chosen: counted(len(chosen), block(chosen)))
    monkeypatch.setattr(
        interleaved, "add_rows", lambda g, slab, slots, change: counted(slots.size, add(g, slab, slots, change))
    )
    fit_weighted(
        rows,
        labels,
        1.0,
        make_loss("hinge"),
        LpNorm(2.0),
        True,
        callback=lambda _: asked.append(done[0]),
        solver="interleaved",
    )
    assert len(asked) > 20
    assert max(np.diff(asked)) <= 4 + PIECE  # what was asked for, and the current piece


def test_a_true_answer_in_the_middle_of_a_step_ends_it_with_a_proof(problem, monkeypatch):
    _, labels, _, stack, rows = problem
    M, n = rows.diagonals().shape
    loss, penalty = make_loss("hinge"), LpNorm(2.0)
    monkeypatch.setattr(Pulse, "EVERY", 4 * M * n)
    answers = iter([False, False])
    fit = fit_weighted(rows, labels, 1.0, loss, penalty, True, callback=lambda record: next(answers, True))
    assert fit.status is Status.CANCELLED
    primal, dual = certificate(
        stack.values, labels, fit.weights, fit.dual_coef, fit.intercept, loss, 1.0, penalty, fit.dual_point
    )
    assert (fit.objective, fit.dual_objective) == pytest.approx((primal, dual), rel=1e-8)


@pytest.mark.parametrize(("normalise", "center"), [("multiplicative", False), ("spherical", False), ("trace", True)])
def test_single_rows_are_the_rows_in_double_precision(normalise, center):
    X = np.random.default_rng(7).standard_normal((530, 5))  # more than one tile, and a part of another
    whole = (mkl.Linear(), mkl.Polynomial(2), mkl.Matern(1.0), mkl.RBF(0.2), mkl.RBF(2.0), mkl.Laplacian(2.0))
    parts = (mkl.RBF(1.0, features=(4, 0)), mkl.Laplacian(2.0, features=(1, 2, 3)), mkl.RBF(1.0, features=(3,)))
    rows = LazyKernels.build(mkl.KernelDictionary(whole + parts), X, normalise=normalise, center=center)
    exact, out = rows.rows(np.array([0, 17, 529])), np.empty((rows.n_kernels, 530), dtype=np.float32)
    for k, i in enumerate((0, 17, 529)):
        rows.row_into(i, out)
        assert out == pytest.approx(exact[:, k], rel=1e-5, abs=1e-5)


def test_sums_hear_of_rows_before_a_small_cache_gives_them_up(problem):
    _, labels, _, stack, rows = problem
    exact = fit_weighted(stack.values, labels, 1.0, make_loss("hinge"), LpNorm(4 / 3), True, tol=1e-6)
    task = Problem(rows, labels, 1.0, make_loss("hinge"), LpNorm(4 / 3), True)
    method = Interleaved(task, tol=1e-3, cache_mb=0.1)
    assert method.cache.most < len(labels) // 2
    start = method.init()
    change = np.linspace(-1.0, 1.0, len(labels))
    method.cache.fetch(np.arange(method.cache.most))
    left = change.copy()
    method._sum_leaving(left)
    gone = np.flatnonzero(left != change)
    assert gone.size == PIECE
    assert method.g == pytest.approx(rows.rows(gone).transpose(0, 2, 1) @ change[gone], rel=1e-5, abs=1e-5)
    fit = run(Interleaved(task, tol=1e-3, cache_mb=0.1), tol=1e-3, max_iter=5000)
    assert start.weights.size == rows.n_kernels
    assert fit.objective == pytest.approx(exact.objective, rel=1e-3)
