"""One answer, and it stays: whatever the order in which work is done, the settled screen shows the same digits."""

import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import mklcore as mkl
from mklcore.kernels.dictionary import units
from pages._parts.derive import gram_stacks, looks, low_rank, paths, references, settling
from pages._parts.explore import verdict
from pages._parts.jobs import worker
from pages._parts.params.parameters import LOW_RANK, Params
from pages._parts.session import board
from pages._parts.session.memory import Memory
from tests.pages import go, memory, open_app, quiet, upload, words

EXPLORE = "pages/explore.py"
SECONDS = re.compile(r"(solved in )?(< )?[\d.,]+ (ms|s|min|MB|kB)\b")


class Delayed:
    """Does work when, and in the order in which, a test asks for it: a loaded machine."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, work: Callable[[], None]) -> None:
        """Keep ``work``."""
        self.waiting.append(work)

    def complete(self, which: int) -> None:
        """Do the work that came as number ``which`` of those that wait."""
        self.waiting.pop(which)()


@pytest.fixture
def delayed(monkeypatch: pytest.MonkeyPatch) -> Delayed:
    """Work is delayed, two hundred rows are many, and a first look comes first."""
    queue = Delayed()
    monkeypatch.setattr(worker, "instead", queue)
    monkeypatch.setattr(board, "_patience", lambda progress: 0.0)
    for place, name, value in ((low_rank, "MANY", 200), (low_rank, "LANDMARKS", 15), (gram_stacks, "ROWS", 60),
                               (gram_stacks, "FEWEST_JUDGES", 60), (looks, "ENTRIES", 0.0)):  # fmt: skip
        monkeypatch.setattr(place, name, value)
    return queue


def rows(n: int) -> bytes:
    random = np.random.default_rng(5)
    X = random.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.4 * random.standard_normal(n)
    lines = [",".join(f"{value:.4f}" for value in (*row, target)) for row, target in zip(X, y, strict=True)]
    return "\n".join(["a,b,c,y", *lines]).encode()


def screen(app: AppTest) -> str:
    """All that the page says, and the numbers its bars are drawn from, without what a clock has measured."""
    bars = [element.proto.json for element in app.get("bidi_component") if element.proto.id.endswith("-bars_columns")]
    said = [line for line in words(app).splitlines() if "Refined:" not in line]
    return SECONDS.sub("", "\n".join([*said, *bars]))


def settled(queue: Delayed, content: bytes, seed: int) -> tuple[str, AppTest]:
    """Replay a visit in which ``seed`` decides which work is done next, and where the person looks meanwhile."""
    random = np.random.default_rng(seed)
    app = upload(open_app("pages/data.py"), content)
    for _ in range(60):
        if seed and random.random() < 0.25:
            go(app, str(random.choice(["pages/compare.py", "pages/predict.py", "pages/data.py"])))
        go(app, EXPLORE)
        if not queue.waiting:
            before = screen(quiet(app.run()))
            if not queue.waiting and screen(quiet(app.run())) == before:
                return before, app
        if queue.waiting:
            queue.complete(int(random.integers(len(queue.waiting))) if seed else 0)
    raise AssertionError("The screen does not settle.")


@pytest.mark.parametrize(("n", "way"), [(90, ""), (700, LOW_RANK)])
def test_the_settled_screen_is_the_same_whatever_is_done_first(delayed: Delayed, n: int, way: str) -> None:
    content = rows(n)
    first, app = settled(delayed, content, 0)
    params = memory(app).params
    assert not settling.open_points(params)
    assert "Preliminary" not in first
    assert params.way == way
    for seed in (1, 2):
        again, other = settled(delayed, content, seed)
        assert again == first
        assert memory(other).params == params
    assert references.plain(params).key == references.plain(replace(params, scoring="")).key
    assert (references.plain(params).key == references.plain(low_rank.exactly(params)).key) == (way == "")


def test_a_refinement_is_reported_with_its_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    mind = Memory()
    monkeypatch.setattr(verdict, "memory", lambda: mind)
    monkeypatch.setattr(verdict.paths, "key", lambda params: params)
    path = SimpleNamespace(score_name="accuracy")
    shown = paths.Answer(path, Params(data="iris"), False)
    assert verdict.refined(shown, 0.9) == ""  # nothing preliminary was seen
    verdict.remember(replace(shown, waiting=True), 0.5)  # an older answer is none of this one
    assert mind.preliminary is None
    verdict.remember(shown, 0.9)
    verdict.remember(shown, 0.8)
    assert verdict.refined(shown, 0.904) == "Refined: +0.4 points since the preliminary answer."
    assert verdict.refined(shown, 0.88).startswith("Refined: −2.0 points")
    assert verdict.refined(shown, 0.9001) == ""  # nothing that is seen
    number = replace(shown, path=SimpleNamespace(score_name="R²"))
    mind.preliminary = replace(mind.preliminary, score_name="R²")
    assert verdict.refined(number, 0.9 - 1e-16) == ""
    assert verdict.refined(number, 0.91) == "Refined: +0.01 R² since the preliminary answer."
    assert verdict.refined(replace(shown, params=Params(data="wine")), 0.8) == ""


def test_a_first_look_names_columns_it_can_support_and_no_other() -> None:
    random = np.random.default_rng(2)
    X = random.standard_normal((360, 3))
    data = mkl.Dataset(X, 2 * X[:, 0] + 0.3 * random.standard_normal(360), task="regression")
    train, judge = data.take(np.arange(120)), data.take(np.arange(120, 360))
    model = mkl.LpMKLRegressor(C=1.0).fit(train.X, train.y)
    found = looks.distinct(model, judge, units(train), "r2")
    assert [one.name for one in found] == [train.feature_names[0]]
    assert found[0].importance > looks.SURE * found[0].importance_sd > 0
    few = judge.take(np.arange(looks.FEWEST - 1))
    assert looks.distinct(model, few, units(train), "r2") == ()


def test_a_first_look_states_a_score_with_its_error_or_none() -> None:
    path = SimpleNamespace(score_name="accuracy")
    first = paths.Answer(path, Params(data="iris"), True, looks.FIRST, error=0.021)
    assert verdict.reached(first, 0.8) == "**80.0 %** ± 2.1 accuracy in a first look at 300 rows."
    assert verdict.reached(replace(first, error=np.nan), 0.8) == ""
