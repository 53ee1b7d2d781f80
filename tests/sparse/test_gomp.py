"""MKL-GOMP against exact paths, brute force and reductions."""

import numpy as np
import pytest

from mklcore.problem.driver import Status, run
from mklcore.sparse.gomp import GOMP, Spectra
from tests.helpers.every import every
from tests.oracles.reference import gomp_paths

PATHS = gomp_paths()


def _run(case, **options):
    settings = {"n_kernels": len(case.K), "score_tol": 0.0, **options}
    return run(GOMP(case.K, case.Y, case.lam, **settings), tol=0.0, max_iter=100)


@every("case", PATHS)
def test_every_trusted_path(case):
    fit = _run(case, n_kernels=len(case.picks))
    assert fit.selected == tuple(case.picks)
    for k, point in enumerate(fit.points[1:]):
        scored = np.isfinite(point.state.scores)
        assert point.state.scores[scored] == pytest.approx(
            case.scores[k][scored], rel=1e-8, abs=1e-8 * case.scores[k].max()
        )
        assert point.objective == pytest.approx(case.objective[k], rel=1e-8)
        residual = case.lam * len(case.Y) * np.linalg.norm(point.dual)
        assert residual == pytest.approx(case.residual[k], rel=1e-8)
        assert point.dual == pytest.approx(case.alpha[k], abs=1e-8 * np.abs(case.alpha[k]).max())


@every("case", PATHS[:3])
def test_score_is_the_gain_of_one_kernel_on_the_residual(case):
    """I_j = ||R||^2 / n - min_g { ||R - g||^2 / n + lam ||g||^2 }, the minimum by direct linear algebra."""
    n = len(case.Y)
    for j, score in enumerate(Spectra.of(case.K).scores(case.Y, case.lam * n, np.arange(len(case.K)))):
        alpha = np.linalg.solve(case.K[j] + case.lam * n * np.eye(n), case.Y)
        best = np.sum((case.Y - case.K[j] @ alpha) ** 2) / n + case.lam * np.sum(alpha * (case.K[j] @ alpha))
        assert score == pytest.approx(np.sum(case.Y**2) / n - best, rel=1e-8)


def test_how_it_ends():
    case = PATHS[0]
    assert _run(case, n_kernels=2).status is Status.COMPLETE
    assert _run(case).status in (Status.COMPLETE, Status.NO_GAIN)
    gains = [point.state.scores[point.selected[-1]] for point in _run(case).points[1:]]
    share = gains[2] * len(case.Y) / np.sum(case.Y**2)
    assert min(gains[:2]) > gains[2]
    assert [len(_run(case, score_tol=edge * share).selected) for edge in (1.01, 0.99)] == [2, 3]
    assert _run(case, score_tol=10.0).selected == ()
    assert _run(case, score_tol=10.0).status is Status.NO_GAIN
    assert _run(case, allowed=np.array([3, 5])).status is Status.EXHAUSTED


def test_candidates_are_drawn_from_the_seed():
    case = PATHS[0]
    picks = [_run(case, n_kernels=3, n_candidates=2, seed=seed).selected for seed in (0, 0, 1, 2, 3)]
    assert picks[0] == picks[1]
    assert len(set(picks)) > 1
