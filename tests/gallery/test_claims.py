"""Verdicts on what the papers state: how a check decides, and that no claim of an experiment is
without one.
"""

from dataclasses import replace

import numpy as np
import pytest

from mklcore import EXPERIMENTS
from mklcore.gallery.experiments import Outcome
from mklcore.gallery.experiments import __main__ as command
from mklcore.gallery.experiments.base import Experiment
from mklcore.gallery.experiments.claims import (
    ABSENT,
    AGREES,
    ANSWERS,
    DISAGREES,
    EQUAL,
    RELATIONS,
    UNSAID,
    Check,
    Claim,
    counted,
)
from mklcore.gallery.experiments.records import records
from tests.helpers.every import every

NOISE = np.random.default_rng(0).standard_normal((2, 9, 1))
COLUMNS = ("low", "high", "higher", "wild")
# "low" and "high" share the noise of their repetition, so that their difference is sharp and each
# alone is not
SAMPLES = (
    np.concatenate([NOISE + 5.0, NOISE + 6.0, NOISE[:, ::-1] + 12.0, 9.0 * NOISE], axis=2)
    + np.array([0.0, 3.0])[:, None, None]
)
MADE = Experiment(
    "made", "T", "P", "D", (), "O", "row", ("first", "second"), COLUMNS, "u", 9, lambda _: [0.0] * 4, "S",
    {"first": (5.0, 60.0), "second": (8.0, np.nan, np.nan, 0.0)},
    quantities={"own": lambda found, row: found.of(row, "low")},
)  # fmt: skip
RUN = Outcome("made", MADE.rows, COLUMNS, SAMPLES)


def check(relation, *of, than=(), rows=(), **more):
    return Check(relation, of or ("*",), than, rows, **more)


def judged(*checks, experiment=MADE, run=RUN, **more):
    return replace(experiment, claims=(Claim("It is so.", "section 1", checks, **more),)).judge(
        run
    )[0]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.key)
def test_no_claim_is_without_a_check(experiment):
    assert experiment.claims
    for claim in experiment.claims:
        assert claim.text.endswith(".")
        assert claim.place
        assert claim.checks
        for one in claim.checks:  # of a misspelt name nothing would be compared
            empty = experiment.alone()
            assert one.relation in RELATIONS
            assert all(empty.named((name,)) for name in (*one.of, *one.than))
            assert all(empty.chosen((row,)) for row in one.rows)


@every("key", EXPERIMENTS)
def test_what_disagrees_in_the_runs_of_the_project_has_a_reason(key):
    for run in records(key):
        for one in EXPERIMENTS[key].judge(run):
            assert one.answer != DISAGREES or one.claim.why, one.claim.sentence
            assert one.figures.endswith(".")


@every(
    "yes, no",
    [
        (check("order", "low", "high", "higher"), check("order", "high", "low")),
        (check("below", "low", than=("high*",)), check("below", "low", than=("high",), by=2.0)),
        (check("lowest", "low", than=COLUMNS[:3]), check("lowest", "high", than=COLUMNS[:3])),
        (check("highest", "low", "higher", than=COLUMNS[:3]), check("highest", "low", than=COLUMNS[:3])),
        (check("alike", "low", than=("high",), by=1.5), check("alike", "low", than=("high",), by=0.5)),
        (check("alike", "low", than=("high",), share=0.5), check("alike", "low", than=("high",), share=0.05)),
        (check("between", "low", low=3.0, high=12.0), check("between", "low", rows=("first",), low=9.0)),
        (check("between", "own", low=3.0, high=12.0), check("between", "own", high=3.0)),
        (check("rises", "low"), check("falls", "low")),
        (check("falls", "low", rows=("second", "first")), check("rises", "low", rows=("second", "first"))),
        (check("same", "low", by=5.0), check("same", "low", by=0.5)),
        (check("trend up", "low"), check("trend down", "low")),
        (check("every", "low", than=("high",)), check("every", "high", than=("low",))),
        (check("published", "low", share=1.0), check("published")),
    ],
)  # fmt: skip
def test_checks_agree_and_disagree(yes, no):
    assert (judged(yes).answer, judged(no).answer) == (AGREES, DISAGREES)


def test_what_chance_may_turn_round_cannot_be_said():
    found = judged(check("between", "wild", rows=("first",), low=0.0))
    assert found.answer == UNSAID
    assert found.figures.startswith("wild at first: ")
    assert "claimed above 0" in found.figures
    # chance reaches farther than a hundredth
    assert judged(check("published", "low", share=0.01)).answer == UNSAID
    once = replace(RUN, samples=SAMPLES[:, :1])
    exact = replace(MADE, repetitions=1)
    low = check("order", "low", "high")
    assert judged(low, run=once).answer == UNSAID  # no standard error
    assert judged(low, experiment=exact, run=once).answer == AGREES  # nothing is random
    missing = judged(check("between", "low", rows=("third",)))
    assert (missing.answer, missing.figures) == (ABSENT, "This run has no number for it.")
    assert counted([found, missing]) == (
        "0 of 2 agree; 1 difference is too small to call; 1 has no number in this run"
    )


@every(
    "printed, equal, samples, answer",
    [
        ((5.0, 5.0), 0.5, (0.1, -0.1), EQUAL),  # nil, to within what was written down
        ((5.0, 6.0), 0.0, (0.1, -0.1), EQUAL),  # nil, to within half of the printed difference
        ((5.0, 5.0), 0.0, (0.1, -0.1), UNSAID),  # no margin: more runs would decide
        ((5.0, 6.0), 0.0, (9.0, -9.0), UNSAID),  # chance reaches beyond the margin
        ((5.0, 6.0), 0.0, (0.21, 0.19), AGREES),  # clear, however small
        ((5.0, 6.0), 0.0, (-0.21, -0.19), DISAGREES),  # clear, and the other way round
    ],
)
@every("relation", ["below", "order", "lowest", "rises"])
def test_a_difference_that_is_nil_is_equal(relation, printed, equal, samples, answer):
    """Two columns, or for "rises" two rows, whose difference is ``samples`` in turn."""
    apart = np.tile(samples, 8)
    cells = np.stack([np.zeros(16), apart])
    numbers = {"first": printed}
    if relation == "rises":
        numbers = {"first": printed[:1], "second": printed[1:]}
    rows = tuple(numbers)
    shown = cells[:, :, None] if relation == "rises" else cells.T[None]
    columns = ("low", "high")[: shown.shape[2]]
    experiment = replace(MADE, rows=rows, columns=columns, numbers=numbers, quantities={})
    of = ("low", "high") if relation == "order" else ("low",)
    one = check(relation, *of, than=columns, equal=equal)
    if relation == "below":
        one = replace(one, than=("high",))
    found = judged(one, experiment=experiment, run=Outcome("made", rows, columns, shown))
    assert found.answer == answer
    assert ("nil to within 0.5." in found.figures) == (answer == EQUAL)


def test_rows_of_one_repetition_decide_nothing_where_others_are_repeated():
    samples = SAMPLES.copy()
    samples[1, 1:] = np.nan
    found = judged(check("below", "low", than=("high",)), run=replace(RUN, samples=samples))
    assert found.answer == AGREES
    assert "Not counted: 1 of one repetition, which has no interval." in found.figures


def test_an_undecided_claim_tells_how_many_repetitions_would_decide_it():
    """A difference of 0.1 with a spread of 1: 1.96² · 1 / 0.1² of them, more near a margin."""
    base = np.tile((-1.0, 1.0), 8) * np.sqrt(15 / 16)
    cells = np.stack([np.zeros(16), base + 0.1], axis=1)[None]
    experiment = replace(MADE, rows=("first",), columns=("low", "high"), numbers={}, quantities={})
    run = Outcome("made", ("first",), ("low", "high"), cells)
    for equal, count in ((0.0, 385), (0.3, 97)):
        one = replace(check("below", "low", than=("high",)), equal=equal)
        found = judged(one, experiment=experiment, run=run)
        assert found.answer == UNSAID
        assert f"about {count} repetitions would decide." in found.figures
    assert "repetitions would decide" not in judged(check("published", "wild"), run=RUN).figures


def test_a_claim_is_equal_where_its_other_comparisons_agree():
    nil = check("below", "low", than=("wild",), rows=("first",), equal=50.0)
    low = check("order", "low", "high")
    assert judged(nil, low).answer == EQUAL
    assert judged(nil, check("order", "high", "low")).answer == DISAGREES
    assert judged(nil, low, mostly=True).answer == AGREES


def test_verdicts_are_counted_and_that_of_one_claim_is_named():
    equal = judged(check("below", "low", than=("wild",), rows=("first",), equal=50.0))
    agrees = judged(check("order", "low", "high"))
    assert counted([equal]) == "the one claim is equal"
    assert counted([agrees]) == "the one claim agrees"
    assert counted([agrees, equal]) == "1 of 2 agree; 1 is equal"
    for answer in ANSWERS:
        assert "1" not in counted([agrees._replace(answer=answer)])


def test_a_stand_in_is_judged_where_the_paper_has_no_number_and_counted_apart():
    claims = (
        Claim("A.", "Figure 1", (check("order", "low", "high"),)),
        Claim("B.", "Figure 2", (check("order", "low", "high", rows=("second",)),)),
    )
    experiment = replace(MADE, claims=claims, stand_ins=("second",))
    found = experiment.judge(RUN)
    assert [(one.claim.text, one.stand_in) for one in found] == [("A.", False), ("B.", True)]
    assert "low at first" in found[0].figures
    assert "1 of 1 rows" in experiment.coverage(RUN)
    assert experiment.covered(replace(RUN, quick=True)) == (0, 1)
    assert "no row is about data" in replace(experiment, stand_ins=("*",)).coverage(RUN)
    assert "1 of them with fewer repetitions" in replace(experiment, repetitions=10).coverage(RUN)
    best = replace(experiment, method="low", rivals=("high", "higher"))
    assert best.coverage(RUN).endswith("paper's data; low is best or level on 1.")
    assert replace(best, method="high", rivals=("low",)).best_or_level(RUN) == 0
    assert best.best_or_level(replace(RUN, samples=SAMPLES[:, :1])) == 0  # one cannot be level


def test_rows_that_were_repeated_less_often_are_judged_by_what_they_have():
    samples = np.where(np.arange(9)[:, None] < 6, SAMPLES, np.nan)
    short = replace(RUN, samples=np.stack([SAMPLES[0], samples[1]]))
    assert short.size == "6 to 9 repetitions"
    for one in (check("order", "low", "high"), check("rises", "low"), check("trend up", "low")):
        assert judged(one, run=short).answer == AGREES


def test_a_tie_contradicts_only_where_nothing_is_random():
    tie = replace(RUN, samples=np.ones((2, 2, 4)))
    low = check("order", "low", "high")
    assert judged(low, run=tie).answer == UNSAID
    assert judged(low, experiment=replace(MADE, repetitions=1), run=tie).answer == DISAGREES


def test_mostly_is_more_than_half_and_all_is_all():
    two_of_three = check("order", "low", "high"), check("order", "high", "low", rows=("first",))
    assert (judged(*two_of_three, mostly=True).answer, judged(*two_of_three).answer) == (
        AGREES,
        DISAGREES,
    )
    assert judged(*two_of_three).figures.startswith(
        "2 of 3 comparisons agree, 1 disagrees; disagreeing: low − high at first: −1"
    )


def test_disagreement_is_judged_at_the_level_of_all_comparisons_together():
    """Thirty comparisons of nothing but noise, claimed to be above 0: one at its own 95 % level is
    below.
    """
    noise = np.random.default_rng(1).standard_normal((30, 9, 1))
    rows = tuple(map(str, range(30)))
    experiment = replace(MADE, rows=rows, columns=("noise",), numbers={}, quantities={})
    run = Outcome("made", rows, ("noise",), noise)
    ones = [check("between", "noise", rows=(row,), low=0.0) for row in rows]
    assert DISAGREES in [judged(one, experiment=experiment, run=run).answer for one in ones]
    assert judged(*ones, experiment=experiment, run=run).answer == UNSAID


def test_disagreements_stand_first_with_their_reason():
    claims = (
        Claim("A.", "Figure 1", (check("order", "low", "high"),)),
        Claim("B.", "Figure 2", (check("order", "high", "low"),), why="Because."),
    )
    found = replace(MADE, claims=claims).judge(RUN)
    assert [one.claim.sentence for one in found] == ["B. (Figure 2)", "A. (Figure 1)"]
    assert found[0].answer == DISAGREES
    assert found[0].figures.endswith(" Why: Because.")
    assert "Why" not in found[1].figures
    assert counted(found) == "1 of 2 agree; 1 disagrees"


def test_the_command_tells_the_verdicts(monkeypatch):
    experiment = replace(MADE, claims=(Claim("A.", "Figure 1", (check("order", "low", "high"),)),))
    reported = "\n".join(command._reported(experiment, RUN))
    assert "What the paper states, on its data: the one claim agrees." in reported
    assert (
        "- A. (Figure 1)\n  Agrees. 2 of 2 comparisons agree; the closest: high − low at"
        in reported
    )
    monkeypatch.setattr(command, "EXPERIMENTS", {"made": experiment})
    monkeypatch.setattr(command, "records", lambda key: (RUN,))
    assert command.overview()[1][4] == "the one claim agrees"
