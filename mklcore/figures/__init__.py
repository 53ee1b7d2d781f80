"""Arrays in, plotly figures out: nothing is shown here, and nothing is solved.

Every function takes ``dark`` for the theme and leaves its alternative text in ``figure.layout.meta["alt"]``.
"""

from mklcore.figures.components import component_plot, relevance_bars
from mklcore.figures.grams import alignment_heatmap, eigenvalue_decay, gram_heatmap
from mklcore.figures.hull_graph import hull_graph
from mklcore.figures.hulls import hull_grid, kernel_count
from mklcore.figures.paths import explore_figure, gap_convergence, path_positions, score_path, weight_path
from mklcore.figures.spectra import selected_bands
from mklcore.figures.style import kernel_colours
from mklcore.figures.weights import target_alignment_bar, weights_bar

__all__ = [
    "alignment_heatmap",
    "component_plot",
    "eigenvalue_decay",
    "explore_figure",
    "gap_convergence",
    "gram_heatmap",
    "hull_graph",
    "hull_grid",
    "kernel_colours",
    "kernel_count",
    "path_positions",
    "relevance_bars",
    "score_path",
    "selected_bands",
    "target_alignment_bar",
    "weight_path",
    "weights_bar",
]
