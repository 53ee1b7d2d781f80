"""One file per method; the outer loop is in ``driver``, what is tried after what in ``schedule``."""

from mklcore.solvers.driver import Fit, Status
from mklcore.solvers.proof import certificate
from mklcore.solvers.schedule import FEATURE_SOLVERS, MOST_SUMMED, SOLVERS, fit_weighted

__all__ = ["FEATURE_SOLVERS", "MOST_SUMMED", "SOLVERS", "Fit", "Status", "certificate", "fit_weighted"]
