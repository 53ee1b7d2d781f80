"""What the README promises: the two commands as stated, an example that runs, links that exist, the
map.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import mklcore
from tests.helpers.every import every

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_two_commands_are_as_stated():
    assert [block.strip() for block in blocks("bash")] == [
        'python -m pip install -e ".[app]" && streamlit run app.py',
        'python -m pip install -e ".[test]" && python -m pytest',
        'uvx --from ".[app]" mkl-explorer my.csv',
    ]


def test_the_example_has_twelve_lines_and_walks_the_whole_way():
    (example,) = blocks("python")
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(example.strip().splitlines()) <= 13
    assert len(lines) <= 12
    assert lines[0] == "import mklcore as mkl"
    used = dict.fromkeys(re.findall(r"mkl\.(\w+)", example))
    assert list(used) == [
        "load_sample", "KernelDictionary", "Linear", "LpMKLClassifier", "fit_path", "log_grid", "figures",
    ]  # fmt: skip
    assert set(used) <= set(mklcore.__all__)


def test_the_example_runs_and_its_answers_are_good(tmp_path):
    (example,) = blocks("python")
    checks = """
assert model.score(test.X, test.y) > 0.9
assert model.weights_.shape == (4 + data.n_features,)
assert 0 <= model.dual_gap_ <= 1e-2 * model.objective_
assert path.weights.shape == (25, 4 + data.n_features)
assert all(status.ok for status in path.statuses)
assert "along C from 0.01 to 100" in mkl.figures.weight_path(path).layout.meta["alt"]
"""
    script = tmp_path / "example.py"
    script.write_text(example + checks, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=_with_checkout(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def _with_checkout():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_links_lead_somewhere():
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in target]
    assert "docs/pictures/explore.gif" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_it_is_two_screens_long():
    assert len(TEXT.splitlines()) <= 130


def test_the_map_shows_every_package():
    rooms = {
        path.name
        for path in (ROOT / "mklcore").iterdir()
        if path.name not in {"__init__.py", "__pycache__"}
    }
    named = {
        Path(room).name for room in re.findall(r"`mklcore/([^`]+)`", TEXT.split("## The map\n")[1])
    }
    assert {room for room in rooms if "." not in room or room.endswith(".py")} <= named


def test_every_estimator_loss_and_solver_is_on_the_page_of_the_methods():
    text = (ROOT / "docs" / "methods" / "index.md").read_text(encoding="utf-8")
    for algorithm in mklcore.io.catalog.ESTIMATORS.values():
        for kind in (algorithm.classifier, algorithm.regressor):
            assert f"`{kind.__name__}`" in text
    controls = [
        control
        for algorithm in mklcore.io.catalog.ESTIMATORS.values()
        for control in algorithm.controls
    ]
    losses = {loss for control in controls if control.name == "loss" for loss in control.choices}
    assert [loss for loss in losses if loss not in text] == []
    assert [solver for solver in mklcore.SOLVERS if f'"{solver}"' not in text] == []


@every("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_texts_fit_the_page_and_the_project(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    if name == "LICENSE":
        assert project["license"] == "BSD-3-Clause"
        assert project["authors"][0]["name"] in text
    if name == "CHANGELOG.md":
        assert f"## {project['version']}" in text
        assert "You can" not in text, "one short line per change, in its area"
