"""One function per theorem of the papers: bounds, coherence, rates, recovery diagnostics."""

from mklcore.gallery.theory.gomp import (
    Coherence as Coherence,
    gomp_coherence as gomp_coherence,
    gomp_risk_bound as gomp_risk_bound,
    gomp_rows_needed as gomp_rows_needed,
)
from mklcore.gallery.theory.greedy import (
    Condition as Condition,
    condition_from_correlation as condition_from_correlation,
    greedy_decay_bound as greedy_decay_bound,
    greedy_rate_bound as greedy_rate_bound,
    greedy_risk_bound as greedy_risk_bound,
    greedy_steps_bound as greedy_steps_bound,
    kernel_correlation as kernel_correlation,
    restricted_condition as restricted_condition,
)
from mklcore.gallery.theory.hkl import (
    HKLConsistency as HKLConsistency,
    hkl_consistency as hkl_consistency,
)
from mklcore.gallery.theory.lp import (
    lp_conversion as lp_conversion,
    lp_margin_bound as lp_margin_bound,
    lp_rademacher_bound as lp_rademacher_bound,
    lp_risk_bound as lp_risk_bound,
)
from mklcore.gallery.theory.measured import (
    Complexity as Complexity,
    GompMeasured as GompMeasured,
    GreedyMeasured as GreedyMeasured,
    kernel_radius as kernel_radius,
    measure_complexity as measure_complexity,
    measure_gomp as measure_gomp,
    measure_greedy as measure_greedy,
)
from mklcore.gallery.theory.words import (
    Bound as Bound,
)
