"""Every sample loads, from anywhere, and is what its registry entry says."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mklcore.data import synthetic
from mklcore.data.dataset import Dataset, three_way_split
from mklcore.data.samples import SAMPLES, _rounded, load_sample
from mklcore.data.synthetic import make_mkl_toy
from mklcore.errors import DataError
from tests.every import every

SHAPES = {
    "breast_cancer": (569, 30, 2),
    "diabetes": (442, 10, 0),
    "digit_views": (240, 185, 4),
    "digits": (1797, 64, 2),
    "iris": (150, 4, 3),
    "mkl_toy": (400, 50, 2),
    "mkl_toy_dense": (400, 50, 2),
    "mkl_toy_sparse": (400, 50, 2),
    "ring": (300, 2, 1),
    "sparse_polynomial": (500, 12, 0),
    "spectra": (200, 150, 0),
    "wine": (178, 13, 3),
}


def test_the_registry_is_complete():
    assert set(SAMPLES) == set(SHAPES)


@every("name", SAMPLES)
def test_sample(name):
    data = load_sample(name)
    sample = SAMPLES[name]
    assert isinstance(data, Dataset)
    assert (data.n_samples, data.n_features, len(data.class_names)) == SHAPES[name]
    assert data.task == sample.task
    assert data == load_sample(name)
    assert sample.label
    assert data.notes
    assert 40 < len(sample.teaches) < 120
    assert "\n" not in sample.teaches
    grouped = sorted(j for _, members in data.groups for j in members)
    assert grouped in ([], list(range(data.n_features)))
    parts = three_way_split(data, 0.2, 0.2, seed=0)
    assert sum(part.n_samples for part in parts) == data.n_samples


def test_digits_are_odd_or_even():
    data = load_sample("digits")
    assert data.class_names == ("even", "odd")
    assert data.y[:4].tolist() == ["even", "odd", "even", "odd"]  # the first four pictures are 0, 1, 2, 3
    assert data.feature_names[9] == "pixel_1_1"
    blank = int((np.ptp(data.X, axis=0) == 0).sum())
    assert data.notes[1].startswith(f"{blank} pixels")


def test_labels_are_words():
    assert load_sample("breast_cancer").class_names == ("benign", "malignant")
    assert load_sample("iris").class_names == ("setosa", "versicolor", "virginica")
    assert load_sample("iris").groups == (("sepal", (0, 1)), ("petal", (2, 3)))


def test_the_toy_is_the_generator():
    assert load_sample("mkl_toy") == make_mkl_toy(400, 9, seed=0)[0]


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(DataError, match="no sample 'irises'") as caught:
        load_sample("irises")
    assert all(f"'{name}'" in str(caught.value) for name in SAMPLES)


def test_samples_need_no_folder(tmp_path):
    """A process elsewhere, which sees the package and not the checkout's sample_data, loads all of them."""
    package = Path(sys.modules["mklcore.errors"].__file__ or "").parent
    (tmp_path / "mklcore").symlink_to(package, target_is_directory=True)
    code = "from mklcore.data.samples import SAMPLES, load_sample; print(sorted(load_sample(n).task for n in SAMPLES))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.count("binary") == 5


def test_the_readme_names_every_sample():
    readme = (Path(__file__).parent.parent / "sample_data" / "README.md").read_text(encoding="utf-8")
    for name, (rows, columns, _) in SHAPES.items():
        assert f"| `{name}` | {rows} x {columns} |" in readme


@every("name", list(SAMPLES))
def test_source_and_licence_stand_in_the_readme(name):
    readme = (Path(__file__).parent.parent / "sample_data" / "README.md").read_text(encoding="utf-8")
    sample = SAMPLES[name]
    assert sample.source
    assert sample.licence
    assert f"| `{name}` | {sample.source} | {sample.licence} |" in readme
    if sample.source.startswith("generated: "):  # what is said to make it does
        call = re.match(r"generated: (\w+)\((.*?)\)", sample.source)
        arguments = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", call[2])}
        made = getattr(synthetic, call[1])(**arguments)[0]
        assert (_rounded(made) if sample.source.endswith(", rounded") else made) == load_sample(name)


@pytest.mark.parametrize("name", ["digit_views", "sparse_polynomial", "spectra"])
def test_computed_samples_have_one_fingerprint_on_every_processor(name):
    data = load_sample(name)
    other = np.random.default_rng(0).uniform(-1e-13, 1e-13, data.X.shape)
    assert _rounded(replace(data, X=data.X + other)) == data
