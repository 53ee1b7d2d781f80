"""Runs in the store: files and runs as rows, whose they are, and the bounds on them. No Streamlit."""

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mklcore.data.columns import clean_name
from pages._parts.runs import clock, disk
from pages._parts.runs.clock import DAY, Clock
from pages._parts.runs.disk import Disk, StoreError
from pages._parts.runs.secrets import digest, is_secret, link_secret

UNNAMED_DAYS = 7
UNOPENED_DAYS = 180  # a named run leaves when nobody has opened it for so long
LIVING_DAYS = 1  # what was used within these makes no room for anybody else
LONGEST_NAME = 80
UNREAD = "a run that cannot be read any more"
GONE = "This run does not exist. It may have been deleted, or the link is not complete."
_SIZE = "SELECT coalesce((SELECT sum(size) FROM files{0}), 0) + coalesce((SELECT sum(size) FROM runs{0}), 0)"
_OLDEST = "SELECT id, size FROM files WHERE {0} AND id NOT IN ({1}) ORDER BY used"
_HELD = "SELECT file FROM holds"


@dataclass(frozen=True)
class Limits:
    """How much is kept: megabytes per file, browser and for the whole server, and runs per browser."""

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
    """A saved screen: its name, page and recipe (the parts of its link), what is known of it, when it was saved, until
    when it is kept if nobody opens it.
    """

    id: str
    name: str
    page: str
    recipe: Mapping[str, str]
    facts: Mapping[str, Any]
    created: float
    size: int
    files: tuple[tuple[str, str], ...] = ()
    until: float = 0.0


class _Rule(NamedTuple):
    """A bound on what some rows take together, and which unnamed files may leave for it."""

    megabytes: float
    where: str
    values: tuple[Any, ...]
    leaving: str
    leavers: tuple[Any, ...]
    whose: str


class Store:
    """The kept work of one server. Every method raises ``StoreError`` when the file cannot be used."""

    def __init__(self, home: Path | None, limits: Limits | None = None, clock: Clock | None = None) -> None:
        self.disk, self.limits, self.clock = Disk(home), limits or Limits(), clock or Clock()

    @property
    def warning(self) -> str:
        """Return what became of a damaged file; empty where all is well."""
        return self.disk.warning

    # Files

    def keep(self, owner: str, file: File) -> None:
        """Keep a file without a name for some days from its last use."""
        self._check_size(file)
        who = digest(owner)
        self._make_room(who, 0, [file])
        with self._writing(len(file.content)) as (base, now):
            self._keep(base, now, who, file)

    def file(self, owner: str, source: str) -> File | None:
        """Return one of the owner's files; looking at it renews its days."""
        row = self._row("SELECT id, name, content FROM files WHERE owner = ? AND source = ?", digest(owner), source)
        if row is None:
            return None
        self._touch("files", row[0])
        return _checked(File(source, row[1], row[2]))

    def is_kept(self, owner: str, source: str) -> bool:
        """Tell whether the file is kept for the owner."""
        return self._row("SELECT 1 FROM files WHERE owner = ? AND source = ?", digest(owner), source) is not None

    def forget(self, owner: str, source: str) -> bool:
        """Delete a file at once unless a run needs it; tell whether it is gone."""
        mine = digest(owner), source

        def act(base: sqlite3.Connection) -> bool:
            self._let_go(base, _ids(base, "owner = ? AND source = ?", mine))
            return base.execute("SELECT 1 FROM files WHERE owner = ? AND source = ?", mine).fetchone() is None

        return self.disk.free(act)

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
        """Keep a screen under a name, with the files its recipe needs and the results on it.

        It stays until it is deleted, or until nobody has opened it for ``UNOPENED_DAYS``.
        """
        clean = clean_name(name)[:LONGEST_NAME] or time.strftime("Run of %d %B %Y, %H:%M")
        for file in files:
            self._check_size(file)
        if results is not None and len(results) > 1e6 * self.limits.results_mb:
            raise StoreError(
                f"The results take {len(results) / 1e6:.0f} MB, more than the {self.limits.results_mb:.0f} MB kept per "
                "run. Use fewer kernels."
            )
        who, run, created = digest(owner), secrets.token_hex(16), time.time()
        texts = json.dumps(dict(recipe)), json.dumps(dict(facts or {}), allow_nan=False)
        size = sum(map(len, texts)) + len(results or b"")
        self._make_room(who, size, files)
        with self._writing(size + sum(len(file.content) for file in files)) as (base, now):
            (count,) = base.execute("SELECT count(*) FROM runs WHERE owner = ?", (who,)).fetchone()
            if count >= self.limits.runs:
                raise StoreError(f"{count} runs are kept for this browser, the most there may be. Delete one first.")
            link = digest(link_secret(owner, run))
            row = run, who, link, clean, page, *texts, results, size, created, now
            base.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            for file in files:
                held = self._keep(base, now, who, file)
                base.execute("INSERT OR IGNORE INTO holds VALUES (?, ?)", (run, held))
        until = time.time() + UNOPENED_DAYS * DAY
        return Run(run, clean, page, dict(recipe), dict(facts or {}), created, size, _named(files), until)

    def runs(self, owner: str) -> list[Run]:
        """Return the owner's runs, the latest first."""
        with self.disk.open() as base:
            rows = base.execute(
                f"SELECT {_COLUMNS} FROM runs WHERE owner = ? ORDER BY created DESC, rowid DESC", (digest(owner),)
            ).fetchall()
            now = clock.age(base)
            return [_listed(row, _files_of(base, row[0]), now) for row in rows]

    def run(self, owner: str, run: str) -> tuple[Run, list[File]]:
        """Return one of the owner's runs with its files."""
        return self._opened("owner = ? AND id = ?", (digest(owner), run))

    def linked(self, secret: str) -> tuple[Run, list[File]]:
        """Return the run a secret link names, with its files.

        The words for a wrong secret and a deleted run are the same.
        """
        if not is_secret(secret):
            raise StoreError(GONE)
        return self._opened("secret = ?", (digest(secret),))

    def owns(self, owner: str, run: str) -> bool:
        """Tell whether the run is one of the owner's."""
        return self._row("SELECT 1 FROM runs WHERE owner = ? AND id = ?", digest(owner), run) is not None

    def results(self, run: str) -> bytes | None:
        """Return the results of a run that has been found by its owner or its secret."""
        row = self._row("SELECT results FROM runs WHERE id = ?", run)
        return None if row is None else row[0]

    def delete(self, owner: str, run: str) -> tuple[str, ...]:
        """Delete a run and its files; return the names of those files that stay because another run needs them."""

        def act(base: sqlite3.Connection) -> tuple[str, ...]:
            found = base.execute("SELECT rowid FROM runs WHERE id = ? AND owner = ?", (run, digest(owner))).fetchone()
            if found is None:
                raise StoreError(GONE)
            return self._delete(base, *found)

        return self.disk.free(act)

    def tidy(self) -> None:
        """Let unnamed files leave whose days are over, and runs nobody opens."""
        if not self.disk.exists():
            return
        with self._writing() as (base, now):
            pass
        with self.disk.open() as base:
            self._expire(base, now)
        self.disk.wipe()

    # How it works inside

    def _row(self, question: str, *values: object) -> tuple[Any, ...] | None:
        with self.disk.open() as base:
            row: tuple[Any, ...] | None = base.execute(question, values).fetchone()
        return row

    def _keep(self, base: sqlite3.Connection, now: float, who: str, file: File) -> int:
        row = base.execute("SELECT id FROM files WHERE owner = ? AND source = ?", (who, file.source)).fetchone()
        if row is not None:
            base.execute("UPDATE files SET used = ?, name = ? WHERE id = ?", (now, clean_name(file.name), row[0]))
            return int(row[0])
        values = who, file.source, clean_name(file.name), file.content, len(file.content), now
        added = base.execute(
            "INSERT INTO files (owner, source, name, content, size, used) VALUES (?, ?, ?, ?, ?, ?)", values
        )
        return int(added.lastrowid or 0)

    def _touch(self, table: str, row: object) -> None:
        """Write down that something was used; where nothing can be written it is read all the same."""
        with suppress(StoreError), self._writing() as (base, now):
            base.execute(f"UPDATE {table} SET used = ? WHERE id = ?", (now, row))

    def _check_size(self, file: File) -> None:
        if len(file.content) > 1e6 * self.limits.file_mb:
            raise StoreError(
                f"The file has {len(file.content) / 1e6:.0f} MB, more than the {self.limits.file_mb:.0f} MB the server "
                "keeps. It stays in this session only."
            )

    def _make_room(self, who: str, more: int, files: Sequence[File]) -> None:
        """Let unnamed files leave until the new ones and ``more`` bytes fit, or refuse.

        A browser's own leave first; a stranger's only when nobody has used them for a day.
        """
        with self._writing() as (base, now):
            there = {source for (source,) in base.execute("SELECT source FROM files WHERE owner = ?", (who,))}
        more += sum(len(file.content) for file in files if file.source not in there)
        idle = now - LIVING_DAYS * DAY
        rules = [_Rule(self.limits.owner_mb, "owner = ?", (who,), "owner = ?", (who,), "this browser")]
        anyones = "(owner = ? OR used < ?)", (who, idle)
        rules.append(_Rule(self.limits.total_mb, "1 = ?", (1,), *anyones, "this server"))
        with self.disk.open() as base:
            self._expire(base, now)
            for rule in rules:
                held = base.execute(_SIZE.format(f" WHERE {rule.where}"), 2 * rule.values).fetchone()[0]
                over, out = held + more - 1e6 * rule.megabytes, []
                for row, size in base.execute(_OLDEST.format(rule.leaving, _HELD), rule.leavers):
                    if over <= 0:
                        break
                    out.append(row)
                    over -= size
                if over > 0:
                    raise StoreError(_no_room(rule.whose, rule.megabytes))
                self._let_go(base, out)

    def _expire(self, base: sqlite3.Connection, now: float) -> None:
        self._let_go(base, _ids(base, "used < ?", (now - UNNAMED_DAYS * DAY,)))
        late = base.execute("SELECT rowid FROM runs WHERE used < ?", (now - UNOPENED_DAYS * DAY,)).fetchall()
        for (row,) in late:
            self._delete(base, row)

    def _let_go(self, base: sqlite3.Connection, rows: Sequence[int]) -> None:
        """Delete files, each in steps that need little room; those a run holds stay."""
        base.execute("PRAGMA secure_delete = FAST")  # their bytes are zeroed before
        for row in rows:
            if base.execute("SELECT 1 FROM holds WHERE file = ?", (row,)).fetchone() is None:
                _blank_file(base, row)
                base.execute(f"DELETE FROM files WHERE id = ? AND id NOT IN ({_HELD})", (row,))

    def _delete(self, base: sqlite3.Connection, row: int) -> tuple[str, ...]:
        """Delete the run in a row of its table with its files; return the names of those another run needs.

        First their bytes are zeroed where they are, in steps, then the rows leave in one.
        """
        base.execute("PRAGMA secure_delete = FAST")
        run, name, recipe, facts, size = base.execute(
            "SELECT id, name, recipe, facts, length(results) FROM runs WHERE rowid = ?", (row,)
        ).fetchone()
        held = [file for (file,) in base.execute("SELECT file FROM holds WHERE run = ?", (run,))]
        others = "SELECT id FROM files WHERE id = ? AND id IN (SELECT file FROM holds WHERE run != ?)"
        staying = [file for file in held if base.execute(others, (file, run)).fetchone()]
        for file in set(held) - set(staying):
            _blank_file(base, file)
        disk.blank(base, "runs", "results", row, size or 0)
        blanks = [" " * len(str(text).encode()) for text in (name, recipe, facts)]  # of one length: written in place
        base.execute("BEGIN IMMEDIATE")
        with base:
            base.execute("UPDATE runs SET name = ?, recipe = ?, facts = ? WHERE rowid = ?", (*blanks, row))
            base.execute("DELETE FROM runs WHERE rowid = ?", (row,))
            for file in set(held) - set(staying):
                base.execute(f"DELETE FROM files WHERE id = ? AND id NOT IN ({_HELD})", (file,))
        marks = ",".join("?" * len(staying))
        return tuple(name for (name,) in base.execute(f"SELECT name FROM files WHERE id IN ({marks})", staying))

    def _opened(self, where: str, values: tuple[str, ...]) -> tuple[Run, list[File]]:
        with self.disk.open() as base:
            row = base.execute(f"SELECT {_COLUMNS} FROM runs WHERE {where}", values).fetchone()
            if row is None:
                raise StoreError(GONE)
            found = base.execute(
                "SELECT source, name, content FROM files JOIN holds ON holds.file = files.id WHERE holds.run = ?",
                row[:1],
            ).fetchall()
            now = clock.age(base)
        files = [_checked(File(*part)) for part in found]
        self._touch("runs", row[0])
        return _run(row, _named(files), now), files

    @contextmanager
    def _writing(self, more: int = 0) -> Iterator[tuple[sqlite3.Connection, float]]:
        """Write ``more`` bytes as one transaction; gives the connection and the age of the store."""
        with self.disk.open(more) as base:
            base.execute("BEGIN IMMEDIATE")
            with base:
                yield base, self.clock.tell(base)


_COLUMNS = "id, name, page, recipe, facts, created, size, used"


def _blank_file(base: sqlite3.Connection, row: int) -> None:
    for (size,) in base.execute("SELECT size FROM files WHERE id = ?", (row,)).fetchall():
        disk.blank(base, "files", "content", row, size)


def _ids(base: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> list[int]:
    return [row for (row,) in base.execute(f"SELECT id FROM files WHERE {where} AND id NOT IN ({_HELD})", values)]


def _no_room(whose: str, limit: float) -> str:
    if whose == "this server":
        return (
            f"There is no room on this server: it keeps {limit:,.0f} MB, all named or used within a day. The file "
            f"stays in this "
            "session; try again tomorrow, or ask who keeps the server."
        )
    return f"There is no room: named runs of {whose} take nearly all of its {limit:,.0f} MB. Delete one first."


def _run(row: Sequence[Any], files: tuple[tuple[str, str], ...], now: float) -> Run:
    try:
        until = time.time() + row[7] + UNOPENED_DAYS * DAY - now
        recipe, facts = json.loads(row[3]), json.loads(row[4])
        parts = {str(key): str(value) for key, value in recipe.items()}
        time.localtime(until), time.localtime(row[5])  # a list shows both as days
        return Run(row[0], str(row[1]), str(row[2]), parts, dict(facts), row[5], row[6], files, until)
    except (ValueError, TypeError, AttributeError, OverflowError, OSError) as error:
        raise StoreError("This run cannot be read. Delete it and save the screen again.") from error


def _listed(row: Sequence[Any], files: tuple[tuple[str, str], ...], now: float) -> Run:
    """Return a run for a list; one that does not read is there under a name that says so, and can be deleted."""
    try:
        return _run(row, files, now)
    except StoreError:
        return Run(str(row[0]), UNREAD, "data", {}, {}, 0.0, 0, files)


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
