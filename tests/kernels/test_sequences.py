"""Kernels on sequences, against words counted by hand; data sets with sequences; models on both
through their whole life.
"""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

import mklcore as mkl
from mklcore import (
    RBF,
    Dataset,
    HKLClassifier,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    SequenceDictionary,
    Spectrum,
    WeightedDegree,
    cross_validate_path,
    explore,
    fit_path,
    make_sequences,
    read_table,
)
from mklcore.data.sequences import MAX_LENGTH, look_like_sequences
from mklcore.estimators.inspection.words import positional_importance
from mklcore.kernels.grams import Rows
from tests.helpers.every import every
from tests.helpers.models import reloaded
from tests.helpers.pages import go, open_app, quiet, upload
from tests.helpers.refusals import data_error, kernel_error, parameter_error, refused

ANY = "ABCDEFGHIJKLMNOPQRSTUVWXYZaé"
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"


def strings(rng, n, low, high, letters="ACGT"):
    return ["".join(rng.choice(list(letters), rng.integers(low, high + 1))) for _ in range(n)]


def spectrum(x, z, k):
    a, b = (Counter(text[i : i + k] for i in range(len(text) - k + 1)) for text in (x, z))
    return sum(a[word] * b[word] for word in a)


def weighted_degree(x, z, degree, shift):
    """The double sum of the definition, word by word."""
    total = 0.0
    L = len(x)
    for k in range(1, degree + 1):
        b = 2 * (degree - k + 1) / (degree * (degree + 1))
        for i in range(L):
            if not shift:
                total += b * (i + k <= L and x[i : i + k] == z[i : i + k])
                continue
            for s in range(min(shift, L - i - k) + 1):
                pair = (x[i + s : i + s + k] == z[i : i + k]) + (
                    x[i : i + k] == z[i + s : i + s + k]
                )
                total += b * pair / (2 * (s + 1))
    return total


@every("kernel, by_hand, length, letters", [
    *((Spectrum(k), partial(spectrum, k=k), (1, 30), ANY if k < 3 else "AB") for k in (1, 2, 3, 7, 14)),
    *((WeightedDegree(degree, shift), partial(weighted_degree, degree=degree, shift=shift), (11, 11), "ACGT")
      for degree, shift in ((1, 0), (3, 0), (20, 3), (5, 2), (4, 40))),
])  # fmt: skip
def test_kernels_count_words_wherever_they_are_or_at_their_places(kernel, by_hand, length, letters):
    rng = np.random.default_rng(0)
    rows, new = (strings(rng, n, *length, letters) for n in (12, 6))
    stack = SequenceDictionary([kernel]).grams(rows, normalise=None)
    for found, left in ((stack.values[0], rows), (stack.cross(new)[0], new)):
        assert found == pytest.approx(np.array([[by_hand(x, z) for z in rows] for x in left]))
    assert np.linalg.eigvalsh(stack.values[0])[0] > -1e-9


def test_spherical_is_the_usual_way_and_long_new_strings_are_welcome(rng):
    rows = strings(rng, 10, 5, 9)
    stack = SequenceDictionary([Spectrum(2), Spectrum(3)]).grams(rows)
    assert np.diagonal(stack.values, axis1=1, axis2=2) == pytest.approx(np.ones((2, 10)))
    assert stack.cross(rows) == pytest.approx(stack.values)
    assert stack.cross(["ACGT" * 20])[0, 0] == pytest.approx(
        [
            spectrum("ACGT" * 20, z, 2)
            / np.sqrt(spectrum(z, z, 2) * spectrum("ACGT" * 20, "ACGT" * 20, 2))
            for z in rows
        ]
    )


def test_what_is_refused():
    def built(kernel, rows):
        return lambda: SequenceDictionary([kernel]).grams(rows)

    words, places = Spectrum(2), WeightedDegree(2)
    refused(
        (
            built(places, ["ACG", "ACGTA", "ACG"]),
            "needs strings of one length; here they have 3 to 5",
        ),
        (lambda: built(places, ["ACGT", "TTGT"])().cross(["ACGTACG"]), "of 7 letters do not fit"),
        (lambda: KernelDictionary((words,)).grams(np.eye(3)), "a table of numbers has none"),
        (built(Spectrum(2, 2), ["ACGT", "AA"]), "needs sequence number 2, the data have 1"),
        (built(Linear(), ["ACGT"]), "holds kernels on strings"),
        (lambda: Spectrum(0), "k must be a whole number from 1 to 50; got 0"),
        (built(words, ["ACGT", 3]), "Row 2 is int, not a string"),
        (built(words, "ACGT"), "are a list of strings, one per row; got str"),
        (built(words, ["A" * (MAX_LENGTH + 1), "C"]), "expected 1 to 20,000"),
        (built(words, ["A" * MAX_LENGTH] * 1600), "more than 30,000,000 letters"),
    )


@pytest.fixture(scope="module")
def data():
    made = make_sequences(60, 40, [("TATAAT", 12), ("GGCC", 25)], seed=0)[0]
    rng = np.random.default_rng(1)
    return Dataset(
        rng.standard_normal((60, 2)), made.y, ("a", "b"), task="binary",
        sequences=(*made.sequences, ("other", tuple(strings(rng, 60, 3, 12)))),
    )  # fmt: skip


def test_a_data_set_carries_sequences(data):
    train, test = data.split(0.25, seed=0)
    (name, letters), (_, other) = data.sequences
    assert len(train.sequences[0][1]) == 45
    assert test.y.tolist() == data.y[[other.index(text) for text in test.sequences[1][1]]].tolist()
    assert data.take([3, 1]).sequences[0][1] == (letters[3], letters[1])
    assert data.select(["b"]).sequences == data.sequences
    same = partial(Dataset, data.X, data.y, ("a", "b"), task="binary")
    assert same(sequences=data.sequences) == data
    assert data not in (same(sequences=((name, letters), ("other", ("A", *other[1:])))), same())
    with data_error("'other' has 59 strings for 60 rows"):
        same(sequences=(("other", other[:59]),))
    with data_error("Row 1 of 'other' is float"):
        same(sequences=(("other", (1.5, *other[1:])),))


def kernels():
    return KernelDictionary(
        (Linear(), RBF(1.0, relative=True, features=(1,))), feature_names=("a", "b")
    ) + (SequenceDictionary([Spectrum(3), WeightedDegree(4, 2), Spectrum(2, 1)]))


def test_columns_and_sequences_make_one_stack(data):
    train, test = data.split(0.25, seed=0)
    stack = kernels().grams(train)
    assert tuple(spec.name(("a", "b")) for spec in stack.specs)[2:] == (
        "spectrum 3 sequence", "weighted degree 4 (shift 2) sequence", "spectrum 2 other",
    )  # fmt: skip
    assert stack.values[:2] == pytest.approx(
        KernelDictionary(kernels().specs[:2]).grams(train.X).values
    )
    alone = SequenceDictionary([Spectrum(2)]).grams(
        train.sequences[1][1], normalise="multiplicative"
    )
    assert stack.values[4] == pytest.approx(alone.values[0])
    assert stack.cross(test)[4] == pytest.approx(alone.cross(test.sequences[1][1])[0])
    assert Rows.build(kernels().on(train), train.table).rows(np.arange(45)) == pytest.approx(
        stack.values
    )


def test_a_model_of_both_lives_as_any_other(data):
    train, test = data.split(0.25, seed=0)
    asked = LpMKLClassifier(kernels=kernels(), p=1.5)
    model = clone(asked).fit(train)
    assert model.score(test) == model.score(test, test.y) > 0.8
    rows = asked.copy_with("solver", "interleaved").fit(train)
    assert rows.objective_ == pytest.approx(model.objective_, rel=2e-3)
    again = reloaded(model)
    longer = replace(test, sequences=(test.sequences[0], ("other", ("ACGT" * 30,) * 15)))
    for new in (test, longer):
        assert again.decision_function(new) == pytest.approx(
            model.decision_function(new), abs=1e-12
        )
    assert again.kernels == kernels()
    path = fit_path(asked, train, train.y, "C", [0.1, 1.0], test, test.y)
    assert path.val_score[1] == model.score(test)
    assert cross_validate_path(asked, data, data.y, "C", [1.0], n_splits=3).val_score[0] > 0.8
    with data_error(r"the sequences \['sequence', 'other'\]; the data have 2 and \['sequence'\]"):
        model.predict(replace(test, sequences=test.sequences[:1]))


def test_motifs_are_planted_where_the_truth_says():
    data, truth = make_sequences(240, 40, [("TATAATGC", 20)], seed=3, jitter=2, mutation=0.02)
    rows = np.flatnonzero(data.y > 0)
    assert truth.positions[rows, 0].min() >= 18
    assert truth.positions[rows, 0].max() <= 22
    assert (truth.positions[data.y < 0] == -1).all()
    usual = LpMKLClassifier(p=2.0).fit(data.split(0.4, seed=0)[0])
    assert {"spectrum 3 sequence", "weighted degree 8 (shift 5) sequence"} <= set(
        usual.kernel_names_
    )
    with parameter_error("does not fit into 5 letters"):
        make_sequences(10, 5, ["TATAAT"], seed=0)


def test_a_data_set_of_sequences_alone():
    found = make_sequences(30, 20, ["TATAAT", "GGCCAA"], seed=0)[0]
    data = Dataset(np.empty((30, 0)), found.y, task="binary", sequences=found.sequences)
    model = LpMKLClassifier().fit(data)
    assert model.predict(data).shape == (30,)
    assert all("spectrum" in name or "degree" in name for name in model.kernel_names_)
    with kernel_error(r"Linear\(\) needs columns, and the data have sequences only"):
        LpMKLClassifier(kernels=KernelDictionary((Linear(),))).fit(data)
    with kernel_error("has no kernels on sequences"):
        HKLClassifier().fit(data)


def test_what_looks_like_sequences(rng):
    dna = strings(rng, 30, 20, 40)
    assert all(
        map(
            look_like_sequences,
            (dna, [text.lower() for text in dna], strings(rng, 30, 30, 60, PROTEIN)),
        )
    )
    words = ["INTERNATIONALISATION", "CONSTITUTIONAL", "DEMOCRATISATION"] * 10
    labels = ["Yes", "no", "maybe"] * 20
    numbers = [f"ID{i:06d}" for i in range(30)]
    for texts in (words, labels, numbers, ["a sentence of words"] * 30, strings(rng, 30, 2, 4)):
        assert not look_like_sequences(texts)


def dna(n=60):
    data = make_sequences(n, 30, [("TATAATGC", 10)], seed=0, mutation=0.0)[0]
    labels = ["pos" if label > 0 else "neg" for label in data.y]
    rows = zip(data.sequences[0][1], np.arange(n) % 7, labels, strict=True)
    return (
        "dna,weight,label\n" + "\n".join(f"{text},{w},{label}" for text, w, label in rows)
    ).encode()


def test_a_text_column_is_read_as_sequences_and_new_files_like_it():
    data = read_table(dna())
    assert (data.target_name, data.sequences[0][0], len(data.sequences[0][1][0])) == (
        "label",
        "dna",
        30,
    )
    assert dict(data.columns)["dna"] == (0, 1, 2, 3)
    assert any("Read as sequences of letters" in note for note in data.notes)
    reading = data.encoder
    new = reading.read(dna().replace(b"label", b"other"))
    assert np.array_equal(new.table, data.table)
    with data_error("has 34 letters in row 1; the longest of the training table has 30"):
        reading.read(dna().replace(b"label\n", b"label\nACGT", 1))


def test_a_first_answer_ranks_sequences_and_finds_the_planted_word():
    data = read_table(dna(120))
    found = explore(data)
    assert found.columns[0].name == "dna"
    assert found.test_scores()["ours"] > 0.85
    reported = positional_importance(found.model, data, k=4)
    assert reported.words[0].word in "TATAATGC"
    assert 10 <= reported.words[0].place <= 14
    assert 10 <= int(reported.importance.argmax()) < 18
    figure = mkl.figures.positions_figure(reported, "dna")
    assert figure.data[0].z.shape == (4, 30)
    assert reported.words[0].word in figure.layout.meta["alt"]
    columns = LpMKLClassifier(kernels=KernelDictionary((Linear(),))).fit(data)
    with parameter_error("No kernel in use sees sequence number 0"):
        positional_importance(columns, data)


def test_the_kernels_page_has_sliders_for_sequences():
    app = go(upload(open_app(), dna()), "pages/kernels/page.py")
    assert "spectrum 3 dna" in app.selectbox(key="field_shown").options
    app.slider(key="field_spectrum").set_value(5).run()
    assert {"spectrum 5 dna", "weighted degree 5 dna"} <= set(
        quiet(app).selectbox(key="field_shown").options
    )
    # products and sums stand in the table, too
    composed = open_app(data="iris", edited="lin@1&rbf1m@2;~lin@1|pol2@*")
    assert (
        "(linear sepal length (cm)) × (RBF 1 × median, sepal width (cm))"
        in go(composed, "pages/kernels/page.py").selectbox(key="field_shown").options
    )
