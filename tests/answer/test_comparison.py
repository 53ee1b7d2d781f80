"""Several answers for one table: the sentence says what the figures say, and the figures are the
library's.
"""

import re

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

import mklcore as mkl
from mklcore.answer.comparison import ComparedAnswer, Comparison, compare_answers
from mklcore.answer.verdict import ComparedReference
from mklcore.paths.scoring import PairedScore
from tests.helpers.every import every
from tests.helpers.refusals import data_error

NAMES = ("p = 1", "p = 1.33", "p = 2", "MKL-GOMP", "SMKL")


def made(seed):
    """A comparison as it may come out, with ties, large gaps and few rows among them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    of = int(rng.integers(1, 40))
    error = float(rng.choice([0.001, 0.02, np.nan]))
    gaps = [0.0, *rng.choice([0.0, 0.01, 0.0399, 0.0401, 0.2, -0.1], count - 1)]
    answers = [
        ComparedAnswer(
            name,
            0.9,
            PairedScore(0.9 - gap, error, float(gap), 0.0 if k == 0 else error),
            int(rng.integers(1, of + 1)),
            of,
            None,
        )
        for k, (name, gap) in enumerate(zip(rng.permutation(NAMES), gaps, strict=False))
    ]
    score = str(rng.choice(["accuracy", "R²"]))
    plain = ComparedReference("RBF", 0.95, -0.05, float(rng.choice([0.001, 0.2])))
    return Comparison(
        tuple(answers), score, int(rng.integers(20, 300)), bool(rng.integers(2)), (plain,)
    )


def test_the_sentence_says_what_the_figures_say():
    for seed in range(400):
        found = made(seed)
        said = str(found)
        first = found.answers[0]
        assert (
            f"{found.rows} held-out rows" in said
            if found.held_out
            else "which is optimistic" in said
        )
        ahead = found.references[0].place == "behind"
        assert (f"; {first.name} is worse than one RBF kernel of all columns (" in said) == ahead
        if said.startswith("Too few rows"):
            assert found.rows < 100
            assert {one.place for one in found.answers} <= {"same", "level"}
            continue
        for one in found.answers:
            assert one.name in said
        for place in ("behind", "ahead"):
            listed = re.search(rf"([^;]*) (?:is|are) {place} by", said)
            names = {one.name for one in found.answers[1:] if one.place == place}
            assert {name for name in names if listed and name in listed[1]} == names
            assert (listed is not None) == bool(names)
        if "is best" in said:
            assert said.startswith(first.name)
        if needs := re.search(r"; ([^;]*) needs (\d+) of (\d+) kernels for the same score", said):
            (sparse,) = [one for one in found.answers if one.name == needs[1]]
            assert (sparse.kernels, sparse.of) == (int(needs[2]), int(needs[3]))
            assert sparse is first or sparse.judged.gap <= sparse.judged.gap_error
            alike = [
                one
                for one in found.answers
                if one.place in ("same", "level") and one.judged.gap <= one.judged.gap_error
            ]
            assert sparse.kernels <= min(one.kernels for one in alike)


def test_answers_are_judged_on_the_same_rows_and_ordered_by_folds():
    data = mkl.load_sample("breast_cancer").drawn(120, 0)
    answers = {name: mkl.explore(data, method=name) for name in ("lp", "gomp", "uniform")}
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
    assert "too few" in str(found).lower() or "level" in str(found) or "best" in str(found)


def test_what_cannot_be_compared_is_refused():
    iris = mkl.load_sample("iris")
    one = mkl.explore(iris, method="uniform")
    other = mkl.explore(iris, method="uniform", seed=1)
    ring = mkl.explore(mkl.load_sample("ring"))
    for request, said in (
        ({"a": one}, "at least two answers; got 1"),
        ({"a": one, "b": other}, "judged on other rows"),
        ({"a": ring, "b": ring}, "Without a target"),
    ):
        with data_error(said):
            compare_answers(request)


@every(
    "relations, said",
    [
        (("none", "none"), "None of them shows a sign of a relation to the target ("),
        (
            ("related", "none"),
            "b shows no sign of a relation to the target; none is better than guessing (",
        ),
        (("better", "none"), "b shows no sign of a relation to the target ("),
    ],
)
def test_answers_are_compared_by_the_verdict_that_each_has_alone(relations, said):
    named = zip("ab", relations, strict=True)
    answers = [
        ComparedAnswer(name, -0.1, PairedScore(-0.1, 0.1, 0.0, 0.1), 2, 4, one)
        for name, one in named
    ]
    found = str(Comparison(tuple(answers), "R²", 40, True))
    assert said in found
    assert ("Too few rows" in found) == (relations != ("none", "none"))
    assert ("none is better" in found) == (relations == ("related", "none"))
