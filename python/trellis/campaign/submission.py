"""A batch job is submitted once, whatever sbatch says: a job has a name of its own, by which Slurm is asked.

sbatch may fail although the controller has taken the job ("Socket timed out"). To submit it again without a
look would give a campaign two managers. Jobs of PBS and LSF are submitted likewise.

    python -m trellis.campaign.submission [--system=pbs] NAME SCRIPT JOB [again]

submits the successor of a job from its batch script and prints its identifier.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence

from ..ground.errors import NotAvailable
from .batch_systems import SYSTEMS, BatchSystem
from .launchers.patience import NoAnswer, patiently
from .launchers.slurm_system import ask

#: These failures pass: the controller was busy, or away. Other failures are refusals.
_PASSES = re.compile(
    r"timed out|unable to contact|connection refused|connection failure|zero bytes|transport endpoint"
    r"|temporarily|authentication credential|protocol authentication|unexpected mess?age"
    r"|cannot connect to server|no permission to connect|LSF is down|not responding",
    re.IGNORECASE,
)


def submit_once(
    words: Sequence[str],
    name: str,
    *,
    system: BatchSystem = SYSTEMS["slurm"],
    is_repeat: bool = False,
    is_stubborn: bool = False,
) -> str:
    """Submit a job whose name no other job has, and return its identifier.

    Parameters
    ----------
    words
        The command: sbatch --parsable ..., with the name.
    system
        The batch system whose command it is.
    is_repeat
        It may have been submitted before: the system is asked first.
    is_stubborn
        Refusals are repeated, too, since limits of users pass.

    Raises
    ------
    NotAvailable
        The system refused, or gave no answer for `patience.SECONDS`.
    """
    is_first = not is_repeat

    def submit() -> str:
        nonlocal is_first
        if not is_first and (jobs := system.jobs_named(name)):
            return jobs[0]
        was_first, is_first = is_first, False
        try:
            found = system.job_in(ask(*words))
            problem = NoAnswer(f"{' '.join(words)}: no job identifier was printed")
        except NoAnswer as error:
            found, problem = None, error
        jobs = [] if found and was_first else system.jobs_named(name)
        if found:
            _cancel(system, [job for job in jobs if job != found])  # an earlier request was taken late
            return found
        if jobs:
            return jobs[0]
        if is_stubborn or _PASSES.search(str(problem)):
            raise problem
        raise NotAvailable(str(problem))

    return patiently(submit)


def _cancel(system: BatchSystem, jobs: Sequence[str]) -> None:
    if jobs:
        with contextlib.suppress(NotAvailable):
            system.cancel(jobs)


def main() -> int:
    """Run the command that the head of this file describes."""
    words = sys.argv[1:]
    chosen = words.pop(0).removeprefix("--system=") if words[0].startswith("--system=") else "slurm"
    system = SYSTEMS[chosen]
    name, script, job, *again = words
    submission = system.submission(name, script, after=job)
    try:
        print(submit_once(submission, name, system=system, is_repeat=bool(again), is_stubborn=True))
    except NotAvailable as error:
        print(f"no successor of job {job}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
