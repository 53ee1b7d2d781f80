"""scikit-learn estimators over kernels, losses and solvers."""

from mklcore._lazy import lazily as _lazily

CLASSES = {
    "baselines": (
        "AlignedMKLClassifier",
        "AlignedMKLRegressor",
        "BestKernelClassifier",
        "BestKernelRegressor",
        "UniformMKLClassifier",
        "UniformMKLRegressor",
    ),
    "gomp": ("GOMPClassifier", "GOMPRegressor"),
    "greedy": ("GreedyMKLClassifier", "GreedyMKLRegressor"),
    "hkl": ("HKLClassifier", "HKLRegressor"),
    "joint": ("JointMKLClassifier", "JointMKLRegressor"),
    "lp": ("LpMKLClassifier", "LpMKLRegressor"),
    "one_class": ("LpMKLOneClass",),
    "smkl": ("FeatureScalingClassifier", "FeatureScalingRegressor", "SMKLClassifier", "SMKLRegressor"),
}
__getattr__ = _lazily(__name__, CLASSES)
