"""Code that makes things again: it is run, and what it makes is compared with what it was made
from.
"""

from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_array_equal

import mklcore as mkl
import tests.io.test_script
from mklcore import (
    RBF,
    BlockNorm,
    EllipticNorm,
    KernelDictionary,
    KernelPCABasis,
    Laplacian,
    Linear,
    LpMKLClassifier,
    LpNorm,
    Polynomial,
    PolynomialBasis,
    WeightedLpNorm,
)
from mklcore.io.catalog import ESTIMATORS
from mklcore.io.script import LONGEST_LINE, call, code, dictionary_code, model_code
from mklcore.kernels.functions import KernelSpec
from tests.helpers.every import every


@dataclass(frozen=True)
class Newcomer:
    """A class unknown to the library."""

    width: float
    parts: tuple[KernelSpec, ...] = ()
    scale: float = 1.0


def made(text, name, **names):
    space = {"mkl": mkl, "np": np, "tests": tests} | names
    exec(compile(text, "code", "exec"), space)
    return space[name]


@every("value", [None, True, 3, -0.1, 1e-300, float("inf"), "a'b\n\"`", (1.5,), [1, "x"], {"a'": (2, None)}, np.float64(0.3), np.int64(4),  # noqa: E501
     RBF(0.5, relative=True), Linear(features=(1, 2), label="a'\n\"b"), WeightedLpNorm(2.0, (1.0, 2.0)),
     mkl.problem.penalties.LogTerm() + mkl.problem.penalties.GroupLasso(2.0), PolynomialBasis(3),
     KernelPCABasis(2, 0.5),
     LpNorm(float("inf")),
     Newcomer(0.5), Newcomer(2.0, (RBF(1.0), Linear()), scale=0.25)])  # fmt: skip
def test_code_makes_the_value_again(value):
    assert made(f"found = {code(value)}", "found") == value
    assert "\n" not in code(value)


def test_what_is_usual_is_not_reported():
    assert code(Linear()) == "mkl.Linear()"
    assert code(RBF(2.0)) == "mkl.RBF(width=2.0)"
    assert "scale" not in code(Newcomer(2.0))
    assert model_code(LpMKLClassifier()) == "model = mkl.LpMKLClassifier()"


def test_arrays_become_code():
    array = np.array([[0.1, 1 / 3], [np.pi, -0.0]])
    found = made(f"found = {code(array)}", "found")
    assert np.array_equal(found, array)
    assert np.signbit(found[1, 1])
    norm = EllipticNorm(np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert_array_equal(made(f"found = {code(norm)}", "found").E, norm.E)


NAMES = ("a'", 'b"', "c\n", "d", "e", "f")
SPECS = (
    KernelDictionary.rbf_grid([0.5, 1])
    + KernelDictionary.per_feature([Linear(), RBF(1.0)], 6)
    + KernelDictionary.per_feature(Laplacian(2.0, relative=True), 6)
    + KernelDictionary.per_group(Polynomial(2), {"g'\n": (0, 2)})
).specs


@every("kernels", [KernelDictionary(SPECS), KernelDictionary(SPECS, standardize=False, feature_names=NAMES),
     KernelDictionary.bands(3, Linear())])  # fmt: skip
def test_dictionaries_are_made_again(kernels):
    assert made(dictionary_code(kernels), "kernels") == kernels
    elsewhere = dictionary_code(kernels, "names")
    assert made(elsewhere, "kernels", names=NAMES) == kernels
    assert repr(NAMES[0]) not in elsewhere


def test_neighbours_become_one_line():
    text = dictionary_code(KernelDictionary(SPECS))
    assert "*(mkl.Laplacian(width=2.0, relative=True, features=(j,)) for j in range(0, 6))," in text
    few = KernelDictionary.per_feature(Linear(), 3)
    assert "range" not in dictionary_code(few)


def test_a_long_call_is_broken():
    short = call("f", "x", y="1")
    long = call("f", *(["argument"] * 20), y="1")
    assert short == "f(x, y=1)"
    assert max(map(len, long.splitlines())) <= LONGEST_LINE
    assert made(f"found = {long}", "found", f=lambda *parts, y: (len(parts), y), argument=0) == (
        20,
        1,
    )


@every("key", ESTIMATORS)
def test_every_estimator_is_made_again(key):
    algorithm = ESTIMATORS[key]
    for kind in {algorithm.classifier, algorithm.regressor} - {None}:
        usual = kind()
        numbers = {
            n: v
            for n, v in usual.get_params().items()
            if type(v) in (int, float) and n not in ("p", "n_starts")
        }
        changed = kind(**{name: value + 1 for name, value in numbers.items()}, callback=print)
        again = made(model_code(changed), "model")
        assert type(again) is kind
        assert again.get_params(deep=False) | {"callback": print} == changed.get_params(deep=False)
        assert model_code(usual) == f"model = mkl.{kind.__name__}()"


def test_parameters_may_be_left_out_or_stand_for_expressions():
    model = LpMKLClassifier(C=2.0, p=1.5, random_state=3, normalise="trace", penalty=BlockNorm(4.0))
    text = model_code(model, omit=("normalise",), penalty="price", kernels='"precomputed"')
    price = BlockNorm(3.0)
    again = made(text, "model", price=price)
    assert (again.C, again.p, again.random_state, again.normalise) == (2.0, 1.5, 3, "auto")
    assert again.penalty is price
    assert again.kernels == "precomputed"
