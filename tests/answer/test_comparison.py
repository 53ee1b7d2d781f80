"""Several answers for one table: the sentence says what the figures say, and the figures are the
library's.
"""

import pytest
from sklearn.metrics import accuracy_score

from mklcore import explore, load_sample
from mklcore.answer.comparison import ComparedAnswer, Comparison, compare_answers
from mklcore.answer.verdict import ComparedReference
from mklcore.paths.scoring import PairedScore
from tests.helpers.every import every
from tests.helpers.refusals import data_error


@every(
    "answers, shown, said",
    [
        ([(0, 4), (0.2, 2)], {}, "a is best; b is behind by 20.0 points (137 held-out rows)."),
        (
            [(0, 4), (0.2, 2)],
            {"score_name": "R²"},
            "a is best; b is behind by 0.2 (137 held-out rows).",
        ),
        (
            [(0, 4), (0.2, 2)],
            {"rows": 34},
            "a is best; b is behind by 20.0 points (34 held-out rows).",
        ),
        (
            [(0, 4), (0.2, 4), (0.3, 4), (-0.1, 4)],
            {},
            "a is best by folds; b and c are behind by 20.0 points and 30.0 points; d is ahead by "
            "10.0 points (137 held-out rows).",
        ),
        (
            [(0, 4), (0.01, 2)],
            {},
            "a and b are level; b needs 2 of 8 kernels for the same score (137 held-out rows).",
        ),
        (
            [(0, 2), (0.01, 4)],
            {},
            "a and b are level; a needs 2 of 8 kernels for the same score (137 held-out rows).",
        ),
        (
            [(0, 4), (0.01, 2), (0, 4)],
            {},
            "a and c are level; b needs 2 of 8 kernels for the same score (137 held-out rows).",
        ),
        # level, but more than a standard error behind
        ([(0, 4), (0.03, 1)], {}, "a and b are level (137 held-out rows)."),
        (
            [(0, 4), (0.03, 1)],
            {"rows": 34, "held_out": False},
            "Too few rows to tell them apart (folds of 34 rows, which is optimistic).",
        ),
        (
            [(0, 4), (0.2, 2)],
            {"references": (ComparedReference("RBF", 0.95, -0.05, 0.001),)},
            "a is best; b is behind by 20.0 points; a is worse than one RBF kernel of all"
            " columns (137 held-out rows).",
        ),
        (
            [(0, 4), (0.2, 2)],
            {"references": (ComparedReference("RBF", 0.95, -0.05, 0.2),)},
            "a is best; b is behind by 20.0 points (137 held-out rows).",
        ),
        (
            [(0, 4, "none"), (0, 4, "none")],
            {},
            "None of them shows a sign of a relation to the target (137 held-out rows).",
        ),
        (
            [(0, 4, "related"), (0, 4, "none"), (0, 4, "none")],
            {},
            "a, b and c are level; b and c show no sign of a relation to the target; none"
            " is better than guessing (137 held-out rows).",
        ),
        (
            [(0, 4, "better"), (0, 4, "none")],
            {},
            "a and b are level; b shows no sign of a relation to the target (137 held-out rows).",
        ),
    ],
)
def test_the_sentence_says_what_the_figures_say(answers, shown, said):
    compared = [
        ComparedAnswer(
            name, 0.9, PairedScore(0.9 - gap, 0.02, gap, 0.02), kernels, 8, *relation or [None]
        )
        for name, (gap, kernels, *relation) in zip("abcd", answers, strict=False)
    ]
    usual = {"score_name": "accuracy", "rows": 137, "held_out": True}
    assert str(Comparison(tuple(compared), **usual | shown)) == said


def test_answers_are_judged_on_the_same_rows_and_ordered_by_folds():
    data = load_sample("breast_cancer").drawn(120, 0)
    answers = {name: explore(data, method=name) for name in ("lp", "gomp", "uniform")}
    found = compare_answers(answers)
    assert [one.score for one in found.answers] == sorted(
        (one.score for one in answers.values()), reverse=True
    )
    for one in found.answers:
        own = answers[one.name]
        judged = one.judged
        expected = accuracy_score(own.test.y, own.model.predict(own.test.X))
        assert judged.score == pytest.approx(expected)
        assert judged.gap == pytest.approx(found.answers[0].judged.score - judged.score)
        assert one.kernels == own.path.n_nonzero[own.index]
    assert (found.rows, found.held_out) == (30, True)
    assert found.references == answers[found.answers[0].name].verdict.references


def test_what_cannot_be_compared_is_refused():
    iris = load_sample("iris")
    one = explore(iris, method="uniform")
    other = explore(iris, method="uniform", seed=1)
    ring = explore(load_sample("ring"))
    for request, said in (
        ({"a": one}, "at least two answers; got 1"),
        ({"a": one, "b": other}, "judged on other rows"),
        ({"a": ring, "b": ring}, "Without a target"),
    ):
        with data_error(said):
            compare_answers(request)
