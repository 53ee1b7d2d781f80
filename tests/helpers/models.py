"""A fitted model after a way through its file."""

import io

import mklcore as mkl


def reloaded(model):
    """The model that its file holds."""
    file = io.BytesIO()
    mkl.save_model(file, model)
    file.seek(0)
    return mkl.load_model(file)
