"""Plain models beside a score: each is scikit-learn's own fit, chosen by the validation score alone."""

import pytest
from sklearn.metrics import balanced_accuracy_score

import mklcore as mkl
from mklcore.errors import ParameterError
from mklcore.paths.references import plain_references

pytestmark = pytest.mark.settling


def test_plain_models_are_chosen_on_validation_rows():
    train, judge = mkl.load_sample("iris").split(0.4, seed=0)
    seen = []
    found = {
        one.name: one
        for one in plain_references(train, judge, "balanced_accuracy", lambda *reported: seen.append(reported))
    }
    assert list(found) == ["majority", "forest", "boosting"]
    assert found["majority"].score == pytest.approx(1 / 3)
    for one in found.values():
        assert one.score == pytest.approx(balanced_accuracy_score(judge.y, one.model.predict(judge.X)))
    assert seen == [(k, 3) for k in range(1, 4)]


def test_without_a_target_there_are_none():
    table = mkl.load_sample("ring")
    with pytest.raises(ParameterError, match="nothing to compare with"):
        plain_references(table, table)
