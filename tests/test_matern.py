"""The Matern kernel against scikit-learn, its limits, and everything that follows from its one line in the registry."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern as Reference

import mklcore as mkl
from mklcore.errors import KernelError, ParameterError
from mklcore.figures import style
from mklcore.kernels.functions import COMPOSED, KERNELS
from mklcore.kernels.notation import Entry, Recipe, read_entries, write_entries
from mklcore.kernels.sequences import SEQUENCE_KERNELS
from tests.every import every

SMOOTHNESS = [0.1, 0.5, 0.77, 1.5, 2.0, 2.5, 9.5, 20.0, math.inf]


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((2, 40, 3))


@every("width", [0.05, 1.0, 40.0])
@every("nu", SMOOTHNESS)
def test_it_equals_scikit_learn(rows, nu, width):
    train, new = rows
    stack = mkl.KernelDictionary((mkl.Matern(width, nu),), standardize=False).grams(train, normalise=None)
    reference = Reference(length_scale=width, nu=nu)
    assert stack.values[0] == pytest.approx(reference(train), abs=1e-12)
    assert stack.cross(new)[0] == pytest.approx(reference(new, train), abs=1e-12)


def test_its_limits(rows):
    train, _ = rows

    def gram(*specs):
        return mkl.KernelDictionary(specs, standardize=False).grams(train, normalise=None).values[0]

    assert np.array_equal(gram(mkl.Matern(0.8, math.inf)), gram(mkl.RBF(0.8)))
    column = mkl.Matern(0.8, 0.5, features=(1,)), mkl.Laplacian(0.8, features=(1,))
    assert gram(column[0]) == pytest.approx(gram(column[1]), abs=1e-15)
    near, far = (np.abs(gram(mkl.Matern(0.8, nu)) - gram(mkl.RBF(0.8))).max() for nu in (20.0, 1.5))
    assert near < 0.1 * far


def test_a_relative_width_counts_median_distances(rows):
    train, _ = rows
    unit = np.median([np.linalg.norm(a - b) for i, a in enumerate(train) for b in train[i + 1 :]])
    relative = mkl.KernelDictionary((mkl.Matern(0.5, 2.5, relative=True),), standardize=False).grams(train)
    absolute = mkl.KernelDictionary((mkl.Matern(0.5 * unit, 2.5),), standardize=False).grams(train)
    assert relative.values == pytest.approx(absolute.values, abs=1e-12)


@every(
    "text, words",
    [
        ("mat@*", "mat takes 1 to 2 numbers"),
        ("mat1+2+3@*", "mat takes 1 to 2 numbers"),
        ("xyz1@*", "no kernel called 'xyz'"),
        ("linm@*", "no kernel called 'linm'"),
        ("pol2m@*", "pol has no width"),
    ],
)
def test_text_that_says_no_kernel_is_refused(text, words):
    with pytest.raises(KernelError, match=words):
        read_entries(text, 3)


def test_what_is_not_registered_cannot_be_written():
    class Elsewhere(mkl.Linear):
        family = "elsewhere"

    with pytest.raises(KernelError, match="needs a line in KERNELS"):
        write_entries([Entry(Elsewhere())])


def test_a_recipe_puts_it_on_all_columns_and_on_each():
    specs = Recipe(widths=0, linear=False, degree=0, each="matern", others="matern").specs(2)
    relative = [mkl.Matern(width, relative=True) for width in (0.25, 1.0, 4.0)]
    assert list(specs[:3]) == relative
    assert [spec.features for spec in specs[3:]] == [(0,), (1,)]
    with pytest.raises(ParameterError, match="others of a recipe are from matern"):
        Recipe(others="wavelet")


def test_every_family_has_a_hue_of_its_own():
    families = (
        [entry.spec.family for entry in (*KERNELS.values(), *SEQUENCE_KERNELS.values())]
        + [*COMPOSED]
        + ["hkl", "precomputed", "view"]
    )
    assert len({style.FAMILY_HUES[family] for family in families}) == len(families) == len(style.FAMILY_HUES)


@every("field, value", [("nu", 0.0), ("nu", 21.0), ("nu", "rough"), ("width", -1.0)])
def test_numbers_out_of_range_are_refused(field, value):
    with pytest.raises(ParameterError, match=f"Matern: {field} must be a number between"):
        mkl.Matern(**({"width": 1.0} | {field: value}))
