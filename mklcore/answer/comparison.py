"""How several answers for one table compare, in figures and in one sentence of them.

Scores are taken on the same rows, which chose nothing where rows are held out; gaps are paired, see
`mklcore.paths.scoring`. The answer that folds put first is the one that others are compared with:
to choose it by the rows that judge would flatter it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mklcore.answer.exploration import Exploration
from mklcore.answer.verdict import (
    FEW_ROWS,
    NONE,
    RELATED,
    ComparedReference,
    judged_by,
    rounded,
    surely_better,
    worse_than,
)
from mklcore.arrays import one_blas_thread
from mklcore.errors import DataError
from mklcore.figures.style import joined
from mklcore.paths.scoring import SHARES, PairedScore, compare_scores


class ComparedAnswer(NamedTuple):
    """One answer: its ``score`` by folds, what the rows that judge give, with the ``gap`` of the
    first answer's score to it; how many of how many kernels it uses; and its ``relation`` to the
    target, see `judge`.
    """

    name: str
    score: float
    judged: PairedScore
    kernels: int
    of: int
    relation: str | None

    @property
    def place(self) -> str:
        """Where it stands beside the first: "same", "level" where the gap may be 0, else "behind"
        or "ahead".
        """
        first = self.judged.place
        return {"ahead": "behind", "behind": "ahead"}.get(first, first)


@dataclass(frozen=True)
class Comparison:
    """Answers, the one that folds put first in front; ``str`` of it is one sentence.

    Parameters
    ----------
    answers : tuple of ComparedAnswer
        At least two, the first is that of the highest score by folds.
    score_name : str
        What the scores are called.
    rows : int
        Number of rows that judge.
    held_out : bool
        Whether these rows chose nothing.
    references : tuple of ComparedReference
        Plain models beside the first answer, on the same rows.
    """

    answers: tuple[ComparedAnswer, ...]
    score_name: str
    rows: int
    held_out: bool
    references: tuple[ComparedReference, ...] = ()

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, name: Callable[[str], str] = str) -> str:
        """The sentence, in which answers are written by ``name``."""
        first, *others = self.answers
        unrelated = [one for one in self.answers if one.relation == NONE]
        if len(unrelated) == len(self.answers):
            rows = judged_by(self.rows, self.held_out)
            return f"None of them shows a sign of a relation to the target ({rows})."
        level = [first, *(one for one in others if one.place in ("same", "level"))]
        alike = [one for one in level if one is first or one.judged.gap <= one.judged.gap_error]
        sparse = min(alike, key=lambda one: one.kernels)
        needs = sparse.kernels < max(one.kernels for one in level)
        better = surely_better(self.references)
        named = [
            name(one.name) for one in level if not (needs and len(level) > 2 and one is sparse)
        ]
        by_folds = " by folds" * any(one.place == "ahead" for one in others)
        best = f"{name(first.name)} is best{by_folds}"
        parts = [f"{joined(named)} are level" if len(named) > 1 else best]
        if needs:
            parts.append(
                f"{name(sparse.name)} needs {sparse.kernels} of {sparse.of} kernels for "
                "the same score"
            )
        if len(level) == len(self.answers) and self.rows < FEW_ROWS:
            parts = ["Too few rows to tell them apart"]
        for place in ("behind", "ahead"):
            found = [one for one in others if one.place == place]
            if found:
                gaps = joined([self._gap(abs(one.judged.gap)) for one in found])
                verb = "is" if len(found) == 1 else "are"
                parts.append(
                    f"{joined([name(one.name) for one in found])} {verb} {place} by {gaps}"
                )
        if better is not None:
            parts.append(f"{name(first.name)} is {worse_than(better)}")
        if unrelated:
            verb = "shows" if len(unrelated) == 1 else "show"
            parts.append(
                f"{joined([name(one.name) for one in unrelated])} {verb} no sign of a "
                "relation to the target"
            )
        if RELATED in {one.relation for one in self.answers} <= {RELATED, NONE}:
            parts.append("none is better than guessing")
        return f"{'; '.join(parts)} ({judged_by(self.rows, self.held_out)})."

    def _gap(self, gap: float) -> str:
        return f"{100 * gap:.1f} points" if self.score_name in SHARES else rounded(gap)


def compare_answers(found: Mapping[str, Exploration]) -> Comparison:
    """How do several answers for the same table compare?

    Parameters
    ----------
    found : mapping
        At least two answers of `explore` by name, for one table, with the same seed and rows held
        out.

    Returns
    -------
    Comparison
        Scores on the same rows, paired gaps to the answer that folds put first, and kernels in use.

    Raises
    ------
    DataError
        for fewer than two answers, for answers on other rows, and for tables without a target

    Examples
    --------
    >>> from mklcore.answer.explore import explore
    >>> from mklcore.data.samples import load_sample
    >>> data = load_sample("diabetes")
    >>> answers = {f"p = {p:g}": explore(data, method="lp", p=p) for p in (1.0, 2.0)}
    >>> "held-out rows" in str(compare_answers(answers))
    True
    """
    if len(found) < 2:
        raise DataError(f"A comparison needs at least two answers; got {len(found)}.")
    ordered = sorted(found.items(), key=lambda item: -item[1].score)
    first = ordered[0][1]
    if first.learnt_from.task == "novelty":
        raise DataError("Without a target no score says which answer is better: choose a target.")
    if len({(one.judging_rows.fingerprint, one.scoring) for _, one in ordered}) > 1:
        raise DataError(
            "These answers are judged on other rows, or by other scores: use one table, "
            "seed and scoring."
        )
    with one_blas_thread():
        measured = compare_scores(
            [one.judging_predictions for _, one in ordered],
            first.judging_rows.y,
            first.measure,
            first.seed,
        )
    answers = []
    for (name, one), own in zip(ordered, measured, strict=True):
        kernels = int(one.path.n_nonzero[one.index]), len(one.path.kernel_names)
        answers.append(ComparedAnswer(name, one.score, own, *kernels, one.verdict.relation))
    return Comparison(
        tuple(answers),
        first.scoring,
        first.judging_rows.n_samples,
        first.test is not None,
        first.verdict.references,
    )
