"""Published experiments as library calls; ``EXPERIMENTS`` lists them by key.

What the papers did and found is in ``published``, what was found here in ``recorded``, and how it
is measured in one module per subject.
"""

from mklcore.gallery.experiments import greedy, hkl, lp, proteins, smkl, times
from mklcore.gallery.experiments.base import Experiment, Measure, TableLine
from mklcore.gallery.experiments.records import Outcome, PaperComparison, Quantity

_MEASURES: dict[str, Measure] = {
    "lp_fig1": lp.bounds,
    "lp_fig3": lp.toy,
    "lp_table1": proteins.norms,
    "lp_fig4_fig5": lp.sites,
    "lp_table2_fig6": proteins.enzymes,
    "lp_fig7": times.by_size,
    "gomp_fig1": greedy.sparsity,
    "gomp_fig2": proteins.greedy,
    "greedy_rate": greedy.rate,
    "hkl_fig2": hkl.polynomial,
    "hkl_table1": hkl.regression,
    "hkl_table2": hkl.classification,
    "smkl_table2": smkl.mass_spectra,
    "smkl_table3": smkl.image,
    "smkl_table4": smkl.spectra,
    "smkl_table5": smkl.spectra,
    "smkl_table6": smkl.spectra,
    "smkl_times": times.growth,
}
_QUANTITIES: dict[str, dict[str, Quantity]] = {
    "lp_fig3": {
        "correlation of test and model errors": lp.correlation,
        "share of the distance less share of the error": lp.left_over,
    },
    "lp_fig4_fig5": {"largest share at p = 1": lp.largest_share},
}
EXPERIMENTS: dict[str, Experiment] = {
    key: Experiment.read(key, measure, _QUANTITIES.get(key)) for key, measure in _MEASURES.items()
}

__all__ = ["EXPERIMENTS", "Experiment", "Outcome", "PaperComparison", "TableLine"]
