"""Hulls along λ as one file: grid, graph and relevance that follow one cursor, and what a clicked node is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mklcore.errors import ParameterError
from mklcore.figures.hull_states import HullLayout, hull_layout, hull_player, hull_words, player_state
from mklcore.figures.hulls import kernel_count
from mklcore.figures.takeaway.page import About, Mount, explanation, page, place
from mklcore.figures.takeaway.paths import checked

Drawn = tuple[HullLayout, Sequence[dict[str, Any]]]


def hulls_page(
    path: Any,
    about: About | None = None,
    *,
    names: Sequence[str] | None = None,
    pair: tuple[int, int] | None = None,
    index: int | None = None,
    numbers: Sequence[int] | None = None,
    drawn: Drawn | None = None,
) -> str:
    """One HTML file in which a person walks through the hulls of ``path``, offline.

    ``names`` are those of the columns (p,), ``pair`` the two of the grid, ``index`` where the cursor begins. ``drawn``
    are layout and states where they were made before; then no fitted model is asked. ``numbers`` (p,) are the columns'
    numbers in their table, from 1 on. Raises ``ParameterError`` for a path without points or whose models have no
    hulls.
    """
    start = checked(path, index)
    models = path.estimators
    if drawn is None and not all(hasattr(model, "hull_") for model in models):
        raise ParameterError("These models have no hulls. Fit a path of HKLClassifier or HKLRegressor over lam.")
    layout, states = drawn_along(path, names, pair) if drawn is None else drawn
    described = about or About()
    described = replace(described, title=described.title or "Hulls along λ", facts=(*described.facts, *_counts(models)))
    body = f'{place("hull", "hull", leads=True)}<div class="more"><div>{explanation(described)}</div></div>'
    which = numbers or range(1, len(layout.variables) + 1)

    def mounts(dark: bool) -> list[Mount]:
        shown = hull_player(layout, states, list(which), dark=dark)
        more = {"index": start, "exact": None, "turn": 1, "selected": "", "waiting": False, "tells": True}
        return [Mount("hull", "hull", shown | more)]

    return page(described, body, mounts)


def drawn_along(path: Any, names: Sequence[str] | None = None, pair: tuple[int, int] | None = None) -> Drawn:
    """Layout and states of the hulls of a path."""
    layout = hull_layout(path.estimators, names, pair)
    points = zip(path.estimators, path.val_score, strict=True)
    return layout, [player_state(m, layout, hull_words(m, path.score_name, float(score))) for m, score in points]


def _counts(models: Sequence[Any]) -> list[tuple[str, str]]:
    known = [model for model in models if model is not None]
    if not known:
        return []
    visited = max(int(model.n_visited_on_path_) for model in known)
    return [("Kernels in all", f"{kernel_count(known[0].n_dag_kernels_)}, of which the search looked at {visited:,}")]
