"""These programs stand in for the commands of PBS and LSF: a job is a process of this host on n1 and n2.

A job waits until the one that it follows has ended, and does not begin once it is cancelled. Each call is a
line of the file `asked`.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_RUN = """
id=$((100 + $(grep -c "^$me " asked)))$suffix
echo "$id $name" >> jobs
(
  while [ -n "$after" ] && [ ! -e "ended.$after" ]; do sleep 0.05; done
  [ -e "cancelled.$id" ] || { %JOB%; }
  touch "ended.$id"
) > /dev/null 2> "errors.$id" < /dev/null &
"""
_PROGRAMS = {
    "qsub": """
suffix=.server name= after=
while [ $# -gt 1 ]; do case "$1" in
-N) name=$2; shift 2;; -W) after=${2##*:}; shift 2;; *) shift;; esac; done
script=$1
"""
    + _RUN.replace("%JOB%", 'PBS_JOBID=$id PBS_NODEFILE=$here/nodes bash "$script"')
    + 'echo "$id"',
    "qselect": "awk -v name=\"$2\" '$2 == name { print $1 }' jobs",
    "qdel": 'for id; do touch "cancelled.$id"; done',
    "bsub": """
suffix= name= after=
while [ $# -gt 0 ]; do case "$1" in
-J) name=$2; shift 2;; -w) after=${2#ended(}; after=${after%)}; shift 2;; *) shift;; esac; done
cat > "script.$$"; script=script.$$
"""
    + _RUN.replace("%JOB%", 'LSB_JOBID=$id LSB_DJOB_HOSTFILE=$here/nodes bash "$script"')
    + 'echo "Job <$id> is submitted to queue <normal>."',
    "bjobs": 'awk -v name="$4" \'$2 == name { print $1; n++ } '
    'END { if (!n) { print "Job <" name "> is not found" > "/dev/stderr"; exit 255 } }\' jobs',
    "bkill": 'for id; do touch "cancelled.$id"; done',
}
#: This mpirun writes its words down and runs the command once.
_MPIRUN = """
echo "$*" >> "$here/mpirun.words"
cd "$where"; shift 6; exec "$@"
"""


def install(folder: Path, monkeypatch) -> Path:
    """Put the programs on the path; LSF lists a node once for each of its cores."""
    here = folder / "batch"
    (here / "bin").mkdir(parents=True)
    (here / "jobs").touch()
    (here / "asked").touch()
    (here / "nodes").write_text("n1\nn1\nn2\nn2\n")
    for name, text in {**_PROGRAMS, "mpirun": _MPIRUN}.items():
        program = here / "bin" / name
        program.write_text(
            f'#!/bin/bash\nhere={here} where=$PWD me={name}\ncd $here\necho "{name} $*" >> asked\n{text}\n'
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:{os.environ['PATH']}")
    return here


def wait_for_jobs(here: Path, count: int, seconds: float = 120) -> None:
    """Wait until so many jobs have ended."""
    deadline = time.monotonic() + seconds
    while len(list(here.glob("ended.*"))) < count:
        assert time.monotonic() < deadline, (here / "asked").read_text()
        time.sleep(0.05)
