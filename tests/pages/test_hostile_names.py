"""Names that another reader would obey: spreadsheets, browsers, LaTeX, Python.

Every page and every export says them as text.
"""

import json
import unicodedata

import numpy as np
import plotly.graph_objects as go

from mklcore import read_table
from mklcore.figures import weight_path, weights_bar
from pages.shared.widgets import drawing
from tests.figures.test_one_file import a_path
from tests.helpers.hostile_names import FURTHER, HOSTILE, NAMES, table
from tests.helpers.refusals import data_error


def test_a_table_of_such_names_is_read_and_a_binary_one_refused():
    data = read_table(table(NAMES))
    assert data.n_features == len(NAMES)
    assert set(data.y) == set(NAMES[:2])
    assert all(unicodedata.category(sign)[0] != "C" for name in data.feature_names for sign in name)
    with data_error("NUL"):
        read_table(table(HOSTILE + FURTHER))


def test_a_figure_as_a_file_has_no_script_of_a_name():
    """The page of a figure, and its text for those who do not see it."""
    for names in (HOSTILE, FURTHER):
        path = a_path(names=names)
        plain = a_path(names=tuple(f"k{j}" for j in range(len(names))))
        drawn, usual = (drawing.page_of(weight_path(one, 1)) for one in (path, plain))
        assert drawn.count("<script") == usual.count("<script")
        assert drawn.count("</script") == usual.count("</script")
        assert "<img src=x" not in drawn
        figure = weights_bar(path.weights[1], path.kernel_names, path.kernel_families)
        assert isinstance(figure, go.Figure)
        for text in marks(figure):
            assert "<img" not in text
            assert "<svg" not in text
            assert "href" not in text or "<a" not in text


def marks(figure):
    """Texts that plotly draws, and where a few tags count as markup."""
    reported = json.loads(figure.to_json())
    notes = [note.get("text") for note in reported["layout"].get("annotations", [])]
    ticks = [
        axis.get("ticktext") or [] for key, axis in reported["layout"].items() if "axis" in key
    ]
    texts = [text for trace in reported["data"] for text in np.ravel(trace.get("text") or [])]
    return [
        str(text)
        for text in (*notes, *texts, *(one for line in ticks for one in line))
        if text is not None
    ]
