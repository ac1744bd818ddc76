"""The memory that a run of trajectories states is no less than its peak, and at most half as much again.

Ratios of statement and peak, one process, for 8^4, 12^4 and 16^4 (no number: not run):

    quenched                                            1.14  1.08  1.19
    staggered, order 12                                 1.09  1.11
    staggered, four pseudofermions of order 20          1.10  1.14  1.24
    two stout steps , 2 + 1 flavours                    1.08  1.20  1.21
    six stout steps , four pseudofermions of order 20   1.06  1.26
    HISQ                                                1.04  1.35  1.28
    HISQ with two Naik epsilons                         1.03  1.34
    Wilson, two flavours                                1.07  1.18
    clover, two flavours                                1.02  1.27  1.26
    clover, 2 + 1 flavours                              1.04  1.46
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import environment, write_run_file

RUN = """\
[lattice]
extents = [{L}, {L}, {L}, {L}]
[action]
type = "symanzik"
beta = 6.0
{quarks}
[[integrator]]
scheme = "leapfrog"
steps = 1
monomials = [{names}]
[molecular_dynamics]
length = 0.1
[start]
type = "weak"
spread = 0.3
[trajectories]
total = 2
thermalisation = 1
checkpoint_every = 1
[random]
seed = 1
[output]
directory = "out"
"""
STOUT = "[smearing]\nstout = {{ rho = 0.1, steps = {steps} }}\n"
STAGGERED = """[[fermions]]
name = "{name}"
type = "{type}"
n_f = {n_f}
mass = 0.5
pseudofermions = {fields}
rational = {{ order = {order}, dynamics_order = {order} }}
"""
CLOVER = '[[fermions]]\nname = "light"\ntype = "clover"\nn_f = 2\nkappa = 0.11\ncsw = 1.0\n'
MEASURE = "[measure.fermions]\nevery = 1\nvectors = {vectors}\n[measure.flow]\nevery = 1\ntime = 0.4\n"


def staggered(name: str, type: str = "staggered", *, n_f: int = 1, fields: int = 1, order: int = 12) -> str:
    return STAGGERED.format(name=name, type=type, n_f=n_f, fields=fields, order=order)


CASES = {
    "quenched": "",
    "2 + 1 stout": STOUT.format(steps=2) + staggered("light", n_f=2) + staggered("strange"),
    "pseudofermions": STOUT.format(steps=6) + staggered("light", fields=4, order=20),
    "HISQ": staggered("light", "hisq"),
    "clover": CLOVER,
    "measured": staggered("light") + MEASURE.format(vectors=8),
}


#: Runs the command line and writes its peak: getrusage would begin with that of the process that started it.
PROGRAM = """\
import re, sys
from trellis.commands.cli import main
try:
    main()
finally:
    open("peak", "w").write(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def peak_and_statement(folder: Path, text: str) -> tuple[float, float]:
    """MiB, of one process."""
    write_run_file(folder, text)
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, "generate", "run.toml"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = found.stdout + found.stderr
    assert found.returncode == 0, said
    stated = re.search(r"memory: about ([0-9.]+) (MiB|GiB) per rank", said)
    assert stated, said
    peak = int((folder / "peak").read_text()) / 1024
    return peak, float(stated[1]) * (1 if stated[2] == "MiB" else 1024)


@pytest.mark.parametrize("measure", ["", MEASURE[MEASURE.index("[measure.flow]") :]], ids=["", "measured"])
def test_stated_memory_of_a_heat_bath(tmp_path: Path, measure: str) -> None:
    begin, end = RUN.index("[[integrator]]"), RUN.index("[output]")
    rest = "[heatbath]\nseed = 1\n[sweeps]\ntotal = 2\nkeep_every = 1\n"
    text = (RUN[:begin] + rest + RUN[end:]).replace("symanzik", "wilson").format(L=12, quarks="")
    peak, statement = peak_and_statement(tmp_path, text + measure)
    assert peak <= statement <= 1.5 * peak


@pytest.mark.parametrize("L", [8, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_stated_memory(tmp_path: Path, case: str, L: int) -> None:
    quarks = CASES[case]
    names = ", ".join(f'"{name}"' for name in ["gauge", *re.findall('name = "(.*)"', quarks)])
    text = RUN.format(L=L, quarks=quarks, names=names)
    peak, statement = peak_and_statement(tmp_path, text)
    assert peak <= statement <= 1.5 * peak
