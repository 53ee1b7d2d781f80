"""What a server of a class is made from: the lock file, the container, the proxy before it, and the
audit of what is installed.
"""

import json
import os
import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from benchmarks.__main__ import MARK
from benchmarks.lines import Line, included
from benchmarks.lines import reported as table_of
from tests.helpers.every import every
from tests.helpers.project import ROOT, settings, text_of


def script(name):
    spec = spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lock_names_what_the_project_allows_each_with_its_hashes():
    written = text_of("requirements.lock")
    locked = script("lock").locked()
    project = settings()["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *extras["tables"],
        *extras["app"][1:],
        *settings()["build-system"]["requires"],
    ]
    for wanted in map(Requirement, asked):
        assert wanted.specifier.contains(Version(locked[wanted.name])), (
            f"{wanted}: run .ci/lock.py again"
        )
    lines = written.replace("\\\n", "").splitlines()[1:]
    assert len(lines) == len(locked)
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", line), line


def test_what_is_installed_in_another_version_is_named(monkeypatch):
    lock = script("lock")
    monkeypatch.setattr(
        lock, "locked", lambda: {"numpy": "0.1", "pytest": lock.version("pytest"), "no-such": "1"}
    )
    assert [line.split(":")[0] for line in lock.missing()] == ["numpy", "no-such"]


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml", ".github/workflows/checks.yml"])
def test_what_others_publish_is_named_by_its_digest_or_said_not_to_be(file):
    text = text_of(file)
    named = re.findall(r"^\s*(?:FROM|image:|- uses:) (\S+)", text, re.MULTILINE)
    assert named
    assert (
        all(re.search(r"@(sha256:)?[0-9a-f]{40,64}$", one) for one in named)
        or "could not be looked up" in text
    )


def test_the_container_has_no_root_and_writes_into_volumes_only():
    lines = text_of("Dockerfile")
    kept = text_of(".dockerignore").splitlines()
    assert re.search(r"^USER app$", lines, re.M)
    assert all(
        "--require-hashes" in line or "--no-build-isolation" in line
        for line in re.findall("pip install.*", lines)
    )
    for folder in re.findall(r"^COPY (.+) \S+$", lines, re.M):
        for name in folder.split():
            assert (ROOT / name).exists(), f"The Dockerfile copies {name}, which is not there."
            assert f"!{name}" in kept, f"{name} does not reach the build."
    volumes = json.loads(re.search(r"^VOLUME (.+)$", lines, re.M).group(1))
    for name in ("MKL_EXPLORER_HOME", "NUMBA_CACHE_DIR"):
        assert re.search(rf"{name}=(\S+)", lines).group(1) in volumes


def test_only_the_proxy_is_reached_with_a_password_and_it_closes_the_metrics():
    yaml = pytest.importorskip(
        "yaml", reason="PyYAML comes with the extra docs; compose.yaml is read with it"
    )
    services = yaml.safe_load(text_of("compose.yaml"))
    app = services["services"]["app"]
    proxy = services["services"]["proxy"]
    assert "ports" not in app
    assert (app["read_only"], app["cap_drop"], app["networks"]) == (True, ["ALL"], ["inside"])
    for one in (app, proxy):
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert one["ulimits"]["nofile"] >= 4 * 1209
        assert one["mem_limit"]
        assert one["pids_limit"]
    assert (proxy["read_only"], proxy["cap_drop"], proxy["cap_add"]) == (
        True,
        ["ALL"],
        ["NET_BIND_SERVICE"],
    )
    assert services["networks"]["inside"]["internal"]
    assert "inside" in proxy["networks"]
    assert proxy["environment"]["PASSWORD_HASH"].startswith("${PASSWORD_HASH:?"), (
        "it does not start without one"
    )
    written = text_of(services["configs"]["proxy"]["file"])
    assert re.search(r"@metrics path /_stcore/metrics.*\n\s*respond @metrics 404", written)
    asked = set(re.findall(r"\{\$(\w+)", written))
    assert asked == set(proxy["environment"])
    (bound,) = re.findall(r"max_size (\d+)MB", written)
    config = tomllib.loads(text_of(".streamlit/config.toml"))
    assert int(bound) > config["server"]["maxUploadSize"]
    for part in ("basic_auth {", "Referrer-Policy no-referrer", "read_body", "read_header"):
        assert part in written
    assert not re.search(r"^\s*log\b", written, re.M)


def test_the_workflow_runs_the_checks_on_every_system_and_python_that_is_promised():
    yaml = pytest.importorskip(
        "yaml", reason="PyYAML comes with the extra docs; the workflow is read with it"
    )
    job = yaml.safe_load(text_of(".github/workflows/checks.yml"))["jobs"]["checks"]
    commands = [
        word for step in job["steps"] for word in step.get("run", "").split() if "=" not in word
    ]
    assert commands == [".ci/run"]
    assert "AUDIT=--required" in job["steps"][-1]["run"]
    assert os.access(ROOT / commands[0], os.X_OK)
    called = re.findall(r"\.ci/\w+\.py", text_of(commands[0]))
    assert {".ci/sdist.py", ".ci/installed.py"} <= set(called)
    assert [name for name in called if not (ROOT / name).is_file()] == []
    matrix = job["strategy"]["matrix"]
    promised = " ".join(settings()["project"]["classifiers"])
    assert [
        f"{major}.{minor}" for major, minor in re.findall(r"Python :: (\d)\.(\d+)", promised)
    ] == matrix["python"]
    systems = {"ubuntu": "Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}
    assert all(systems[name.partition("-")[0]] in promised for name in matrix["system"])
    assert len(matrix["system"]) == len(systems)


@every("file", ["requirements.txt", ".binder/requirements.txt", ".devcontainer/devcontainer.json"])
def test_hosts_install_extras_that_exist(file):
    (asked,) = re.findall(r"-e '?\.\[([\w,]+)\]", text_of(file))
    assert set(asked.split(",")) <= set(settings()["project"]["optional-dependencies"])


def test_the_citation_is_of_this_version():
    project = settings()["project"]
    reported = text_of("CITATION.cff")
    assert f"version: {project['version']}\n" in reported
    assert f"license: {project['license']}\n" in reported
    assert f"name: {project['authors'][0]['name']}\n" in reported


def test_every_reference_of_the_paper_is_listed_and_its_figures_are_measured():
    text = text_of("paper.md")
    listed = re.findall(r"^@\w+\{(\w+),", text_of("paper.bib"), re.M)
    assert sorted(listed) == sorted(set(re.findall(r"@(\w+)", text)))
    kept = json.loads(text_of("benchmarks/results.json"))
    lines = [Line(**line) for line in kept["results"]["peers"]["lines"]]
    assert included(text, MARK, table_of(lines)) == text, "run python -m benchmarks peers"


def test_the_audit_fails_on_a_finding_and_says_when_it_could_not_look():
    found = [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]
    packages = [
        {"name": "a", "version": "2.0", "vulns": found},
        {"name": "b", "version": "1", "vulns": []},
    ]
    unknown = [{"name": "c", "skip_reason": "Dependency not found on PyPI"}]
    verdict = script("audit").verdict

    def of(dependencies, *required):
        return verdict(json.dumps({"dependencies": dependencies}), "", *required)

    assert of(packages) == (
        1, "a 2.0: PYSEC-1, mended in 2.1\n2 packages looked up, 1 known vulnerabilities."
    )  # fmt: skip
    assert of(packages[1:])[0] == 0
    assert of(unknown)[0] == 0
    not_found = "NOT AUDITED: none of 1 packages could be looked up (Dependency not found on PyPI)."
    unreached = (
        "NOT AUDITED: known vulnerabilities could not be looked up (ConnectionError: no way out)."
    )
    for required in (False, True):
        assert of(unknown, required) == (required, not_found)
        assert verdict("", "noise\nConnectionError: no way out", required) == (required, unreached)
