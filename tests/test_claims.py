"""Verdicts on what the papers state: how a check decides, and that no claim of an experiment is without one."""

from dataclasses import replace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.experiments import Outcome
from mklcore.experiments import __main__ as command
from mklcore.experiments.base import Experiment
from mklcore.experiments.claims import (
    AGREES,
    DISAGREES,
    UNSAID,
    Claim,
    above,
    alike,
    all_of,
    at_least,
    at_most,
    below,
    close,
    counted,
    every,
    falls,
    highest,
    lowest,
    measured,
    order,
    published,
    rises,
    same,
    trend,
)  # fmt: skip
from mklcore.experiments.records import records, summary

NOISE = np.random.default_rng(0).standard_normal((2, 9, 1))
COLUMNS = ("low", "high", "higher", "wild")
# "low" and "high" share the noise of their repetition, so that their difference is sharp and each alone is not
SAMPLES = (
    np.concatenate([NOISE + 5.0, NOISE + 6.0, NOISE[:, ::-1] + 12.0, 9.0 * NOISE], axis=2)
    + np.array([0.0, 3.0])[:, None, None]
)
MADE = Experiment(
    "made", "T", "P", "D", (), "O", "row", ("first", "second"), COLUMNS, "u",
    ((5.0, 60.0, np.nan, np.nan), (8.0, np.nan, np.nan, 0.0)), 9, lambda *_: [0.0] * 4,
)  # fmt: skip
RUN = Outcome("made", MADE.rows, COLUMNS, SAMPLES)


def _low(record, row):
    return record.of(row, "low")


def judged(check, experiment=MADE, run=RUN, **more):
    return replace(experiment, claims=(Claim("It is so.", "section 1", check, **more),)).judge(run)[0].verdict


@pytest.mark.parametrize("experiment", mkl.EXPERIMENTS.values(), ids=lambda e: e.key)
def test_no_claim_is_without_a_check(experiment):
    assert experiment.claims
    for claim in experiment.claims:
        assert isinstance(claim, Claim)
        assert claim.text.endswith(".")
        assert claim.place


@pytest.mark.parametrize("key", mkl.EXPERIMENTS)
def test_what_disagrees_in_the_runs_of_the_project_has_a_reason(key):
    for run in records(key):
        for one in mkl.EXPERIMENTS[key].judge(run):
            assert one.verdict.answer != DISAGREES or one.claim.why, one.sentence
            assert one.verdict.figures.endswith(".")


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        (order("low", "high", "higher"), order("high", "low")),
        (below("low", ("high", "higher")), below("low", "high", by=2.0)),
        (above("higher", "low"), above("low", "higher")),
        (lowest("low", COLUMNS[:3]), lowest("high", COLUMNS[:3])),
        (highest(("low", "higher"), COLUMNS[:3]), highest("low", COLUMNS[:3])),
        (alike("low", "high", 1.5), alike("low", "high", 0.5)),
        (close("low", 5.0, 2.0, "first"), close("low", 9.0, 2.0, "first")),
        (at_most("higher", 14.0, "first"), at_most("higher", 9.0)),
        (at_least("low", 3.0), at_least("low", 20.0)),
        (rises("low"), falls("low")),
        (falls("low", "second", "first"), rises("low", "second", "first")),
        (same("low", "first", "second", 5.0), same("low", "first", "second", 0.5)),
        (trend("low"), trend("low", rising=False)),
        (every("low", "high"), every("high", "low")),
        (measured("x", _low, 3.0, 12.0), measured("x", _low, 50.0, 60.0)),
        (published("low", share=1.0), published()),
    ],
)  # fmt: skip
def test_checks_agree_and_disagree(yes, no):
    assert (judged(yes).answer, judged(no).answer) == (AGREES, DISAGREES)


def test_what_chance_may_turn_round_cannot_be_said():
    found = judged(at_least("wild", 0.0, "first"))
    assert found.answer == UNSAID
    assert found.figures.startswith("wild at first: ")
    assert "claimed above 0" in found.figures
    assert judged(published("low", share=0.01)).answer == UNSAID  # chance reaches farther than a hundredth
    once = replace(RUN, samples=SAMPLES[:, :1])
    assert judged(order("low", "high"), run=once).answer == UNSAID  # no standard error
    assert judged(order("low", "high"), replace(MADE, repetitions=1), once).answer == AGREES  # nothing is random
    assert judged(at_most("low", 3.0, "third")).figures == "This run has no number for it."


def test_a_tie_contradicts_only_where_nothing_is_random():
    tie = replace(RUN, samples=np.ones((2, 2, 4)))
    assert judged(order("low", "high"), run=tie).answer == UNSAID
    assert judged(order("low", "high"), replace(MADE, repetitions=1), tie).answer == DISAGREES


def test_mostly_is_more_than_half_and_all_is_all():
    two_of_three = all_of(order("low", "high"), order("high", "low", rows="first"))
    assert (judged(two_of_three, mostly=True).answer, judged(two_of_three).answer) == (AGREES, DISAGREES)
    assert judged(two_of_three).figures.startswith(
        "2 of 3 comparisons agree, 1 disagrees; disagreeing: low − high at first: −1"
    )


def test_disagreement_is_judged_at_the_level_of_all_comparisons_together():
    """Thirty comparisons of nothing but noise, claimed to be above 0: one at its own 95 % level is below."""
    noise = np.random.default_rng(1).standard_normal((30, 9, 1))
    rows = tuple(map(str, range(30)))
    experiment = replace(MADE, rows=rows, columns=("noise",), replicated=((np.nan,),) * 30)
    run = Outcome("made", rows, ("noise",), noise)
    alone = [judged(at_least("noise", 0.0, row), experiment, run).answer for row in rows]
    assert DISAGREES in alone
    assert judged(at_least("noise", 0.0), experiment, run).answer == UNSAID


def test_disagreements_stand_first_with_their_reason():
    claims = (
        Claim("A.", "Figure 1", order("low", "high")),
        Claim("B.", "Figure 2", order("high", "low"), why="Because."),
    )
    found = replace(MADE, claims=claims).judge(RUN)
    assert [one.sentence for one in found] == ["B. (Figure 2)", "A. (Figure 1)"]
    assert found[0].answer == "Disagrees"
    assert found[0].figures.endswith(" Why: Because.")
    assert "Why" not in found[1].figures
    assert counted([one.verdict for one in found]) == "1 disagrees, 1 agrees"


def test_the_command_tells_the_verdicts(monkeypatch):
    experiment = replace(MADE, claims=(Claim("A.", "Figure 1", order("low", "high")),))
    reported = "\n".join(command._reported(experiment, RUN))
    assert "What the paper states: 1 agrees." in reported
    assert "- A. (Figure 1)\n  Agrees. 2 of 2 comparisons agree; the closest: high − low at" in reported
    monkeypatch.setattr("mklcore.experiments.records.records", lambda key: (RUN,))
    assert summary("made", experiment)[0][4] == "1 agrees"
