"""The history of a campaign is one SQLite file per manager, written by it alone.

File locks fail on parallel file systems, so none are taken: only its manager writes a file, and readers work
on a copy. The history decides nothing (outputs and claims do). The file of a manager that was killed lacks
the last quarter of a second: the report takes these attempts from their claims (:mod:`.history`), and misses
events alone. Rows that a full disk does not take are lost likewise.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground.errors import FileError
from .event_lines import EventLines

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
# manager.machine and manager.campaign are JSON (names, numbers of nodes and tasks, the text of the file).
# attempt.outcome is running, done, or a class of failure (model.Failure); attempt.places is a JSON list of
# [node, ranks, [cpus], [gpus], share]; attempt.inputs and attempt.outputs are JSON {path: {bytes, sha256}}.
# event.kind is launch-refused, quarantine, node-joined, node-lost, orphan-ended, set-aside, claim-taken-over,
# skipped, predicate-failed, drain, model-fitted or tasks-made. Times are seconds since 1970.

COMMIT_SECONDS = 0.25
_TABLES = [f"{table};" for table in SCHEMA.split(";") if table.strip()]


class Records:
    """This is the file of one manager.

    Parameters
    ----------
    path
        <state>/records/<manager>.sqlite
    on_loss
        Told once why the history has gaps.
    lines
        The same for monitors outside, as lines of JSON.

    Raises
    ------
    FileError
        The file cannot be made.
    """

    def __init__(
        self,
        path: Path,
        on_loss: Callable[[str], None] = lambda reason: None,
        *,
        lines: EventLines | None = None,
    ) -> None:
        self._lines = lines
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._on_loss, self._is_whole = path, on_loss, True
        try:
            self._base = sqlite3.connect(f"file:{path}?nolock=1", uri=True, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise FileError(f"{path}: {error}: managers write in the state folder") from error
        for statement in ("PRAGMA journal_mode=TRUNCATE", "PRAGMA synchronous=NORMAL", *_TABLES, "BEGIN"):
            self._do(statement)
        self._committed = time.monotonic()

    def _do(self, statement: str, values: Sequence[Any] = ()) -> None:
        try:
            self._base.execute(statement, values)
        except sqlite3.OperationalError as error:  # what the disk does not take is lost
            if self._is_whole:
                self._is_whole = False
                self._on_loss(f"{self.path}: {error}")

    def insert(self, table: str, **values: Any) -> None:
        """Insert a row; mappings, lists and tuples are stored as JSON."""
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self._do(
            f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", [_plain(v) for v in values.values()]
        )

    def begin_attempt(self, task: str, number: int, **values: Any) -> None:
        """Insert a row for an attempt that begins."""
        self.insert("attempt", task=task, number=number, outcome="running", **values)
        self._tell(
            "attempt-started",
            task=task,
            attempt=number,
            group=values["task_group"],
            nodes=[place[0] for place in values["places"]],
            ranks=values["ranks"],
            gpus=values["gpus"],
            estimate=values["estimate"],
            log=values["log"],
        )

    def end_attempt(self, task: str, number: int, *, log: str | None = None, **values: Any) -> None:
        """Fill in how an attempt ended. `log` is where the reason of a failure is to be read."""
        told = {key: values[key] for key in ("outcome", "reason", "status") if key in values}
        self._tell("attempt-ended", task=task, attempt=number, log=log, **told)
        columns = ", ".join(f"{name} = ?" for name in values)
        self._do(
            f"UPDATE attempt SET {columns} WHERE task = ? AND number = ?",
            [*(_plain(v) for v in values.values()), task, number],
        )

    def update(self, table: str, key: Mapping[str, Any], **values: Any) -> None:
        """Change the rows of a table that have these values."""
        columns = ", ".join(f"{name} = ?" for name in values)
        where = " AND ".join(f"{name} IS ?" for name in key)
        self._do(
            f"UPDATE {table} SET {columns} WHERE {where}",
            [*(_plain(v) for v in values.values()), *key.values()],
        )

    def event(self, kind: str, *, task: str = "", node: str = "", detail: str = "") -> None:
        """Record an event that is worth a line in the report."""
        self.insert("event", time=time.time(), kind=kind, task=task, node=node, detail=detail)
        self._tell(kind, task=task, node=node, detail=detail)

    def _tell(self, event: str, **values: Any) -> None:
        if self._lines is not None:
            self._lines.write(event, **values)

    def commit(self, *, now: bool = False) -> None:
        """Make rows durable; at most four times a second unless `now`."""
        if now or time.monotonic() - self._committed > COMMIT_SECONDS:
            self._end_transaction()
            self._do("BEGIN")
            self._committed = time.monotonic()

    def close(self) -> None:
        self._end_transaction()
        self._base.close()

    def _end_transaction(self) -> None:
        for statement in ("COMMIT", "ROLLBACK"):
            if self._base.in_transaction:  # a full disk may have rolled it back, or refuse the commit
                self._do(statement)


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (dict, list, tuple)) else value


@contextlib.contextmanager
def read_records(path: Path, *, tries: int = 20) -> Iterator[sqlite3.Connection]:
    """Copy a manager's file and open the copy for reading; the manager may run, or was killed.

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
            raise FileError(
                f"{path}: expected a file that stays as it is while it is copied, found that it changed "
                f"in each of {tries} tries"
            )
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
            base.executescript(SCHEMA)  # a manager may have been killed before it made its tables
            base.execute("SELECT count(*) FROM attempt").fetchone()
            return base
    except sqlite3.DatabaseError:
        pass
    base.close()
    return None


def records_of(state: Path) -> list[Path]:
    """Return the files of all managers that ever ran, oldest first."""
    paths = (path for path in (state / "records").glob("*.sqlite") if path.is_file())
    return sorted(paths, key=lambda path: path.stat().st_mtime)
