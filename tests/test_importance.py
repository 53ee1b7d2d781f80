"""What a score loses without a column: the same as shuffling it and predicting anew, for every kind of model."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.errors import ParameterError
from mklcore.estimators.importance import _shuffler, column_importance, kernel_units
from mklcore.kernels.dictionary import units
from tests.every import every
from tests.test_dictionary import made

BINARY, NUMBER = made(90, 2), made(90, 2, "regression")
THREE = Dataset(
    BINARY.X, np.digitize(BINARY.X[:, 0] + np.abs(BINARY.X[:, 1]), [0, 1.5]), columns=BINARY.columns, task="multiclass"
)
KERNELS = mkl.KernelDictionary.recommended(BINARY)
MODELS = {
    "lp": (mkl.LpMKLClassifier(kernels=KERNELS, C=1.0), BINARY),
    "one-vs-rest": (mkl.LpMKLClassifier(kernels=KERNELS, C=1.0), THREE),
    "pairs": (mkl.SMKLClassifier(kernels=KERNELS, C=1.0), THREE),
    "gomp": (mkl.GOMPRegressor(kernels=KERNELS, lam=1e-2), NUMBER),
    "greedy": (mkl.GreedyMKLRegressor(kernels=KERNELS, lam=0.1), NUMBER),
    "hull": (mkl.HKLRegressor(lam=0.05), NUMBER),
}


@every("name", MODELS)
@every("center", [False, True])
def test_decisions_are_those_of_the_shuffled_table(name: str, center: bool):
    model, data = MODELS[name]
    if center and name != "lp":
        return
    train, held_out = data.take(range(60)), data.take(range(60, 90))
    model = model.set_params(center=True) if center else model
    model.fit(train.X, train.y)
    shuffled, order = _shuffler(model, held_out.X), np.random.default_rng(3).permutation(30)
    for unit in units(data):
        X = held_out.X.copy()
        X[:, list(unit.columns)] = X[np.ix_(order, np.array(unit.columns))]
        np.testing.assert_allclose(shuffled.decisions(unit, order), model._decisions(X), atol=1e-9)


def test_a_ready_stack_answers_kernel_by_kernel():
    columns = [mkl.KernelDictionary((mkl.RBF(1.0, features=(j,)),)).grams(BINARY.X).values[0] for j in (0, 1, 6)]
    K, new, old = np.array(columns), np.arange(60, 90), np.arange(60)
    model = mkl.LpMKLClassifier(kernels="precomputed", p=2).fit(K[:, :60, :60], BINARY.y[:60])
    found = column_importance(model, K[:, new][:, :, old], BINARY.y[new], kernel_units(("straight", "bent", "noise")))
    assert {one.name for one in found[:2]} == {"straight", "bent"}
    assert sum(one.share for one in found) == pytest.approx(1)
    assert found[-1].importance < 0.1


def test_columns_without_influence_lose_nothing_and_shares_are_of_kernels_that_see_one_column():
    model = mkl.HKLRegressor(lam=0.05).fit(NUMBER.X, NUMBER.y)
    found = {one.name: one for one in column_importance(model, NUMBER.X, NUMBER.y, units(NUMBER))}
    seen = {name for node in model.hull_ for name, members in NUMBER.columns if any(node[j] for j in members)}
    for name, one in found.items():
        assert (one.importance == 0) == (name not in seen)
    alone = {
        name: sum(
            w
            for w, node in zip(model.weights_, model.hull_, strict=True)
            if any(node) and {j for j, level in enumerate(node) if level} <= set(members)
        )
        for name, members in NUMBER.columns
    }
    assert sum(alone.values()) > 0
    heard = sum(w for w, node in zip(model.weights_, model.hull_, strict=True) if any(node))  # not the constant's
    assert {name: one.share or 0.0 for name, one in found.items()} == pytest.approx(
        {name: size / heard for name, size in alone.items()}
    )


def test_what_has_no_score_to_lose_is_refused_and_it_can_be_cancelled():
    ring = mkl.load_sample("ring")
    model = mkl.LpMKLOneClass().fit(ring.X[:50])
    with pytest.raises(ParameterError, match="LpMKLOneClass learns no target"):
        column_importance(model, ring.X, ring.y, units(ring))

    def stop(done: int, total: int) -> None:
        raise InterruptedError

    fitted = mkl.GOMPRegressor(kernels=KERNELS).fit(NUMBER.X, NUMBER.y)
    with pytest.raises(InterruptedError):
        column_importance(fitted, NUMBER.X, NUMBER.y, units(NUMBER), callback=stop)
