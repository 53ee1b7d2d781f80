"""The house holds: who imports whom, what is never imported, how functions are compiled and caches bounded.

Everything is read from the source by ``ast``: nothing here depends on what happens to be installed or already imported.
"""

import ast
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

import mklcore

ROOT = Path(__file__).resolve().parents[1]
CORE, PAGES, APP = ROOT / "mklcore", ROOT / "pages", ROOT / "app.py"

# The rows of the house from the top; a module imports only from rows above, or from its own row.
ROWS = {
    "mklcore._lazy": 1,
    "mklcore.errors": 1,
    "mklcore.arrays": 1,
    "mklcore.io.plugins": 1,
    "mklcore.io.private_folders": 1,
    "mklcore._numba.cache": 1,
    "mklcore._numba.portable": 1,
    "mklcore._numba": 1,
    "mklcore.parameters": 1,
    "mklcore.data": 2,
    "mklcore.kernels": 3,
    "mklcore.losses": 4,
    "mklcore.losses.intercepts": 4,
    "mklcore.selection.scoring": 4,
    "mklcore.selection.fast_metrics": 4,
    "mklcore.penalties": 5,
    "mklcore.machines": 6,
    "mklcore.solvers": 7,
    "mklcore.paths.path": 8,
    "mklcore.paths.estimator_protocol": 8,
    "mklcore.paths.intervals": 8,
    "mklcore.selection.splitters": 8,
    "mklcore.selection.curves": 8,
    "mklcore.io": 12,
    "mklcore.parallel": 12,
    "mklcore.paths": 12,  # the door; its modules have rows of their own
    "mklcore.selection": 12,  # likewise
    "mklcore.selection.choose_c": 8,
    "mklcore.theory": 9,
    "mklcore.catalog": 10,
    "mklcore.estimators": 10,
    "mklcore.figures": 11,
    "mklcore.paths.held_out": 12,
    "mklcore.selection.search": 12,
    "mklcore.parallel.partitions": 12,
    "mklcore.parallel.shards": 12,
    "mklcore.paths.files": 12,
    "mklcore.selection.probabilities": 8,
    "mklcore.selection.paired": 8,
    "mklcore.selection.references": 12,
    "mklcore.io.script": 12,
    "mklcore.io.models": 12,
    "mklcore.io.archive": 12,
    "mklcore.io.checks": 12,
    "mklcore.verify": 12,
    "mklcore.io.verify_hull": 12,
    "mklcore.parallel.sweep": 12,
    "mklcore.parallel.cluster": 12,
    "mklcore.parallel.tasks": 12,
    "mklcore._numba.stages": 12,
    "mklcore._numba.warmup": 12,
    "mklcore.selection.bandwidths": 12,
    "mklcore._numba.compiling": 12,
    "mklcore.parallel.processes": 12,
    "mklcore.experiments": 12,
    "mklcore.launcher": 12,
    "mklcore.__main__": 12,
    "mklcore.notebook": 12,
    "mklcore.exploration": 12,
    "mklcore.answer": 12,
    "mklcore.answer.shapley": 8,
    "mklcore.uncertainty": 12,
    "mklcore.lessons": 12,
    "pages._parts.params": 13.1,
    "pages._parts.jobs": 13.2,
    "pages._parts.session": 13.3,
    "pages._parts.derive": 13.4,
    "pages._parts.drawing": 13.5,
    "pages._parts.players": 13.6,
    "pages._parts.export": 13.7,
    "pages._parts.runs": 13.8,
    "pages._parts.explore": 13.9,
    "pages._parts.compare": 13.9,
    "pages._parts.hulls": 13.9,
    "pages._parts.kernels": 13.9,
    "pages._parts.data": 13.9,
    "pages._parts.theory": 13.9,
    "pages._parts.predict": 13.9,
    "pages._parts.lessons": 13.9,
    "pages._parts.experiments": 13.9,
    "pages._parts.home": 13.92,
    "pages._parts.frame": 13.95,
    "pages": 14,
    "app": 14,
}
# Numbers of solvers and machines that are no settings: rounding, limits of a proof, and what compiled functions are
# made with. All others are fields of a frozen settings class.
FIXED_NUMBERS = {
    "machines/dual_coordinate_descent.py": {"_NOTHING"},
    "machines/smooth.py": {"_MAX_NEWTON"},
    "machines/svm.py": {"TINY", "LEAST", "BLOCK", "NO_SLOPE", "ROUNDING", "_HALF", "_INNER"},
    "solvers/__init__.py": {"MOST_SUMMED"},
    "solvers/exact.py": {"_SPLITTER"},
    "solvers/exact_pass.py": {"_VALUES"},
    "solvers/hkl/baselines.py": {"_LASSO_STEPS", "_LASSO_TOL"},
    "solvers/hkl/bases.py": {"_MOST_LEVELS", "_LEVELLED", "_TERMS", "_SHORT", "_SMALLEST_SHARE"},
    "solvers/hkl/inner.py": {"_FLOOR", "_SHARPEST"},
    "solvers/hkl/levels.py": {"_RANK_ONE"},
    "solvers/hkl/plan.py": {"TILE", "_CHUNK"},
    "solvers/hkl/rounding.py": {"_MOST", "_LEAST_SHARE", "_MOST_PART", "_PER_LEVEL", "_BESIDE"},
    "solvers/hkl/search.py": {"ACTIVE"},
    "solvers/homotopy_steps.py": {
        "DONE", "LOST", "DEAR", "_BEND", "_EXACT", "_IDLE", "_RIDGE", "_CALM", "_FLAT", "LOW", "FREE", "HIGH"},
    "solvers/proof.py": {"_AT_ONCE", "EXACT", "_SHARP", "_TOO_MUCH", "_FAR", "_STRAINED"},
    "solvers/reweighting.py": {"_FLOOR", "NEGLIGIBLE"},
    "solvers/screening.py": {"_ROUNDING"},
    "solvers/totals.py": {"_CUT", "_ROOM"},
}  # fmt: skip
BEHIND_PAGES = 13.0  # the first row that may use the front door
PAGE_PARTS = 13.9  # rooms of single pages: none imports from another
PARTS = "pages._parts"
FRONT_DOOR = "mklcore"  # the package itself re-exports every room: it is above nothing and below everything
BLIND = {
    "mklcore.solvers",
    "mklcore.machines",
    "mklcore.estimators",
    "mklcore.paths.path",
    "mklcore.paths.estimator_protocol",
    "mklcore.paths.intervals",
    "mklcore.selection.splitters",
    "mklcore.selection.curves",
    "mklcore.selection.choose_c",
}
# Where Streamlit's caches may live: what a value depends on is decided in these places only.
CACHES = {f"pages._parts.{place}" for place in (
    "derive.caches", "derive.tables", "derive.gram_stacks", "jobs.worker", "jobs.preparing", "runs.server",
)}  # fmt: skip
# Functions behind the pages whose answers Python keeps, for all sessions alike: nothing of a person is in them.
KEPT_ANSWERS = {
    "session.inside.find": "names of Streamlit",
    "session.nav._kept": "the list of pages, which is the same for everybody",
    "derive.comparison._read": "methods out of the text of a link",
    "derive.comparison.method_params": "parameters out of parameters",
    "derive.references._method": "parameters out of parameters",
    "derive.earlier._path": "a file that comes with the project",
    "derive.earlier._references": "a file that comes with the project",
    "derive.earlier._hulls": "a file that comes with the project",
    "derive.earlier._story": "a file that comes with the project",
    "derive.earlier._answers": "a file that comes with the project",
    "derive.first_table._read": "a file that comes with the project",
}
UNSAFE_MODULES = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
OWN_PROCESSES = {
    "mklcore.parallel.processes",  # pickles between two processes of ours, over a socket that only they have
    "mklcore._numba.portable",  # numba's own files in the package, which are code as the modules beside them are
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "joblib.load", "joblib.dump"}
ALGEBRA = {
    "linalg",
    "dot",
    "vdot",
    "inner",
    "outer",
    "matmul",
    "einsum",
    "tensordot",
    "kron",
    "cholesky",
    "eigh",
    "svd",
}


def sources(*places: Path) -> list[Path]:
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    return [file for file in files if "__pycache__" not in file.parts]


EVERYTHING = sources(CORE, PAGES, APP)


def each(files: list[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make one test of a rule for a file: it looks at all of ``files`` and names every one that breaks the rule."""

    def made(rule: Callable[[Path], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for file in files:
                try:
                    rule(file)
                except AssertionError as error:
                    broken.append(f"{file.relative_to(ROOT)}: {error}")
            assert files
            assert not broken, "\n".join(broken)

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return made


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def room(module: str) -> str:
    """The longest entry of the table that the module is in."""
    found = [entry for entry in ROWS if module == entry or module.startswith(entry + ".")]
    return max(found, key=len, default="")


@cache
def nodes_of(tree: ast.AST) -> tuple[Any, ...]:
    """All nodes of a tree, listed once."""
    return tuple(ast.walk(tree))


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Everything that is written in the file; seven rules look at it."""
    return nodes_of(parsed(file))


@cache
def imports(file: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of everything imported, also inside functions and in ``from package import module``."""
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    name = module_name(file)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def in_house(name: str) -> bool:
    return name.split(".")[0] in {"mklcore", "pages", "app"}


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name, an attribute or a call of one; empty for anything else."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def keywords(call: ast.Call) -> dict[str, object]:
    return {k.arg: getattr(k.value, "value", None) for k in call.keywords if k.arg}


def test_there_is_a_house_to_look_at():
    names = {module_name(file) for file in EVERYTHING}
    assert {"mklcore", "mklcore.errors", "pages._parts.derive.caches", "app"} <= names
    assert len(names) > 20


# Who imports whom


@each(EVERYTHING)
def test_every_module_has_a_row(file):
    name = module_name(file)
    if name == PARTS:
        return
    assert file.parent != PAGES / "_parts", f"{name} is loose in {PARTS}; give it a room."
    assert name == FRONT_DOOR or room(name), f"{name} is in no room of the house; add its row to the table and say why."


@each(sorted((PAGES / "_parts").glob("*/*.py")))
def test_the_room_of_a_file_stands_in_its_first_line(file):
    if file.name != "__init__.py":
        reported = ast.get_docstring(parsed(file)) or ""
        assert reported.startswith(file.parent.name.capitalize()), (
            f"{file}: begin its docstring with the name of its room."
        )


@each(EVERYTHING)
def test_modules_import_only_from_rows_above(file):
    name = module_name(file)
    if name == FRONT_DOOR:
        return
    own = ROWS.get(room(name), 0)
    for line, target in imports(file):
        if not in_house(target):
            continue
        # Pages may use the front door, as any user does; inside the library it would be a circle.
        if room(target) == "":
            assert own >= BEHIND_PAGES, f"{file}:{line} imports {target}; name the module it is in."
            continue
        assert ROWS[room(target)] <= own, f"{file}:{line}: row {own} imports {target} of row {ROWS[room(target)]}."
        if own == PAGE_PARTS == ROWS[room(target)]:
            assert room(target) == room(name), f"{file}:{line}: the parts of one page import those of another."


@each(EVERYTHING)
def test_sources_hold_no_control_characters(file):
    text = file.read_text(encoding="utf-8")
    assert all(sign == "\n" or sign.isprintable() for sign in text), f"{file} holds a sign that no editor shows."


def drawn(files: list[Path]) -> dict[str, set[str]]:
    """The house as a graph: for each module those it imports, by their own names."""
    names = {module_name(file) for file in files}
    return {
        module_name(file): {
            max((n for n in names if target == n or target.startswith(n + ".")), key=len)
            for _, target in imports(file)
            if any(target == n or target.startswith(n + ".") for n in names)
        }
        - {module_name(file)}
        for file in files
    }


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of imports as the modules along it, empty where there is none."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_between_any_two_files():
    found = circle(drawn(EVERYTHING))
    assert not found, "a circle of imports: " + " <- ".join(found)


def test_a_planted_circle_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    room_of = tmp_path / "pages" / "_parts" / "params"
    room_of.mkdir(parents=True)
    (room_of / "one.py").write_text("from pages._parts.params import two\n", encoding="utf-8")
    (room_of / "two.py").write_text("def late():\n    from pages._parts.params.one import name\n", encoding="utf-8")
    found = circle(drawn(sorted(room_of.glob("*.py"))))
    assert set(found) == {"pages._parts.params.one", "pages._parts.params.two"}


@each(sources(CORE))
def test_the_library_knows_nothing_of_streamlit_or_pages(file):
    outside = {target.split(".")[0] for _, target in imports(file)}
    assert not outside & {"streamlit", "pages", "app"}


@each(sources(CORE / "figures"))
def test_figures_never_import_what_solves(file):
    assert not {room(target) for _, target in imports(file)} & BLIND


# What is never done


@each(EVERYTHING)
def test_nothing_is_unpickled_or_evaluated(file):
    if module_name(file) not in OWN_PROCESSES:
        assert not {target.split(".")[0] for _, target in imports(file)} & UNSAFE_MODULES
    for node in nodes(file):
        if isinstance(node, ast.Call):
            assert dotted(node) not in UNSAFE_CALLS, f"{file}:{node.lineno}"
            assert keywords(node).get("allow_pickle") is not True, f"{file}:{node.lineno}"


@each(sources(CORE, PAGES, APP))
def test_nothing_forks_or_needs_a_module_of_one_system(file):
    """Worker processes are started anew on every system; what only one has stands behind a portable package."""
    of_one_system = {"fcntl", "grp", "msvcrt", "multiprocessing", "pwd", "resource", "termios", "winreg"}
    if module_name(file) == "mklcore.data.bounds":  # which goes without limits where the system has none
        of_one_system -= {"resource"}
    assert not {target.split(".")[0] for _, target in imports(file)} & of_one_system
    assert not [node.lineno for node in nodes(file) if isinstance(node, ast.Attribute) and node.attr == "fork"]


@each(sources(PAGES, APP))
def test_pages_do_no_linear_algebra(file):
    for _, target in imports(file):
        assert not set(target.split(".")) & {"linalg", "numba"}, f"{file} imports {target}"
    for node in nodes(file):
        assert not isinstance(node, ast.MatMult), f"{file} multiplies matrices"
        if isinstance(node, ast.Attribute):
            assert node.attr not in ALGEBRA, f"{file}:{node.lineno} uses .{node.attr}"


@each(sources(PAGES, APP))
def test_tables_leave_as_csv_through_one_writer(file):
    """A spreadsheet computes cells that begin like formulas; listings.csv writes them so that it only shows them."""
    found = [node.lineno for node in nodes(file) if isinstance(node, ast.Attribute) and node.attr == "to_csv"]
    assert not found or module_name(file) == "pages._parts.drawing.listings", f"{file}:{found}: use listings.take"


def test_the_table_widget_writes_no_csv_of_its_own():
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["client"]["disableDataExport"] is True


# Capabilities, not names


def _names_compared(tree: ast.Module) -> Iterator[ast.AST]:
    """Every comparison, look-up or match that asks a loss or a penalty for its name."""

    def asks(node: ast.AST) -> bool:
        owner, _, attribute = dotted(node).rpartition(".")
        return attribute == "name" and owner.split(".")[-1].strip("_") in {"loss", "penalty", "norm", "term"}

    for node in nodes_of(tree):
        asked = {
            ast.Compare: lambda n: [n.left, *n.comparators],
            ast.Subscript: lambda n: [n.slice],
            ast.Match: lambda n: [n.subject],
            ast.Call: lambda n: n.args if dotted(n).split(".")[-1] in {"get", "startswith", "endswith"} else [],
        }.get(type(node), lambda n: [])(node)
        if any(asks(part) for part in asked):
            yield node


@each(sources(CORE, PAGES, APP))
def test_nobody_asks_a_loss_or_a_penalty_which_one_it_is(file):
    found = [node.lineno for node in _names_compared(parsed(file))]
    assert not found, f"{file}:{found}: ask for a capability (see Loss and Penalty), not for a name"


@pytest.mark.parametrize(
    "planted",
    ['task.loss.name == "hinge"', 'self._penalty.name in ("lp",)', "MACHINES[loss.name]", "words.get(penalty.name, 0)"],
)
def test_a_planted_comparison_of_names_is_found(planted):
    assert list(_names_compared(ast.parse(planted)))


@each(sources(PAGES, APP))
def test_what_a_session_remembers_is_reached_through_its_room(file):
    if room(module_name(file)) == "pages._parts.session":
        return
    for node in nodes_of(parsed(file)):
        if isinstance(node, ast.Attribute):
            assert node.attr != "session_state", (
                f"{file}:{node.lineno}: use session.memory, or session.fields for a widget"
            )


def test_a_session_has_one_key_of_its_own():
    """Beside what keyed widgets hold, Streamlit's state of a session is written in one place."""
    written = [
        (file.name, ast.unparse(target.slice))
        for file in sources(PAGES / "_parts" / "session")
        for node in nodes_of(parsed(file))
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript) and dotted(target.value).endswith("session_state")
    ]
    assert sorted(written) == [("fields.py", "key"), ("fields.py", "key"), ("memory.py", "KEY")]


FILTERS = {"catch_warnings", "filterwarnings", "simplefilter", "resetwarnings"}
ALONE = {"mklcore.solvers.hkl.baselines"}  # scikit-learn's lasso warns, and cannot be silenced; one at a time


@each(EVERYTHING)
def test_nobody_changes_the_filters_of_warnings_for_every_thread(file):
    for node in nodes_of(parsed(file)):
        if isinstance(node, ast.Call) and dotted(node).split(".")[-1] in FILTERS:
            assert module_name(file) in ALONE, f"{file}:{node.lineno}: use mklcore.errors.suppress_convergence_warnings"


# A protocol, not underscores


@pytest.mark.parametrize(
    "name",
    [
        "paths/path",
        "paths/estimator_protocol",
        "paths/files",
        "paths/intervals",
        "selection/splitters",
        "selection/curves",
        "selection/choose_c",
    ],
)
def test_paths_drive_estimators_by_public_names(name):
    file = CORE / f"{name}.py"
    private = [
        f"{dotted(node)}:{node.lineno}"
        for node in nodes_of(parsed(file))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        and dotted(node.value) not in ("self", "cls")
    ]  # fmt: skip
    assert not private, f"{file} reaches into {private}; PathEstimator in path_estimator.py names what may be asked."


# Compiled functions and caches


def compilers(tree: ast.Module) -> Iterator[tuple[ast.AST, dict[str, object] | None]]:
    """Every use of numba's compiler with its options, None for a bare decorator."""
    called = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and dotted(node).split(".")[-1] in {"njit", "jit", "vectorize", "guvectorize"}:
            called.add(id(node.func))
            yield node, keywords(node)
    for node in nodes_of(tree):
        bare = isinstance(node, ast.Name | ast.Attribute) and dotted(node).split(".")[-1] in {"njit", "jit"}
        if bare and id(node) not in called:
            yield node, None


NUMBA_PUBLIC = {"numba.extending"}  # beside names of ``numba`` itself


def _private_to_numba(target: str) -> bool:
    inside, _, name = target.rpartition(".")
    return target.split(".")[0] == "numba" and target != "numba" and (
        name.startswith("_") or name == "core" or inside not in {"numba", *NUMBA_PUBLIC}
    )  # fmt: skip


@each(sources(CORE, PAGES, APP, ROOT / "tests", ROOT / "benchmarks"))
def test_numba_is_used_by_its_public_names(file):
    """Its insides change between minor versions, and the library is to run with all of a major one."""
    found = [f"{target}:{line}" for line, target in imports(file) if _private_to_numba(target)]
    assert not found, f"{found} may be gone in the next numba"


@pytest.mark.parametrize(
    ("target", "private"),
    [
        ("numba.core.dispatcher.Dispatcher", True), ("numba.core", True), ("numba._dynfunc", True),
        ("numba.np.ufunc.parallel", True), ("numba", False), ("numba.njit", False), ("numba.extending.intrinsic", False),  # noqa: E501
        ("numbat.core", False),
    ],
)  # fmt: skip
def test_a_planted_private_name_of_numba_is_found(target, private):
    assert _private_to_numba(target) is private


STREAMLIT_PUBLIC = {"streamlit", "streamlit.navigation.page", "streamlit.delta_generator", "streamlit.testing.v1"}


@each(sources(PAGES, APP))
def test_streamlit_is_used_by_its_public_names(file):
    """All others stand in one file, which works where one of them is missing."""
    if module_name(file) == "pages._parts.session.inside":
        return
    found = [
        f"{target}:{line}"
        for line, target in imports(file)
        if target.split(".")[0] == "streamlit" and target.rpartition(".")[0] not in {"", *STREAMLIT_PUBLIC}
    ]
    assert not found, f"{found} may be gone in the next Streamlit; see pages/_parts/session/inside.py"


@each(sources(CORE))
def test_functions_are_compiled_in_one_place_serial_and_free_of_the_lock(file):
    for node, options in compilers(parsed(file)):
        place = f"{file}:{node.lineno}"
        assert options is not None, f"{place}: a bare @njit; write @njit(nogil=True)"
        assert module_name(file) == "mklcore._numba.decorators", (
            f"{place}: use its decorators, which know where to cache"
        )
        assert "pipeline_class" not in options, f"{place}: numba's compiler passes are private"
        assert options.get("nogil") is True, place
        assert "parallel" not in options, place


def compiled(node: ast.AST) -> set[str]:
    """The decorators that compile a function, ours and numba's own."""
    return {dotted(one) for one in getattr(node, "decorator_list", ())} & {"jit_entry", "jit_helper", "njit"}


@cache
def helpers_of(file: Path) -> set[str]:
    return {node.name for node in parsed(file).body if compiled(node) == {"jit_helper"}}


def read_from_python(tree: ast.AST) -> Iterator[ast.Name]:
    """Every name that is read outside of compiled functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Name):
            yield node
        elif not compiled(node):
            yield from read_from_python(node)


@each(sources(CORE))
def test_helpers_are_called_by_compiled_functions_alone(file):
    """From Python a helper has no entry: a call of one would end the process."""
    tree = parsed(file)
    known = set(helpers_of(file))
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mklcore."):
            home = ROOT / f"{node.module.replace('.', '/')}.py"
            known |= {one.asname or one.name for one in node.names if home.exists() and one.name in helpers_of(home)}
    found = [f"{node.id}:{node.lineno}" for node in read_from_python(tree) if node.id in known]
    assert not found, f"{file}: {found} are helpers; make a @jit_entry of what Python calls"


def test_compiled_functions_were_found():
    assert sum(1 for file in sources(CORE) for node in parsed(file).body if compiled(node)) >= 60
    assert "inner_product" in helpers_of(CORE / "kernels" / "sums.py")


def caches(tree: ast.Module) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Every use of ``st.cache_*``: the node, whether ``max_entries`` is given, whether it may go without."""
    without_arguments = {
        id(decorator)
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef) and not ast.unparse(node.args)
        for decorator in node.decorator_list
    }
    calls = {id(node.func): node for node in nodes_of(tree) if isinstance(node, ast.Call)}
    for node in nodes_of(tree):
        if isinstance(node, ast.Name | ast.Attribute) and dotted(node).split(".")[-1] in {
            "cache_data",
            "cache_resource",
        }:
            use = calls.get(id(node), node)
            bounded = isinstance(use, ast.Call) and "max_entries" in keywords(use)
            yield use, bounded, id(use) in without_arguments


@each(sources(PAGES, APP))
def test_caches_are_bounded_and_live_in_one_place(file):
    for node, bounded, may_go_without in caches(parsed(file)):
        assert module_name(file) in CACHES, f"{file}:{node.lineno}: a cache outside {sorted(CACHES)}"
        assert bounded or may_go_without, f"{file}:{node.lineno}: a cache without max_entries"


def kept_answers(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Every use of ``cache`` or ``lru_cache`` of functools: what it decorates, and whether it is bounded."""
    called = {id(node.func) for node in nodes_of(tree) if isinstance(node, ast.Call)}
    named = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef):
            named |= {id(one): node for one in node.decorator_list}
    for node in nodes_of(tree):
        use = isinstance(node, ast.Call | ast.Name | ast.Attribute) and id(node) not in called
        if use and dotted(node).split(".")[-1] in {"cache", "lru_cache"}:
            function = named.get(id(node))
            bounded = isinstance(node, ast.Call) and keywords(node).get("maxsize") is not None
            yield (function.name, bounded or not ast.unparse(function.args)) if function else ("?", False)


def test_answers_that_python_keeps_for_all_sessions_are_bounded_and_named():
    found = [
        (f"{module_name(file)}.{name}".removeprefix(f"{PARTS}."), bounded)
        for file in sources(PAGES, APP)
        for name, bounded in kept_answers(parsed(file))
    ]
    assert {name for name, _ in found} == set(KEPT_ANSWERS), "Say in KEPT_ANSWERS why every session may share it."
    assert [name for name, bounded in found if not bounded] == []


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("@cache\ndef a(x): ...", ("a", False)), ("@functools.lru_cache(maxsize=None)\ndef a(x): ...", ("a", False)),
        ("@lru_cache\ndef a(x): ...", ("a", False)), ("a = lru_cache(maxsize=2)(b)", ("?", False)),
        ("@lru_cache(maxsize=2)\ndef a(x): ...", ("a", True)), ("@cache\ndef a(): ...", ("a", True)),
    ],
)  # fmt: skip
def test_a_planted_kept_answer_is_found(planted, found):
    assert list(kept_answers(ast.parse(planted))) == [found]


def test_caches_were_found():
    assert sum(1 for _ in caches(parsed(PAGES / "_parts" / "derive" / "caches.py"))) >= 1


# Public names; which they are is in test_front_door.py


def stub() -> dict[str, str]:
    """Where the types of the front door say that each name lives, without ``mklcore.``."""
    return {
        alias.asname or "": (node.module or "").removeprefix(FRONT_DOOR).removeprefix(".")
        for node in ast.parse((CORE / "__init__.pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_types_and_loading_tell_the_same_home_of_every_name():
    homes = stub()
    assert {name: home for name, home in homes.items() if home} == mklcore._HOME
    assert [name for name, home in homes.items() if not home] == list(mklcore._ROOMS)
    there = {path.stem for path in CORE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert list(mklcore._ROOMS) == sorted(name for name in there if not name.startswith("_")), (
        "Name a new module in _ROOMS and in __init__.pyi."
    )


def test_no_public_name_is_hidden_by_a_room():
    """Importing ``mklcore.explore`` would put the module where the function ``mklcore.explore`` was."""
    assert not set(mklcore._HOME) & set(mklcore._ROOMS)


OUTSIDE = sources(ROOT / "tests", ROOT / "benchmarks", ROOT / "sample_data", PAGES)
PUBLIC = {*mklcore.__all__, *mklcore._ROOMS, "__version__", "__all__"}


@each(OUTSIDE)
def test_who_uses_the_front_door_uses_public_names(file):
    for node in nodes_of(parsed(file)):
        used = set()
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in {"mkl", FRONT_DOOR}
        ):
            used = {node.attr}
        elif isinstance(node, ast.ImportFrom) and node.module == FRONT_DOOR:
            used = {alias.name for alias in node.names}
        strange = {name for name in used - PUBLIC if not name.startswith("_")}
        assert not strange, (
            f"{file}:{node.lineno}: {strange} not public; name the room, as in mkl.selection.leave_one_out"
        )


def _numbers_of(tree: ast.Module) -> set[str]:
    """The names that a module gives to numbers."""
    found = set()
    for one in tree.body:
        if not isinstance(one, ast.Assign | ast.AnnAssign) or one.value is None:
            continue
        values = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
        if any(isinstance(v, ast.Constant) and isinstance(v.value, int | float) for v in values):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def test_what_a_method_is_tuned_by_is_a_field_of_its_settings():
    found = {}
    for file in (*(CORE / "solvers").rglob("*.py"), *(CORE / "machines").rglob("*.py")):
        if numbers := _numbers_of(ast.parse(file.read_text(encoding="utf-8"))):
            found[file.relative_to(CORE).as_posix()] = numbers
    assert found == FIXED_NUMBERS


def test_a_number_of_a_module_is_seen():
    tree = ast.parse("A = 1\nB, C = 2.0, 3\nD: float = 1e-3\nE = (1, 2)\nF = 'text'\nG = range(3)")
    assert _numbers_of(tree) == {"A", "B", "C", "D", "E"}
