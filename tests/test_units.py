"""What a table is made of for a dictionary: columns, groups, bands or clusters, and the kernels recommended."""

import numpy as np

import mklcore as mkl
from mklcore.data.dataset import Dataset
from mklcore.kernels.dictionary import MOST_UNITS, units
from mklcore.kernels.functions import Delta

RNG = np.random.default_rng(0)


def made(n: int = 240, noise: int = 4, task: str = "binary", seed: int = 1) -> Dataset:
    """One straight column, one bent one, one category of three values, and columns of noise; only the first three
    count.
    """
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


def test_columns_that_carry_the_same_are_one_cluster():
    sources = RNG.normal(size=(200, 10))
    X = np.hstack([sources + 0.05 * RNG.normal(size=(200, 10)) for _ in range(6)])
    found = units(Dataset(X, (X[:, 0] > 0).astype(int), task="binary"))
    home = {j: k for k, unit in enumerate(found) for j in unit.columns}
    assert len(found) <= MOST_UNITS
    assert all(home[j] == home[j + 10 * k] for j in range(10) for k in range(6))


def test_delta_is_equality_of_codes():
    codes = np.array([[0, 1], [1, 0], [0, 1], [1, 1]], dtype=float)
    stack = mkl.KernelDictionary((Delta(),)).grams(codes, normalise=None)
    equal = (codes[:, None] == codes[None]).all(axis=-1)
    np.testing.assert_array_equal(stack.values[0], equal)
    np.testing.assert_array_equal(stack.cross(codes[2:])[0], equal[2:])


def test_numbered_categories_are_no_spectrum():
    X = RNG.integers(0, 3, size=(60, 56)).astype(float)
    data = Dataset(X, X[:, 0], tuple(f"attribute{j + 2}" for j in range(56)), task="regression")
    assert {unit.kind for unit in units(data)} == {"cluster"}
