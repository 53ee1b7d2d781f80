"""scikit-learn estimators over kernels, losses and solvers; ``registry`` lists them with their words and controls."""

from mklcore.estimators.gomp import GOMPClassifier, GOMPRegressor
from mklcore.estimators.lp import LpMKLClassifier, LpMKLRegressor, UniformMKLClassifier, UniformMKLRegressor
from mklcore.estimators.registry import ESTIMATORS, Algorithm, Control

__all__ = [
    "ESTIMATORS",
    "Algorithm",
    "Control",
    "GOMPClassifier",
    "GOMPRegressor",
    "LpMKLClassifier",
    "LpMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]
