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
better. Where there are many rows, a second look at more of them may choose narrower kernels of all
columns and a larger C. Every stage is a function of the stages before it. `stages` yields them as they are
there, `explore` goes through them. Budgets are in rows and operations, never in seconds: the same
table gives the same answer on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import skew
from sklearn.base import clone

from mklcore.answer.candidates import (
    COARSE,
    EXACT,
    SMALL,
    STRAIGHT,
    TOGETHER,
    WHOLE,
    Candidate,
    DividedRows,
    Request,
    ScoredCandidate,
    folds_of,
    landmarks,
    machine,
    of_all_columns,
    run_of,
    score_along,
    shown,
    standard_error,
    targets,
)
from mklcore.answer.effects import ALIKE, columns_that_matter, correlations
from mklcore.answer.exploration import Exploration
from mklcore.answer.one_machine import one_machine, second_look
from mklcore.answer.references import kernel_references
from mklcore.arrays import one_blas_thread
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
    cancellation_scope,
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
FEATURES = 2.4e10  # multiplications of sums over features of more rows
PATH_ROWS = 1200  # of a path of one kernel of all columns; models of low rank take ``EXACT``
SKEWED = 1.0  # skewness of a target from which its logarithm is tried
BEHIND = 0.002  # of the score that a simpler model may be behind
GIVEN = "the given kernels"
SINGLE = "columns one by one"
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
        if callback is not None:
            callback(done, len(STAGES))

    found = _stages(data, request)
    while True:
        with cancellation_scope(tick):
            check_cancelled()
            step = next(found, None)
        if step is None:
            return
        done = STAGES.index(step[0]) + 1
        yield step


def _stages(data: Dataset, request: Request) -> Iterator[tuple[str, Any]]:
    """The stages themselves, see `stages`."""
    divided = divide_rows(data, request)
    yield "table", divided
    notes = describe_columns(divided)
    yield "columns", notes
    compared = list[ScoredCandidate]()
    if data.task == "novelty":
        taken, path, index = fit_one_class(divided)
        model = taken.candidate.estimator
    else:
        kernels = offer_kernels(divided)
        yield "dictionary", kernels
        offered = offer_candidates(divided, kernels)
        yield "candidates", offered
        first = None
        # nothing to choose but the point: the path comes first
        if len(offered) == 1 and offered[0].way in ESTIMATORS:
            first = solve_path(divided, offered[0])
            yield "refit", (first, first.first_look, first.estimators[first.first_look])
        compared, taken, more = take(divided, offered)
        yield "path", compared
        yield "choice", taken
        notes = (*notes, *more, *summary(taken, compared))
        path = replace(
            first or solve_path(divided, taken.candidate),
            val_score=taken.scores.mean(axis=0),
            chosen=taken.best,
        )
        index = taken.best
        if path.estimators[index].n_train_ < divided.learn.n_samples:
            yield "refit", (path, index, path.estimators[index])
        model = refit(divided, taken, path)
    yield "refit", (path, index, model)
    effects, note = columns_that_matter(divided, model)
    yield "columns that matter", effects
    plain = kernel_references(divided, compared)
    answer = Exploration(divided, taken, path, index, model, (*notes, *note), effects, plain)
    if answer.rows.used < answer.rows.of:
        used = (
            f"The path is fitted on {answer.rows.used:,} of {answer.rows.of:,} rows, the model "
            "on all of them."
        )
        answer = replace(answer, notes=(*answer.notes, used))
    yield "references", answer
    if data.task != "novelty":
        yield "intervals", answer.conformal
    yield "verdict", answer.verdict


def divide_rows(data: Dataset, request: Request) -> DividedRows:
    """The rows of the answer. DataError for a table that has none."""
    refuse_unanswerable(data)
    size = request.test_size
    if size is None:
        size = HELD_OUT if data.n_samples >= FEW else 0.0
    if not (is_finite_number(size) and 0.0 <= size < 1.0):
        raise ParameterError(
            f"test_size is the share of rows to hold out, from 0 to below 1; got {size!r}."
        )
    learn, test = data.split(size, request.seed, request.hold_out) if size else (data, None)
    of = learn.n_samples
    learn = request.some(learn, of if request.max_rows is None else request.max_rows)
    sample = request.some(learn, CHOSEN_ON)
    notes = []
    if learn.n_samples < of:
        is_random = request.hold_out == RANDOM
        which = "drawn at random" if is_random else f"the {request.hold_out} of them"
        notes.append(f"Learned from {learn.n_samples:,} of {of:,} rows, {which}.")
    if data.sample_weight is not None:
        notes.append(
            "Rows count by their weights in the model, and once each in folds and in the verdict."
        )
    if sample.n_samples < learn.n_samples:
        notes.append(f"Models were compared on {sample.n_samples:,} of {learn.n_samples:,} rows.")
    if data.task == "novelty":
        Y = np.zeros((sample.n_samples, 1))
        return DividedRows(request, learn, test, sample, (), Y, None, tuple(notes))
    classes = None if data.task == "regression" else np.unique(learn.y)
    count = min(5 if sample.n_samples < SMALL else 3, sample.n_samples // 2)
    folds = tuple(folds_of(sample, request, count))
    Y = targets(sample.y, classes)
    return DividedRows(request, learn, test, sample, folds, Y, classes, tuple(notes))


def refuse_unanswerable(data: Dataset) -> None:
    """DataError for a table of too few rows, too many columns, or where nothing varies."""
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


def describe_columns(divided: DividedRows) -> tuple[str, ...]:
    """What is to be said of target and columns: classes, and columns that carry the same."""
    sample = divided.sample
    notes = list(divided.notes)
    if divided.classes is not None:
        labels, counts = np.unique(divided.learn.y, return_counts=True)
        share = counts.max() / counts.sum()
        notes.append(
            f"The largest class, {labels[counts.argmax()]!s}, holds {share:.1%} of the rows."
        )
        if note := rare_note(divided.learn.y, len(divided.folds)):
            notes.append(note)
        if rarest(divided.learn) is not None:
            notes.append(
                'A class is rare: scoring="balanced_accuracy" or "matthews_corrcoef" '
                "gives it its weight."
            )
    found = np.triu(correlations(sample), 1)
    for i, j in np.argwhere(found > ALIKE)[:5].tolist():
        one = sample.columns[i][0]
        other = sample.columns[j][0]
        notes.append(
            f"{one} and {other} are correlated ({found[i, j]:.2f}): what one is said to do "
            "may be the other's."
        )
    return tuple(notes)


def offer_kernels(divided: DividedRows) -> dict[str, Any]:
    """The kernels of every candidate, by its label, from simple to rich; those of pairs where some
    act together. Where more than C is fixed, there is one kind of kernels.
    """
    learn = divided.learn
    request = divided.request
    if request.stack is not None:
        return {GIVEN: "precomputed"}
    if request.kernels is not None:
        return {GIVEN: request.kernels}
    single = KernelDictionary.recommended(learn, whole=False)
    if not request.is_open:
        return {SINGLE: single}
    found = {
        STRAIGHT: KernelDictionary.recommended(learn, whole=False, curved=False),
        SINGLE: single,
    }
    if learn.sequences:
        return found
    if not learn.groups and (pairs := interacting(divided.sample, 2, MOST_PAIRS)):
        found["columns and pairs"] = KernelDictionary.interactions(learn, candidates=pairs)
    for label, radial in WHOLE.items():
        if learn.n_features and (radial.base == "squared" or learn.n_features <= WIDE):
            found[label] = of_all_columns(learn, radial)
    return found


def offer_candidates(divided: DividedRows, kernels: dict[str, Any]) -> tuple[Candidate, ...]:
    """The models to compare, from simple to rich."""
    request = divided.request
    if not request.is_open:
        ((label, given),) = kernels.items()
        return tuple(of_method(divided, label, given))
    if strange := {"lam", "n_kernels"} & set(request.parameters):
        raise ParameterError(
            f"{sorted(strange)[0]} is a parameter of another method: name it, as in method='gomp'."
        )
    learn = divided.learn
    sparse = 1.0 if divided.Y.shape[1] == 1 else SPARSE_SHARED
    found = []
    for label, given in kernels.items():
        if label in WHOLE:
            whole = machine(learn.task, given, 2.0)
            found.append(Candidate(label, whole, request.costs(COARSE), "whole"))
            continue
        approximation = Nystroem(landmarks(len(given), bool(learn.strings)), request.seed)
        p = 2.0 if label == STRAIGHT else sparse
        estimator = machine(learn.task, given, p, approximation)
        found.append(Candidate(label, estimator, request.costs()))
    return tuple(found)


def of_method(divided: DividedRows, label: str, kernels: Any) -> list[Candidate]:
    """The candidates of one method of the catalog on these kernels.

    lp-norm learning is offered at three norms unless one is fixed.
    """
    request = divided.request
    key = request.method or "lp"
    task = divided.learn.task
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
    if "norm" in fixed:  # a norm may be made from the kernels
        sample = divided.sample
        ready = request.stack
        fixed["stack"] = kernels.grams(sample) if ready is None else ready.take(rows_of(sample))
    norms: tuple[float | None, ...] = (None,)
    is_open = not {"p", "norm"} & set(fixed) and request.over != "p"
    if key == "lp" and label == GIVEN and is_open:
        norms = (1.0, 4 / 3, 2.0)
    made = []
    for p in norms:
        more = fixed if p is None else fixed | {"p": p}
        estimator = ESTIMATORS[key].estimator(task, kernels=kernels, **more)
        if unknown := [name for name in request.parameters if name not in estimator.get_params()]:
            raise ParameterError(
                f"The method {key!r} has no parameter {unknown[0]!r}; leave it out."
            )
        param, values = run_of(divided, key, estimator)
        name = label if p is None else f"{label}, p = {p:g}"
        made.append(Candidate(name, estimator, values, key, param))
    return made


def compare(divided: DividedRows, offered: Sequence[Candidate]) -> list[ScoredCandidate]:
    """The candidates with their scores, and the one machine on them where nothing is fixed."""
    members = [score_along(divided, one) for one in offered]
    if not divided.request.is_open:
        return members
    return [*members, one_machine(divided, members)]


def take(
    divided: DividedRows, offered: Sequence[Candidate]
) -> tuple[list[ScoredCandidate], ScoredCandidate, tuple[str, ...]]:
    """All that is compared, which of it is taken, and a note where another target is better."""
    compared = compare(divided, offered)
    place = compared.index(choose(compared))
    notes: tuple[str, ...] = ()
    if divided.request.is_open:
        notes = offer_logarithm(divided, compared[place])
        compared[place] = second_look(divided, compared[:-1], compared[place])
    # a member holds tables of the folds, which are not needed any more
    compared = [replace(one, member=None) for one in compared]
    return compared, compared[place], notes


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


def offer_logarithm(divided: DividedRows, taken: ScoredCandidate) -> tuple[str, ...]:
    """A note that offers the logarithm of a positive and skewed target whose errors out of folds are
    in proportion to it: they are likelier as normal errors of the logarithm, which predicts the
    target itself better than its mean does, and not surely worse than the target is predicted now.

    Source: Box and Cox (1964), An analysis of transformations, JRSS B 26, equation (8).
    """
    sample = divided.sample
    y = divided.learn.y
    if sample.task != "regression" or sample.log_of or y.min() <= 0.0:
        return ()
    if skew(y) < max(SKEWED, abs(skew(np.log(y)))):
        return ()
    logged = replace(
        divided,
        learn=with_log_target(divided.learn),
        sample=with_log_target(sample),
        Y=np.log(divided.Y),
    )
    offered = offer_candidates(logged, offer_kernels(logged))
    logarithm = choose(compare(logged, offered)).decisions
    assert taken.decisions is not None
    assert logarithm is not None
    rows = divided.left_out
    known = divided.Y[rows]
    off = np.hstack([taken.decisions, np.exp(logarithm)]) - known
    off_of_logarithm = logarithm - np.log(known)
    likelier = np.log(np.mean(off[:, 0] ** 2) / np.mean(off_of_logarithm**2)) / 2.0
    likelier -= np.log(known).mean()
    by_fold = [off[np.searchsorted(rows, own)] ** 2 for _, own in divided.folds]
    explained = 1.0 - np.array([own.mean(axis=0) for own in by_fold]) / sample.y.var()
    itself, from_logarithm = explained.mean(axis=0).tolist()
    loss = explained[:, 0] - explained[:, 1]
    if likelier <= 0.0 or from_logarithm <= 0.0 or loss.mean() > standard_error(loss):
        return ()
    name = sample.target_name
    text = (
        f"Errors of {name} grow with it, so its logarithm may serve better: folds give R² "
        f"{from_logarithm:.4f} of {name} by it, {itself:.4f} without. Effects are then changes in "
        "per cent."
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
    if taken.variance_shares:
        notes += (made_of(taken.variance_shares),)
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


def solve_path(divided: DividedRows, one: Candidate) -> Path:
    """The certified path of a candidate, on as many rows as one can drag along."""
    request = divided.request
    is_low = one.way == "low rank" or request.stack is not None
    rows = request.some(divided.learn, EXACT if is_low else PATH_ROWS)
    given = request.given(rows)
    with suppress_convergence_warnings():
        return fit_path(
            one.estimator, given, rows.y, one.param, one.values, scoring=request.scoring
        )


def refit(divided: DividedRows, taken: ScoredCandidate, path: Path) -> Any:
    """The model of the chosen point of the path on all rows to learn from, calibrated where there
    are classes.
    """
    learn = divided.learn
    request = divided.request
    way = taken.candidate.way
    with suppress_convergence_warnings():
        model = path.estimators[taken.best]
        if model.n_train_ < learn.n_samples:
            model = clone(model)
            if learn.n_samples > EXACT and way != "low rank":
                if way != "whole" and not ESTIMATORS[way].is_approximable:
                    learn = request.some(learn, EXACT)
                elif model.approximation is None:
                    count = landmarks(len(model.kernels), False)
                    if way == "whole":
                        count = int(np.clip(np.sqrt(FEATURES / learn.n_samples), 300, 2000))
                    model = model.copy_with("approximation", Nystroem(count, request.seed))
            model.fit(request.given(learn), learn.y)
    if divided.classes is not None and taken.decisions is not None:
        with suppress(DataError):  # too few rows of two classes
            model.calibrate(shown(taken.decisions), divided.sample.y[divided.left_out])
    return model


def fit_one_class(divided: DividedRows) -> tuple[ScoredCandidate, Path, int]:
    """A boundary around all rows, along C: without a target no score can choose a point."""
    request = divided.request
    kernels = request.kernels or KernelDictionary.recommended(divided.learn, whole=False)
    rows = divided.learn.drawn(PATH_ROWS, request.seed)
    estimator = LpMKLOneClass(p=request.p or 1.0, kernels=kernels)
    with suppress_convergence_warnings():
        values = (
            path_grid(estimator, rows, rows.y, "C", 7)
            if request.C is None
            else np.array([request.C])
        )
        path = fit_path(estimator, rows, rows.y, "C", values)
    index = path.first_look
    taken = Candidate("rows unlike the others", path.estimators[index], path.values[[index]], "lp")
    return ScoredCandidate(taken, path.train_score[None, [index]]), path, index
