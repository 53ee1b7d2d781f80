"""The verifier agrees with every method, and finds what was changed after the fit; it shares no
code with what fitted.
"""

import io
import json
import re
import zipfile
from functools import partial
from itertools import cycle, product

import numpy as np
import pytest
import sklearn.base
from numpy.random import default_rng

from mklcore import (
    LOSSES,
    ANOVABasis,
    BlockNorm,
    Delta,
    EllipticNorm,
    FeatureScalingClassifier,
    GaussianBasis,
    GOMPClassifier,
    GOMPRegressor,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    HKLClassifier,
    HKLRegressor,
    JointMKLClassifier,
    JointMKLRegressor,
    KernelDictionary,
    KernelPCABasis,
    Laplacian,
    Linear,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    Nystroem,
    Pinball,
    Polynomial,
    PolynomialBasis,
    SMKLClassifier,
    SMKLRegressor,
    WeightedLpNorm,
    load_model,
    read_table,
    save_model,
)
from mklcore.io.catalog import ESTIMATORS, EVERY_TASK
from mklcore.verify import main, report, verify
from tests.helpers.every import every
from tests.io.test_extensions import Steep
from tests.io.test_store import same

KERNELS = KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + KernelDictionary.per_feature(Linear(), 3)
RICH = KERNELS + KernelDictionary([Polynomial(2), Laplacian(1.5), Delta(features=(0,))])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Three tables as files: two classes, three classes, numbers."""
    place = tmp_path_factory.mktemp("tables")
    rng = default_rng(7)
    X = rng.normal(size=(36, 3))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + 0.2 * rng.normal(size=36)
    targets = {
        "binary": np.where(score > 0, "yes", "no"),
        "multiclass": np.array(["a", "b", "c"])[np.digitize(score, [-0.6, 0.6])],
        "regression": score.round(6),
    }
    found = {}
    for name, y in targets.items():
        path = place / f"{name}.csv"
        lines = [
            "u,v,w,target",
            *(",".join([*map(repr, map(float, x)), str(t)]) for x, t in zip(X, y, strict=True)),
        ]
        path.write_text("\n".join(lines))
        found[name] = path
    return found


def saved(model, tables, task, place, rows=slice(None)):
    """The file of a fitted model, which comes back as it was."""
    data = read_table(tables[task], "target")
    path = place / "model.mkl"
    save_model(path, model.fit(data.X[rows], data.y[rows]))
    assert repr(load_model(path)) == repr(model)
    same(model, load_model(path), data.X[:9] + 0.1)
    return path


CLASSIFIERS = [
    *(
        LpMKLClassifier(p=p, loss=loss)
        for p in (1.0, 1.5, np.inf)
        for loss in ("hinge", "logistic", "squared")
    ),
    LpMKLClassifier(p=1.5, loss="squared_hinge"),
    LpMKLClassifier(penalty=BlockNorm(4.0)),
    LpMKLClassifier(p=2.0, fit_intercept=False),
    *(GOMPClassifier(n_kernels=3, loss=loss) for loss in ("squared", "hinge", "squared_hinge")),
    GreedyMKLClassifier(criterion="empirical", loss="squared_hinge"),
    JointMKLClassifier(loss="logistic", fit_intercept=False),
    GreedyMKLClassifier(lam=0.02),
    GreedyMKLClassifier(criterion="empirical"),
    SMKLClassifier(terms="log"),
    HKLClassifier(lam=0.03, loss="hinge"),
]
REGRESSORS = [
    JointMKLRegressor(p=1.5),
    *(
        LpMKLRegressor(p=p, loss=loss)
        for p in (1.0, 2.0)
        for loss in ("squared", "epsilon_insensitive", "huber")
    ),
    LpMKLRegressor(penalty="elastic net"),
    LpMKLRegressor(loss=Pinball(0.9)),
    LpMKLRegressor(penalty=WeightedLpNorm(1.5, (1, 2, 1, 3, 1, 1))),
    LpMKLRegressor(penalty=EllipticNorm(np.eye(6) + 0.3), loss="squared"),
    GOMPRegressor(n_kernels=3, loss="huber"),
    GreedyMKLRegressor(criterion="empirical", loss="huber"),
    GreedyMKLRegressor(criterion="empirical", step="linesearch"),
    SMKLRegressor(terms="gl"),
    SMKLRegressor(terms="mf+mkl", loss="squared"),
    HKLRegressor(lam=0.01),
]
BASES = [
    GaussianBasis(3),
    GaussianBasis(2, 0.5),
    ANOVABasis(),
    KernelPCABasis(2),
]


def with_kernels(model):
    return model.set_params(kernels=KERNELS) if "kernels" in model.get_params() else model


def assert_holds(path, table):
    lines = verify(path, table, *(["target"] if str(table).endswith("csv") else []))
    assert [line.text for line in lines if not line.holds] == []
    assert any(line.text.startswith("objective") for line in lines)
    model = load_model(path)
    bounds = [line.text for line in lines if line.text.startswith("dual value")]
    assert len(bounds) == np.size([] if model.dual_objective_ is None else model.dual_objective_)
    assert bounds or model.dual_point_ is None
    for text, size in zip(bounds, np.ravel(model.objective_), strict=False):
        stated, found = map(float, re.findall(r"(?:stated|found) ([^,]+)", text))
        assert stated == pytest.approx(found, rel=1e-6, abs=1e-6 * abs(size))
    return lines


MODELS = [
    *((with_kernels(method.estimator(task)), task) for method in ESTIMATORS.values() for task in EVERY_TASK),
    *((with_kernels(model), task) for model, task in zip(CLASSIFIERS, cycle(("binary", "multiclass")))),
    *((with_kernels(model), "regression") for model in REGRESSORS),
    *((HKLRegressor(basis, lam=0.05, normalize_basis=k % 2 > 0, tol=1e-2), "regression")
      for k, basis in enumerate(BASES)),
    *((LpMKLOneClass(p=p, nu=nu, kernels=KERNELS), "regression") for p, nu in ((1.5, None), (2.0, 0.3))),
]  # fmt: skip


@every("model, task", MODELS)
def test_every_model_is_verified(model, task, tables, tmp_path):
    assert_holds(saved(model, tables, task, tmp_path), tables[task])


@every(
    "normalise, center",
    product(["multiplicative", "spherical", "trace", "diag", None], [True, False]),
)
def test_every_normalisation_is_verified_on_part_of_the_rows(normalise, center, tables, tmp_path):
    model = LpMKLRegressor(p=2.0, kernels=RICH, normalise=normalise, center=center)
    lines = assert_holds(
        saved(model, tables, "regression", tmp_path, slice(3, 30, 2)), tables["regression"]
    )
    assert lines[0].text == "training rows: all 14 are rows of the table"


def test_a_model_of_a_stack_has_no_rows_to_look_for(tables, tmp_path):
    data = read_table(tables["binary"], "target")
    model = LpMKLClassifier(p=1.0, kernels="precomputed").fit(KERNELS.grams(data.X).values, data.y)
    save_model(tmp_path / "model.mkl", model)
    assert main([str(tmp_path / "model.mkl"), str(tables["binary"])]) == 2


def test_weighted_rows_are_verified(tables, tmp_path):
    data = read_table(tables["binary"], "target")
    w = np.arange(36) % 3
    for loss in ("hinge", "squared", "logistic"):
        model = LpMKLClassifier(p=1.5, loss=loss, kernels=KERNELS).fit(
            data.X, data.y, sample_weight=w
        )
        save_model(tmp_path / "model.mkl", model)
        assert np.array_equal(load_model(tmp_path / "model.mkl").sample_weight_, w)
        assert_holds(tmp_path / "model.mkl", tables["binary"])


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)


def raw_of(values):
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def changed(path, name, change):
    """The model file with one fitted array changed, or one number of its description."""
    members = members_of(path)
    text = json.loads(members["model.json"])
    node = text["model"]["fitted"][name]
    if isinstance(node, dict) and node["is"] == "tuple":
        change(node["of"])
        members["model.json"] = json.dumps(text).encode()
    elif isinstance(node, dict):
        key = f"arrays/{node['of']}.npy"
        members[key] = raw_of(change(np.load(io.BytesIO(members[key]))))
    else:
        text["model"]["fitted"][name] = float(change(node))
        members["model.json"] = json.dumps(text).encode()
    write(path, members)


@every(
    "name, change, said",
    [
        ("objective_", lambda v: v * 0.999, "objective: stated"),
        ("dual_objective_", lambda v: v * 1.001, "dual value: stated"),
        ("dual_coef_", lambda v: v * 1.01, "objective: stated"),
        ("weights_", lambda v: v[::-1].copy(), "objective: stated"),
        ("dual_point_", lambda v: v + 1e-3, "dual value: stated"),
        ("dual_point_", lambda v: -v, "dual value: stated"),
        ("training_target_", lambda v: 1 - v, "training target: NOT"),
    ],
)
def test_what_was_changed_after_the_fit_is_found(name, change, said, tables, tmp_path, capsys):
    path = saved(LpMKLClassifier(p=1.0, C=2.0, kernels=KERNELS), tables, "binary", tmp_path)
    assert main([str(path), str(tables["binary"]), "target"]) == 0
    assert "Everything holds." in capsys.readouterr().out
    changed(path, name, change)
    assert main([str(path), str(tables["binary"]), "target"]) == 1
    out = capsys.readouterr().out
    assert f"FAILS  {said}" in out
    assert "NOT everything holds." in out


def raise_level(k, i, nodes):
    nodes[k]["of"][i] += 1


@every("refit", [False, True])
def test_a_level_of_a_hull_that_was_changed_is_found(refit, tables, tmp_path):
    path = saved(HKLRegressor("polynomial", lam=0.03, refit=refit), tables, "regression", tmp_path)
    places = [(k, i) for k, levels in enumerate(load_model(path).hull_) for i in range(len(levels))]
    before = members_of(path)
    for k, i in places[:: max(1, len(places) // 6)]:
        write(path, before)
        changed(path, "hull_", partial(raise_level, k, i))
        assert report(path, tables["regression"], "target")[1]


@every("loss", ["hinge", "squared"])
@every("C", [1e5, 1e6])
def test_rounding_that_was_taken_off_a_dual_value_is_no_reason_to_refuse(loss, C, tables, tmp_path):
    assert_holds(
        saved(LpMKLClassifier(p=1.0, C=C, loss=loss), tables, "binary", tmp_path),
        tables["binary"],
    )


def test_a_gap_larger_than_the_tolerance_of_a_converged_fit_is_found(tables, tmp_path):
    path = saved(LpMKLRegressor(p=1.0, kernels=KERNELS), tables, "regression", tmp_path)
    model = load_model(path)
    for name, by in {
        "dual_objective_": -1.0,
        "dual_gap_": 1.0,
        "relative_gap_": 1.0 / model.objective_,
    }.items():
        changed(path, name, partial(np.add, by * 0.01 * model.objective_))
    assert "FAILS  gap" in "\n".join(report(path, tables["regression"], "target")[0])


@every("kind", ["texts", "sequences"])
def test_models_of_texts_and_of_sequences_are_verified_on_part_of_the_rows(kind, tmp_path):
    rng = default_rng(0)
    words = rng.choice(["red", "green", "blue", "fast", "slow", "good"], size=(40, 7))
    letters = rng.choice(list("ACGT"), size=(40, 25))
    strings = (
        [" ".join(one[: 3 + k % 5]) for k, one in enumerate(words)]
        if kind == "texts"
        else map("".join, letters)
    )
    lines = [
        f"{float(u)!r},{one},{float(y)!r}"
        for one, (u, y) in zip(strings, rng.normal(size=(40, 2)), strict=True)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["u,said,target", *lines]))
    data = read_table(tmp_path / "table.csv", "target")
    assert len(getattr(data, kind)) == 1
    for known in (data.take(np.arange(3, 36, 2)), data.X):
        y = known.y if known is not data.X else data.y
        save_model(tmp_path / "model.mkl", LpMKLRegressor(p=1.5).fit(known, y))
        assert_holds(tmp_path / "model.mkl", tmp_path / "table.csv")


# One model of each kind of fitted arrays.
TAMPERED = [
    (LpMKLClassifier(p=2.0, probability=True), "binary"),
    (LpMKLRegressor(p=2.0, normalise="spherical", center=True), "regression"),
    (LpMKLOneClass(p=2.0, nu=0.4), "regression"),
    (JointMKLClassifier(p=1.5), "multiclass"),
    (GOMPClassifier(n_kernels=2, approximation=Nystroem(8)), "binary"),
    (SMKLClassifier(), "multiclass"),
    (FeatureScalingClassifier(), "multiclass"),
    (HKLRegressor(PolynomialBasis(2), lam=0.03, refit=True), "regression"),
    (HKLRegressor(KernelPCABasis(2), lam=0.03), "regression"),
]


@every("model, task", TAMPERED)
def test_every_array_that_was_changed_is_found_or_changes_no_prediction(
    model, task, tables, tmp_path
):
    path = saved(with_kernels(sklearn.base.clone(model)), tables, task, tmp_path)
    lines = assert_holds(path, tables[task])
    assert any("APPROXIMATED" in line.text for line in lines) == (
        getattr(model, "approximation", None) is not None
    )
    data = read_table(tables[task], "target")
    honest = load_model(path)
    other = tmp_path / "changed.mkl"
    np.savez(
        tmp_path / "rows.npz",
        X=data.X,
        y=np.asarray(data.y, dtype=None if task == "regression" else str),
    )
    rows = default_rng(1).normal(size=(12, 3))
    members = members_of(path)
    numbers = {
        name: np.load(io.BytesIO(raw)) for name, raw in members.items() if name.endswith(".npy")
    }
    for name, values in numbers.items():
        if values.dtype.kind not in "fiu":
            continue
        write(
            other,
            members | {name: raw_of(1.01 * values if values.dtype.kind == "f" else values + 1)},
        )
        if report(other, tmp_path / "rows.npz")[1]:
            continue
        decision = honest._decisions(rows)
        back = load_model(other)
        np.testing.assert_allclose(
            back._decisions(rows), decision, rtol=0, atol=1e-12 * np.abs(decision).max()
        )
        if hasattr(honest, "calibration_"):
            np.testing.assert_allclose(
                back.predict_proba(rows), honest.predict_proba(rows), atol=1e-12
            )


@every(
    "raw",
    [
        b"[" * 100_000,
        b'{"format":1}',
        b"[]",
        b"3",
        b'{"format":"mklcore model","version":4,"model":[]}',
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(raw, tables, tmp_path):
    with zipfile.ZipFile(tmp_path / "model.mkl", "w") as archive:
        archive.writestr("model.json", raw)
    said, code = report(tmp_path / "model.mkl", tables["binary"])
    assert (len(said), code) == (1, 2)
    assert re.match("cannot be checked: The (model )?file ", said[0])


def test_what_cannot_be_checked_is_reported(tables, tmp_path, capsys):
    path = saved(LpMKLClassifier(kernels=KERNELS), tables, "binary", tmp_path)
    (tmp_path / "other.csv").write_text("u,v,w,target\n" + 3 * "1,2,3,a\n2,3,4,b\n4,4,4,a\n")
    assert main([str(path), str(tmp_path / "other.csv")]) == 2
    assert "36 of the model's 36 training rows are not in the table" in capsys.readouterr().out
    assert main([str(tables["binary"]), str(tables["binary"])]) == 2
    assert "no saved model" in capsys.readouterr().out
    assert main([]) == 2
    assert "usage: python -m mklcore.verify MODEL.mkl TABLE.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model", [LpMKLRegressor(kernels=KERNELS, p=2.0), SMKLRegressor(kernels=KERNELS)]
)
@pytest.mark.parametrize("loss", ["steep", Steep(2.0)], ids=["name", "object"])
def test_a_registered_loss_is_checked_and_an_unknown_one_cannot_be(
    model, loss, tables, tmp_path, monkeypatch
):
    with monkeypatch.context() as with_it:
        with_it.setitem(LOSSES, "steep", Steep)
        path = saved(
            sklearn.base.clone(model).set_params(loss=loss), tables, "regression", tmp_path
        )
        assert_holds(path, tables["regression"])
        changed(path, "objective_", lambda value: 1.01 * value)
        assert "FAILS  objective" in "\n".join(report(path, tables["regression"], "target")[0])
    said, code = report(path, tables["regression"], "target")
    assert (len(said), code) == (1, 2)
    assert said[0].startswith("cannot be checked: ")
    assert "Steep" in said[0] or "steep" in said[0]
