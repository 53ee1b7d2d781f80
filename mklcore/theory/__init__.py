"""One function per theorem of the papers: bounds, coherence, rates, recovery diagnostics."""

from mklcore.theory.gomp import Coherence, gomp_coherence, gomp_complexity, gomp_risk_bound, l1_complexity
from mklcore.theory.greedy import (
    Condition,
    condition_from_correlation,
    greedy_decay_bound,
    greedy_rate_bound,
    greedy_risk_bound,
    greedy_steps_bound,
    kernel_correlation,
    restricted_condition,
)
from mklcore.theory.hkl import HKLConsistency, hkl_consistency
from mklcore.theory.lp import lp_conversion, lp_margin_bound, lp_rademacher_bound, lp_risk_bound
from mklcore.theory.words import Bound

__all__ = [
    "Bound",
    "Coherence",
    "Condition",
    "HKLConsistency",
    "condition_from_correlation",
    "gomp_coherence",
    "gomp_complexity",
    "gomp_risk_bound",
    "greedy_decay_bound",
    "greedy_rate_bound",
    "greedy_risk_bound",
    "greedy_steps_bound",
    "hkl_consistency",
    "kernel_correlation",
    "l1_complexity",
    "lp_conversion",
    "lp_margin_bound",
    "lp_rademacher_bound",
    "lp_risk_bound",
    "restricted_condition",
]
