"""The sentence of a verdict says its figures, and nothing that they do not say."""

import math

from mklcore.answer.verdict import ColumnEffect, ComparedReference, Verdict, rounded
from tests.helpers.every import every

RANKED = (
    "Predicting price: lotsize (moves it by 9,400 on average) and bathrooms (6,800) matter most"
)
MISSED = "Typical error (root mean square) 15,400; guessing the mean: 26,000"
BEFORE = f"{RANKED}; gasheat could be chance. {MISSED}"
RELATED = (
    "Predicting price: related, but not better than guessing: lotsize (moves {} "
    "by 9,400 on average) and bathrooms (6,800) matter most; gasheat could be "
    "chance. It {} better than chance (rank correlation 0.31), but its {} (137 "
    "held-out rows)."
)
UNKNOWN = "No column is ranked; more rows or other columns could help."


def column(name, effect, error=0.0):
    return ColumnEffect(name, effect, 0.1, effect, 0.1, error)


LOTSIZE = column("lotsize", 9432.0)


def some_verdict(**changes):
    usual = {
        "target": "price", "task": "regression", "score_name": "R²", "score": 0.6, "error": 0.1, "guess": 0.0,
        "relation": "better", "rows": 137, "held_out": True, "matters": (LOTSIZE, column("bathrooms", 6788.0)),
        "chance": ("gasheat",), "typical_error": 15421.0, "guess_error": 26017.0, "measure": "rank correlation",
        "association": 0.313,
    }  # fmt: skip
    return Verdict(**{**usual, **changes})


@every(
    "changes, said",
    [
        ({"relation": None}, "Most unusual rows: lotsize and bathrooms tell them from the others."),
        (
            {"relation": None, "matters": (LOTSIZE,)},
            "Most unusual rows: lotsize tells them from the others.",
        ),
        (
            {"relation": None, "matters": ()},
            "Most unusual rows: no column in particular tells them from the others.",
        ),
        (
            {"relation": "none"},
            f"Predicting price: no sign of a relation. {MISSED}, a difference that could "
            f"be chance (137 held-out rows). {UNKNOWN}",
        ),
        (
            {
                "relation": "none",
                "guess_error": 15420.0,
                "held_out": False,
                "rows": 12345,
                "outlier": ("row 12", 0.61),
            },
            "Predicting price: no sign of a relation. Typical error (root mean square) "
            "15,400; guessing the mean: 15,400 (folds of 12,345 rows, which is "
            "optimistic). One row (row 12) makes up 61\u00a0% of the squared error. "
            f"{UNKNOWN}",
        ),
        (
            {
                "relation": "none",
                "task": "binary",
                "typical_error": 0.4,
                "guess_error": 0.371,
                "balanced": (0.51, 0.5),
            },
            "Predicting price: no sign of a relation. Wrong for 40.0\u00a0% of the rows; "
            "always guessing the largest class: 37.1\u00a0%. A class is rare: counting "
            "all classes alike, 51\u00a0% are right; by guessing 50\u00a0% (137 held-out "
            f"rows). {UNKNOWN}",
        ),
        (
            {"relation": "related"},
            RELATED.format("it", "orders the rows", "R², 0.6, is not above that of guessing, 0"),
        ),
        (
            {"relation": "related", "guess_error": 15321, "outlier": ("row 12", 0.61)},
            RELATED.format(
                "it",
                "orders the rows",
                "typical error, 15,400, is not below that of guessing, 15,300",
            )
            + " One row (row 12) makes up 61\u00a0% of the squared error.",
        ),
        (
            {
                "relation": "related",
                "task": "multiclass",
                "typical_error": 0.4,
                "guess_error": 0.371,
            },
            RELATED.format(
                "the decision",
                "tells the classes apart",
                "share of wrong rows, 40.0\u00a0%, is not below that of guessing, 37.1\u00a0%",
            ),
        ),
        (
            {"beside": False, "outlier": ("row 12", 0.61), "chance": ()},
            f"{RANKED}. {MISSED} (137 held-out rows). One row (row 12) makes up 61\u00a0% "
            "of the squared error.",
        ),
        (
            {"beside": False, "matters": ()},
            f"Predicting price: every column could be chance. {MISSED} (137 held-out rows).",
        ),
        (
            {"beside": False, "chance": tuple("abcd")},
            f"{RANKED}; 4 other columns could be chance. {MISSED} (137 held-out rows).",
        ),
        (
            {
                "beside": False,
                "matters": (LOTSIZE,),
                "task": "binary",
                "typical_error": 0.4,
                "guess_error": 0.371,
            },
            "Predicting price: lotsize (moves the decision by 9,400 on average) matters "
            "most; gasheat could be chance. Wrong for 40.0\u00a0% of the rows; always "
            "guessing the largest class: 37.1\u00a0% (137 held-out rows).",
        ),
        (
            {
                "beside": False,
                "matters": (column("a", 0.1),),
                "typical_error": 0.3,
                "guess_error": 0.9,
                "log_of": "cost",
            },
            "Predicting cost by its logarithm: a (moves it by 11\u00a0% on average) "
            "matters most; gasheat could be chance. Typical error (root mean square) "
            "35\u00a0%; guessing the mean: 146\u00a0% (137 held-out rows).",
        ),
        (
            {"outlier": ("row 12", 0.61)},
            f"{BEFORE}. One row (row 12) makes up 61\u00a0% of the squared error. Not yet "
            "compared with a random forest (137 held-out rows).",
        ),
        ({"trees_read": False}, f"{BEFORE}. Trees cannot read its sequences (137 held-out rows)."),
    ],
)
def test_a_sentence_says_its_figures_and_no_more(changes, said):
    assert str(some_verdict(**changes)) == said


@every(
    "gaps, said",
    [
        ({"linear": 0.2}, "Not yet compared with a random forest"),
        ({"forest": -0.02, "boosting": 0.01}, "Not clearly different from a random forest"),
        # a difference that matters to nobody
        ({"forest": -1e-7}, "The same as a random forest"),
        ({"forest": 0.3, "boosting": 0.2, "linear": -0.02}, "Better than a random forest"),
        ({"forest": 0.2, "linear": -0.2}, "Worse than a linear model"),
        (
            {"linear": -0.2, "forest": -0.3},
            "Worse than a random forest: perhaps the target jumps, or many columns interact",
        ),
    ],
)
def test_a_sentence_says_where_the_model_stands_beside_the_best_that_beats_it(gaps, said):
    references = [ComparedReference(name, abs(gap), gap, 0.05, 0.01) for name, gap in gaps.items()]
    assert str(some_verdict(references=references)) == f"{BEFORE}. {said} (137 held-out rows)."


def test_a_sentence_says_why_it_cannot_place_the_model():
    level = ComparedReference("forest", 0.62, -0.02, 0.05)
    said = some_verdict(references=(level,), rows=34).sentence(
        lambda name: f"**{name}**", "a table"
    )
    assert said.startswith("Predicting **price** in a table: **lotsize** (moves it by 9,400")
    assert "; **gasheat** could be" in said
    assert "Too few rows to tell it and a random forest apart (34 held-out" in said
    assert "No rows are held out to compare it with other models (folds" in str(
        some_verdict(held_out=False, references=(level,))
    )


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
