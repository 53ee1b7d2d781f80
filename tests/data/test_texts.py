"""Free text: read as text, learned by its words on training rows alone, one source column, refused
with a repair.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mklcore as mkl
from mklcore.answer.references import with_words
from mklcore.data.dataset import Dataset
from mklcore.data.sequences import look_like_texts, numbers_of, packed, unpacked
from mklcore.kernels.sequences import MOST_WORDS, Words
from tests.helpers.models import reloaded
from tests.helpers.pages import go, open_app, quiet, upload, words
from tests.helpers.refusals import data_error, parameter_error

GOOD = ["great", "excellent", "love", "perfect"]
BAD = ["poor", "broken", "refund", "awful"]
OTHER = ["box", "arrived", "monday", "with", "paper", "colour", "blue", "size"]


def reviews(n=160, seed=0):
    """A table whose text decides the class alone; every text occurs once."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        words = [*rng.choice(OTHER, 5), *rng.choice(GOOD if k % 2 else BAD, 2), f"order{k}"]
        rng.shuffle(words)
        rows.append(f'"{" ".join(words)}",{rng.normal():.3f},{"yes" if k % 2 else "no"}')
    return "\n".join(["review,x,again", *rows]).encode()


@pytest.fixture(scope="module")
def answered():
    data = mkl.read_table(reviews(), "again")
    return data, mkl.explore(data)


def test_rows_hold_texts_of_any_letters():
    texts = ["", "plain", "größer, schöner", "日本語", "a\0b", "x" * 100]
    width = numbers_of(texts)
    assert width == 17  # six letters to a number
    assert unpacked(packed(texts, width)) == [
        "",
        "plain",
        "größer, schöner",
        "日本語",
        "a b",
        "x" * 100,
    ]
    assert unpacked(packed(texts, 2))[1:3] == ["plain", "größer, sc"]  # what has no room is cut


def test_words_compare_strings_without_a_table_as_they_compare_texts_of_one():
    texts = ["a quiet garden", "schöner garden", "quiet, schöner", "ok", "日本語 garden"]
    kernels = mkl.SequenceDictionary([mkl.Words()])
    stack = kernels.grams(texts)
    of_a_table = mkl.Dataset(np.empty((5, 0)), np.zeros(5), texts=(("said", texts),))
    assert_allclose(stack.values, kernels.grams(of_a_table).values, atol=1e-12)
    assert_allclose(stack.cross([*texts[:2], "ok"])[0, :2], stack.values[0, :2], atol=1e-12)
    model = mkl.LpMKLRegressor(kernels=kernels).fit(texts, np.arange(5.0))
    assert_allclose(model.predict(texts[2:]), model.predict(texts)[2:], atol=1e-9)


def test_texts_are_told_from_names_and_codes():
    rng = np.random.default_rng(1)
    assert look_like_texts([" ".join(rng.choice(OTHER, 4)) for _ in range(50)])
    for values in (
        [f"customer {k}" for k in range(50)],  # one word that all share
        [f"2021-{k % 7}-{k}" for k in range(50)],
        [f"{rng.integers(10**9)} {rng.integers(10**9)}" for _ in range(50)],
        ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(50)],
        [""] * 50,
        [],
    ):
        assert not look_like_texts(values)


def test_a_text_that_decides_alone_is_one_column_with_its_words(answered):
    data, found = answered
    assert [name for name, _ in data.texts] == ["review"]
    assert data.feature_names == ("x",)
    assert any(
        note == "Read as free text, for a kernel on its words: 'review'." for note in data.notes
    )
    assert found.columns[0].name == "review"
    assert found.columns[0].share > 0.9
    assert found.could_be_chance == {"x": True, "review": False}
    assert found.terms[0].columns == ("review",)
    assert found.test_scores()["ours"] == 1.0
    words = {one.word: float(one.effect[0]) for one in found.words("review", 8)}
    assert set(words) == {*GOOD, *BAD}
    assert all((effect > 0) == (word in GOOD) for word, effect in words.items())
    with parameter_error("No kernel of the model reads a text 'x'"):
        found.words("x")


def test_trees_read_the_most_frequent_words_of_the_rows_learned_from(answered):
    _, found = answered
    beside = found.compare()
    assert set(beside.baselines) == {"linear", "RBF", "forest", "boosting"}
    assert min(beside.test_scores()[name] for name in ("forest", "boosting")) > 0.9
    assert "Not yet" not in str(beside.verdict)
    assert any("200 most frequent words" in note for note in beside.notes)
    words = with_words(found.test, found.learnt_from)
    assert words.X.shape == (found.test.n_samples, 1 + len({*GOOD, *BAD, *OTHER}))
    few = found.test.take(np.arange(4))
    assert_array_equal(with_words(few, found.learnt_from).X, words.X[:4])


def test_its_model_takes_a_data_frame_a_data_set_rows_or_a_new_file_and_is_saved(answered):
    data, found = answered
    frame = pd.DataFrame({"x": data.X[:, 0], "review": data.texts[0][1], "unused": 0})
    said = found.model.predict(data)
    assert_array_equal(found.model.predict(frame), said)
    assert_array_equal(found.model.predict(data.table), said)
    rows = data.encoder.read(reviews(40, seed=5))
    assert found.model.predict(rows.table).tolist() == list(rows.target)
    assert_array_equal(reloaded(found.model).predict(frame), said)
    new = frame.iloc[:2].assign(review=["excellent " * 60, ""])  # longer than any before, and empty
    assert found.model.predict(new)[0] == "yes"
    with data_error("lacks 1 column the model needs: 'review'"):
        found.model.predict(frame.drop(columns="review"))


def test_words_are_those_of_the_rows_that_are_learned_from(answered):
    data, found = answered
    spec = next(spec for spec in found.model._map.specs if isinstance(spec, Words))
    assert len(spec.vocabulary) <= MOST_WORDS
    assert not any(word.startswith("order") for word in spec.vocabulary)  # of one row each
    fold = data.take(np.flatnonzero(["refund" not in text for text in data.texts[0][1]]))
    kernel = mkl.KernelDictionary.recommended(fold, whole=False)
    specs = mkl.LpMKLClassifier(kernels=kernel).fit(fold)._map.specs
    assert "refund" not in next(spec for spec in specs if isinstance(spec, Words)).vocabulary
    rows = np.hstack([np.zeros((3, 0)), packed(["poor box", "box poor poor", ""], 20)])
    kernel = Words(features=tuple(range(20)), vocabulary=("box", "poor"), rarity=(1.0, 2.0))
    K = np.empty((3, 3))
    kernel.between(rows, rows, False, K)
    assert_allclose(np.diag(K), [1.0, 1.0, 0.0])
    assert_allclose(kernel.own(rows), np.diag(K))


def test_texts_without_a_word_that_two_rows_share_are_refused_with_a_repair():
    rng = np.random.default_rng(2)
    texts = tuple(f"only{k}a only{k}b" for k in range(40))
    data = Dataset(rng.normal(size=(40, 1)), rng.normal(size=40), ("x",), texts=[("note", texts)])
    with data_error("No word of 'note' is in 2 of the") as refused:
        mkl.explore(data)
    assert refused.value.repairs[0].settings == (("uses", (("note", "left out"),)),)
    with data_error("holds 3, which is no string"):
        Dataset(np.ones((1, 1)), [1.0], texts=[("note", (3,))])
    with data_error("Two sequences or texts have the same name"):
        Dataset(np.ones((1, 1)), [1.0], texts=[("note", ("a",)), ("note", ("b",))])


def test_pages_draw_its_words_and_have_a_box_for_it():
    app = upload(open_app("pages/data/page.py"), reviews(), "reviews.csv")
    said = words(go(app, "pages/explore/page.py"))
    assert "**review** (moves the decision by" in said
    assert "What a word adds to a text that has it" in said
    go(app, "pages/predict/page.py")
    (box,) = [one for one in app.text_area if one.label == "review"]
    assert {"yes", "no"} >= {
        line.split()[-1] for line in words(app).splitlines() if line.startswith("#### ")
    }
    box.set_value("perfect, great, love it").run()
    assert "#### again: yes" in words(quiet(app))
    assert "1 text" in words(go(app, "pages/kernels/page.py"))
