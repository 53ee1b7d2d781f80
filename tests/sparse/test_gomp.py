"""MKL-GOMP against exact paths, cone solvers and reductions, under the squared loss and the hinge."""

import numpy as np
import pytest

from mklcore import GOMPClassifier, GOMPRegressor, KernelDictionary, Linear, ParameterError
from mklcore.kernels.grams import duplicates
from mklcore.problem.driver import Status, run
from mklcore.problem.losses import Hinge
from mklcore.sparse.gomp import GOMP, LossGOMP, Spectra
from tests.helpers.every import every
from tests.helpers.refusals import refused
from tests.oracles.greedy import DATA, KERNELS, TARGETS
from tests.oracles.reference import gomp_paths

LAM = 0.01


def pursued(case, **options):
    settings = {"n_kernels": len(case.K), "score_tol": 0.0, **options}
    return run(GOMP(case.K, case.Y, case.lam, **settings), tol=0.0, max_iter=100)


def hinge_path(Y=None, n_kernels=6, score_tol=0.0):
    Y = TARGETS["P5"][:, None] if Y is None else Y
    method = LossGOMP(KERNELS["P5"], Y, LAM, loss=Hinge(), n_kernels=n_kernels, score_tol=score_tol)
    return run(method, tol=0.0, max_iter=99)


# Trusted values


def test_the_hinge_path_is_the_trusted_one():
    fit = hinge_path(n_kernels=len(DATA["hinge|picks"]))
    assert fit.selected == tuple(DATA["hinge|picks"])
    total = np.zeros((40, 40))
    for k, point in enumerate(fit.points[1:]):
        total += KERNELS["P5"][point.selected[-1]]
        scored = np.isfinite(DATA["hinge|scores"][k])
        assert point.state.scores[scored] == pytest.approx(
            DATA["hinge|scores"][k][scored], abs=1e-8
        )
        assert point.objective == pytest.approx(DATA["hinge|objective"][k], rel=1e-8)
        assert total @ point.dual[:, 0] == pytest.approx(DATA["hinge|f"][k], abs=1e-3)


@every("case", gomp_paths())
def test_every_trusted_path(case):
    fit = pursued(case, n_kernels=len(case.picks))
    assert fit.selected == tuple(case.picks)
    for k, point in enumerate(fit.points[1:]):
        scored = np.isfinite(point.state.scores)
        near = 1e-8 * case.scores[k].max()
        assert point.state.scores[scored] == pytest.approx(
            case.scores[k][scored], rel=1e-8, abs=near
        )
        assert point.objective == pytest.approx(case.objective[k], rel=1e-8)
        residual = case.lam * len(case.Y) * np.linalg.norm(point.dual)
        assert residual == pytest.approx(case.residual[k], rel=1e-8)
        assert point.dual == pytest.approx(case.alpha[k], abs=1e-8 * np.abs(case.alpha[k]).max())


def test_first_scores_against_a_cone_solver():
    K = KERNELS["P1var"]
    y = TARGETS["P1var"]
    scores = Spectra.of(K).scores(y[:, None], LAM * len(y), np.arange(len(K)))
    assert scores == pytest.approx(DATA["cvx_first"], abs=1e-7)


def test_how_it_ends():
    case = gomp_paths()[0]
    for options, ends, size in (
        ({"n_kernels": 2}, {Status.COMPLETE}, 2),
        ({}, {Status.COMPLETE, Status.NO_GAIN}, None),
        ({"score_tol": 10.0}, {Status.NO_GAIN}, 0),
        ({"allowed": np.array([3, 5])}, {Status.EXHAUSTED}, 2),
    ):
        fit = pursued(case, **options)
        assert fit.status in ends
        assert len(fit.selected) == size or size is None
    gains = [point.state.scores[point.selected[-1]] for point in pursued(case).points[1:]]
    share = gains[2] * len(case.Y) / np.sum(case.Y**2)
    assert min(gains[:2]) > gains[2]
    assert [len(pursued(case, score_tol=edge * share).selected) for edge in (1.01, 0.99)] == [2, 3]
    picks = [
        pursued(case, n_kernels=3, n_candidates=2, seed=seed).selected for seed in (0, 0, 1, 2, 3)
    ]
    assert picks[0] == picks[1]
    assert len(set(picks)) > 1


# Hinge


def test_several_classes_share_their_kernels_under_hinge_loss():
    codes = np.where(TARGETS["P5"] > 0, 2, (np.arange(40) % 2))
    model = GOMPClassifier(LAM, 3, loss="hinge", kernels="precomputed").fit(KERNELS["P5"], codes)
    shapes = (
        model.weights_,
        model.dual_coef_,
        model.intercept_,
        model.decision_function(KERNELS["P5"]),
    )
    assert [array.shape for array in shapes] == [(6,), (40, 3), (3,), (40, 3)]
    Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    fit = hinge_path(Y, n_kernels=3, score_tol=1e-4)
    assert tuple(model.selected_) == fit.selected
    single = [hinge_path(Y[:, [t]], n_kernels=1).points[1].state.scores for t in range(3)]
    assert fit.points[1].state.scores == pytest.approx(sum(single), abs=1e-7)


# Several targets


def test_one_column_twice_changes_nothing_but_the_scale():
    K = KERNELS["P1"]
    y = TARGETS["P1"]
    one = GOMPRegressor(LAM, 3, kernels="precomputed").fit(K, y)
    two = GOMPRegressor(LAM, 3, kernels="precomputed").fit(K, np.column_stack([y, 2 * y]))
    assert list(two.selected_) == list(one.selected_)
    assert two.predict(K) == pytest.approx(np.column_stack([one.predict(K), 2 * one.predict(K)]))
    assert two.objective_ == pytest.approx(5 * one.objective_)
    assert two.intercept_ == pytest.approx([y.mean(), 2 * y.mean()])
    column = GOMPRegressor(LAM, 3, kernels="precomputed").fit(K, y[:, None])
    # as scikit-learn's own regressors do
    assert column.predict(K) == pytest.approx(one.predict(K)[:, None])
    assert column.dual_coef_.shape == (40, 1)


def test_what_cannot_be_pursued_is_refused():
    K, plain, x = KERNELS["P1"], GOMPRegressor(kernels="precomputed"), np.arange(-20.0, 20.0)
    refused(
        (
            lambda: plain.fit(K, np.where(np.arange(80).reshape(40, 2) == 7, np.nan, 1.0)),
            "NaN or infinite",
        ),
        (lambda: plain.fit(K, np.empty((40, 0))), "no columns"),
        (lambda: plain.fit(K, np.ones((39, 2))), "must be the same rows"),
        (
            lambda: GOMPRegressor(1e-300, kernels="precomputed").fit(np.outer(x, x)[None], x),
            r"lam=1e-300 is too small .* is singular. Take a larger lam",
        ),
    )


# Copies


def test_copies_are_left_out_with_a_note_and_multiples_are_none():
    K = KERNELS["P3"]
    y = TARGETS["P3"]
    model = GOMPRegressor(0.1, score_tol=0, kernels="precomputed").fit(K, y)
    assert list(model.selected_) == [0, 10]
    (note,) = model.notes_
    assert note.startswith("kernel 1, kernel 2")
    assert "the same as kernel 0, left out. keep_duplicates=True" in note
    kept = GOMPRegressor(0.1, 3, 0, keep_duplicates=True, kernels="precomputed").fit(K, y)
    # a copy halves the shrinkage, so its score stays positive
    assert list(kept.selected_) == [0, 10, 1]
    assert kept.notes_ == ()
    K = KERNELS["P1"][[0, 1, 0, 0]] * np.array([1.0, 1.0, 4.0, 1.0])[:, None, None]
    assert duplicates(K, same_scale=True) == ((0, 3),)
    assert set(
        GOMPRegressor(0.1, score_tol=0, kernels="precomputed").fit(K, TARGETS["P1"]).selected_
    ) == {0, 1, 2}


# Subsamples, paths, refusals


@every("lam", [1e-8, 1e-12, 1e-16, 1e-100, 1e-300])
@every("cls, more", [(GOMPRegressor, {}), (GOMPClassifier, {"loss": "hinge"})])
@every(
    "kernels",
    [
        KernelDictionary.per_feature(Linear(), 3),
        KernelDictionary.rbf_widths([1.0, 5.0, 20.0]),
    ],
)
def test_a_vanishing_lam_is_answered_honestly_or_refused(lam, cls, more, kernels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    K = kernels.grams(X).values
    target = np.sign(y) if more else y
    model = cls(lam, kernels="precomputed", fit_intercept=False, **more)
    try:
        model.fit(K, target)
    except ParameterError as error:
        assert lam <= (1e-8 if more else 1e-12)
        assert "is too small for these kernels: in double precision" in str(error)  # noqa: PT017
        return
    f = np.tensordot(model.weights_, K, 1) @ model.dual_coef_
    errors = np.maximum(0, 1 - target * f) if more else (target - f) ** 2
    assert model.objective_ == pytest.approx(
        float(errors.mean()) + lam * float(model.dual_coef_ @ f), rel=1e-6
    )
    assert model.objective_ <= min(record.objective for record in model.history_) * (1 + 1e-6)


def test_the_hinge_takes_a_tolerance(rng):
    """A loose machine is cheaper and within it; the path of the choice is the same where scores are
    far apart.
    """
    X = rng.standard_normal((80, 3))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(80) > 0, 1, 0)
    kernels = KernelDictionary.per_feature(Linear(), 3)
    sharp, loose = (
        GOMPClassifier(0.01, loss="hinge", kernels=kernels, tol=tol).fit(X, y)
        for tol in (1e-10, 1e-2)
    )
    assert sharp.objective_ <= loose.objective_ * (1 + 1e-9)
    assert loose.objective_ <= sharp.objective_ * (1 + 1e-2)
    assert sharp.selected_[0] == loose.selected_[0] == 0
