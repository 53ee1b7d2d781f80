"""Multiple kernel learning with certificates: kernels, solvers, paths and figures.

import mklcore as mkl
data = mkl.load_sample("breast_cancer")
train, test = data.split(test_size=0.3, seed=0)
model = mkl.LpMKLClassifier(p=4 / 3, C=1.0).fit(train.X, train.y)
print(model.score(test.X, test.y), model.dual_gap_)
"""

import os as _os
import tempfile as _tempfile
from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version
from pathlib import Path as _FilePath

if "NUMBA_CACHE_DIR" not in _os.environ and not _os.access(_FilePath(__file__).parent, _os.W_OK):
    # numba refuses to import cached leaves when it can write neither beside the source nor in the user's cache folder.
    _os.environ["NUMBA_CACHE_DIR"] = _os.path.join(_tempfile.gettempdir(), f"mklcore-numba-{_os.getuid()}")

from mklcore import figures, theory
from mklcore.data.dataset import Dataset, Split, standardise, three_way_split
from mklcore.data.reading import describe_table, read_table
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.data.spectra import (
    average_neighbours,
    band_edges,
    read_spectra,
    standardise_spectra,
    wavelengths,
    with_bands,
    with_second_differences,
)
from mklcore.data.synthetic import (
    make_mkl_toy,
    make_ring,
    make_ringnorm,
    make_sparse_polynomial,
    make_spectra,
    make_twonorm,
)
from mklcore.errors import DataError, KernelError, MKLError, NotConvergedWarning, ParameterError
from mklcore.estimators import (
    ESTIMATORS,
    BestKernelClassifier,
    BestKernelRegressor,
    GOMPClassifier,
    GOMPRegressor,
    GreedyMKLClassifier,
    GreedyMKLRegressor,
    HKLClassifier,
    HKLRegressor,
    LpMKLClassifier,
    LpMKLOneClass,
    LpMKLRegressor,
    SMKLClassifier,
    SMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from mklcore.estimators.explain import component_functions, decision_surface
from mklcore.experiments import EXPERIMENTS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KERNELS, RBF, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import alignment_matrix, target_alignment
from mklcore.kernels.spectra import BAND_KERNELS, kernel_edges, spectral_dictionary
from mklcore.kernels.stacks import read_stack
from mklcore.losses import LOSSES
from mklcore.path import Path, fit_path, interval_along, log_grid, path_grid
from mklcore.penalties import (
    PENALTIES,
    BlockNorm,
    EllipticNorm,
    GroupLasso,
    LogTerm,
    LpNorm,
    MFocuss,
    SquaredGroupLasso,
    WeightedLpNorm,
    make_terms,
)
from mklcore.selection import choose, cross_validate_path, selection_frequency, validation_curve
from mklcore.selection_loo import Choice, choose_C, leave_one_out, xi_alpha
from mklcore.solvers import SOLVERS, certificate
from mklcore.solvers.baselines import duplicate_counterexample, lq_mkl, two_stage
from mklcore.solvers.driver import Fit, Status
from mklcore.solvers.forms import interval, ivanov_to_tikhonov, nu_from_one_class, solve_tikhonov, tikhonov_to_ivanov
from mklcore.solvers.hkl.baselines import hkl_flat_mkl, hkl_greedy, hkl_l2, hkl_lasso_alpha
from mklcore.solvers.hkl.bases import (
    BASES,
    ANOVABasis,
    GaussianBasis,
    HermiteBasis,
    KernelPCABasis,
    PolynomialBasis,
    SplineBasis,
)
from mklcore.solvers.hkl.design import Design as HKLDesign
from mklcore.store import load_model, save_model
from mklcore.sweep import Repeats, SplitProblem, SplitSpec, repeat_splits
from mklcore.theory import (
    gomp_coherence,
    gomp_risk_bound,
    greedy_rate_bound,
    greedy_risk_bound,
    hkl_consistency,
    kernel_correlation,
    lp_margin_bound,
    lp_rademacher_bound,
    lp_risk_bound,
    restricted_condition,
)
from mklcore.warmup import warm_up

try:
    __version__ = _version("mklcore")
except _PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"

__all__ = [
    "BAND_KERNELS",
    "BASES",
    "ESTIMATORS",
    "EXPERIMENTS",
    "KERNELS",
    "LOSSES",
    "PENALTIES",
    "RBF",
    "SAMPLES",
    "SOLVERS",
    "ANOVABasis",
    "BestKernelClassifier",
    "BestKernelRegressor",
    "BlockNorm",
    "Choice",
    "DataError",
    "Dataset",
    "EllipticNorm",
    "Fit",
    "GOMPClassifier",
    "GOMPRegressor",
    "GaussianBasis",
    "GramStack",
    "GreedyMKLClassifier",
    "GreedyMKLRegressor",
    "GroupLasso",
    "HKLClassifier",
    "HKLDesign",
    "HKLRegressor",
    "HermiteBasis",
    "KernelDictionary",
    "KernelError",
    "KernelPCABasis",
    "Laplacian",
    "Linear",
    "LogTerm",
    "LpMKLClassifier",
    "LpMKLOneClass",
    "LpMKLRegressor",
    "LpNorm",
    "MFocuss",
    "MKLError",
    "NotConvergedWarning",
    "ParameterError",
    "Path",
    "Polynomial",
    "PolynomialBasis",
    "Repeats",
    "SMKLClassifier",
    "SMKLRegressor",
    "SplineBasis",
    "Split",
    "SplitProblem",
    "SplitSpec",
    "SquaredGroupLasso",
    "Status",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
    "WeightedLpNorm",
    "alignment_matrix",
    "average_neighbours",
    "band_edges",
    "certificate",
    "choose",
    "choose_C",
    "component_functions",
    "cross_validate_path",
    "decision_surface",
    "describe_table",
    "duplicate_counterexample",
    "figures",
    "fit_path",
    "gomp_coherence",
    "gomp_risk_bound",
    "greedy_rate_bound",
    "greedy_risk_bound",
    "hkl_consistency",
    "hkl_flat_mkl",
    "hkl_greedy",
    "hkl_l2",
    "hkl_lasso_alpha",
    "interval",
    "interval_along",
    "ivanov_to_tikhonov",
    "kernel_correlation",
    "kernel_edges",
    "leave_one_out",
    "load_model",
    "load_sample",
    "log_grid",
    "lp_margin_bound",
    "lp_rademacher_bound",
    "lp_risk_bound",
    "lq_mkl",
    "make_mkl_toy",
    "make_ring",
    "make_ringnorm",
    "make_sparse_polynomial",
    "make_spectra",
    "make_terms",
    "make_twonorm",
    "nu_from_one_class",
    "path_grid",
    "read_spectra",
    "read_stack",
    "read_table",
    "repeat_splits",
    "restricted_condition",
    "save_model",
    "selection_frequency",
    "solve_tikhonov",
    "spectral_dictionary",
    "standardise",
    "standardise_spectra",
    "target_alignment",
    "theory",
    "three_way_split",
    "tikhonov_to_ivanov",
    "two_stage",
    "validation_curve",
    "warm_up",
    "wavelengths",
    "with_bands",
    "with_second_differences",
    "xi_alpha",
]
