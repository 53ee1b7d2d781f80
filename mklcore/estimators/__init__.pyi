"""scikit-learn estimators over kernels, losses and solvers."""

from mklcore.estimators.baselines import (
    AlignedMKLClassifier as AlignedMKLClassifier,
    AlignedMKLRegressor as AlignedMKLRegressor,
    BestKernelClassifier as BestKernelClassifier,
    BestKernelRegressor as BestKernelRegressor,
    UniformMKLClassifier as UniformMKLClassifier,
    UniformMKLRegressor as UniformMKLRegressor,
)
from mklcore.estimators.best_k import (
    BestSetClassifier as BestSetClassifier,
    BestSetRegressor as BestSetRegressor,
    best_k_kernels as best_k_kernels,
)
from mklcore.estimators.gomp import GOMPClassifier as GOMPClassifier, GOMPRegressor as GOMPRegressor
from mklcore.estimators.greedy import (
    GreedyMKLClassifier as GreedyMKLClassifier,
    GreedyMKLRegressor as GreedyMKLRegressor,
)
from mklcore.estimators.hkl import HKLClassifier as HKLClassifier, HKLRegressor as HKLRegressor
from mklcore.estimators.joint import (
    JointMKLClassifier as JointMKLClassifier,
    JointMKLRegressor as JointMKLRegressor,
)
from mklcore.estimators.lp import (
    LpMKLClassifier as LpMKLClassifier,
    LpMKLRegressor as LpMKLRegressor,
)
from mklcore.estimators.one_class import LpMKLOneClass as LpMKLOneClass
from mklcore.estimators.smkl import (
    FeatureScalingClassifier as FeatureScalingClassifier,
    FeatureScalingRegressor as FeatureScalingRegressor,
    SMKLClassifier as SMKLClassifier,
    SMKLRegressor as SMKLRegressor,
)

__all__: list[str]
