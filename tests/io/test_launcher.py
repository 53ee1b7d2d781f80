"""The command mkl-explorer: what it refuses before a server starts, the table it hands over, and
the wheel it comes with.
"""

import os
import socket
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from mklcore.io import launcher
from pages.shared.session.parameters import UPLOAD
from pages.shared.session.state import KEY
from tests.helpers.pages import open_app, words
from tests.helpers.refusals import parameter_error

ROOT = Path(__file__).resolve().parents[2]
ROWS = "height,weight,sex\n" + "\n".join(
    f"{150 + i % 9},{50 + i % 7},{'fm'[i % 2]}" for i in range(40)
)


serve = launcher._serve


@pytest.fixture(autouse=True)
def nothing_waiting(monkeypatch):
    monkeypatch.setattr(launcher, "_waiting", {})
    monkeypatch.setattr(
        launcher, "_serve", lambda script, port, opens: served.append((script, port, opens)) or 0
    )
    served.clear()


served = []


def test_it_starts_the_app_of_the_checkout_where_it_is_asked_to(tmp_path, monkeypatch):
    monkeypatch.setenv(launcher.HOME, "")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert launcher.main(["--port", str(port), "--home", str(tmp_path / "a b"), "--open"]) == 0
    assert launcher.main(["--no-open", "--home", "off"]) == 0
    assert served == [(ROOT / "app.py", port, True), (ROOT / "app.py", None, False)]
    assert (tmp_path / "a b").is_dir()
    assert os.environ[launcher.HOME] == "off"


def test_help_names_every_option_and_both_commands_are_one():
    reported = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for command in ([sys.executable, "-m", "mklcore", "--help"],
                        [sys.executable, "-c", "from mklcore.io.launcher import main; main(['--help'])"])
    ]  # fmt: skip
    assert reported[0] == reported[1]
    assert all(
        part in reported[0]
        for part in ("FILE", "--port", "--home", "--open", "--no-open", launcher.HOSTS)
    )
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "scripts"
    ]
    assert scripts == {"mkl-explorer": f"{launcher.__name__}:{launcher.main.__name__}"}


def test_a_port_that_is_taken_or_none_is_refused_before_the_server_starts(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert launcher.main(["--port", str(port)]) == 2
    assert f"The port {port} cannot be used" in capsys.readouterr().err
    assert launcher.main(["--port", "70000"]) == 2
    assert "The port is 70000; expected 1 to 65535." in capsys.readouterr().err
    assert not served


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be opened: No such file or directory"),
        (b"", "The file is empty"),
        (b"\x89PNG\r\n", "The file is a picture, not a table"),
        (b"a,b\n1\n2,3,4\n", "Line 2 has 1 cell"),
        (b"a,b\n" + b"1,2\n" * 6_000_000, "larger than 20 MB"),
    ],
)
def test_a_file_that_is_no_table_is_refused_before_the_server_starts(
    tmp_path, capsys, content, why
):
    file = tmp_path / "a table.csv"
    if content is not None:
        file.write_bytes(content)
    assert launcher.main([str(file)]) == 2
    reported = capsys.readouterr().err
    assert why in reported
    assert reported.startswith("mkl-explorer: ")
    assert not served


def test_a_home_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert launcher.main(["--home", str(tmp_path / "file" / "home")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_an_installation_without_the_app_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr(launcher, "find_spec", lambda name: None if name == "streamlit" else name)
    assert launcher.main([]) == 2
    assert (
        "The app needs streamlit, not installed here: pip install 'mklcore[app]'."
        in capsys.readouterr().err
    )
    monkeypatch.setattr(launcher, "__file__", "/nowhere/mklcore/io/launcher.py")
    with parameter_error("holds no app"):
        launcher.app()


def test_the_table_of_the_command_line_goes_to_one_visitor_with_its_secret(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text(ROWS)
    secret = launcher.hand_over(file)
    assert launcher.first_page() == f"explore?table={secret}"
    assert len(secret) > 40
    stranger = open_app("pages/data/page.py", table="x" * len(secret))
    assert "works once" in words(stranger)
    first = open_app("pages/data/page.py", table=secret)
    held = first.session_state[KEY]
    assert [(one.name, one.content) for one in held.uploads.values()] == [
        ("people.csv", ROWS.encode())
    ]
    assert held.params.data.startswith(UPLOAD)
    assert "table" not in first.query_params
    assert launcher.first_page() == ""
    assert "works once" in words(open_app("pages/data/page.py", table=secret))


@pytest.mark.parametrize(
    ("hosts", "address", "shown"),
    [
        ("", None, None),
        ("*.hf.space mkl.example.org", "0.0.0.0", "mkl.example.org"),
        ("*", "0.0.0.0", "localhost"),
    ],
)
def test_with_hosts_it_listens_everywhere_and_asks_nobody_for_its_address(
    monkeypatch, hosts, address, shown
):
    variables = (launcher.ADDRESS_VARIABLE, launcher.SHOWN_ADDRESS_VARIABLE)
    for name in variables:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv(launcher.HOSTS, hosts)
    run = []
    monkeypatch.setattr("streamlit.web.cli.main", lambda command, **_: run.append(command))
    assert serve(ROOT / "app.py", 8123, False) == 0
    assert [os.environ.get(name) for name in variables] == [address, shown]
    assert run == [
        [
            "run",
            str(ROOT / "app.py"),
            "--server.showEmailPrompt=false",
            "--server.headless=true",
            "--server.port=8123",
        ]
    ]


def test_the_wheel_has_the_app_inside_the_package_and_no_other_name(tmp_path):
    spec = spec_from_file_location("building", ROOT / ".ci" / "building.py")
    building = module_from_spec(spec)
    spec.loader.exec_module(building)
    building.pack(ROOT, tmp_path / "_app")
    packed = {
        path.relative_to(tmp_path / "_app").as_posix()
        for path in (tmp_path / "_app").rglob("*")
        if path.is_file()
    }
    pages = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pages").rglob("*.*")
        if "__pycache__" not in path.parts
    }
    earlier = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "sample_data" / "earlier").iterdir()
    }
    assert pages | earlier | {"app.py", ".streamlit/config.toml"} <= packed
    assert {name.partition("/")[0] for name in packed} == set(building.APP)
    assert not [name for name in packed if "__pycache__" in name]
