"""Ready kernel stacks: what a file may hold, what is refused, and how the pages work without
columns.
"""

import io
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mklcore.data.dataset import three_way_split
from mklcore.errors import MKLError, cancellation_scope
from mklcore.kernels import grams, stacks
from mklcore.kernels.stacks import block_of, is_stack, read_stack, rows_of, subset
from pages.shared.session import state
from pages.shared.work import work
from tests.helpers.every import every
from tests.helpers.pages import change, go, memory, plain_words, press, put, wait_until, words
from tests.helpers.refusals import data_error, kernel_error
from tests.helpers.stacks import LINEAR, NAMES, K, X, Y, npz, stack_file, with_stack


def read(task=None, clip=False, **arrays):
    """The stack of a file with other arrays in their places."""
    return read_stack(stack_file(**arrays), task=task, clip=clip)


def test_a_stack_comes_with_names_a_target_and_row_numbers():
    found = read(names=NAMES)
    assert_array_equal(found.stack.values, K)
    assert found.stack.names == tuple(NAMES)
    assert found.table.task == "binary"
    assert rows_of(found.table).tolist() == list(range(80))
    assert read(K=K.astype(np.float32)).stack.names[0] == "kernel 1"


def test_the_split_cuts_the_stack_by_rows():
    found = read()
    parts = three_way_split(found.table, 0.25, 0.25, seed=3)
    rows = [rows_of(part) for part in parts]
    assert sorted(np.concatenate(rows).tolist()) == list(range(80))
    assert_array_equal(found.stack.take(rows[0]).values, K[:, rows[0]][:, :, rows[0]])
    assert_array_equal(block_of(found.stack, parts.test, parts.train), K[:, rows[2]][:, :, rows[0]])
    assert_array_equal(parts.test.y, Y[rows[2]])


def test_a_rare_class_of_a_stack_is_reported_and_stays_in_training():
    few = np.array(["a", "b"] * 39 + ["c", "c"])
    table = read(y=few).table
    assert "Too rare to be held out: class 'c' (2 rows)" in table.notes[-1]
    assert np.sum(three_way_split(table, 0.25, 0.25).train.y == "c") == 2


def test_targets_are_classes_or_numbers():
    numbers = X[:, 1]
    assert read(y=numbers).table.task == "regression"
    assert read(y=np.arange(80) % 4).table.task == "multiclass"
    assert read(y=np.arange(80) % 4, task="regression").table.task == "regression"
    gaps = read(y=np.where(np.arange(80) < 9, np.nan, numbers))
    assert (gaps.stack.n_samples, rows_of(gaps.table).tolist()) == (71, list(range(71)))
    assert_array_equal(gaps.stack.values, K[:, 9:, 9:])
    texts = read(y=np.where(Y, "yes", "no")).table
    assert texts.class_names == ("no", "yes")
    with data_error(r"target 'y' is text .* regression needs numbers"):
        read(y=np.where(Y, "yes", "no"), task="regression")
    with data_error("'y' has 80 classes in 80 rows"):
        read(y=numbers, task="classification")


def test_doubled_and_blank_names_are_distinguished():
    names = read(names=np.array(["a", "a", "", "b\n", "b", "a"])).stack.names
    assert names == ("a", "a (2)", "kernel 3", "b", "b (2)", "a (3)")


class Enough(BaseException):
    """Raised by who no longer wants to know."""


def test_a_stack_is_refused_by_its_headers_and_its_reading_can_be_ended():
    asked = []
    with cancellation_scope(lambda: asked.append(1)):
        with data_error(r"y has shape \(79,\), but K has 80 rows"):
            read(y=Y[1:])
        with data_error("There are 5 names for 6 kernels"):
            read(names=NAMES[1:])
        with data_error("y unpacks to 32 MB, above the limit of 20 MB"):
            read(y=np.array(["a" * 100_000] * 80))
        many = stack_file(**{f"array_{k}": Y[:1] for k in range(2500)})
        with data_error("lists far more than a stack's three arrays"):
            read_stack(many)
    assert not asked  # nothing was unpacked
    assert not is_stack(many)

    def stop():
        raise Enough

    with pytest.raises(Enough), cancellation_scope(stop):
        read()


def test_only_so_many_rows_are_clipped(monkeypatch):
    monkeypatch.setattr(stacks, "MOST_CLIPPED", 6 * 79**3)
    with data_error("of 6 kernels are set to 0 on at most 79 rows, and K has 80"):
        read(K=K - 0.1 * np.eye(80), clip=True)


def test_kernels_on_many_rows_are_judged_by_lanczos_steps(monkeypatch):
    monkeypatch.setattr(grams, "EXACT_ROWS", 40)
    ticks = []
    with cancellation_scope(lambda: ticks.append(1)):
        for one in (LINEAR[0], np.zeros((80, 80)), K[4]):
            grams.check_gram("fine", one)
        assert len(ticks) == 3
        with kernel_error(r"smallest eigenvalue is -0\.1"):
            grams.check_gram("moved", LINEAR[0] - 0.1 * np.eye(80))
    assert len(ticks) > 20  # one a step
    with kernel_error("not positive semidefinite"):
        grams.check_gram("turned", -np.ones((80, 80)))


def bad_header(shape):
    """An archive whose K says it has this shape and holds nothing."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    head = b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n"
    file = io.BytesIO(npz(y=Y))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("K.npy", head)
    return file.getvalue()


@every(
    "raw, said",
    [
        (npz(K=K), "no array 'y'; expected K .* It holds 'K'"),
        (npz(Q=K, y=Y), "no array 'K'"),
        (stack_file(K=K[0]), r"K has the shape \(80, 80\); expected \(M, n, n\)"),
        (npz(K=K[:, :5], y=Y), r"K has the shape \(6, 5, 80\)"),
        (stack_file(K=K[:0]), "K has the shape"),
        (stack_file(y=np.ones(80)), "'y' holds one class only"),
        (stack_file(y=np.where(Y, np.nan, 1.0)), "'y' (is missing in|holds one class only)"),
        (stack_file(K=K + 0j), "K has the type complex128; expected numbers"),
        (stack_file(names=np.arange(6)), "names has the type int64; expected texts"),
        (
            stack_file(y=np.array([None, 1] * 40, dtype=object)),
            "y holds Python objects, which can run code",
        ),
        (stack_file()[:400], r"archive is damaged \(BadZipFile\); save it again"),
        (
            bad_header("(100000, 100000, 100000)"),
            "unpacks to 8,000,000,000 MB, above the limit of 400 MB",
        ),
        (bad_header("(5, 80, 80)"), "archive is damaged"),
        (bad_header(f"({10**400}, 8, 8)"), "damaged|cannot be read"),
        (bad_header("(2**9, 8, 8)"), "damaged|cannot be read"),
        (bad_header("(3, -80, -80)"), "damaged|cannot be read|has the shape"),
    ],
)
def test_other_archives_are_refused(raw, said):
    with data_error(said):
        read_stack(raw)


def test_damaged_archives_never_lead_to_another_error():
    whole = npz(K=K[:2, :20, :20], y=Y[:20])
    chance = np.random.default_rng(1)
    for _ in range(60):
        raw = bytearray(whole)
        for place in chance.integers(4, len(raw), 4):
            raw[place] = chance.integers(256)
        try:
            read_stack(bytes(raw))
        except MKLError:
            continue


def test_some_kernels_of_a_stack():
    stack = read(names=NAMES).stack
    some = subset(stack, [4, 0])
    assert some.names == ("all", "one")
    assert_array_equal(some.values, K[[4, 0]])
    with kernel_error("No kernel of the stack is switched on"):
        subset(stack, [])


def test_only_archives_of_arrays_are_stacks():
    assert is_stack(stack_file())
    assert not is_stack(b"a,b\n1,2\n")
    assert not is_stack(b"PK\x03\x04 and nothing")


# Pages


def test_a_stack_goes_through_the_pages():
    work.WORK.clear()  # of stacks that other tests brought
    app = with_stack(names=NAMES)
    assert "**6** kernels on **80** rows, without columns" in words(app)
    params = memory(app).params
    go(app, "pages/kernels/page.py")
    assert "**6** kernels on **40** training rows" in words(app)
    assert "1 kernel repeats another one up to a factor: one again" in words(app)
    go(app, "pages/explore/page.py")
    wait_until(lambda: "kernels used" in words(app), app)
    assert not app.error
    assert [secret != "" for secret, key in work.WORK._kept if key[0] == "stack"] == [True]
    assert params.data.startswith("upload:")


def test_kernels_of_a_stack_are_switched_off_and_on_again():
    app = go(with_stack(names=NAMES), "pages/kernels/page.py")
    press(app, "off_duplicates")
    assert app.query_params["edited"] == "stack@1-5"
    assert "**5** kernels on" in words(app)
    press(app, "builders_back")
    assert "**6** kernels on" in words(app)
    assert "numbered from 1 to 6" in plain_words(change(app, edited="stack@9"))


def test_an_indefinite_stack_is_refused_and_clipped_on_request():
    app = with_stack(K=K - 0.1 * np.eye(80))
    assert "not positive semidefinite" in app.error[0].value
    put(app, "field_clip", True)
    assert not app.error
    assert "Negative eigenvalues of 6 kernels were set to 0" in plain_words(app)
    assert app.query_params["clip"] == "yes"


def test_a_refused_target_of_a_stack_names_the_control_of_the_page():
    app = with_stack(y=X[:, 1])
    put(app, "field_task", "classification")
    assert "or read it as a number, under Task" in words(app)
    assert "task=" not in words(app)


def test_the_limits_of_a_file_are_those_of_the_upload(monkeypatch):
    assert state.STACK_LIMIT_MB == stacks.MAX_FILE_MB
    monkeypatch.setattr(stacks, "MAX_FILE_MB", 0.01)
    with data_error(r"larger than .* MB, the limit for stacks"):
        read()
