"""A page's answer is the library's: equal numbers, what is fixed reaches the model, refusals mend."""

from dataclasses import replace

import numpy as np
import pytest

from mklcore import RBF, GOMPRegressor, KernelDictionary, Nystroem, explore, load_sample
from mklcore.answer.candidates import Request
from mklcore.data.reading import read_drawn
from pages.shared.session.parameters import Params
from pages.shared.session.state import keep_upload
from pages.shared.values import answers
from pages.shared.work import work
from pages.shared.work.work import Failed, Ready
from tests.helpers.every import every, share
from tests.helpers.pages import csv, go, open_app, upload
from tests.helpers.stacks import npz


def made(n, seed):
    """A file with three numbers, a town, and two classes that hang on them."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, n)).round(4)
    town = rng.choice(["north", "south", "west"], n)
    f = np.sin(2 * a) + b + (town == "north")
    return csv({"a": a, "b": b, "c": c, "town": town, "y": np.where(f > 0.3, "high", "low")})


@pytest.fixture(autouse=True)
def nothing_known():
    """What other tests asked of the same samples is forgotten."""
    work.WORK.clear()


def ready(found):
    assert isinstance(found, Ready), found
    return found.value


USUAL = Params(data="iris", seed=3)
FIXED = [
    (replace(USUAL, settings=(("p", 1.5), ("tol", 1e-5)), scoring="balanced_accuracy"),
     lambda e: (e.model.p, e.model.tol, e.scoring), (1.5, 1e-5, "balanced accuracy")),
    (replace(USUAL, data="diabetes", settings=(("loss", "epsilon_insensitive"),), hold_out="last"),
     lambda e: (e.model.loss, *e.test.y), ("epsilon_insensitive", *load_sample("diabetes").y[-111:])),
    (replace(USUAL, data="diabetes", algorithm="gomp", path="lam", settings=(("n_kernels", 4),)),
     lambda e: (type(e.model), e.model.n_kernels, e.path.param), (GOMPRegressor, 4, "lam")),
    (replace(USUAL, path="p"), lambda e: e.path.param, "p"),
    (replace(USUAL, recipe="builders", each="none", widths=2, normalise="trace", center=True),
     lambda e: (len(e.dictionary) < 10, e.model.center, e.model.normalise), (True, True, "trace")),
    (replace(USUAL, test=0.4, rows=60, way="lowrank", landmarks=20),
     lambda e: (e.test.n_samples, e.learnt_from.n_samples, e.model.approximation), (60, 60, Nystroem(20, 3))),
]  # fmt: skip


@every("params, of, expected", share(FIXED, 2))
def test_what_is_fixed_reaches_the_model(params, of, expected):
    assert of(ready(answers.get(params))) == expected


def test_what_is_not_fixed_is_no_part_of_the_question():
    assert answers.request(USUAL) == Request(seed=3)
    assert answers.key(replace(USUAL, validation=0.1)) == answers.key(USUAL)


@pytest.fixture
def many_rows(monkeypatch):
    """Tables of 200 rows count as large, and the first answer is from 80 of them."""
    monkeypatch.setattr(answers, "MANY_BYTES", 0)
    monkeypatch.setattr(answers, "MANY_ROWS", 200)
    monkeypatch.setattr(answers, "FIRST_ROWS", 80)


def test_a_large_table_is_answered_from_a_sample_of_its_rows_first(many_rows):
    content = made(300, 5)
    params = Params(data=keep_upload("large.csv", content))
    first = answers.first(params)
    assert (first.rows, first.of) == (80, 300)
    alone = explore(read_drawn(content, 80))
    assert str(first.found.verdict) == str(alone.verdict)
    assert [one.effect for one in first.found.columns] == [one.effect for one in alone.columns]
    assert answers.best_known(params) is None  # of which files are made
    whole = ready(answers.get(params))
    assert whole.learnt_from.n_samples == 225
    assert answers.best_known(params) is whole
    assert answers.first(params) is None


def test_an_answer_of_many_rows_is_shown_before_plain_models_are_fitted_beside_it(monkeypatch):
    data = load_sample("iris")
    shown = []

    def report(share, text="", value=None):
        shown.append(getattr(value, "answer", None))

    whole = answers._make(data, Request())(report)
    assert not any(shown)  # iris has few rows
    monkeypatch.setattr(answers, "FEW_ROWS", 0)
    answers._make(data, Request())(report)
    (early,) = filter(None, shown)
    assert early.baselines == {}
    assert early.verdict.references == ()
    assert set(whole.baselines) == {"linear", "RBF"}
    assert early.columns == whole.columns
    assert early.verdict.score == whole.verdict.score


@every(
    "other",
    [{"data": "iris"}, {"settings": (("C", 1.0),)}, {"seed": 1}, {"algorithm": "gomp"}, {}],
)
def test_a_sample_comes_first_only_where_nothing_but_a_large_table_was_chosen(other, many_rows):
    rows = 199 if not other else 300
    params = Params(data=keep_upload("table.csv", made(rows, 6)))
    assert answers.first(replace(params, **other)) is None


def test_a_ready_stack_ranks_its_kernels():
    data = load_sample("diabetes").drawn(120)
    kernels = KernelDictionary.per_feature(RBF(1.0), 4).grams(data.X[:, :4])
    names = ["one", "two", "three", "four"]
    content = npz(K=kernels.values, y=data.y, names=np.array(names))
    params = Params(data=keep_upload("stack.npz", content))
    found = ready(answers.get(params))
    assert {one.name for one in found.columns} == set(names)
    assert sum(one.share for one in found.columns) == pytest.approx(1.0)
    assert set(ready(answers.chance(params))) == set(names)
    assert found.effects_along.shape == (len(found.path), 4)
    assert any("Kernels are ranked, not columns" in note for note in found.notes)
    assert set(found.test_scores()) == {"ours"}
    refused = answers.intervals(params)
    assert isinstance(refused, Failed)
    assert "ready stack has no rows" in refused.sentence


def test_later_stages_are_values_of_their_own():
    params = Params(data="iris")
    assert answers.best_known(params) is None
    before = ready(answers.get(params))
    assert work.peek(("further", answers.key(params))) is None
    assert "Not yet compared with a random forest" in str(answers.best_known(params).verdict)
    more = ready(answers.further(params))
    assert set(more.baselines) == {"linear", "RBF", "forest", "boosting"}
    assert "Not yet compared" not in str(answers.best_known(params).verdict)
    could = ready(answers.chance(params))
    # known to every copy of the answer
    assert {one.name: one.chance for one in more.columns} == could
    assert (
        before.verdict.chance
        == more.verdict.chance
        == tuple(c.name for c in more.columns if could[c.name])
    )
    assert ready(answers.terms(params)) == before.terms
    assert ready(answers.intervals(params)) is before.conformal


def test_refusals_pass_as_sentences_with_their_repairs():
    table = Params(data=keep_upload("table.csv", made(60, 1)), target="y")
    few = Params(data=keep_upload("few.csv", b"a,b,y\n1,2,x\n2,1,z\n3,5,x\n4,4,z\n"), target="y")
    cases = {
        "needs at least 6": (few, ()),
        "No cell of 'town' is a number": (
            replace(table, uses="4n"),
            ("Use 'town' as it was found",),
        ),
        "'nothing'": (replace(table, target="nothing"), ()),
    }
    for words, (params, repairs) in cases.items():
        found = answers.get(params)
        assert isinstance(found, Failed), words
        assert words in found.sentence
        assert set(repairs) <= {one.label for one in found.repairs}
    odd = answers.get(Params(data="iris", algorithm="gomp", settings=(("p", 2.0),)))
    assert isinstance(odd, Ready)  # a setting that the method lacks is none of its


# Tables that are hardly any


def number(i):
    return i * i % 7 + 0.5


def column(n, value=number, labels="xz"):
    """A table of the column a and the target y, whose rows have these labels in turn."""
    return "\n".join(["a,y", *(f"{value(i)},{labels[i % len(labels)]}" for i in range(n))]).encode()


BAD = {
    "two rows": (column(2), "two rows of each class are needed", ("Predict 'a'",)),
    "one column": (b"y\n" + b"\n".join(b"%d" % i for i in range(20)), "The table has one column only ('y')",
                   ("Look for unusual rows, without a target",)),
    "constant target": (column(20, labels="3"), "one value only, '3': there is nothing to predict",
                        ("Predict 'a'",)),
    "names of rows": (column(20, lambda i: f"p{i}"), "no numeric column and no category", ("Use 'a' as a category",)),
}  # fmt: skip


def test_a_table_that_is_hardly_one_gets_a_sentence_and_its_repair():
    app = open_app("pages/data/page.py")
    for name, (content, sentence, repairs) in BAD.items():
        app = go(upload(go(app, "pages/data/page.py"), content), "pages/explore/page.py")
        assert sentence in "".join(one.value.replace("\\", "") for one in app.error), name
        assert set(repairs) <= {button.label for button in app.button}, name
