"""What a person chose: typed, frozen, read from a link and written into one. No Streamlit."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from mklcore.data.column_groups import GROUPS, NUMBERS
from mklcore.data.dataset import LARGEST_VALUE
from mklcore.data.samples import SAMPLES
from mklcore.data.splitting import HOLD_OUT, RANDOM
from mklcore.figures import style
from mklcore.gallery.lessons import LESSONS
from mklcore.hkl.bases import BASES
from mklcore.hkl.inner import suits_hulls
from mklcore.io.catalog import ESTIMATORS, Algorithm, Control
from mklcore.io.launcher import TABLE_PART
from mklcore.kernels.dictionary_text import is_dictionary
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.recipes import Recipe, other_kernels
from mklcore.paths.scoring import SCORINGS
from mklcore.problem.losses import CLASSIFICATION, losses_for

# One parameter: how it is read from the text of a link


UPLOAD = "upload:"
LONGEST_LIST = 400
LONGEST_TABLE = 1500
ENCODINGS = (
    "",
    "utf-8",
    "cp1252",
    "latin-1",
    "utf-16",
    "cp1250",
    "cp1251",
    "mac-roman",
    "shift-jis",
    "gb18030",
)
_MOVE = r"\d{1,5}=-?\d{1,17}(\.\d{1,17})?(e[+-]?\d{1,3})?"
MOVES = rf"{_MOVE}(,{_MOVE})*"


@dataclass(frozen=True)
class Rule:
    """What one parameter has to be: in words, as a test of what ``kind`` makes of a text, and
    between which numbers.
    """

    expected: str
    fits: Callable[[Any], Any] = lambda value: True
    kind: Callable[[str], Any] = str
    bounds: tuple[Any, Any] | None = None

    def read(self, text: str) -> Any:
        """Return the value of a text. Raises ValueError, or KeyError."""
        value = self.kind(text)
        if not self.fits(value):
            raise ValueError
        return value


def number(low: float, high: float) -> Rule:
    return Rule(
        f"a number from {low:g} to {high:g}", lambda value: low <= value <= high, float, (low, high)
    )


def whole(low: int, high: int) -> Rule:
    return Rule(
        f"a whole number from {low} to {high}", lambda value: low <= value <= high, int, (low, high)
    )


def choice(*names: str) -> Rule:
    return one_of(lambda: names)


def one_of(names: Callable[[], Iterable[str]]) -> Rule:
    """One of the names that there are when a link is read: what a registry holds may grow."""
    return Rule("one of " + ", ".join(filter(None, names())), lambda text: text in tuple(names()))


def several_of(names: Callable[[], Iterable[str]]) -> Rule:
    """Several of the names that there are when a link is read, with commas between them."""
    expected = "names with commas between them, from " + ", ".join(names())
    return Rule(expected, lambda text: set(text.split(",")) <= set(names()))


def matching(pattern: str, expected: str, longest: int = LONGEST_LIST) -> Rule:
    return Rule(
        expected, lambda text: len(text) <= longest and re.fullmatch(pattern, text, re.ASCII)
    )


def is_line(text: str) -> bool:
    """Tell whether it is a line of any letters that is not too long."""
    return len(text) <= LONGEST_LIST and text.isprintable()


def one_line(text: str) -> str:
    """Return a text as :func:`is_line` wants it."""
    return "".join(sign for sign in text if sign.isprintable())[:LONGEST_LIST]


def _is_kernels(text: str) -> Any:
    """Tell whether it is kernels as text, kernels of a stack, or the name of a text that this
    session keeps.
    """
    elsewhere = rf"stack@{NUMBERS}|kept:[0-9a-f]{{64}}"
    return len(text) <= LONGEST_TABLE and (
        is_dictionary(text) or re.fullmatch(elsewhere, text, re.ASCII)
    )


def _is_moves(text: str) -> bool:
    if len(text) > 10 * LONGEST_LIST or not re.fullmatch(MOVES, text, re.ASCII):
        return False
    return all(abs(float(part.split("=")[1])) <= LARGEST_VALUE for part in text.split(","))


FLAG = Rule("yes or no", kind={"yes": True, "no": False}.__getitem__)
POSITION = Rule("a number above 0", lambda value: value > 0, float)
NAMED = matching(rf".{{0,{LONGEST_LIST}}}", "the name of a column")
COLUMNS = matching(r"\d{1,5}(,\d{1,5})?", "one or two numbers of columns, as in 3,5")
SEED = whole(0, 9999)
COUNT = whole(0, 20)
SOURCE = Rule(
    "the name of a sample or the fingerprint of an uploaded file",
    lambda text: text in SAMPLES or re.fullmatch(UPLOAD + "[0-9a-f]{64}", text),
)


# Algorithms: which learn from kernels, and the values of their controls


Setting = str | float | int | bool


class Methods(Mapping[str, Algorithm]):
    """The algorithms that learn from kernels, as the registry lists them now."""

    def __getitem__(self, key: str) -> Algorithm:
        method = ESTIMATORS[key]
        if method.on != "kernels":
            raise KeyError(key)
        return method

    def __iter__(self) -> Iterator[str]:
        return (key for key, method in ESTIMATORS.items() if method.on == "kernels")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def offered(self, task: str, chosen: str = "") -> list[str]:
        """Return the keys of those that a list for ``task`` shows, and of the ``chosen`` one."""
        return [key for key, method in self.items() if method.is_offered(task, chosen)]


METHODS = Methods()


def applicable(algorithm: Algorithm, task: str) -> list[Control]:
    """Return the controls of the algorithm that make sense for the task."""
    return [control for control in algorithm.controls if not control.tasks or task in control.tasks]


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


def read_setting(controls: Iterable[Control], text: str) -> Setting:
    """Return the value that the first of ``controls`` to take it reads from ``text``.

    Raises ValueError.
    """
    kinds: dict[str, Callable[[str], Setting]] = {
        "choice": str,
        "flag": FLAG.read,
        "integer": int,
    }
    for control in controls:
        with suppress(ValueError, KeyError):
            value = kinds.get(control.kind, float)(text)
            if accepts(control, value):
                return value
    raise ValueError


def write_setting(value: object) -> str:
    """Return one value as the text a link holds."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


# Methods of Compare as text
#
# ``lp;lp:p,C=0.1;gomp,lam=0.1`` are three methods: semicolons between methods, a colon before the
# parameter the path runs over, commas before settings. What is at its usual value is not written,
# so that equal methods have equal texts.


FEWEST = 2
MOST = 6
LONGEST = 1200
USUAL_METHODS = "lp;lp,p=1.3333333333333333;lp,p=2.0;lp,p=inf"
EXPECTED_METHODS = (
    f"from {FEWEST} to {MOST} methods with semicolons between them, each with its settings, as "
    "in lp,p=2.0;gomp,lam=0.1"
)
EXPECTED_PLACE = "a number above 0, or a share of the path from 0% to 100%"


@dataclass(frozen=True)
class MethodParams:
    """One method: the key of its algorithm, the parameter of its path ("" for the usual one), its
    unusual settings.
    """

    algorithm: str
    path: str = ""
    settings: tuple[tuple[str, Setting], ...] = ()

    def text(self) -> str:
        """Return the method as the link has it."""
        head = self.algorithm + (f":{self.path}" if self.path else "")
        return ",".join(
            [head, *(f"{name}={write_setting(value)}" for name, value in self.settings)]
        )

    @property
    def over(self) -> str:
        """Return the key of the parameter the path runs over."""
        return self.path or METHODS[self.algorithm].path_params[0]


def usual_method(name: str, path: str = "", /, **settings: Setting) -> MethodParams:
    """Return the method with everything usual left out, and everything that does not belong to the
    algorithm.
    """
    algorithm = METHODS[name]
    first = algorithm.path_params[0]
    over = path if path in algorithm.path_params else first
    moved = algorithm.path(over).attribute
    kept = []
    for setting, value in sorted(settings.items()):
        known = [control for control in algorithm.controls if control.name == setting != moved]
        if any(accepts(control, value) for control in known) and any(
            control.default != value for control in known
        ):
            kept.append((setting, value))
    return MethodParams(name, "" if over == first else over, tuple(kept))


def read_methods(text: str) -> tuple[MethodParams, ...]:
    """Read the methods of a link; raises ``ValueError`` for anything but an exact account of
    methods.
    """
    parts = text.split(";")
    if len(text) > LONGEST or not FEWEST <= len(parts) <= MOST:
        raise ValueError
    return tuple(_read_one(part) for part in parts)


def write_methods(methods: Sequence[MethodParams]) -> str:
    """Return the methods as the link has them."""
    return ";".join(one.text() for one in methods)


def _read_one(text: str) -> MethodParams:
    head, *parts = text.split(",")
    name, colon, path = head.partition(":")
    if name not in METHODS or (colon and path not in METHODS[name].path_params):
        raise ValueError
    algorithm = METHODS[name]
    settings = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or key in settings:
            raise ValueError
        settings[key] = read_setting([c for c in algorithm.controls if c.name == key], value)
    return usual_method(name, path, **settings)


def _read_place(text: str) -> str:
    """Read where the cursor of all methods stands: a value of the parameter they share, or a share
    of each path.
    """
    if re.fullmatch(r"\d{1,3}(\.\d{1,2})?%", text, re.ASCII):
        if float(text[:-1]) > 100:
            raise ValueError
        return text
    if not float(text) > 0:
        raise ValueError
    return write_setting(float(text))


# Names of methods


def labels(methods: Sequence[MethodParams], task: str) -> list[str]:
    """Return a name for each method: its algorithm, what is unusual about it, and what parts it
    from its like.

    Only settings that act for ``task`` are stated.
    """
    return [
        _label(one, [other for other in methods if other.algorithm == one.algorithm], task)
        for one in methods
    ]


def _label(one: MethodParams, alike: Sequence[MethodParams], task: str) -> str:
    algorithm = METHODS[one.algorithm]
    own = dict(one.settings)
    parted = {name for other in alike for name, _ in set(other.settings) ^ set(one.settings)}
    usual = {
        control.name: control.default for control in algorithm.controls if task in control.tasks
    }
    acting = algorithm.shown(task, one.over, {**usual, **own})
    words = [
        _as_text(control, own.get(control.name, control.default))
        for control in acting
        if control.name in own or control.name in parted
    ]
    if one.path or any(other.path != one.path for other in alike):
        sign = one.over
        words.append(f"over {'λ' if sign == 'lam' else sign}")
    return ", ".join([algorithm.label, *words])


def _as_text(control: Control, value: Setting) -> str:
    if isinstance(value, bool):
        return f"{control.label.lower()}: {write_setting(value)}"
    shown = value.replace("_", "-") if isinstance(value, str) else style.number(value)
    last = control.label.split()[-1]
    if len(last) == 1:
        return f"{last} = {shown}"
    return shown if isinstance(value, str) else f"{control.label.lower()} {shown}"


# All parameters
#
# One class for each stage that values are made in, and all else below them. The names of all
# parameters differ, and are those of a link.


LOW_RANK = "lowrank"  # features of all rows at a few landmarks, in the place of kernels
MOST_LANDMARKS = 1000
# the parameters that say what the builders make
BUILDERS = tuple(one.name for one in fields(Recipe))


def _settings_of(method: str) -> Rule:
    """Settings of one method's advanced controls as one text: memory_mb=400;tol=0.0001."""
    known = {control.name: control for control in ESTIMATORS[method].controls if control.advanced}

    def fits(text: str) -> bool:
        for part in text.split(";"):
            name, _, value = part.partition("=")
            read_setting([known[name]], value)
        return len(text) <= LONGEST_LIST

    return Rule(
        "settings within the ranges their controls show, as in memory_mb=400;tol=0.0001", fits
    )


def _param(default: Any, rule: Rule) -> Any:
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class TableParams:
    """What the reading of a table depends on."""

    data: str = _param("breast_cancer", SOURCE)
    target: str = _param("", NAMED)
    task: str = _param("", choice("", "classification", "regression", "novelty"))
    sheet: str = _param("", matching(r"[^\x00-\x1f]{1,60}", "the name of a sheet"))
    encoding: str = _param("", choice(*ENCODINGS))
    delimiter: str = _param("", choice("", "comma", "semicolon", "tab", "bar", "spaces"))
    decimal: str = _param("", choice("", "point", "comma"))
    header: str = _param("", choice("", "yes", "no"))
    uses: str = _param(
        "",
        matching(r"\d{1,5}[ncx](,\d{1,5}[ncx])*", "columns with uses, as in 3n,5x", LONGEST_TABLE),
    )
    missing: str = _param("median", choice("median", "indicator", "drop"))
    gaps: bool = False
    marks: str = _param(
        "", Rule("texts that stand for a missing value, with commas between them", is_line)
    )
    rare: str = _param("", choice("", "merge", "drop"))
    log: bool = False
    owners: str = _param("", NAMED)
    weights: str = _param("", NAMED)
    skip: str = _param("", matching(r"\d{1,3}", "a number of lines"))
    lines: str = _param("", choice("", "skip"))
    quotes: bool = True

    @property
    def is_upload(self) -> bool:
        """Tell whether the table came as a file."""
        return self.data.startswith(UPLOAD)


@dataclass(frozen=True)
class SplitParams:
    """How the rows are split, and the columns grouped."""

    validation: float = _param(0.25, number(0.05, 0.45))
    test: float = _param(0.25, number(0.05, 0.45))
    seed: int = _param(0, SEED)
    stratified: bool = True
    hold_out: str = _param(RANDOM, choice(*HOLD_OUT))
    grouping: str = _param(
        "",
        matching(
            rf"none|prefix|categories|bands \d{{1,4}}|{GROUPS}",
            "groups, as in petal:3-4",
            LONGEST_TABLE,
        ),
    )
    clip: bool = False


@dataclass(frozen=True)
class KernelParams:
    """What the kernels are, and on how many rows."""

    rows: int = _param(0, whole(0, 1_000_000))
    recipe: str = _param("", choice("", "recommended", "builders"))
    together: bool = True
    curved: bool = True
    pairs: bool = True
    widths: int = _param(5, COUNT)
    linear: bool = True
    degree: int = _param(2, whole(0, 6))
    each: str = _param("auto", one_of(lambda: ("auto", "none", *KERNELS)))
    groups: bool = False
    laplacians: int = _param(0, COUNT)
    others: str = _param("", several_of(other_kernels))
    group_kernels: str = _param("rbf", choice("rbf", "linear", "both"))
    spectrum: int = _param(3, whole(0, 8))
    places: int = _param(5, COUNT)
    shift: int = _param(0, COUNT)
    bands: int = _param(0, whole(0, 100))
    band_kernels: str = _param("linear", choice("linear", "rbf", "both", "spectral"))
    subspaces: int = _param(0, whole(0, 100))
    subspace_size: int = _param(3, whole(1, 1000))
    subspace_kernel: str = _param("rbf", one_of(lambda: KERNELS))
    subspace_seed: int = _param(0, SEED)
    edited: str = _param("", Rule("kernels, as in rbf0.5m@*", _is_kernels))
    normalise: str = _param(
        "auto", choice("auto", "multiplicative", "spherical", "trace", "diag", "none")
    )
    center: bool = False

    @property
    def recommended(self) -> bool:
        """Tell whether the table suggests the dictionary; without a word on it, it does until a
        builder is moved.
        """
        if self.recipe:
            return self.recipe == "recommended"
        return all(getattr(self, name) == getattr(KernelParams, name) for name in BUILDERS)


@dataclass(frozen=True)
class ModelParams:
    """An algorithm on the kernels."""

    algorithm: str = _param("lp", one_of(lambda: METHODS))
    path: str = _param("", Rule("the parameter a path runs over"))
    scoring: str = _param("", choice("", *SCORINGS))
    way: str = _param("", choice("", LOW_RANK))
    landmarks: int = _param(0, whole(0, MOST_LANDMARKS))
    settings: tuple[tuple[str, Setting], ...] = field(default=())

    def setting(self, control: Control) -> Setting:
        """Return what is set for ``control``, or its usual value where nothing usable is set."""
        value = dict(self.settings).get(control.name, control.default)
        return value if accepts(control, value) else control.default


@dataclass(frozen=True)
class GridParams:
    """What a path of hulls depends on beside table and split; no kernels but those of its own grid."""

    hull_basis: str = _param("polynomial", choice(*BASES))
    hull_degree: int = _param(3, whole(1, 6))
    hull_loss: str = _param("logistic", one_of(lambda: losses_for(CLASSIFICATION, suits_hulls)))
    hull_columns: str = _param(
        "", matching(r"\d{1,5}(,\d{1,5})*", "numbers of columns with commas between them")
    )
    hull_rows: int = _param(0, whole(0, 1_000_000))
    hull_more: str = _param("", _settings_of("hkl"))


PLAYGROUND = "playground"  # the lesson before the first: a truth that one makes


@dataclass(frozen=True)
class Params(GridParams, ModelParams, KernelParams, SplitParams, TableParams):
    """Everything the screen depends on. A link has the fields of the last class first."""

    # what Explore shows of an answer
    at: float | None = _param(None, POSITION)
    look: str = _param("columns", choice("columns", "path", "inside", "errors"))
    threshold: float | None = _param(None, number(-1e9, 1e9))
    cost_false: float = _param(1.0, number(0.0, 1e6))
    cost_missed: float = _param(1.0, number(0.0, 1e6))
    column: int = _param(0, whole(0, 99999))
    term: str = _param("", COLUMNS)
    over: str = _param("", matching(r"\d{1,5},\d{1,5}", "two numbers of columns, as in 3,5"))
    repeats: int = _param(10, whole(2, 100))
    # the kernel that Kernels shows
    shown: int = _param(0, SEED)
    # the methods of Compare, and where its slider stands
    methods: str = _param(
        USUAL_METHODS, Rule(EXPECTED_METHODS, kind=lambda text: write_methods(read_methods(text)))
    )
    methods_at: str = _param("", Rule(EXPECTED_PLACE, kind=_read_place))
    # what Hulls shows of a path of hulls
    hull_at: float | None = _param(None, POSITION)
    hull_pair: str = _param("", COLUMNS)
    hull_term: str = _param("", Rule("a line of text", is_line))
    hull_node: str = _param(
        "",
        matching(
            r"root|\d{1,5}\^\d{1,2}(\*\d{1,5}\^\d{1,2})*", "columns with levels, as in 3^2*5^1"
        ),
    )
    # what is measured and drawn on Theory
    theory: str = _param("lp", choice("lp", "gomp", "greedy", "hkl"))
    theory_lam: float = _param(0.01, number(1e-6, 1e2))
    theory_share: float = _param(0.1, number(0.001, 0.9))
    theory_class: int = _param(0, SEED)
    # the row of Predict, and what is changed in it
    row: int = _param(1, whole(1, 1_000_000))
    moved: str = _param(
        "", Rule("numbers of columns with their new values, as in 3=1.5,7=0", _is_moves)
    )
    outcome: int = _param(0, SEED)
    # the experiment on the screen
    experiment: str = _param("lp_fig3", matching(r"[a-z0-9_]{1,40}", "the name of an experiment"))
    experiment_seed: int = _param(0, SEED)
    experiment_panel: int = _param(0, whole(0, 99))
    # the lesson on the screen, and how far it is
    lesson: str = _param("", one_of(lambda: ("", PLAYGROUND, *LESSONS)))
    lesson_step: str = _param("guess", choice("guess", "reveal", "why"))
    lesson_guess: str = _param("", matching(r"[a-z]{0,12}", "the name of an answer"))
    # for a room full of people
    present: bool = False

    def of(self, *kinds: type) -> "Params":
        """Return these parameters as far as ``kinds`` hold them, all others at their usual values:
        the key of what depends on those alone.
        """
        return _of(self, kinds)

    def with_setting(self, name: str, value: Setting) -> "Params":
        """Return these parameters with one control of the algorithm set."""
        return replace(self, settings=tuple(sorted({**dict(self.settings), name: value}.items())))


@lru_cache(maxsize=512)  # a page asks for its keys a hundred times
def _of(params: Params, kinds: tuple[type, ...]) -> Params:
    return Params(**{one.name: getattr(params, one.name) for kind in kinds for one in fields(kind)})


# What the stages depend on, each with those before it
SPLIT = TableParams, SplitParams
GRAMS = *SPLIT, KernelParams
ANSWER = *GRAMS, ModelParams
SEARCH = *SPLIT, GridParams

RULES: dict[str, Rule] = {
    one.name: one.metadata.get("rule", FLAG) for one in fields(Params) if one.name != "settings"
}


# The link


MOST_REFUSALS = 8  # of a link, listed one by one
USUAL = Params()


def _refusal(name: str, text: str, expected: str, usual: object) -> str:
    shown = "the first one that fits" if usual in ("", None) else write_setting(usual)
    return (
        f"The link asks for {name} = {text[:40]!r}, but {name} has to be {expected}. The usual "
        f"value is used: {shown}."
    )


def read_link(query: Mapping[str, str]) -> tuple[Params, tuple[str, ...]]:
    """Read a link: the parameters, and one sentence for each part that had to be refused.

    A setting may be meant for any algorithm that has its control.
    """
    good: dict[str, Any] = {}
    settings: dict[str, Setting] = {}
    refused: list[str] = []
    controls = [control for algorithm in METHODS.values() for control in algorithm.controls]
    for name, text in query.items():
        meant = [control for control in controls if control.name == name]
        expected = RULES[name].expected if name in RULES else "within the range its control shows"
        if name == TABLE_PART:
            continue
        # halves of a sign, which JSON can hold, cannot be sent
        if (name + text).encode(errors="ignore").decode() != name + text:
            refused.append(
                f"The link holds {(name + text)[:40]!r}, which no text can hold. It is left out."
            )
        elif name not in RULES and not meant:
            refused.append(
                f"The link speaks of {name[:40]!r}, which this app does not know. It is left out."
            )
        else:
            try:
                if name in RULES:
                    good[name] = RULES[name].read(text)
                else:
                    settings[name] = read_setting(meant, text)
            except (ValueError, KeyError):
                usual = getattr(USUAL, name) if name in RULES else meant[0].default
                refused.append(_refusal(name, text, expected, usual))
    builders = [name for name in BUILDERS if name in good]
    if "recipe" not in query and builders:
        moved = any(good[name] != getattr(USUAL, name) for name in builders)
        good["recipe"] = "" if moved else "builders"
    if good.get("validation", 0.25) + good.get("test", 0.25) > 0.8:
        refused.append(
            "The link leaves less than a fifth of the rows for training. The usual split is used."
        )
        good |= {"validation": USUAL.validation, "test": USUAL.test}
    runs_over = METHODS[good.get("algorithm", "lp")].path_params
    if good.get("path", runs_over[0]) not in runs_over:
        refused.append(
            _refusal("path", good.pop("path"), "one of " + ", ".join(runs_over), runs_over[0])
        )
    if more := refused[MOST_REFUSALS:]:
        refused = [
            *refused[:MOST_REFUSALS],
            f"{len(more)} more parts of the link cannot be used. They are left out.",
        ]
    return Params(**good, settings=tuple(sorted(settings.items()))), tuple(refused)


def upload_name(content: bytes) -> str:
    """The name of an uploaded table among the sources of data: ``upload:`` and its SHA-256."""
    return UPLOAD + hashlib.sha256(content).hexdigest()


def link_text(params: Params) -> dict[str, str]:
    """Return the link's parts: what differs from the usual values."""
    parts = {name: value for name, value in vars(params).items() if value != getattr(USUAL, name)}
    settings = parts.pop("settings", ())
    return {name: write_setting(value) for name, value in (*parts.items(), *settings)}
