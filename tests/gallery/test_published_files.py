"""Experiments on files of kernels: what a file has to hold, what stands in for it, and local models
of a network.
"""

import numpy as np
import pytest
from sklearn.svm import SVC

import mklcore as mkl
from mklcore.errors import DataError, KernelError
from mklcore.gallery.experiments import TableLine, proteins, smkl
from tests.helpers.every import every
from tests.helpers.refusals import data_error

PROTOCOLS = ("lp_table1", "lp_table2_fig6", "gomp_fig2", "smkl_table2", "smkl_table3")


def on_file(measure, row, folder):
    return measure(TableLine(row, quick=True, folder=str(folder)))


@pytest.mark.parametrize("key", PROTOCOLS)
def test_a_stand_in_runs_under_its_own_name_and_beside_no_published_number(key, tmp_path):
    experiment = mkl.EXPERIMENTS[key]
    (made,) = experiment.rows_on_disk(tmp_path)
    assert made.endswith("a stand-in")
    assert np.isnan(experiment.reference([made])).all()
    assert np.isfinite(experiment.reference(experiment.rows[:1])).any()
    files = experiment.files
    assert set(files) == set(experiment.rows) - {made}
    # the page says which files would do
    assert all(name in experiment.open_points for name in files.values())
    with data_error("is needed, and it is not in"):
        experiment.run(1, experiment.rows[:1], data=tmp_path)


def test_proteins_by_the_protocols_of_both_papers(tmp_path, monkeypatch):
    monkeypatch.setattr(proteins, "LAMS", np.array([1e-2, 1e-1]))
    monkeypatch.setattr(proteins, "SIZES", (1, 5))
    monkeypatch.setattr(proteins, "NORMS", (1.0, 2.0, np.inf))
    monkeypatch.setattr(proteins, "QUICK_COSTS", (1.0, 4.0))
    K, y = proteins.made_proteins(120, 1, seed=1)
    np.savez(tmp_path / "plant.npz", K=K, y=np.array(["a", "b", "c", "d"])[y])
    errors = on_file(proteins.norms, "plant", tmp_path)
    assert len(errors) == 3
    assert max(errors) < 60  # chance is 100
    *scores, greedy, all_norms = on_file(proteins.greedy, "plant", tmp_path)
    assert min(scores[:3]) > 50
    assert scores[0] > scores[3]  # five kernels tell more than one
    assert 1 <= greedy <= 5
    assert all_norms <= len(K)


def test_the_scores_of_the_protein_papers():
    said = np.array([0, 0, 1, 1, 2, 0])
    y = np.array([0, 0, 1, 2, 2, 1])
    # class 0: TP 2, FP 1, FN 0, TN 3; class 1: TP 1, FP 1, FN 1, TN 3; class 2: TP 1, FP 0, FN 1,
    # TN 4
    single = (
        (2 * 3 - 0) / np.sqrt(3 * 2 * 4 * 3),
        (3 - 1) / np.sqrt(2 * 2 * 4 * 4),
        4 / np.sqrt(1 * 2 * 4 * 5),
    )
    assert proteins.mean_correlation(y, said) == pytest.approx(np.mean(single))
    assert proteins.mean_f1(y, said) == pytest.approx(np.mean([4 / 5, 1 / 2, 2 / 3]))


def test_kernels_are_scaled_on_the_training_rows_and_constant_ones_dropped(rng):
    X = rng.standard_normal((12, 3))
    train = np.arange(8)
    K = np.stack([X @ X.T, np.ones((12, 12)), 7.0 * X @ X.T])
    found = proteins.multiplicative(K, train)
    assert len(found) == 2
    assert found[0] == pytest.approx(found[1])
    assert found[0] == pytest.approx(K[0] / np.var(X[train], axis=0).sum())


def test_local_models_are_one_machine_per_known_thing():
    K, network = proteins.made_network(30, seed=2)
    known = np.arange(24)
    new = np.arange(24, 30)
    scores = proteins.local_scores(
        mkl.LpMKLClassifier(p=np.inf, tol=1e-6), K[:2], network, known, new
    )
    assert scores.shape == (6, 24)
    total = K[:2].sum(axis=0)
    seen = 0
    for one in known:
        rest = known[known != one]
        y = network[one, rest]
        if y.sum() < 3:
            assert np.isnan(scores[:, one]).all()
            continue
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(total[np.ix_(rest, rest)], y)
        assert scores[:, one] == pytest.approx(
            machine.decision_function(total[np.ix_(new, rest)]), abs=2e-3
        )
        seen += 1
    assert 0 < seen < 24


def test_a_network_from_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(proteins, "PAIR_NORMS", (np.inf, 1.0))
    monkeypatch.setattr(proteins, "MORE_NORMS", (1.0,))
    K, network = proteins.made_network(30, seed=0)
    np.savez(tmp_path / "metabolic.npz", K=K, edges=np.argwhere(np.triu(network)))
    line = on_file(proteins.enzymes, "enzymes of yeast", tmp_path)
    assert len(line) == 3 + 2 + 1 + 3
    assert line[3] > 50.0
    alignment = mkl.alignment_matrix(K)
    assert line[-3:] == pytest.approx([alignment[0, 1], alignment[0, 2], alignment[1, 2]])
    assert len(proteins.recombined(K)) == 11
    np.savez(tmp_path / "metabolic.npz", K=K[:2], edges=np.argwhere(np.triu(network)))
    with data_error(r"metabolic\.npz holds 2 kernels; expected three"):
        on_file(proteins.enzymes, "enzymes of yeast", tmp_path)


def test_mass_spectra_and_an_image_from_files(tmp_path, monkeypatch, rng):
    monkeypatch.setattr(smkl, "QUICK_CLASS_COSTS", np.array([100.0]))
    X = rng.standard_normal((60, 403))
    y = np.arange(60) % 2
    X[:, 30:40] += 3.0 * y[:, None]
    np.savez(tmp_path / "ovarian.npz", X=X, y=np.where(y, "cancer", "control"))
    right, mkl_right, all_right, groups, _ = on_file(smkl.mass_spectra, "ovarian", tmp_path)
    assert right == mkl_right == 100.0
    assert all_right >= 50
    assert groups <= 3  # ten readings of 400 are two or three of forty groups
    cube, classes = smkl.made_image(12, seed=0)
    classes[0] = 0
    np.savez(tmp_path / "indian_pines.npz", cube=cube[:, :, :3], classes=classes)
    line = on_file(smkl.image, "Indian Pines", tmp_path)
    assert line[0] > line[2]  # what is around a pixel helps
    assert line[3] <= line[4] <= 44


def test_surroundings_are_means_and_deviations_of_windows():
    cube = np.random.default_rng(0).standard_normal((7, 8, 2))
    parts = smkl.surroundings(cube)
    assert len(parts) == 11
    window = cube[2:5, 3:6, 1]
    assert (parts[1][3, 4, 1], parts[2][3, 4, 1]) == (
        pytest.approx(window.mean()),
        pytest.approx(window.std()),
    )


ONE = np.eye(4)[None]


@every("measure, name, arrays, error, words", [
    (proteins.labelled, "plant", {"K": ONE}, DataError,
     r"plant\.npz holds arrays {'K': \(1, 4, 4\)}; expected numbers {'K': 'mnn', 'y': 'n'}"),
    (proteins.labelled, "plant", {"K": ONE, "y": np.arange(3)}, DataError, r"'y': \(3,\)}; expected"),
    (proteins.labelled, "plant", {"K": ONE, "y": np.array([{}] * 4)}, DataError, r"no archive of plain arrays \(Value"),
    (proteins.labelled, "plant", {"K": -ONE, "y": np.arange(4)}, KernelError, r"kernel 0 of plant\.npz"),
    (proteins.network, "metabolic", {"K": ONE, "edges": np.zeros((2, 3), dtype=int)}, DataError,
     r"'edges': \(2, 3\)}; expected numbers {'K': 'mnn', 'edges': 'a2'}"),
    (proteins.network, "metabolic", {"K": ONE, "edges": np.array([[0, 4]])}, DataError, "whole numbers from 0 to 3"),
    (proteins.network, "metabolic", {"K": ONE, "edges": np.array([[0, 0.5]])}, DataError, "whole numbers from 0 to 3"),
    (proteins.network, "metabolic", {"K": ONE, "edges": np.zeros((0, 2))}, DataError, "whole numbers from 0 to 3"),
    (smkl.mass_spectra, "ovarian", {"X": np.zeros((4, 3)), "y": np.zeros(3)}, DataError,
     r"ovarian\.npz holds arrays {'X': \(4, 3\), 'y': \(3,\)}"),
    (smkl.mass_spectra, "ovarian", {"X": np.full((4, 3), "a"), "y": np.zeros(4)}, DataError, "expected numbers"),
    (smkl.image, "indian_pines", {"cube": np.zeros((4, 3, 2)), "classes": np.zeros(4)}, DataError,
     r"indian_pines\.npz holds arrays {'cube': \(4, 3, 2\), 'classes': \(4,\)}"),
])  # fmt: skip
def test_a_file_that_holds_something_else_is_refused(measure, name, arrays, error, words, tmp_path):
    np.savez(tmp_path / f"{name}.npz", **arrays)
    row = {"ovarian": "ovarian", "indian_pines": "Indian Pines"}.get(name, "plant")
    with pytest.raises(error, match=words):
        on_file(measure, row, tmp_path)
