"""A cluster of two processes: the rows of a sweep are the same to the last digit, and nothing is lost with a worker."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mklcore import (
    RBF,
    KernelDictionary,
    Linear,
    LpMKLClassifier,
    LpMKLRegressor,
    MKLError,
    Nystroem,
    ParameterError,
    load_sample,
)
from mklcore.experiments import Experiment
from mklcore.experiments.base import file_of, is_quick
from mklcore.parallel import tasks as remote
from mklcore.parallel.cluster import (
    KEPT_MEMORY,
    MOST_SAID,
    SCHEDULER,
    NoClusterError,
    afar,
    connected,
    keeping_memory,
    one_client,
)
from mklcore.parallel.partitions import ArrayParts, ParquetParts, fit_parts, score_parts
from mklcore.parallel.shards import fit_shards
from mklcore.parallel.sweep import SplitProblem, repeat_splits, sweep

distributed = pytest.importorskip("distributed", reason="The package distributed is not installed")
QUIET = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
SOON = (
    10.0  # seconds within which a worker obeys a cancel on a busy machine; what is cancelled takes several times that
)


@pytest.fixture(scope="module")
def cluster():
    with keeping_memory():
        found = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **QUIET)
    with found:
        yield found


@pytest.fixture
def scheduler(cluster, monkeypatch):
    try:  # one may have been killed by the test before, and another comes in its place
        cluster.wait_for_workers(2, timeout=60)
    except TimeoutError:  # unless the machine was too busy for that
        cluster.scale(0)
        cluster.scale(2)
        cluster.wait_for_workers(2, timeout=60)
    monkeypatch.setenv(SCHEDULER, cluster.scheduler_address)


class Heavy:
    """A run with data, which tells in which process and with which copy of them it ran."""

    def __init__(self):
        self.data = np.arange(200_000.0)

    def __call__(self, number: int) -> tuple[int, int, float]:
        return os.getpid(), id(self.data), float(self.data[number] ** 3)


class Deadly:
    """The first run of number 2 kills its worker."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __call__(self, number: int) -> int:
        if number == 2 and not self.mark.exists():
            self.mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return number**3


def threads(number: int) -> int:
    from threadpoolctl import threadpool_info

    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def refused(number: int) -> int:
    raise ParameterError("The number is not allowed.")


def test_data_is_sent_once_and_the_workers_share_the_work(scheduler):
    seen: list[int] = []
    rows = sweep(Heavy(), range(12), "dask", callback=lambda done, total: seen.append(done))
    assert [value for _, _, value in rows.values()] == [number**3 for number in range(12)]
    copies = {(pid, copy) for pid, copy, _ in rows.values()}
    assert len(copies) == len({pid for pid, _ in copies})  # one copy in every process, however many runs
    assert os.getpid() not in {pid for pid, _ in copies}
    assert (seen[0], seen[-1]) == (0, 12)


def test_rows_are_the_same_to_the_last_digit_wherever_they_are_run(scheduler):
    data = load_sample("iris")
    kernels = KernelDictionary((RBF(0.5, relative=True), Linear()), feature_names=data.feature_names)
    problem = SplitProblem(data, LpMKLClassifier(kernels=kernels), kernels, normalise="multiplicative")
    found = [repeat_splits(problem, 3, backend=backend, n_jobs=2).rows for backend in ("serial", "processes", "dask")]
    for here, there, far in zip(*found, strict=True):
        assert here.weights.tobytes() == there.weights.tobytes() == far.weights.tobytes()
        assert (here.gap, here.test) == (there.gap, there.test) == (far.gap, far.test)


def measure(row: str, seed: int, repetition: int) -> list[float]:
    size = len(file_of("numbers.csv").read_text())
    return [size + float(np.random.default_rng([seed, repetition]).standard_normal()), float(is_quick())]


def test_an_experiment_measures_the_same_wherever_it_is_run(scheduler, tmp_path):
    (tmp_path / "numbers.csv").write_text("12345")
    nothing = ((np.nan, np.nan),) * 2
    tiny = Experiment("tiny", "T", "P", "D", (), "O", "row", ("a", "b"), ("size", "quick"), "u", nothing, 3, measure)
    here, there, far = (
        tiny.run(seed=5, quick=True, data=tmp_path, backend=backend).samples
        for backend in ("serial", "processes", "dask")
    )
    assert here.tobytes() == there.tobytes() == far.tobytes()
    assert here[0, 0, 0] != here[0, 1, 0]
    assert (here[..., 1] == 1.0).all()


def test_workers_use_one_blas_thread_and_errors_reach_the_caller(scheduler):
    assert set(sweep(threads, [1, 2], "dask").values()) == {1}
    assert sweep(os.getenv, KEPT_MEMORY, "dask") == {name: str(size) for name, size in KEPT_MEMORY.items()}
    with pytest.raises(ParameterError, match="not allowed"):
        sweep(refused, [1, 2], "dask")


def test_a_killed_worker_loses_nothing(scheduler, tmp_path):
    mark = tmp_path / "killed"
    rows = sweep(Deadly(mark), range(6), "dask")
    assert mark.exists()
    assert rows == {number: number**3 for number in range(6)}


def test_a_sweep_can_be_cancelled_while_nothing_arrives(scheduler):
    def cancel(done, total):
        seen.append(done)
        if len(seen) > 1:
            raise InterruptedError

    seen: list[int] = []
    with pytest.raises(InterruptedError):
        sweep(wait_for_ever, [1], "dask", callback=cancel)
    assert seen == [0, 0]


def wait_for_ever(number: int) -> int:
    from threading import Event

    Event().wait(3)
    return number


def test_after_the_scheduler_died_the_sweep_goes_on_from_what_had_arrived(monkeypatch):
    known: dict[int, int] = {}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as mortal:
        monkeypatch.setenv(SCHEDULER, mortal.scheduler_address)

        def kill(done, total):
            if done == 2:
                mortal.close()  # scheduler and worker, in the middle of the sweep

        with pytest.raises(MKLError, match=r"ended with \d+ of 6 runs to go"):
            sweep(cube, range(6), "dask", known=known, callback=kill)
    left = 6 - len(known)
    assert 0 < left <= 4
    again: list[int] = []
    assert sweep(lambda n: again.append(n) or n**3, range(6), known=known) == {n: n**3 for n in range(6)}
    assert len(again) == left


def cube(number: int) -> int:
    from time import sleep

    sleep(0.1)
    return number**3


def test_work_of_a_scheduler_that_died_says_so_and_is_done_when_it_is_asked_for_again(scheduler, monkeypatch):
    said: list[tuple[int, int]] = []
    with monkeypatch.context() as there, distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, **QUIET
    ) as mortal:  # fmt: skip
        there.setenv(SCHEDULER, mortal.scheduler_address)

        def kill(done, total):
            said.append((done, total))
            if done:
                mortal.close()

        with pytest.raises(
            MKLError, match=r"The scheduler.* ended with the work on its way\. Ask again once it is back"
        ):
            afar(Patient(Path("no"), 10_000), kill)
    assert said[-1][0] > 0
    assert afar(Patient(Path("no"), 2))[0] != os.getpid()


def test_work_that_a_stranger_cancels_says_so_and_goes_on_from_what_had_arrived(scheduler):
    rows: dict[int, int] = {}

    def cancel_the_rest(done, total):
        if done == 1:
            with distributed.Client(os.environ[SCHEDULER], set_as_default=False) as stranger:
                keys = stranger.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
                stranger.cancel([distributed.Future(key, stranger) for key in keys], force=True)

    with pytest.raises(
        MKLError, match=r"Another client of the scheduler.* cancelled the work, with \d+ of 12 runs to go"
    ):
        sweep(cube, range(12), "dask", 2, rows, cancel_the_rest)
    assert rows
    assert sweep(cube, range(12), "dask", 2, rows) == {number: number**3 for number in range(12)}


def test_work_cancelled_between_a_look_and_its_answer_says_so_too(scheduler, monkeypatch):
    gather = distributed.Client.gather

    def cancelled_first(client, futures, **more):
        for future in futures:
            future.cancel()
        while any(future.status == "finished" for future in futures):
            time.sleep(0.01)
        return gather(client, futures, **more)

    monkeypatch.setattr(distributed.Client, "gather", cancelled_first)
    with pytest.raises(MKLError, match=r"cancelled the work, with \d+ of 12 runs to go"):
        sweep(cube, range(12), "dask", 2, {})


class Patient:
    """Work that tells how far it is until somebody no longer wants it, and leaves a mark then; or does its steps."""

    def __init__(self, mark: Path, steps: int):
        self.mark, self.steps = mark, steps

    def __call__(self, tell) -> tuple[int, int]:
        from threading import Event

        for done in range(self.steps):
            try:
                tell(done, self.steps)
            except InterruptedError:
                self.mark.write_text("ended") if self.mark.is_absolute() else None
                raise
            Event().wait(0.1)
        return os.getpid(), threads(0)


def test_one_piece_of_work_is_done_on_a_worker_which_tells_how_far_it_is_and_can_be_ended(scheduler, tmp_path):
    heard: list[tuple[int, int]] = []
    where, blas = afar(Patient(tmp_path / "no", 8), lambda *reported: heard.append(reported))
    assert where != os.getpid()
    assert blas == 1
    assert 0 < max(done for done, _ in heard) < 8
    assert not (tmp_path / "no").exists()

    def cancel(done, total):
        if done:
            raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        afar(Patient(tmp_path / "yes", 10_000), cancel)
    sweep(seen, [tmp_path / "yes"], "dask")
    assert not left_on_the_scheduler()
    with pytest.raises(ParameterError, match="not allowed"):
        afar(refused)


def left_on_the_scheduler() -> list[str]:
    """What the scheduler still holds, when all have ended, of what work had reported."""
    with connected() as client:
        for _ in range(100):
            found = client.run_on_scheduler(
                lambda dask_scheduler: list(dask_scheduler.extensions["variables"].variables)
            )
            if not found:
                break
            time.sleep(0.1)
        return found


def test_work_that_is_cancelled_while_it_talks_leaves_nothing_behind(scheduler):
    def cancel(done, total):
        if done:
            raise InterruptedError("enough")

    for _ in range(3):
        with pytest.raises(InterruptedError, match="enough"):
            afar(chatters, cancel, lambda content: None)
    assert not left_on_the_scheduler()


def chatters(tell, say):
    for done in range(100_000):
        say(b"x" * 1_000_000)
        tell(done, 100_000)


class Talkative:
    """Work that says how far it is in growing bytes; its first worker is killed on the way, and one thing it says is
    too much.
    """

    def __init__(self, mark: Path):
        self.mark = mark

    def __call__(self, tell, say) -> int:
        from threading import Event

        say(bytes(MOST_SAID + 1))
        for done in range(1, 5):
            tell(done, 4)
            say(b"." * done)
            Event().wait(0.4)
            if done == 2 and not self.mark.exists():
                self.mark.write_text("killed")
                os.kill(os.getpid(), signal.SIGKILL)
        return 4


def test_what_is_there_by_now_comes_back_and_again_from_another_worker_when_one_is_killed(scheduler, tmp_path):
    said: list[bytes] = []
    assert afar(Talkative(tmp_path / "mark"), None, said.append) == 4
    sizes = [len(content) for content in said]
    assert (tmp_path / "mark").exists()
    assert set(sizes) <= {1, 2, 3, 4}
    assert sizes.count(1) == 2  # begun twice, and nothing of it lost
    assert max(sizes) > 2
    assert not left_on_the_scheduler()


def test_work_whose_asker_is_gone_ends(cluster, scheduler, tmp_path):
    client = distributed.Client(cluster.scheduler_address, set_as_default=False)

    def leave(done, total):
        if done:
            client.close()

    with client.as_current(), pytest.raises(MKLError, match="ended with the work on its way"):
        afar(Patient(tmp_path / "mark", 10_000), leave)
    sweep(seen, [tmp_path / "mark"], "dask")


def test_workers_with_another_version_of_the_library_are_refused_and_this_process_does_the_work(cluster, scheduler):
    with connected() as client:
        client.run(pretend, "0.0.1")
    reported = r"mklcore 0\.0\.1; this process has Python .* mklcore .* Install the same versions everywhere"
    here: list[str] = []
    try:
        with pytest.raises(NoClusterError, match=reported), connected():
            pass
        with pytest.raises(NoClusterError, match=reported):
            remote.run(Patient(Path("no"), 2), lambda *reported: None)
        assert remote.run(Patient(Path("no"), 2), lambda *reported: None, instead=here.append)[0] == os.getpid()
        assert len(here) == 1
        assert "Install the same versions" in here[0]
    finally:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            client.run(pretend, "")
    assert remote.run(Patient(Path("no"), 2), lambda *reported: None, instead=here.append)[0] != os.getpid()
    assert len(here) == 1


def pretend(version: str) -> None:
    """Have this process say that it has another version of the library, or its own again."""
    from distributed import versions

    known = getattr(versions, "known_before", versions._version_cached)
    versions.known_before = known
    versions._version_cached = known if version == "" else lambda name: version if name == "mklcore" else known(name)


def seen(mark: Path) -> None:
    """Wait until the mark is there."""
    from threading import Event

    while not mark.exists():
        Event().wait(0.05)


def test_full_size_fits_come_back_from_a_worker_as_they_are_made_here(scheduler, monkeypatch):
    data = load_sample("diabetes")
    X, z, rest, left = data.X[:300], data.y[:300] / 100.0, data.X[300:], data.y[300:] / 100.0
    kernels = KernelDictionary((RBF(1.0, relative=True), Linear()))

    def made() -> list[np.ndarray]:
        path = remote.run(
            remote.FeaturePath(
                LpMKLRegressor(p=4 / 3, kernels=kernels, approximation=Nystroem(20)), kernels, Nystroem(20),
                "multiplicative", False, X, z, rest, left, "C", 5, 2,
            ),
            lambda done, total: reported.append((done, total)),
        )  # fmt: skip
        asked = LpMKLRegressor(p=4 / 3, C=10.0, tol=1e-9, kernels=kernels)
        model, score = remote.run(remote.WholeFit(asked, X, z, rest, left), lambda *now: reported.append(now))
        assert score == model.score(rest, left)
        assert (model.callback, path.estimators[0].callback) == (None, None)
        return [path.weights, path.val_score, model.weights_, model.dual_coef_]

    reported: list[tuple[int, int]] = []
    there = made()
    monkeypatch.delenv(SCHEDULER)
    reported.clear()
    for far, here in zip(there, made(), strict=True):
        assert far.tobytes() == here.tobytes()
    assert (2, 2) in reported
    assert {total for _, total in reported} == {2, remote.STEPS}


def test_a_cancel_is_heard_on_the_workers_while_features_are_made_or_shards_built(scheduler):
    X = np.random.default_rng(0).standard_normal((20_000, 4))
    many = KernelDictionary(tuple(RBF(0.5 + 0.01 * m, relative=True) for m in range(60)))
    how = Nystroem(200)  # half a minute of features, and before them no point of the path
    asked = LpMKLRegressor(p=4 / 3, approximation=how)
    task = remote.FeaturePath(asked, many, how, None, False, X, X[:, 0], X[:9], X[:9, 0], "C", 5)
    few = X[:2000]
    shards = LpMKLRegressor(p=4 / 3, kernels=KernelDictionary(tuple(RBF(1.0, features=(m % 4,)) for m in range(4000))))
    for work in (lambda look: afar(task, look), lambda look: fit_shards(shards, few, few[:, 0], pulse=look)):
        looks: list[Any] = []

        def cancel(*reported: int, looks: list[Any] = looks) -> None:
            looks.append(reported)
            if len(looks) == 25:
                raise InterruptedError("enough")

        with pytest.raises(InterruptedError, match="enough"):
            work(cancel)
        assert is_idle_soon()


def is_idle_soon() -> bool:
    """Whether all workers have ended what they did long before it would have been over."""
    with connected() as client:
        until = time.monotonic() + SOON
        while any(client.run(lambda dask_worker: dask_worker.state.executing_count).values()):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
    return True


def test_within_one_client_what_is_run_is_sent_once_however_often_it_is_swept(scheduler):
    run = Heavy()
    with one_client("dask"):
        found = [sweep(run, range(4), "dask").values() for _ in range(2)]
    copies = {(pid, copy) for rows in found for pid, copy, _ in rows}
    assert len(copies) == len({pid for pid, _ in copies})


def test_an_address_without_a_scheduler_is_refused(monkeypatch):
    monkeypatch.setattr("mklcore.parallel.cluster._CONNECT", "200ms")
    with (
        pytest.raises(ParameterError, match=r"No scheduler answers at tcp://127\.0\.0\.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_kernels_in_shards_on_workers_give_the_model_of_one_process(scheduler):
    data = load_sample("diabetes")
    kernels = KernelDictionary.per_feature((Linear(), RBF(1.0, relative=True)), data.n_features)
    asked = LpMKLRegressor(p=4 / 3, C=0.1, kernels=kernels)
    X, y = data.X[:150], (data.y - data.y.mean())[:150] / data.y.std()
    here, there = (fit_shards(asked, X, y, count=2, backend=backend) for backend in ("serial", "dask"))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=1e-10)
    np.testing.assert_allclose(there.predict(data.X), here.predict(data.X), rtol=1e-10)


def test_a_shard_whose_worker_is_killed_is_built_again_and_a_cancel_is_heard_between_two_steps(scheduler):
    data = load_sample("diabetes")
    kernels = KernelDictionary.per_feature((Linear(), RBF(1.0, relative=True)), data.n_features)
    asked = LpMKLRegressor(p=4 / 3, C=0.1, kernels=kernels)
    X, y = data.X[:100], (data.y - data.y.mean())[:100] / data.y.std()
    killed: list[int] = []

    def kill(record):
        if not killed:
            with distributed.Client(os.environ[SCHEDULER], set_as_default=False) as client:
                killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    there = fit_shards(asked.set_params(callback=kill), X, y, count=2)
    here = fit_shards(asked.set_params(callback=None), X, y, count=2, backend="serial")
    assert len(killed) == 2
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-10)
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=1e-10)

    def cancel():
        raise InterruptedError("enough")

    for backend in ("dask", "serial"):
        with pytest.raises(InterruptedError, match="enough"):
            fit_shards(asked, X, y, count=2, backend=backend, pulse=cancel)


def test_an_exact_model_is_made_by_all_workers_together_and_is_the_one_of_one_process(scheduler, monkeypatch):
    data = load_sample("diabetes")
    kernels = KernelDictionary.per_feature((Linear(), RBF(1.0, relative=True)), data.n_features)
    task = remote.WholeFit(
        LpMKLRegressor(p=4 / 3, C=10.0, tol=1e-9, kernels=kernels), data.X[:200], data.y[:200] / 100.0, data.X[200:],
        data.y[200:] / 100.0,
    )  # fmt: skip
    reported: list[tuple[int, int]] = []
    model, score = remote.run_in_shards(task, lambda *now: reported.append(now))
    assert max(done for done, _ in reported) > 50
    assert model.callback is None
    assert model.relative_gap_ < 1e-8
    here = fit_shards(task.asked, task.X, task.y, count=2, backend="serial")
    np.testing.assert_allclose(model.weights_, here.weights_, rtol=1e-10)
    assert score == pytest.approx(here.score(task.X_left, task.y_left), rel=1e-10)
    monkeypatch.delenv(SCHEDULER)
    stored, _ = remote.run(task, lambda *now: None)  # another way to the same optimum
    assert model.objective_ == pytest.approx(stored.objective_, rel=1e-8)


def test_a_scheduler_that_dies_during_a_sum_over_shards_says_so(monkeypatch):
    data = load_sample("diabetes")
    kernels = KernelDictionary.per_feature((Linear(),), data.n_features)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as mortal:
        monkeypatch.setenv(SCHEDULER, mortal.scheduler_address)
        asked = LpMKLRegressor(p=4 / 3, kernels=kernels, callback=lambda record: mortal.close())
        with pytest.raises(MKLError, match="ended with a sum over the shards on its way"):
            fit_shards(asked, data.X[:80], data.y[:80], count=2)


def test_rows_in_parts_are_summed_on_workers_to_the_same_model(scheduler, tmp_path):
    data = load_sample("diabetes")
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(target=data.y - data.y.mean())
    for k in range(4):
        frame[k::4].to_parquet(tmp_path / f"{k}.parquet")
    parts = ParquetParts.of(tmp_path, "target")
    kernels = KernelDictionary((RBF(1.0, relative=True), Linear()))
    asked = LpMKLRegressor(p=2.0, C=1e-3, kernels=kernels, approximation=Nystroem(15))
    here, there = (fit_parts(asked, parts, backend=backend) for backend in ("serial", "dask"))
    assert there.weights_.tobytes() == here.weights_.tobytes()
    assert there.feature_coef_.tobytes() == here.feature_coef_.tobytes()
    assert score_parts(there, parts, backend="dask") == score_parts(here, parts) > 0.0
    passed = LpMKLClassifier(p=2.0, loss="logistic", kernels=kernels, approximation=Nystroem(15))
    halves = ArrayParts(data.X, data.y > 150, 221)
    here, there = (fit_parts(passed, halves, backend=backend) for backend in ("serial", "dask"))
    assert there.feature_coef_.tobytes() == here.feature_coef_.tobytes()
