"""Saved models: every estimator comes back in another process and predicts the same; hostile files
are refused in words.
"""

import io
import json
import os
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import mklcore as mkl
from mklcore.errors import DataError, MKLError
from mklcore.hkl.bases import BASES
from mklcore.io import models as store
from mklcore.io.catalog import ESTIMATORS
from mklcore.io.models import load_model, save_model
from mklcore.paths.files import read_paths
from tests.helpers.every import EVERY_CASE, every
from tests.helpers.models import reloaded
from tests.helpers.refusals import data_error, parameter_error
from tests.kernels.test_functions import EVERY_KERNEL

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(3)
X = RNG.standard_normal((36, 4)) * [1.0, 20.0, 0.1, 5.0] + [0.0, 100.0, 0.0, -3.0]
NEW = X[:9] + 0.3 * RNG.standard_normal((9, 4))
SIGNAL = X[:, 0] + (X[:, 1] - 100) / 20
TARGETS = {
    "binary": np.where(SIGNAL > 0, "yes", "no"),
    "multiclass": np.digitize(SIGNAL, [-0.7, 0.7]),
    "regression": SIGNAL**2,
}
DICTIONARY = (
    mkl.KernelDictionary.rbf_grid([0.5, 2.0])
    + mkl.KernelDictionary.bands(2, mkl.Laplacian(1.0, relative=True))
    + mkl.KernelDictionary.random_subspaces(mkl.Polynomial(2), 2, 2, seed=1)
    + mkl.KernelDictionary.per_feature(mkl.Linear(), 4)
)


def fitted(estimator, rows, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(rows, y)


def same(first, second, rows):
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(first, name):
            ours = getattr(first, name)(rows)
            theirs = getattr(second, name)(rows)
            assert ours.dtype == theirs.dtype
            if ours.dtype.kind == "f":
                assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12)
            else:
                assert (ours == theirs).all()
    for name in (
        "kernel_names_",
        "hull_",
        "selected_",
        "objective_",
        "dual_gap_",
        "status_",
        "n_dag_kernels_",
        "steps_",
        "offset_",
        "sources_",
    ):
        ours, theirs = (getattr(model, name, None) for model in (first, second))
        assert repr(ours.item() if isinstance(ours, np.generic) else ours) == repr(theirs), name


COLUMNS = (X - X.mean(axis=0)) / X.std(axis=0)
NEAR = np.exp(-((COLUMNS.T[:, :, None] - COLUMNS.T[:, None, :]) ** 2))
GIVEN = np.stack([np.ones_like(NEAR), NEAR], axis=1)  # matrices of a hull
CONSTANT, NEW_CONSTANT = (np.column_stack([rows, np.full(len(rows), 7.0)]) for rows in (X, NEW))
STACK = DICTIONARY.grams(X)
NUMBERS = TARGETS["regression"]
CODED = np.column_stack([X, np.arange(len(X)) % 3])
TERMS = mkl.problem.penalties.LogTerm() + mkl.problem.penalties.GroupLasso(2.0)
# The models of the registry come back in the tests of the verifier.
KEPT = [
    *(
        (
            entry.estimator(task, kernels="precomputed"),
            STACK.values,
            TARGETS[task],
            STACK.cross(NEW),
        )
        for entry in ESTIMATORS.values()
        if entry.on == "kernels"
        for task in ("multiclass", "regression")
    ),
    *(
        (mkl.HKLRegressor(basis=basis(), search="necessary"), CONSTANT, NUMBERS, NEW_CONSTANT)
        for basis in BASES.values()
    ),
    (mkl.HKLRegressor(lam=1e-2), GIVEN, NUMBERS, GIVEN[:, :, :9]),
    (
        mkl.LpMKLRegressor(p=2.0, kernels=mkl.KernelDictionary(tuple(EVERY_KERNEL))),
        CODED,
        NUMBERS,
        CODED[:9],
    ),
    (mkl.SMKLRegressor(terms=TERMS, C=30.0, kernels=DICTIONARY), X, NUMBERS, NEW),
    (
        mkl.GOMPRegressor(n_kernels=3, kernels=DICTIONARY),
        X,
        np.column_stack([NUMBERS, SIGNAL]),
        NEW,
    ),
]


@every("model, rows, y, new", KEPT)
def test_every_kind_of_kernels_penalties_and_targets_comes_back(model, rows, y, new):
    fitted(model, rows, y)
    again = reloaded(model)
    assert repr(again) == repr(model)
    same(model, again, new)


def test_another_process_predicts_the_same_from_the_same_bytes(tmp_path):
    model = mkl.LpMKLClassifier(p=4 / 3, kernels=DICTIONARY, random_state=np.random.RandomState(0))
    model.fit(X, TARGETS["multiclass"])
    save_model(tmp_path / "model.mkl", model)
    save_model(str(tmp_path / "again.mkl"), model)
    assert (tmp_path / "model.mkl").read_bytes() == (tmp_path / "again.mkl").read_bytes()
    np.save(tmp_path / "new.npy", NEW)
    code = (
        "import numpy as np, mklcore as mkl\n"
        "model = mkl.load_model('model.mkl')\n"
        "np.save('found.npy', model.decision_function(np.load('new.npy')))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=environment, check=True
    )
    assert_allclose(
        np.load(tmp_path / "found.npy"), model.decision_function(NEW), rtol=1e-12, atol=1e-12
    )
    assert len(list(tmp_path.iterdir())) == 4  # nothing half written beside them


# Refusals


def model_file():
    file = io.BytesIO()
    save_model(file, mkl.LpMKLClassifier(p=2, kernels=DICTIONARY).fit(X, TARGETS["binary"]))
    return file.getvalue()


GOOD = model_file()


def rewritten(change=None, members=None, of=None):
    """The good file, or another, with its text changed in place by ``change``, and some of its
    members replaced.
    """
    with zipfile.ZipFile(of or io.BytesIO(GOOD)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    text = json.loads(content["model.json"])
    if change is not None:
        change(text)
    content["model.json"] = json.dumps(text).encode()
    content |= members or {}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in content.items():
            archive.writestr(name, raw)
    file.seek(0)
    return file


def array(values):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(values), allow_pickle=True)
    return file.getvalue()


def broken_texts():
    texts = np.array(["yes", "no"])
    texts.view(np.uint32)[0] = 0x7FFFFFFF
    return texts


def put(value, *place):
    def change(text):
        for key in place[:-1]:
            text = text[key]
        text[place[-1]] = value

    return change


def number_of(name):
    text = json.loads(zipfile.ZipFile(io.BytesIO(GOOD)).read("model.json"))
    return f"arrays/{text['model']['fitted'][name]['of']}.npy"


def nested(depth):
    node = 1
    for _ in range(depth):
        node = {"is": "tuple", "of": [node]}
    return node


NOTES = "model fitted notes_"
PENALTY = "model parameters penalty"
TEXTS = [
    ("format", "other", "no saved model"),
    ("version", "9" * 10_000, r"version '9{500,600}\.\.\.$"),
    ("version", 5, "version 5 of the format, this library reads version 4"),
    ("model is", "\ud800", r"asks for '\\ud800'"),
    ("model is", "os.system", "os.system"),
    ("model is", "LpMKLRegressor", "has no parameter 'class_weight'"),
    ("model parameters shell", 1, "no parameter 'shell'"),
    ("model parameters C", -1.0, "C must be"),
    (PENALTY, {"is": "Popen", "of": {}}, "Popen"),
    (PENALTY, {"is": "LpNorm", "of": {"cmd": 1}}, "no part 'cmd'"),
    ("model fitted __class__", 1, "__class__"),
    ("model fitted predict", 1, "predict"),
    ("model fitted", {}, "not fitted"),
    ("model fitted weights_", {"is": "array", "of": 999}, "lacks its array 999"),
    (NOTES, json.loads("[" * 60 + "1" + "]" * 60), "bare list"),
    (NOTES, nested(store.MAX_DEPTH + 5), "nested"),
    (NOTES, {"is": "tuple", "of": [{"is": "array", "of": 0}] * 2}, "uses its array 0 twice"),
    ("model fitted n_train_", 10**15, "training rows"),
    ("model fitted objective_", float("nan"), "NaN"),
    ("model fitted _map of normalise", "odd", "normalisation 'odd'"),
    ("model fitted _map of specs of 0 of features of", [99], "4 columns"),
    ("model fitted kernel_names_ of 0", 7, "names of the kernels in the model file are no"),
]
ARRAYS = [
    ("weights_", array([object()]), "object"),
    ("weights_", array([1j]), "complex128"),
    ("weights_", array([1.0, 2.0]), "weights_"),
    ("weights_", array(np.full(len(DICTIONARY), -1.0)), "weight from 0 on"),
    ("weights_", array(np.ones(len(DICTIONARY)))[:-8], "another size"),
    ("weights_", b"\x93NUMPY\x01\x00", "damaged"),
    ("dual_coef_", array(np.full(len(X), np.nan)), "not finite"),
    ("classes_", array(broken_texts()), "signs that no text can hold"),
    (
        "training_target_",
        array([0, 1, 0]),
        r"training_target_ in the model file does not hold numbers for each of \d+ training",
    ),
]
REFUSED = [
    (io.BytesIO(b"\x80\x04pickle"), "no saved model"),
    (io.BytesIO(b""), "no saved model"),
    (rewritten(lambda t: t["model"]["fitted"].pop("weights_")), "weights_"),
    *(
        (rewritten(members={"model.json": raw}), "damaged")
        for raw in (b"{", b'{"is":"tuple","of":[' * 100_000)
    ),
    *(
        (
            rewritten(put(value, *(int(key) if key.isdigit() else key for key in place.split()))),
            said,
        )
        for place, value, said in TEXTS
    ),
    *((rewritten(members={number_of(name): raw}), said) for name, raw, said in ARRAYS),
    (5, "path or an open file"),
    ("/no/such/file", "cannot be opened: No such file"),
]


@every("file, said", REFUSED)
def test_hostile_and_damaged_files_are_refused(file, said):
    with data_error(said):
        load_model(file)


def test_a_file_that_unpacks_beyond_the_limit_is_refused_before_it_is_unpacked(tmp_path):
    bomb = tmp_path / "bomb.mkl"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b"0" * (store.MAX_TEXT + 1))
    assert bomb.stat().st_size < 10**6
    with data_error("longer than 64 MB"):
        load_model(bomb)
    with data_error("unpacks to 67 MB, more than the limit of 1 MB"):
        load_model(bomb, max_bytes=10**6)


def of_pieces(**members):
    """An archive of members of which each is given in pieces."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in members.items():
            with archive.open(name, "w") as member:
                for piece in pieces:
                    member.write(piece)
    return out.getvalue()


LISTS = [b"[", *[b"[]," * 2**20] * 20, b"1]"]
HEADER = [b"\x93NUMPY\x02\x00" + (300 * 2**20).to_bytes(4, "little"), *[b" " * 2**20] * 300]


@every(
    "read, members, said",
    [
        (load_model, {"model.json": LISTS}, "more than 1,000,000"),
        (load_model, {"arrays/0.npy": HEADER}, "header has 314,572,800 bytes"),
        (
            read_paths,
            {"text.npy": [array(np.frombuffer(b"".join(LISTS), np.uint8))]},
            "more than 1,000,000",
        ),
    ],
)
def test_descriptions_and_headers_are_measured_before_they_are_read(read, members, said):
    text = {
        "is": "LpMKLClassifier",
        "parameters": {},
        "fitted": {"weights_": {"is": "array", "of": 0}},
    }
    described = json.dumps(
        {"format": store.FORMAT, "version": store.VERSION, "model": text}
    ).encode()
    raw = of_pieces(**({"model.json": [described]} if read is load_model else {}) | members)
    tracemalloc.start()
    try:
        with data_error(said):
            read(io.BytesIO(raw) if read is load_model else raw)
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def test_no_byte_turned_or_cut_off_leads_to_anything_but_words_or_the_same_answer(rng):
    reference = load_model(io.BytesIO(GOOD)).decision_function(NEW)
    refused = 0
    for _ in range(300):
        raw = bytearray(GOOD)
        for place in rng.integers(0, len(raw), rng.integers(1, 4)):
            raw[place] = rng.integers(0, 256)
        if rng.random() < 0.2:
            raw = raw[: rng.integers(0, len(raw))]
        try:
            found = load_model(io.BytesIO(bytes(raw))).decision_function(NEW)
        except DataError:
            refused += 1
        else:
            assert_array_equal(found, reference)
    assert refused > 100


def test_no_value_of_the_text_replaced_leads_to_anything_but_words_or_a_model():
    strange = [
        None,
        -1,
        10**30,
        "x",
        {"is": "array", "of": 0},
        {"is": "tuple", "of": []},
        {"is": "float", "of": "nan"},
    ]
    rng = np.random.default_rng(1)
    text = json.loads(zipfile.ZipFile(io.BytesIO(GOOD)).read("model.json"))

    def places(node, at=()):
        found = [at] if at else []
        items = (
            node.items()
            if isinstance(node, dict)
            else enumerate(node)
            if isinstance(node, list)
            else ()
        )
        return found + [place for key, value in items for place in places(value, (*at, key))]

    every = places(text)
    refused = 0
    for k in rng.choice(len(every), 400 if EVERY_CASE else 200):
        value = strange[rng.integers(len(strange))]
        try:
            model = load_model(rewritten(put(value, *every[k])))
            assert np.isfinite(model.decision_function(NEW)).all()
        except MKLError:
            refused += 1
    assert refused > 100


def test_only_fitted_estimators_of_this_library_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(tmp_path / "a", mkl.LpMKLClassifier())
    with parameter_error(r"file first and then the model: save_model\('model.mkl', model\)"):
        save_model(load_model(rewritten()), tmp_path / "a")
    for other in (LogisticRegression(), make_pipeline(mkl.LpMKLClassifier()), "text"):
        with parameter_error(f"takes a fitted estimator of mklcore.*{type(other).__name__}"):
            save_model(tmp_path / "a", other)
    assert list(tmp_path.iterdir()) == []
