"""The first answer for a table: what a table is made of, the recommended dictionary, and which columns count."""

import numpy as np
import pytest

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.data.spectra import prepared
from mklcore.errors import DataError
from mklcore.kernels.functions import Delta, Linear
from mklcore.kernels.units import MOST_UNITS, units

RNG = np.random.default_rng(0)


def made(n: int = 240, noise: int = 4, task: str = "binary", seed: int = 1) -> Dataset:
    """One straight column, one bent one, one category of three values, and columns of noise; only the first three count."""
    rng = np.random.default_rng(seed)
    straight, bent, kind = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n)
    value = 1.5 * straight + 2.0 * np.abs(bent) + np.array([2.0, -2.0, 0.0])[kind] + 0.1 * rng.normal(size=n)
    X = np.column_stack([straight, bent, *(kind == k for k in range(3)), rng.normal(size=(n, noise))])
    names = ("straight", "bent", "kind=a", "kind=b", "kind=c", *(f"noise {j}" for j in range(noise)))
    columns = (
        ("straight", (0,)),
        ("bent", (1,)),
        ("kind", (2, 3, 4)),
        *((f"noise {j}", (5 + j,)) for j in range(noise)),
    )
    y = value if task == "regression" else (value > np.median(value)).astype(int)
    return Dataset(X, y, names, task=task, columns=columns)


def test_delta_is_equality_of_codes():
    codes = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], dtype=float)
    stack = mkl.KernelDictionary((Delta(),)).grams(codes, normalise=None)
    equal = (codes[:, None] == codes[None]).all(axis=-1)
    np.testing.assert_array_equal(stack.values[0], equal)
    np.testing.assert_array_equal(stack.cross(codes[2:])[0], equal[2:])


def test_every_kernel_sees_one_source_column_or_everything():
    data = made()
    dictionary = mkl.KernelDictionary.recommended(data)
    homes = [set(members) for _, members in data.columns]
    seen = [set(spec.columns(data.n_features)) for spec in dictionary]
    whole = [columns for columns in seen if len(columns) == data.n_features]
    assert len(whole) == 2
    assert all(columns in homes for columns in seen if len(columns) < data.n_features)
    assert len(mkl.KernelDictionary.recommended(data, whole=False)) == len(dictionary) - 2
    assert [type(spec).__name__ for spec in dictionary if set(spec.columns(data.n_features)) == {2, 3, 4}] == ["Delta"]


def test_a_wide_table_is_seen_by_groups_bands_or_clusters():
    X = RNG.normal(size=(80, 60))
    y = (X[:, 0] > 0).astype(int)
    numbered = Dataset(X, y, tuple(f"x{j + 1}" for j in range(60)), task="binary")
    assert {unit.kind for unit in units(numbered)} == {"cluster"}
    spectrum = Dataset(X, y, tuple(f"{850 + 2 * j}" for j in range(60)), task="binary")
    assert [unit.kind for unit in units(spectrum)] == ["band"] * MOST_UNITS
    grouped = Dataset(X, y, task="binary", groups=(("front", tuple(range(30))), ("back", tuple(range(30, 60)))))
    assert [unit[::2] for unit in units(grouped)] == [("front", "group"), ("back", "group")]
    for data in (numbered, spectrum, grouped):
        assert sorted(j for unit in units(data) for j in unit.columns) == list(range(60))


def test_wavelengths_beside_other_columns_are_bands_and_columns():
    X = RNG.normal(size=(30, 52))
    names = ("water", *(f"nm{850 + 2 * j}" for j in range(50)), "ash")
    found = units(Dataset(X, X[:, 0], names, task="regression"))
    assert [(unit.name, unit.kind) for unit in found[-2:]] == [("water", "column"), ("ash", "column")]
    assert {unit.kind for unit in found[:-2]} == {"band"}
    assert sorted(j for unit in found for j in unit.columns) == list(range(52))
    assert [names[j] for j in found[0].columns] == ["nm850", "nm852"]


def test_without_curved_kernels_every_column_counts_along_a_straight_line():
    names = {type(spec).__name__ for spec in mkl.KernelDictionary.recommended(made(40), curved=False)}
    assert names == {"Linear", "Delta"}


def test_where_a_linear_model_is_ahead_straight_lines_are_tried_and_told():
    rng = np.random.default_rng(3)
    at = np.arange(60)
    X = rng.normal(size=(120, 8)) @ np.exp(-((at - np.linspace(0, 59, 8)[:, None]) ** 2) / 200)
    y = X[:, 20] - X[:, 28] + X[:, 40]
    data = Dataset(X, y + 0.02 * rng.normal(size=120), tuple(f"{900 + 2 * j}" for j in at), task="regression")
    found = mkl.explore(data)
    assert all(isinstance(spec, Linear) for spec in found.dictionary)
    told = next(note for note in found.notes if "behind a linear model" in note)
    assert told.endswith(f"their straight lines alone reach {found.score:.3g} and are used instead.")


def test_a_first_look_fits_no_plain_models_and_tries_nothing_else():
    looked = mkl.explore(made(120), baselines=False)
    assert looked.baselines == {}
    assert looked.dictionary == mkl.KernelDictionary.recommended(made(120))
    assert set(looked.test_scores()) == {"ours"}


def test_with_many_classes_the_grid_is_coarse_and_its_ratio_larger():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 5
    X[:, 0] += y
    found = mkl.explore(Dataset(X, y, task="multiclass"), baselines=False)
    few = mkl.explore(Dataset(X, y % 3, task="multiclass"), baselines=False)
    assert found.path.values[1] / found.path.values[0] > 5.0 > few.path.values[1] / few.path.values[0]


def test_spectra_are_prepared_as_the_validation_rows_prefer_and_left_alone_on_request():
    rng = np.random.default_rng(0)
    at, hidden = np.arange(44), rng.uniform(1, 2, size=(64, 2))
    peaks = np.exp(-((at - np.array([[12], [32]])) ** 2) / 30)
    X = hidden @ peaks * rng.uniform(0.5, 2, size=(64, 1)) + rng.normal(size=(64, 1))  # other strength, other offset
    y = hidden[:, 0] / hidden[:, 1]
    names = (*(f"{900 + 2 * j}" for j in at), "weight")
    data = Dataset(np.column_stack([X, rng.normal(size=64)]), y, names, task="regression")
    found, plain = mkl.explore(data), mkl.explore(data, preparation="")
    assert (found.preparation in ("rows", "both"), plain.preparation) == (True, "")
    assert found.score > plain.score + 0.01
    assert any(note.startswith("Spectra are taken standardised row by row") for note in found.notes)
    assert found.test_scores()["ours"] > 0.9
    assert found.test_scores()["linear"] == plain.test_scores()["linear"]  # of rows as they are
    assert {one.name for one in found.columns} == {one.name for one in plain.columns}
    assert "weight" in found._repr_html_()
    assert mkl.explore(prepared(data, "differences"), baselines=False).preparation == ""  # nothing is left to try


def test_columns_that_carry_the_same_are_one_cluster():
    sources = RNG.normal(size=(200, 10))
    X = np.hstack([sources + 0.05 * RNG.normal(size=(200, 10)) for _ in range(6)])
    found = units(Dataset(X, (X[:, 0] > 0).astype(int), task="binary"))
    home = {j: k for k, unit in enumerate(found) for j in unit.columns}
    assert len(found) <= MOST_UNITS
    assert all(home[j] == home[j + 10 * k] for j in range(10) for k in range(6))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_columns_that_count_are_ranked_first(task):
    found = mkl.explore(made(task=task))
    assert {one.name for one in found.columns[:3]} == {"straight", "bent", "kind"}
    assert all(one.importance <= 0.05 for one in found.columns[3:])
    assert len(found.columns) == 7
    assert set(found.baselines) == {
        "majority" if task == "binary" else "mean",
        "linear",
        "RBF",
        "uniform sum",
        "best single kernel",
    }
    assert found.score > found.baselines["linear"]  # one column is bent
    assert found.score == pytest.approx(max(found.path.val_score))
    assert set(found.test_scores()) == {"ours", *found.baselines}
    assert "straight" in found._repr_html_()


def test_rows_are_drawn_and_told_and_scores_can_be_chosen():
    rare = made(400)
    y = (rare.X[:, 0] > np.quantile(rare.X[:, 0], 0.95)).astype(int)
    data = Dataset(rare.X, y, rare.feature_names, task="binary", columns=rare.columns)
    found = mkl.explore(data, max_rows=100, scoring="balanced_accuracy")
    assert (found.rows.used, found.rows.of) == (100, 400)
    assert "drawn by class" in found.rows.how
    assert found.baselines["majority"] == 0.5
    assert any("A class is rare" in note for note in found.notes)


def test_it_can_be_cancelled_and_refuses_a_table_without_a_target():
    def stop(done: int, total: int) -> None:
        if done == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        mkl.explore(made(), callback=stop)
    with pytest.raises(DataError, match="no target, so no column can matter"):
        mkl.explore(Dataset(RNG.normal(size=(30, 2)), np.ones(30, dtype=int), task="novelty"))
