"""Saved models: every estimator comes back in another process and predicts the same; hostile files are refused in
words.
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
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mklcore as mkl
from mklcore.errors import DataError, MKLError, ParameterError
from mklcore.hkl.bases import BASES
from mklcore.io import models as store
from mklcore.io.catalog import ESTIMATORS
from mklcore.io.models import load_model, save_model
from mklcore.paths.files import read_paths
from tests.helpers.every import every

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
KERNELS = [entry for entry in ESTIMATORS.values() if entry.on == "kernels"]


def fitted(estimator, rows, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(rows, y)


def through_file(estimator):
    file = io.BytesIO()
    save_model(file, estimator)
    file.seek(0)
    return load_model(file)


def same(first, second, rows):
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(first, name):
            ours, theirs = getattr(first, name)(rows), getattr(second, name)(rows)
            assert ours.dtype == theirs.dtype
            if ours.dtype.kind == "f":
                np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12)
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
    ):
        ours, theirs = (getattr(model, name, None) for model in (first, second))
        assert repr(ours.item() if isinstance(ours, np.generic) else ours) == repr(theirs), name


@every("task", TARGETS)
@every("algorithm", ESTIMATORS)
def test_every_algorithm_of_the_registry_comes_back_the_same(algorithm, task):
    model = fitted(ESTIMATORS[algorithm].estimator(task), X, TARGETS[task])
    again = through_file(model)
    assert repr(again) == repr(model)
    same(model, again, NEW)


@every("normalise", ["multiplicative", "spherical", "trace", "diag", None])
@every("center", [False, True])
def test_every_normalisation_with_and_without_centring_comes_back(normalise, center):
    model = mkl.LpMKLClassifier(p=2, kernels=DICTIONARY, normalise=normalise, center=center)
    same(model, through_file(fitted(model, X, TARGETS["binary"])), NEW)


@every("entry", KERNELS)
def test_precomputed_stacks_come_back(entry):
    stack = DICTIONARY.grams(X)
    for task in ("multiclass", "regression"):
        model = fitted(entry.estimator(task, kernels="precomputed"), stack.values, TARGETS[task])
        same(model, through_file(model), stack.cross(NEW))


@every("nu", [None, 0.2])
def test_novelty_detection_comes_back_with_its_offset(nu):
    model = fitted(mkl.LpMKLOneClass(p=2, nu=nu, kernels=DICTIONARY), X)
    again = through_file(model)
    assert again.offset_ == model.offset_
    same(model, again, NEW)


@every("key", BASES)
def test_every_basis_of_a_hull_comes_back(key):
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    model = fitted(mkl.HKLRegressor(basis=BASES[key](), search="necessary"), constant, TARGETS["regression"])
    again = through_file(model)
    same(model, again, np.column_stack([NEW, np.full(len(NEW), 7.0)]))
    assert (again.design_.name(model._nodes[-1]), again.sources_) == (
        model.design_.name(model._nodes[-1]),
        model.sources_,
    )


def test_hulls_over_matrices_and_with_a_refit_come_back():
    columns = (X - X.mean(axis=0)) / X.std(axis=0)
    near = np.exp(-((columns.T[:, :, None] - columns.T[:, None, :]) ** 2))
    given = np.stack([np.ones_like(near), near], axis=1)
    model = fitted(mkl.HKLRegressor(lam=1e-2), given, TARGETS["regression"])
    same(model, through_file(model), given[:, :, :9])
    refit = fitted(mkl.HKLRegressor(mkl.PolynomialBasis(2), lam=1e-2, refit=True), X, TARGETS["regression"])
    same(refit, through_file(refit), NEW)


def test_penalties_terms_and_several_targets_come_back():
    elliptic = mkl.EllipticNorm(np.eye(len(DICTIONARY)) + 0.1)
    model = fitted(mkl.LpMKLRegressor(penalty=elliptic, kernels=DICTIONARY), X, TARGETS["regression"])
    assert through_file(fitted(mkl.LpMKLClassifier(p=np.inf, kernels=DICTIONARY), X, TARGETS["binary"])).p == np.inf
    again = through_file(model)
    assert np.array_equal(again.penalty.E, elliptic.E)
    same(model, again, NEW)
    terms = mkl.problem.penalties.LogTerm() + mkl.problem.penalties.GroupLasso(2.0)
    sparse = fitted(mkl.SMKLRegressor(terms=terms, C=30.0, kernels=DICTIONARY), X, TARGETS["regression"])
    assert through_file(sparse).terms == terms
    two = np.column_stack([TARGETS["regression"], SIGNAL])
    greedy = fitted(mkl.GOMPRegressor(n_kernels=3, kernels=DICTIONARY), X, two)
    same(greedy, through_file(greedy), NEW)


def test_another_process_predicts_the_same(tmp_path):
    model = mkl.LpMKLClassifier(p=4 / 3, kernels=DICTIONARY).fit(X, TARGETS["multiclass"])
    save_model(tmp_path / "model.mkl", model)
    np.save(tmp_path / "new.npy", NEW)
    code = (
        "import numpy as np, mklcore as mkl\n"
        "model = mkl.load_model('model.mkl')\n"
        "np.save('found.npy', model.decision_function(np.load('new.npy')))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=environment, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), model.decision_function(NEW), rtol=1e-12, atol=1e-12)


def test_paths_of_every_kind_and_the_same_bytes_each_time(tmp_path):
    model = mkl.LpMKLClassifier(kernels=DICTIONARY, callback=print, random_state=np.random.RandomState(0))
    model.set_params(callback=None).fit(X, TARGETS["binary"])
    save_model(tmp_path / "a.mkl", model)
    save_model(str(tmp_path / "b.mkl"), model)
    assert (tmp_path / "a.mkl").read_bytes() == (tmp_path / "b.mkl").read_bytes()
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["a.mkl", "b.mkl"]
    for place in (tmp_path / "a.mkl", str(tmp_path / "b.mkl")):
        same(model, load_model(place), NEW)


# Refusals


def model_file():
    file = io.BytesIO()
    save_model(file, mkl.LpMKLClassifier(p=2, kernels=DICTIONARY).fit(X, TARGETS["binary"]))
    return file.getvalue()


GOOD = model_file()


def rewritten(change=None, members=None, of=None):
    """The good file, or another, with its text changed in place by ``change``, and some of its members replaced."""
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


NESTED = json.loads("[" * 60 + "1" + "]" * 60)
REFUSED = {
    "no zip": (io.BytesIO(b"\x80\x04pickle"), "no saved model"),
    "an empty file": (io.BytesIO(b""), "no saved model"),
    "a zip of something else": (rewritten(lambda t: t.update(format="other")), "no saved model"),
    "a version as long as a book": (rewritten(put("9" * 10_000, "version")), r"version '9{500,600}\.\.\.$"),
    "a name that is no text": (rewritten(put("\ud800", "model", "is")), r"asks for '\\ud800'"),
    "a later version": (
        rewritten(put(5, "version")), "version 5 of the format, this library reads version 4",
    ),
    "an unknown estimator": (rewritten(put("os.system", "model", "is")), "os.system"),
    "an unknown parameter": (rewritten(put(1, "model", "parameters", "shell")), "no parameter 'shell'"),
    "a parameter out of range": (rewritten(put(-1.0, "model", "parameters", "C")), "C must be"),
    "an unknown class": (rewritten(put({"is": "Popen", "of": {}}, "model", "parameters", "penalty")), "Popen"),
    "an unknown part": (
        rewritten(put({"is": "LpNorm", "of": {"cmd": 1}}, "model", "parameters", "penalty")), "no part 'cmd'",
    ),
    "a private name": (rewritten(put(1, "model", "fitted", "__class__")), "__class__"),
    "the name of a method": (rewritten(put(1, "model", "fitted", "predict")), "predict"),
    "something unfitted": (rewritten(put({}, "model", "fitted")), "not fitted"),
    "no weights": (rewritten(lambda t: t["model"]["fitted"].pop("weights_")), "weights_"),
    "objects in an array": (rewritten(members={number_of("weights_"): array([object()])}), "object"),
    "complex numbers": (rewritten(members={number_of("weights_"): array([1j])}), "complex128"),
    "another shape": (rewritten(members={number_of("weights_"): array([1.0, 2.0])}), "weights_"),
    "numbers that are not finite": (
        rewritten(members={number_of("dual_coef_"): array(np.full(len(X), np.nan))}), "not finite",
    ),
    "negative weights": (
        rewritten(members={number_of("weights_"): array(np.full(len(DICTIONARY), -1.0))}), "weight from 0 on",
    ),
    "an array that says another size": (
        rewritten(members={number_of("weights_"): array(np.ones(len(DICTIONARY)))[:-8]}), "another size",
    ),
    "a header that is no header": (rewritten(members={number_of("weights_"): b"\x93NUMPY\x01\x00"}), "damaged"),
    "an array that is not there": (
        rewritten(put({"is": "array", "of": 999}, "model", "fitted", "weights_")), "lacks its array 999",
    ),
    "a bare list": (rewritten(put(NESTED, "model", "fitted", "notes_")), "bare list"),
    "a training size without end": (rewritten(put(10**15, "model", "fitted", "n_train_")), "training rows"),
    "NaN as a word": (rewritten(put(float("nan"), "model", "fitted", "objective_")), "NaN"),
    "an unknown normalisation": (
        rewritten(put("odd", "model", "fitted", "_map", "of", "normalise")), "normalisation 'odd'",
    ),
    "a kernel beyond the columns": (
        rewritten(put([99], "model", "fitted", "_map", "of", "specs", "of", 0, "of", "features", "of")), "4 columns",
    ),
    "parameters of another estimator": (
        rewritten(put("LpMKLRegressor", "model", "is")), "has no parameter 'probability'",
    ),
    "an array used twice": (
        rewritten(put({"is": "tuple", "of": [{"is": "array", "of": 0}] * 2}, "model", "fitted", "notes_")),
        "uses its array 0 twice",
    ),
    "names that are no texts": (
        rewritten(put(7, "model", "fitted", "kernel_names_", "of", 0)), "names of the kernels in the model file are no",
    ),
    "signs that do not exist": (
        rewritten(members={number_of("classes_"): array(broken_texts())}), "signs that no text can hold",
    ),
    "targets of another length": (
        rewritten(members={number_of("training_target_"): array([0, 1, 0])}),
        r"training_target_ in the model file does not hold numbers for each of \d+ training",
    ),
    "text that is no JSON": (rewritten(members={"model.json": b"{"}), "damaged"),
}  # fmt: skip


@every("what", REFUSED)
def test_hostile_and_damaged_files_are_refused(what):
    file, said = REFUSED[what]
    with pytest.raises(DataError, match=said):
        load_model(file)


def test_what_is_nested_without_end_is_refused():
    node: object = 1
    for _ in range(store.MAX_DEPTH + 5):
        node = {"is": "tuple", "of": [node]}
    with pytest.raises(DataError, match="nested"):
        load_model(rewritten(put(node, "model", "fitted", "notes_")))
    raw = b'{"is":"tuple","of":[' * 100_000
    with pytest.raises(DataError, match="damaged"):
        load_model(rewritten(members={"model.json": raw}))


def test_a_file_that_unpacks_beyond_the_limit_is_refused_before_it_is_unpacked(tmp_path):
    bomb = tmp_path / "bomb.mkl"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b"0" * (store.MAX_TEXT + 1))
    assert bomb.stat().st_size < 10**6
    with pytest.raises(DataError, match="longer than 64 MB"):
        load_model(bomb)
    with pytest.raises(DataError, match="unpacks to 67 MB, more than the limit of 1 MB"):
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
        (read_paths, {"text.npy": [array(np.frombuffer(b"".join(LISTS), np.uint8))]}, "more than 1,000,000"),
    ],
)
def test_descriptions_and_headers_are_measured_before_they_are_read(read, members, said):
    text = {"is": "LpMKLClassifier", "parameters": {}, "fitted": {"weights_": {"is": "array", "of": 0}}}
    described = json.dumps({"format": store.FORMAT, "version": store.VERSION, "model": text}).encode()
    raw = of_pieces(**({"model.json": [described]} if read is load_model else {}) | members)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=said):
            read(io.BytesIO(raw) if read is load_model else raw)
        assert tracemalloc.get_traced_memory()[1] < 300 * 2**20
    finally:
        tracemalloc.stop()


def test_no_byte_turned_or_cut_off_leads_to_anything_but_words_or_the_same_answer():
    rng = np.random.default_rng(0)
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
            np.testing.assert_array_equal(found, reference)
    assert refused > 100


def test_no_value_of_the_text_replaced_leads_to_anything_but_words_or_a_model():
    strange = [None, -1, 10**30, "x", {"is": "array", "of": 0}, {"is": "tuple", "of": []}, {"is": "float", "of": "nan"}]
    rng = np.random.default_rng(1)
    text = json.loads(zipfile.ZipFile(io.BytesIO(GOOD)).read("model.json"))

    def places(node, at=()):
        found = [at] if at else []
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        return found + [place for key, value in items for place in places(value, (*at, key))]

    every = places(text)
    refused = 0
    for k in rng.choice(len(every), 400):
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
    with pytest.raises(ParameterError, match="got Pipeline"):
        save_model(tmp_path / "a", make_pipeline(StandardScaler(), mkl.LpMKLClassifier()))
    with pytest.raises(ParameterError, match=r"file first and then the model: save_model\('model.mkl', model\)"):
        save_model(load_model(rewritten()), tmp_path / "a")
    for other in (LogisticRegression(), make_pipeline(LogisticRegression()), "text"):
        with pytest.raises(ParameterError, match="save_model takes a fitted estimator of mklcore"):
            save_model(tmp_path / "a", other)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_and_something_that_is_no_file_are_reported(tmp_path):
    with pytest.raises(DataError, match="cannot be opened: No such file"):
        load_model(tmp_path / "nothing")
    with pytest.raises(DataError, match="path or an open file"):
        load_model(5)


# What proves an answer


def test_what_proves_the_answer_comes_back():
    model = mkl.LpMKLClassifier(p=2, kernels=DICTIONARY).fit(X, TARGETS["binary"])
    back = load_model(rewritten())
    for name in ("training_target_", "row_fingerprints_", "dual_point_"):
        assert np.array_equal(getattr(back, name), getattr(model, name)), name
    assert np.array_equal(back.classes_[back.training_target_], TARGETS["binary"])
    assert back.row_fingerprints_.shape == (len(X),)
    assert len(set(back.row_fingerprints_.tolist())) == len(np.unique(X, axis=0))
    assert back.sample_weight_ is None
