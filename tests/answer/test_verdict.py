"""The sentence of a verdict says its figures, and nothing that they do not say."""

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from mklcore.answer.verdict import (
    CHANCE_NAMED,
    FEW_ROWS,
    TREES,
    ColumnEffect,
    ComparedReference,
    Verdict,
    rounded,
)
from tests.helpers.every import every

POSITIVE = st.floats(1e-6, 1e9)
NAMES = [f"column {letter}" for letter in "abcdefgh"]


def column(name, effect, error=0.0):
    return ColumnEffect(name, effect, 0.1, effect, 0.1, error)


def some_verdict(**changes):
    usual = {
        "target": "price", "task": "regression", "score_name": "R²", "score": 0.6, "error": 0.1, "guess": 0.0,
        "relation": "better", "rows": 137, "held_out": True,
        "matters": (column("lotsize", 9432.0), column("bathrooms", 6788.0)),
        "chance": ("gasheat",), "typical_error": 15421.0, "guess_error": 26017.0,
    }  # fmt: skip
    return Verdict(**{**usual, **changes})


@st.composite
def verdicts(draw):
    """Any verdict, of any task."""
    task = draw(st.sampled_from(["regression", "binary", "multiclass", "novelty"]))
    error = POSITIVE if task == "regression" else st.floats(0.0, 1.0)
    cut = draw(st.integers(0, len(NAMES)))
    references = [
        ComparedReference(
            name,
            draw(st.floats(-1, 1)),
            draw(st.floats(-1, 1)),
            draw(st.floats(0, 1) | st.just(math.nan)),
        )
        for name in draw(st.lists(st.sampled_from(["linear", "RBF", *TREES]), unique=True))
    ]
    return some_verdict(
        task=task, relation=None if task == "novelty" else draw(st.sampled_from(["better", "related", "none"])),
        rows=draw(st.integers(6, 10**6)), held_out=draw(st.booleans()), typical_error=draw(error),
        guess_error=draw(error), matters=tuple(column(name, draw(POSITIVE), draw(POSITIVE)) for name in NAMES[:cut]),
        chance=tuple(NAMES[cut:]), references=tuple(references), measure="rank correlation",
        association=draw(st.floats(0.1, 1.0)), outlier=draw(st.none() | st.just(("size 12", 0.61))),
    )  # fmt: skip


@settings(deadline=None)
@given(verdicts())
def test_a_sentence_says_its_figures_and_no_more(verdict):
    said = verdict.sentence(lambda name: f"**{name}**", "the table")
    named = [name for name in re.findall(r"\*\*(.*?)\*\*", said) if name != "price"]
    ranked = [one.name for one in verdict.leading]
    assert f"{verdict.rows:,}" in said or verdict.task == "novelty"
    assert "in the table: " in said
    if verdict.better_than_guess is None:
        assert said.startswith("Most unusual rows in the table: ")
        assert named == ranked
        return
    assert said.startswith("Predicting **price** in the table: ")
    assert verdict.better_than_guess == (verdict.relation == "better")
    assert ("no sign of a relation" in said) == (verdict.relation == "none")
    assert ("related, but not better than guessing" in said) == (verdict.relation == "related")
    assert ("One row (**size 12**) makes up 61\u00a0% of the squared error." in said) == (
        verdict.outlier is not None
    )
    named = [name for name in named if name != "size 12"]
    assert ("optimistic" in said) == (not verdict.held_out)
    guess = (
        rounded(verdict.guess_error)
        if verdict.task == "regression"
        else f"{100 * verdict.guess_error:.1f}\u00a0%"
    )
    # by another score
    is_behind = verdict.relation == "related" and verdict.typical_error < verdict.guess_error
    assert (f"its R², {rounded(verdict.score)}, is not above" if is_behind else guess) in said
    if verdict.relation == "none":
        assert named == []
        assert "could help" in said
        assert ("a difference that could be chance" in said) == (
            verdict.typical_error < verdict.guess_error
        )
        return
    few = verdict.chance if ranked and len(verdict.chance) <= CHANCE_NAMED else ()
    assert named == [*ranked, *few]
    assert all(rounded(one.effect, 2) in said for one in verdict.leading)
    assert ("could be chance" in said) == bool(verdict.chance)
    if verdict.relation == "related":
        assert (
            f"better than chance (rank correlation {rounded(verdict.association, 2)}), but its"
            in said
        )
        return
    known = verdict.references if verdict.held_out else ()
    trees = [one for one in known if one.place == "behind"] or [
        one for one in known if one.name in TREES
    ]
    places = {"ahead": "Better than", "behind": "Worse than", "same": "The same as"}
    places["level"] = "Not clearly different from"
    if verdict.rows < FEW_ROWS:
        places["level"] = "Too few rows to tell"
    best = max(trees, key=lambda one: one.score, default=None)
    found = [place for place, words in places.items() if words in said]
    assert found == ([] if best is None else [best.place])
    assert ("Not yet compared" in said or "held out to compare" in said) == (best is None)


def test_the_sentence_of_a_table_of_prices():
    level = ComparedReference("forest", 0.62, -0.02, 0.05)
    assert some_verdict(references=(level,)).sentence(
        lambda name: f"**{name}**", "AER.HousePrices"
    ) == (
        "Predicting **price** in AER.HousePrices: **lotsize** (moves it by 9,400 on "
        "average) and **bathrooms** (6,800) matter most; **gasheat** could be chance. "
        "Typical error (root mean square) 15,400; guessing the mean: 26,000. Not clearly "
        "different from a random forest (137 held-out rows)."
    )


def test_the_sentence_where_rows_are_ordered_and_errors_are_not_smaller():
    found = some_verdict(
        relation="related", typical_error=2.9, guess_error=2.85, measure="rank correlation", association=0.313,
        outlier=("income 4957.813", 0.61), chance=(),
    )  # fmt: skip
    assert str(found) == (
        "Predicting price: related, but not better than guessing: lotsize (moves it by "
        "9,400 on average) and bathrooms (6,800) matter most. It orders the rows better "
        "than chance (rank correlation 0.31), but its typical error, 2.9, is not below "
        "that of guessing, 2.85 (137 held-out rows). One row (income 4957.813) makes up "
        "61\u00a0% of the squared error."
    )


@every("gap, floor, place", [(-1.3e-7, 1e-3, "same"), (-0.01, 1e-3, "behind")])
def test_a_difference_that_matters_to_nobody_is_the_same(gap, floor, place):
    linear = ComparedReference("linear", 0.6, gap, 1e-9, floor)
    assert linear.place == place
    said = str(
        some_verdict(references=(linear, ComparedReference("forest", 0.6, gap, 1e-9, floor)))
    )
    assert ("The same as a random forest" if place == "same" else "Worse than") in said


def test_a_third_column_is_named_where_it_is_level_with_the_second():
    far, near = (
        tuple(column(*one, 0.1) for one in [("a", 9.0), ("b", 5.0), ("c", c), ("d", c)])
        for c in (4.7, 4.9)
    )
    assert "a (moves it by 9 on average) and b (5) matter most" in str(some_verdict(matters=far))
    assert "a (moves it by 9 on average), b (5) and c (4.9) matter most" in str(
        some_verdict(matters=near)
    )
    assert "a and b tell them" in str(some_verdict(matters=far, task="novelty", relation=None))


def test_numbers_have_so_many_digits():
    cases = [
        (15421.0, 3, "15,400"), (9432.0, 2, "9,400"), (0.01234, 3, "0.0123"), (3.0, 3, "3"), (0.0, 3, "0"),
        (math.nan, 3, "unknown"),
    ]  # fmt: skip
    assert [rounded(value, digits) for value, digits, _ in cases] == [text for _, _, text in cases]
