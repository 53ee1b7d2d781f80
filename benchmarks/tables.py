"""The answer of `explore` beside other models on the tables of a folder: scores on held-out rows,
ranks, CPU seconds.

    python -m benchmarks.tables DIR [--seeds 0 1 2] [--only NAME ...] [--models ours forest ...] [--most-rows N]
        [--record FILE] [--page FILE]

DIR holds tables and `targets.csv` (file,target). A quarter of the rows is held out, by class where
there are classes; `ours` is the model of `explore(train, test_size=0)`, `EBM` an
explainable boosting machine with its defaults but at most ``ROUNDS`` rounds, because tables of many
columns or classes hardly end otherwise, `LightGBM`, `CatBoost` and `xRFM`, a recursive feature
machine, stop early on a tenth of the rows, the others are scikit-learn's with their parameters by
folds on at most ``CHOSEN_ON`` rows. EBM, LightGBM, CatBoost and xRFM are measured where interpret-core,
lightgbm, catboost and xrfm are installed. The score is accuracy, or R2 for numbers. ``--most-rows``
draws so many of the rows to learn from. Every model of a table goes into the record as soon as it
is measured, and is not measured again.
``--page`` puts the table between the marks "tables" of a page. Ours is ahead of a model by the mean
of the paired differences of scores, with its standard error over the tables that both have.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.lines import Line, command_line, include, read_record, targets_of, write_record
from mklcore.answer.candidates import Request
from mklcore.answer.explore import stages
from mklcore.data.dataset import Dataset
from mklcore.data.reading import read_table
from mklcore.data.samples import load_sample

SAMPLES = "breast_cancer", "wine", "diabetes", "iris"
HELD_OUT = 0.25
FOLDS = 5
CHOSEN_ON = 3000
MODELS = (
    "ours",
    "linear",
    "RBF",
    "forest",
    "boosting",
    "EBM",
    "LightGBM",
    "CatBoost",
    "xRFM",
)
# of peers that stop early: steps, steps without gain, share of the rows
TREES = 2000
PATIENCE = 50
STOPPED_ON = 0.1
ROUNDS = 2000  # of EBM at most; its default is 50,000


def searched(name: str, classes: int) -> tuple[Any, Mapping[str, Sequence[Any]]]:
    """A model of scikit-learn and the values that its folds choose among."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import SVC, SVR

    if name == "linear":
        if classes:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
            return model, {"logisticregression__C": np.geomspace(1e-3, 1e2, 6).tolist()}
        return make_pipeline(StandardScaler(), Ridge()), {
            "ridge__alpha": np.geomspace(1e-3, 1e3, 7).tolist()
        }
    if name == "RBF":
        values = [0.1, 1.0, 10.0, 100.0]
        if classes:
            return make_pipeline(StandardScaler(), SVC(max_iter=500_000)), {"svc__C": values}
        machine = make_pipeline(StandardScaler(), SVR(max_iter=500_000))
        return TransformedTargetRegressor(machine, transformer=StandardScaler()), {
            "regressor__svr__C": values
        }
    if name == "forest":
        kind: Any = RandomForestClassifier if classes else RandomForestRegressor
        return kind(200, random_state=0), {
            "min_samples_leaf": [1, 5],
            "max_features": ["sqrt", 0.5],
        }
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    trees = max(20, 1000 // max(classes, 10))  # a tree per class in every step
    return kind(max_iter=trees, random_state=0), {
        "learning_rate": [0.03, 0.1],
        "max_leaf_nodes": [7, 31],
    }


def fitted(name: str, train: Dataset) -> tuple[Any, dict[str, float]]:
    """A model on all these rows; of ours also the seconds until its answer was settled."""
    if name == "ours":
        began = time.process_time()
        for stage, found in stages(train, Request(test_size=0.0)):
            if stage == "references":
                return found.model, {"settled": time.process_time() - began}
    classes = len(train.class_names)
    if name == "EBM":
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        kind = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
        return kind(max_rounds=ROUNDS, n_jobs=1, random_state=0).fit(train.X, train.y), {}
    if name in ("LightGBM", "CatBoost"):
        return stopped_early(name, train), {}
    if name == "xRFM":
        return FeatureMachine(train), {}
    model, grid = searched(name, classes)
    few = train.drawn(CHOSEN_ON, 0)
    cut = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(model, dict(grid), cv=cut, refit=False).fit(few.X, few.y)
    return clone(model).set_params(**search.best_params_).fit(train.X, train.y), {}


def stopped_early(name: str, train: Dataset) -> Any:
    """Boosted trees of another library, with as many steps as a tenth of the rows asks for."""
    rows, judge = train.split(STOPPED_ON, 0)
    is_number = train.task == "regression"
    if name == "LightGBM":
        import lightgbm

        kind = lightgbm.LGBMRegressor if is_number else lightgbm.LGBMClassifier
        model = kind(n_estimators=TREES, learning_rate=0.05, n_jobs=1, random_state=0, verbose=-1)
        stop = lightgbm.early_stopping(PATIENCE, verbose=False)
        return model.fit(rows.X, rows.y, eval_set=[(judge.X, judge.y)], callbacks=[stop])
    import catboost

    kind = catboost.CatBoostRegressor if is_number else catboost.CatBoostClassifier
    model = kind(
        iterations=TREES, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    )
    return model.fit(rows.X, rows.y, eval_set=(judge.X, judge.y), early_stopping_rounds=PATIENCE)


class FeatureMachine:
    """A recursive feature machine with its defaults (Beaglehole, Holzmüller, Radhakrishnan, Belkin,
    2025), on standardised numbers; a tenth of the rows chooses among its iterations.
    """

    def __init__(self, train: Dataset) -> None:
        from xrfm import xRFM

        self.scaler = StandardScaler().fit(train.X)
        several = [j for _, members in train.columns if len(members) > 1 for j in members]
        # the parts of a date are numbers
        levels = [j for j in several if np.isin(train.X[:, j], (0.0, 1.0)).all()]
        self.scaler.mean_[levels] = 0.0
        self.scaler.scale_[levels] = 1.0
        self.classes = np.unique(train.y) if train.class_names else None
        self.mean, self.spread = 0.0, 1.0
        if self.classes is None:
            self.mean, self.spread = float(train.y.mean()), float(train.y.std())
        self.model = xRFM(device="cpu", n_threads=1, random_state=0, verbose=False)
        given = [(self.read(part.X), self.coded(part.y)) for part in train.split(STOPPED_ON, 0)]
        self.model.fit(*given[0], *given[1])

    def read(self, X: np.ndarray) -> np.ndarray:
        """Rows as the machine takes them."""
        return np.asarray(self.scaler.transform(X), np.float32)

    def coded(self, y: np.ndarray) -> np.ndarray:
        """The target as the machine takes it: numbers standardised, classes counted from 0."""
        if self.classes is not None:
            return np.searchsorted(self.classes, y)
        return ((y - self.mean) / self.spread).astype(np.float32)[:, None]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Numbers or classes (n,) of new rows."""
        said = np.ravel(self.model.predict(self.read(X)))
        return self.mean + self.spread * said if self.classes is None else self.classes[said]


def measured(
    name: str, data: Dataset, seed: int, most_rows: int | None = None
) -> dict[str, float | str]:
    """One model on one table: its score on the held-out rows, or why there is none."""
    train, test = data.split(HELD_OUT, seed)
    if most_rows is not None:
        train = train.drawn(most_rows, seed)
    began = time.process_time()
    try:
        model, more = fitted(name, train)
        spent = time.process_time() - began
        said = np.ravel(model.predict(test.X))
    except Exception as error:
        return {
            "refused": f"{type(error).__name__}: {error}",
            "seconds": round(time.process_time() - began, 2),
        }
    score = r2_score(test.y, said) if data.task == "regression" else accuracy_score(test.y, said)
    return {
        "score": round(float(score), 5),
        "seconds": round(spent, 2),
        **{k: round(v, 2) for k, v in more.items()},
    }


def figure_of(found: Mapping[str, Any], seeds: Sequence[int], what: str) -> float:
    """A figure of a model on a table, the mean over the draws; NaN where a draw is missing. A
    refusal, and what is worse than guessing, counts as 0.
    """
    if any(str(seed) not in found for seed in seeds):
        return np.nan
    values = [max(float(found[str(seed)].get(what, 0.0)), 0.0) for seed in seeds]
    return float(np.mean(values))


def row_of(what: str, values: np.ndarray, form: str, rows: str = "") -> str:
    """A row of the table in Markdown; a figure that is not known leaves its cell empty."""
    cells = [format(value, form) if np.isfinite(value) else "–" for value in values]
    return f"| {what} | {rows} | {' | '.join(cells)} |"


def ranked(scores: np.ndarray, chosen: np.ndarray, whose: str = "") -> list[str]:
    """The rows with the mean score and the mean rank of the chosen models among themselves."""
    mean = np.full(scores.shape[1], np.nan)
    rank = np.full(scores.shape[1], np.nan)
    mean[chosen] = scores[:, chosen].mean(axis=0)
    rank[chosen] = np.mean([rankdata(-one) for one in scores[:, chosen]], axis=0)
    return [
        row_of(f"**mean score**{whose}", mean, ".4f"),
        row_of(f"**mean rank of the means**{whose}", rank, ".2f"),
    ]


def gaps_to(first: np.ndarray, scores: np.ndarray) -> list[str]:
    """The row with the mean of first - score on the tables that a model has, and its standard
    error; and the row with their number.
    """
    cells = []
    for own in scores.T:
        gaps = (first - own)[np.isfinite(own)]
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        cells.append(f"{gaps.mean():+.4f} ± {error:.4f}")
    counts = np.isfinite(scores).sum(axis=0)
    return [f"| ours ahead by | | {' | '.join(cells)} |", row_of("on so many tables", counts, "d")]


def lines_of(record: Mapping[str, Any], seeds: Sequence[int], models: Sequence[str]) -> list[str]:
    """The table in Markdown: mean scores, then their means and ranks of the models that have every
    table, and of all models on the tables that all have; gaps of pairs, seconds, refusals.
    """
    first = models[0]

    def of(what: str, names: Sequence[str]) -> np.ndarray:
        found = [[figure_of(record[n].get(m, {}), seeds, what) for m in models] for n in names]
        return np.array(found).reshape(len(names), len(models))

    names = [n for n in record if np.isfinite(of("score", [n])[0, 0])]
    if not names:
        return ["No table is complete."]
    models = [m for m, own in zip(models, of("score", names).T, strict=True) if any(own >= 0.0)]
    scores = of("score", names)
    spent = of("seconds", names)
    is_known = np.isfinite(scores)
    lines = [f"| table | rows | {' | '.join(models)} |", f"|{'---|' * (len(models) + 2)}"]
    for name, own in zip(names, scores, strict=True):
        lines.append(row_of(name, own, ".3f", f"{record[name]['rows']:,}"))
    lines += ranked(scores, is_known.all(axis=0))
    shared = scores[is_known.all(axis=1)]
    if 0 < len(shared) < len(names):
        every = np.ones(len(models), dtype=bool)
        lines += ranked(shared, every, f", the {len(shared)} tables that all have")
    if first == "ours":
        lines += gaps_to(scores[:, 0], scores)
    refused = [
        sum("refused" in record[n].get(m, {}).get(str(s), {}) for n in names for s in seeds)
        for m in models
    ]
    lines += [
        row_of("CPU s, median", np.nanmedian(spent, axis=0), ".1f"),
        row_of("CPU s, 90 %", np.nanquantile(spent, 0.9, axis=0), ".1f"),
        row_of("refused", np.array(refused), "d"),
    ]
    if first == "ours":
        settled = [record[n]["ours"][str(s)].get("settled", np.nan) for n in names for s in seeds]
        middle = np.nanmedian(settled)
        most = np.nanquantile(settled, 0.9)
        text = f"The answer of ours is settled after {middle:.1f} CPU s in the median, {most:.1f} on 90 %."
        lines += ["", text]
    return lines


def run() -> list[Line]:
    """The samples that come with the project: what the answer leaves unexplained, and its seconds,
    beside a forest.
    """
    found = []
    for name in SAMPLES:
        data = load_sample(name)
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            ours, forest = (measured(model, data, 0) for model in ("ours", "forest"))
        left = [1.0 - float(one["score"]) for one in (ours, forest)]
        found.append(
            Line(
                f"first answer, {name}",
                left[:1],
                "unexplained",
                left[1],
                "forest",
                "share of held-out rows",
            )
        )
        seconds = float(ours["seconds"])
        found.append(
            Line(
                f"first answer, {name}, time",
                [seconds],
                "CPU s",
                float(forest["seconds"]),
                "forest",
            )
        )
    return found


def main() -> None:
    """Measure what is not in the record yet, and print the table."""
    parser = command_line(__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--most-rows", type=int)
    parser.add_argument("--record", type=Path, default=Path("tables.json"))
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    record = read_record(asked.record)
    for file, target in targets_of(asked.folder).items():
        if asked.only and file not in asked.only:
            continue
        known = record.setdefault(file, {})
        todo = [(m, s) for m in asked.models for s in asked.seeds if str(s) not in known.get(m, {})]
        if not todo:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1):
            warnings.simplefilter("ignore")
            data = read_table(asked.folder / file, target or None)
            known["rows"] = data.n_samples
            for model, seed in todo:
                known.setdefault(model, {})[str(seed)] = found = measured(
                    model, data, seed, asked.most_rows
                )
                write_record(asked.record, record)
                print(f"{file}, {model}, seed {seed}: {found}", flush=True)
    made = lines_of(record, asked.seeds, asked.models)
    print("\n".join(made))
    if asked.page is not None:
        include(asked.page, "tables", "\n".join(made))


if __name__ == "__main__":
    main()
