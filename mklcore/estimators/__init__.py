"""scikit-learn estimators over kernels, losses and solvers; ``registry`` lists them with their words and controls."""

from mklcore.estimators.aligned import AlignedMKLClassifier, AlignedMKLRegressor
from mklcore.estimators.baselines import BestKernelClassifier, BestKernelRegressor
from mklcore.estimators.explain import component_functions, decision_surface
from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.greedy import GreedyMKLClassifier, GreedyMKLRegressor
from mklcore.estimators.hkl import HKLClassifier, HKLRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.one_class import LpMKLOneClass
from mklcore.estimators.registry import ESTIMATORS, Algorithm, Control
from mklcore.estimators.smkl import SMKLClassifier, SMKLRegressor

__all__ = [
    "ESTIMATORS",
    "Algorithm",
    "AlignedMKLClassifier",
    "AlignedMKLRegressor",
    "BestKernelClassifier",
    "BestKernelRegressor",
    "Control",
    "GOMPClassifier",
    "GOMPRegressor",
    "GreedyMKLClassifier",
    "GreedyMKLRegressor",
    "HKLClassifier",
    "HKLRegressor",
    "LpMKLClassifier",
    "LpMKLOneClass",
    "LpMKLRegressor",
    "SMKLClassifier",
    "SMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
    "component_functions",
    "decision_surface",
]
