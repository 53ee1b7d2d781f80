"""What the server holds of kernels: bounded by container or machine; the least used leave, sessions take theirs
along.
"""

import gc
from types import SimpleNamespace

import pytest

from pages._parts.derive.budget import Budget, BudgetError
from pages._parts.jobs import machine


class Owner:
    """A session."""


@pytest.mark.parametrize(
    ("files", "memory", "cores"),
    [
        ({}, 8e9, 4),
        ({"memory.max": "max", "cpu.max": "max 100000"}, 8e9, 4),
        ({"memory.max": "723517440", "cpu.max": "100000 100000"}, 723517440, 1),
        ({"memory.max": "9000000000000", "cpu.max": "250000 100000"}, 8e9, 3),
        (
            {
                "memory/memory.limit_in_bytes": "2000000000",
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
            },
            2e9,
            4,
        ),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 8e9, 1),
    ],
)
def test_the_container_bounds_memory_and_cores_where_there_is_one(tmp_path, monkeypatch, files, memory, cores) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(total=8e9))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: range(4), raising=False)
    assert (machine.memory_bytes(tmp_path), machine.cores(tmp_path)) == (memory, cores)


def test_the_least_recently_used_leave_and_are_made_again() -> None:
    budget, made = Budget(100.0), []

    def get(key: str, size: float) -> str:
        return budget.made(key, size, lambda: made.append(key) or key)

    assert [get(key, 40) for key in "abab"] == ["a", "b", "a", "b"]
    assert get("c", 40) == "c"  # a leaves
    assert budget.held == 80
    assert [get(key, 40) for key in "bca"] == ["b", "c", "a"]
    assert made == ["a", "b", "c", "a"]
    with pytest.raises(BudgetError, match="take 0 MB, and this server holds 0 MB of kernels in all"):
        get("too large", 101)
    assert budget.held == 80


def test_a_session_has_one_of_its_own_and_takes_it_along() -> None:
    budget, anna, ben = Budget(100.0), Owner(), Owner()
    for owner in (anna, ben):
        budget.made("mine", 30, lambda owner=owner: str(id(owner)), owner)
    assert budget.made("mine", 30, lambda: "never", anna) == str(id(anna))
    budget.made("another", 40, lambda: "another", anna)
    assert budget.held == 70
    del anna, owner
    gc.collect()
    assert budget.held == 30
    del ben
    gc.collect()
    assert budget.held == 0


def test_what_fails_takes_no_room() -> None:
    budget = Budget(100.0)
    with pytest.raises(ZeroDivisionError):
        budget.made("a", 60, lambda: 1 / 0)
    assert budget.held == 0
    assert budget.made("a", 60, lambda: 1) == 1
