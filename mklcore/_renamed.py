"""Module paths and members of version 0.1 with other names: they keep working in this version, with a FutureWarning
that names the present one.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

RENAMED = {
    "mklcore.estimators.algorithm": "mklcore.catalog.algorithm",
    "mklcore.estimators.controls": "mklcore.catalog.controls",
    "mklcore.estimators.registry": "mklcore.catalog.registry",
    "mklcore.apart": "mklcore.parallel.processes",
    "mklcore.cluster": "mklcore.parallel.cluster",
    "mklcore.compiling": "mklcore._numba.compiling",
    "mklcore.cuts": "mklcore.selection.splitters",
    "mklcore.errands": "mklcore.parallel.tasks",
    "mklcore.intercepts": "mklcore.losses.intercepts",
    "mklcore.intervals": "mklcore.paths.intervals",
    "mklcore.left_out": "mklcore.paths.held_out",
    "mklcore.model_archive": "mklcore.io.archive",
    "mklcore.model_checks": "mklcore.io.checks",
    "mklcore.model_search": "mklcore.selection.search",
    "mklcore.own_folders": "mklcore.io.private_folders",
    "mklcore.partitions": "mklcore.parallel.partitions",
    "mklcore.path": "mklcore.paths.path",
    "mklcore.path_estimator": "mklcore.paths.estimator_protocol",
    "mklcore.path_files": "mklcore.paths.files",
    "mklcore.probabilities": "mklcore.selection.probabilities",
    "mklcore.references": "mklcore.selection.references",
    "mklcore.routine_cache": "mklcore._numba.cache",
    "mklcore.script": "mklcore.io.script",
    "mklcore.scoring": "mklcore.selection.scoring",
    "mklcore.unconverged": "mklcore.errors",
    "mklcore.selection_loo": "mklcore.selection.choose_c",
    "mklcore.shards": "mklcore.parallel.shards",
    "mklcore.stages": "mklcore._numba.stages",
    "mklcore.store": "mklcore.io.models",
    "mklcore.sweep": "mklcore.parallel.sweep",
    "mklcore.tallies": "mklcore.selection.fast_metrics",
    "mklcore.verify_hull": "mklcore.io.verify_hull",
    "mklcore.warmup": "mklcore._numba.warmup",
    "mklcore.widths": "mklcore.selection.bandwidths",
    "mklcore.figures.lanes": "mklcore.figures.side_by_side",
    "mklcore.figures.telling": "mklcore.figures.captions",
    "mklcore.figures.takeaway.lanes": "mklcore.figures.takeaway.side_by_side",
    "mklcore.solvers.following": "mklcore.solvers.homotopy",
    "mklcore.solvers.trail": "mklcore.solvers.homotopy_steps",
    "mklcore.solvers.priced": "mklcore.solvers.column_generation",
    "mklcore.lowrank": "mklcore.kernels.operators",
    "mklcore.lowrank.boxed": "mklcore.machines.dual_coordinate_descent",
    "mklcore.lowrank.features": "mklcore.kernels.operators.factored",
    "mklcore.lowrank.gradual": "mklcore.machines.newton_cg",
    "mklcore.lowrank.greedy": "mklcore.solvers.gomp_features",
    "mklcore.lowrank.nystroem": "mklcore.kernels.nystroem",
    "mklcore.lowrank.passing": "mklcore.solvers.streaming",
    "mklcore.lowrank.whole": "mklcore.solvers.exact_pass",
    "mklcore.kernels.rows": "mklcore.kernels.operators.lazy",
    "mklcore.kernels.single": "mklcore.kernels.operators.packed",
}

MEMBERS = {
    "loss": {"slope": "derivative", "bend": "second_derivative", "reach": "dual_bound", "tube": "epsilon"},
    "method": {"start": "init", "finish": "polish", "values": "certify", "restated": "restate"},
}  # of classes that others derive from


def adopt_members(cls: type, kind: str) -> None:
    """Give what a class defines under an old name its present one, with a FutureWarning."""
    for old in MEMBERS[kind].keys() & vars(cls).keys():
        setattr(cls, present_name(old, cls, kind), vars(cls)[old])


def present_name(old: str, cls: type, kind: str) -> str:
    """The present name of a member, with a FutureWarning. AttributeError where there is none of the old name."""
    if old not in MEMBERS[kind]:
        raise AttributeError(f"The {kind} {cls.__name__} has no attribute {old!r}.")
    new = MEMBERS[kind][old]
    warnings.warn(
        f"{cls.__name__}.{old} is called {new} from this version on; the old name goes with the next one.",
        FutureWarning,
        stacklevel=4,
    )
    return new


class _Alias(Loader):
    """Gives the module of the new path under the old one."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._place)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put that of the old path there


class _Renamed(MetaPathFinder):
    """Finds the old paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in RENAMED:
            return None
        place = RENAMED[fullname]
        warnings.warn(
            f"{fullname} is {place} from this version on; the old path goes with the next one.",
            FutureWarning,
            stacklevel=2,
        )
        return ModuleSpec(fullname, _Alias(place))


def install() -> None:
    """Let the import system find the old paths; once is enough."""
    if not any(isinstance(finder, _Renamed) for finder in sys.meta_path):
        sys.meta_path.append(_Renamed())


def lazily(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package: its names by the modules they are taken from when they are first used."""
    home = {name: module for module, names in homes.items() for name in names}

    def found(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}.")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return found
