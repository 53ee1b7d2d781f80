"""A ready stack of kernels on eighty rows, as a file, and the app with such a file in it."""

import io

import numpy as np

from tests.helpers.pages import open_app, upload

X = np.random.default_rng(0).standard_normal((80, 4))
LINEAR = np.array([np.outer(x, x) for x in X.T])
RBF = np.exp(-np.square(X[:, None] - X[None]).sum(-1) / 8)[None]
K = np.concatenate([LINEAR, RBF, 2 * LINEAR[:1]])
Y = (X[:, 0] > 0).astype(int)
NAMES = np.array(["one", "two", "three", "four", "all", "one again"])


def npz(**arrays):
    """A file of arrays."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def stack_file(**others):
    """The file of the stack, with other arrays in their places or beside them."""
    return npz(**{"K": K, "y": Y, **others})


def with_stack(**others):
    """The app on Data, with this file chosen."""
    return upload(open_app(), stack_file(**others), "stack.npz")
