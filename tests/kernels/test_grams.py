"""Gram stacks: normalisations by their definitions, test blocks, cutting, refusals."""

import io
import pickle
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import RBF, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import (
    GramStack,
    alignment_matrix,
    as_stack,
    check_gram,
    duplicates,
    effective_rank,
    effective_rows,
    target_alignment,
)
from mklcore.kernels.kernel_map import NORMALISATIONS
from mklcore.kernels.stacks import read_stack
from tests.helpers.every import every
from tests.helpers.refusals import kernel_error, refused

DICTIONARY = KernelDictionary(
    (
        RBF(0.5, relative=True),
        RBF(2.0, relative=True),
        Linear(),
        Polynomial(3),
        Laplacian(1.0, relative=True, features=(0, 2)),
        Linear(features=(3,)),
        RBF(1.5, features=(1, 2)),
        Polynomial(2, coef0=0.0, features=(0, 2)),
    )
)


@pytest.fixture
def X():
    return np.random.default_rng(4).standard_normal((83, 4)) * [1, 10, 0.1, 3] + 5


@pytest.fixture
def X_new():
    return np.random.default_rng(5).standard_normal((29, 4)) * [1, 10, 0.1, 3] + 5


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def by_definition(K, normalise):
    n = len(K)
    match normalise:
        case "multiplicative":
            return K / (np.trace(K) / n - K.sum() / n**2)
        case "spherical":
            return K / np.sqrt(np.outer(K.diagonal(), K.diagonal()))
        case "trace":
            return K / np.trace(K)
        case "diag":
            return K / K.diagonal().max()
    return K


@every("center", [False, True])
@every("normalise", NORMALISATIONS)
def test_normalisation_and_centring_by_definition_on_train_and_test(X, X_new, normalise, center):
    stack = DICTIONARY.grams(X, normalise=normalise, center=center)
    plain = DICTIONARY.grams(X, normalise=None)
    Z = (X_new - X.mean(axis=0)) / X.std(axis=0)
    blocks = plain.cross(X_new)
    found = stack.cross(X_new)
    for m, K in enumerate(plain.values):
        own = (
            KernelDictionary((plain.specs[m],), standardize=False)
            .grams(Z, normalise=None)
            .values[0]
            .diagonal()
        )
        B = blocks[m]
        G = centred(K) if center else K
        assert_allclose(stack.values[m], by_definition(G, normalise), rtol=1e-9, atol=1e-11)
        # the test rows beside the training rows in one gram: what it asks of an infinite table
        if center:
            own = own - 2 * B.mean(axis=1) + K.mean()
            B = B - K.mean(axis=0) - B.mean(axis=1, keepdims=True) + K.mean()
        B = B / (
            np.sqrt(np.outer(own, G.diagonal())) if normalise == "spherical" else stack.scales[m]
        )
        assert_allclose(found[m], B, rtol=1e-9, atol=1e-11)


@every("n", [1, 2, 63, 64, 65, 130])
def test_every_size_is_mirrored_fully(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    K = KernelDictionary((Linear(), RBF(1.0)), standardize=False).grams(X, normalise=None).values
    assert_allclose(
        K, [X @ X.T, np.exp(-((X[:, None] - X) ** 2).sum(2) / 2)], rtol=1e-13, atol=1e-13
    )


def test_sharing_distances_changes_nothing(X, X_new):
    together = DICTIONARY.grams(X)
    for m, spec in enumerate(DICTIONARY):
        alone = KernelDictionary((spec,)).grams(X)
        assert_array_equal(alone.values[0], together.values[m])
        assert_array_equal(alone.cross(X_new)[0], together.cross(X_new)[m])
        assert alone.specs[0] == together.specs[m]


def test_any_numeric_table_is_accepted_and_left_alone(X):
    X = X.astype(np.float32).astype(np.float64)
    expected = DICTIONARY.grams(X)
    locked = X.copy()
    locked.flags.writeable = False
    tables = (
        locked,
        np.asfortranarray(X),
        X.astype(np.float32),
        X.tolist(),
        np.repeat(X, 2, axis=0)[::2],
    )
    for table in tables:
        before = np.array(table)
        stack = DICTIONARY.grams(table)
        assert_array_equal(stack.values, expected.values)
        assert_array_equal(stack.cross(table), expected.cross(X))
        assert_array_equal(before, table)


def test_a_stack_is_frozen_contiguous_and_survives_pickling(X, X_new):
    stack = DICTIONARY.grams(X)
    assert stack.values.flags.c_contiguous
    assert stack.values.dtype == np.float64
    assert (stack.n_kernels, stack.n_samples) == stack.values.shape[:2]
    assert stack.normalise == "multiplicative"
    assert stack.families[:4] == ("rbf", "rbf", "linear", "polynomial")
    for frozen in (stack.values, stack.transform.factors):
        assert not frozen.flags.writeable
    with pytest.raises(AttributeError):
        stack.names = ()
    again = pickle.loads(pickle.dumps(stack.transform))
    assert_array_equal(again.cross(X_new), stack.cross(X_new))


def test_constant_kernels_are_left_out_and_named(X):
    X = X.copy()
    X[:, 3] = 2.5
    d = replace(DICTIONARY, feature_names=("a", "b", "c", "d"))
    stack = d.grams(X)
    assert stack.notes == ("linear d: constant on the training rows, left out.",)
    assert len(stack.scales) == len(stack.families) == len(stack.specs) == len(stack.names) == 7
    assert "linear d" not in stack.names
    assert_allclose(stack.cross(X), stack.values, rtol=1e-11, atol=1e-12)
    assert_array_equal(stack.values[5], KernelDictionary((d.specs[6],)).grams(X).values[0])
    for normalise, center in (("trace", False), ("diag", False), ("spherical", True), (None, True)):
        assert d.grams(X, normalise=normalise, center=center).n_kernels == 7
    for normalise in ("spherical", None):
        kept = d.grams(X, normalise=normalise)
        assert kept.notes == ("linear d: constant on the training rows, kept.",)
        assert (kept.values[5] == 0).all()
    wide = KernelDictionary((RBF(1e9), Linear()))
    assert wide.grams(X).names == ("linear",)
    assert_allclose(wide.grams(X, normalise="trace").values[0], 1 / 83, rtol=1e-12)


def test_duplicates_are_named_and_kept(X):
    d = KernelDictionary((Linear(features=(0,)), RBF(1.0), Linear(features=(0,)), RBF(1.0 + 1e-13)))
    stack = d.grams(X)
    assert stack.n_kernels == 4
    assert stack.notes[0].startswith(
        "linear x0, linear x0 (2): the same kernel after normalisation"
    )
    assert stack.notes[1].startswith("RBF 1, RBF 1 (2): the same")
    assert len(stack.notes) == 2
    assert GramStack.from_array(stack.values, stack.names).notes == stack.notes


def test_spherical_rows_without_length_become_zero():
    X = np.array([[0.0], [1.0], [2.0]])
    stack = KernelDictionary((Linear(),), standardize=False).grams(X, normalise="spherical")
    assert_allclose(stack.values[0], [[0, 0, 0], [0, 1, 1], [0, 1, 1]])
    assert_allclose(stack.cross([[0.0], [-3.0]])[0], [[0, 0, 0], [0, -1, -1]])


@every("center", [False, True])
@every("normalise", ["multiplicative", "spherical"])
def test_cut_stacks_stay_consistent(X, X_new, normalise, center):
    stack = DICTIONARY.grams(X, normalise=normalise, center=center)
    rows = np.array([5, 2, 80, 33])
    others = np.array([1, 7])
    mask = np.isin(np.arange(83), [2, 5])
    part = stack.take(rows)
    block = stack.block(others, rows)
    blocks = stack.cross(X_new)
    assert_array_equal(part.values, stack.values[:, rows][:, :, rows])
    assert_array_equal(part.cross(X_new), blocks[:, :, rows])
    assert_array_equal(part.take([3, 0]).cross(X_new), blocks[:, :, [33, 5]])
    assert_array_equal(block, stack.values[:, others][:, :, rows])
    assert block.flags.c_contiguous
    assert_allclose(part.cross(X[others]), block, rtol=1e-10, atol=1e-11)
    assert_array_equal(stack.take(mask).values, stack.take([2, 5]).values)
    for bad in ([83], [0.5], [True]):
        with pytest.raises(IndexError):
            stack.take(bad)


BAD_TABLES = (
    (np.arange(4.0), r"got shape \(4,\)"),
    (np.empty((0, 2)), "at least one row and one column"),
    (
        [[1.0, np.nan], [0.0, 1.0]],
        r"1 value\(s\) that are NaN or infinite, the first in row 0, column 1",
    ),
    ([["a", "b"]], "numeric table"),
    (np.ones((2, 2)) * 1j, "complex numbers"),
    ([[1.0], [1.0, 2.0]], "numeric table"),
)
BAD_STACKS = (
    (
        np.eye(3),
        r"three axes \(M, n, n\); this one has shape \(3, 3\). For one kernel pass K\[None\]",
    ),
    (np.ones((2, 3, 4)), r"square matrices \(M, n, n\); this one has shape \(2, 3, 4\)"),
    (np.empty((0, 3, 3)), "at least one kernel and one row"),
    (np.empty((1, 2, 2), dtype=object), "must be numeric; this one has dtype object"),
    (np.full((1, 2, 2), "a"), "must be numeric"),
    (np.eye(2)[None] * 1j, "must be numeric; this one has dtype complex128"),
    ([[[1.0, 2.0], [3.0]]], "ragged"),
    (np.diag([1.0, np.nan])[None], r"kernel 0 is not finite: entry \(1, 1\) is nan"),
    (
        np.stack([np.eye(3), -np.eye(3)]),
        "kernel 1 is not positive semidefinite: its smallest eigenvalue is -1",
    ),
    (
        np.array([np.eye(2), [[1.0, 0.1], [0.2, 1.0]]]),
        r"kernel 1 is not symmetric: max \|K_ij - K_ji\| is 0.1",
    ),
)


def test_refusals(X):
    stack = DICTIONARY.grams(X)
    given = GramStack.from_array
    doors = (
        (DICTIONARY.grams, BAD_TABLES),
        (stack.cross, BAD_TABLES),
        (given, BAD_STACKS),
    )
    refused(
        *((partial(door, bad), words) for door, table in doors for bad, words in table),
        (lambda: DICTIONARY.grams(X[:, :2]), "needs column 2, but the data have 2"),
        (
            lambda: KernelDictionary.default(4).grams(X[:1]),
            r"Every kernel is constant .*n_samples = 1",
        ),
        (lambda: stack.cross(X[:, :3]), "X has 3 features, but the kernels were built on 4"),
        (
            lambda: KernelDictionary(Linear()).grams(1e-9 * X).cross(1e305 * X),
            "Column 0 is too far from its",
        ),
        (lambda: given(np.eye(2)[None], ["a", "b"]), "holds 1 kernels, but 2 names were"),
        (lambda: given(np.eye(83)[None]).cross(X), r"made from an array.*Pass test blocks"),
        (
            lambda: target_alignment(np.eye(40)[None], ["a"] * 40, "binary"),
            "at least two classes, this one has only",
        ),
        (lambda: alignment_matrix(np.eye(3)), "three axes"),
    )


def test_a_stack_from_an_array_is_used_as_it_is(X):
    K = np.array(DICTIONARY.grams(X).values)
    K.flags.writeable = False
    stack = GramStack.from_array(K, names=[f"k{m}" for m in range(8)])
    assert np.shares_memory(stack.values, K)
    assert (stack.names[1], stack.families[0], stack.specs, stack.normalise) == (
        "k1",
        "precomputed",
        None,
        None,
    )
    assert (stack.scales == 1).all()
    assert GramStack.from_array(K + np.eye(83)).names[2] == "kernel 2"
    assert_array_equal(stack.take([1, 4]).values, K[:, [1, 4]][:, :, [1, 4]])
    assert GramStack.from_array([[[1, 0], [0, 1]], [[2, 2], [2, 2]]]).values.dtype == np.float64
    own = np.array(K)
    view = as_stack(own)
    assert np.shares_memory(view, own)
    assert (view.flags.writeable, own.flags.writeable) == (False, True)
    assert np.shares_memory(as_stack(stack), K)


@every("rank", [1, 7, 16, 17, 150])
@every("smallest", [0.0, -1e-12, -1e-6, -1.0])
def test_kernels_are_accepted_as_their_eigenvalues_say(rank, smallest):
    rng = np.random.default_rng(rank)
    vectors = np.linalg.qr(rng.standard_normal((150, 150)))[0]
    spectrum = np.zeros(150)
    spectrum[:rank] = rng.uniform(0.1, 5.0, rank)
    spectrum[-1] = smallest
    gram = (vectors * spectrum) @ vectors.T
    gram = np.ascontiguousarray(0.5 * (gram + gram.T))
    with nullcontext() if smallest > -1e-9 else kernel_error("not positive semidefinite"):
        check_gram("one", gram)


def test_indefinite_kernels_of_a_file_are_clipped_on_request_with_a_note():
    rng = np.random.default_rng(5)
    B = rng.standard_normal((12, 12))
    indefinite = 0.5 * (B + B.T)
    fine = B @ B.T
    file = io.BytesIO()
    np.savez(file, K=[indefinite, fine], y=np.arange(12.0), names=["odd", "even"])
    found = read_stack(file.getvalue(), task="regression", clip=True)
    spectrum, vectors = np.linalg.eigh(indefinite)
    assert found.stack.values[0] == pytest.approx(
        (vectors * np.maximum(spectrum, 0)) @ vectors.T, abs=1e-10
    )
    assert np.array_equal(found.stack.values[1], fine)
    (note,) = (note for note in found.table.notes if "were set to 0" in note)
    assert "of 1 kernel were" in note
    assert "odd (smallest" in note


# -- Alignment, spectra, rank and duplicates of a stack, against their definitions


@pytest.fixture
def stack():
    X = np.random.default_rng(8).standard_normal((40, 3))
    d = KernelDictionary.rbf_grid([0.5, 2]) + KernelDictionary.per_feature(Linear(), 3)
    return d.grams(X)


def test_alignment_by_definition(stack):
    K = np.concatenate([stack.values, 7 * stack.values[:1], np.zeros((1, 40, 40))])
    A = alignment_matrix(K)
    sizes = np.maximum(np.linalg.norm(K, axis=(1, 2)), 1e-9)
    assert_allclose(
        A, np.einsum("iab,jab->ij", K, K) / np.outer(sizes, sizes), rtol=1e-12, atol=1e-14
    )
    assert_array_equal(A, A.T)
    assert (A.diagonal()[:-1] == 1).all()
    assert A.min() >= 0
    assert A.max() <= 1
    assert_array_equal(alignment_matrix(np.asfortranarray(K)), A)


def test_target_alignment_by_definition(stack):
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 2, 40)
    three = rng.integers(0, 3, 40)
    y = rng.standard_normal(40)
    for target, columns, task in (
        (labels, 2.0 * labels - 1, "binary"),
        (np.array(["no", "yes"])[labels], 2.0 * labels - 1, "binary"),
        (2.0 * labels - 1, 2.0 * labels - 1, "binary"),
        (three, np.eye(3)[three], "multiclass"),
        (y + 100, y - y.mean(), "regression"),
    ):
        columns = columns.reshape(40, -1)
        ideal = columns @ columns.T
        expected = [
            (K * ideal).sum() / np.linalg.norm(K) / np.linalg.norm(ideal) for K in stack.values
        ]
        assert_allclose(target_alignment(stack, target, task), expected, rtol=1e-9)
        assert target_alignment(ideal[None], target, task) == pytest.approx(1.0)
    assert target_alignment(np.zeros((1, 2, 2)), [0, 1], "binary") == 0


def test_effective_rank_counts_directions(stack):
    spectra = np.linalg.eigvalsh(stack.values)
    assert_allclose(effective_rank(stack), spectra.sum(1) ** 2 / (spectra**2).sum(1), rtol=1e-10)
    assert_allclose(
        effective_rank(np.stack([np.eye(6), np.ones((6, 6)), np.zeros((6, 6))])), [6, 1, 0]
    )


def test_effective_rows_count_those_a_kernel_hangs_on():
    column = np.zeros(200)
    column[[7, 90]] = 1.0  # two rows are out
    spread = np.random.default_rng(0).uniform(-1, 1, 200)
    kernels = np.stack(
        [np.eye(200), np.ones((200, 200)), np.outer(column, column), np.outer(spread, spread)]
    )
    rows = effective_rows(kernels)
    assert_allclose(rows[:3], [200, 0, 2], rtol=0.03)
    away = (spread - spread.mean()) ** 2
    assert_allclose(rows[3], away.sum() ** 2 / (away**2).sum())


def test_duplicates_are_grouped(stack):
    K = stack.values
    different = K[1].copy()
    # rows that a probe would not meet
    different[30, 31] = different[31, 30] = different[30, 31] + 1e-8
    order = np.stack([K[0], K[1], 5 * K[0], K[2], K[1] * (1 + 1e-13), different, K[0]])
    assert duplicates(order) == ((0, 2, 6), (1, 4))
    assert duplicates(stack) == ()
    assert duplicates(np.zeros((2, 3, 3))) == ((0, 1),)
