"""One function per theorem of the papers: bounds, coherence, rates, recovery diagnostics."""

from mklcore.gallery.theory.gomp import (
    Coherence,
    gomp_coherence,
    gomp_risk_bound,
    gomp_rows_needed,
)
from mklcore.gallery.theory.greedy import (
    Condition,
    condition_from_correlation,
    greedy_decay_bound,
    greedy_rate_bound,
    greedy_risk_bound,
    greedy_steps_bound,
    kernel_correlation,
    restricted_condition,
)
from mklcore.gallery.theory.hkl import HKLConsistency, hkl_consistency
from mklcore.gallery.theory.lp import (
    lp_conversion,
    lp_margin_bound,
    lp_rademacher_bound,
    lp_risk_bound,
)
from mklcore.gallery.theory.measured import (
    Complexity,
    GompMeasured,
    GreedyMeasured,
    kernel_radius,
    measure_complexity,
    measure_gomp,
    measure_greedy,
)
from mklcore.gallery.theory.words import Bound

__all__ = [
    "Bound",
    "Coherence",
    "Complexity",
    "Condition",
    "GompMeasured",
    "GreedyMeasured",
    "HKLConsistency",
    "condition_from_correlation",
    "gomp_coherence",
    "gomp_risk_bound",
    "gomp_rows_needed",
    "greedy_decay_bound",
    "greedy_rate_bound",
    "greedy_risk_bound",
    "greedy_steps_bound",
    "hkl_consistency",
    "kernel_correlation",
    "kernel_radius",
    "lp_conversion",
    "lp_margin_bound",
    "lp_rademacher_bound",
    "lp_risk_bound",
    "measure_complexity",
    "measure_gomp",
    "measure_greedy",
    "restricted_condition",
]
