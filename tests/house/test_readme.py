"""What the README promises: the two commands as stated, an example that runs, links that exist, the
map.
"""

import re
from pathlib import Path

import mklcore
from tests.helpers.every import every
from tests.helpers.project import ROOT, run_python, settings, text_of

TEXT = text_of("README.md")


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
    assert run_python("-W", "error", str(script), folder=tmp_path)


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
    text = text_of("docs/methods/index.md")
    algorithms = mklcore.io.catalog.ESTIMATORS.values()
    for algorithm in algorithms:
        for kind in (algorithm.classifier, algorithm.regressor):
            assert f"`{kind.__name__}`" in text
    controls = [control for algorithm in algorithms for control in algorithm.controls]
    losses = {loss for control in controls if control.name == "loss" for loss in control.choices}
    assert [loss for loss in losses if loss not in text] == []
    assert [solver for solver in mklcore.SOLVERS if f'"{solver}"' not in text] == []


@every("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"])
def test_texts_fit_the_page_and_the_project(name):
    project = settings()["project"]
    text = text_of(name)
    assert text.endswith("\n")
    if name == "LICENSE":
        assert project["license"] == "BSD-3-Clause"
        assert project["authors"][0]["name"] in text
    if name == "CHANGELOG.md":
        assert f"## {project['version']}" in text
        assert "You can" not in text, "one short line per change, in its area"
