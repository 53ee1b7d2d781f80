"""One answer for a table, stage by stage: which columns matter, how much, and how well they
predict.

    table               rows to learn from and rows held out, folds, what cannot be answered
    columns             which vary, which are correlated
    dictionary          kernels of straight lines, of single columns, of pairs, of all columns by values and ranks
    candidates          models on them, from simple to rich, all with the squared loss and one set of kernel weights
    path                each along its parameter, scored on folds that fit the weights again; then one machine on all
    choice              the one machine, or a simple model at most one standard error and ``BEHIND`` behind it
    refit               its certified path, and the model on all rows
    columns that matter exact Shapley values on held-out rows
    references          a linear model and one RBF machine; trees when they are asked for
    intervals           conformal, when they are asked for
    verdict             all of it in figures and one sentence

The logarithm of a positive and skewed target is tried by the same folds, and offered where it is
better. Where there are many rows, a second look at more of them may choose narrower kernels of all columns
and a larger C. Every stage is a function of the stages before it. `stages` yields them as they are
there, `explore` goes through them. Budgets are in rows and operations, never in seconds: the same
table gives the same answer on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import skew
from sklearn.base import clone

from mklcore.answer.candidates import (
    SMALL,
    TOGETHER,
    WHOLE,
    AnswerRows,
    Candidate,
    Request,
    ScoredCandidate,
    folds_of,
    landmarks,
    machine,
    of_all_columns,
    runs_over,
    score_along,
    shown,
    standard_error,
    targets,
)
from mklcore.answer.exploration import (
    ALIKE,
    Exploration,
    columns_that_matter,
    correlations,
    decided_rows,
)
from mklcore.answer.one_machine import ONE, one_machine, second_look
from mklcore.answer.references import kernel_references
from mklcore.arrays import Array, one_blas_thread
from mklcore.data.columns import ReadOptions
from mklcore.data.dataset import Dataset, counted
from mklcore.data.frames import as_table, is_frame, with_column
from mklcore.data.reading import describe_table, read_parsed, with_log_target
from mklcore.data.splitting import RANDOM, rare_note
from mklcore.data.target import is_sure
from mklcore.errors import (
    DataError,
    Note,
    ParameterError,
    Progress,
    Repair,
    check_cancelled,
    suppress_convergence_warnings,
)
from mklcore.estimators.one_class import LpMKLOneClass
from mklcore.figures.style import joined
from mklcore.io.catalog import ESTIMATORS
from mklcore.kernels.dictionary import KernelDictionary
from mklcore.kernels.features import Nystroem
from mklcore.kernels.interactions import interacting
from mklcore.kernels.stacks import rows_of
from mklcore.parameters import is_finite_number
from mklcore.paths.path import Path, fit_path, path_grid
from mklcore.paths.scoring import Scoring, rarest

STAGES = (
    "table",
    "columns",
    "dictionary",
    "candidates",
    "path",
    "choice",
    "refit",
    "columns that matter",
    "references",
    "intervals",
    "verdict",
)
# rows that an answer needs, rows from which some are held out, and how many
LEAST_ROWS = 6
FEW = 60
HELD_OUT = 0.25
MOST_COLUMNS = 2000  # source columns
CHOSEN_ON = 1000  # rows on which candidates are compared
EXACT = 5000  # rows up to which one kernel of all columns is taken as it is
FEATURES = 2.4e10  # multiplications of sums over features of more rows
DRAGGED = 1200  # rows of a path of one kernel of all columns; models of low rank take ``EXACT``
SKEWED = 1.0  # skewness of a target from which its logarithm is tried
BEHIND = 0.002  # of the score that a simpler model may be behind
QUARTERS = {
    1: "about a quarter is",
    2: "about half is",
    3: "about three quarters are",
    4: "nearly all is",
}
WIDE = 300  # columns up to which the rough kernel is a member
MOST_PAIRS = 8
# the order of the norm for several classes, whose updates at 1 itself hardly end
SPARSE_SHARED = 16 / 15


def explore(
    data: Any,
    target: str | None = None,
    *,
    row_groups: Any = None,
    sample_weight: Any = None,
    hold_out: str = RANDOM,
    kernels: KernelDictionary | None = None,
    method: str | None = None,
    p: float | None = None,
    C: float | None = None,
    lam: float | None = None,
    s: int | None = None,
    loss: Any = None,
    scoring: Scoring = None,
    max_rows: int | None = None,
    seed: int = 0,
    test_size: float | None = None,
    callback: Progress | None = None,
) -> Exploration:
    """Which columns of this table matter, how much, and how well do they predict?

    Learns one machine on the weighted sum of kernels from simple to rich: straight lines, functions
    of single columns, pairs of columns, and Laplacian and RBF kernels of all columns that see
    values and ranks. Folds give the weights. Straight lines, single columns or pairs alone are
    taken where they are hardly behind it. The answer is explained by exact Shapley values per
    column. What is given is taken, all else is chosen. A table without a target gets
    `LpMKLOneClass`.

    Parameters
    ----------
    data : DataFrame, path, file or Dataset
        The table: a data frame, whatever `read_table` reads, or what it has read.
    target : str or None, default None
        Name of the column to predict; a `Dataset` has its own. None guesses one, which is refused
        for a data frame where the guess is unsure.
    row_groups : str, array-like or None, default None
        Which rows belong together, such as those of a patient: the name of a column, which is then
        no feature, or an owner per row. Such rows are held out together.
    sample_weight : str, array-like or None, default None
        How much every row counts when models are fitted: the name of a column, which is then no
        feature, or a number per row, 0 or more. Candidates are compared, and the verdict is
        reached, with every row counted once.
    hold_out : str, default "random"
        Which rows are held out: "random", or "last" or "first" where rows are in the order of time;
        folds then judge by newer rows, too.
    kernels : KernelDictionary or None, default None
        The kernels; None compares the dictionaries above.
    method : str or None, default None
        Key of an algorithm of the catalog, such as "gomp"; None is lp-norm learning.
    p, C, lam, s : float or None, default None
        Parameters of the method that are fixed.
    loss : str, Loss or None, default None
        How a wrong prediction is penalised; None is the squared loss, for classes as well.
    scoring : str, callable or None, default None
        A scorer of scikit-learn or its name; None is accuracy for classes and R² for numbers.
    max_rows : int or None, default None
        Most rows to learn from, drawn at random; None takes all.
    seed : int, default 0
        Seed of the random draws: the same number gives the same result.
    test_size : float or None, default None
        Share of the rows held out for the verdict, 0 for none; None holds out a quarter, and none
        below 60 rows.
    callback : callable or None, default None
        Called as callback(done, total) between stages and inside of them; raise in it to cancel.

    Returns
    -------
    Exploration
        The model with its path, columns, baselines, notes and verdict.

    Raises
    ------
    DataError
        for a table of fewer than 6 rows, of too many columns, or whose columns or target do not
        vary

    Examples
    --------
    >>> from mklcore.data.samples import load_sample
    >>> found = explore(load_sample("iris"))
    >>> found.columns[0].name.startswith("petal"), found.verdict.better_than_guess
    (True, True)
    """
    request = Request(
        kernels, method, p, C, lam, s, loss, scoring, max_rows, seed, test_size, hold_out=hold_out
    )
    return answered(table_of(data, target, row_groups, sample_weight), request, callback)


def table_of(
    data: Any, target: str | None = None, row_groups: Any = None, sample_weight: Any = None
) -> Dataset:
    """The table in what a person holds. DataError, by name, for what is none."""
    if isinstance(data, Dataset):
        data.check_target(target)
        given: Dataset = data if row_groups is None else data.with_row_groups(row_groups)
        return given if sample_weight is None else given.with_sample_weight(sample_weight)
    table = as_table(data, ReadOptions())
    settings = ReadOptions(target=target)
    if row_groups is not None and not isinstance(row_groups, str):
        table, row_groups = with_column(table, "row_groups", row_groups)
    if sample_weight is not None and not isinstance(sample_weight, str):
        table, sample_weight = with_column(table, "sample_weight", sample_weight)
    if target is None and is_frame(data):
        ranked = describe_table(table).candidates
        if not is_sure(ranked):
            raise DataError(
                (
                    "Which column is to be predicted? "
                    f"{' or '.join(repr(one.name) for one in ranked)} may be: name it, as in "
                    f"explore(frame, {ranked[0].name!r})."
                ),
            )
    return read_parsed(table, replace(settings, row_groups=row_groups, sample_weight=sample_weight))


@one_blas_thread()  # two take twice the seconds of the processor, and no less of the clock
def answered(data: Dataset, request: Request, callback: Progress | None = None) -> Exploration:
    """The answer of a table for a `Request`, which can fix more than `explore` takes."""
    for _, found in stages(data, request, callback):
        if isinstance(found, Exploration):
            return found
    raise AssertionError("stages end with an answer")


def stages(
    data: Dataset,
    request: Request,
    callback: Progress | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield (stage, what it found) as soon as each stage is over.

    "references" yields the whole `Exploration`. The last two, "intervals" and "verdict", compute
    what it would also compute when it is asked for them.

    Where the request fixes one method, its path comes first, as "refit" and without scores, and
    again once folds have scored it. Where the path is fitted on some of many rows, "refit" yields
    it before the model on all of them.
    """
    done = 0

    def tick() -> None:
        check_cancelled()
        if callback is not None:
            callback(done, len(STAGES))

    def over(stage: str, found: Any) -> tuple[str, Any]:
        nonlocal done
        done = STAGES.index(stage) + 1
        return stage, found

    tick()
    known = divide_rows(data, request)
    compared = list[ScoredCandidate]()
    yield over("table", known)
    notes = describe_columns(known)
    yield over("columns", notes)
    if data.task == "novelty":
        taken, fitted, index = fit_one_class(known, request)
        model = taken.candidate.estimator
    else:
        kinds = offer_kernels(known, request)
        yield over("dictionary", kinds)
        offered = offer_candidates(known, kinds, request)
        yield over("candidates", offered)
        first = runs = None
        # nothing to choose but the point: the path comes first
        if len(offered) == 1 and offered[0].way in ESTIMATORS:
            tick()
            runs = runs_over(known, offered[0], request)
            first = solve_path(known, offered[0], *runs, request, tick)
            yield "refit", (first, first.first_look, first.estimators[first.first_look])
        for one in offered:
            tick()
            compared.append(score_along(known, one, request, tick, runs))
        if request.is_open:
            members = tuple(compared)
            compared.append(one_machine(known, members, request, tick))
            notes = (*notes, *offer_logarithm(known, compared, request, tick))
        taken = choose(compared)
        if taken.candidate.label == ONE:
            # few landmarks cannot follow narrower kernels
            is_exact = known.learn.n_samples <= EXACT
            taken = second_look(known, members, taken, request, tick, is_exact)
            compared[-1] = taken
        # a member holds tables of the folds, which are not needed any more
        compared = [replace(one, member=None) for one in compared]
        taken = replace(taken, member=None)
        yield over("path", compared)
        yield over("choice", taken)
        tick()
        notes = (*notes, *summary(taken, compared))
        fitted = solve_scored_path(known, taken, request, first)
        index = taken.best
        if fitted.estimators[index].n_train_ < known.learn.n_samples:
            yield "refit", (fitted, index, fitted.estimators[index])
            tick()
        model = refit(known, taken, request, fitted)
    yield over("refit", (fitted, index, model))
    tick()
    effect, note = columns_that_matter(known, model, request)
    yield over("columns that matter", effect)
    tick()
    plain = kernel_references(known, compared, request, tick)
    answer = Exploration(
        known,
        request,
        taken,
        fitted,
        index,
        model,
        (*notes, *note),
        effect,
        plain,
    )
    if answer.rows.used < answer.rows.of:
        used = (
            f"The path is fitted on {answer.rows.used:,} of {answer.rows.of:,} rows, the model "
            "on all of them."
        )
        answer = replace(answer, notes=(*answer.notes, used))
    yield over("references", answer)
    if data.task != "novelty":
        tick()
        yield over("intervals", answer.conformal)
    yield over("verdict", answer.verdict)


def divide_rows(data: Dataset, request: Request) -> AnswerRows:
    """The rows of the answer. DataError for a table that has none."""
    size = request.test_size
    if size is None:
        size = HELD_OUT if data.n_samples >= FEW else 0.0
    if not (is_finite_number(size) and 0.0 <= size < 1.0):
        raise ParameterError(
            f"test_size is the share of rows to hold out, from 0 to below 1; got {size!r}."
        )
    if data.n_samples < LEAST_ROWS:
        raise DataError(
            f"The table has {counted(data.n_samples, 'row')}, and an answer needs at least "
            f"{LEAST_ROWS} to learn from and to judge: add rows."
        )
    if len(data.columns) > MOST_COLUMNS:
        raise DataError(
            f"The table has {len(data.columns):,} columns, and an answer explains at most "
            f"{MOST_COLUMNS:,}: keep some with data.select([...]), or put them into groups."
        )
    if not data.strings and not np.any(np.ptp(data.X, axis=0) > 0.0):
        raise DataError(
            "Every column is constant, so none can predict anything: choose other "
            "columns, or other rows."
        )
    if np.unique(data.y).size < 2 and data.task != "novelty":
        raise DataError(
            f"The target {data.target_name!r} has one value only, {data.y[0]!s}, so there "
            "is nothing to predict: choose another target, or other rows."
        )
    learn, test = data.split(size, request.seed, request.hold_out) if size else (data, None)
    of = learn.n_samples
    learn = request.some(learn, of if request.max_rows is None else request.max_rows)
    few = request.some(learn, CHOSEN_ON)
    classes = None if data.task in ("regression", "novelty") else np.unique(learn.y)
    folds: tuple[Any, ...] = ()
    if data.task != "novelty":
        folds = tuple(
            folds_of(few, request, min(5 if few.n_samples < SMALL else 3, few.n_samples // 2))
        )
    Y = targets(few.y, classes) if data.task != "novelty" else np.zeros((few.n_samples, 1))
    notes = []
    if learn.n_samples < of:
        is_random = request.hold_out == RANDOM
        which = "drawn at random" if is_random else f"the {request.hold_out} of them"
        notes.append(f"Learned from {learn.n_samples:,} of {of:,} rows, {which}.")
    if data.sample_weight is not None:
        notes.append(
            "Rows count by their weights in the model, and once each in folds and in the verdict."
        )
    if few.n_samples < learn.n_samples:
        notes.append(f"Models were compared on {few.n_samples:,} of {learn.n_samples:,} rows.")
    return AnswerRows(learn, test, few, folds, Y, classes, tuple(notes))


def describe_columns(known: AnswerRows) -> tuple[str, ...]:
    """What is to be said of target and columns: classes, and columns that carry the same."""
    few = known.few
    notes = list(known.notes)
    if known.classes is not None:
        labels, counts = np.unique(known.learn.y, return_counts=True)
        share = counts.max() / counts.sum()
        notes.append(
            f"The largest class, {labels[counts.argmax()]!s}, holds {share:.1%} of the rows."
        )
        if note := rare_note(known.learn.y, len(known.folds)):
            notes.append(note)
        if rarest(known.learn) is not None:
            notes.append(
                'A class is rare: scoring="balanced_accuracy" or "matthews_corrcoef" '
                "gives it its weight."
            )
    found = np.triu(correlations(few), 1)
    for i, j in np.argwhere(found > ALIKE)[:5].tolist():
        one = few.columns[i][0]
        other = few.columns[j][0]
        notes.append(
            f"{one} and {other} are correlated ({found[i, j]:.2f}): what one is said to do "
            "may be the other's."
        )
    return tuple(notes)


def offer_kernels(known: AnswerRows, request: Request) -> dict[str, Any]:
    """The kernels of every candidate, by its label, from simple to rich; those of pairs where some
    act together.
    """
    learn = known.learn
    if request.stack is not None or request.kernels is not None:
        return {"the given kernels": request.kernels if request.stack is None else "precomputed"}
    single = KernelDictionary.recommended(learn, whole=False)
    if not request.is_open:
        return {"columns one by one": single}
    straight = KernelDictionary.recommended(learn, whole=False, curved=False)
    found = {"straight lines": straight, "columns one by one": single}
    if (
        not learn.sequences
        and not learn.groups
        and (pairs := interacting(known.few, 2, MOST_PAIRS))
    ):
        found["columns and pairs"] = KernelDictionary.interactions(learn, candidates=pairs)
    if not learn.sequences and learn.n_features:
        for label, radial in WHOLE.items():
            if radial.base == "squared" or learn.n_features <= WIDE:
                found[label] = of_all_columns(learn, radial)
    return found


def offer_candidates(
    known: AnswerRows,
    kinds: dict[str, Any],
    request: Request,
) -> tuple[Candidate, ...]:
    """The models to compare, from simple to rich."""
    task = known.learn.task
    fixed = request.parameters
    if not request.is_open:
        return tuple(
            one
            for label, kernels in kinds.items()
            for one in of_method(known, label, kernels, request)
        )
    if strange := [name for name in ("lam", "n_kernels") if name in fixed]:
        raise ParameterError(
            f"{strange[0]} is a parameter of another method: name it, as in method='gomp'."
        )
    sparse = 1.0 if known.Y.shape[1] == 1 else SPARSE_SHARED
    found = []
    for label, kernels in kinds.items():
        if label in WHOLE:
            found.append(Candidate(label, machine(task, kernels, 2.0), "whole"))
            continue
        approximation = Nystroem(landmarks(len(kernels), bool(known.learn.strings)), request.seed)
        estimator = machine(
            task, kernels, 2.0 if label == "straight lines" else sparse, approximation
        )
        found.append(Candidate(label, estimator))
    return tuple(found)


def of_method(known: AnswerRows, label: str, kernels: Any, request: Request) -> list[Candidate]:
    """The candidates of one method of the catalog on these kernels.

    lp-norm learning is offered at three norms unless one is fixed.
    """
    key = request.method or "lp"
    task = known.learn.task
    if key not in ESTIMATORS:
        raise ParameterError(f"method is one of {', '.join(ESTIMATORS)}; got {key!r}.")
    if ESTIMATORS[key].on != "kernels":
        kind = ESTIMATORS[key].kind(task)
        raise ParameterError(
            f"The method {key!r} makes kernels of its own, so it stands alone: fit {kind.__name__}."
        )
    fixed = request.further | request.parameters
    if key == "lp":
        fixed = {"loss": "squared"} | fixed
    is_chosen = (
        key == "lp"
        and label == "the given kernels"
        and not {"p", "norm"} & set(fixed)
        and request.over != "p"
    )
    made = []
    for p in (1.0, 4 / 3, 2.0) if is_chosen else (None,):
        more = fixed if p is None else fixed | {"p": p}
        if "norm" in more:  # a norm may be made from the kernels
            few = known.few
            more = more | {
                "stack": kernels.grams(few)
                if request.stack is None
                else request.stack.take(rows_of(few))
            }
        estimator = ESTIMATORS[key].estimator(task, kernels=kernels, **more)
        if unknown := [name for name in request.parameters if name not in estimator.get_params()]:
            raise ParameterError(
                f"The method {key!r} has no parameter {unknown[0]!r}; leave it out."
            )
        made.append(Candidate(label if p is None else f"{label}, p = {p:g}", estimator, key))
    return made


def choose(compared: Sequence[ScoredCandidate]) -> ScoredCandidate:
    """The first, going from simple to rich, that is at most one standard error of the paired
    differences and at most ``BEHIND`` behind the best. Kernels of all columns are no choice of
    their own, but members of the one machine.
    """
    offered = [one for one in compared if one.candidate.label not in WHOLE]
    top = max(offered, key=lambda one: one.score)
    for one in offered:
        behind = top.scores[:, top.best] - one.scores[:, one.best]
        if behind.mean() <= min(BEHIND, standard_error(behind)):
            return one
    return top


def offer_logarithm(
    known: AnswerRows,
    compared: Sequence[ScoredCandidate],
    request: Request,
    tick: Callable[[], None] = lambda: None,
) -> tuple[str, ...]:
    """A note that offers the logarithm of a positive and skewed target, where folds say that it
    predicts the target itself with smaller squared errors.
    """
    few = known.few
    y = known.learn.y
    if few.task != "regression" or few.log_of or y.min() <= 0.0:
        return ()
    if skew(y) < max(SKEWED, abs(skew(np.log(y)))):
        return ()
    logged = replace(
        known,
        learn=with_log_target(known.learn),
        few=with_log_target(few),
        Y=np.log(known.Y),
    )
    offered = offer_candidates(logged, offer_kernels(logged, request), request)
    members = [score_along(logged, one, request, tick) for one in offered]
    logarithm = choose([*members, one_machine(logged, members, request, tick)]).decisions
    plain = choose(compared).decisions
    assert plain is not None
    assert logarithm is not None
    predicted = np.hstack([plain, np.exp(logarithm)])
    off = (predicted - known.Y) ** 2 / few.y.var()
    explained = 1.0 - np.array([off[left_out].mean(axis=0) for _, left_out in known.folds])
    gain = explained[:, 1] - explained[:, 0]
    if not gain.mean() > standard_error(gain):
        return ()
    name = few.target_name
    itself, from_logarithm = explained.mean(axis=0).tolist()
    text = (
        f"Folds predict {name} better by its logarithm: R² {from_logarithm:.4f} instead of "
        f"{itself:.4f}. Effects are then changes in per cent."
    )
    take = Repair.of(f"Predict the logarithm of {name}", log_target=True)
    return (Note(text, [take], hint="read_table(..., log_target=True) reads it so."),)


def summary(taken: ScoredCandidate, compared: Sequence[ScoredCandidate]) -> tuple[str, ...]:
    """What was taken, what else was tried, and what the one machine is made of."""
    label = taken.candidate.label
    others = [one for one in compared if one.candidate.label != label]
    beside = "; ".join(f"{one.candidate.label} {one.score:.3g}" for one in others)
    first = f"Taken by folds: {label}, {taken.score:.3g} ± {taken.error:.2g}"
    notes: tuple[str, ...] = (f"{first}; {beside}." if beside else f"{first}.",)
    if taken.said_by:
        notes += (made_of(taken.said_by),)
    return notes


def made_of(shares: Mapping[str, float]) -> str:
    """Which shares of what the one machine says out of folds its groups of kernels have, in
    quarters that add up.
    """
    sizes = np.maximum([*shares.values()], 0.0)
    exact = 4.0 * sizes / max(float(sizes.sum()), 1e-300)
    quarters = np.floor(exact).astype(int)
    rest = np.argsort(quarters - exact, kind="stable")[: 4 - int(quarters.sum())]
    quarters[rest] += 1
    named = [
        f"{QUARTERS[count]} {name}"
        for name, count in zip(shares, quarters.tolist(), strict=True)
        if count
    ]
    is_whole = dict(zip(shares, quarters, strict=True)).get(TOGETHER)
    more = " A kernel of all columns can say straight lines, too." if is_whole else ""
    return f"Of what it says, {joined(named)}.{more}"


def solve_path(
    known: AnswerRows,
    one: Candidate,
    param: str,
    values: Array,
    request: Request,
    tick: Callable[[], None] = lambda: None,
) -> Path:
    """The certified path of a candidate, on as many rows as one can drag along."""
    rows = request.some(
        known.learn, EXACT if one.way == "low rank" or request.stack is not None else DRAGGED
    )
    with suppress_convergence_warnings():
        return fit_path(
            one.estimator,
            request.given(rows),
            rows.y,
            param,
            values,
            callback=lambda *_: tick(),
            scoring=request.scoring,
        )


def solve_scored_path(
    known: AnswerRows,
    taken: ScoredCandidate,
    request: Request,
    drawn: Path | None = None,
) -> Path:
    """The certified path of the choice with the scores of the folds; ``drawn``: that path."""
    found = drawn or solve_path(known, taken.candidate, taken.param, taken.values, request)
    return replace(found, val_score=taken.scores.mean(axis=0), chosen=taken.best)


def refit(known: AnswerRows, taken: ScoredCandidate, request: Request, found: Path) -> Any:
    """The model of the chosen point of the path on all rows to learn from, calibrated where there
    are classes.
    """
    learn = known.learn
    way = taken.candidate.way
    with suppress_convergence_warnings():
        model = found.estimators[taken.best]
        if model.n_train_ < learn.n_samples:
            model = clone(model)
            if learn.n_samples > EXACT and way != "low rank":
                if way != "whole" and not ESTIMATORS[way].is_approximable:
                    learn = request.some(learn, EXACT)
                elif model.approximation is None:
                    count = int(np.clip(np.sqrt(FEATURES / learn.n_samples), 300, 2000))
                    few = landmarks(len(model.kernels), False)
                    model = model.copy_with(
                        "approximation", Nystroem(count if way == "whole" else few, request.seed)
                    )
            model.fit(request.given(learn), learn.y)
    if known.classes is not None and taken.decisions is not None:
        judged = decided_rows(taken.decisions)
        with suppress(DataError):  # too few rows of two classes
            model.calibrate(shown(taken.decisions[judged]), known.few.y[judged])
    return model


def fit_one_class(known: AnswerRows, request: Request) -> tuple[ScoredCandidate, Path, int]:
    """A boundary around all rows, along C: without a target no score can choose a point."""
    kernels = request.kernels or KernelDictionary.recommended(known.learn, whole=False)
    rows = known.learn.drawn(DRAGGED, request.seed)
    estimator = LpMKLOneClass(p=request.p or 1.0, kernels=kernels)
    with suppress_convergence_warnings():
        values = (
            path_grid(estimator, rows, rows.y, "C", 7)
            if request.C is None
            else np.array([request.C])
        )
        found = fit_path(estimator, rows, rows.y, "C", values)
    index = found.first_look
    taken = Candidate("rows unlike the others", found.estimators[index], "lp")
    return (
        ScoredCandidate(
            taken,
            "C",
            found.values[[index]],
            found.train_score[None, [index]],
        ),
        found,
        index,
    )
