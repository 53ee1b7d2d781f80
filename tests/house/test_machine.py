"""What the server runs on: memory and cores, bounded by the container where there is one."""

from types import SimpleNamespace

import pytest

from pages.shared.work import machine


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
def test_the_container_bounds_memory_and_cores_where_there_is_one(
    tmp_path, monkeypatch, files, memory, cores
):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n")
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: SimpleNamespace(total=8e9))
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: range(4), raising=False)
    assert (machine.memory_bytes(tmp_path), machine.cores(tmp_path)) == (memory, cores)
