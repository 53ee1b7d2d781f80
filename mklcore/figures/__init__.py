"""Arrays in, plotly figures out: nothing is shown here, and nothing is solved.

Every function takes ``dark`` for the theme and leaves its alternative text in ``figure.layout.meta["alt"]``. What moves
in a browser is in ``player_data`` and ``hulls`` as JSON for the ``players``, and as whole pages in ``one_file``.
"""

from mklcore.figures.bars import (
    kernels_by_column,
    relevance_bars,
    term_bars,
    waterfall,
    weights_bar,
    word_bars,
)
from mklcore.figures.curves import (
    Curve,
    bound_curves,
    comparison_plot,
    eigenvalue_decay,
    gap_convergence,
    reliability_figure,
    residual_figure,
    roc_figure,
    score_path,
    weight_path,
)
from mklcore.figures.effects import (
    column_dots,
    column_figure,
    component_plot,
    positions_figure,
    surface_plot,
    term_plot,
)
from mklcore.figures.hulls import hull_graph, kernel_count
from mklcore.figures.matrices import alignment_heatmap, class_weights, confusion_figure, gram_heatmap
from mklcore.figures.style import kernel_colours

__all__ = [
    "Curve",
    "alignment_heatmap",
    "bound_curves",
    "class_weights",
    "column_dots",
    "column_figure",
    "comparison_plot",
    "component_plot",
    "confusion_figure",
    "eigenvalue_decay",
    "gap_convergence",
    "gram_heatmap",
    "hull_graph",
    "kernel_colours",
    "kernel_count",
    "kernels_by_column",
    "positions_figure",
    "relevance_bars",
    "reliability_figure",
    "residual_figure",
    "roc_figure",
    "score_path",
    "surface_plot",
    "term_bars",
    "term_plot",
    "waterfall",
    "weight_path",
    "weights_bar",
    "word_bars",
]
