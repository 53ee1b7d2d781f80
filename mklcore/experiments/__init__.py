"""Published experiments as library calls, one file each; ``EXPERIMENTS`` lists them by key."""

from mklcore.experiments.base import Comparison, Experiment, Outcome
from mklcore.experiments.gomp_fig1 import GOMP_FIG1
from mklcore.experiments.greedy_rate import GREEDY_RATE
from mklcore.experiments.hkl_fig2 import HKL_FIG2
from mklcore.experiments.hkl_norms import HKL_NORMS
from mklcore.experiments.hkl_tables import HKL_TABLE1, HKL_TABLE2
from mklcore.experiments.lp_fig1 import LP_FIG1
from mklcore.experiments.lp_fig3 import LP_FIG3
from mklcore.experiments.lp_fig4_fig5 import LP_FIG4_FIG5
from mklcore.experiments.lp_table2_fig6 import LP_TABLE2_FIG6
from mklcore.experiments.lp_toy import LP_TOY
from mklcore.experiments.proteins import GOMP_FIG2, LP_TABLE1
from mklcore.experiments.smkl_classes import SMKL_TABLE2, SMKL_TABLE3
from mklcore.experiments.smkl_tables import SMKL_TABLE4, SMKL_TABLE5, SMKL_TABLE6
from mklcore.experiments.times import LP_FIG7, SMKL_TIMES

_ALL = (
    LP_TOY,
    LP_FIG1,
    LP_FIG3,
    LP_TABLE1,
    LP_FIG4_FIG5,
    LP_TABLE2_FIG6,
    LP_FIG7,
    GOMP_FIG1,
    GOMP_FIG2,
    GREEDY_RATE,
    HKL_FIG2,
    HKL_NORMS,
    HKL_TABLE1,
    HKL_TABLE2,
    SMKL_TABLE2,
    SMKL_TABLE3,
    SMKL_TABLE4,
    SMKL_TABLE5,
    SMKL_TABLE6,
    SMKL_TIMES,
)
EXPERIMENTS: dict[str, Experiment] = {experiment.key: experiment for experiment in _ALL}

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "Outcome"]
