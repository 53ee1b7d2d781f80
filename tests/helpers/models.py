"""A fitted model: what it says of rows, and the model that comes back from its file."""

import io

import mklcore as mkl


def decided(model, rows):
    """The decision values of a classifier, or the predictions of a regressor."""
    return getattr(model, "decision_function", model.predict)(rows)


def reloaded(model):
    """The model that its file holds."""
    file = io.BytesIO()
    mkl.save_model(file, model)
    file.seek(0)
    return mkl.load_model(file)
