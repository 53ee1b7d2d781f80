"""The verifier agrees with every method, and finds what was changed after the fit; it shares no code with what
fitted.
"""

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sklearn.base

import mklcore as mkl
from mklcore.losses import Hinge, Logistic
from mklcore.verify import main, report, verify
from tests.test_extensions import LogCosh

ROOT = Path(__file__).parents[1]
KERNELS = mkl.KernelDictionary.rbf_grid([0.5, 1.0, 2.0]) + mkl.KernelDictionary.per_feature(mkl.Linear(), 3)
RICH = KERNELS + mkl.KernelDictionary([mkl.Polynomial(2), mkl.Laplacian(1.5)])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Three tables as files: two classes, three classes, numbers."""
    place, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(7)
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
        lines = ["u,v,w,target", *(",".join([*map(repr, map(float, x)), str(t)]) for x, t in zip(X, y, strict=True))]
        path.write_text("\n".join(lines))
        found[name] = path
    return found


def saved(model, tables, task, place, rows=slice(None)):
    data = mkl.read_table(tables[task], "target")
    mkl.save_model(place / "model.mkl", model.fit(data.X[rows], data.y[rows]))
    return place / "model.mkl"


CLASSIFIERS = [
    *(mkl.LpMKLClassifier(p=p, loss=loss) for p in (1.0, 1.5, np.inf) for loss in ("hinge", "logistic", "squared")),
    mkl.LpMKLClassifier(p=1.5, loss="squared_hinge"),
    mkl.LpMKLClassifier(penalty=mkl.BlockNorm(4.0)),
    mkl.LpMKLClassifier(p=2.0, fit_intercept=False),
    mkl.UniformMKLClassifier(),
    mkl.BestKernelClassifier(),
    mkl.GOMPClassifier(n_kernels=3),
    mkl.GOMPClassifier(n_kernels=3, loss="hinge"),
    mkl.JointMKLClassifier(p=1.5),
    mkl.JointMKLClassifier(loss="logistic", fit_intercept=False),
    mkl.GreedyMKLClassifier(lam=0.02),
    mkl.GreedyMKLClassifier(criterion="empirical"),
    mkl.SMKLClassifier(),
    mkl.SMKLClassifier(terms="log"),
    mkl.HKLClassifier(lam=0.03, loss="logistic"),
    mkl.HKLClassifier(lam=0.03, loss="hinge"),
]
REGRESSORS = [
    mkl.JointMKLRegressor(p=1.5),
    *(mkl.LpMKLRegressor(p=p, loss=loss) for p in (1.0, 2.0) for loss in ("squared", "epsilon_insensitive", "huber")),
    mkl.LpMKLRegressor(penalty=mkl.ElasticNet(0.5)),
    mkl.LpMKLRegressor(penalty=mkl.WeightedLpNorm(1.5, (1, 2, 1, 3, 1, 1))),
    mkl.LpMKLRegressor(penalty=mkl.EllipticNorm(np.eye(6) + 0.3), loss="squared"),
    mkl.UniformMKLRegressor(),
    mkl.BestKernelRegressor(),
    mkl.GOMPRegressor(n_kernels=3),
    mkl.GreedyMKLRegressor(lam=0.02),
    mkl.GreedyMKLRegressor(criterion="empirical", step="linesearch"),
    mkl.SMKLRegressor(terms="gl"),
    mkl.SMKLRegressor(terms="mf+mkl", loss="squared"),
    mkl.HKLRegressor(lam=0.01),
]
BASES = [
    mkl.GaussianBasis(3),
    mkl.GaussianBasis(2, 0.5),
    mkl.ANOVABasis(),
    mkl.KernelPCABasis(2),
]


def with_kernels(model):
    return model if "HKL" in type(model).__name__ else model.set_params(kernels=KERNELS)


def assert_holds(path, table, reported=True):
    lines = verify(path, table, *(["target"] if str(table).endswith("csv") else []))
    assert [line.text for line in lines if not line.holds] == []
    assert any(line.text.startswith("objective") for line in lines)
    return lines


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: str(m).replace("\n", "")[:60])
def test_every_classifier_is_verified(model, task, tables, tmp_path):
    lines = assert_holds(saved(with_kernels(model), tables, task, tmp_path), tables[task])
    assert any("within" in line.text for line in lines) == (model.dual_point_ is not None)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: str(m).replace("\n", "")[:60])
def test_every_regressor_is_verified(model, tables, tmp_path):
    lines = assert_holds(saved(with_kernels(model), tables, "regression", tmp_path), tables["regression"])
    assert any("within" in line.text for line in lines) == (model.dual_point_ is not None)


@pytest.mark.parametrize("basis", BASES, ids=str)
@pytest.mark.parametrize("normalize", [True, False])
def test_every_basis_of_a_hull_is_verified(basis, normalize, tables, tmp_path):
    model = mkl.HKLRegressor(basis, lam=0.05, normalize_basis=normalize, tol=1e-2)
    assert_holds(saved(model, tables, "regression", tmp_path), tables["regression"])


@pytest.mark.parametrize("nu", [None, 0.4])
def test_novelty_is_verified(nu, tables, tmp_path):
    model = mkl.LpMKLOneClass(p=1.5, nu=nu, kernels=KERNELS)
    assert_holds(saved(model, tables, "regression", tmp_path), tables["regression"])


@pytest.mark.parametrize("normalise", ["multiplicative", "spherical", "trace", "diag", None])
@pytest.mark.parametrize("center", [True, False])
def test_every_normalisation_is_verified_on_part_of_the_rows(normalise, center, tables, tmp_path):
    model = mkl.LpMKLRegressor(p=2.0, kernels=RICH, normalise=normalise, center=center)
    lines = assert_holds(saved(model, tables, "regression", tmp_path, slice(3, 30, 2)), tables["regression"])
    assert lines[0].text == "training rows: all 14 are rows of the table"


def test_a_stack_is_given_as_npz(tables, tmp_path):
    data = mkl.read_table(tables["binary"], "target")
    K = KERNELS.grams(data.X).values
    np.savez(tmp_path / "stack.npz", K=K)
    mkl.save_model(tmp_path / "model.mkl", mkl.LpMKLClassifier(p=1.0, kernels="precomputed").fit(K, data.y))
    assert_holds(tmp_path / "model.mkl", tmp_path / "stack.npz")
    assert main([str(tmp_path / "model.mkl"), str(tables["binary"])]) == 1  # no rows to look for


def test_weighted_rows_are_verified(tables, tmp_path):
    data, w = mkl.read_table(tables["binary"], "target"), np.arange(36) % 3
    for loss in ("hinge", "squared", "logistic"):
        model = mkl.LpMKLClassifier(p=1.5, loss=loss, kernels=KERNELS).fit(data.X, data.y, sample_weight=w)
        mkl.save_model(tmp_path / "model.mkl", model)
        assert np.array_equal(mkl.load_model(tmp_path / "model.mkl").sample_weight_, w)
        assert_holds(tmp_path / "model.mkl", tables["binary"])


def test_a_point_of_a_path_is_verified(tables, tmp_path):
    data = mkl.read_table(tables["binary"], "target")
    path = mkl.fit_path(mkl.LpMKLClassifier(p=1.0, kernels=KERNELS), data.X, data.y, "C", [0.1, 1.0, 10.0])
    mkl.save_model(tmp_path / "model.mkl", path.estimators[1])
    assert_holds(tmp_path / "model.mkl", tables["binary"])


def changed(path, name, change):
    """The model file with one fitted array changed, or one number of its description."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    text = json.loads(members["model.json"])
    node = text["model"]["fitted"][name]
    if isinstance(node, dict):
        import io

        key = f"arrays/{node['at']}.npy"
        buffer = io.BytesIO()
        np.save(buffer, change(np.load(io.BytesIO(members[key]))))
        members[key] = buffer.getvalue()
    else:
        text["model"]["fitted"][name] = change(node)
        members["model.json"] = json.dumps(text).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


@pytest.mark.parametrize(
    ("name", "change", "said"),
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
    path = saved(mkl.LpMKLClassifier(p=1.0, C=2.0, kernels=KERNELS), tables, "binary", tmp_path)
    assert main([str(path), str(tables["binary"]), "target"]) == 0
    assert "Everything holds." in capsys.readouterr().out
    changed(path, name, change)
    assert main([str(path), str(tables["binary"]), "target"]) == 1
    out = capsys.readouterr().out
    assert f"FAILS  {said}" in out
    assert "NOT everything holds." in out


def test_what_cannot_be_checked_is_reported(tables, tmp_path, capsys):
    path = saved(mkl.LpMKLClassifier(kernels=KERNELS), tables, "binary", tmp_path)
    (tmp_path / "other.csv").write_text("u,v,w,target\n" + 3 * "1,2,3,a\n2,3,4,b\n4,4,4,a\n")
    assert main([str(path), str(tmp_path / "other.csv")]) == 1
    assert "36 of the model's 36 training rows are not in the table" in capsys.readouterr().out
    assert main([str(tables["binary"]), str(tables["binary"])]) == 1
    assert "no saved model" in capsys.readouterr().out
    assert main([]) == 2
    assert "usage: python -m mklcore.verify MODEL.mkl TABLE.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model", [mkl.LpMKLRegressor(kernels=KERNELS, p=2.0), mkl.SMKLRegressor(kernels=KERNELS), mkl.HKLRegressor(lam=0.1)]
)
@pytest.mark.parametrize("loss", ["log_cosh", LogCosh(2.0)], ids=["name", "object"])
def test_a_registered_loss_is_taken_at_its_word_and_an_unknown_one_cannot_be_checked(
    model, loss, tables, tmp_path, monkeypatch
):
    with monkeypatch.context() as with_it:
        with_it.setitem(mkl.LOSSES, "log_cosh", LogCosh)
        path = saved(sklearn.base.clone(model).set_params(loss=loss), tables, "regression", tmp_path)
        lines = assert_holds(path, tables["regression"])
        assert any("those of the registered class LogCosh, taken at its word" in line.text for line in lines)
        changed(path, "objective_", lambda value: 1.01 * value)
        assert "FAILS  objective" in "\n".join(report(path, tables["regression"], "target")[0])
    said, good = report(path, tables["regression"], "target")
    assert not good
    assert len(said) == 1
    assert said[0].startswith("cannot be checked: The loss ")
    assert "Register its class in mklcore.LOSSES" in said[0]


@pytest.mark.parametrize(
    "model", [mkl.LpMKLClassifier(kernels=KERNELS, p=2.0), mkl.HKLClassifier(lam=0.1)], ids=["lp", "HKL"]
)
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=lambda loss: loss.name)
def test_a_loss_given_as_an_object_is_the_loss_of_that_name(model, loss, tables, tmp_path):
    lines = assert_holds(
        saved(sklearn.base.clone(model).set_params(loss=loss), tables, "binary", tmp_path), tables["binary"]
    )
    assert not any("registered" in line.text for line in lines)


def test_it_runs_as_a_command(tables, tmp_path):
    path = saved(mkl.LpMKLClassifier(kernels=KERNELS), tables, "binary", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "mklcore.verify", path, tables["binary"], "target"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "Everything holds." in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["verify.py", "io/verify_hull.py", "io/verify_graph.py"])
def test_it_shares_no_code_with_what_fitted(name):
    tree = ast.parse((ROOT / "mklcore" / name).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = next((f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "registered"), None)
    if own is not None:  # a loss that someone registered has no other definition than its class
        modules -= {node.module for node in ast.walk(own) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in modules if module and module.startswith("mklcore")}
    assert ours <= {"mklcore.data", "mklcore.errors", "mklcore.io.verify_graph", "mklcore.io.verify_hull"}
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not {"scipy", "sklearn", "numba"} & plain
