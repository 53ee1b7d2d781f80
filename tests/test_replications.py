"""Runs of published experiments: rows at hand, small runs, backends, records of other releases, and what is certain."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import mklcore as mkl
from mklcore.errors import DataError
from mklcore.experiments import Experiment, Outcome
from mklcore.experiments.base import file_of, is_quick


def measure(row: str, seed: int, repetition: int) -> list[float]:
    size = 0.0 if row.startswith("made") else float(len(file_of("numbers.csv").read_text()))
    return [float(is_quick()), size + seed + repetition]


TINY = Experiment(
    "tiny", "T", "P", "D", ("C",), "O", "row", ("made", "made too", "from a file"), ("quick", "size"), "u",
    ((np.nan, np.nan),) * 3, 2, measure, quick=("made", "from a file"), files=(("from a file", "numbers.csv"),),
)  # fmt: skip


def test_rows_that_need_a_file_wait_for_its_folder(tmp_path, monkeypatch):
    only = replace(TINY, rows=("from a file",), quick=())
    with pytest.raises(DataError, match=r"needs a folder with one of the files numbers\.csv; name it with --data"):
        only.run(1)
    with pytest.raises(DataError, match=r"numbers\.csv is needed, and no folder was named"):
        only.run(1, ["from a file"])
    (tmp_path / "numbers.csv").write_text("12345")
    assert TINY.rows_at_hand() == ("made", "made too")
    found = TINY.run(2, quick=True, data=tmp_path)
    assert found.rows == ("made", "from a file")
    assert found.samples[1].tolist() == [[1.0, 5.0], [1.0, 6.0]]
    monkeypatch.setenv("MKLCORE_DATA", str(tmp_path))
    assert TINY.run(1).samples[2].tolist() == [[0.0, 5.0]]


def test_an_outcome_tells_what_it_was_computed_with_and_older_ones_load():
    found = TINY.run(1, ["made"], quick=True)
    again = Outcome.from_json(found.to_json())
    assert again.quick
    assert {"numpy", "numba", "mklcore"} <= dict(again.versions).keys()
    old = {k: v for k, v in json.loads(found.to_json()).items() if k not in ("quick", "versions")}
    assert Outcome.from_json(json.dumps(old)).versions == ()
    narrow = Outcome("tiny", ("made",), ("quick",), np.ones((1, 2, 1)))
    assert np.isnan(TINY.compare(narrow).ours[0, 1])


def test_an_executor_measures_the_same():
    with ThreadPoolExecutor(2) as executor:
        found = TINY.run(3, ["made", "made too"], seed=1, backend=executor)
    assert found.samples.tolist() == TINY.run(3, ["made", "made too"], seed=1).samples.tolist()


def test_greedy_steps_fall_geometrically_below_their_bound_and_copies_change_nothing():
    found = mkl.EXPERIMENTS["greedy_rate"].run(2)
    unit, searched, first, bound = found.mean.T
    steps = [int(row) for row in found.rows[:-1]]
    assert (found.mean[:, :3] < bound[:, None]).all()
    slope = np.diff(searched[:-1]) / np.diff(steps)
    assert slope == pytest.approx(np.full(len(slope), 2 * np.log10(1 / 3)), abs=0.01)  # each step takes a whole span
    assert found.mean[-1] == pytest.approx(found.mean[-2], abs=1e-6)
    assert (np.diff(unit[:-1]) < 0).all()
    assert first[0] == pytest.approx(searched[0], abs=1e-3)
