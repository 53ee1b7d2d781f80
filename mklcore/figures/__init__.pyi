"""Plotly figures of arrays: nothing is displayed here, and nothing is solved."""

from mklcore.figures.bars import (
    compare_weights as compare_weights,
    kernels_by_column as kernels_by_column,
    relevance_bars as relevance_bars,
    term_bars as term_bars,
    waterfall as waterfall,
    weights_bar as weights_bar,
    word_bars as word_bars,
)
from mklcore.figures.curves import (
    Curve as Curve,
    agreement_plot as agreement_plot,
    bound_curves as bound_curves,
    choice_band as choice_band,
    comparison_plot as comparison_plot,
    eigenvalue_decay as eigenvalue_decay,
    gap_convergence as gap_convergence,
    reliability_figure as reliability_figure,
    residual_figure as residual_figure,
    roc_figure as roc_figure,
    score_path as score_path,
    weight_path as weight_path,
)
from mklcore.figures.effects import (
    column_dots as column_dots,
    column_figure as column_figure,
    component_plot as component_plot,
    positions_figure as positions_figure,
    surface_plot as surface_plot,
    term_plot as term_plot,
)
from mklcore.figures.hulls import (
    hull_graph as hull_graph,
    kernel_count as kernel_count,
)
from mklcore.figures.matrices import (
    alignment_heatmap as alignment_heatmap,
    class_weights as class_weights,
    confusion_figure as confusion_figure,
    gram_heatmap as gram_heatmap,
    norm_map as norm_map,
)
from mklcore.figures.saving import save as save
from mklcore.figures.site import (
    static_site as static_site,
)
from mklcore.figures.style import (
    kernel_colours as kernel_colours,
)
from mklcore.figures.thresholds import threshold_figure as threshold_figure
