"""Explore, what follows the cursor: weights, shares per column and family, scores, facts and one sentence."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mklcore.catalog import Algorithm
from mklcore.estimators.explain import (
    ALL_COLUMNS,
    SEVERAL_GROUPS,
    Shares,
    weight_shares,
)
from mklcore.figures import captions, moving, style
from mklcore.paths.path import Path
from mklcore.selection.references import Reference
from pages._parts.derive import dictionaries, paths, references, tables
from pages._parts.params import places
from pages._parts.params.parameters import Params
from pages._parts.players.path_player import View
from pages._parts.session import words as session_words

FAMILY_NAMES = {"rbf": "RBF"}
OTHERS = re.compile(r"\d+ others")  # what `weight_shares` calls a sum of the small ones
LEFT, RIGHT = 1.4, (2.0, 1.1)  # widths: bars and number box, then the figures, over whose width the slider goes
LEAST_SHARE = 0.005  # less is not worth a word
Rows = list[tuple[str, str, str]]


# Kernels


def kernels(path: Path) -> View:
    """Return the weights of the kernels that have a bar, with the rest summed."""
    shown = moving.order(path)
    return View("kernels", lambda p: np.round(moving.heights(p.weights, shown), 6).tolist())


# Columns and families


def share_view(found: Shares, name: str) -> View:
    """Return the shares of any path over the same kernels, in the order of the whole path."""
    members = dict(zip(found.names, found.members, strict=True))

    def of(path: Path) -> list[list[float]]:
        own = weight_shares(path.weights, {key: list(value) for key, value in members.items()}, limit=len(members))
        place = [own.names.index(key) for key in found.names]
        return np.round(own.values[:, place], 4).tolist()

    return View(name, of)


def share_rows(found: Shares, what: str, *, dark: bool) -> Rows:
    """Return name, full name and colour of every share: families keep their hue, columns have none."""
    tone = style.theme(dark)
    if what == "families":
        hue = {name: style.readable(style.FAMILY_HUES.get(name, tone.grey), dark) for name in found.names}
        return [(FAMILY_NAMES.get(name, name), name, hue[name]) for name in found.names]
    return [(style.cut(name, 32), name, tone.grey) for name in found.names]


# Scores beside the baselines


def scores(baselines: dict[str, Reference | None]) -> View:
    """Return this model's validation score with the baselines' beside it; None where one is not known yet."""
    fixed = [None if one is None else one.score for one in _begun(baselines).values()]
    return View("scores", lambda p: [[_finite(value), *fixed] for value in p.val_score])


def _begun(baselines: dict[str, Reference | None]) -> dict[str, Reference | None]:
    """Return the baselines once one of them is known: a list of what is not there yet says nothing."""
    return baselines if any(one is not None for one in baselines.values()) else {}


def longest_score(entries: Sequence[Sequence[float | None]]) -> float:
    """Return the score of the longest bar: 1 for scores that end there; of minus errors the largest, a negative
    number.
    """
    known = [value for entry in entries for value in entry if value is not None]
    return 1.0 if not known or max(known) > 0 else min(min(known), -1e-300)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def score_rows(baselines: dict[str, Reference | None], *, dark: bool) -> Rows:
    """Return the rows of the scores, with what exactly each baseline is."""
    tone = style.theme(dark)
    rows = [("this model", "this model, at the cursor", tone.ink)]
    for name, one in _begun(baselines).items():
        label = references.LABELS[name]
        if one is not None and one.chosen:
            label += f", at its best {one.chosen}"
        rows.append((references.LABELS[name], label, tone.grey))
    return rows


def baselines_caption(baselines: dict[str, Reference | None]) -> str:
    """Return where the baselines stand, and which kernel is the best one."""
    if not baselines:
        return "The baselines need a target."
    listed = [full for _, full, _ in score_rows(baselines, dark=False)[1:] if ", at its best" in full]
    if not listed:
        return "The baselines appear here when they are computed."
    when = " They were computed earlier with these settings." if references.came_earlier(baselines) else ""
    return f"Baselines, each chosen on the validation rows: {session_words.plain('; '.join(listed))}.{when}"


# Words


def sentence(shown: paths.Answer, found: Shares, baselines: dict[str, Reference | None]) -> View:
    """Return the answer in one sentence for every point."""
    view = share_view(found, "shares")

    def of(path: Path) -> list[Any]:
        return [[[captions.runs(_say(found.names, row, path, k, baselines))]] for k, row in enumerate(view.of(path))]

    return View("sentence", of)


def _say(
    names: Sequence[str], row: Sequence[float], path: Path, index: int, baselines: dict[str, Reference | None]
) -> str:
    where = places.where(path, index)
    named = [k for k in range(len(row)) if row[k] >= LEAST_SHARE and not OTHERS.fullmatch(names[k])]
    order = sorted(named, key=lambda k: -row[k])[:3]
    if not order:
        return f"At {where} no kernel has a weight: the model is the same everywhere."
    parts = [f"**{names[k]}** ({100 * row[k]:.0f} %)" for k in order]
    text = f"At {where} the weight is on {style.joined(parts)}"
    return f"{text}{_against(path, index, baselines)}."


def _against(path: Path, index: int, baselines: dict[str, Reference | None]) -> str:
    mine = float(path.val_score[index])
    known = {name: one.score for name, one in baselines.items() if one is not None}
    plain = sorted((name for name in ("linear", "RBF") if name in known), key=lambda name: -known[name])[:1]
    order = [name for name in ("uniform", references.SINGLE) if name in known] + plain
    differences = [(_apart(mine - known[name], path.score_name), references.LABELS[name]) for name in order]
    if not differences or np.isnan(mine):
        return ""
    if len({words for words, _ in differences}) == 1:
        differences = [
            (differences[0][0], style.joined([f"the {name}" for _, name in differences]).removeprefix("the "))
        ]
    return (
        f"; the validation {path.score_name} is {style.joined([f'{words} the {name}' for words, name in differences])}"
    )


def _apart(difference: float, score_name: str) -> str:
    share = score_name in captions.SHARES
    by = f"{abs(100 * difference):.1f} points" if share else f"{abs(difference):.3f}"
    if abs(difference) < (5e-4 if share else 5e-3):
        return "the same as that of"
    return f"{by} {'above' if difference > 0 else 'below'} that of"


def facts(shown: paths.Answer) -> View:
    """Return certificate, cost and scores of every point."""
    method, params = paths.algorithm(shown.params), shown.params

    def of(path: Path) -> list[Any]:
        return [
            [_certificate(path, k, method, params), captions.cost(path, k), captions.measured(path, k)]
            for k in range(len(path))
        ]

    return View("facts", of)


def _certificate(path: Path, index: int, method: Algorithm, params: Params) -> list[Any]:
    line, facts = captions.certificate(path, index, greedy="greedy" in method.cannot_tell), []
    tolerance = getattr(path.estimators[index], "tol", None)
    if tolerance is not None and not np.isnan(path.relative_gap[index]):
        facts.append(f"tolerance {tolerance:g}")
    facts += [*_starts(path.estimators[index]), f"kernels {_normalised(params)}"]
    return [line, captions.runs(", ".join(facts), "small")]


def _starts(fitted: Any) -> list[str]:
    """How much the start decides, for methods that end in local minima."""
    if getattr(fitted, "n_starts", 1) < 2 or not hasattr(fitted, "start_spread_"):
        return []
    return [f"best of {fitted.n_starts} starts, L spreads by {style.number(float(np.max(fitted.start_spread_)))}"]


def _normalised(params: Params) -> str:
    if tables.on_stack(params):
        return "as uploaded"
    usual = ", as this method does" if params.normalise == "auto" else ""
    return f"{session_words.SCALES[dictionaries.normalisation(params)]}{usual}{', centred' if params.center else ''}"


def caveat(found: Shares, shown: paths.Answer) -> str:
    """Return what the shares mean and what they do not."""
    turned = getattr(getattr(shown.path.estimators[0], "penalty", None), "ascends", False)
    warning = (
        " Under a block norm a large weight marks a weak kernel that is helped, not one that matters." if turned else ""
    )
    if tables.on_stack(shown.params):
        return f"Shares of the kernel weights.{warning} A ready kernel stack knows its kernels and no columns."
    text = (
        f"Shares of the weights of kernels {session_words.SCALES[dictionaries.normalisation(shown.params)]}.{warning}"
    )
    if ALL_COLUMNS in found.names:
        text += " A kernel on all columns together says nothing about any one of them."
    if SEVERAL_GROUPS in found.names:
        text += " A kernel of some columns counts for none of them alone."
    return text
