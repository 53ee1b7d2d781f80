"""Files written by version 0.1 still work: models, paths, links, runs, handed-out scripts and a script of somebody's
own.

The folder `tests/data/v0_1` was made once and is never made again: its `make.py` says how.
"""

import json
import runpy
import shutil
import warnings
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest

import mklcore as mkl
from mklcore.paths.files import read_paths
from mklcore.verify import verify
from pages._parts.export import specification
from pages._parts.params import link
from pages._parts.runs import results
from pages._parts.runs.disk import FILE
from pages._parts.runs.store import Store

FOLDER = Path(__file__).parent / "data" / "v0_1"
OWNER = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
MODELS = json.loads((FOLDER / "models.json").read_text())
LINKS = json.loads((FOLDER / "links.json").read_text())
SCREENS = json.loads((FOLDER / "screens" / "numbers.json").read_text())


@pytest.fixture(scope="module")
def arrays():
    with np.load(FOLDER / "models.npz", allow_pickle=False) as file:
        return dict(file)


@pytest.mark.numerical
@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_what_it_predicted(name, arrays):
    model = mkl.load_model(FOLDER / "models" / f"{name}.mkl")
    outputs = {key.partition("/")[2]: value for key, value in arrays.items() if key.startswith(f"{name}/")}
    assert outputs
    for output, before in outputs.items():
        now = getattr(model, output)(arrays["NEW"])
        if before.dtype.kind == "f":
            np.testing.assert_allclose(now, before, rtol=1e-9, atol=1e-11)
        else:
            np.testing.assert_array_equal(now, before)


@pytest.mark.numerical
@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_of_a_model_still_holds(name, arrays):
    table = {"X": arrays["X"]}
    if f"y-{MODELS[name]['task']}" in arrays:
        table["y"] = arrays[f"y-{MODELS[name]['task']}"]
    lines = verify(FOLDER / "models" / f"{name}.mkl", table, "y")
    assert lines
    assert [line.text for line in lines if not line.holds] == []


def test_paths_are_read():
    paths = read_paths((FOLDER / "paths.npz").read_bytes())
    assert {name: (path.param, len(path)) for name, path in paths.items()} == {
        "lp_C": ("C", 5),
        "lp_p": ("p", 4),
        "gomp_s": ("s", 3),
        "smkl_C": ("C", 3),
    }
    assert all(np.isfinite(path.val_score).all() for path in paths.values())


def renamed(fields: dict[str, str]) -> dict[str, str]:
    """Fields of a link of 0.1 by the names of today, which read both."""
    return {name.replace("lanes", "methods"): value for name, value in fields.items()}


@pytest.mark.parametrize("page", LINKS)
def test_a_link_means_what_it_meant(page):
    params, refused = link.read(dict(parse_qsl(LINKS[page]["link"], keep_blank_values=True)))
    assert refused == ()
    assert renamed(LINKS[page]["written"]).items() <= link.text(params).items()


def test_a_specification_is_read():
    params, refused = specification.read((FOLDER / "specification.json").read_bytes())
    assert params.data == "iris"
    assert params.algorithm == "gomp"
    assert [part for part in refused if "link" in part] == []


def test_named_runs_are_opened_with_table_and_results(tmp_path):
    shutil.copy(FOLDER / "runs.db", tmp_path / FILE)
    store = Store(tmp_path)
    runs = {run.name: run for run in store.runs(OWNER)}
    assert set(runs) == {f"{name} of 0.1" for name in SCREENS} | {"a table of 0.1"}
    assert store.warning == ""
    for name, numbers in SCREENS.items():
        run, _ = store.run(OWNER, runs[f"{name} of 0.1"].id)
        params, refused = link.read(run.recipe)
        assert refused == ()
        assert link.text(params).items() <= renamed(dict(run.recipe)).items()
        if name != "compare":
            path = results.read(store.results(run.id)).path
            np.testing.assert_array_equal(path.weights, numbers["weights"])
    (table,) = store.run(OWNER, runs["a table of 0.1"].id)[1]
    assert table.name == "people.csv"
    assert table.content.startswith(b"age,height,group\n")
    assert all(store.outcomes(key) for key in ("greedy_rate", "hkl_norms"))


def run(place, folder, monkeypatch):
    monkeypatch.chdir(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # a name may have moved: it says so, and works
        warnings.simplefilter("ignore", mkl.NotConvergedWarning)
        return runpy.run_path(str(place))


@pytest.mark.numerical
@pytest.mark.parametrize("name", SCREENS)
def test_a_script_that_a_page_handed_out_gives_its_numbers(name, tmp_path, monkeypatch):
    names = run(FOLDER / "screens" / f"{name}.py", tmp_path, monkeypatch)
    path = next(iter(names["paths"].values())) if "paths" in names else names["path"]
    values, weights = (np.array(SCREENS[name][key]) for key in ("values", "weights"))
    np.testing.assert_allclose(path.values, values, rtol=1e-6)
    np.testing.assert_allclose(path.weights, weights, rtol=0.05, atol=0.05 * weights.max())


@pytest.mark.numerical
def test_a_script_of_somebody_gives_its_numbers(tmp_path, monkeypatch):
    before = json.loads((FOLDER / "script.json").read_text())
    now = run(FOLDER / "user_script.py", tmp_path, monkeypatch)["numbers"]
    assert now.keys() == before.keys()
    for name, reported in before.items():
        if name in ("losses", "hull", "verified"):
            assert now[name] == reported, name
        else:  # within what the tolerance of each fit allows
            rough = name in ("path_objective", "same_path", "concave", "interval")
            np.testing.assert_allclose(now[name], reported, rtol=2e-3 if rough else 2e-5, atol=1e-4, err_msg=name)
