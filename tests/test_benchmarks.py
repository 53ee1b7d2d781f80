"""The habit of measuring: lines beside a peer, what got slower, tables between their marks."""

import json
import re
from importlib import import_module

import numpy as np
import pytest

from benchmarks import ablation, gram_speed, large_rows, lp_speed, strangers_record, what_pays
from benchmarks.__main__ import (
    BENCHMARKS,
    MARKS,
    PAPER,
    README,
    RESULTS,
    SUMMARY,
    TABLE,
    as_json,
    asked,
    included,
    loads,
    slower,
    summary,
)
from benchmarks.lines import Line, reported
from benchmarks.records import RECORDED, files, growth, kept, picture
from mklcore.solvers import schedule


def line(*values, beside=1.0, what="fit"):
    return Line(what, values, "s", beside, "peer")


def test_the_table_tells_how_busy_the_machine_was():
    assert "peers 9.5." in loads({"peers": {"load": 9.5}})
    assert "gram_speed 0.1, peers 9.5." in loads({"peers": {"load": 9.5}, "gram_speed": {"load": 0.1}})


@pytest.mark.parametrize(("p", "cuts"), [(1.0, True), (1.0, False), (2.0, False)])
def test_the_wrappers_around_svc_reach_the_optimum_that_ours_reaches(p, cuts):
    X = np.random.default_rng(0).standard_normal((40, 3))
    K, y = X.T[:, :, None] * X.T[:, None, :], np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
    gap, solves = lp_speed.around_svc(K, y, p, 1e-2, cuts)
    assert 0 <= gap <= 1e-2
    assert 1 <= solves < lp_speed.LIMIT


def test_the_peer_of_the_gram_matrices_writes_into_memory_that_is_there():
    X, gammas = np.random.default_rng(0).standard_normal((5, 2)), np.array([0.5, 2.0])
    buffer = np.zeros((2, 5, 5))
    gram_speed.into(buffer, X, gammas)
    squared = np.square(X[:, None] - X[None]).sum(axis=2)
    assert buffer == pytest.approx(np.exp(-gammas[:, None, None] * squared))


def test_a_line_stands_beside_its_peer():
    assert line(0.5, 0.4, 0.6).ratio == 2.0
    assert line(0.5, 0.4, 0.6).spread == pytest.approx(0.2)
    assert "| fit | 0.5 s ± 20 % | peer 1 s | 2.00 |" in reported([line(0.5, 0.4, 0.6)])
    assert "| fit | 0.5 s | peer 1 s | 2.00 |" in reported([line(0.5)])


def test_slower_is_what_lost_more_than_the_spread():
    before = as_json([line(1.0, 0.9, 1.1), line(1.0, what="other"), line(1.0, what="gone")])
    assert slower(before, [line(1.15, 1.05, 1.25), line(1.02, what="other"), line(9.0, what="new")]) == []
    assert slower(before, [line(1.4, 1.3, 1.5)]) == ["fit: 0.71 times peer, before 1.00"]
    assert slower(before, [line(1.4, beside=1.4)]) == []  # the peer was slower, too: it is the machine


def test_tables_go_between_their_marks():
    text = "".join(("before\n", MARKS[0], "old\n", MARKS[1], "\nafter"))
    assert included(included(text, "new"), "newer") == text.replace("old", "newer")
    assert included("no marks", "new") == "no marks"
    for file in (TABLE, README, PAPER):
        assert included(file.read_text(), "new") != file.read_text()


def test_the_readme_shows_five_of_the_kept_lines_and_the_site_all():
    kept = json.loads(RESULTS.read_text())["results"]
    lines = [Line(**one) for name in BENCHMARKS for one in kept[name]["lines"]]
    shown = reported(summary(lines))
    assert shown.count("\n") == 1 + len(SUMMARY)
    assert min(line.ratio for line in summary(lines)) < 1.0, "a summary shows where a peer is ahead as well"
    assert shown in README.read_text(encoding="utf-8")
    assert reported(lines) in TABLE.read_text(encoding="utf-8")


def test_a_command_without_names_asks_for_all(capsys):
    assert asked([]) == BENCHMARKS
    assert asked(["peers", "lp_speed"]) == ["peers", "lp_speed"]
    assert asked(["--write"]) == ()
    with pytest.raises(SystemExit):
        asked(["perrs"])
    assert "there is no benchmark 'perrs'; choose from compiling," in capsys.readouterr().err


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_can_be_run(name):
    assert callable(import_module(f"benchmarks.{name}").run)


@pytest.mark.parametrize("name", RECORDED)
def test_pages_and_pictures_of_a_record_are_written_by_its_script(name):
    made = files(name)
    assert {".md"} <= {file.suffix for file in made} <= {".md", ".svg"}
    for file, text in made.items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: write it again with python -m benchmarks.records"


def test_growth_is_the_exponent():
    assert growth([(n, 3.0 * n**1.5) for n in (10, 20, 40, 80)]) == pytest.approx(1.5)


def test_a_table_measured_again_replaces_its_row_alone(tmp_path):
    record = tmp_path / "record.json"
    for name, score in (("a", 1), ("b", 2), ("a", 3)):
        strangers_record.keep({"name": name, "score": score}, record)
    assert [(row["name"], row["score"]) for row in strangers_record.read(record).values()] == [("a", 3), ("b", 2)]


def test_the_page_on_strangers_tables_is_what_the_record_says():
    page = strangers_record.PAGE.read_text(encoding="utf-8")
    assert strangers_record.written(page, list(strangers_record.read().values())) == page


def test_labels_of_a_picture_keep_off_one_another_and_one_that_finds_no_room_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.records.DOCS", tmp_path)
    curves = {f"curve {k}": [(x, (1 + 0.01 * k) * x) for x in (1.0, 1.1, 10.0)] for k in range(7)}
    (drawn,) = picture("crowded", "Crowded", "Seconds over rows", curves).values()
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]*)</text>', drawn)
    height = float(re.search(r'viewBox="0 0 \d+ (\d+)"', drawn)[1])
    assert {f"curve {k}" for k in range(7)} <= {text for *_, text in found}
    assert len(found) < 1 + 7 + 3 + 21
    boxes = []
    for x, y, anchor, text in found:
        wide = 6.5 * len(text)
        left, bottom = float(x) - (wide / 2 if anchor == "middle" else 0.0), float(y)
        assert 12.0 < bottom < height
        for other in boxes:
            assert left >= other[1] or other[0] >= left + wide or abs(bottom - other[2]) >= 12.0, (text, other)
        boxes.append((left, left + wide, bottom, text))


def test_many_rows_are_measured_at_every_C_and_only_what_is_new_where_that_is_asked(monkeypatch):
    monkeypatch.setattr(large_rows, "COMPONENTS", 4)
    found = {C: large_rows.measured("hinge", C, 200, 100) for C in (0.1, 100.0)}
    assert (found[0.1]["steps"], found[100.0]["steps"]) == ("coordinates", "inside")
    assert max(one["gap"] for one in found.values()) <= 1e-3
    before, asked, reported = kept("large_rows"), [], []
    before["found"] = [one for one in before["found"] if one.get("C", 1.0) == 1.0]
    monkeypatch.setattr(large_rows, "kept", lambda name: before)
    monkeypatch.setattr(large_rows, "alone", lambda *case: asked.append(case) or found[100.0])
    monkeypatch.setattr(large_rows, "keep", lambda name, lines: reported.extend(lines))
    large_rows.main(only_new=True)
    assert asked == [("hinge", C, n) for C in large_rows.LARGER for n in large_rows.SIZES]
    assert [(one["way"], one.get("C", 1.0), one["rows"]) for one in reported] == large_rows.CASES
    page = next(
        text for file, text in large_rows.written({**before, "found": reported}).items() if file.suffix == ".md"
    )
    assert "| 4 landmarks, hinge, C = 100, inside | 24,000 |" in page


def test_constants_of_what_pays_are_those_the_seconds_were_made_with():
    made = what_pays.Constants(2e-7, 0.8, 0.5, 0.002)
    sizes = [(scaled, D) for scaled in (0.5, 2.0, 8.0) for D in (100, 1000)]
    fits = [what_pays.Fitted("hinge", False, s, D, made.unit * s**made.creep) for s, D in sizes]
    fits += [what_pays.Fitted("hinge", True, s, D, made.unit * (made.passes + made.products * D)) for s, D in sizes]
    assert what_pays.constants(fits) == pytest.approx(made, rel=1e-9)
    found = what_pays.measured(150, (4,), (0.3,), tell=lambda reported: None)
    assert [(one.loss, one.inside) for one in found] == [
        (loss, way) for loss in what_pays.LOSSES for way in (False, True)
    ]


def test_every_row_of_the_schedule_and_every_part_has_a_figure_on_record():
    record = kept("ablation")["found"]
    rows = {(one["row"], one["solvers"]): one for one in record["rows"]}
    assert set(rows) == {(row.problems, row.solvers) for row in schedule.TABLE}
    for row in schedule.TABLE:
        one = rows[row.problems, row.solvers]
        assert one["case"] == row.measured == ablation.row_case(row).name
        assert one["ratio"] is None or one["ratio"] > 0.0, row.problems
    assert {one["part"] for one in record["parts"]} == {part.name for part in ablation.parts()}
    for one in record["parts"]:
        assert ablation.worth(one) != "nothing", one["part"]


def test_a_part_that_is_measured_alone_takes_its_place_in_the_record(monkeypatch):
    before = kept("ablation")["found"]
    part, row = before["parts"][-1]["part"], "l1, for comparison"
    for chosen in (part, row):
        written = {}
        monkeypatch.setattr(ablation, "keep", lambda name, found, written=written: written.update(found))
        monkeypatch.setattr(ablation, "warm_up", lambda: None)
        monkeypatch.setattr(ablation, "ratio", lambda *given: 7.0)
        ablation.main(chosen)
        changed = [one for kind in ("parts", "rows") for one in written[kind] if one not in before[kind]]
        assert [one.get("part", one.get("row")) for one in changed] == [chosen]
        assert [len(written[kind]) for kind in before] == [len(before[kind]) for kind in before]


def test_a_part_is_kept_for_what_it_is_worth_somewhere():
    paths = dict.fromkeys(("A, p = 1", "B, p = 1"), 1.1)
    assert ablation.worth({"ratios": {**paths, "B, p = 1": 1.3}, "also": "", "others": {}}) == "speed"
    assert ablation.worth({"ratios": paths, "also": ablation.MANY, "others": {}}) == ablation.MANY
    assert ablation.worth({"ratios": paths, "also": "", "others": {"one": 1.3}}) == "speed elsewhere"
    assert ablation.worth({"ratios": paths, "also": "", "others": {"one": 1.0, "two": None}}).startswith("problems")
    assert ablation.worth({"ratios": paths, "also": "", "others": {"one": 1.1}}) == "nothing"
