"""Claims say which manager runs which task, on a file system that several managers share.

Attempt g of a task belongs to the manager that created `<task>.<g>.claim`; the file is linked into place,
which succeeds for one only. How it ended is in `<task>.<g>.done`, `.failed` or `.released`, written under
another name and renamed. Attempt g+1 may be claimed when attempt g has ended or its manager is dead, so
that taking over a claim of a dead manager is again the creation of one file. `<task>.<g>.retry` makes
earlier failures not count.

A manager shows that it is alive in `managers/<id>.json`, where it counts up. On its own host (the same name,
boot and space of process numbers: virtual nodes and containers share names) it is dead when its process is;
elsewhere it is dead when the count has stood still for a lease by the observer's own monotonic clock: no two
clocks are ever compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from ..ground.crash_safe_files import write_json
from ..ground.errors import FileError

ENDS = ("done", "failed", "released")
#: The files of each kind have at least these keys.
_CONTENT: Mapping[str, Mapping[str, type]] = {
    "done": {"outputs": dict},
    "failed": {"failure": str, "reason": str, "nodes": list},
}


@dataclass(slots=True)
class History:
    """This is the history of a task, as the files tell it.

    Attributes
    ----------
    attempt
        Number of the last claim; -1: none.
    manager
        Who holds or held it.
    end
        "" while it runs (or its manager is dead), or "done", "failed", "released".
    failures
        Contents of the failures that count.
    """

    attempt: int = -1
    manager: str = ""
    end: str = ""
    claim: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)


def process_start(pid: int) -> str | None:
    """Return the start time of a process in clock ticks (its number may be used again);
    None: no such process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields[19]


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def process_space() -> str:
    """Return the space in which process numbers mean the same: containers on one host
    may each have their own.
    """
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _is_of_this_host(manager: Mapping[str, Any]) -> bool:
    """Return True if a manager's process can be looked up here; other hosts may have the same name."""
    return (
        manager.get("host") == socket.gethostname()
        and manager.get("boot") == boot_id()
        and manager.get("processes") == process_space()
    )


def _entries(shard: Path) -> Iterator[tuple[str, int, str, str]]:
    """Yield the name of the task's files, attempt, kind and path of all that one folder of claims has."""
    try:
        entries = list(os.scandir(shard))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        stem, _, kind = entry.name.rpartition(".")
        name, _, number = stem.rpartition(".")
        if kind in ("claim", "retry", *ENDS) and number.isdigit():
            yield name, int(number), kind, entry.path


class Claims:
    """These are the claims of a campaign, seen by one manager (or by a reader, who claims nothing)."""

    #: These managers of this process have ended: a full disk may have kept them from writing it.
    ended_here: ClassVar[set[str]] = set()

    def __init__(self, state: Path, *, lease_seconds: float = 60.0) -> None:
        self.folder = state / "claims"
        self.managers = state / "managers"
        self.lease_seconds = lease_seconds
        self.id = (
            f"{time.strftime('%Y%m%d-%H%M%S')}-{socket.gethostname().split('.')[0]}-{uuid.uuid4().hex[:6]}"
        )
        self._count = 0
        self._seen: dict[str, tuple[int, float]] = {}  # a manager has a count, and when it was first seen
        self._dead: set[str] = set()
        #: These managers died on this host without having ended, as far as they were looked at.
        self.killed: set[str] = set()

    # Managers

    def beat(self, *, ended: bool = False) -> None:
        """Show that this manager is alive, or that it has ended properly."""
        if ended:
            self.ended_here.add(self.id)
        self.managers.mkdir(parents=True, exist_ok=True)
        self._count += 1
        content = {
            "id": self.id,
            "host": socket.gethostname(),
            "boot": boot_id(),
            "processes": process_space(),
            "pid": os.getpid(),
            "started": process_start(os.getpid()),
            "count": self._count,
            "ended": ended,
        }
        write_json(self.managers / f"{self.id}.json", content)

    def is_alive(self, manager: str) -> bool:
        """Return True if a manager may still be at work."""
        if manager == self.id:
            return True
        if manager in self._dead or manager in self.ended_here:
            return False
        content = self._sign_of_life(manager)
        if not content["ended"] and not _is_of_this_host(content):
            now = time.monotonic()
            count, since = self._seen.get(manager, (None, now))
            if count != content["count"]:
                since = now
            self._seen[manager] = (content["count"], since)
            return now - since < self.lease_seconds  # it may have been held up, and count again
        if content["ended"] or process_start(content["pid"]) != content["started"]:
            self._dead.add(manager)
            if not content["ended"]:
                self.killed.add(manager)
            return False
        return True

    def _sign_of_life(self, manager: str) -> dict[str, Any]:
        for name in (f"{manager}.json", f"{manager}.json.partial"):  # it may have been killed at its first
            try:
                content = json.loads((self.managers / name).read_text())
            except (OSError, ValueError):
                continue
            if isinstance(content, dict) and {"count", "ended", "pid", "started"} <= content.keys():
                return content
        return {"count": -1, "ended": False}  # it cannot be read: it is dead after a lease

    def known_managers(self) -> dict[str, bool]:
        """Return all managers that ever ran, and whether they may be at work."""
        names = {p.name.removesuffix(".partial").removesuffix(".json") for p in self.managers.glob("*.json*")}
        return {name: self.is_alive(name) for name in sorted(names)}

    def remove_unfinished(self) -> None:
        """Remove the files that managers were just writing when they were killed.

        Only managers that are dead for certain count: one elsewhere may have been held up,
        and want its file yet.
        """
        known = {path.stem for path in self.managers.glob("*.json")}
        gone = {
            name for name, is_alive in self.known_managers().items() if not is_alive and name not in known
        }
        gone |= self.killed
        if not gone:
            return
        folders = [self.managers, self.folder.parent / "quarantine"]
        if self.folder.is_dir():
            folders += self.folder.iterdir()
        for folder in folders:
            try:
                names = [name for name in os.listdir(folder) if name.endswith(".partial")]
            except (FileNotFoundError, NotADirectoryError):
                continue
            for name in names:
                if name.removesuffix(".partial").removesuffix(".json").rpartition(".")[2] in gone:
                    with contextlib.suppress(OSError):  # another manager removes it, too
                        (folder / name).unlink()

    # Tasks

    def claim(self, task: str, attempt: int, content: Mapping[str, Any]) -> bool:
        """Take an attempt; False if another manager was first.

        Raises
        ------
        FileError
            The file cannot be written: nothing can be started.
        """
        path = self._path(task, attempt, "claim")
        partial = path.with_name(f"{path.name}.{self.id}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(json.dumps({"manager": self.id, **content}))
            os.link(partial, path)
        except FileExistsError:
            # NFS may have made the link and lost the answer: the second try then finds our own.
            return os.stat(partial).st_nlink == 2
        except OSError as error:
            raise FileError(
                f"{path}: {error.strerror}: no task can be claimed; the same command goes on when that is "
                "mended"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink()
        return True

    def is_taken_over(self, task: str, attempt: int) -> bool:
        """Return True if another manager took this one for dead and has claimed the next attempt."""
        return self._path(task, attempt + 1, "claim").exists()

    def end(self, task: str, attempt: int, kind: str, content: Mapping[str, Any]) -> None:
        """Say how an attempt ended: the point from which it is done, or may be repeated."""
        path = self._path(task, attempt, kind)
        partial = path.with_name(f"{path.name}.{self.id}.partial")
        partial.write_text(json.dumps(content))
        os.replace(partial, path)

    def allow_retry(self, task: str, attempt: int) -> None:
        """Make failures of this and earlier attempts count no more."""
        self.end(task, attempt, "retry", {})

    def history(self, task: str) -> History:
        """Read the history of one task from the files."""
        own = self._path(task, 0, "claim")
        files: dict[str, list[int]] = {}
        for name, number, kind, _ in _entries(own.parent):
            if name == own.name.removesuffix(".0.claim"):
                files.setdefault(kind, []).append(number)
        return self._assemble(task, files)

    def histories(self) -> dict[str, History]:
        """Read the histories of all tasks that were ever claimed."""
        found: dict[str, History] = {}
        if not self.folder.is_dir():
            return found
        for shard in sorted(self.folder.iterdir()):
            for task, files in self._files(shard).items():
                found[task] = self._assemble(task, files)
        return found

    def attempts(self) -> Iterator[tuple[str, int]]:
        """Yield task and number of all attempts that were ever claimed."""
        shards = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        for shard in shards:
            for task, files in self._files(shard).items():
                for number in files.get("claim", ()):
                    yield task, number

    def claim_of(self, task: str, attempt: int) -> dict[str, Any]:
        """Return the content of the claim; it is empty if the file is missing or a power failure cut it."""
        try:
            return self._read(task, attempt, "claim")
        except (FileNotFoundError, FileError):
            return {}

    def end_of(self, task: str, attempt: int) -> tuple[str, dict[str, Any]]:
        """Return one of ENDS and its content; "" while nothing was said."""
        for kind in ENDS:  # they are read by name: a listing may be too old
            with contextlib.suppress(FileNotFoundError, FileError):  # a cut file counts as not written
                return kind, self._read(task, attempt, kind)
        return "", {}

    def _assemble(self, task: str, files: dict[str, list[int]]) -> History:
        history = History()
        if not files.get("claim"):
            return history
        history.attempt = attempt = max(files["claim"])
        history.claim = self.claim_of(task, attempt)
        history.manager = history.claim.get("manager", "")  # a cut claim is nobody's, so dead after a lease
        history.end, history.content = self.end_of(task, attempt)
        forgiven = max(files.get("retry", [-1]))
        for number in sorted(files.get("failed", ())):
            with contextlib.suppress(FileNotFoundError, FileError):  # a cut file counts as not written
                if number > forgiven:
                    history.failures.append(self._read(task, number, "failed"))
        return history

    def _files(self, shard: Path) -> dict[str, dict[str, list[int]]]:
        """Return task -> kind -> attempts, of one folder."""
        found: dict[str, dict[str, list[int]]] = {}
        for name, number, kind, path in _entries(shard):
            task = self._task_of(name, path)
            if task is not None:
                found.setdefault(task, {}).setdefault(kind, []).append(number)
        return found

    def _task_of(self, name: str, path: str) -> str | None:
        """Return the task that a file belongs to; None: its name is in a claim that cannot be read."""
        if not name.startswith("%%"):
            return unquote(name)
        folder, number = Path(path).parent, Path(path).name.split(".")[-2]
        try:
            return json.loads((folder / f"{name}.{number}.claim").read_text())["task"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _read(self, task: str, attempt: int, kind: str) -> dict[str, Any]:
        path = self._path(task, attempt, kind)
        try:
            content = json.loads(path.read_text())
        except ValueError as error:
            raise FileError(f"{path}: {error}") from error
        if not isinstance(content, dict) or not all(
            isinstance(content.get(key), kinds) for key, kinds in _CONTENT.get(kind, {}).items()
        ):
            raise FileError(f"{path}: not what a manager writes")
        return content

    def _path(self, task: str, attempt: int, kind: str) -> Path:
        name = quote(task, safe="=+,@ ")
        if len(name) > 180:
            name = "%%" + hashlib.sha256(task.encode()).hexdigest()
        shard = f"{zlib.crc32(task.encode()) % 256:02x}"
        return self.folder / shard / f"{name}.{attempt}.{kind}"
