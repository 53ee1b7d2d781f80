"""Runs in the store: files, runs and outcomes as rows, whose they are, and the bounds on them. No Streamlit."""

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mklcore.data.columns import clean_name
from pages._parts.runs.disk import Disk, StoreError
from pages._parts.runs.secrets import digest, is_secret, link_secret

DAY = 86400.0
UNNAMED_DAYS = 7
LONGEST_NAME = 80
GONE = "This run does not exist. It may have been deleted, or the link is not complete."
_OUTCOMES = """CREATE TABLE IF NOT EXISTS outcomes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, experiment TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL)"""
_SIZE = "SELECT coalesce((SELECT sum(size) FROM files{0}), 0) + coalesce((SELECT sum(size) FROM runs{0}), 0)"
_HELD = "SELECT file FROM holds"


@dataclass(frozen=True)
class Limits:
    """How much is kept: megabytes per file, per browser and for the whole server, and runs per browser."""

    file_mb: float = 100.0
    results_mb: float = 32.0
    owner_mb: float = 400.0
    total_mb: float = 2000.0
    runs: int = 200


@dataclass(frozen=True)
class File:
    """Bytes a person made: what they are called in a recipe, their name, and the bytes."""

    source: str
    name: str
    content: bytes


@dataclass(frozen=True)
class Run:
    """A saved screen: its name, page and recipe (the parts of its link), what is known of it, and when it was saved."""

    id: str
    name: str
    page: str
    recipe: Mapping[str, str]
    facts: Mapping[str, Any]
    created: float
    size: int
    files: tuple[tuple[str, str], ...] = ()


class Store:
    """The kept work of one server. Every method raises ``StoreError`` in words when the file cannot be used."""

    def __init__(self, home: Path | None, limits: Limits | None = None) -> None:
        self.disk, self.limits = Disk(home), limits or Limits()

    @property
    def warning(self) -> str:
        """Return what became of a damaged file; empty where all is well."""
        return self.disk.warning

    # Files

    def keep(self, owner: str, file: File) -> None:
        """Keep a file without a name for some days from its last use."""
        self._check_size(file)
        with self._writing() as base:
            self._keep(base, digest(owner), file)

    def file(self, owner: str, source: str) -> File | None:
        """Return one of the owner's files; looking at it renews its days."""
        with self._writing() as base:
            row = base.execute(
                "SELECT id, name, content FROM files WHERE owner = ? AND source = ?", (digest(owner), source)
            ).fetchone()
            if row is None:
                return None
            base.execute("UPDATE files SET used = ? WHERE id = ?", (time.time(), row[0]))
        return _checked(File(source, row[1], row[2]))

    def is_kept(self, owner: str, source: str) -> bool:
        """Tell whether the file is kept for the owner."""
        with self.disk.open() as base:
            found = base.execute("SELECT 1 FROM files WHERE owner = ? AND source = ?", (digest(owner), source))
            return found.fetchone() is not None

    def forget(self, owner: str, source: str) -> bool:
        """Delete a file at once unless a run needs it; tell whether it is gone."""
        with self._writing() as base:
            base.execute(
                f"DELETE FROM files WHERE owner = ? AND source = ? AND id NOT IN ({_HELD})", (digest(owner), source)
            )
            found = base.execute("SELECT 1 FROM files WHERE owner = ? AND source = ?", (digest(owner), source))
            gone = found.fetchone() is None
        self.disk.wipe()
        return gone

    # Runs

    def save(
        self,
        owner: str,
        name: str,
        page: str,
        recipe: Mapping[str, str],
        files: Sequence[File] = (),
        facts: Mapping[str, Any] | None = None,
        results: bytes | None = None,
    ) -> Run:
        """Keep a screen under a name, with the files its recipe needs and the results on it, until it is deleted."""
        clean = clean_name(name)[:LONGEST_NAME] or time.strftime("Run of %d %B %Y, %H:%M")
        for file in files:
            self._check_size(file)
        if results is not None and len(results) > 1e6 * self.limits.results_mb:
            raise StoreError(
                f"The results take {len(results) / 1e6:.0f} MB, more than the {self.limits.results_mb:.0f} MB kept per "
                "run. Use fewer kernels."
            )
        who, run, now = digest(owner), secrets.token_hex(16), time.time()
        texts = json.dumps(dict(recipe)), json.dumps(dict(facts or {}), allow_nan=False)
        size = sum(map(len, texts)) + len(results or b"")
        with self._writing() as base:
            self._make_room(base, who, size)
            (count,) = base.execute("SELECT count(*) FROM runs WHERE owner = ?", (who,)).fetchone()
            if count >= self.limits.runs:
                raise StoreError(f"{count} runs are kept for this browser, the most there may be. Delete one first.")
            base.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run, who, digest(link_secret(owner, run)), clean, page, *texts, results, size, now),
            )
            for file in files:
                base.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (run, self._keep(base, who, file)))
        return Run(run, clean, page, dict(recipe), dict(facts or {}), now, size, _named(files))

    def runs(self, owner: str) -> list[Run]:
        """Return the owner's runs, the latest first."""
        with self.disk.open() as base:
            rows = base.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE owner = ? ORDER BY created DESC, rowid DESC", (digest(owner),)
            ).fetchall()
            return [_run(row, _files_of(base, row[0])) for row in rows]

    def run(self, owner: str, run: str) -> tuple[Run, list[File]]:
        """Return one of the owner's runs with its files."""
        return self._opened("owner = ? AND id = ?", (digest(owner), run))

    def linked(self, secret: str) -> tuple[Run, list[File]]:
        """Return the run a secret link names, with its files. The words for a wrong secret and a deleted run are the same."""
        if not is_secret(secret):
            raise StoreError(GONE)
        return self._opened("secret = ?", (digest(secret),))

    def owns(self, owner: str, run: str) -> bool:
        """Tell whether the run is one of the owner's."""
        with self.disk.open() as base:
            found = base.execute("SELECT 1 FROM runs WHERE owner = ? AND id = ?", (digest(owner), run))
            return found.fetchone() is not None

    def results(self, run: str) -> bytes | None:
        """Return the results of a run that has been found by its owner or its secret."""
        with self.disk.open() as base:
            row = base.execute("SELECT results FROM runs WHERE id = ?", (run,)).fetchone()
        return None if row is None else row[0]

    def delete(self, owner: str, run: str) -> tuple[str, ...]:
        """Delete a run and its files; return the names of those files that stay because another run needs them."""
        who = digest(owner)
        with self._writing() as base:
            held = base.execute(
                "SELECT file FROM holds JOIN runs ON runs.id = holds.run WHERE runs.id = ? AND owner = ?", (run, who)
            ).fetchall()
            if base.execute("DELETE FROM runs WHERE id = ? AND owner = ?", (run, who)).rowcount == 0:
                raise StoreError(GONE)
            for (file,) in held:
                base.execute(f"DELETE FROM files WHERE id = ? AND id NOT IN ({_HELD})", (file,))
            marks = ",".join("?" * len(held))
            staying = base.execute(f"SELECT name FROM files WHERE id IN ({marks})", [f for (f,) in held]).fetchall()
        self.disk.wipe()
        return tuple(name for (name,) in staying)

    def tidy(self) -> None:
        """Let unnamed files leave whose days are over."""
        if self.disk.exists():
            with self._writing():
                pass
            self.disk.wipe()

    # Outcomes of experiments: about made data, so everybody's

    def keep_outcome(self, experiment: str, name: str, content: str, most: int) -> None:
        """Keep what an experiment found, in place of an earlier one of that name; only the ``most`` newest stay."""
        mine = (experiment,)
        with self._writing() as base:
            base.execute(_OUTCOMES)
            base.execute("DELETE FROM outcomes WHERE experiment = ? AND name = ?", (experiment, name))
            base.execute(
                "INSERT INTO outcomes (experiment, name, content) VALUES (?, ?, ?)", (experiment, name, content)
            )
            newest = "SELECT id FROM outcomes WHERE experiment = ? ORDER BY id DESC LIMIT ?"
            base.execute(f"DELETE FROM outcomes WHERE experiment = ? AND id NOT IN ({newest})", mine + mine + (most,))

    def outcomes(self, experiment: str) -> list[str]:
        """Return what is kept of an experiment, the newest first."""
        if not self.disk.exists():
            return []
        with self._writing() as base:
            base.execute(_OUTCOMES)
            found = base.execute("SELECT content FROM outcomes WHERE experiment = ? ORDER BY id DESC", (experiment,))
            return [str(content) for (content,) in found]

    # How it works inside

    def _keep(self, base: sqlite3.Connection, who: str, file: File) -> int:
        row = base.execute("SELECT id FROM files WHERE owner = ? AND source = ?", (who, file.source)).fetchone()
        if row is not None:
            base.execute(
                "UPDATE files SET used = ?, name = ? WHERE id = ?", (time.time(), clean_name(file.name), row[0])
            )
            return row[0]
        self._make_room(base, who, len(file.content))
        added = base.execute(
            "INSERT INTO files (owner, source, name, content, size, used) VALUES (?, ?, ?, ?, ?, ?)",
            (who, file.source, clean_name(file.name), file.content, len(file.content), time.time()),
        )
        return int(added.lastrowid or 0)

    def _check_size(self, file: File) -> None:
        if len(file.content) > 1e6 * self.limits.file_mb:
            raise StoreError(
                f"The file has {len(file.content) / 1e6:.0f} MB, more than the {self.limits.file_mb:.0f} MB the server "
                "keeps. It stays in this session only."
            )

    def _make_room(self, base: sqlite3.Connection, who: str, more: int) -> None:
        """Let the oldest unnamed files leave until ``more`` bytes fit, or refuse."""
        mine = _SIZE.format(" WHERE owner = ?"), (who, who)
        whole: tuple[str, tuple[str, ...]] = _SIZE.format(""), ()
        own = f"SELECT id FROM files WHERE owner = ? AND id NOT IN ({_HELD}) ORDER BY used LIMIT 1"
        any_one = f"SELECT id FROM files WHERE id NOT IN ({_HELD}) ORDER BY used LIMIT 1"
        for (question, values), next_out, asked, limit, whose in (
            (mine, own, (who,), self.limits.owner_mb, "this browser"),
            (whole, any_one, (), self.limits.total_mb, "this server"),
        ):
            while base.execute(question, values).fetchone()[0] + more > 1e6 * limit:
                out = base.execute(next_out, asked).fetchone()
                if out is None:
                    raise StoreError(
                        f"There is no room: named runs of {whose} take nearly all of its {limit:,.0f} MB. Delete one first."
                    )
                base.execute("DELETE FROM files WHERE id = ?", out)

    def _opened(self, where: str, values: tuple[str, ...]) -> tuple[Run, list[File]]:
        with self.disk.open() as base:
            row = base.execute(f"SELECT {_COLUMNS} FROM runs WHERE {where}", values).fetchone()
            if row is None:
                raise StoreError(GONE)
            found = base.execute(
                "SELECT source, name, content FROM files JOIN holds ON holds.file = files.id WHERE holds.run = ?",
                row[:1],
            ).fetchall()
        files = [_checked(File(*part)) for part in found]
        return _run(row, _named(files)), files

    def _expire(self, base: sqlite3.Connection) -> None:
        base.execute(f"DELETE FROM files WHERE used < ? AND id NOT IN ({_HELD})", (time.time() - UNNAMED_DAYS * DAY,))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self.disk.open() as base:
            base.execute("BEGIN IMMEDIATE")
            try:
                self._expire(base)
                yield base
                base.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    base.execute("ROLLBACK")
                raise


_COLUMNS = "id, name, page, recipe, facts, created, size"


def _run(row: Sequence[Any], files: tuple[tuple[str, str], ...]) -> Run:
    try:
        recipe, facts = json.loads(row[3]), json.loads(row[4])
        parts = {str(key): str(value) for key, value in recipe.items()}
        return Run(row[0], row[1], row[2], parts, dict(facts), row[5], row[6], files)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError("This run cannot be read. Delete it and save the screen again.") from error


def _files_of(base: sqlite3.Connection, run: str) -> tuple[tuple[str, str], ...]:
    found = base.execute(
        "SELECT source, name FROM files JOIN holds ON holds.file = files.id WHERE holds.run = ? ORDER BY files.id",
        (run,),
    )
    return tuple((source, name) for source, name in found)


def _named(files: Sequence[File]) -> tuple[tuple[str, str], ...]:
    return tuple((file.source, file.name) for file in files)


def _checked(file: File) -> File:
    """Return the file if its bytes are those its name stands for."""
    if not isinstance(file.content, bytes) or not file.source.endswith(hashlib.sha256(file.content).hexdigest()):
        raise StoreError(f"The kept file {file.name!r} is damaged. Upload it again.")
    return file
