"""Published experiments as library calls, one file each; ``EXPERIMENTS`` lists them by key."""

from mklcore.experiments.base import Comparison, Experiment, Outcome
from mklcore.experiments.gomp_fig1 import GOMP_FIG1
from mklcore.experiments.greedy_rate import GREEDY_RATE
from mklcore.experiments.hkl_fig2 import HKL_FIG2
from mklcore.experiments.hkl_norms import HKL_NORMS
from mklcore.experiments.lp_fig3 import LP_FIG3
from mklcore.experiments.lp_toy import LP_TOY

_ALL = (LP_TOY, LP_FIG3, GOMP_FIG1, GREEDY_RATE, HKL_FIG2, HKL_NORMS)
EXPERIMENTS: dict[str, Experiment] = {experiment.key: experiment for experiment in _ALL}

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "Outcome"]
