"""Runs as tables: what the file of kept work holds."""

import sqlite3
import time

SCHEMA = 3
TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL,
    size INTEGER NOT NULL, used REAL NOT NULL, UNIQUE (owner, source));
CREATE TABLE runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret TEXT NOT NULL UNIQUE, name TEXT NOT NULL, page TEXT NOT NULL,
    recipe TEXT NOT NULL, facts TEXT NOT NULL, results BLOB, size INTEGER NOT NULL, created REAL NOT NULL,
    used REAL NOT NULL DEFAULT 0);
CREATE TABLE holds (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, file INTEGER NOT NULL REFERENCES files,
    PRIMARY KEY (run, file)) WITHOUT ROWID;
CREATE INDEX runs_by_owner ON runs (owner, created);
CREATE INDEX files_by_use ON files (used);
CREATE INDEX holds_by_file ON holds (file)
"""
# The clock of the store: when it was last looked at, and how old the store is then.
CLOCK = "CREATE TABLE clock (wall REAL NOT NULL, age REAL NOT NULL)"
PATIENCE_SECONDS = 10.0  # for another connection that writes


def settle(base: sqlite3.Connection) -> None:
    """Set a connection up, and make the tables that are not there yet."""
    base.execute("PRAGMA secure_delete = ON")
    base.execute("PRAGMA foreign_keys = ON")
    base.execute("PRAGMA trusted_schema = OFF")
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if version == SCHEMA:
        return
    if version:
        raise sqlite3.NotSupportedError("the file of kept runs was written by another release")
    base.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _log_beside(base)
    base.execute("BEGIN IMMEDIATE")
    with base:
        _make(base)


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


def _make(base: sqlite3.Connection) -> None:
    if base.execute("PRAGMA user_version").fetchone()[0] == SCHEMA:  # another process was quicker
        return
    for statement in (*TABLES.split(";"), CLOCK):
        base.execute(statement)
    base.execute("INSERT INTO clock VALUES (?, ?)", (time.time(), time.time()))
    base.execute(f"PRAGMA user_version = {SCHEMA}")
