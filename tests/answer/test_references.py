"""Plain models beside an answer: chosen on validation rows, and refused without a target."""

import pytest
from sklearn.metrics import balanced_accuracy_score

from mklcore import load_sample
from mklcore.answer.references import plain_references
from tests.helpers.refusals import parameter_error


@pytest.mark.settling
def test_plain_models_are_chosen_on_validation_rows():
    train, validation = load_sample("iris").split(0.4, seed=0)
    names = ("majority", "forest", "boosting")
    found = plain_references(train, validation, "balanced_accuracy", names)
    assert tuple(found) == names
    assert found["majority"].score == pytest.approx(1 / 3)
    for one in found.values():
        assert one.score == pytest.approx(
            balanced_accuracy_score(validation.y, one.model.predict(validation.X))
        )


def test_without_a_target_there_are_none():
    table = load_sample("ring")
    with parameter_error("nothing to compare with"):
        plain_references(table, table)


def test_a_model_that_is_not_plain_is_refused_by_name():
    train, validation = load_sample("iris").split(0.4, seed=0)
    with parameter_error("no plain model 'oak'; use majority, forest, boosting"):
        plain_references(train, validation, names=("oak",))
