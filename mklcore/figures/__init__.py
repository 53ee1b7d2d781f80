"""Arrays in, plotly figures out: nothing is shown here, and nothing is solved.

Every function takes ``dark`` for the theme and leaves its alternative text in ``figure.layout.meta["alt"]``.
"""

from mklcore.figures.columns import column_figure
from mklcore.figures.compare import sparsity_figure
from mklcore.figures.components import component_plot, relevance_bars
from mklcore.figures.contributions import waterfall
from mklcore.figures.experiments import comparison_plot
from mklcore.figures.explore import class_weights, component_grid, selection_bars, surface_plot
from mklcore.figures.grams import alignment_heatmap, eigenvalue_decay, gram_heatmap
from mklcore.figures.hulls import hull_graph, hull_grid, kernel_count
from mklcore.figures.judging import choice_figure, confusion_figure, reliability_figure, residual_figure, roc_figure
from mklcore.figures.paths import gap_convergence, path_positions, score_path, weight_path
from mklcore.figures.runs import weights_beside
from mklcore.figures.sequences import positions_figure
from mklcore.figures.spectra import selected_bands
from mklcore.figures.style import kernel_colours
from mklcore.figures.terms import term_bars, term_plot
from mklcore.figures.theory import Curve, bound_curves, coherence_dots, duplicate_bars
from mklcore.figures.weights import target_alignment_bar, weights_bar

__all__ = [
    "Curve",
    "alignment_heatmap",
    "bound_curves",
    "choice_figure",
    "class_weights",
    "coherence_dots",
    "column_figure",
    "comparison_plot",
    "component_grid",
    "component_plot",
    "confusion_figure",
    "duplicate_bars",
    "eigenvalue_decay",
    "gap_convergence",
    "gram_heatmap",
    "hull_graph",
    "hull_grid",
    "kernel_colours",
    "kernel_count",
    "path_positions",
    "positions_figure",
    "relevance_bars",
    "reliability_figure",
    "residual_figure",
    "roc_figure",
    "score_path",
    "selected_bands",
    "selection_bars",
    "sparsity_figure",
    "surface_plot",
    "target_alignment_bar",
    "term_bars",
    "term_plot",
    "waterfall",
    "weight_path",
    "weights_bar",
    "weights_beside",
]
