"""A batch job is submitted once, whatever sbatch says: a job has a name of its own, by which Slurm is asked.

sbatch may fail although the controller has taken the job ("Socket timed out"). To submit it again without a
look would give a campaign two managers.

    python -m trellis.campaign.submission NAME SCRIPT JOB [again]

submits the successor of a job from its batch script and prints its identifier.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence

from ..ground.errors import NotAvailable
from .launchers.patience import NoAnswer, patiently
from .launchers.slurm_system import ask

_JOB = re.compile(r"(\d+)(?:;\S+)?")
#: These failures pass: the controller was busy, or away. Other failures are refusals.
_PASSES = re.compile(
    r"timed out|unable to contact|connection refused|connection failure|zero bytes|transport endpoint"
    r"|temporarily|authentication credential|protocol authentication|unexpected mess?age",
    re.IGNORECASE,
)


def submit_once(
    words: Sequence[str], name: str, *, is_repeat: bool = False, is_stubborn: bool = False
) -> str:
    """Submit a job whose name no other job has; its identifier.

    Parameters
    ----------
    words
        The command: sbatch --parsable ..., with the name.
    is_repeat
        It may have been submitted before: Slurm is asked first.
    is_stubborn
        Refusals are repeated, too, since limits of users pass.

    Raises
    ------
    NotAvailable
        Slurm refused, or gave no answer for `patience.SECONDS`.
    """
    is_first = not is_repeat

    def submit() -> str:
        nonlocal is_first
        if not is_first and (jobs := jobs_named(name)):
            return jobs[0]
        was_first, is_first = is_first, False
        try:
            found = _JOB.fullmatch(ask(*words).rpartition("\n")[2])
            problem = NoAnswer(f"{' '.join(words)}: no job identifier was printed")
        except NoAnswer as error:
            found, problem = None, error
        jobs = [] if found and was_first else jobs_named(name)
        if found:
            _cancel([job for job in jobs if job != found[1]])  # an earlier request was taken late
            return found[1]
        if jobs:
            return jobs[0]
        if is_stubborn or _PASSES.search(str(problem)):
            raise problem
        raise NotAvailable(str(problem))

    return patiently(submit)


def jobs_named(name: str) -> list[str]:
    """Identifiers of this user's jobs of that name that Slurm remembers, the first first.

    Raises
    ------
    NoAnswer
        squeue failed.
    """
    lines = ask("squeue", "-h", "-u", str(os.getuid()), "-t", "all", "-o", "%A %j").splitlines()
    return [job for job, _, other in (line.partition(" ") for line in lines) if other == name]


def _cancel(jobs: Sequence[str]) -> None:
    if jobs:
        with contextlib.suppress(NotAvailable):
            ask("scancel", *jobs)


def main() -> int:
    """See the head of this file."""
    name, script, job, *again = sys.argv[1:]
    words = ["sbatch", "--parsable", "--export=ALL", f"--job-name={name}", f"--dependency=afterany:{job}"]
    try:
        print(submit_once([*words, script], name, is_repeat=bool(again), is_stubborn=True))
    except NotAvailable as error:
        print(f"no successor of job {job}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
