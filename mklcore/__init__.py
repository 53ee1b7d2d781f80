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

from mklcore import figures
from mklcore.data.dataset import Dataset, Split, standardise, three_way_split
from mklcore.data.reading import describe_table, read_table
from mklcore.data.samples import SAMPLES, load_sample
from mklcore.data.synthetic import make_mkl_toy, make_ringnorm, make_sparse_polynomial, make_spectra, make_twonorm
from mklcore.errors import DataError, KernelError, MKLError, NotConvergedWarning, ParameterError
from mklcore.estimators import (
    ESTIMATORS,
    GOMPClassifier,
    GOMPRegressor,
    LpMKLClassifier,
    LpMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.functions import KERNELS, RBF, Laplacian, Linear, Polynomial
from mklcore.kernels.grams import GramStack
from mklcore.kernels.measures import alignment_matrix, target_alignment
from mklcore.losses import LOSSES
from mklcore.path import Path, fit_path, log_grid, path_grid
from mklcore.penalties import PENALTIES, LpNorm
from mklcore.solvers import SOLVERS, certificate
from mklcore.solvers.driver import Fit, Status
from mklcore.warmup import warm_up

try:
    __version__ = _version("mklcore")
except _PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0+unknown"

__all__ = [
    "ESTIMATORS",
    "KERNELS",
    "LOSSES",
    "PENALTIES",
    "RBF",
    "SAMPLES",
    "SOLVERS",
    "DataError",
    "Dataset",
    "Fit",
    "GOMPClassifier",
    "GOMPRegressor",
    "GramStack",
    "KernelDictionary",
    "KernelError",
    "Laplacian",
    "Linear",
    "LpMKLClassifier",
    "LpMKLRegressor",
    "LpNorm",
    "MKLError",
    "NotConvergedWarning",
    "ParameterError",
    "Path",
    "Polynomial",
    "Split",
    "Status",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
    "alignment_matrix",
    "certificate",
    "describe_table",
    "figures",
    "fit_path",
    "load_sample",
    "log_grid",
    "make_mkl_toy",
    "make_ringnorm",
    "make_sparse_polynomial",
    "make_spectra",
    "make_twonorm",
    "path_grid",
    "read_table",
    "standardise",
    "target_alignment",
    "three_way_split",
    "warm_up",
]
