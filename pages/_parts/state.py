"""What the person has chosen: one frozen object, whose text is the link.

No widget owns a value. Widgets are views of :class:`Params`: their value is set from it before they are drawn and written
back when they move. The link is read when a session begins and when the person goes back or forward in the browser.
"""

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import streamlit as st

from mklcore.data.dataset import LARGEST_VALUE
from mklcore.data.grouping import GROUPS, NUMBERS
from mklcore.data.samples import SAMPLES
from mklcore.estimators.registry import ESTIMATORS, Control
from mklcore.kernels.notation import DICTIONARY
from mklcore.lessons import LESSONS
from mklcore.solvers.hkl.bases import BASES
from pages._parts import compare_lanes

STAGES = ("data", "kernels", "path", "hulls", "view")
UPLOAD = "upload:"
REMEMBERED_STEPS = 50
LONGEST_LIST = 400
LONGEST_TABLE = 1500
MOST_REFUSALS = 8  # of a link, told one by one
ENCODINGS = ("", "utf-8", "cp1252", "latin-1", "utf-16", "cp1250", "cp1251", "mac-roman", "shift-jis", "gb18030")
_MOVE = r"\d{1,5}=-?\d{1,17}(\.\d{1,17})?(e[+-]?\d{1,3})?"
MOVES = rf"{_MOVE}(,{_MOVE})*"
LINK_SECONDS = 1.0  # a run this soon after a change may still bring the link from before it
RUN = "run"  # the part of a link that is the secret of a saved run: no parameter, and never kept with them
METHODS = {key: method for key, method in ESTIMATORS.items() if method.on == "kernels"}
Setting = str | float | int | bool
VALUED = ("checkbox", "number_input", "select_slider", "slider", "text_area", "text_input", "toggle")


@dataclass(frozen=True)
class Rule:
    """How one parameter is read from text, and what is expected in words when it cannot be."""

    read: Callable[[str], Any]
    expected: str


def _number(low: float, high: float) -> Rule:
    def read(text: str) -> float:
        value = float(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return Rule(read, f"a number from {low:g} to {high:g}")


def _whole(low: int, high: int) -> Rule:
    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError
        return value

    return Rule(read, f"a whole number from {low} to {high}")


def _choice(*names: str) -> Rule:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return Rule(read, "one of " + ", ".join(name for name in names if name))


def _flag() -> Rule:
    return Rule({"yes": True, "no": False}.__getitem__, "yes or no")


def _source() -> Rule:
    def read(text: str) -> str:
        if text not in SAMPLES and not re.fullmatch(UPLOAD + "[0-9a-f]{64}", text):
            raise ValueError
        return text

    return Rule(read, "the name of a sample or the fingerprint of an uploaded file")


def _position() -> Rule:
    def read(text: str) -> float:
        value = float(text)
        if not value > 0:
            raise ValueError
        return value

    return Rule(read, "a number above 0")


def _matching(pattern: str, expected: str, longest: int = LONGEST_LIST) -> Rule:
    def read(text: str) -> str:
        if len(text) > longest or not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError
        return text

    return Rule(read, expected)


def _moves() -> Rule:
    def read(text: str) -> str:
        if len(text) > 10 * LONGEST_LIST or not re.fullmatch(MOVES, text, re.ASCII):
            raise ValueError
        if any(abs(float(part.split("=")[1])) > LARGEST_VALUE for part in text.split(",")):
            raise ValueError
        return text

    return Rule(read, "numbers of columns with their new values, as in 3=1.5,7=0")


def _lanes() -> Rule:
    return Rule(lambda text: compare_lanes.write(compare_lanes.read(text, METHODS, accepts)), compare_lanes.EXPECTED)


def _settings_of(method: str) -> Rule:
    """Settings of one method's advanced controls as one text: memory_mb=400;tol=0.0001."""
    known = {control.name: control for control in ESTIMATORS[method].controls if control.advanced}

    def read(text: str) -> str:
        for part in text.split(";") if len(text) <= LONGEST_LIST else ["too long"]:
            name, _, value = part.partition("=")
            if not accepts(known[name], value_of(known[name], value)):
                raise ValueError
        return text

    return Rule(read, "settings within the ranges their controls show, as in memory_mb=400;tol=0.0001")


def value_of(control: Control, text: str) -> Setting:
    """Read the value of a control from the text of a link. Raises ValueError or KeyError for what is none."""
    readers: dict[str, Callable[[str], Setting]] = {"choice": str, "flag": _flag().read, "integer": int}
    return readers.get(control.kind, float)(text)


def _param(default: Any, stage: str, rule: Rule) -> Any:
    return field(default=default, metadata={"stage": stage, "rule": rule})


@dataclass(frozen=True)
class Params:
    """Everything the screen depends on. Hashable, so that its part up to a stage is the key of what that stage computes."""

    data: str = _param("breast_cancer", "data", _source())
    target: str = _param("", "data", _matching(rf".{{0,{LONGEST_LIST}}}", "the name of a column"))
    validation: float = _param(0.25, "data", _number(0.05, 0.45))
    test: float = _param(0.25, "data", _number(0.05, 0.45))
    seed: int = _param(0, "data", _whole(0, 9999))
    stratified: bool = _param(True, "data", _flag())
    task: str = _param("", "data", _choice("", "classification", "regression", "novelty"))
    sheet: str = _param("", "data", _matching(r"[^\x00-\x1f]{1,60}", "the name of a sheet"))
    encoding: str = _param("", "data", _choice(*ENCODINGS))
    delimiter: str = _param("", "data", _choice("", "comma", "semicolon", "tab", "bar", "spaces"))
    decimal: str = _param("", "data", _choice("", "point", "comma"))
    header: str = _param("", "data", _choice("", "yes", "no"))
    uses: str = _param(
        "", "data", _matching(r"\d{1,5}[ncx](,\d{1,5}[ncx])*", "columns with uses, as in 3n,5x", LONGEST_TABLE)
    )
    missing: str = _param("median", "data", _choice("median", "indicator", "drop"))
    grouping: str = _param(
        "",
        "data",
        _matching(rf"none|prefix|categories|bands \d{{1,4}}|{GROUPS}", "groups, as in petal:3-4", LONGEST_TABLE),
    )
    clip: bool = _param(False, "data", _flag())
    widths: int = _param(5, "kernels", _whole(0, 20))
    linear: bool = _param(True, "kernels", _flag())
    degree: int = _param(2, "kernels", _whole(0, 6))
    each: str = _param("auto", "kernels", _choice("auto", "none", "linear", "rbf", "laplacian"))
    groups: bool = _param(False, "kernels", _flag())
    laplacians: int = _param(0, "kernels", _whole(0, 20))
    group_kernels: str = _param("rbf", "kernels", _choice("rbf", "linear", "both"))
    bands: int = _param(0, "kernels", _whole(0, 100))
    band_kernels: str = _param("linear", "kernels", _choice("linear", "rbf", "both", "spectral"))
    subspaces: int = _param(0, "kernels", _whole(0, 100))
    subspace_size: int = _param(3, "kernels", _whole(1, 1000))
    subspace_kernel: str = _param("rbf", "kernels", _choice("rbf", "linear", "laplacian"))
    subspace_seed: int = _param(0, "kernels", _whole(0, 9999))
    edited: str = _param(
        "",
        "kernels",
        _matching(rf"{DICTIONARY}|stack@{NUMBERS}|kept:[0-9a-f]{{64}}", "kernels, as in rbf0.5m@*", LONGEST_TABLE),
    )
    normalise: str = _param("auto", "kernels", _choice("auto", "multiplicative", "spherical", "trace", "diag", "none"))
    center: bool = _param(False, "kernels", _flag())
    algorithm: str = _param("lp", "path", _choice(*METHODS))
    path: str = _param("", "path", Rule(str, "the parameter a path runs over"))
    settings: tuple[tuple[str, Setting], ...] = field(default=(), metadata={"stage": "path"})
    hull_basis: str = _param("polynomial", "hulls", _choice(*BASES))
    hull_degree: int = _param(3, "hulls", _whole(1, 6))
    hull_loss: str = _param("logistic", "hulls", _choice("logistic", "hinge", "squared"))
    hull_columns: str = _param(
        "", "hulls", _matching(r"\d{1,5}(,\d{1,5})*", "numbers of columns with commas between them")
    )
    hull_more: str = _param("", "hulls", _settings_of("hkl"))
    hull_at: float | None = _param(None, "view", _position())
    hull_pair: str = _param("", "view", _matching(r"\d{1,5}(,\d{1,5})?", "one or two numbers of columns, as in 3,5"))
    hull_node: str = _param(
        "", "view", _matching(r"root|\d{1,5}\^\d{1,2}(\*\d{1,5}\^\d{1,2})*", "columns with levels, as in 3^2*5^1")
    )
    at: float | None = _param(None, "view", _position())
    look: str = _param("columns", "view", _choice("columns", "path", "inside"))
    over: str = _param("", "view", _matching(r"\d{1,5},\d{1,5}", "two numbers of columns, as in 3,5"))
    output: int = _param(0, "view", _whole(0, 9999))
    shown: int = _param(0, "view", _whole(0, 9999))
    lanes: str = _param(compare_lanes.USUAL, "view", _lanes())
    lanes_at: str = _param("", "view", Rule(compare_lanes.read_place, compare_lanes.EXPECTED_PLACE))
    compare: str = _param("lanes", "view", _choice("lanes", "toy"))
    toy_repetitions: int = _param(2, "view", _whole(1, 25))
    toy_seed: int = _param(0, "view", _whole(0, 9999))
    lesson: str = _param("", "view", _choice("", *LESSONS))
    lesson_step: str = _param("guess", "view", _choice("guess", "reveal", "why"))
    lesson_guess: str = _param("", "view", _matching(r"[a-z]{0,12}", "the name of an answer"))
    lesson_at: int | None = _param(None, "view", _whole(0, 99))
    present: bool = _param(False, "view", _flag())
    theory: str = _param("lp", "view", _choice("lp", "gomp", "recovery", "greedy", "duplicates", "hkl"))
    theory_kernels: int = _param(0, "view", _whole(0, 1_000_000))
    theory_rows: int = _param(0, "view", _whole(0, 1_000_000_000))
    theory_radius: float = _param(0.0, "view", _number(0.0, 1e6))
    theory_delta: float = _param(0.05, "view", _number(1e-6, 0.5))
    theory_margin: float = _param(1.0, "view", _number(0.01, 100.0))
    theory_even: bool = _param(False, "view", _flag())
    theory_cost: float = _param(1.0, "view", _number(1e-4, 1e4))
    theory_tau: float = _param(0.0, "view", _number(0.0, 1e9))
    theory_lam: float = _param(0.01, "view", _number(1e-6, 1e2))
    theory_share: float = _param(0.1, "view", _number(0.001, 0.9))
    theory_good: str = _param(
        "", "view", _matching(r"\d{1,5}(,\d{1,5})*", "numbers of kernels with commas between them")
    )
    theory_sample: int = _param(120, "view", _whole(20, 400))
    theory_noise: float = _param(0.1, "view", _number(0.0, 10.0))
    theory_size: int = _param(2, "view", _whole(1, 8))
    theory_copies: int = _param(10, "view", _whole(2, 40))
    theory_price: float = _param(0.05, "view", _number(0.001, 1.0))
    theory_class: int = _param(0, "view", _whole(0, 9999))
    experiment: str = _param("lp_toy", "view", _matching(r"[a-z0-9_]{1,40}", "the name of an experiment"))
    experiment_seed: int = _param(0, "view", _whole(0, 9999))
    experiment_panel: int = _param(0, "view", _whole(0, 99))
    row: int = _param(1, "view", _whole(1, 1_000_000))
    moved: str = _param("", "view", _moves())
    outcome: int = _param(0, "view", _whole(0, 9999))
    repeats: int = _param(10, "view", _whole(2, 100))

    def upto(self, stage: str) -> "Params":
        """Return these parameters with every later stage at its usual values: the key of what ``stage`` computes."""
        later = STAGES[STAGES.index(stage) + 1 :]
        usual = {f.name: f.default for f in fields(self) if f.metadata["stage"] in later}
        return replace(self, **usual)  # type: ignore[arg-type]

    def hulls(self) -> "Params":
        """Return what the hulls depend on: the table and the fields of their own, everything else at its usual value."""
        others = {f.name: f.default for f in fields(self) if f.metadata["stage"] in ("kernels", "path", "view")}
        return replace(self, **others)  # type: ignore[arg-type]

    def with_setting(self, name: str, value: Setting) -> "Params":
        """Return these parameters with one control of the algorithm set."""
        return replace(self, settings=tuple(sorted({**dict(self.settings), name: value}.items())))

    def setting(self, control: Control) -> Setting:
        """Return what is set for ``control``, or its usual value where nothing usable is set."""
        value = dict(self.settings).get(control.name, control.default)
        return value if accepts(control, value) else control.default


def accepts(control: Control, value: Setting) -> bool:
    """Tell whether ``value`` is one that ``control`` can take."""
    match control.kind:
        case "choice":
            return value in control.choices
        case "flag":
            return isinstance(value, bool)
        case _ if isinstance(value, bool | str):
            return False
        case "integer":
            return value == int(value) and control.low <= value <= control.high
        case "p":
            return value >= 1
        case _:
            return control.low <= value <= control.high


def _read_setting(name: str, text: str) -> Setting:
    """Read one control's value; any algorithm that has the control may have been meant. Raises ValueError in words."""
    meant = [control for algorithm in METHODS.values() for control in algorithm.controls if control.name == name]
    if not meant:
        raise ValueError(f"The link speaks of {name[:40]!r}, which this app does not know. It is left out.")
    for control in meant:
        try:
            value = value_of(control, text)
        except (ValueError, KeyError):
            continue
        if accepts(control, value):
            return value
    raise ValueError(_refusal(name, text, "within the range its control shows", meant[0].default))


def _refusal(name: str, text: str, expected: str, usual: object) -> str:
    shown = "the first one that fits" if usual in ("", None) else write(usual)
    return (
        f"The link asks for {name} = {text[:40]!r}, but {name} has to be {expected}. The usual value is used: {shown}."
    )


def read(query: Mapping[str, str]) -> tuple[Params, tuple[str, ...]]:
    """Read a link: the parameters, and one sentence for each part that had to be refused."""
    good: dict[str, Any] = {}
    settings: dict[str, Setting] = {}
    refused: list[str] = []
    known = {f.name: f for f in fields(Params) if "rule" in f.metadata}
    for name, text in query.items():
        if name == RUN:
            continue
        if not _can_be_sent(name + text):
            refused.append(f"The link holds {(name + text)[:40]!r}, which no text can hold. It is left out.")
            continue
        if name in known:
            rule = known[name].metadata["rule"]
            try:
                good[name] = rule.read(text)
            except (ValueError, KeyError):
                refused.append(_refusal(name, text, rule.expected, known[name].default))
        else:
            try:
                settings[name] = _read_setting(name, text)
            except ValueError as error:
                refused.append(str(error))
    if good.get("validation", 0.25) + good.get("test", 0.25) > 0.8:
        refused.append("The link leaves less than a fifth of the rows for training. The usual split is used.")
        good = {name: value for name, value in good.items() if name not in ("validation", "test")}
    runs_over = METHODS[good.get("algorithm", "lp")].path_params
    if good.get("path", runs_over[0]) not in runs_over:
        refused.append(_refusal("path", good.pop("path"), "one of " + ", ".join(runs_over), runs_over[0]))
    if more := refused[MOST_REFUSALS:]:
        refused = [*refused[:MOST_REFUSALS], f"{len(more)} more parts of the link cannot be used. They are left out."]
    return Params(**good, settings=tuple(sorted(settings.items()))), tuple(refused)


def _can_be_sent(text: str) -> bool:
    """Tell whether ``text`` can be written into a link: halves of a sign, which JSON can hold, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write(value: object) -> str:
    """Return one value as the text a link holds."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) and math.isfinite(value) else str(value)


def text(params: Params) -> dict[str, str]:
    """Return the link's parts: what differs from the usual values."""
    named = {f.name: getattr(params, f.name) for f in fields(Params) if f.name != "settings"}
    usual = {f.name: f.default for f in fields(Params)}
    parts = {name: write(value) for name, value in named.items() if value != usual[name]}
    return parts | {name: write(value) for name, value in params.settings}


def current() -> Params:
    """Return the parameters of this session."""
    return st.session_state["params"]


def begin(page: str) -> None:
    """Bring link and parameters together; the first act of ``app.py`` in every run.

    The link is read at the session's start, and again when the browser went back or forward: when no widget spoke in this
    run and the link is not the one last written. Soon after a change it may be one the browser had no time to replace:
    then the link is left alone, and :func:`look_again` asks for another run that knows.
    Choosing a page in the menu empties the link and keeps the parameters.
    """
    memory, query = st.session_state, st.query_params.to_dict()
    moved, turned = memory.pop("moved", False), memory.get("page") != page
    memory["page"], memory["doubt"] = page, False
    memory["bare"] = bool(memory.get("bare")) and not (moved or turned or query)
    if "params" not in memory:
        memory["params"], memory["refused"] = read(query)
        memory["past"], memory["future"], memory["written_at"] = [], [], -math.inf
        memory["empty_means_usual"] = not query
        _note_run(query)
    elif turned and not query:
        memory["empty_means_usual"] = current() == Params()
    elif not moved and query != memory.get("written", query):
        if time.monotonic() <= memory["written_at"] + LINK_SECONDS:
            memory["doubt"] = True
        elif query or memory["empty_means_usual"]:
            _replace_all(*read(query))
            _note_run(query)
        else:
            memory["bare"] = True  # Back to the moment the page was opened: leave the history alone


def _note_run(query: Mapping[str, str]) -> None:
    """Keep the secret of a run in the link for whoever opens it, and whether the link says nothing else."""
    if RUN in query:
        st.session_state["run_asked"] = (query[RUN], len(query) == 1)


def look_again() -> None:
    """Ask for another run where this one cannot tell whether the person went back or the link was behind."""
    if not st.session_state.get("doubt"):
        return

    @st.fragment(run_every=LINK_SECONDS)
    def again() -> None:
        if time.monotonic() > st.session_state["written_at"] + LINK_SECONDS:
            st.rerun()

    again()


def _replace_all(params: Params, refused: tuple[str, ...]) -> None:
    st.session_state["past"] = [*st.session_state["past"], current()][-REMEMBERED_STEPS:]
    st.session_state["future"] = []
    st.session_state["params"], st.session_state["refused"] = params, refused


def read_again(query: Mapping[str, str]) -> None:
    """Take the parts that a saved run stands for in the place of the link that named it."""
    st.session_state["params"], st.session_state["refused"] = read(query)


def refuse(sentence: str) -> None:
    """Tell one more sentence about what of a link cannot be had."""
    st.session_state["refused"] = (*st.session_state.get("refused", ()), sentence)


def end() -> None:
    """Write the parameters into the link; in ``app.py`` before the page runs, and after each change inside a fragment."""
    if st.session_state.get("doubt"):
        return
    query, want = st.query_params.to_dict(), text(current()) | _borrowed()
    if query != want and not st.session_state["bare"]:
        st.query_params.from_dict(want)
        st.session_state["written_at"] = time.monotonic()
    st.session_state["written"] = st.query_params.to_dict()


def _borrowed() -> dict[str, str]:
    """Return the secret that a link has to go on carrying, because a reload could not bring the table back without it."""
    secret = st.session_state.get("borrowed", {}).get(current().data)
    return {RUN: secret} if secret else {}


def change(**values: Any) -> None:
    """Set parameters by name, as a step that can be undone."""
    set_params(replace(current(), **values))


def set_params(params: Params) -> None:
    """Set all parameters at once, as a step that can be undone."""
    if params != current():
        _replace_all(params, ())
    st.session_state["moved"], st.session_state["doubt"] = True, False


def undo() -> None:
    """Return to the parameters before the last step."""
    _step("past", "future")


def redo() -> None:
    """Take the last step back that was undone."""
    _step("future", "past")


def _step(come: str, go: str) -> None:
    memory = st.session_state
    if memory[come]:
        memory[go] = [*memory[go], current()][-REMEMBERED_STEPS:]
        memory["params"], memory["refused"] = memory[come].pop(), ()
    memory["moved"], memory["doubt"] = True, False


def rerun() -> None:
    """Run the whole app again. The link in the browser may be a step behind, so it does not speak this time."""
    st.session_state["moved"] = True
    st.rerun()


def view(
    kind: Callable[..., Any], label: str, key: str, value: Any, keep: Callable[[Any], None], /, **options: Any
) -> Any:
    """Draw a keyed widget that shows ``value`` and hands what the person chose to ``keep``.

    The widget's state is set only where it differs: setting it on every run loses quick key presses. ``value`` is its
    default as well: where two runs follow each other closely the browser may see the second alone, which no longer sets
    the state, and would report the widget's first option as the person's choice.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    options = _default(kind.__name__, value, options) | options
    return kind(label, key=key, on_change=lambda: keep(st.session_state[key]), **options)


def _default(kind: str, value: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``value`` under the name by which a kind of widget takes its default."""
    if kind in ("selectbox", "radio"):
        choices = list(options.get("options", ()))
        return {"index": choices.index(value)} if value in choices else {}
    if kind in ("multiselect", "pills", "segmented_control"):
        return {"default": value}
    return {"value": value} if kind in VALUED else {}


def field_view(kind: Callable[..., Any], label: str, name: str, **options: Any) -> Any:
    """Draw a widget for the parameter ``name``; ``to`` and ``back`` translate between parameter and widget."""
    to = options.pop("to", lambda value: value)
    back = options.pop("back", lambda value: value)
    return view(
        kind, label, f"field_{name}", to(getattr(current(), name)), lambda v: change(**{name: back(v)}), **options
    )
