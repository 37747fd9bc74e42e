"""Tries of earlier sweeps in a small SQLite table, so that a restarted notebook need not wait."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from explorer.compiler.runtime.cache import default_folder
from explorer.tuning_result import RANK, Try

FORMAT = 1
"""Version of the table and of its rows; others are not read."""

ROWS = 20_000
"""Tries that are kept; the least recently used go first."""

_FIELDS: dict[str, tuple[type, ...]] = {
    "status": (str,),
    "seconds": (float, type(None)),
    "spread": (float, type(None)),
    "runs": (int,),
    "reason": (str,),
    "max_error": (float, int, type(None)),
    "device": (str,),
    "resources": (dict,),
}
"""What is kept of a try -> the types that it may have when it is read."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS tries (key TEXT PRIMARY KEY, facts TEXT, digest TEXT, used REAL)"
)


class TuningStore:
    """Tries by key. Several processes may use one file: SQLite makes every change whole or not.

    A row whose digest or types are off is as good as none; a file that is no table is set aside.
    When the disk refuses, nothing is kept.
    """

    def __init__(self, path: Path | None = None, *, rows: int = ROWS) -> None:
        """The file is made when something is put into it.

        Args:
            path: the file; left out: ``tuning.sqlite`` in the user's cache folder.
            rows: most tries to keep.
        """
        self.path = path or default_folder() / "tuning.sqlite"
        self._rows = rows

    def get(self, key: str, bindings: Mapping[str, Any]) -> Try | None:
        """The try kept under a key, None when there is none that can be trusted."""
        if not self.path.exists():
            return None
        found = self._do(lambda table: _select(table, key))
        facts = _checked(key, *found) if found else None
        return Try(bindings, **facts, reused=True) if facts else None

    def put(self, key: str, tried: Try) -> None:
        """Keep a try, in place of an older one."""
        facts = json.dumps({name: getattr(tried, name) for name in _FIELDS}, sort_keys=True)
        row = (key, facts, _digest(key, facts), time.time())
        self._do(lambda table: self._insert(table, row))

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _insert(self, table: sqlite3.Connection, row: tuple[str, str, str, float]) -> None:
        table.execute("INSERT OR REPLACE INTO tries VALUES (?, ?, ?, ?)", row)
        table.execute(
            "DELETE FROM tries WHERE key NOT IN (SELECT key FROM tries ORDER BY used DESC LIMIT ?)",
            (self._rows,),
        )

    def _do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Work on the table in one transaction; None when that is not possible."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self.path, timeout=5.0)) as table, table:
                _prepare(table)
                return work(table)
        except (OSError, sqlite3.OperationalError):  # locked, full, or not ours to write
            return None
        except sqlite3.DatabaseError:
            with contextlib.suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))
            return None


def _prepare(table: sqlite3.Connection) -> None:
    """Make the table; one of another version is emptied."""
    (version,) = table.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        table.execute("DROP TABLE IF EXISTS tries")
        table.execute(f"PRAGMA user_version = {FORMAT:d}")
    table.execute(_TABLE)


def _select(table: sqlite3.Connection, key: str) -> tuple[str, str] | None:
    row = table.execute("SELECT facts, digest FROM tries WHERE key = ?", (key,)).fetchone()
    if row is not None:
        table.execute("UPDATE tries SET used = ? WHERE key = ?", (time.time(), key))
    return row


def _checked(key: str, facts: object, digest: object) -> dict[str, Any] | None:
    """The facts as data, if they are what was put in and of the right kinds."""
    if not isinstance(facts, str) or _digest(key, facts) != digest:
        return None
    data = json.loads(facts)
    kinds = all(isinstance(data.get(name), types) for name, types in _FIELDS.items())
    return data if kinds and data.keys() == _FIELDS.keys() and data["status"] in RANK else None


def _digest(key: str, facts: str) -> str:
    return hashlib.sha256(f"{FORMAT}\n{key}\n{facts}".encode()).hexdigest()
