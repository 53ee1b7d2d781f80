"""Params, typed and frozen: one class for what each stage depends on, and all of them for what a screen depends on."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

from mklcore.data.grouping import GROUPS
from mklcore.data.splitting import HOLD_OUT, RANDOM
from mklcore.gallery.lessons import LESSONS
from mklcore.hkl.bases import BASES
from mklcore.hkl.inner import suits_hulls
from mklcore.io.catalog import ESTIMATORS, Control
from mklcore.kernels.functions import KERNELS
from mklcore.kernels.notation import Recipe, other_kernels
from mklcore.paths.scoring import SCORINGS
from mklcore.problem.losses import CLASSIFICATION, losses_for
from pages.shared.params import algorithms
from pages.shared.params import methods as params_methods
from pages.shared.params.algorithms import METHODS, Setting, accepts
from pages.shared.params.rules import (
    ENCODINGS,
    LONGEST_LIST,
    LONGEST_TABLE,
    UPLOAD,
    Rule,
    choice,
    dictionary,
    flag,
    matching,
    moves,
    number,
    one_of,
    position,
    several_of,
    short_line,
    source,
    whole,
)

LOW_RANK, SAMPLE = "lowrank", "sample"  # ways to deal with many rows: features of all, or the kernels of some
MOST_LANDMARKS = 1000
BUILDERS = tuple(one.name for one in fields(Recipe))  # the parameters that say what the builders make


def _methods() -> Rule:
    return Rule(lambda text: params_methods.write(params_methods.read(text)), params_methods.EXPECTED)


def _settings_of(method: str) -> Rule:
    """Settings of one method's advanced controls as one text: memory_mb=400;tol=0.0001."""
    known = {control.name: control for control in ESTIMATORS[method].controls if control.advanced}

    def read(text: str) -> str:
        for part in text.split(";") if len(text) <= LONGEST_LIST else ["too long"]:
            name, _, value = part.partition("=")
            algorithms.read([known[name]], value)
        return text

    return Rule(read, "settings within the ranges their controls show, as in memory_mb=400;tol=0.0001")


P = TypeVar("P", bound="FileParams")


def _param(default: Any, rule: Rule) -> Any:
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, eq=False)
class FileParams:
    """What the reading of a table depends on.

    Parameters are frozen and hashable, and each kind holds those of the stages before it: a function says by the kind
    it takes what its result depends on, and ``part`` of that kind is the key under which the result is kept.
    """

    data: str = _param("breast_cancer", source())
    target: str = _param("", matching(rf".{{0,{LONGEST_LIST}}}", "the name of a column"))
    task: str = _param("", choice("", "classification", "regression", "novelty"))
    sheet: str = _param("", matching(r"[^\x00-\x1f]{1,60}", "the name of a sheet"))
    encoding: str = _param("", choice(*ENCODINGS))
    delimiter: str = _param("", choice("", "comma", "semicolon", "tab", "bar", "spaces"))
    decimal: str = _param("", choice("", "point", "comma"))
    header: str = _param("", choice("", "yes", "no"))
    uses: str = _param("", matching(r"\d{1,5}[ncx](,\d{1,5}[ncx])*", "columns with uses, as in 3n,5x", LONGEST_TABLE))
    missing: str = _param("median", choice("median", "indicator", "drop"))
    gaps: bool = False
    marks: str = _param("", Rule(short_line, "texts that stand for a missing value, with commas between them"))
    rare: str = _param("", choice("", "merge", "drop"))
    skip: str = _param("", matching(r"\d{1,3}", "a number of lines"))
    lines: str = _param("", choice("", "skip"))
    quotes: bool = True

    @property
    def is_upload(self) -> bool:
        """Tell whether the table came as a file."""
        return self.data.startswith(UPLOAD)

    def part(self, kind: type[P]) -> P:
        """Return those of these parameters that ``kind`` holds."""
        if kind not in self._parts:
            self._parts[kind] = kind(**{one.name: getattr(self, one.name) for one in fields(kind)})
        return self._parts[kind]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values == other._values

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # another process hashes strings differently

    @cached_property
    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, one.name) for one in fields(self))

    @cached_property
    def _hash(self) -> int:
        return hash(self._values)  # of a hundred, and asked for as often

    @cached_property
    def _parts(self) -> dict[type["FileParams"], Any]:
        return {}  # a page asks for its keys hundreds of times


@dataclass(frozen=True, eq=False)
class DataParams(FileParams):
    """What the table in use and its split depend on."""

    validation: float = _param(0.25, number(0.05, 0.45))
    test: float = _param(0.25, number(0.05, 0.45))
    seed: int = _param(0, whole(0, 9999))
    stratified: bool = True
    hold_out: str = _param(RANDOM, choice(*HOLD_OUT))
    grouping: str = _param(
        "",
        matching(rf"none|prefix|categories|bands \d{{1,4}}|{GROUPS}", "groups, as in petal:3-4", LONGEST_TABLE),
    )
    clip: bool = False


@dataclass(frozen=True, eq=False)
class KernelParams(DataParams):
    """What the Gram matrices depend on."""

    rows: int = _param(0, whole(0, 1_000_000))
    recipe: str = _param("", choice("", "recommended", "builders"))
    together: bool = True
    curved: bool = True
    pairs: bool = True
    widths: int = _param(5, whole(0, 20))
    linear: bool = True
    degree: int = _param(2, whole(0, 6))
    each: str = _param("auto", one_of(lambda: ("auto", "none", *KERNELS)))
    groups: bool = False
    laplacians: int = _param(0, whole(0, 20))
    others: str = _param("", several_of(other_kernels))
    group_kernels: str = _param("rbf", choice("rbf", "linear", "both"))
    spectrum: int = _param(3, whole(0, 8))
    places: int = _param(5, whole(0, 20))
    shift: int = _param(0, whole(0, 20))
    bands: int = _param(0, whole(0, 100))
    band_kernels: str = _param("linear", choice("linear", "rbf", "both", "spectral"))
    subspaces: int = _param(0, whole(0, 100))
    subspace_size: int = _param(3, whole(1, 1000))
    subspace_kernel: str = _param("rbf", one_of(lambda: KERNELS))
    subspace_seed: int = _param(0, whole(0, 9999))
    edited: str = _param("", dictionary())
    normalise: str = _param("auto", choice("auto", "multiplicative", "spherical", "trace", "diag", "none"))
    center: bool = False

    @property
    def recommended(self) -> bool:
        """Tell whether the table suggests the dictionary; without a word on it, it does until a builder is moved."""
        if self.recipe:
            return self.recipe == "recommended"
        return all(getattr(self, name) == getattr(KernelParams, name) for name in BUILDERS)


@dataclass(frozen=True, eq=False)
class PathParams(KernelParams):
    """What a path depends on: an algorithm on the kernels."""

    algorithm: str = _param("lp", one_of(lambda: METHODS))
    path: str = _param("", Rule(str, "the parameter a path runs over"))
    scoring: str = _param("", choice("", *SCORINGS))
    further: int = _param(0, whole(0, 9))
    way: str = _param("", choice("", SAMPLE, LOW_RANK))
    landmarks: int = _param(0, whole(0, MOST_LANDMARKS))
    settings: tuple[tuple[str, Setting], ...] = field(default=())

    def setting(self, control: Control) -> Setting:
        """Return what is set for ``control``, or its usual value where nothing usable is set."""
        value = dict(self.settings).get(control.name, control.default)
        return value if accepts(control, value) else control.default


@dataclass(frozen=True, eq=False)
class HullParams(DataParams):
    """What a path of hulls depends on; no kernels but those of its own grid."""

    hull_basis: str = _param("polynomial", choice(*BASES))
    hull_degree: int = _param(3, whole(1, 6))
    hull_loss: str = _param("logistic", one_of(lambda: losses_for(CLASSIFICATION, suits_hulls)))
    hull_columns: str = _param("", matching(r"\d{1,5}(,\d{1,5})*", "numbers of columns with commas between them"))
    hull_rows: int = _param(0, whole(0, 1_000_000))
    hull_more: str = _param("", _settings_of("hkl"))


@dataclass(frozen=True, eq=False)
class TheoryParams(HullParams, PathParams):
    """What is measured and drawn on Theory."""

    theory_lam: float = _param(0.01, number(1e-6, 1e2))
    theory_share: float = _param(0.1, number(0.001, 0.9))
    theory_class: int = _param(0, whole(0, 9999))


@dataclass(frozen=True, eq=False)
class Params(TheoryParams):
    """Everything the screen depends on."""

    hull_at: float | None = _param(None, position())
    hull_pair: str = _param("", matching(r"\d{1,5}(,\d{1,5})?", "one or two numbers of columns, as in 3,5"))
    hull_term: str = _param("", Rule(short_line, "a line of text"))
    hull_node: str = _param(
        "", matching(r"root|\d{1,5}\^\d{1,2}(\*\d{1,5}\^\d{1,2})*", "columns with levels, as in 3^2*5^1")
    )
    at: float | None = _param(None, position())
    look: str = _param("columns", choice("columns", "path", "inside"))
    column: int = _param(0, whole(0, 99999))
    term: str = _param("", matching(r"\d{1,5}(,\d{1,5})?", "one or two numbers of columns, as in 3,5"))
    over: str = _param("", matching(r"\d{1,5},\d{1,5}", "two numbers of columns, as in 3,5"))
    output: int = _param(0, whole(0, 9999))
    shown: int = _param(0, whole(0, 9999))
    methods: str = _param(params_methods.USUAL, _methods())
    methods_at: str = _param("", Rule(params_methods.read_place, params_methods.EXPECTED_PLACE))
    lesson: str = _param("", one_of(lambda: ("", *LESSONS)))
    lesson_step: str = _param("guess", choice("guess", "reveal", "why"))
    lesson_guess: str = _param("", matching(r"[a-z]{0,12}", "the name of an answer"))
    present: bool = False
    theory: str = _param("lp", choice("lp", "gomp", "greedy", "hkl"))
    experiment: str = _param("lp_fig3", matching(r"[a-z0-9_]{1,40}", "the name of an experiment"))
    experiment_seed: int = _param(0, whole(0, 9999))
    experiment_panel: int = _param(0, whole(0, 99))
    row: int = _param(1, whole(1, 1_000_000))
    moved: str = _param("", moves())
    outcome: int = _param(0, whole(0, 9999))
    repeats: int = _param(10, whole(2, 100))

    def with_setting(self, name: str, value: Setting) -> "Params":
        """Return these parameters with one control of the algorithm set."""
        return replace(self, settings=tuple(sorted({**dict(self.settings), name: value}.items())))


RULES: dict[str, Rule] = {
    one.name: one.metadata.get("rule") or flag() for one in fields(Params) if one.name != "settings"
}
