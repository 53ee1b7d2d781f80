"""Published experiments as library calls, one file each; ``EXPERIMENTS`` lists them by key."""

from mklcore.experiments.base import Comparison, Experiment, Outcome
from mklcore.experiments.gomp_fig1 import GOMP_FIG1
from mklcore.experiments.hkl_norms import HKL_NORMS
from mklcore.experiments.lp_toy import LP_TOY

EXPERIMENTS: dict[str, Experiment] = {experiment.key: experiment for experiment in (LP_TOY, GOMP_FIG1, HKL_NORMS)}

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "Outcome"]
