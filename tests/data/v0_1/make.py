"""Writes the files of this folder with version 0.1 of the library. Run once; later versions only read what it wrote.

    python tests/data/v0_1/make.py

models/*.mkl      one saved model per estimator and task, and per loss, penalty, basis and kind of kernels
models.npz        the rows they predict for, and what they predict
models.json       which call of `fit` made each model, for a person who reads it
paths.npz         four paths
links.json        links of every page, and the parameters that version 0.1 read from them
specification.json, runs.db       a specification of a screen; named runs, with a table and results, of one browser
screens/*.py      scripts that Explore, Compare, Hulls and Predict handed out, and the numbers they gave
script.json       the numbers of `user_script.py`
"""

from __future__ import annotations

import hashlib
import json
import runpy
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

import mklcore as mkl  # noqa: E402
from mklcore.estimators.registry import ESTIMATORS  # noqa: E402
from mklcore.path_files import write_paths  # noqa: E402

HERE = Path(__file__).parent
OWNER = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
RNG = np.random.default_rng(11)
X = RNG.standard_normal((30, 4)) * [1.0, 20.0, 0.1, 5.0] + [0.0, 100.0, 0.0, -3.0]
NEW = X[:6] + 0.3 * RNG.standard_normal((6, 4))
SIGNAL = X[:, 0] + (X[:, 1] - 100) / 20
Y = {
    "binary": np.where(SIGNAL > 0, "yes", "no"),
    "multiclass": np.digitize(SIGNAL, [-0.7, 0.7]),
    "regression": SIGNAL**2,
    "novelty": None,
}
KERNELS = (
    mkl.KernelDictionary.rbf_grid([0.5, 2.0])
    + mkl.KernelDictionary.bands(2, mkl.Laplacian(1.0, relative=True))
    + mkl.KernelDictionary.random_subspaces(mkl.Polynomial(2), 2, 2, seed=1)
    + mkl.KernelDictionary.per_feature(mkl.Linear(), 4)
)
OUTPUTS = ("predict", "decision_function", "score_samples", "pair_decisions", "predict_proba")


def models() -> dict[str, tuple[Any, str]]:
    """Every model by its name, with its task."""
    found: dict[str, tuple[Any, str]] = {}
    for key, algorithm in ESTIMATORS.items():
        tasks = ("binary", "multiclass", "regression", *(("novelty",) if algorithm.novelty else ()))
        for task in tasks:
            found[f"{key}-{task}"] = algorithm.estimator(task), task
    lp, real = mkl.LpMKLClassifier, mkl.LpMKLRegressor
    for loss in ("hinge", "squared_hinge", "logistic", "squared"):
        found[f"loss-{loss}"] = lp(kernels=KERNELS, loss=loss, p=1.0), "binary"
    for loss in ("squared", "epsilon_insensitive", "huber"):
        found[f"loss-{loss}-real"] = real(kernels=KERNELS, loss=loss, p=4 / 3), "regression"
    prices = {
        "weighted": mkl.WeightedLpNorm(2.0, tuple(np.linspace(1, 2, 10))),
        "block": mkl.BlockNorm(3.0),
        "elliptic": mkl.EllipticNorm(tuple(map(tuple, np.eye(10) + 0.1))),
        "elastic": mkl.ElasticNet(0.5),
    }
    for name, penalty in prices.items():
        found[f"penalty-{name}"] = lp(kernels=KERNELS, penalty=penalty), "binary"
    for solver in ("wrapper", "newton", "interleaved", "silp"):
        found[f"solver-{solver}"] = lp(kernels=KERNELS, solver=solver, p=1.0 if solver == "silp" else 1.5), "binary"
    for terms in ("log", "gl", "mf", "mkl", "log+gl"):
        found[f"terms-{terms}"] = mkl.SMKLRegressor(kernels=KERNELS, terms=terms), "regression"
    bases = {
        "hermite": mkl.HermiteBasis(2, 0.5),
        "gaussian": mkl.GaussianBasis(2, 1.0, 1.0),
        "anova": mkl.ANOVABasis(1.0),
        "spline": mkl.SplineBasis(),
        "kernel_pca": mkl.KernelPCABasis(2, 1.0),
    }
    for name, basis in bases.items():
        found[f"basis-{name}"] = mkl.HKLRegressor(basis=basis, lam=0.1), "regression"
    for normalise in ("multiplicative", "spherical", "trace", "diag", None):
        found[f"normalise-{normalise}"] = (
            real(kernels=KERNELS, normalise=normalise, center=normalise == "trace"),
            "regression",
        )
    found["approximated"] = real(kernels=KERNELS, approximation=mkl.Nystroem(n_components=10)), "regression"
    found["nu"] = mkl.LpMKLOneClass(kernels=KERNELS, nu=0.3), "novelty"
    return found


def write_models() -> None:
    (HERE / "models").mkdir(exist_ok=True)
    arrays: dict[str, np.ndarray] = {"X": X, "NEW": NEW} | {f"y-{task}": y for task, y in Y.items() if y is not None}
    made = {}
    for name, (model, task) in models().items():
        fitted = model.fit(X) if Y[task] is None else model.fit(X, Y[task])
        mkl.save_model(HERE / "models" / f"{name}.mkl", fitted)
        made[name] = {"task": task, "fit": repr(model), "status": str(getattr(fitted, "status_", ""))}
        for output in OUTPUTS:
            if hasattr(fitted, output):
                arrays[f"{name}/{output}"] = getattr(fitted, output)(NEW)
    np.savez_compressed(HERE / "models.npz", **arrays)
    (HERE / "models.json").write_text(json.dumps(made, indent=1) + "\n")


def write_some_paths() -> None:
    data = mkl.load_sample("iris").take(np.arange(0, 150, 3))
    train, test = data.split(test_size=0.3, seed=0)
    asked = {
        "lp_C": (mkl.LpMKLClassifier(p=1.0), "C", np.geomspace(0.1, 10, 5)),
        "lp_p": (mkl.LpMKLClassifier(), "p", [1.0, 4 / 3, 2.0, np.inf]),
        "gomp_s": (mkl.GOMPClassifier(), "s", [1, 2, 3]),
        "smkl_C": (mkl.SMKLClassifier(), "C", np.geomspace(0.1, 10, 3)),
    }
    paths = {
        name: mkl.fit_path(model, train.X, train.y, param, values, test.X, test.y)
        for name, (model, param, values) in asked.items()
    }
    (HERE / "paths.npz").write_bytes(write_paths(**paths))


LINKS = {
    "explore": "data=iris&algorithm=lp&path=p&p=1.5&loss=logistic&seed=3&at=1.25",
    "explore-2": "data=mkl_toy&algorithm=gomp&path=s&n_kernels=7&validation=0.3&test=0.2&widths=3&each=linear",
    "explore-3": "data=breast_cancer&algorithm=lp&norm=elastic net&tol=0.0001&solver=wrapper&scoring=roc_auc",
    "explore-4": "data=diabetes&algorithm=smkl&terms=log&path=C&gaps=yes",
    "compare": "data=iris&widths=2&each=linear&lanes=lp,p=2.0;smkl;gomp:lam,n_kernels=3",
    "hulls": "data=diabetes&hull_columns=3,4,9&hull_degree=2",
    "theory": "data=iris&algorithm=lp",
    "predict": "data=iris&widths=2&each=linear&seed=3&row=77&moved=1=6.5,3=1.25",
    "data": "data=wine&target=&stratified=no&grouping=prefix&missing=indicator",
    "lessons": "lesson=letters",
}


def write_links() -> None:
    from urllib.parse import parse_qsl

    from pages._parts.params import link

    told = {}
    for page, text in LINKS.items():
        params, refused = link.read(dict(parse_qsl(text, keep_blank_values=True)))
        told[page] = {"link": text, "written": link.text(params), "refused": list(refused)}
    (HERE / "links.json").write_text(json.dumps(told, indent=1) + "\n")


FEW = {"validation": "0.4", "test": "0.4", "widths": "2", "each": "linear", "data": "iris", "seed": "3"}
SCREENS = {
    "explore": {**FEW, "algorithm": "gomp"},
    "explore-lp": {**FEW, "data": "diabetes", "algorithm": "lp", "path": "p"},
    "compare": {**FEW, "lanes": "lp,p=2.0;smkl;gomp:lam,n_kernels=3"},
    "hulls": {"data": "diabetes", "hull_columns": "3,4,9", "hull_degree": "2"},
    "predict": {**FEW, "row": "77", "moved": "1=6.5,3=1.25"},
}


def write_screens() -> None:
    """Scripts, the specification and the runs, from the running app."""
    from pages._parts.derive import comparison, paths
    from pages._parts.export import scripts, specification
    from pages._parts.params.rules import UPLOAD
    from pages._parts.runs import results
    from pages._parts.runs.store import File, Store
    from tests.pages import memory, open_app, wait_until

    (HERE / "screens").mkdir(exist_ok=True)
    numbers = {}
    with tempfile.TemporaryDirectory() as home:
        store = Store(Path(home))
        for name, query in SCREENS.items():
            page = name.partition("-")[0]
            app = open_app(f"pages/{page}.py", **query)
            if page == "predict":
                params = memory(app).params
                wait_until(lambda params=params: paths.known(params) is not None, app)
                path = paths.known(params)
            elif page == "compare":
                params = memory(app).params
                lanes = [comparison.lane_params(params, lane) for lane in comparison.lanes(params)]
                wait_until(lambda lanes=lanes: not any(paths.known(lane) is None for lane in lanes), app)
                path = paths.known(lanes[0])
            else:
                what = "hulls" if page == "hulls" else "answer"
                wait_until(lambda app=app, what=what: getattr(memory(app), what) is not None, app)
                path = getattr(memory(app), what).path
            params = memory(app).params
            if page in ("explore", "predict"):
                params = replace(params, at=float(path.values[len(path) // 2]))
            text = scripts.script(scripts.cells(params, page))
            (HERE / "screens" / f"{name}.py").write_text(text)
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "screen.py").write_text(text)
                found = _run(Path(folder) / "screen.py")
            kept = next(iter(found["paths"].values())) if "paths" in found else found["path"]
            np.testing.assert_array_equal(kept.weights, path.weights)
            numbers[name] = {"values": kept.values.tolist(), "weights": kept.weights.tolist()}
            recipe = specification.parameters(params)
            kept_results = results.write(results.Results(path)) if page != "compare" else None
            store.save(OWNER, f"{name} of 0.1", page, recipe, (), results.facts(path, 0), kept_results)
            if name == "explore":
                (HERE / "specification.json").write_text(specification.write(params, page))
        rows = [f"{20 + i},{150 + i * 7 % 40},{'ab'[i % 2]}" for i in range(40)]
        content = "\n".join(["age,height,group", *rows, ""]).encode()
        table = File(f"{UPLOAD}{hashlib.sha256(content).hexdigest()}", "people.csv", content)
        store.save(OWNER, "a table of 0.1", "data", {"data": table.source}, [table])
        for key in ("greedy_rate", "hkl_norms"):
            record = ROOT / "mklcore" / "experiments" / "recorded" / f"{key}.json"
            store.keep_outcome(key, json.dumps(["0.1", key]), record.read_text(), 5)
        store.tidy()
        import sqlite3

        base = sqlite3.connect(Path(home) / "runs.sqlite")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        base.execute("VACUUM INTO ?", (str(HERE / "runs.db"),))
        base.close()
    (HERE / "screens" / "numbers.json").write_text(json.dumps(numbers) + "\n")


def _run(place: Path) -> dict[str, Any]:
    import contextlib
    import os

    with contextlib.chdir(place.parent), open(os.devnull, "w") as quiet, contextlib.redirect_stdout(quiet):
        return runpy.run_path(str(place))


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def main() -> None:
    warnings.simplefilter("ignore")
    write_models()
    write_some_paths()
    write_links()
    numbers = _run(HERE / "user_script.py")["numbers"]
    (HERE / "script.json").write_text(json.dumps({name: plain(value) for name, value in numbers.items()}) + "\n")
    write_screens()


if __name__ == "__main__":
    main()
