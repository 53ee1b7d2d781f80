"""Multiple kernel learning with certificates: kernels, solvers, paths and figures.

import mklcore as mkl
data = mkl.load_sample("breast_cancer")
train, test = data.split(test_size=0.3, seed=0)
model = mkl.LpMKLClassifier(p=4 / 3, C=1.0).fit(train.X, train.y)
print(model.score(test.X, test.y), model.dual_gap_)

Every public name is loaded when it is first used. A new one is a line in ``_HOMES`` and one in ``__init__.pyi``, which
type checkers and editors read; everything else is found in the rooms: ``mkl.data``, ``mkl.estimators``,
``mkl.paths``, ...
"""

import sys as _sys
from importlib import import_module as _import_module

_HOMES = {
    "answer.auto": ["AutoMKLClassifier", "AutoMKLRegressor"],
    "answer.explore": ["explore"],
    "data.dataset": ["Dataset"],
    "data.reading": ["read_table"],
    "data.samples": ["SAMPLES", "load_sample"],
    "data.synthetic": [
        "make_mkl_toy",
        "make_ringnorm",
        "make_sequences",
        "make_sparse_polynomial",
        "make_spectra",
        "make_twonorm",
    ],
    "errors": ["DataError", "KernelError", "MKLError", "NotConvergedWarning", "ParameterError"],
    "estimators.baselines": [
        "AlignedMKLClassifier",
        "AlignedMKLRegressor",
        "BestKernelClassifier",
        "BestKernelRegressor",
        "UniformMKLClassifier",
        "UniformMKLRegressor",
    ],
    "estimators.gomp": ["GOMPClassifier", "GOMPRegressor"],
    "estimators.greedy": ["GreedyMKLClassifier", "GreedyMKLRegressor"],
    "estimators.hkl": ["HKLClassifier", "HKLRegressor"],
    "estimators.joint": ["JointMKLClassifier", "JointMKLRegressor"],
    "estimators.lp": ["LpMKLClassifier", "LpMKLRegressor"],
    "estimators.one_class": ["LpMKLOneClass"],
    "estimators.smkl": ["FeatureScalingClassifier", "FeatureScalingRegressor", "SMKLClassifier", "SMKLRegressor"],
    "answer.terms": ["decompose"],
    "gallery": ["theory"],
    "gallery.experiments": ["EXPERIMENTS"],
    "kernels.dictionary": ["KernelDictionary", "SequenceDictionary"],
    "kernels.features": ["Nystroem"],
    "kernels.functions": [
        "KERNELS",
        "RBF",
        "Delta",
        "Laplacian",
        "Linear",
        "Matern",
        "Polynomial",
        "Product",
        "Sum",
    ],
    "kernels.grams": ["GramStack", "alignment_matrix"],
    "kernels.interactions": ["Interaction"],
    "kernels.sequences": ["Spectrum", "WeightedDegree", "Words"],
    "problem.losses": ["LOSSES", "Huber", "Pinball"],
    "paths.path": ["Path", "fit_path", "log_grid"],
    "problem.penalties": ["PENALTIES", "BlockNorm", "ElasticNet", "EllipticNorm", "LpNorm", "WeightedLpNorm"],
    "paths.curves": ["choose", "cross_validate_path", "validation_curve"],
    "paths.choose_c": ["choose_C"],
    "lp.schedule": ["SOLVERS"],
    "problem.driver": ["Fit"],
    "problem.problem": ["certificate"],
    "sparse.variants": [
        "duplicate_counterexample",
        "ivanov_to_tikhonov",
        "lq_mkl",
        "nu_from_one_class",
        "tikhonov_to_ivanov",
        "two_stage",
    ],
    "hkl.baselines": ["hkl_flat_mkl", "hkl_greedy", "hkl_l2", "hkl_lasso_alpha"],
    "hkl.bases": [
        "ANOVABasis",
        "GaussianBasis",
        "KernelPCABasis",
        "PolynomialBasis",
    ],
    "hkl.search": ["hkl_certificate"],
    "hkl.graph": ["Graph"],
    "io.rows": ["fit_rows"],
    "io.models": ["load_model", "save_model"],
    "gallery.theory": [
        "gomp_coherence",
        "gomp_risk_bound",
        "greedy_rate_bound",
        "greedy_risk_bound",
        "hkl_consistency",
        "kernel_correlation",
        "lp_margin_bound",
        "lp_rademacher_bound",
        "lp_risk_bound",
        "restricted_condition",
    ],
    "answer.columns": ["select_columns"],
    "answer.conformal": ["Conformal", "QuantileBand"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = (
    "answer",
    "arrays",
    "data",
    "errors",
    "estimators",
    "figures",
    "gallery",
    "hkl",
    "io",
    "kernels",
    "lp",
    "parameters",
    "paths",
    "problem",
    "sparse",
    "verify",
)

# What a path and a hull get at this door: `explore`, from the room that draws for notebooks, loaded when it is called.
_EXPLORED = {
    "paths.path": ("explore_path", ["Path"]),
    "estimators.hkl": ("explore_hull", ["HKLClassifier", "HKLRegressor"]),
}


def _explorer(shows: str) -> object:
    def explore(self: object, **options: object) -> object:
        return getattr(_import_module("mklcore.figures.notebook"), shows)(self, **options)

    explore.__doc__ = f"Show it in a notebook, to be dragged; options as in ``mklcore.figures.notebook.{shows}``."
    return explore


def _let_explore() -> None:
    """Give what has been loaded so far its ``explore``."""
    for home in [home for home in _EXPLORED if f"mklcore.{home}" in _sys.modules]:
        shows, kinds = _EXPLORED.pop(home)
        for kind in kinds:
            setattr(_sys.modules[f"mklcore.{home}"].__dict__[kind], "explore", _explorer(shows))  # noqa: B010  a class of another file


__all__ = sorted([*_HOME, "figures"], key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> object:
    if name in (*_ROOMS, "_numba"):
        room = _import_module(f"mklcore.{name}")
        _let_explore()
        return room
    if name == "__version__":
        from importlib import metadata  # not at start-up

        try:
            value = metadata.version("mklcore")
        except metadata.PackageNotFoundError:  # run from a checkout that was never installed
            value = "0+unknown"
    elif name in _HOME:
        value = getattr(_import_module(f"mklcore.{_HOME[name]}"), name)
        _let_explore()
    else:
        raise AttributeError(f"module 'mklcore' has no attribute {name!r}; see dir(mklcore) and its rooms.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_ROOMS, "__version__"})
