"""Runs as tables: what the file of kept work holds, and how one of an earlier release becomes one of this."""

import secrets
import sqlite3
import time

SCHEMA = 2
TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
    size INTEGER NOT NULL, used REAL NOT NULL, address TEXT NOT NULL DEFAULT '', UNIQUE (owner, source));
CREATE TABLE runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret TEXT NOT NULL UNIQUE, name TEXT NOT NULL, page TEXT NOT NULL,
    recipe TEXT NOT NULL, facts TEXT NOT NULL, results BLOB, size INTEGER NOT NULL, created REAL NOT NULL,
    address TEXT NOT NULL DEFAULT '', used REAL NOT NULL DEFAULT 0);
CREATE TABLE holds (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, file INTEGER NOT NULL REFERENCES files,
    PRIMARY KEY (run, file)) WITHOUT ROWID;
CREATE INDEX runs_by_owner ON runs (owner, created);
CREATE INDEX files_by_use ON files (used);
CREATE INDEX holds_by_file ON holds (file)
"""
# The clock of the store: when it was last looked at, how old the store is then, and what addresses are mixed with.
CLOCK = "CREATE TABLE clock (wall REAL NOT NULL, age REAL NOT NULL, salt TEXT NOT NULL)"
FROM_1 = (
    "ALTER TABLE files ADD COLUMN address TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN address TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE runs ADD COLUMN used REAL NOT NULL DEFAULT 0",
)


PATIENCE_SECONDS = 10.0  # for another connection that writes


def settle(base: sqlite3.Connection) -> None:
    """Set a connection up, and make the tables that are not there yet."""
    base.execute("PRAGMA secure_delete = ON")
    base.execute("PRAGMA foreign_keys = ON")
    base.execute("PRAGMA trusted_schema = OFF")
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if version == SCHEMA:
        return
    if version > SCHEMA:
        raise sqlite3.NotSupportedError("the file of kept runs was written by a later release")
    if version == 0:
        base.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _log_beside(base)
    base.execute("BEGIN IMMEDIATE")
    with base:
        _bring_up_to_date(base)


def _log_beside(base: sqlite3.Connection) -> None:
    """Have changes kept in a log beside the file.

    Another process that does the same is waited for: SQLite does not, here.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            base.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _bring_up_to_date(base: sqlite3.Connection) -> None:
    version = base.execute("PRAGMA user_version").fetchone()[0]  # another process may have been quicker
    if version == SCHEMA:
        return
    for statement in TABLES.split(";") if version == 0 else FROM_1:
        base.execute(statement)
    base.execute("UPDATE runs SET used = ?", (time.time(),))
    base.execute(CLOCK)
    base.execute("INSERT INTO clock VALUES (?, ?, ?)", (time.time(), time.time(), secrets.token_hex(16)))
    base.execute(f"PRAGMA user_version = {SCHEMA}")
