"""Running tasks out of a METAQ directory, beside METAQ jobs that may work on the same one.

A claim is a rename into working/<machine>/<job>/, as METAQ's. The ledger lines that METAQ's own tools read
are written too. What METAQ does not keep is kept in jobs/<machine>/<job>/status.jsonl: how each script ended.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..ground.crash_safe_files import write_json
from ..ground.errors import Error, FileError
from .metaq import MetaqTask, Requirement, read_task


@dataclass(frozen=True, slots=True)
class MetaqEnd:
    """This is the end of a script; `status` is None where another job ran it and did not record one."""

    script: str
    status: int | None
    seconds: float
    elsewhere: bool = False


class MetaqQueue:
    """This is a METAQ directory as one job sees it.

    Parameters
    ----------
    root
        The directory with todo/ and priority/.
    job, machine
        Names of the folders below working/ and jobs/. The same job name must not be used by two jobs at once.
    """

    def __init__(self, root: Path, *, job: str, machine: str = "machine") -> None:
        self.root = root.absolute()
        self.job, self.machine = job, machine
        self.working = self.root / "working" / machine / job
        self.notes = self.root / "jobs" / machine / job

    def claim(self, task: MetaqTask) -> Path | None:
        """Move a script to this job's working folder; None if another job was faster."""
        self.working.mkdir(parents=True, exist_ok=True)
        target = self.working / task.name
        if target.exists():
            raise FileError(f"{target}: another script of this name is claimed; rename {task.path}")
        note = self._origin_note(task.name)
        note.parent.mkdir(parents=True, exist_ok=True)
        write_json(note, {"script": str(task.path.relative_to(self.root)), "claim": uuid.uuid4().hex})
        try:
            os.rename(task.path, target)
        except FileNotFoundError:
            note.unlink(missing_ok=True)
            return None
        return target

    def has_claimed(self, script: str) -> bool:
        """Return True if a script lies in this job's working folder.

        `script` is its path inside the METAQ directory. Scripts of the same name share one place in the
        folder, so the note of the claim tells which of them it is.
        """
        name = Path(script).name
        if not (self.working / name).exists():
            return False
        origin = self._origin(name)
        return origin.get("script", script) == script  # without a note it was claimed before there were any

    def _origin(self, name: str) -> dict[str, Any]:
        """Return from where a claimed script came, and the name of the claim; empty if it is not known."""
        try:
            content = json.loads(self._origin_note(name).read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def _origin_note(self, name: str) -> Path:
        return self.notes / "claims" / hashlib.sha256(os.fsencode(name)).hexdigest()[:32]

    def run(self, task: MetaqTask, *, strict: bool = False) -> MetaqEnd:
        """Claim a script, run it to its end with its ledger lines, and move it to finished/.

        A script that this job had claimed before (an attempt that was killed) is run again, unless it had
        said that it ended; one that is in finished/ is not.

        Parameters
        ----------
        strict
            A script with non-zero status goes to failed/ instead, which METAQ does not know.

        Raises
        ------
        FileError
            Another job has claimed it, or it is gone.
        """
        script = self.working / task.name
        end = self._said_to_have_ended(task)
        if end is not None:
            self._finish(task, script, end, strict=strict)
            return end
        if task.path != script and not self.has_claimed(str(task.path.relative_to(self.root))):
            claimed = self.claim(task)
            if claimed is None:
                return self._ended_elsewhere(task)
            script = claimed
        start = time.time()
        self._dedicate(task, script)
        status = self._execute(task, script)
        end = MetaqEnd(task.name, status, time.time() - start)
        self._append("status.jsonl", json.dumps({**asdict(end), "origin": self._origin(task.name)}))
        self._finish(task, script, end, strict=strict)
        return end

    def _said_to_have_ended(self, task: MetaqTask) -> MetaqEnd | None:
        """Return the end of an attempt of this job that was killed before it had put everything in its place.

        It was killed after its line in status.jsonl.
        """
        origin = self._origin(task.name)
        is_gone = task.path == self.root / str(origin.get("script")) and not task.path.exists()
        if not origin.get("claim") or not (is_gone or task.path == self.working / task.name):
            return None
        for content in _lines(self.notes / "status.jsonl"):
            if content.get("origin") == origin:
                return MetaqEnd(task.name, content["status"], content["seconds"])
        return None

    def _finish(self, task: MetaqTask, script: Path, end: MetaqEnd, *, strict: bool) -> None:
        """Release the resources, move the script away, and remove the note of the claim last.

        This follows the line in status.jsonl; it also ends what a dead job began.
        """
        self._release(script, end.seconds)
        if script.exists():  # some remove themselves
            self._move(script, "failed" if strict and end.status != 0 else "finished")
        self._origin_note(task.name).unlink(missing_ok=True)

    def orphans(self, *, alive: Collection[str]) -> list[Path]:
        """Return the claimed scripts of this machine's jobs that are not in `alive`."""
        base = self.working.parent
        jobs = sorted(base.iterdir()) if base.is_dir() else []
        return [script for job in jobs if job.name not in alive for script in sorted(job.iterdir())]

    def reset(self, script: Path) -> Path:
        """Give an orphan back to priority/, since it was started before."""
        return self._move(script, "priority")

    def abandon(self, script: Path) -> Path:
        """Take an orphan out of the queue to hold/, where a person may look at it."""
        return self._move(script, "hold")

    def status_of(self, name: str) -> MetaqEnd | None:
        """Return the end of a script in any job that kept its status; None if no job did."""
        return next((end for end, _ in self._said() if end.script == name), None)

    def _said(self) -> Iterator[tuple[MetaqEnd, dict[str, Any]]]:
        """Yield the ends of scripts and their origins from all jobs, the last of each job first."""
        for path in sorted((self.root / "jobs").glob("*/*/status.jsonl")):
            for content in reversed(list(_lines(path))):
                end = MetaqEnd(content["script"], content["status"], content["seconds"], elsewhere=True)
                yield end, content.get("origin", {})

    def _ended_elsewhere(self, task: MetaqTask) -> MetaqEnd:
        for end, origin in self._said():
            if origin.get("script") == str(task.path.relative_to(self.root)):
                return end  # it may have removed itself
        if (self.root / "finished" / task.name).exists() or (self.root / "failed" / task.name).exists():
            return self.status_of(task.name) or MetaqEnd(task.name, None, 0.0, elsewhere=True)
        for script in (self.root / "working").glob(f"*/*/{task.name}"):
            raise FileError(
                f"{task.path}: claimed by job {script.parent.name} on {script.parent.parent.name}"
            )
        raise FileError(f"{task.path}: is gone, and neither working/ nor finished/ has it")

    def _execute(self, task: MetaqTask, script: Path) -> int:
        """Run a script with output and errors in METAQ's log, and in the one that the script names."""
        (self.notes / "log").mkdir(parents=True, exist_ok=True)
        paths = [self.notes / "log" / f"{task.name}.log"]
        if task.log:
            paths.append(Path(task.log) if Path(task.log).is_absolute() else self.root / task.log)
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
        logs = [open(path, "wb", buffering=0) for path in paths]
        try:
            with _start(script) as process:
                assert process.stdout is not None
                while chunk := os.read(process.stdout.fileno(), 65536):
                    for log in logs:
                        log.write(chunk)
            return process.returncode
        except OSError as error:
            logs[0].write(f"{script}: {error.strerror}\n".encode())
            return 126
        finally:
            for log in logs:
                log.close()

    def _dedicate(self, task: MetaqTask, script: Path) -> None:
        """Dedicate resources, unless an attempt that was killed has done so: its
        resources were not given back.
        """
        if not self._held_by(script):
            needs = (task.requirement.nodes, "nodes"), (task.requirement.gpus, "gpus")
            end = f"dedicated to {script}{_project(task)} at {_now()}"
            self._append("resources", *(f"-{count} {what} {end}" for count, what in needs))

    def _release(self, script: Path, seconds: float) -> None:
        """Release the resources that the ledger lists; after a death the script's flags may be unknown."""
        end = f"at {_now()}. RUNTIME: {seconds:.0f} seconds"
        held = self._held_by(script)
        if held:
            lines = (f"+{count} {what} released by {script}{project} {end}" for count, what, project in held)
            self._append("resources", *lines)

    def _held_by(self, script: Path) -> list[tuple[str, str, str]]:
        """Return the ledger's last lines on a script, if they dedicate.

        They have the number, the kind, and words on the project.
        """
        try:
            text = (self.notes / "resources").read_text(errors="surrogateescape")
        except OSError:
            return []
        word = re.compile(
            rf"([-+])(\d+) (\w+) (?:dedicated to|released by) {re.escape(str(script))}"
            r"((?: for project .*)?) at \S+(?: RUNTIME: .*)?"
        )
        held: list[tuple[str, str, str]] = []
        for match in filter(None, map(word.fullmatch, text.split("\n"))):
            held = [*held, (match[2], match[3], match[4])] if match[1] == "-" else []
        return held

    def _append(self, name: str, *lines: str) -> None:
        self.notes.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.notes / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            # There is one write: lines of several writers do not mix, and all are there or none.
            os.write(descriptor, "".join(line + "\n" for line in lines).encode(errors="surrogateescape"))
        finally:
            os.close(descriptor)

    def _move(self, script: Path, folder: str) -> Path:
        """Move a script without overwriting one of the same name, which METAQ would overwrite."""
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        target = self.root / folder / script.name
        number = 1
        while target.exists():
            target = self.root / folder / f"{script.name}.{number}"
            number += 1
        os.rename(script, target)
        os.utime(target)
        return target


def _start(script: Path) -> subprocess.Popen:
    """Start a script as METAQ's shell does: bash runs a script without #!."""

    def popen(*words: str) -> subprocess.Popen:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    try:
        return popen(str(script))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return popen(shutil.which("bash") or "/bin/sh", str(script))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of JSON lines that others may be writing; a line that was cut is left out."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _project(task: MetaqTask) -> str:
    return f" for project {task.project}" if task.project else ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M")


def main(arguments: list[str] | None = None) -> int:
    """Run one script of an imported METAQ directory and write its status to the file `output`."""
    parser = argparse.ArgumentParser(prog="python -m trellis.campaign.metaq_queue", description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("script", help="path of the script inside the METAQ directory, e.g. todo/a")
    parser.add_argument("output", type=Path, help="JSON file with the status")
    parser.add_argument("--job", required=True)
    parser.add_argument("--machine", default="machine")
    parser.add_argument("--strict", action="store_true")
    chosen = parser.parse_args(arguments)
    queue = MetaqQueue(chosen.root, job=chosen.job, machine=chosen.machine)
    path = queue.root / chosen.script
    try:
        where = queue.working / path.name if queue.has_claimed(chosen.script) else path
        task = read_task(where) if where.exists() else MetaqTask(path, "", Requirement())
        end = queue.run(task, strict=chosen.strict)
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 75
    if chosen.strict and end.status:
        return end.status if end.status > 0 else 128 - end.status
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    write_json(chosen.output, asdict(end))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
