"""Slurm, PBS and LSF offer a campaign the head of a batch script, and the commands for jobs.

The words are those of Slurm 22.05, of PBS Professional and OpenPBS (qsub(1B), qselect(1B)) and of IBM
Spectrum LSF 10.1 (bsub(1), bjobs(1)). Slurm was run; PBS and LSF are tested against programs that stand in
for their commands.
"""

from __future__ import annotations

import abc
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ground.errors import BadArgument
from .batch import Batch
from .launchers.patience import NoAnswer
from .launchers.slurm_system import ask
from .model import Machine


@dataclass(frozen=True, slots=True)
class Job:
    """This is a batch job that is asked for.

    Attributes
    ----------
    nodes
        Number of nodes of the allocation.
    log
        A file name in which {job} stands for the job's identifier.
    drain_seconds
        So long before its end the job is told to start nothing more.
    """

    name: str
    machine: Machine
    nodes: int
    seconds: float
    drain_seconds: int
    log: Path
    options: Sequence[str] = ()

    @property
    def batch(self) -> Batch:
        return self.machine.batch

    @property
    def gpus(self) -> int:
        return max(len(node.gpus) for node in self.machine.nodes)

    @property
    def cpus(self) -> int:
        return max(node.cpus for node in self.machine.nodes)


class BatchSystem(abc.ABC):
    """A batch system has these commands.

    Attributes
    ----------
    programs
        They have to be on the path.
    job
        The shell's word for the identifier of the job that runs.
    cancel_word
        The program that cancels jobs.
    sets_end
        True if the script has to tell the manager when the job ends, since the system cannot be asked for it.
    """

    programs: tuple[str, ...]
    job: str
    cancel_word: str
    sets_end = True
    _option = ""

    def head(self, job: Job) -> list[str]:
        """Return the lines of a batch script that ask for the job.

        Raises
        ------
        BadArgument
            An option is not one, or the system knows no such word.
        """
        for option in job.options:
            if not re.fullmatch(self._option, option):
                raise BadArgument(
                    f"not an option of {self.programs[0]}: {option!r}; write {self.example_of_an_option}"
                )
        return self._head(job)

    example_of_an_option: str

    @abc.abstractmethod
    def _head(self, job: Job) -> list[str]:
        """Return the same lines; the options have been looked at."""

    @abc.abstractmethod
    def submission(self, name: str, script: str, *, after: str = "") -> list[str]:
        """Return the command that submits a script under a name, to begin when the job `after` has ended."""

    @abc.abstractmethod
    def job_in(self, answer: str) -> str | None:
        """Return the identifier in the answer of the submission; None: there is none."""

    @abc.abstractmethod
    def jobs_named(self, name: str) -> list[str]:
        """Return the identifiers of this user's jobs of that name that the system
        remembers, the first one first.

        Raises
        ------
        NoAnswer
            The system cannot be asked.
        """

    def cancel(self, jobs: Sequence[str]) -> None:
        """Cancel jobs.

        Raises
        ------
        NoAnswer
            The system did not take it.
        """
        ask(self.cancel_word, *jobs)


class Slurm(BatchSystem):
    """This is Slurm."""

    programs = ("sbatch", "squeue", "scancel")
    job = "$SLURM_JOB_ID"
    cancel_word = "scancel"
    sets_end = False
    example_of_an_option = "--name=value"
    _option = r"--[a-z][a-z-]*(=\S+)?"

    def _head(self, job: Job) -> list[str]:
        batch = job.batch
        words = [f"--time={max(1, round(job.seconds / 60))}"]
        words += [
            f"--{name}={value}"
            for name, value in (
                ("account", batch.account),
                ("partition", batch.partition),
                ("qos", batch.qos),
                ("constraint", batch.constraint),
            )
            if value
        ]
        if job.gpus and batch.gpu_option != "none":
            words.append(
                f"--gres=gpu:{job.gpus}" if batch.gpu_option == "gres" else f"--gpus-per-node={job.gpus}"
            )
        log = shlex.quote(str(job.log).replace("{job}", "%j"))
        first = [f"--job-name={shlex.quote(job.name)}", f"--nodes={job.nodes}", "--no-kill", "--no-requeue"]
        first += [f"--output={log}", f"--signal=B:TERM@{job.drain_seconds}"]
        return [f"#SBATCH {word}" for word in (*first, *words, *job.options)]

    def submission(self, name: str, script: str, *, after: str = "") -> list[str]:
        words = ["sbatch", "--parsable", "--export=ALL", f"--job-name={name}"]
        return [*words, *([f"--dependency=afterany:{after}"] if after else []), script]

    def job_in(self, answer: str) -> str | None:
        found = re.fullmatch(r"(\d+)(?:;\S+)?", answer.rpartition("\n")[2])
        return found[1] if found else None

    def jobs_named(self, name: str) -> list[str]:
        answer = ask("squeue", "-h", "-u", str(os.getuid()), "-t", "all", "-o", "%A %j")
        rows = (line.partition(" ") for line in answer.splitlines())
        return [job for job, _, other in rows if other == name]


class Pbs(BatchSystem):
    """This is PBS Professional or OpenPBS."""

    programs = ("qsub", "qselect", "qdel")
    job = "$PBS_JOBID"
    cancel_word = "qdel"
    example_of_an_option = "-lname=value"
    _option = r"-[A-Za-z]( ?[^\s-]\S*)?"

    def _head(self, job: Job) -> list[str]:
        batch = job.batch
        _refuse("PBS", "qos", batch.qos)
        chunk = f"{job.nodes}:ncpus={job.cpus}:mpiprocs=1"
        chunk += f":ngpus={job.gpus}" if job.gpus else ""
        chunk += f":{batch.constraint}" if batch.constraint else ""
        words = [f"-N {job.name}", f"-l select={chunk}", "-l place=scatter:excl"]
        words += [
            f"-l walltime={_clock(job.seconds)}",
            "-r n",
            "-j oe",
            f"-o {shlex.quote(str(job.log.parent))}",
        ]
        words += [f"-A {batch.account}"] if batch.account else []
        words += [f"-q {batch.partition}"] if batch.partition else []
        return [f"#PBS {word}" for word in (*words, *job.options)]

    def submission(self, name: str, script: str, *, after: str = "") -> list[str]:
        words = ["qsub", "-V", "-N", name]
        return [*words, *(["-W", f"depend=afterany:{after}"] if after else []), script]

    def job_in(self, answer: str) -> str | None:
        last = answer.rpartition("\n")[2]
        return last if re.fullmatch(r"\d+(\[\])?(\.\S+)?", last) else None

    def jobs_named(self, name: str) -> list[str]:
        return ask("qselect", "-N", name).split()


class Lsf(BatchSystem):
    """This is IBM Spectrum LSF."""

    programs = ("bsub", "bjobs", "bkill")
    job = "$LSB_JOBID"
    cancel_word = "bkill"
    example_of_an_option = "-name value"
    _option = r"-[A-Za-z_]+( [^\n]+)?"

    def _head(self, job: Job) -> list[str]:
        batch = job.batch
        _refuse("LSF", "qos", batch.qos)
        log = str(job.log).replace("{job}", "%J")
        words = [f"-J {job.name}", f"-n {job.nodes * job.cpus}", f'-R "span[ptile={job.cpus}]"', "-x", "-rn"]
        words += [f"-W {max(1, round(job.seconds / 60))}", f"-o {shlex.quote(log)}"]
        words += [f'-gpu "num={job.gpus}/host"'] if job.gpus else []
        words += [f'-R "select[{batch.constraint}]"'] if batch.constraint else []
        words += [f"-P {batch.account}"] if batch.account else []
        words += [f"-q {batch.partition}"] if batch.partition else []
        return [f"#BSUB {word}" for word in (*words, *job.options)]

    def submission(self, name: str, script: str, *, after: str = "") -> list[str]:
        """Return the command; bsub obeys the lines `#BSUB` only if it reads the script
        from its standard input.
        """
        words = ["bsub", "-J", name, *(["-w", f"ended({after})"] if after else [])]
        return ["sh", "-c", 'script=$1; shift; exec "$@" < "$script"', "bsub", script, *words]

    def job_in(self, answer: str) -> str | None:
        found = re.search(r"Job <(\d+)> is submitted", answer)
        return found[1] if found else None

    def jobs_named(self, name: str) -> list[str]:
        try:
            return ask("bjobs", "-a", "-noheader", "-J", name, "-o", "jobid").split()
        except NoAnswer as error:
            if "is not found" in str(error):
                return []
            raise


#: These are the systems by the word `system` of [batch].
SYSTEMS: dict[str, BatchSystem] = {"slurm": Slurm(), "pbs": Pbs(), "lsf": Lsf()}


def _clock(seconds: float) -> str:
    whole = max(60, round(seconds))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _refuse(system: str, key: str, value: str) -> None:
    if value:
        raise BadArgument(f"batch.{key}: {system} knows none; found {value!r}: say it by `options`")
