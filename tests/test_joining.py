"""Several tables in one file: packed, joined when it is read, and shown as views."""

import re

import numpy as np
import pytest

import mklcore as mkl
from mklcore.data.applying import learn_reading
from mklcore.data.joining import pack_tables, packed_tables
from mklcore.data.reading import describe_table, read_table
from mklcore.errors import DataError
from mklcore.figures import view_rows
from tests.pages import go, open_app, quiet, wait_for_path, words

RNG = np.random.default_rng(3)
N = 60
SOUND, LOOKS = RNG.normal(size=(N, 2)).round(3), RNG.normal(size=(N, 2)).round(3)
KIND = np.where(SOUND[:, 0] > 0, "cat", "dog")


def tables(missing: int = 12) -> dict[str, bytes]:
    """Two tables; the last ``missing`` animals have no looks."""
    sound = [f"{i},{SOUND[i, 0]},{SOUND[i, 1]},{KIND[i]}" for i in range(N)]
    looks = [f"{i},{LOOKS[i, 0]},{LOOKS[i, 1]}" for i in range(N - missing)]
    return {
        "sound": "\n".join(["animal,pitch,loudness,class", *sound]).encode(),
        "looks": "\n".join(["animal,width,height", *looks]).encode(),
    }


def test_packed_tables_come_out_as_they_went_in():
    assert packed_tables(pack_tables(tables())) == tables()
    assert packed_tables(b"a,b\n1,2\n") == {}
    with pytest.raises(DataError, match="damaged; choose the tables again"):
        packed_tables(pack_tables(tables())[:-1])
    with pytest.raises(DataError, match="damaged; choose the tables again"):
        packed_tables(b"MKLVIEWS1\n{}[\n")


def test_packed_tables_are_read_as_their_views_and_new_rows_alike():
    packed = pack_tables(tables())
    data, joined = read_table(packed), mkl.read_tables(tables())
    assert data == joined
    assert [name for name, _ in data.groups] == ["sound", "looks"]
    assert data.present == (("looks", data.feature_names.index("looks: present")),)
    assert describe_table(packed).target == "class"
    reading = learn_reading(packed, data)
    assert np.array_equal(reading.apply(packed).X, data.X)
    one_file = b"pitch,loudness,width,height\n0.5,1.5,2.5,3.5\n"
    assert reading.apply(one_file).X.tolist() == [[0.5, 1.5, 2.5, 3.5, 1.0]]


def test_a_key_that_does_not_join_offers_another():
    packed = pack_tables(tables())
    with pytest.raises(DataError, match="has no column 'name'") as caught:
        read_table(packed, key="name")
    assert [dict(one.settings) for one in caught.value.repairs] == [{"key": None}]


def test_a_view_is_a_bar_with_its_rows_and_weight():
    figure = view_rows(("sound", "looks"), [[True, True, True], [True, False, True]], {"sound": 0.75})
    assert figure.layout.meta["alt"] == "Rows in every view: sound 3 of 3 and looks 2 of 3."
    assert [note.text for note in figure.layout.annotations] == ["3 rows, 75 % of the weight", "2 rows"]
    assert [list(bar.x) for bar in figure.data] == [[2, 2], [1, 1]]


def test_several_files_are_uploaded_as_views_with_a_kernel_each():
    app = open_app("pages/data.py", validation="0.4", test="0.3")
    chosen = app.file_uploader(key="views_uploader")
    quiet(chosen.set_value([(f"{name}.csv", content, "text/csv") for name, content in tables().items()]).run())
    assert "Every table is a group of columns: 'sound', 'looks'" in words(app).replace("\\", "")
    quiet(app.button(key="kernel_per_view").click().run())
    wait_for_path(go(app, "pages/explore.py"))
    (chart,) = [one for one in go(app, "pages/data.py").get("plotly_chart") if "of the weight" in one.proto.spec]
    shares = [int(share) for share in re.findall(r"rows, (\d+) % of the weight", chart.proto.spec)]
    assert sum(shares) == pytest.approx(100, abs=1)
