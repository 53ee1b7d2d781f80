"""Kept work under attack: many browsers, a clock that jumps, a full disk, damage, a folder that disappears."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import shutil
import tempfile
from collections import namedtuple
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from hypothesis import strategies as st

from benchmarks.fuzzing.targets import Target, as_text
from pages._parts.runs import disk
from pages._parts.runs.clock import DAY, Clock
from pages._parts.runs.disk import StoreError
from pages._parts.runs.secrets import link_secret
from pages._parts.runs.store import File, Limits, Store

OWNERS = tuple(hashlib.sha256(bytes([k])).hexdigest()[:43] for k in range(3))
Usage = namedtuple("Usage", "total used free")
LIMITS = Limits(file_mb=0.02, results_mb=0.02, owner_mb=0.06, address_mb=0.1, total_mb=0.15, runs=6)


@dataclass
class World:
    """A store, what it has promised to keep, and the hands of its clock."""

    home: Path
    wall: float = 1e9
    steady: float = 0.0
    full: bool = False
    runs: dict[str, tuple[str, str, tuple[File, ...], bytes | None]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    certain: bool = True  # nothing has happened that may take a promise away

    def store(self) -> Store:
        """The store as another process of the server opens it."""
        return Store(self.home, LIMITS, Clock(lambda: self.wall, lambda: self.steady))


def _file(seed: int, size: int) -> File:
    content = hashlib.shake_256(bytes([seed])).digest(size)
    return File(f"upload:{hashlib.sha256(content).hexdigest()}", f"table {seed}.csv", content)


def save(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Save a screen; what is acknowledged is promised."""
    files = (_file(seed, size),) if seed % 3 else ()
    results = hashlib.shake_256(text.encode("utf-8", "replace")).digest(size // 2) if seed % 2 else None
    run = store.save(who, text, "explore", {"data": text}, files, {"seed": seed}, results, f"10.0.0.{seed % 4}")
    world.runs[run.id] = who, text, files, results
    world.links[link_secret(who, run.id)] = run.id


def keep(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Keep a file without a name."""
    store.keep(who, _file(seed, size), f"10.0.0.{seed % 4}")


def look(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Ask for what may be there, by a name and by a secret that may be none."""
    found = store.file(who, _file(seed, size).source)
    assert found is None or found.content == _file(seed, size).content
    for secret in (text, text[:43].ljust(43, "A")):
        try:
            store.linked(secret)
        except StoreError:
            continue
        assert secret in world.links


def delete(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Delete one of the runs, as its owner or as somebody else."""
    if not world.runs:
        return
    run = sorted(world.runs)[seed % len(world.runs)]
    owner = world.runs[run][0]
    try:
        store.delete(who, run)
    except StoreError:
        assert who != owner or not world.certain or world.full
        return
    assert who == owner
    del world.runs[run]
    world.gone.add(run)


def free(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Delete a file that no run needs."""
    store.forget(who, _file(seed, size).source)


def outcome(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Keep what an experiment found."""
    store.keep_outcome("lp_toy", text[:5], json.dumps(text), 3)
    assert len(store.outcomes("lp_toy")) <= 3


def jump(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Set the clock of the wall, and let a little time pass."""
    world.wall += (seed - 30) * DAY
    world.steady += seed
    store.tidy()


def fill(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Fill the disk, or make room on it."""
    world.full = not world.full


def damage(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Turn bytes of the file where nobody looks, or cut it off."""
    place = world.home / disk.FILE
    if not place.exists() or seed % 4:
        return
    world.certain = False
    raw = bytearray(place.read_bytes())
    for k in range(1 + seed % 9):
        if raw:
            raw[(size * 7919 + k * 104_729) % len(raw)] ^= 1 + seed
    place.write_bytes(bytes(raw[: len(raw) - size]) if seed % 8 == 0 else bytes(raw))


def vanish(world: World, store: Store, who: str, seed: int, size: int, text: str) -> None:
    """Delete the folder while the server runs."""
    if seed % 10 == 0:
        shutil.rmtree(world.home, ignore_errors=True)
        world.certain, world.gone = False, set()


DEEDS = (save, save, save, keep, keep, look, delete, delete, free, outcome, jump, fill, damage, vanish)


def _holds(world: World, store: Store) -> None:
    """Every promise is kept: runs come back whole to their owners and by their links, and to nobody else."""
    for run, (who, text, files, results) in world.runs.items():
        found, there = store.run(who, run)
        assert (found.recipe, tuple(there), store.results(run)) == ({"data": text}, files, results)
        assert store.linked(link_secret(who, run))[0].id == run
        for other in set(OWNERS) - {who}:
            assert not store.owns(other, run)
    for who in OWNERS:
        mine = {run.id for run in store.runs(who)}
        assert mine == {run for run, kept in world.runs.items() if kept[0] == who}


def check(deeds: list[tuple[int, int, int, int, str]]) -> str:
    """Nothing but words goes wrong, promises hold until damage is done, and the file says nothing of a secret."""
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "home")
        usage = lambda place: Usage(10**12, 0, 0 if world.full else 10**11)  # noqa: E731
        chance = random.Random(len(deeds))  # the same input makes the same file, which damage depends on
        hexadecimal = lambda count=32: chance.randbytes(count).hex()  # noqa: E731
        with (
            mock.patch.object(shutil, "disk_usage", usage),
            mock.patch.object(disk, "RESERVE_BYTES", 2**12),
            mock.patch.object(secrets, "token_hex", hexadecimal),
        ):
            store = world.store()
            for which, owner, seed, size, text in deeds:
                if seed % 5 == 0:
                    store = world.store()
                try:
                    DEEDS[which](world, store, OWNERS[owner], seed, size, text)
                except StoreError as error:
                    refused += bool(as_text(error))
            if world.certain:
                _holds(world, world.store())
            else:
                _still_answers(world)
            kept = b"".join(
                part.read_bytes() for part in world.home.rglob("*") if part.is_file() and part.name != disk.RESERVE
            )
            assert not any(who.encode() in kept for who in OWNERS)
    return ("damaged" if not world.certain else "held") + (", something refused" if refused else "")


def _still_answers(world: World) -> None:
    """After damage every question is answered, with an error message at worst, and new work is kept."""
    store = world.store()
    for who in OWNERS:
        with suppress(StoreError):
            store.runs(who)
    if not world.full:
        for _ in range(2):  # the first may be the one that notices
            try:
                run = world.store().save(OWNERS[0], "after", "explore", {"data": "iris"})
            except StoreError:
                continue
            assert world.store().run(OWNERS[0], run.id)[0].name == "after"
            return


deed = st.tuples(
    st.integers(0, len(DEEDS) - 1), st.integers(0, 2), st.integers(0, 60), st.integers(0, 18_000), st.text(max_size=50)
)
store = Target("store", st.lists(deed, min_size=1, max_size=14), check)
