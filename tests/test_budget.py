"""What the server holds of kernels: bounded by container or machine; the least used leave, sessions take theirs along."""

import gc
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pages._parts.derive.budget import Budget, BudgetError, memory_bytes


class Owner:
    """A session."""


def test_the_container_bounds_the_memory_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    container, free = (tmp_path / name for name in ("memory.max", "unbounded"))
    container.write_text("2000000000\n")
    free.write_text("max\n")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=8e9))
    assert memory_bytes((str(free), str(tmp_path / "none"))) == 8e9
    assert memory_bytes((str(free), str(container))) == 2e9


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
