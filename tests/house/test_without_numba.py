"""The library without numba: the same answers from numpy, and a sentence where only compiled loops
are fast enough.
"""

import json

import numpy as np

from tests.helpers.every import share
from tests.helpers.project import run_python

ANSWERS = """
import sys
if "without" in sys.argv:
    sys.modules["numba"] = sys.modules["llvmlite"] = None
import json
import numpy as np
import mklcore as mkl

def answer(name):
    table = mkl.load_sample(name).drawn(60, 0)
    found = mkl.explore(table)
    said = found.model.decision_function if table.task != "regression" else found.model.predict
    columns = sorted((one.name, one.effect) for one in found.columns)
    return [found.score, *(effect for _, effect in columns), *np.ravel(said(table.table))]

print(json.dumps({name: answer(name) for name in TABLES}))
"""
TABLES = share(("iris", "wine", "diabetes", "breast_cancer", "sparse_polynomial"), 2)
REFUSED = """
import numpy as np
import mklcore as mkl
rng = np.random.default_rng(0)
X = rng.standard_normal((400, 12))
models = [mkl.LpMKLClassifier(C=1.0), mkl.LpMKLClassifier(C=1.0, p=2.0, solver="interleaved"), mkl.HKLClassifier()]
for model in models:
    try:
        model.fit(X, X[:, 0] > 0)
    except mkl.MKLError as error:
        print(error)
"""


def said_without(script, *arguments):
    return run_python("-c", script, *arguments, MKLCORE_NUMBA="0")


def test_answers_are_equal_without_numba():
    script = ANSWERS.replace("TABLES", repr(TABLES))
    plain = json.loads(said_without(script, "without"))
    code = {}
    exec(compile(script.rpartition("print")[0], "answers", "exec"), code)
    for name in TABLES:
        np.testing.assert_allclose(
            plain[name], code["answer"](name), rtol=1e-9, atol=1e-9, err_msg=name
        )


def test_what_needs_compiled_loops_is_refused_by_name():
    lines = said_without(REFUSED).splitlines()
    for method, line in zip(
        ("support vector machine", "interleaved", "Hierarchical"), lines, strict=True
    ):
        assert method in line
        assert "without numba at most" in line
        assert "Open the table in the app (mkl-explorer)" in line
