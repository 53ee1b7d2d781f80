"""Paths in files: they come back as they were, and what cannot be trusted is refused with a
message.
"""

import io
import json
import zipfile

import numpy as np

from mklcore import KernelDictionary, LpMKLClassifier, Path, fit_path
from mklcore.paths.files import COLUMNS, read_paths, write_paths
from mklcore.problem.driver import Status
from tests.helpers.every import every
from tests.helpers.refusals import data_error, parameter_error


def made_up(n):
    rng = np.random.default_rng(n)
    one = lambda: rng.random(n)  # noqa: E731
    weights = rng.random((n, 3))
    whole = np.arange(n)
    return Path(
        "p", np.append(1.0 + np.sort(one())[:-1], np.inf), weights, one(), one(), np.full(n, np.nan), whole, one(),
        one(), one(), whole, (Status.CONVERGED,) * (n - 1) + (Status.MAX_ITER,), (None,) * n, (object(),) * n,
        ("a", "<b>", "c"), ("linear", "rbf", "rbf"), "accuracy",
    )  # fmt: skip


def solved():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = LpMKLClassifier(kernels=KernelDictionary.rbf_grid([0.5, 1.0]))
    return fit_path(model, X[:20], X[:20, 0] > 0, "C", [0.1, 1.0], X[20:], X[20:, 0] > 0)


@every("paths", [{"path": made_up(5)}, {"path": solved(), "point": made_up(1)}])
def test_paths_come_back_as_they_were_without_their_models(paths):
    back = read_paths(write_paths(**paths))
    assert list(back) == list(paths)
    for name, was in paths.items():
        kept = back[name]
        for column in (*COLUMNS, "weights"):
            np.testing.assert_array_equal(getattr(kept, column), getattr(was, column))
        assert kept.n_nonzero.dtype == kept.solves.dtype == np.int64
        for text in ("param", "statuses", "kernel_names", "kernel_families", "score_name"):
            assert getattr(kept, text) == getattr(was, text)
        assert set(kept.estimators) == set(kept.fits) == {None}
        assert not kept.weights.flags.writeable


def test_names_of_paths():
    for wrong in ({}, {"format": made_up(2)}):
        with parameter_error("names other than 'format', at least one"):
            write_paths(**wrong)


GOOD = write_paths(path=made_up(5))


def damaged(**change):
    out = io.BytesIO()
    np.savez(out, **(dict(np.load(io.BytesIO(GOOD))) | change))
    return out.getvalue()


def rewritten(**change):
    texts = json.loads(np.load(io.BytesIO(GOOD))["text"].tobytes())
    texts |= {"format": change.pop("format", texts["format"]), "path": texts["path"] | change}
    return damaged(text=np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8))


def bomb():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text.npy", bytes(80 * 2**20))
    return out.getvalue()


@every(
    "content, match",
    [
        (b"", "it is damaged"),
        (GOOD[: len(GOOD) // 2], "it is damaged"),
        (damaged(text=np.array([{"a": 1}], dtype=object)), "it is damaged"),
        (
            damaged(path_weights=np.zeros((5, 4))),
            r"path_weights is float64 \(5, 4\), not float64 \(5, 3\)",
        ),
        (damaged(path_values=np.array(["x"] * 5)), "path_values is <U1"),
        (damaged(path_values=np.full(5, np.nan)), "do not fit together"),
        (damaged(path_weights=np.full((5, 3), np.inf)), "do not fit together"),
        (rewritten(families=["rbf"]), "do not fit together"),
        (rewritten(param="gamma"), "the parameter 'gamma' are no path"),
        (rewritten(statuses=[]), "0 points"),
        (rewritten(statuses=["FINE"] * 5), "it is damaged"),
        (rewritten(format="path 9"), "its format is not 'path 1'"),
        (bomb(), "it unpacks to 80 MB, more than 64"),
    ],
)
def test_what_cannot_be_trusted_is_refused(content, match):
    with data_error(match):
        read_paths(content)
