"""Kernels on sequences, against words counted by hand; data sets with sequences; models on both through their whole
life.
"""

from collections import Counter

import numpy as np
import pytest

import mklcore as mkl
from mklcore.answer.words import positional_importance
from mklcore.data.reading import fit_encoder
from mklcore.data.sequences import MAX_LENGTH, look_like_sequences
from mklcore.errors import DataError, KernelError, ParameterError
from mklcore.kernels.grams import Rows
from tests.helpers.every import every
from tests.helpers.pages import go, open_app, quiet, upload

ANY = "ABCDEFGHIJKLMNOPQRSTUVWXYZaé"


def strings(rng, n, low, high, letters="ACGT"):
    return ["".join(rng.choice(list(letters), rng.integers(low, high + 1))) for _ in range(n)]


def spectrum(x, z, k):
    a, b = (Counter(text[i : i + k] for i in range(len(text) - k + 1)) for text in (x, z))
    return sum(a[word] * b[word] for word in a)


def weighted_degree(x, z, degree, shift):
    """The double sum of the definition, word by word."""
    total, L = 0.0, len(x)
    for k in range(1, degree + 1):
        b = 2 * (degree - k + 1) / (degree * (degree + 1))
        for i in range(L):
            if not shift:
                total += b * (i + k <= L and x[i : i + k] == z[i : i + k])
                continue
            for s in range(min(shift, L - i - k) + 1):
                pair = (x[i + s : i + s + k] == z[i : i + k]) + (x[i : i + k] == z[i + s : i + s + k])
                total += b * pair / (2 * (s + 1))
    return total


def by_hand(kernel, rows, columns, *numbers):
    return np.array([[kernel(x, z, *numbers) for z in columns] for x in rows])


@every("k", [1, 2, 3, 7, 14])
def test_spectrum_counts_words(k):
    rng = np.random.default_rng(k)
    rows, new = strings(rng, 12, 1, 30, ANY if k < 3 else "AB"), strings(rng, 6, 1, 70, ANY if k < 3 else "AB")
    stack = mkl.SequenceDictionary([mkl.Spectrum(k)]).grams(rows, normalise=None)
    assert stack.values[0] == pytest.approx(by_hand(spectrum, rows, rows, k))
    assert stack.cross(new)[0] == pytest.approx(by_hand(spectrum, new, rows, k))


@every("degree, shift", [(1, 0), (3, 0), (20, 3), (5, 2), (4, 40)])
def test_weighted_degree_adds_up_words_at_their_places(degree, shift):
    rng = np.random.default_rng(degree)
    rows, new = strings(rng, 9, 11, 11), strings(rng, 4, 11, 11)
    stack = mkl.SequenceDictionary([mkl.WeightedDegree(degree, shift)]).grams(rows, normalise=None)
    assert stack.values[0] == pytest.approx(by_hand(weighted_degree, rows, rows, degree, shift))
    assert stack.cross(new)[0] == pytest.approx(by_hand(weighted_degree, new, rows, degree, shift))
    assert np.linalg.eigvalsh(stack.values[0])[0] > -1e-9


def test_spherical_is_the_usual_way_and_long_new_strings_are_welcome():
    rng = np.random.default_rng(0)
    rows = strings(rng, 10, 5, 9)
    stack = mkl.SequenceDictionary([mkl.Spectrum(2), mkl.Spectrum(3)]).grams(rows)
    assert np.diagonal(stack.values, axis1=1, axis2=2) == pytest.approx(np.ones((2, 10)))
    assert stack.cross(rows) == pytest.approx(stack.values)
    assert stack.cross(["ACGT" * 20])[0, 0] == pytest.approx(
        [spectrum("ACGT" * 20, z, 2) / np.sqrt(spectrum(z, z, 2) * spectrum("ACGT" * 20, "ACGT" * 20, 2)) for z in rows]
    )


def test_what_is_refused():
    build = mkl.SequenceDictionary
    with pytest.raises(KernelError, match="needs strings of one length; here they have 3 to 5"):
        build([mkl.WeightedDegree(2)]).grams(["ACG", "ACGTA", "ACG"])
    with pytest.raises(KernelError, match="strings of 7 letters do not fit those of 4"):
        build([mkl.WeightedDegree(2)]).grams(["ACGT", "TTGT"]).cross(["ACGTACG"])
    with pytest.raises(KernelError, match="a table of numbers has none"):
        mkl.KernelDictionary((mkl.Spectrum(2),)).grams(np.eye(3))
    with pytest.raises(KernelError, match="needs sequence number 2, the data have 1"):
        build([mkl.Spectrum(2, 2)]).grams(["ACGT", "AA"])
    with pytest.raises(ParameterError, match="holds kernels on strings"):
        build([mkl.Linear()])
    with pytest.raises(ParameterError, match="k must be a whole number from 1 to 50; got 0"):
        mkl.Spectrum(0)
    with pytest.raises(DataError, match="Row 2 is int, not a string"):
        build([mkl.Spectrum(2)]).grams(["ACGT", 3])
    with pytest.raises(DataError, match="are a list of strings, one per row; got str"):
        build([mkl.Spectrum(2)]).grams("ACGT")
    with pytest.raises(DataError, match="expected 1 to 20,000"):
        build([mkl.Spectrum(2)]).grams(["A" * (MAX_LENGTH + 1), "C"])
    with pytest.raises(DataError, match="more than 30,000,000 letters"):
        build([mkl.Spectrum(2)]).grams(["A" * MAX_LENGTH] * 1600)


@pytest.fixture(scope="module")
def data():
    made = mkl.make_sequences(60, 40, [("TATAAT", 12), ("GGCC", 25)], seed=0)[0]
    rng = np.random.default_rng(1)
    return mkl.Dataset(
        rng.standard_normal((60, 2)), made.y, ("a", "b"), task="binary",
        sequences=(*made.sequences, ("other", tuple(strings(rng, 60, 3, 12)))),
    )  # fmt: skip


def test_a_data_set_carries_sequences(data):
    train, test = data.split(0.25, seed=0)
    assert len(train.sequences[0][1]) == 45
    rows = [data.sequences[1][1].index(text) for text in test.sequences[1][1]]
    assert test.y.tolist() == data.y[rows].tolist()
    assert data.take([3, 1]).sequences[0][1] == (data.sequences[0][1][3], data.sequences[0][1][1])
    changed = (data.sequences[0], ("other", ("A", *data.sequences[1][1][1:])))
    same = {"X": data.X, "y": data.y, "feature_names": ("a", "b"), "task": "binary"}
    assert mkl.Dataset(**same, sequences=data.sequences) == data
    assert mkl.Dataset(**same, sequences=changed) != data
    assert mkl.Dataset(**same) != data
    assert data.select(["b"]).sequences == data.sequences
    with pytest.raises(DataError, match="'other' has 59 strings for 60 rows"):
        mkl.Dataset(**same, sequences=(("other", data.sequences[1][1][:59]),))
    with pytest.raises(DataError, match="Row 1 of 'other' is float"):
        mkl.Dataset(**same, sequences=(("other", (1.5, *data.sequences[1][1][1:])),))


def kernels():
    return mkl.KernelDictionary(
        (mkl.Linear(), mkl.RBF(1.0, relative=True, features=(1,))), feature_names=("a", "b")
    ) + (mkl.SequenceDictionary([mkl.Spectrum(3), mkl.WeightedDegree(4, 2), mkl.Spectrum(2, 1)]))


def test_columns_and_sequences_make_one_stack(data):
    train, test = data.split(0.25, seed=0)
    stack = kernels().grams(train)
    names = (
        "linear",
        "RBF 1 × median, b",
        "spectrum 3 sequence",
        "weighted degree 4 (shift 2) sequence",
        "spectrum 2 other",
    )
    assert tuple(spec.name(("a", "b")) for spec in stack.specs)[2:] == names[2:]
    assert stack.values[:2] == pytest.approx(mkl.KernelDictionary(kernels().specs[:2]).grams(train.X).values)
    alone = mkl.SequenceDictionary([mkl.Spectrum(2)]).grams(train.sequences[1][1], normalise="multiplicative")
    assert stack.values[4] == pytest.approx(alone.values[0])
    assert stack.cross(test)[4] == pytest.approx(alone.cross(test.sequences[1][1])[0])
    rows = Rows.build(kernels().on(train), train.table)
    assert rows.rows(np.arange(45)) == pytest.approx(stack.values)


def test_a_model_of_both_lives_as_any_other(data, tmp_path):
    train, test = data.split(0.25, seed=0)
    model = mkl.LpMKLClassifier(kernels=kernels(), p=1.5).fit(train)
    stored = mkl.LpMKLClassifier(kernels="precomputed", p=1.5).fit(kernels().grams(train), train.y)
    assert model.weights_ == pytest.approx(stored.weights_, abs=1e-6)
    assert model.score(test) == model.score(test, test.y) > 0.8
    rows = mkl.LpMKLClassifier(kernels=kernels(), p=1.5, solver="interleaved").fit(train)
    assert rows.objective_ == pytest.approx(model.objective_, rel=2e-3)
    mkl.save_model(tmp_path / "model.mkl", model)
    again = mkl.load_model(tmp_path / "model.mkl")
    longer = mkl.Dataset(
        test.X, test.y, ("a", "b"), task="binary", sequences=(test.sequences[0], ("other", ("ACGT" * 30,) * 15))
    )
    for new in (test, longer):
        assert again.decision_function(new) == pytest.approx(model.decision_function(new), abs=1e-12)
    assert again.kernels == kernels()
    path = mkl.fit_path(mkl.LpMKLClassifier(kernels=kernels()), train, train.y, "C", [0.1, 1.0], test, test.y)
    folds = mkl.cross_validate_path(mkl.LpMKLClassifier(kernels=kernels()), data, data.y, "C", [1.0], n_splits=3)
    assert path.val_score[1] == mkl.LpMKLClassifier(kernels=kernels()).fit(train).score(test)
    assert folds.val_score[0] > 0.8
    with pytest.raises(DataError, match=r"the sequences \['sequence', 'other'\]; the data have 2 and \['sequence'\]"):
        model.predict(mkl.Dataset(test.X, test.y, ("a", "b"), task="binary", sequences=test.sequences[:1]))


def test_motifs_are_planted_where_the_truth_says():
    data, truth = mkl.make_sequences(240, 40, [("TATAATGC", 20)], seed=3, jitter=2, mutation=0.02)
    rows = np.flatnonzero(data.y > 0)
    assert truth.positions[rows, 0].min() >= 18
    assert truth.positions[rows, 0].max() <= 22
    assert (truth.positions[data.y < 0] == -1).all()
    usual = mkl.LpMKLClassifier(p=2.0).fit(data.split(0.4, seed=0)[0])
    assert {"spectrum 3 sequence", "weighted degree 8 (shift 5) sequence"} <= set(usual.kernel_names_)
    with pytest.raises(ParameterError, match="does not fit into 5 letters"):
        mkl.make_sequences(10, 5, ["TATAAT"], seed=0)


def test_a_data_set_of_sequences_alone():
    found = mkl.make_sequences(30, 20, 2, seed=0)[0]
    data = mkl.Dataset(np.empty((30, 0)), found.y, task="binary", sequences=found.sequences)
    model = mkl.LpMKLClassifier().fit(data)
    assert model.predict(data).shape == (30,)
    assert all("spectrum" in name or "degree" in name for name in model.kernel_names_)
    with pytest.raises(KernelError, match=r"Linear\(\) needs columns, and the data have sequences only"):
        mkl.LpMKLClassifier(kernels=mkl.KernelDictionary((mkl.Linear(),))).fit(data)
    with pytest.raises(KernelError, match="has no kernels on sequences"):
        mkl.HKLClassifier().fit(data)


def test_what_looks_like_sequences():
    rng = np.random.default_rng(0)
    protein = strings(rng, 30, 30, 60, "ACDEFGHIKLMNPQRSTVWY")
    assert look_like_sequences(strings(rng, 30, 20, 40))
    assert look_like_sequences([text.lower() for text in strings(rng, 30, 20, 40)])
    assert look_like_sequences(protein)
    words = ["INTERNATIONALISATION", "CONSTITUTIONAL", "DEMOCRATISATION"] * 10
    labels, numbers = ["Yes", "no", "maybe"] * 20, [f"ID{i:06d}" for i in range(30)]
    for texts in (words, labels, numbers, ["a sentence of words"] * 30, strings(rng, 30, 2, 4)):
        assert not look_like_sequences(texts)


def dna(n=60):
    data = mkl.make_sequences(n, 30, [("TATAATGC", 10)], seed=0, mutation=0.0)[0]
    labels = ["pos" if label > 0 else "neg" for label in data.y]
    rows = zip(data.sequences[0][1], np.arange(n) % 7, labels, strict=True)
    return ("dna,weight,label\n" + "\n".join(f"{text},{w},{label}" for text, w, label in rows)).encode()


def test_a_text_column_is_read_as_sequences_and_new_files_like_it():
    data = mkl.read_table(dna())
    assert (data.target_name, data.sequences[0][0], len(data.sequences[0][1][0])) == ("label", "dna", 30)
    assert dict(data.columns)["dna"] == (0, 1, 2, 3)
    assert any("Read as sequences of letters" in note for note in data.notes)
    reading = fit_encoder(dna(), data)
    new = reading.read(dna().replace(b"label", b"other"))
    assert np.array_equal(new.table, data.table)
    with pytest.raises(DataError, match="has 34 letters in row 1; the longest of the training table has 30"):
        reading.read(dna().replace(b"label\n", b"label\nACGT", 1))


def test_a_first_answer_ranks_sequences_and_finds_the_planted_word():
    data = mkl.read_table(dna(120))
    found = mkl.explore(data)
    assert found.columns[0].name == "dna"
    assert found.test_scores()["ours"] > 0.85
    reported = positional_importance(found.model, data, k=4)
    assert reported.words[0].word in "TATAATGC"
    assert 10 <= reported.words[0].place <= 14
    assert 10 <= int(reported.importance.argmax()) < 18
    figure = mkl.figures.positions_figure(reported, "dna")
    assert figure.data[0].z.shape == (4, 30)
    assert reported.words[0].word in figure.layout.meta["alt"]
    columns = mkl.LpMKLClassifier(kernels=mkl.KernelDictionary((mkl.Linear(),))).fit(data)
    with pytest.raises(ParameterError, match="No kernel in use sees sequence number 0"):
        positional_importance(columns, data)


def test_the_kernels_page_has_sliders_for_sequences():
    app = go(upload(open_app(), dna()), "pages/kernels.py")
    assert "spectrum 3 dna" in app.selectbox(key="field_shown").options
    composed = open_app(data="iris", edited="lin@1&rbf1m@2;~lin@1|pol2@*")  # products and sums stand in the table, too
    assert (
        "(linear sepal length (cm)) × (RBF 1 × median, sepal width (cm))"
        in go(composed, "pages/kernels.py").selectbox(key="field_shown").options
    )
    app.slider(key="field_spectrum").set_value(5).run()
    assert {"spectrum 5 dna", "weighted degree 5 dna"} <= set(quiet(app).selectbox(key="field_shown").options)
