"""Derive the verdict: how good the chosen model is on held-out rows, and whether plain models are ahead or behind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mklcore.figures import captions, style
from mklcore.selection.paired import Compared, Said, compared, said_by
from pages._parts.derive import paths as derive_paths
from pages._parts.derive import references, scores, tables
from pages._parts.derive.derived import Derived, derived
from pages._parts.jobs.job import Piece, Report
from pages._parts.params.parameters import PathParams

ROWS = 5000  # held-out rows that are looked at
AT_A_TIME = 250  # rows whose kernels are held
NOTHING = ("majority", "mean")
SHORT = {"linear": "linear", "RBF": "RBF SVM", "forest": "random forest", "boosting": "boosted trees"}


@dataclass(frozen=True, eq=False)
class Verdict:
    """The chosen model and the plain ones on the same ``rows`` held-out rows, by the score ``score_name``."""

    score_name: str
    rows: int
    ours: Compared
    plain: Mapping[str, Compared]

    def ahead_of_us(self) -> dict[str, Compared]:
        """Return the plain models that are ahead by more than chance."""
        return {name: one for name, one in self.plain.items() if one.place == "behind"}


def verdict(params: PathParams) -> Derived[Verdict]:
    """Return the verdict on the point that was chosen."""
    return derived(params, "verdict", derive_paths.key)


def can_be_had(params: PathParams) -> bool:
    """Tell whether there is a score on held-out rows."""
    return scores.scoring(params) is not None and not tables.on_stack(params)


def piece(params: PathParams) -> Piece:
    """Return the piece of work that compares; path and plain models are there by then."""
    path, plain = derive_paths.solution(params), references.plain(params)
    scoring = scores.scoring(params)
    rest = tables.split(params).validation
    rows = rest if len(rest.y) <= ROWS else rest.drawn(ROWS, params.seed)

    def compare(report: Report) -> Verdict:
        solved, models = path.made, plain.value or ()
        ours = _said(solved.estimators[solved.first_look], rows.table, report)
        named = {one.name: said_by(one.model, rows.X) for one in models if one.model is not None}
        found = compared([ours, *named.values()], rows.y, scoring)
        return Verdict(solved.score_name, len(rows.y), found[0], dict(zip(named, found[1:], strict=True)))

    return verdict(params).piece(compare)


def _said(model: Any, X: Any, report: Report) -> Said:
    """Return what a model of a path says of rows, a few at a time."""
    parts = []
    for first in range(0, len(X), AT_A_TIME):
        parts.append(said_by(model, X[first : first + AT_A_TIME]))
        report.pulse()
    decision, answers = (np.concatenate([getattr(one, name) for one in parts]) for name in ("decision", "answers"))
    return Said(model, decision, answers)


def sentence(found: Verdict) -> str:
    """Return the verdict in Markdown: the score with its standard error, and where the plain models stand beside it."""
    spread = "" if not np.isfinite(found.ours.error) else f" ± {error(found.score_name, found.ours.error)}"
    own = f"**{captions.score(found.score_name, found.ours.score)}{spread}** {found.score_name} on "
    text = f"{own}{found.rows:,} held-out rows"
    groups: dict[str, list[str]] = {"ahead": [], "level": [], "behind": []}
    for name, one in sorted(found.plain.items(), key=lambda pair: -pair[1].score):
        if name not in NOTHING:
            groups[one.place].append(f"{SHORT[name]} {captions.figure_of(found.score_name, one.score, zeros=True)}")
    said = {"ahead": "ahead of", "level": "level with", "behind": "behind"}
    listed = [f"{said[place]} {style.joined(names)}" for place, names in groups.items() if names]
    return f"{text}: {', '.join(listed)}." if listed else f"{text}."


def note(found: Verdict) -> str:
    """Return how the verdict is to be read."""
    if not np.isfinite(found.ours.error):
        return f"{found.rows} held-out rows are too few for a standard error: differences say little."
    text = "± is one standard error. Level: the 95 % interval of the difference on the same rows includes zero."
    base = next((one for name, one in found.plain.items() if name in NOTHING), None)
    if base is None:
        return text
    name = next(name for name in found.plain if name in NOTHING)
    return f"{text} {references.LABELS[name].capitalize()}: {captions.score(found.score_name, base.score)}."


def boosting(found: Verdict) -> str:
    """Return what it means where boosted trees are ahead by more than the standard error of the gap; else nothing."""
    one = found.plain.get("boosting")
    if one is None or not -one.gap > max(one.gap_error, 0.0):
        return ""
    by, spread = captions.figure_of(found.score_name, -one.gap), error(found.score_name, one.gap_error)
    if one.place == "behind":
        lead, target = f"Boosted trees are ahead by {by} ± {spread}", "the target has steps, or many columns act"
    else:
        lead = f"Boosted trees score {by} ± {spread} more, which may be chance"
        target = "perhaps the target has steps, or many columns act"
    return f"{lead}: {target} together, which smooth functions of few columns do not follow."


def points(name: str, one: Compared) -> str:
    """Return the gap to a plain model with its standard error."""
    spread = "" if not np.isfinite(one.gap_error) else f" ± {error(name, one.gap_error)}"
    return f"{signed(name, one.gap)}{spread}"


def signed(name: str, change: float) -> str:
    """Return a difference of scores as the figure with its sign."""
    return f"{'+' if change >= 0 else '−'}{captions.figure_of(name, abs(change))}"


def error(name: str, value: float) -> str:
    """Return a standard error as the figure alone."""
    return f"{100 * value:.1f}" if name in captions.SHARES else f"{value:.2g}"
