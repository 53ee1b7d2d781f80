"""Several tables as views: joined by a key, rows missing in some of them masked, kernels by view, saved and loaded."""

import io

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import mklcore as mkl
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.views import InView
from mklcore.verify import verify

N = 40


def csv(columns):
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]).encode()


@pytest.fixture(scope="module")
def numbers():
    return np.random.default_rng(0).standard_normal((N, 4)).round(4)


def tables(numbers, sound_rows=range(N), looks_rows=range(N)):
    sound = {"id": [f"r{i}" for i in sound_rows], "pitch": numbers[sound_rows, 0], "size": numbers[sound_rows, 1]}
    looks = {"id": [f"r{i}" for i in looks_rows], "width": numbers[looks_rows, 2], "size": numbers[looks_rows, 3]}
    looks["target"] = (numbers[looks_rows, 0] + numbers[looks_rows, 2]).round(4)
    return {"sound": csv(sound), "looks": csv(looks)}


def test_tables_are_groups_of_columns_in_the_rows_of_the_key(numbers):
    order = np.random.default_rng(1).permutation(N)
    data = mkl.read_tables(tables(numbers, looks_rows=order), key="id", target="target")
    assert [(name, [data.feature_names[j] for j in members]) for name, members in data.groups] == [
        ("sound", ["pitch", "sound size"]),
        ("looks", ["width", "looks size"]),
    ]
    assert pytest.approx(numbers) == data.X
    assert data.y == pytest.approx(numbers[:, 0] + numbers[:, 2], abs=1e-4)
    assert data.present == ()
    assert "joined by 'id'" in data.notes[0]


def test_key_and_target_are_found(numbers):
    data = mkl.read_tables(list(tables(numbers).values()), names=["a", "b"])
    assert data.target_name == "target"
    assert "share whose values are all different" in data.notes[0]
    assert [name for name, _ in data.groups] == ["a", "b"]


def test_tables_without_a_key_stand_side_by_side(numbers):
    left, right = csv({"a": numbers[:, 0], "b": numbers[:, 1]}), csv({"c": numbers[:, 2], "y": numbers[:, 3]})
    data = mkl.read_tables([left, right], target="y")
    assert pytest.approx(numbers[:, :3]) == data.X
    assert [name for name, _ in data.groups] == ["view 1", "view 2"]
    assert "same order" in data.notes[0]


def test_keys_are_one_whether_numbers_or_texts(numbers):
    left = csv({"id": [f"{i}.0" for i in range(N)], "a": numbers[:, 0]})
    right = csv({"id": range(N), "y": numbers[:, 1]})
    assert mkl.read_tables([left, right], "id", "y").n_samples == N


@pytest.fixture(scope="module")
def partial(numbers):
    return mkl.read_tables(tables(numbers, sound_rows=list(range(5, N))), key="id", target="target")


def test_rows_missing_in_a_view_stay_and_are_marked(partial, numbers):
    assert partial.n_samples == N
    ((view, column),) = partial.present
    missing = partial.X[:, column] < 0
    assert view == "sound"
    assert missing.sum() == 5
    assert column in dict(partial.groups)["sound"]
    pitch = partial.X[:, partial.feature_names.index("pitch")]
    assert np.unique(pitch[missing]) == pytest.approx([np.median(numbers[5:, 0])])
    assert any("5 rows of 40 missing in the view 'sound'" in note for note in partial.notes)
    dropped = mkl.read_tables(tables(numbers, sound_rows=list(range(5, N))), key="id", target="target", missing="drop")
    assert dropped.n_samples == N - 5
    assert dropped.present == ()


def test_parts_of_the_data_keep_what_is_present(partial):
    train, test = partial.split(0.3, seed=0)
    assert train.present == test.present == partial.present
    kept = partial.drop(["pitch"])
    ((_, column),) = kept.present
    assert kept.feature_names[column] == "sound: present"
    assert partial.drop(["sound: present"]).present == ()
    assert kept.fingerprint != partial.drop(["sound: present"]).fingerprint


def test_masked_kernel_is_the_kernel_of_the_rows_that_are_there(partial):
    kernels = mkl.KernelDictionary.views(partial, mkl.RBF(0.5, relative=True))
    stack = kernels.grams(partial.X, normalise=None)
    ((_, column),) = partial.present
    there = partial.X[:, column] > 0
    columns = [j for j in dict(partial.groups)["sound"] if j != column]
    Z = (partial.X[:, columns] - partial.X[:, columns].mean(axis=0)) / partial.X[:, columns].std(axis=0)
    inside = Z[there]
    apart = np.sqrt(((inside[:, None] - inside[None]) ** 2).sum(axis=2))
    width = 0.5 * np.median(apart[np.triu_indices(len(inside), 1)])
    expected = np.zeros((N, N))
    expected[np.ix_(there, there)] = rbf_kernel(inside, gamma=0.5 / width**2)
    assert isinstance(kernels.specs[0], InView)
    assert stack.values[0] == pytest.approx(expected, abs=1e-9)
    assert np.linalg.eigvalsh(stack.values[0]).min() > -1e-9
    assert stack.cross(partial.X) == pytest.approx(stack.values)


def test_a_missing_row_gets_nothing_from_its_view(partial):
    model = mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.views(partial), p=1.5, C=10.0).fit(partial.X, partial.y)
    parts = model.contributions(partial.X)
    ((_, column),) = partial.present
    missing = partial.X[:, column] < 0
    sound = [m for m, name in enumerate(model.kernel_names_) if "sound" in name]
    assert len(sound) == 2
    assert np.abs(parts[sound][:, missing]).max() == 0.0
    assert np.abs(parts[sound][:, ~missing]).max() > 0.1
    assert model.relative_gap_ < 1e-3


def test_masked_models_are_saved_loaded_and_verified(partial, tmp_path):
    model = mkl.LpMKLRegressor(kernels=mkl.KernelDictionary.views(partial), C=1.0).fit(partial.X, partial.y)
    file = io.BytesIO()
    mkl.save_model(file, model)
    raw = file.getvalue()
    (tmp_path / "views.mkl").write_bytes(raw)
    lines = verify(tmp_path / "views.mkl", {"X": partial.X, "y": partial.y})
    assert all(line.holds for line in lines), lines
    file.seek(0)
    assert mkl.load_model(file).predict(partial.X) == pytest.approx(model.predict(partial.X))


def test_first_answer_of_views_names_them(partial):
    kernels = mkl.KernelDictionary.recommended(partial, most_columns=2)
    assert any(name.endswith("sound, where present") for name in kernels.names)
    assert any(name == "linear looks" for name in kernels.names)
    assert len(mkl.KernelDictionary.interactions(partial, order=1, most_columns=2)) == 4


def test_files_name_their_views(numbers, tmp_path):
    for name, raw in tables(numbers).items():
        (tmp_path / f"{name}.csv").write_bytes(raw)
    data = mkl.read_tables([tmp_path / "sound.csv", tmp_path / "looks.csv"], target="target")
    assert [name for name, _ in data.groups] == ["sound", "looks"]


def test_refusals(numbers):
    both = tables(numbers)
    with pytest.raises(ParameterError, match="two tables or more"):
        mkl.read_tables([both["sound"]])
    with pytest.raises(ParameterError, match="different names"):
        mkl.read_tables(list(both.values()), names=["a", "a"])
    with pytest.raises(DataError, match="no column 'code'"):
        mkl.read_tables(both, key="code")
    with pytest.raises(DataError, match="more than one row"):
        mkl.read_tables([csv({"id": [1, 1], "a": [1, 2]}), csv({"id": [1, 2], "y": [1, 2]})], key="id")
    with pytest.raises(DataError, match="no key"):
        mkl.read_tables([csv({"a": [1, 2, 3]}), csv({"y": [1, 2]})])
    with pytest.raises(DataError, match="No row is in all"):
        mkl.read_tables([csv({"id": [1, 2], "a": [1, 2]}), csv({"id": [3, 4], "y": [1, 2]})])
    with pytest.raises(DataError, match="in several tables"):
        mkl.read_tables(both, key="id", target="size")
    with pytest.raises(DataError, match="no groups"):
        mkl.KernelDictionary.views(mkl.Dataset(numbers, numbers[:, 0]))
    with pytest.raises(DataError, match="1 and -1"):
        mkl.Dataset(numbers, numbers[:, 0], groups=(("a", (0,)),), present=(("a", 0),))
    with pytest.raises(ParameterError, match="one kernel"):
        InView("linear", 0)
    with pytest.raises(KernelError, match="column"):
        mkl.KernelDictionary((InView(mkl.Linear(features=(9,)), 0),)).grams(numbers)
