"""The habit of measuring: lines beside a peer, what got slower, tables between their marks."""

import json
from importlib import import_module

import numpy as np
import pytest

from benchmarks import ablation, paths
from benchmarks.__main__ import (
    BENCHMARKS,
    MARK,
    PAGES,
    PAPER,
    README,
    RESULTS,
    SUMMARY,
    TABLE,
    as_json,
    asked,
    slower,
    summary,
)
from benchmarks.lines import Line, included, reported
from benchmarks.tables import lines_of, measured
from mklcore import load_sample
from mklcore.lp import schedule
from tests.helpers.every import every


def line(*values, beside=1.0, what="fit"):
    return Line(what, values, "s", beside, "peer")


@every("p, cuts", [(1.0, True), (1.0, False), (2.0, False)])
def test_the_wrappers_around_svc_reach_the_optimum_that_ours_reaches(p, cuts):
    X = np.random.default_rng(0).standard_normal((40, 3))
    K = X.T[:, :, None] * X.T[:, None, :]
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
    gap, solves = paths.around_svc(K, y, p, 1e-2, cuts)
    assert 0 <= gap <= 1e-2
    assert 1 <= solves < paths.LIMIT


def test_a_line_stands_beside_its_peer():
    assert line(0.5, 0.4, 0.6).ratio == 2.0
    assert line(0.5, 0.4, 0.6).spread == pytest.approx(0.2)
    assert "| fit | 0.5 s ± 20 % | peer 1 s | 2.00 |" in reported([line(0.5, 0.4, 0.6)])
    assert "| fit | 0.5 s | peer 1 s | 2.00 |" in reported([line(0.5)])


def test_slower_is_what_lost_more_than_the_spread():
    before = as_json([line(1.0, 0.9, 1.1), line(1.0, what="other"), line(1.0, what="gone")])
    assert (
        slower(before, [line(1.15, 1.05, 1.25), line(1.02, what="other"), line(9.0, what="new")])
        == []
    )
    assert slower(before, [line(1.4, 1.3, 1.5)]) == ["fit: 0.71 times peer, before 1.00"]
    # the peer was slower, too: it is the machine
    assert slower(before, [line(1.4, beside=1.4)]) == []


def test_tables_go_between_their_marks():
    text = "before\n<!-- sums -->\nold\n<!-- /sums -->\nafter"
    once = included(text, "sums", "new")
    assert included(once, "sums", "newer") == text.replace("old", "newer")
    assert included("no marks", "sums", "new") == "no marks"
    for file in (TABLE, README, PAPER):
        assert included(file.read_text(), MARK, "new") != file.read_text()


def test_the_readme_shows_five_of_the_kept_lines_and_the_site_all():
    kept = json.loads(RESULTS.read_text())["results"]
    lines = []
    for name in BENCHMARKS:
        found = [Line(**one) for one in kept.get(name, {}).get("lines", [])]
        if name in PAGES:
            assert reported(found) in PAGES[name].read_text(encoding="utf-8")
        else:
            lines += found
    shown = reported(summary(lines))
    assert shown.count("\n") == 1 + len(SUMMARY)
    assert min(line.ratio for line in summary(lines)) < 1.0, (
        "a summary shows where a peer is ahead as well"
    )
    assert shown in README.read_text(encoding="utf-8")
    assert reported(lines) in TABLE.read_text(encoding="utf-8")


def test_a_command_without_names_asks_for_all(capsys):
    assert asked([]) == BENCHMARKS
    assert asked(["peers", "paths"]) == ["peers", "paths"]
    assert asked(["--write"]) == ()
    with pytest.raises(SystemExit):
        asked(["perrs"])
    assert "there is no benchmark 'perrs'; choose from grams," in capsys.readouterr().err


@every("name", BENCHMARKS)
def test_every_benchmark_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}").run)


def test_every_row_of_the_schedule_and_every_part_can_be_measured():
    for row in schedule.TABLE:
        assert all(case.costs for case in ablation.ROWS[row.problems])
    assert len({part.name for part in ablation.parts()}) == len(ablation.parts())


def test_a_linear_model_stands_beside_the_answer():
    found = measured("linear", load_sample("iris").drawn(90, 0), 0)
    assert "refused" not in found, found
    assert found["score"] > 0.8


def test_models_are_ranked_on_the_tables_that_they_have():
    def draws(*scores):
        more = {"seconds": 1.0, "settled": 0.5}
        return {str(k): {"score": score, **more} for k, score in enumerate(scores)}

    record = {
        "a": {"rows": 9, "ours": draws(0.9, 0.7), "forest": draws(0.7, 0.7), "EBM": draws(0.9)},
        "b": {
            "rows": 1000,
            "ours": draws(0.6, 0.4),
            "forest": {"0": {"score": 0.8, "seconds": 3.0}, "1": {"refused": "too many rows"}},
            "EBM": draws(0.6, 0.6),
        },
        "c": {"rows": 5, "forest": draws(0.5, 0.5)},
    }
    lines = lines_of(record, (0, 1), ("ours", "forest", "EBM", "RBF"))
    assert lines[0] == "| table | rows | ours | forest | EBM |"
    assert lines[2:8] == [
        "| a | 9 | 0.800 | 0.700 | – |",
        "| b | 1,000 | 0.500 | 0.400 | 0.600 |",
        "| **mean score** |  | 0.6500 | 0.5500 | – |",
        "| **mean rank of the means** |  | 1.00 | 2.00 | – |",
        "| **mean score**, the 1 tables that all have |  | 0.5000 | 0.4000 | 0.6000 |",
        "| **mean rank of the means**, the 1 tables that all have |  | 2.00 | 3.00 | 1.00 |",
    ]
    assert lines[8:10] == [
        "| ours ahead by | | +0.0000 ± 0.0000 | +0.1000 ± 0.0000 | -0.1000 ± nan |",
        "| on so many tables |  | 2 | 2 | 1 |",
    ]
    assert "| refused |  | 0 | 1 | 0 |" in lines
