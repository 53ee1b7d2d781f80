"""scikit-learn estimators over kernels, losses and solvers.

A class is imported when it is first used. What the app says of each method is in ``mklcore.io.catalog``.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mklcore.estimators.aligned import AlignedMKLClassifier, AlignedMKLRegressor
    from mklcore.estimators.baselines import BestKernelClassifier, BestKernelRegressor
    from mklcore.estimators.feature_scaling import FeatureScalingClassifier, FeatureScalingRegressor
    from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
    from mklcore.estimators.greedy import GreedyMKLClassifier, GreedyMKLRegressor
    from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
    from mklcore.estimators.joint import JointMKLClassifier, JointMKLRegressor
    from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
    from mklcore.estimators.one_class import LpMKLOneClass
    from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor

__all__ = [
    "AlignedMKLClassifier",
    "AlignedMKLRegressor",
    "BestKernelClassifier",
    "BestKernelRegressor",
    "FeatureScalingClassifier",
    "FeatureScalingRegressor",
    "GOMPClassifier",
    "GOMPRegressor",
    "GreedyMKLClassifier",
    "GreedyMKLRegressor",
    "HKLClassifier",
    "HKLRegressor",
    "JointMKLClassifier",
    "JointMKLRegressor",
    "LpMKLClassifier",
    "LpMKLOneClass",
    "LpMKLRegressor",
    "SMKLClassifier",
    "SMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]
_HOMES = {
    "aligned": ("AlignedMKLClassifier", "AlignedMKLRegressor"),
    "baselines": ("BestKernelClassifier", "BestKernelRegressor"),
    "feature_scaling": ("FeatureScalingClassifier", "FeatureScalingRegressor"),
    "gomp": ("GOMPClassifier", "GOMPRegressor"),
    "greedy": ("GreedyMKLClassifier", "GreedyMKLRegressor"),
    "hkl": ("HKLClassifier", "HKLRegressor"),
    "joint": ("JointMKLClassifier", "JointMKLRegressor"),
    "lp": ("LpMKLClassifier", "LpMKLRegressor", "UniformMKLClassifier", "UniformMKLRegressor"),
    "one_class": ("LpMKLOneClass",),
    "smkl": ("SMKLClassifier", "SMKLRegressor"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME and not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; see dir({__name__}).")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
