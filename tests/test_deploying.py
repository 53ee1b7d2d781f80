"""What a server of a class is made from: the lock file, the container, the proxy before it, and the audit of what is installed."""

import json
import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
LOCKED = dict(
    line.split("==") for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines() if "==" in line
)


def test_the_lock_names_what_the_project_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["app"]]):
        assert wanted.specifier.contains(Version(LOCKED[wanted.name])), f"{wanted}: run .ci/lock.py again"


def test_the_container_has_no_root_and_writes_into_volumes_only() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^USER app$", lines, re.M)
    for folder in re.findall(r"^COPY (.+) \S+$", lines, re.M):
        for name in folder.split():
            assert (ROOT / name).exists(), f"The Dockerfile copies {name}, which is not there."
            kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
            assert f"!{name}" in kept, f"{name} does not reach the build."
    volumes = json.loads(re.search(r"^VOLUME (.+)$", lines, re.M).group(1))
    for name in ("MKL_EXPLORER_HOME", "NUMBA_CACHE_DIR"):
        assert re.search(rf"{name}=(\S+)", lines).group(1) in volumes


def test_only_the_proxy_is_reached_and_it_closes_the_metrics() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra docs; compose.yaml is read with it")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    app, proxy = services["services"]["app"], services["services"]["proxy"]
    assert "ports" not in app
    assert (app["read_only"], app["cap_drop"], app["networks"]) == (True, ["ALL"], ["inside"])
    assert services["networks"]["inside"]["internal"]
    assert "inside" in proxy["networks"]
    told = services["configs"]["proxy"]["content"]
    assert re.search(r"@closed path /_stcore/metrics.*\n\s*respond @closed 404", told)
    assert "Referrer-Policy no-referrer" in told
    assert "log" not in told.split()


def test_the_source_distribution_has_every_folder_that_a_test_imports_from() -> None:
    asked = re.compile(r"^\s*(?:from|import) (\w+)", re.M)
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py")]
    folders = {name for text in texts for name in asked.findall(text) if (ROOT / name).is_dir()}
    assert {"tests", "pages", "benchmarks", "docs"} <= folders
    manifest = (ROOT / "MANIFEST.in").read_text(encoding="utf-8")
    assert folders - {"mklcore"} <= set(re.findall(r"^graft (\S+)$", manifest, re.M))


def test_a_file_that_is_not_shipped_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").touch()
    assert script("sdist").lacking(["tests/pages.py", "docs/index.md", "docs"], tmp_path) == ["docs", "tests/pages.py"]


def script(name: str):
    spec = spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_audit_fails_on_a_finding_and_says_when_it_could_not_look() -> None:
    found = [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]
    packages = [{"name": "a", "version": "2.0", "vulns": found}, {"name": "b", "version": "1", "vulns": []}]
    assert script("audit").verdict(json.dumps({"dependencies": packages}), "") == (
        1, "a 2.0: PYSEC-1, mended in 2.1\n2 packages looked up, 1 known vulnerabilities."
    )  # fmt: skip
    assert script("audit").verdict(json.dumps({"dependencies": packages[1:]}), "")[0] == 0
    unknown = [{"name": "c", "skip_reason": "Dependency not found on PyPI"}]
    told = script("audit").verdict(json.dumps({"dependencies": unknown}), "")[1]
    assert told == "NOT AUDITED: none of 1 packages could be looked up (Dependency not found on PyPI)."
    code, told = script("audit").verdict("", "noise\nConnectionError: no way out")
    assert (code, told) == (
        0,
        "NOT AUDITED: known vulnerabilities could not be looked up (ConnectionError: no way out).",
    )
