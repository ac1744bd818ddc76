"""These programs stand in for Slurm's commands, with the faults that a test asks for.

A step is a process of this host, its identifier 17.PID. Each program counts its calls; a fault (a line of
shell) is done in place of the call of its number, or before it where the line does not exit.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROGRAMS = {
    "squeue": """
case " $* " in
*" --steps "*) for f in steps/*; do
    [ -e "$f" ] && kill -0 "${f#steps/}" 2>/dev/null && echo "17.${f#steps/} $(cat "$f")"; done; true;;
*" -t all "*) cat jobs;;
*) echo "17|1:00:00|n[1-2]";;
esac""",
    "sinfo": "printf 'n1 mixed\\nn2 allocated\\n'",
    "scancel": """
case "$1" in
--signal=*) signal=${1#--signal=}; shift; for step; do kill -"$signal" -- -"${step#17.}"; done;;
*) echo "$*" >> cancelled;;
esac""",
    "sbatch": """
for word; do case "$word" in --job-name=*) name=${word#--job-name=};; esac; done
take() { echo "$((100 + calls)) $name" >> jobs; }
%FAULT%
take; echo $((100 + calls))""",
    "srun": """
log=/dev/null; nodes=n1
while true; do case "$1" in
--job-name=*) name=${1#--job-name=}; shift;;
--output=*) log=${1#--output=}; shift;;
--nodelist=*) nodes=${1#--nodelist=}; shift;;
--*) shift;;
*) break;;
esac; done
step() { cd "$where"; SLURMD_NODENAME=$1; export SLURMD_NODENAME; shift
    setsid sh -c 'echo "$0" > "$1/steps/$$"; shift; exec "$@"' "$name" "$here" "$@" >> "$log" 2>&1; }
%FAULT%
for node in $(echo "$nodes" | tr , ' '); do step "$node" "$@" & last=$!; done
wait $last""",
}


def install(folder: Path, monkeypatch, **faults: dict[int, str]) -> Path:
    """Put the programs on the path, in an allocation of the nodes n1 and n2; `faults` has those of a program
    by its name."""
    here = folder / "slurm"
    (here / "steps").mkdir(parents=True)
    (here / "bin").mkdir()
    (here / "jobs").touch()
    for name, text in _PROGRAMS.items():
        cases = "".join(f"{number}) {line};;\n" for number, line in faults.get(name, {}).items())
        fault = f"case $calls in\n{cases}esac" if cases else ""
        text = text.replace("%FAULT%", fault) if "%FAULT%" in text else f"{fault}\n{text}"
        program = here / "bin" / name
        program.write_text(
            f"#!/bin/bash\nhere={here} where=$PWD\ncd $here\necho call >> {name}.calls\n"
            f"calls=$(grep -c call {name}.calls)\n{text.strip()}\n"
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{here / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    return here


def calls(here: Path, name: str) -> int:
    """Return the number of calls of a program."""
    path = here / f"{name}.calls"
    return len(path.read_text().splitlines()) if path.exists() else 0
