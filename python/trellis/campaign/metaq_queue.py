"""Running tasks out of a METAQ directory, beside METAQ jobs that may work on the same one.

A claim is a rename into working/<machine>/<job>/, as METAQ's. The ledger lines that METAQ's own tools read
are written too. What METAQ does not keep is kept in jobs/<machine>/<job>/status.jsonl: how each script ended.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from ..durable import write_json
from ..errors import Error, FileError
from .metaq import MetaqTask, Requirement, read_task


@dataclass(frozen=True, slots=True)
class MetaqEnd:
    """How a script ended. `status` is None where another job ran it and did not say."""

    script: str
    status: int | None
    seconds: float
    elsewhere: bool = False


class MetaqQueue:
    """A METAQ directory as one job sees it.

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
        write_json(note, {"script": str(task.path.relative_to(self.root))})
        try:
            os.rename(task.path, target)
        except FileNotFoundError:
            return None
        return target

    def has_claimed(self, script: str) -> bool:
        """Whether a script (its path inside the directory) lies in this job's working folder: scripts of one
        name share their place there."""
        name = Path(script).name
        if not (self.working / name).exists():
            return False
        try:
            return json.loads(self._origin_note(name).read_text())["script"] == script
        except (OSError, ValueError, KeyError, TypeError):
            return True  # claimed before such notes were made

    def _origin_note(self, name: str) -> Path:
        return self.notes / "claims" / hashlib.sha256(os.fsencode(name)).hexdigest()[:32]

    def run(self, task: MetaqTask, *, strict: bool = False) -> MetaqEnd:
        """Claim a script, run it to its end with its ledger lines, and move it to finished/.

        A script that this job had claimed before (an attempt that was killed) is run again; one that is in
        finished/ is not.

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
        if task.path != script and not self.has_claimed(str(task.path.relative_to(self.root))):
            claimed = self.claim(task)
            if claimed is None:
                return self._ended_elsewhere(task)
            script = claimed
        start = time.time()
        self._dedicate(task, script)
        status = self._execute(task, script)
        end = MetaqEnd(task.name, status, time.time() - start)
        self._append("status.jsonl", json.dumps(asdict(end)))
        if script.exists():  # some remove themselves
            self._move(script, "failed" if strict and status != 0 else "finished")
        self._origin_note(task.name).unlink(missing_ok=True)
        self._release(task, script, end.seconds)
        return end

    def orphans(self, *, alive: Collection[str]) -> list[Path]:
        """Claimed scripts of this machine's jobs that are not in `alive`."""
        base = self.working.parent
        jobs = sorted(base.iterdir()) if base.is_dir() else []
        return [script for job in jobs if job.name not in alive for script in sorted(job.iterdir())]

    def reset(self, script: Path) -> Path:
        """Give an orphan back: to priority/, since it was started before."""
        return self._move(script, "priority")

    def abandon(self, script: Path) -> Path:
        """Take an orphan out of the queue: to hold/, where a person may look at it."""
        return self._move(script, "hold")

    def status_of(self, name: str) -> MetaqEnd | None:
        """How a script ended in any job that kept its status."""
        for path in sorted((self.root / "jobs").glob("*/*/status.jsonl")):
            for line in path.read_text().splitlines():
                if line.endswith("}") and (content := json.loads(line))["script"] == name:
                    return MetaqEnd(name, content["status"], content["seconds"], elsewhere=True)
        return None

    def _ended_elsewhere(self, task: MetaqTask) -> MetaqEnd:
        if (self.root / "finished" / task.name).exists() or (self.root / "failed" / task.name).exists():
            return self.status_of(task.name) or MetaqEnd(task.name, None, 0.0, elsewhere=True)
        for script in (self.root / "working").glob(f"*/*/{task.name}"):
            raise FileError(
                f"{task.path}: claimed by job {script.parent.name} on {script.parent.parent.name}"
            )
        raise FileError(f"{task.path}: is gone, and neither working/ nor finished/ has it")

    def _execute(self, task: MetaqTask, script: Path) -> int:
        """Run it with output and errors in METAQ's log, and in the one that the script names."""
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
        for count, what in ((task.requirement.nodes, "nodes"), (task.requirement.gpus, "gpus")):
            self._append("resources", f"-{count} {what} dedicated to {script}{_project(task)} at {_now()}")

    def _release(self, task: MetaqTask, script: Path, seconds: float) -> None:
        for count, what in ((task.requirement.nodes, "nodes"), (task.requirement.gpus, "gpus")):
            self._append(
                "resources",
                f"+{count} {what} released by {script}{_project(task)} at {_now()}. "
                f"RUNTIME: {seconds:.0f} seconds",
            )

    def _append(self, name: str, line: str) -> None:
        self.notes.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.notes / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(descriptor, (line + "\n").encode())  # one write: lines of several writers do not mix
        finally:
            os.close(descriptor)

    def _move(self, script: Path, folder: str) -> Path:
        """Move without overwriting a script of the same name, as METAQ would."""
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
    """As METAQ's shell does: one that does not say by what it is run (#!) is run by bash."""

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


def _project(task: MetaqTask) -> str:
    return f" for project {task.project}" if task.project else ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M")


def main(arguments: list[str] | None = None) -> int:
    """What tasks of an imported METAQ directory run; the status is written to the file that is the output."""
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
