"""Scores on all rows left out: a few rows at a time, and the same as all at once."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import KernelError
from mklcore.paths import held_out as left_out
from mklcore.paths.path import rescored


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_a_path_is_scored_on_all_rows_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch, scoring: str | None) -> None:
    train, rest = mkl.load_sample("iris").split(0.6, seed=0)
    kernels = mkl.KernelDictionary.recommended(train)
    stack, some = kernels.grams(train.X), rest.drawn(20, 0)
    path = mkl.fit_path(
        mkl.GOMPClassifier(kernels=kernels, n_kernels=2), stack, train.y, "lam", [1e-3, 1e-1], some.X, some.y
    )
    monkeypatch.setattr(left_out, "BLOCK_MB", 8e-6 * stack.n_kernels * stack.n_samples * 13)
    reported: list[tuple[int, int]] = []
    found = left_out.scored_on(path, stack, rest.X, rest.y, scoring, lambda *k: reported.append(k))
    whole = rescored(path, stack, train.y, rest.X, rest.y, scoring)
    np.testing.assert_allclose(found.val_score, whole.val_score, rtol=1e-12)
    assert not np.allclose(found.val_score, path.val_score)
    assert reported == [(k, 7) for k in range(1, 8)]
    with pytest.raises(KernelError, match="made from an array"):
        left_out.scored_on(path, mkl.GramStack.from_array(stack.values), rest.X, rest.y)
