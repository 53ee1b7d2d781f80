"""Pages on a target far from zero, and where an answer is withheld: words, and never a traceback."""

import numpy as np
import pytest

from mklcore.errors import ProofError
from mklcore.problem import driver
from tests.helpers.pages import go, open_app, quiet, upload, words

FINDING = "Invariant 'objective' is violated: a method tells 1, its own coefficients give 2."


def far_table(offset):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = offset + X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.standard_normal(60)
    rows = "\n".join(f"{a:.4f},{b:.4f},{value:.6f}" for (a, b), value in zip(X, y, strict=True))
    return f"a,b,price\n{rows}\n".encode()


def uploaded(offset):
    return upload(open_app(widths="1", each="none", degree="0", methods="lp;uniform"), far_table(offset))


@pytest.mark.parametrize("page", ["explore", "compare", "hulls"])
def test_a_withheld_answer_is_reported_on_the_page(page, monkeypatch):
    def refuse(*_):
        raise ProofError(FINDING)

    monkeypatch.setattr(driver, "check", refuse)
    app = quiet(go(uploaded({"explore": 3.0, "compare": 4.0, "hulls": 5.0}[page]), f"pages/{page}.py").run())
    reported = words(app).replace("\\", "")
    assert "This answer is withheld" in reported
    assert "standardise the target" in reported
    assert "please report the method" in reported
    assert FINDING in reported
    assert "Traceback" not in reported
    assert "ProofError" not in reported
    assert not app.exception
