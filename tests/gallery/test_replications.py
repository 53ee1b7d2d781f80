"""Runs of published experiments: rows of a table, small runs, records of other releases, what is certain."""

import time
from dataclasses import replace

import numpy as np
import pytest
from joblib import Memory

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.errors import DataError
from mklcore.estimators.baselines import UniformMKLRegressor
from mklcore.gallery.experiments import Experiment, Outcome, TableLine, greedy, hkl, lp, smkl, times
from mklcore.gallery.experiments import __main__ as command
from mklcore.gallery.experiments.base import _measured
from mklcore.gallery.experiments.claims import Check, Claim
from mklcore.gallery.experiments.records import record, records


def measure(line: TableLine) -> list[float]:
    size = 0.0 if line.row.startswith("made") else float(len(line.file("numbers.csv").read_text()))
    return [float(line.quick), size + line.seed + line.repetition]


def idle(line: TableLine) -> list[float]:
    time.sleep(0.05)
    return [0.0, 0.0]


UNCHECKED = Claim("C", "section 1", (Check("between", rows=("none",)),))
TINY = Experiment(
    "tiny", "T", "P", "D", (UNCHECKED,), "O", "row", ("made", "made too", "from a file"), ("quick", "size"), "u",
    2, measure, "S", quick=("made", "from a file"), files={"from a file": "numbers.csv"},
)  # fmt: skip


def test_rows_that_need_a_file_wait_for_its_folder(tmp_path, monkeypatch):
    only = replace(TINY, rows=("from a file",), quick=())
    with pytest.raises(DataError, match=r"needs a folder with one of the files numbers\.csv; name it with --data"):
        only.run(1)
    with pytest.raises(DataError, match=r"numbers\.csv is needed, and no folder was named"):
        only.run(1, ["from a file"])
    (tmp_path / "numbers.csv").write_text("12345")
    assert TINY.rows_on_disk() == ("made", "made too")
    found = TINY.run(2, quick=True, data=tmp_path)
    assert found.rows == ("made", "from a file")
    assert found.samples[1].tolist() == [[1.0, 5.0], [1.0, 6.0]]
    monkeypatch.setenv("MKLCORE_DATA", str(tmp_path))
    assert TINY.run(1).samples[2].tolist() == [[0.0, 5.0]]


def test_an_outcome_tells_what_it_was_computed_with():
    again = Outcome.from_json(TINY.run(1, ["made"], quick=True).to_json())
    assert again.quick
    assert {"numpy", "numba", "mklcore"} <= dict(again.versions).keys()


def test_seconds_are_those_of_the_processor():
    slept = replace(TINY, measure=idle).run(1, ["made"])
    assert 0 <= slept.seconds < 0.04
    now = replace(slept, seconds=73.04)
    assert (now.took, replace(now, seconds=np.nan).took) == ("73.0 CPU s", "")
    assert Outcome.from_json(now.to_json()).took == now.took
    sizes = [list(command._reported(TINY, run))[2] for run in (now, replace(now, seconds=np.nan, quick=True))]
    assert sizes == ["1 repetitions, seed 0, 73.0 CPU s", "1 repetitions, seed 0, small"]


def test_a_run_that_was_cut_short_goes_on_and_keeps_what_it_measured(tmp_path, monkeypatch):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    rows, memory = ["made", "made too"], Memory(tmp_path / "run.json.part", verbose=0)
    with pytest.raises(KeyboardInterrupt):
        TINY.run(2, rows, callback=stop, memory=memory)
    lines = [TableLine(row, 0, k) for k in range(2) for row in rows]
    kept = memory.cache(_measured)
    assert [kept.check_call_in_cache(measure, line) for line in lines] == [True] * 3 + [False]
    found = TINY.run(2, rows, memory=memory)
    assert found.samples[:, :, 1].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.seconds == sum(kept(measure, line)[1] for line in lines)


def test_greedy_steps_fall_geometrically_below_their_bound_and_copies_change_nothing():
    found = mkl.EXPERIMENTS["greedy_rate"].run(1, ["1", "2", "4", "12", greedy.COPIES])
    unit, searched, first, bound = found.mean.T
    steps = [int(row) for row in found.rows[:-1]]
    assert (found.mean[:, :3] < bound[:, None]).all()
    slope = np.diff(searched[:-1]) / np.diff(steps)
    assert slope == pytest.approx(np.full(len(slope), 2 * np.log10(1 / 3)), abs=0.01)  # each step takes a whole span
    assert found.mean[-1] == pytest.approx(found.mean[-2], abs=1e-6)
    assert (np.diff(unit[:-1]) < 0).all()
    assert first[0] == pytest.approx(searched[0], abs=1e-3)


def test_tables_of_hulls_on_a_file_and_on_made_rows(tmp_path, monkeypatch):
    for name, value in {
        "CLASS_ROWS": 120,
        "LAMS": [1e-2, 1e-3],
        "L2_LAMS": [1e-3],
        "HKL_LAMS": [1e-4],
        "GREEDY_SIZES": (4, 8),
    }.items():
        monkeypatch.setattr(hkl, name, value)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(120)
    rows = "\n".join(",".join(f"{v:.4f}" for v in (*x, t)) for x, t in zip(X, y, strict=True))
    (tmp_path / "boston.csv").write_text(f"a,b,c,y\n{rows}\n")
    found = mkl.EXPERIMENTS["hkl_table1"].run(1, data=tmp_path)
    assert found.rows == ("boston, pol4", "boston, rbf")
    errors, nodes = found.samples[0, 0, :5], found.samples[0, 0, 5]
    assert errors[4] < 10 < 80 < errors[3]  # a product: hulls find it, sums of single columns cannot
    assert nodes >= 4
    line = mkl.EXPERIMENTS["hkl_table2"].run(1, ["twonorm, pol4"]).samples[0, 0]
    assert (line[:3] < 25).all()


def test_hulls_err_no_more_than_the_full_kernel_where_both_may_follow_lambda():
    for p in (4, 8, 16, 128):
        assert hkl.lams(0, p)[-1] == hkl.lams(-2, p)[-1] == pytest.approx(10.0 ** hkl.LEAST.get(p, -6))
    run = record("hkl_fig2")
    followed = [row for row in run.rows if int(row.split(",")[0].removeprefix("p = ")) in hkl.LEAST]
    assert len(followed) == 4
    for row in followed:
        l2, _, hulls, _ = run.samples[run.rows.index(row)].T
        above = hulls - l2
        assert above.mean() < 3 * above.std(ddof=1) / len(above) ** 0.5
        if row.endswith("as drawn"):
            assert (above < 0).mean() > 0.5


def test_spectra_by_the_protocol_of_the_tables(monkeypatch):
    made = mkl.EXPERIMENTS["smkl_table6"].rows[-1]
    monkeypatch.setitem(smkl.MADE, made, (50, 40, 0.5))
    monkeypatch.setattr(smkl, "COSTS", np.array([1.0, 10.0]))
    experiment = mkl.EXPERIMENTS["smkl_table6"]
    assert experiment.rows_on_disk(quick=True) == (made,)
    line = experiment.run(1, quick=True).samples[0, 0]
    assert (line[:4] < 1.5).all()
    assert 1 <= line[4] <= line[5] <= 10
    assert np.isnan(experiment.reference([made])).all()  # a stand-in never has the numbers of the paper


def test_tables_of_spectra_have_a_stand_in_each():
    experiments = [mkl.EXPERIMENTS[f"smkl_table{number}"] for number in (4, 5, 6)]
    stand_ins = [set(experiment.rows[1:]) for experiment in experiments]
    assert all(stand_ins)
    assert len(set.union(*stand_ins)) == sum(map(len, stand_ins))  # no run is listed twice
    for experiment in experiments:
        assert len({run.to_json() for run in records(experiment.key)}) == len(records(experiment.key))


@pytest.fixture(scope="module")
def spectra():
    X = np.random.default_rng(0).standard_normal((60, 12))
    return Dataset(X, X @ np.linspace(-1, 1, 12), tuple(f"w{k}" for k in range(12)), "y", "regression")


def test_the_epsilon_and_the_single_kernel_are_chosen_by_folds(monkeypatch, spectra):
    monkeypatch.setattr(smkl, "COSTS", np.array([100.0]))
    monkeypatch.setattr(smkl, "FOLDS", 3)
    usual = {"loss": "epsilon_insensitive", "normalise": "trace"}
    model = UniformMKLRegressor(kernels=mkl.KernelDictionary((mkl.Linear(),)), **usual)
    found, score = smkl.chosen(TableLine("any"), model, spectra)
    assert score <= 0.0
    assert found.epsilon == pytest.approx(smkl.TUBES[0] * np.std(spectra.y))  # a target without noise
    best = smkl.best_alone(TableLine("any"), usual, spectra)
    assert [spec.title for spec in best._map.specs] == ["linear"]


def test_partial_least_squares_takes_as_many_components_as_the_folds_say(spectra):
    found = smkl.partial_least_squares(TableLine("any"), spectra)
    assert found.best_params_["n_components"] > 1
    assert np.ravel(found.predict(spectra.X)) == pytest.approx(spectra.y, abs=1e-2)


def test_cells_that_the_printed_table_leaves_open_are_open():
    found = mkl.EXPERIMENTS["hkl_table2"].reference(["ringnorm, pol4"])[0]
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == 5.9


@pytest.mark.parametrize("key", ["lp_fig4_fig5", "lp_table2_fig6", "gomp_fig2", "smkl_table4"])
def test_a_small_run_gives_what_is_recorded(key):
    """The first line of it, to a tolerance: solvers stop at a gap, and another processor rounds otherwise."""
    experiment = mkl.EXPERIMENTS[key]
    kept = next(run for run in records(key) if run.quick)
    assert kept.rows == experiment.rows_on_disk(quick=True)
    assert kept.columns == experiment.columns
    line = experiment.run(1, kept.rows[:1], kept.seed, quick=True).samples[0, 0]
    assert line == pytest.approx(kept.samples[0, 0], rel=1e-3, abs=2e-3)


def test_sequences_in_place_of_start_sites():
    experiment = mkl.EXPERIMENTS["lp_fig4_fig5"]
    found = dict(zip(experiment.columns, record("lp_fig4_fig5").mean.T, strict=True))
    assert all((found[name] > found[lp.NAMES[-1]]).all() for name in lp.NAMES[:-1])  # letters are noise
    for p in ("1", "2"):
        shares = np.array([found[f"{name} at p = {p}"] for name in lp.NAMES])
        assert shares.sum(axis=0) == pytest.approx(np.ones(shares.shape[1]))
    assert not experiment.numbers


def test_bounds_of_the_two_examples_grow_as_they_should():
    found = dict(zip((run := mkl.EXPERIMENTS["lp_fig1"].run(1)).rows, run.mean, strict=True))
    for uniform, sparse in (line.reshape(2, 3) for line in found.values()):
        assert uniform.max() < 3 * uniform.min()  # divided by M: the same but for logarithms
        assert (np.diff(sparse) > 0).all()
    growth = {p: line[5] / line[4] for p, line in found.items()}  # from 50 to 1000 kernels
    assert growth["1"] < growth["4/3"] < growth["2"] < growth["4"] < growth["∞"]


def test_the_interleaved_algorithm_is_timed_without_a_stored_matrix(monkeypatch):
    powers = np.log(2 * np.array([spec.width for spec in times.kernels_of(50)]) ** 2) / np.log(1.2)
    assert powers == pytest.approx(np.arange(50))  # 2 sigma^2 as in the paper
    assert max(spec.width for spec in times.kernels_of(200)) == pytest.approx(1.2**24.5 / 2**0.5)
    monkeypatch.setattr(times, "MANY_ROWS", (40,))
    monkeypatch.setattr(times, "FIXED_KERNELS", 4)
    monkeypatch.setattr(times, "_compiled", lambda: None)
    monkeypatch.setattr(times, "AFRESH", {"interleaved": times.AFRESH["interleaved, p = 2, on the fly"]})

    def stored(*_: object, **__: object) -> None:
        raise AssertionError("a Gram matrix was stored")

    monkeypatch.setattr(mkl.KernelDictionary, "grams", stored)
    line = times.by_size(TableLine("n = 40"))
    assert np.isnan(line[:-1]).all()
    assert np.isfinite(line[-1])


def test_exponents_of_run_times_are_slopes(monkeypatch):
    monkeypatch.setattr(times, "seconds", lambda line, n, M: [1e-3 * M * n**1.5, 1e-6 * M**2])
    assert mkl.EXPERIMENTS["smkl_times"].run(1).samples[:, 0].tolist() == [
        pytest.approx([1.0, 2.0]),
        pytest.approx([1.5, 0.0], abs=1e-9),
        pytest.approx([1.0, 2.0]),
    ]


def test_the_command_runs_lists_and_refuses(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(
        mkl.EXPERIMENTS, "tiny", replace(TINY, numbers={"made": (0.0, 9.0)}, rows=TINY.rows[:2], files={})
    )
    assert command.main(["tiny", "--small", "--rows", "made", "--out", str(tmp_path / "run.json")]) == 0
    said = capsys.readouterr().out
    assert "made\t1±0 (0)\t0.5±0.5 (9)" in said
    assert "2 cells compared, 1 beyond three standard errors: made, quick (+1)" in said  # without spread, no chance
    assert Outcome.from_json((tmp_path / "run.json").read_text()).quick
    assert command.main(["tiny", "--rows", "nothing"]) == 1
    assert "rows must be among made" in capsys.readouterr().err
    assert command.main([]) == 0
    listed = capsys.readouterr().out
    assert all(key in listed for key in mkl.EXPERIMENTS)


@pytest.mark.parametrize(
    ("key", "place"), [(key, place) for key in mkl.EXPERIMENTS for place in range(len(records(key)))]
)
def test_what_comes_with_the_project_belongs_to_its_experiment(key, place):
    found, experiment = records(key)[place], mkl.EXPERIMENTS[key]
    assert found.versions
    # a small run trains on fewer rows than the paper
    fewer_rows = found.quick and "are distinguished by that" in experiment.open_points
    compared = experiment.compare(found)
    assert fewer_rows or len(experiment.reasons(compared)) == compared.beyond().sum()


def test_a_full_record_stands_before_the_small_one(monkeypatch, tmp_path):
    monkeypatch.setattr("mklcore.gallery.experiments.records.HOME", tmp_path)
    monkeypatch.setattr(command, "EXPERIMENTS", {"tiny": TINY})
    (tmp_path / "full").mkdir()
    assert records("tiny") == ()
    for place, count, quick in ((tmp_path, 2, True), (tmp_path / "full", 3, False)):
        (place / "tiny.json").write_text(TINY.run(count, ["made"], quick=quick).to_json())
    assert [run.repetitions for run in records("tiny")] == [3, 2]
    assert record("tiny").repetitions == 3
    small = "0 of 1 agrees; 1 has no number in this run"  # nothing compared: no count that looks like agreement
    rows = [("1 of 3", "3", small, "0", "–"), ("1 of 3", "2, small", small, "0", "–")]
    assert [line[2:7] for line in command.overview()[1:]] == rows
