"""Runs of published experiments: rows of a table, small runs, records of other releases, what is
certain.
"""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from mklcore import (
    EXPERIMENTS,
    Dataset,
    KernelDictionary,
    Linear,
    UniformMKLRegressor,
    alignment_matrix,
    lp_rademacher_bound,
)
from mklcore.gallery.experiments import (
    Experiment,
    Outcome,
    TableLine,
    greedy,
    hkl,
    lp,
    proteins,
    smkl,
    times,
)
from mklcore.gallery.experiments import __main__ as command
from mklcore.gallery.experiments.claims import Check, Claim
from mklcore.gallery.experiments.lp import INFORMATIVE
from mklcore.gallery.experiments.records import record, records
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.refusals import data_error, parameter_error


def measure(line):
    size = 0.0 if line.row.startswith("made") else float(len(line.file("numbers.csv").read_text()))
    return [float(line.quick), size + line.seed + line.repetition]


def idle(line):
    time.sleep(0.05)
    return [0.0, 0.0]


UNCHECKED = Claim("C", "section 1", (Check("between", rows=("none",)),))
TINY = Experiment(
    "tiny", "T", "P", "D", (UNCHECKED,), "O", "row", ("made", "made too", "from a file"), ("quick", "size"), "u",
    2, measure, "S", quick=("made", "from a file"), files={"from a file": "numbers.csv"},
)  # fmt: skip


def test_rows_that_need_a_file_wait_for_its_folder(tmp_path, monkeypatch):
    only = replace(TINY, rows=("from a file",), quick=())
    with data_error(r"needs a folder with one of the files numbers\.csv; name it with --data"):
        only.run(1)
    with data_error(r"numbers\.csv is needed, and no folder was named"):
        only.run(1, ["from a file"])
    (tmp_path / "numbers.csv").write_text("12345")
    assert TINY.rows_on_disk() == ("made", "made too")
    found = TINY.run(2, quick=True, data=tmp_path)
    assert found.rows == ("made", "from a file")
    assert found.samples[1].tolist() == [[1.0, 5.0], [1.0, 6.0]]
    monkeypatch.setenv("MKLCORE_DATA", str(tmp_path))
    assert TINY.run(1).samples[2].tolist() == [[0.0, 5.0]]


def test_seconds_are_those_of_the_processor_and_an_outcome_tells_what_it_was_computed_with():
    slept = replace(TINY, measure=idle).run(1, ["made"])
    assert 0 <= slept.seconds < 0.04
    now = replace(slept, seconds=73.04)
    small = replace(slept, seconds=np.nan, quick=True)
    assert (now.took, small.took) == ("73.0 CPU s", "")
    sizes = [list(command._reported(TINY, run))[2] for run in (now, small)]
    assert sizes == ["1 repetition, seed 0, 73.0 CPU s", "1 repetition, seed 0, small"]
    for run in (now, small):
        again = Outcome.from_json(run.to_json())
        assert (again.took, again.quick) == (run.took, run.quick)
        assert {"numpy", "numba", "mklcore"} <= dict(again.versions).keys()


def test_a_run_that_was_cut_short_goes_on_and_keeps_what_it_measured(tmp_path, monkeypatch, capsys):
    calls = []

    def cut(line):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append((line.row, line.repetition))
        return [0.0, 5.0 + line.repetition]

    experiment = replace(TINY, measure=cut, rows=TINY.rows[:2], files={})
    monkeypatch.setitem(EXPERIMENTS, "tiny", experiment)
    out = tmp_path / "run.json"
    with pytest.raises(KeyboardInterrupt):
        command.main(["tiny", "--out", str(out)])
    part = Outcome.from_json(out.read_text())
    assert part.size == "1 to 2 repetitions"
    assert part.mean[:, 1].tolist() == [5.5, 5.0]
    assert part.standard_error[0, 1] == 0.5
    assert np.isnan(part.standard_error[1]).all()
    for rows, measured in (([], 1), (["--rows", "made"], 0)):  # the rest; nothing
        calls.clear()
        assert command.main(["tiny", *rows, "--out", str(out)]) == 0
        assert len(calls) == measured
        whole = Outcome.from_json(out.read_text())
        assert whole.rows == experiment.rows
        assert whole.samples[:, :, 1].tolist() == [[5.0, 6.0], [5.0, 6.0]]
    assert command.main(["tiny", "--seed", "1", "--out", str(out)]) == 1
    assert "only a run of the same seed and size can go on" in capsys.readouterr().err


def test_greedy_steps_fall_geometrically_below_their_bound_and_copies_change_nothing():
    found = EXPERIMENTS["greedy_rate"].run(1, ["1", "2", "4", "12", greedy.COPIES])
    unit, searched, first, bound = found.mean.T
    steps = [int(row) for row in found.rows[:-1]]
    assert (found.mean[:, :3] < bound[:, None]).all()
    slope = np.diff(searched[:-1]) / np.diff(steps)
    # each step takes a whole span
    assert slope == pytest.approx(np.full(len(slope), 2 * np.log10(1 / 3)), abs=0.01)
    assert found.mean[-1] == pytest.approx(found.mean[-2], abs=1e-6)
    assert (np.diff(unit[:-1]) < 0).all()
    assert first[0] == pytest.approx(searched[0], abs=1e-3)


def test_tables_of_hulls_on_a_file_and_on_made_rows(tmp_path, monkeypatch, rng):
    fewer = {
        "CLASS_ROWS": 120,
        "LAMS": [1e-2, 1e-3],
        "L2_LAMS": [1e-3],
        "HKL_LAMS": [1e-4],
        "GREEDY_SIZES": (4, 8),
    }
    for name, value in fewer.items():
        monkeypatch.setattr(hkl, name, value)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.standard_normal(120)
    np.savetxt(
        tmp_path / "boston.csv", np.column_stack([X, y]), "%.4f", ",", header="a,b,c,y", comments=""
    )
    found = EXPERIMENTS["hkl_table1"].run(1, data=tmp_path)
    assert found.rows == ("boston, pol4", "boston, rbf")
    _, _, _, greedy_error, error, nodes = found.samples[0, 0, :6]
    assert error < 10 < 80 < greedy_error  # a product: hulls find it, sums of single columns cannot
    assert nodes >= 4
    line = EXPERIMENTS["hkl_table2"].run(1, ["twonorm, pol4"]).samples[0, 0]
    assert (line[:3] < 25).all()


def test_spectra_by_the_protocol_of_the_tables(monkeypatch):
    made = EXPERIMENTS["smkl_table5"].rows[-1]
    monkeypatch.setitem(smkl.MADE, made, (50, 40, 4.0))
    monkeypatch.setattr(smkl, "COSTS", np.array([1.0, 10.0]))
    experiment = EXPERIMENTS["smkl_table5"]
    assert experiment.rows_on_disk(quick=True) == (made,)
    line = experiment.run(1, quick=True).samples[0, 0]
    assert (line[:4] < 1.5).all()
    assert 1 <= line[4] <= line[5] <= 10
    # a stand-in never has the numbers of the paper
    assert np.isnan(experiment.reference([made])).all()


def test_made_spectra_are_alike_but_for_scatter_and_their_target_is_no_line():
    data = smkl.made_spectra(200, 100, 1.0, seed=0)
    again = smkl.made_spectra(200, 100, 4.0, seed=0)
    assert np.array_equal(data.y, again.y)  # the other substances decide nothing
    centred = data.X - data.X.mean(axis=1, keepdims=True)
    shapes = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    assert (shapes @ shapes.mean(axis=0) > 0.99).all()
    line = np.linalg.lstsq(np.column_stack([data.X, np.ones(200)]), data.y, rcond=None)[0]
    fitted = np.column_stack([data.X, np.ones(200)]) @ line
    assert np.var(data.y - fitted) > 0.005 * np.var(data.y)


def test_diesel_of_all_seasons_is_cut_by_its_cetane_number(tmp_path, rng):
    table = np.column_stack([rng.standard_normal((6, 4)), [39.9, 40.0, 50.0, 60.0, 60.1, 45.0]])
    names = "750nm,752nm,754nm,756nm,CN"
    np.savetxt(tmp_path / "diesel.csv", table, "%.4f", ",", header=names, comments="")
    line = TableLine(smkl.CETANE, folder=str(tmp_path))
    assert smkl._spectra(line).y.tolist() == [40.0, 50.0, 60.0, 45.0]
    experiment = EXPERIMENTS["smkl_table6"]
    assert experiment.rows_on_disk(tmp_path) == (smkl.CETANE,)
    assert np.isnan(experiment.reference([smkl.CETANE])).all()
    assert experiment.is_stand_in(smkl.CETANE)


def test_kernels_of_made_genes_tell_as_much_alone_as_the_paper_reports():
    X, y = lp.made_sites(20_000, seed=0)
    for (name, area), columns in zip(lp.VIEWS.items(), lp.PLACES, strict=True):
        found = roc_auc_score(y, X[:, columns].sum(axis=1))  # the best there is for one view
        assert found == pytest.approx(area, abs=0.01), name


def test_kernels_of_the_made_network_are_little_alike():
    K, _ = proteins.made_network(120, seed=0)
    alike = alignment_matrix(K)[np.triu_indices(3, 1)]
    assert ((alike > 0.3) & (alike < 0.5)).all()


def test_bounds_of_the_first_figure_are_the_same_number_up_to_sixty_thousand_kernels():
    """The numbers that the reasons of its two disagreements name."""
    for M, same in ((50, True), (1000, True), (59_000, True), (60_000, False)):
        first, second = (
            M ** (0.5 + 0.5 / p) * lp_rademacher_bound(p, M, 1000) for p in (1, 32 / 31)
        )
        assert (abs(first / second - 1) < 1e-9) is same
    sparse = {p: lp_rademacher_bound(p, 1000, 1000) for p in (1.0, 8 / 7)}
    assert 0.998 < sparse[8 / 7] / sparse[1.0] < 0.9995


def test_tables_of_spectra_have_a_stand_in_each():
    experiments = [EXPERIMENTS[f"smkl_table{number}"] for number in (4, 5, 6)]
    stand_ins = [set(experiment.rows[1:]) for experiment in experiments]
    assert all(stand_ins)
    assert len(set.union(*stand_ins)) == sum(map(len, stand_ins))  # no run is listed twice
    for experiment in experiments:
        assert len({run.to_json() for run in records(experiment.key)}) == len(
            records(experiment.key)
        )


def test_the_epsilon_the_single_kernel_and_the_components_are_chosen_by_folds(monkeypatch):
    X = np.random.default_rng(0).standard_normal((60, 12))
    spectra = Dataset(
        X, X @ np.linspace(-1, 1, 12), tuple(f"w{k}" for k in range(12)), "y", "regression"
    )
    monkeypatch.setattr(smkl, "COSTS", np.array([100.0]))
    monkeypatch.setattr(smkl, "FOLDS", 3)
    usual = {"loss": "epsilon_insensitive", "normalise": "trace"}
    model = UniformMKLRegressor(kernels=KernelDictionary((Linear(),)), **usual)
    found, score = smkl.chosen(TableLine("any"), model, spectra)
    assert score <= 0.0
    # a target without noise
    assert found.epsilon == pytest.approx(smkl.TUBES[0] * np.std(spectra.y))
    best = smkl.best_alone(TableLine("any"), usual, spectra)
    assert [spec.title for spec in best._map.specs] == ["linear"]
    squares = smkl.partial_least_squares(TableLine("any"), spectra)
    assert squares.best_params_["n_components"] > 1
    assert np.ravel(squares.predict(X)) == pytest.approx(spectra.y, abs=1e-2)


# Two cheap ones of different papers, and others of these and of two more papers.
RECORDED = ["lp_fig4_fig5", "hkl_fig2"]
MORE_RECORDED = ["lp_table2_fig6", "gomp_fig2", "smkl_table4"]


@every("key", [*RECORDED, *(MORE_RECORDED if EVERY_CASE else ())])
def test_a_small_run_gives_what_is_recorded(key):
    """The first line of it, to a tolerance: solvers stop at a gap, and another processor rounds
    otherwise.
    """
    experiment = EXPERIMENTS[key]
    kept = next(run for run in records(key) if run.quick)
    assert kept.rows == experiment.rows_on_disk(quick=True)
    assert kept.columns == experiment.columns
    line = experiment.run(1, kept.rows[:1], kept.seed, quick=True).samples[0, 0]
    assert line == pytest.approx(kept.samples[0, 0], rel=1e-3, abs=2e-3)


def test_bounds_of_the_two_examples_grow_as_they_should():
    found = dict(zip((run := EXPERIMENTS["lp_fig1"].run(1)).rows, run.mean, strict=True))
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
    monkeypatch.setattr(
        times, "AFRESH", {"interleaved": times.AFRESH["interleaved, p = 2, on the fly"]}
    )

    def stored(*_, **__):
        raise AssertionError("a Gram matrix was stored")

    monkeypatch.setattr(KernelDictionary, "grams", stored)
    line = times.by_size(TableLine("n = 40"))
    assert np.isnan(line[:-1]).all()
    assert np.isfinite(line[-1])


def test_exponents_of_run_times_are_slopes(monkeypatch):
    monkeypatch.setattr(times, "seconds", lambda line, n, M: [1e-3 * M * n**1.5, 1e-6 * M**2])
    assert EXPERIMENTS["smkl_times"].run(1).samples[:, 0].tolist() == [
        pytest.approx([1.0, 2.0]),
        pytest.approx([1.5, 0.0], abs=1e-9),
        pytest.approx([1.0, 2.0]),
    ]


def test_the_command_runs_lists_and_refuses(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(
        EXPERIMENTS,
        "tiny",
        replace(TINY, numbers={"made": (0.0, 9.0)}, rows=TINY.rows[:2], files={}),
    )
    assert (
        command.main(["tiny", "--small", "--rows", "made", "--out", str(tmp_path / "run.json")])
        == 0
    )
    said = capsys.readouterr().out
    assert "made\t1±0 (0)\t0.5±0.5 (9)" in said
    assert Outcome.from_json((tmp_path / "run.json").read_text()).quick
    assert command.main(["tiny", "--rows", "nothing"]) == 1
    assert "rows must be among made" in capsys.readouterr().err
    assert command.main([]) == 0
    listed = capsys.readouterr().out
    assert all(key in listed for key in EXPERIMENTS)


@every(
    "key, place",
    [(key, place) for key in EXPERIMENTS for place in range(len(records(key)))],
)
def test_what_comes_with_the_project_belongs_to_its_experiment(key, place):
    found = records(key)[place]
    experiment = EXPERIMENTS[key]
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
    small = "the one claim has no number in this run"
    rows = [
        ("1 of 3", "3", small, "nothing"),
        ("0 of 3", "2, small", small, "nothing"),
    ]
    assert [line[2:6] for line in command.overview()[1:]] == rows


# What every registered experiment owes its reader, and Fig. 1 of pursuit


@every("experiment", EXPERIMENTS.values())
def test_every_experiment_says_what_it_is(experiment):
    assert isinstance(experiment, Experiment)
    assert EXPERIMENTS[experiment.key] is experiment
    said = (
        experiment.title,
        experiment.paper,
        experiment.did,
        experiment.claims,
        experiment.open_points,
        experiment.unit,
    )
    assert all(said)
    assert set(experiment.numbers) | set(experiment.spread) | set(experiment.quick) <= set(
        experiment.rows
    )


def test_one_row_with_two_repetitions():
    experiment = EXPERIMENTS["gomp_fig1"]
    reported = []
    found = experiment.run(
        repetitions=2, rows=["0.82"], seed=1, callback=lambda *s: reported.append(s)
    )
    assert reported == [(1, 2), (2, 2)]
    assert found.samples.shape == (1, 2, 13)
    gomp, l1, q43, q2, q4, plain, kernels = found.mean[0, :7]
    # the grid of lam
    assert ((found.samples[0, :, 7:] >= -4) & (found.samples[0, :, 7:] <= 4)).all()
    # below the lower envelope, near the risk of Bayes
    assert 4.0 - 0.5 < gomp < min(l1, q43, q2, q4, plain)
    assert q2 < plain
    assert 4 <= kernels <= 20
    assert found.mean[0, :6] == pytest.approx(experiment.reference(["0.82"])[0][:6], abs=3.0)
    assert found.standard_error.shape == (1, 13)
    # of one
    assert np.isnan(Outcome("key", ("row",), ("a", "b"), np.ones((1, 1, 2))).standard_error).all()
    # seeded
    assert found.samples[0, 1] == pytest.approx(experiment.measure(TableLine("0.82", 1, 1)))
    for label, count in INFORMATIVE.items():  # rows are shares of features without information
        assert float(label) == pytest.approx(1 - count / 50, abs=0.005)
    with parameter_error(r"rows must be among 0, 0\.44"):
        experiment.run(1, ["0.5"])
    with parameter_error("repetitions must be a whole number"):
        experiment.run(0)


def test_extreme_sparsity_needs_one_kernel():
    line = EXPERIMENTS["gomp_fig1"].measure(TableLine("0.98"))
    assert line[6] == 1.0
    assert abs(line[0] - 4.0) < 1.0
    assert line[1] < line[3] < line[4] < line[5]  # the larger q, the worse
