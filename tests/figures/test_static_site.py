"""The page without a server: what is written, what is refused, and what the opened table in Python
answers.
"""

import io
import json
import re
import zipfile

import numpy as np
import pandas
import pytest

import mklcore as mkl
from mklcore.errors import DataError
from mklcore.in_browser import OpenedTable
from mklcore.io import launcher
from tests.helpers.refusals import data_error, parameter_error

ROWS = 70


def mixed(target="kind"):
    """A table with a category, gaps, dates and a text of few words, and its bytes."""
    rng = np.random.default_rng(0)
    size = rng.standard_normal(ROWS)
    frame = pandas.DataFrame(
        {"size": size.round(3), "colour": rng.choice(["red", "blue", "green"], ROWS)}
    )
    frame["day"] = pandas.date_range("2024-01-01", periods=ROWS, freq="D").strftime("%Y-%m-%d")
    frame["gaps"] = [None if k % 7 == 0 else round(float(k), 1) for k in range(ROWS)]
    frame["owner"] = [f"o{k // 2}" for k in range(ROWS)]
    frame[target] = np.where(size + 0.5 * rng.standard_normal(ROWS) > 0, "up", "down")
    return frame.to_csv(index=False).encode()


@pytest.fixture(scope="module")
def answered():
    opened_table = OpenedTable()
    stages = []
    opened = json.loads(opened_table.open(mixed()))
    found = json.loads(opened_table.answer("kind", "owner", lambda *stage: stages.append(stage)))
    return opened_table, opened, found, stages


def test_an_opened_table_answers_as_explore_does(answered):
    _, opened, found, stages = answered
    assert opened == {
        "columns": ["size", "colour", "day", "gaps", "owner", "kind"],
        "target": "kind",
        "rows": ROWS,
    }
    assert found["sentence"] == str(
        mkl.explore(mkl.read_table(mixed(), "kind", row_groups="owner")).verdict
    )
    assert found["page"].startswith("<!DOCTYPE html>")
    assert {stage for _, _, stage in stages} > {"table", "path", "refit"}
    assert "owner" not in [field["name"] for field in found["row"]]


def test_a_row_is_taken_apart_and_the_model_comes_back_from_its_file(answered):
    opened_table, _, found, _ = answered
    said = json.loads(
        opened_table.row(json.dumps({field["name"]: field["value"] for field in found["row"]}))
    )
    X = opened_table.table.X
    whole = said["base"] + sum(value for _, value in said["parts"])
    assert said["prediction"] == opened_table.found.model.predict(X[:1])[0]
    np.testing.assert_allclose(
        whole, opened_table.found.model.decision_function(X[:1])[0], rtol=1e-6, atol=1e-9
    )
    again = mkl.load_model(io.BytesIO(opened_table.model()))
    np.testing.assert_array_equal(again.predict(X), opened_table.found.model.predict(X))


def test_an_opened_table_draws_a_hull_and_refuses_in_sentences(answered):
    opened_table, _, found, _ = answered
    assert found["hull"]
    assert "hull" in json.loads(opened_table.hull())["page"]
    with data_error("column"):
        opened_table.row('{"size": "1"}')
    with pytest.raises(DataError):
        OpenedTable().open(b"\x00\x01" * 40)


def pyodide(folder, missing=""):
    folder.mkdir()
    files = {
        name: f"{name}.whl" for name in ("numpy", "scipy", "pandas", "scikit-learn", "openblas")
    }
    packages = {name: {"file_name": file, "depends": []} for name, file in files.items()}
    packages["scipy"]["depends"] = ["openblas"]
    (folder / "pyodide-lock.json").write_text(json.dumps({"packages": packages}))
    runtime = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
    for file in {*files.values(), *runtime, "other.whl"} - {missing}:
        (folder / file).write_bytes(b"0" * 1000)
    return folder


def test_a_site_holds_the_library_and_the_pyodide_that_it_needs(tmp_path, capsys):
    assert (
        launcher.main(
            ["--static", str(tmp_path / "site"), "--pyodide", str(pyodide(tmp_path / "own"))]
        )
        == 0
    )
    assert "python -m http.server" in capsys.readouterr().out
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "connect-src 'self';" in page
    assert "<!--" not in page
    assert (tmp_path / "site" / "pyodide" / "openblas.whl").is_file()
    assert not (tmp_path / "site" / "pyodide" / "other.whl").exists()
    with zipfile.ZipFile(tmp_path / "site" / "library.zip") as archive:
        names = archive.namelist()
    assert {"mklcore/in_browser.py", "latex2mathml/converter.py"} < set(names)
    assert not [name for name in names if "__pycache__" in name or "_app/" in name]


def test_an_address_of_pyodide_is_the_only_other_one_that_the_page_may_ask(tmp_path):
    page = mkl.figures.static_site(tmp_path, "https://example.org/py").read_text(encoding="utf-8")
    policy = re.search(r'Policy" content="([^"]+)"', page)[1]
    assert set(re.findall(r"https?://[^ ;]+", policy)) == {"https://example.org"}
    assert '"pyodide":"https://example.org/py/"' in page
    assert "and to https://example.org, which serves Python" in page


def test_a_place_without_pyodide_is_refused(tmp_path, capsys):
    with parameter_error(r"holds no pyodide\.js"):
        mkl.figures.static_site(tmp_path, tmp_path)
    with parameter_error(r"lacks openblas\.whl"):
        mkl.figures.static_site(tmp_path, pyodide(tmp_path / "half", missing="openblas.whl"))
    (tmp_path / "file").write_text("")
    with parameter_error("cannot be written"):
        mkl.figures.static_site(tmp_path / "file")
    with pytest.raises(SystemExit):
        launcher.main(["--pyodide", "there"])
    assert "name the folder of that page with --static" in capsys.readouterr().err
