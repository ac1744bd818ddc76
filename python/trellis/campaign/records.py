"""The history of a campaign: one SQLite file per manager, written by it alone.

File locks fail on parallel file systems, so none are taken: only its manager writes a file, and readers work
on a copy. The history decides nothing (outputs and claims do): a last quarter of a second that is lost in a
power failure costs a line of the report and no work.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import FileError

SCHEMA = """
CREATE TABLE IF NOT EXISTS manager (
  id TEXT PRIMARY KEY, host TEXT, pid INTEGER, started REAL, ended REAL, code_version TEXT, machine TEXT,
  campaign TEXT);
CREATE TABLE IF NOT EXISTS node (
  name TEXT, lump INTEGER, block INTEGER, cpus INTEGER, gpus INTEGER, joined REAL, left REAL, reason TEXT);
CREATE TABLE IF NOT EXISTS attempt (
  task TEXT, number INTEGER, task_group TEXT, parameters TEXT, alternative INTEGER, places TEXT, command TEXT,
  estimate REAL, started REAL, ended REAL, status INTEGER, outcome TEXT, reason TEXT, inputs TEXT,
  outputs TEXT, log TEXT, ranks INTEGER, cpus INTEGER, gpus REAL, PRIMARY KEY (task, number));
CREATE TABLE IF NOT EXISTS event (time REAL, kind TEXT, task TEXT, node TEXT, detail TEXT);
"""
# manager.machine, manager.campaign: JSON (names, numbers of nodes and tasks, the text of the file).
# attempt.outcome: running, done, or a class of failure (model.Failure); attempt.places: JSON list of
# [node, ranks, [cpus], [gpus], share]; attempt.inputs, attempt.outputs: JSON {path: {bytes, sha256}}.
# event.kind: launch-refused, quarantine, node-joined, node-lost, orphan-ended, set-aside,
# claim-taken-over, skipped, drain, model-fitted, tasks-made. Times: seconds since 1970.

COMMIT_SECONDS = 0.25


class Records:
    """The file of one manager.

    Parameters
    ----------
    path
        <state>/records/<manager>.sqlite
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._base = sqlite3.connect(f"file:{path}?nolock=1", uri=True, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=TRUNCATE")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.executescript(SCHEMA)
        self._base.execute("BEGIN")
        self._committed = time.monotonic()

    def insert(self, table: str, **values: Any) -> None:
        """A row; mappings, lists and tuples are stored as JSON."""
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self._base.execute(
            f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", [_plain(v) for v in values.values()]
        )

    def end_attempt(self, task: str, number: int, **values: Any) -> None:
        """Fill in how an attempt ended."""
        columns = ", ".join(f"{name} = ?" for name in values)
        self._base.execute(
            f"UPDATE attempt SET {columns} WHERE task = ? AND number = ?",
            [*(_plain(v) for v in values.values()), task, number],
        )

    def update(self, table: str, key: Mapping[str, Any], **values: Any) -> None:
        """Change the rows of a table that have these values."""
        columns = ", ".join(f"{name} = ?" for name in values)
        where = " AND ".join(f"{name} IS ?" for name in key)
        self._base.execute(
            f"UPDATE {table} SET {columns} WHERE {where}",
            [*(_plain(v) for v in values.values()), *key.values()],
        )

    def event(self, kind: str, *, task: str = "", node: str = "", detail: str = "") -> None:
        """Something worth a line in the report."""
        self.insert("event", time=time.time(), kind=kind, task=task, node=node, detail=detail)

    def commit(self, *, now: bool = False) -> None:
        """Make rows durable; at most four times a second unless `now`."""
        if now or time.monotonic() - self._committed > COMMIT_SECONDS:
            self._base.execute("COMMIT")
            self._base.execute("BEGIN")
            self._committed = time.monotonic()

    def close(self) -> None:
        self._base.execute("COMMIT")
        self._base.close()


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list, tuple)) else value


@contextlib.contextmanager
def read_records(path: Path, *, tries: int = 20) -> Iterator[sqlite3.Connection]:
    """A copy of a manager's file for reading, of a manager that runs or was killed.

    Raises
    ------
    FileError
        No consistent copy could be taken.
    """
    with tempfile.TemporaryDirectory(prefix="trellis-records-") as folder:
        copy = Path(folder) / path.name
        for _ in range(tries):
            base = _copy(path, copy)
            if base is not None:
                break
            time.sleep(0.05)
        else:
            raise FileError(f"{path}: no consistent copy in {tries} tries")
        try:
            yield base
        finally:
            base.close()


def _copy(path: Path, copy: Path) -> sqlite3.Connection | None:
    journal = path.with_name(path.name + "-journal")
    shutil.copyfile(path, copy)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(journal, copy.with_name(copy.name + "-journal"))
    base = sqlite3.connect(copy)
    base.row_factory = sqlite3.Row
    try:
        if base.execute("PRAGMA quick_check").fetchone()[0] == "ok":
            base.execute("SELECT count(*) FROM attempt").fetchone()
            return base
    except sqlite3.DatabaseError:
        pass
    base.close()
    return None


def records_of(state: Path) -> list[Path]:
    """The files of all managers that ever ran, oldest first."""
    return sorted((state / "records").glob("*.sqlite"), key=lambda path: path.stat().st_mtime)
