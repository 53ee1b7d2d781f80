"""House rules of the test run: who runs what, and nothing is left out silently.

Folders are run on all cores, a file at a time per worker; files named on the command line run in
this process. With ``CI`` set in the environment, a skipped or expected-to-fail test without a
reason ends the run as failed.
"""

import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

# Before numpy is loaded here, in the workers and in every server a test starts: two workers with
# two threads each would fight for two cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_EXPLORER_HOME", "off")  # nothing is left in the account's folder
# of scikit-learn's boosting, whose threads wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some thirty processes import the same libraries: what one of them has compiled, the others load.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parents[1]
MOST_WORKERS = 8
# A browser, its server and their first pages cost as much as fifty tests: all files of a line go to
# the same worker, and share them.
WINDOWS = (
    ("browser/test_walk.py", "browser/test_hulls.py"),
    (
        "browser/test_home.py",
        "browser/test_browser.py",
        "browser/test_walk_screens.py",
        "browser/test_kept.py",
        "browser/test_players.py",
        "browser/test_one_file.py",
        "browser/test_strangers.py",
        "browser/test_hostile_pages.py",
        "browser/test_playground.py",
        "browser/test_static_page.py",
    ),
)
# The files that take longest, the longest first: a free worker takes the next, so that all workers
# end together.
LONGEST = (
    *(file for line in WINDOWS for file in line),
    "house/test_second_process.py",
    "pages/test_explore.py",
    "pages/test_app.py",
    "pages/test_exports.py",
    "io/test_rows.py",
    "pages/test_proof_pocket.py",
    "pages/test_hulls.py",
    "answer/test_answer.py",
    "pages/test_compare.py",
    "io/test_extensions.py",
    "pages/test_predict.py",
    "io/test_notebooks.py",
)
# What a machine's own rounding could reach: solvers, certificates, and what compares them with an
# oracle.
NUMERICAL = (
    "answer/test_chance.py",
    "estimators/test_*.py",
    "hkl/test_*.py",
    "io/test_extensions.py",
    "io/test_notebooks.py",
    "io/test_verify.py",
    "kernels/test_grams.py",
    "kernels/test_lowrank.py",
    "kernels/test_operators.py",
    "lp/test_*.py",
    "paths/test_leave_one_out.py",
    "paths/test_path.py",
    "paths/test_selection.py",
    "problem/test_*.py",
    "sparse/test_*.py",
)
SMALL = (
    ("pages.shared.values.hulls", "POINTS", 8),
    ("mklcore.answer.references", "N_TREES", 10),
    ("mklcore.answer.references", "STEPS", 10),
)
# Answers on pages: three folds however few the rows are, and every second value of C.
SMALL_ON_PAGES = (
    ("mklcore.answer.candidates", "SMALL", 0),
    ("mklcore.answer.explore", "SMALL", 0),
    ("mklcore.answer.candidates", "GRID", slice(None, None, 2)),
)
COMPILING = pytest.StashKey[subprocess.Popen[bytes]]()
WAITED = pytest.StashKey[bool]()
LAST_SMALL = pytest.StashKey[int]()  # how many small settings the test before had
COMPILE = [sys.executable, "-m", "mklcore._numba.warmup"]  # a second one waits for the first

_nameless: list[str] = []


# Who runs what


def pytest_addoption(parser: pytest.Parser) -> None:
    explanation = (
        "run every test with draws that differ in their last digits, under so many noises (3 "
        "without a number)"
    )
    parser.addoption(
        "--jitter", nargs="?", type=int, const=3, default=0, metavar="NOISES", help=explanation
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.jitter:
        from tests.helpers import jitter  # loads numpy, after the settings above

        jitter.install()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.config.option.jitter:
        metafunc.parametrize(
            "noise", range(metafunc.config.option.jitter), indirect=True, ids="noise {}".format
        )


@pytest.fixture(autouse=True)
def noise(request: pytest.FixtureRequest) -> None:
    """The noise that draws get with ``--jitter``; those of modules and of their fixtures have the
    first.
    """
    if hasattr(request, "param"):
        sys.modules["tests.helpers.jitter"].JitteredGenerator.noise = request.param


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Count the workers: one per core for folders, none for files, which are easier to debug in
    this process.

    One more fills the gaps in which browsers wait, and slows the others by as much.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return int(os.environ["PYTEST_XDIST_AUTO_NUM_WORKERS"])
    if all(Path(argument.partition("::")[0]).is_file() for argument in config.args):
        return 0
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores, MOST_WORKERS)


class Scheduling(LoadFileScheduling):
    """A file at a time per worker, and those of a line of ``WINDOWS`` as one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        name = file.removeprefix("tests/")
        return next((line[0] for line in WINDOWS if name in line), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    return Scheduling(config, log)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to compile the numerical routines, once for all workers, which collect the tests
    meanwhile.
    """
    option = session.config.option
    if getattr(option, "tx", None) and not option.collectonly and (ROOT / "mklcore").is_dir():
        session.config.stash[COMPILING] = subprocess.Popen(
            COMPILE, cwd=ROOT, stdin=subprocess.DEVNULL
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """What was imported and collected stays: the garbage collector need not go through it again and
    again.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait, in a worker, until all is compiled; servers and browsers, which wait themselves, start
    meanwhile.
    """
    if "browser" not in item.path.parts:
        _wait_until_compiled(item.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _wait_until_compiled(item.config)


def _wait_until_compiled(config: pytest.Config) -> None:
    """Two processes that compile would each do it all."""
    if (
        hasattr(config, "workerinput")
        and not config.stash.get(WAITED, False)
        and (ROOT / "mklcore").is_dir()
    ):
        subprocess.run(
            COMPILE, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True
        )
        config.stash[WAITED] = True


def pytest_unconfigure(config: pytest.Config) -> None:
    compiling = config.stash.get(COMPILING, None)
    if compiling is not None:
        compiling.wait()


def _place(item: pytest.Item) -> int:
    file = item.path
    name = (
        file.relative_to(ROOT / "tests").as_posix() if file.is_relative_to(ROOT / "tests") else ""
    )
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where only numerical tests are asked for, import no other file: that takes longer than a
    tenth of the tests.
    """
    if config.option.markexpr != "numerical" or not collection_path.name.startswith("test_"):
        return None
    marks = _is_numerical(collection_path) or "mark.numerical" in collection_path.read_text(
        encoding="utf-8"
    )
    return None if marks else True


def _is_numerical(file: Path) -> bool:
    return any(file.match(f"tests/{name}") for name in NUMERICAL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first, and mark the numerical ones."""
    items.sort(key=_place)
    numerical = {path: _is_numerical(path) for path in {item.path for item in items}}
    for item in items:
        if numerical[item.path]:
            item.add_marker("numerical")


@pytest.fixture(autouse=True)
def no_work_left_behind() -> Iterator[None]:
    """End the work that a test of a page leaves running: the threads are shared by all tests of the
    process.
    """
    yield
    work = sys.modules.get("pages.shared.work.work")
    if work is not None:
        work.WORK.stop()


@pytest.fixture(autouse=True)
def inline_work(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of pages is over when it has been asked for, so that a test of a page need not wait.

    What shows work under way (progress, Cancel, an older answer that waits) needs the threads: mark
    it ``threads``.
    """
    work = sys.modules.get("pages.shared.work.work")
    if work is not None and request.node.get_closest_marker("threads") is None:
        monkeypatch.setattr(work.WORK, "inline", True)


@pytest.fixture(autouse=True)
def nothing_earlier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages compute what they show, although answers come with the project: mark a test ``earlier``
    to have those.
    """
    kept = sys.modules.get("pages.shared.export.saved")
    if kept is not None and request.node.get_closest_marker("earlier") is None:
        monkeypatch.setattr(kept, "EARLIER", None)


@pytest.fixture(autouse=True)
def small_settling(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few points on the paths and hulls of pages, few folds that choose one, and small models to
    compare with: mark a test ``settling`` to have all as visitors have it. What is done with it is
    the same, in a third of the time. What is kept for everybody does not go from one kind of test
    to the other.
    """
    small = _small_settings(request.node)
    if len(small) != request.config.stash.get(LAST_SMALL, len(small)):
        _forget_what_is_shared()
    request.config.stash[LAST_SMALL] = len(small)
    for name, attribute, value in small:
        module = sys.modules.get(name)
        if module is None:
            continue
        if isinstance(value, slice):
            value = getattr(module, attribute)[value]
        monkeypatch.setattr(module, attribute, value)


def _small_settings(item: pytest.Item) -> tuple[tuple[str, str, object], ...]:
    if item.get_closest_marker("settling") is not None:
        return ()
    return SMALL + SMALL_ON_PAGES if "pages" in item.path.parts else SMALL


def _forget_what_is_shared() -> None:
    work = sys.modules.get("pages.shared.work.work")
    if work is not None:
        work.WORK.clear()


@pytest.fixture
def rng():
    """The draws of the seed 0, from their first."""
    import numpy as np  # after the settings above

    return np.random.default_rng(0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the server keeps files, new for every test."""
    place = tmp_path / "home"
    monkeypatch.setenv("MKL_EXPLORER_HOME", str(place))
    # in which the server keeps what the folder does not take
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return place


# Nothing is left out silently


def names_its_reason(reason: str) -> bool:
    """Whether a skip reason is a sentence: a capital or a digit first and at least three words."""
    words = reason.removeprefix("Skipped:").strip()
    return bool(re.match(r"[A-Z0-9]", words)) and len(words.split()) >= 3


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if hasattr(report, "wasxfail"):
        return report.wasxfail.removeprefix("reason: ")
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not names_its_reason(_reason(report)):
        _nameless.append(f"{report.nodeid}: {_reason(report)!r}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if os.environ.get("CI") and _nameless and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if os.environ.get("CI") and _nameless:
        terminalreporter.section("skipped without a named reason", red=True)
        for line in _nameless:
            terminalreporter.line(line)
        terminalreporter.line("Say in a sentence why the test cannot run here, or let it run.")
