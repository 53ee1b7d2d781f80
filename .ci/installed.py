"""Install the wheel into an empty environment and use it from an empty folder, as somebody does who
has no checkout.

python .ci/installed.py SOURCES          SOURCES: an unpacked source distribution, or a checkout

The library without the app, then the app: healthy, a table of the command line lands on its answer,
every page opens, Ctrl-C ends all processes, nothing is written into the installation, uninstalling
leaves nothing. Needs build, psutil and Playwright here.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.serving import App, chromium, free_port, healthy, settled  # noqa: E402

LIBRARY = """
import sys
from importlib.metadata import distributions
import mklcore as mkl
from mklcore import *
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector

named = {{one.name.lower() for one in distributions()}}
extras = {{"pyarrow", "python-calamine", "plotly", "streamlit", "nbformat", "psutil", "filelock", "platformdirs"}}
assert not extras & named, extras & named
data = mkl.load_sample("iris").drawn(60, 0)
table = mkl.read_table({table!r})
assert table.task == "binary"
fitted = 0
for name in mkl.__all__:
    made = getattr(mkl, name)
    if not isinstance(made, type) or not issubclass(made, BaseEstimator):
        continue
    if name == "Conformal":
        mkl.Conformal(mkl.LpMKLClassifier()).fit(table.X, table.y)
    elif is_outlier_detector(made()):
        made().fit(data.X)
    elif is_classifier(made()):
        made().fit(table.X, table.y).predict(table.X)
    else:
        made().fit(data.X[:, :3], data.X[:, 3]).predict(data.X[:, :3])
    fitted += 1
assert fitted > 15, fitted
assert mkl.explore(table, test_size=0).verdict
for task, extra in (
    (lambda: mkl.figures.weights_bar([0.5], ["a"], ["rbf"]), "app"),
    (lambda: mkl.read_table(b"PAR1" + bytes(60) + b"PAR1"), "tables"),
):
    try:
        task()
    except ImportError as error:
        assert f"mklcore[{{extra}}]" in str(error), error
    else:
        sys.exit(f"the extra {{extra}} was not needed")
print(fitted, "estimators")
"""
PATIENCE = 300.0
NAMED = re.compile(r"Your table: (\S+)")


def table(path: Path) -> None:
    """Write a table as a visitor may bring it: classes, categories and gaps; sex tells most."""
    rows = (
        f"{('no', 'yes')[i % 2 ^ (i % 7 == 0)]},{i % 3 + 1},{('male', 'female')[i % 2]},"
        f"{'' if i % 9 == 0 else 20 + i % 41}"
        for i in range(120)
    )
    path.write_text("\n".join(["survived,class,sex,age", *rows]) + "\n", encoding="utf-8")


def packages(environment: Path) -> Path:
    """The folder that packages are installed to."""
    return next(environment.rglob("site-packages"))


def contents(folder: Path) -> set[tuple[str, int]]:
    """The files of the package with their sizes, but for what Python compiles."""
    return {
        (str(file), file.stat().st_size)
        for file in (folder / "mklcore").rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command to its end; what it printed. Exits with that where it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=surroundings() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command))[:200]} ended with "
            f"{done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout + done.stderr


def surroundings() -> dict[str, str]:
    """The environment without a way back to the checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }


def interrupt(process: int) -> None:
    """Press Ctrl-C where a process and those it started run; where the system has no groups for
    that, Ctrl-Break.
    """
    if os.name == "nt":
        os.kill(process, signal.CTRL_BREAK_EVENT)
    else:
        os.killpg(process, signal.SIGINT)


def used(program: Path, folder: Path) -> None:
    """Start the command on a table, look at every page, and end it as Ctrl-C does."""
    spec = spec_from_file_location("open_pages", ROOT / ".ci" / "open_pages.py")
    open_pages = module_from_spec(spec)
    spec.loader.exec_module(open_pages)
    home = folder / "home of somebody"
    named = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
    }
    home.mkdir()
    table(folder / "titanic-like.csv")
    app = App(f"http://127.0.0.1:{(port := free_port())}", folder / "log")
    began = time.monotonic()
    with app.log.open("wb") as log:
        command = [program, "titanic-like.csv", "--port", str(port), "--no-open"]
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=surroundings() | named,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    try:
        while not healthy(app.url):
            if server.poll() is not None or time.monotonic() > began + PATIENCE:
                sys.exit(f"mkl-explorer did not become healthy:\n{app.log.read_text()}")
            time.sleep(0.1)
        used_seconds = sum(psutil.Process(server.pid).cpu_times()[:2])
        print(
            f"mkl-explorer was healthy after {time.monotonic() - began:.1f} s, "
            f"{used_seconds:.1f} s of the processor."
        )
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(NAMED.search(app.log.read_text())[1])
            settled(page, PATIENCE)
            column = page.locator("[data-testid='stMain']").get_by_text("sex", exact=True)
            column.first.wait_for(timeout=1000 * PATIENCE)
            page.locator(".head .title", has_text="How far each column moves").first.wait_for(
                timeout=1000 * PATIENCE
            )
            print(f"The table's answer was there after {time.monotonic() - began:.1f} s.")
            page.close()
            faults = [
                fault
                for name in open_pages.addresses()
                for fault in open_pages.opened(browser, app, name)
            ]
        if faults or app.tracebacks():
            sys.exit("\n".join([*faults, app.tracebacks()]))
        processes = psutil.Process(server.pid).children(recursive=True)
        interrupt(server.pid)
        code, (_, left) = server.wait(20), psutil.wait_procs(processes, timeout=20)
        if (code and os.name != "nt") or left or app.tracebacks():
            sys.exit(f"Ctrl-C: ended with {code}, still there: {left}\n{app.log.read_text()}")
    finally:
        if server.poll() is None:
            for process in [*psutil.Process(server.pid).children(recursive=True), server]:
                process.kill()
            server.wait()


def main(sources: Path) -> None:
    """Build, install, use, uninstall."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folder = work / "an empty folder"
        environment = work / "environment"
        folder.mkdir()
        run(sys.executable, "-m", "build", "--wheel", "--outdir", work, sources, cwd=work)
        (wheel,) = work.glob("*.whl")
        venv.create(environment, with_pip=True)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        python = scripts / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
        run(*pip, "install", "--no-compile", wheel, cwd=folder)
        run(
            python,
            "-W",
            "error",
            "-c",
            LIBRARY.format(table=b"a,b,c\n" + b"1,2,x\n3,5,y\n2,1,y\n4,4,x\n" * 9),
            cwd=folder,
        )
        print("The library alone fits every estimator and explores a table.")
        run(*pip, "install", "--no-compile", f"{wheel}[app]", cwd=folder)
        before = contents(packages(environment))
        with zipfile.ZipFile(wheel) as archive:
            names = {name.partition("/")[0] for name in archive.namelist()}
        if {name for name in names if not name.endswith(".dist-info")} != {"mklcore"}:
            sys.exit(
                f"The wheel brings the names {sorted(names)}; expected mklcore and its .dist-info."
            )
        used(scripts / "mkl-explorer", folder)
        if written := contents(packages(environment)) ^ before:
            sys.exit(f"The app wrote into its installation: {sorted(written)[:5]}")
        run(*pip, "uninstall", "-y", "mklcore", cwd=folder)
        if left := [str(one) for one in packages(environment).glob("mklcore*")]:
            sys.exit(f"Uninstalling left {left}.")
        print("Uninstalled without a trace.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
