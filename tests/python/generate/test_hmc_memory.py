"""The memory that a run of trajectories states is no less than its peak, and at most half as much again.

These are ratios of statement and peak of one process, for 8^4, 12^4 and 16^4 (where there is no number,
nothing was run):

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
    clover, multigrid                                   1.10  1.33
    clover, multigrid of blocks 2^4, two levels         1.10
    clover, multigrid of blocks 2^4, 12 vectors, three levels  1.22
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import environment, write_run_file
from run_file_texts import heat_bath, level, trajectories

RUN = {
    "action": {"type": "symanzik", "beta": 6.0},
    "molecular_dynamics": {"length": 0.1},
    "start": {"type": "weak", "spread": 0.3},
    "trajectories": {"thermalisation": 1},
    "random": {"seed": 1},
}
CLOVER = {"name": "light", "type": "clover", "n_f": 2, "kappa": 0.11, "csw": 1.0}
FLOW = {"every": 1, "time": 0.4}


def staggered(
    name: str, type: str = "staggered", *, n_f: int = 1, fields: int = 1, order: int = 12
) -> dict[str, Any]:
    orders = {"order": order, "dynamics_order": order}
    flavour = {"name": name, "type": type, "n_f": n_f, "mass": 0.5}
    return {**flavour, "pseudofermions": fields, "rational": orders}


def stout(steps: int) -> dict[str, Any]:
    return {"stout": {"rho": 0.1, "steps": steps}}


CASES: dict[str, dict[str, Any]] = {
    "quenched": {},
    "2 + 1 stout": {"smearing": stout(2), "fermions": [staggered("light", n_f=2), staggered("strange")]},
    "pseudofermions": {"smearing": stout(6), "fermions": [staggered("light", fields=4, order=20)]},
    "HISQ": {"fermions": [staggered("light", "hisq")]},
    "clover": {"fermions": [CLOVER]},
    "multigrid": {"fermions": [{**CLOVER, "solver": "multigrid", "multigrid": {"refresh": 0.02}}]},
    "three levels": {
        "fermions": [
            {
                **CLOVER,
                "solver": "multigrid",
                "multigrid": {"levels": 3, "block": [2, 2, 2, 2], "vectors": 12, "sweeps": 1},
            }
        ]
    },
    "measured": {
        "fermions": [staggered("light")],
        "measure": {"fermions": {"every": 1, "vectors": 8}, "flow": FLOW},
    },
}


#: This runs the command line and writes its peak: getrusage would begin with that of the process that started
#: it.
PROGRAM = """\
import re, sys
from trellis.commands.cli import main
try:
    main()
finally:
    open("peak", "w").write(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def peak_and_statement(folder: Path, text: str) -> tuple[float, float]:
    """Return peak and statement of one process, in MiB."""
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


@pytest.mark.parametrize("measure", [None, {"flow": FLOW}], ids=["", "measured"])
def test_stated_memory_of_a_heat_bath(tmp_path: Path, measure: dict[str, Any] | None) -> None:
    text = heat_bath(
        lattice={"extents": [12, 12, 12, 12]}, sweeps={"total": 2, "keep_every": 1}, measure=measure
    )
    peak, statement = peak_and_statement(tmp_path, text)
    assert peak <= statement <= 1.5 * peak


@pytest.mark.parametrize("L", [8, pytest.param(12, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.parametrize("case", CASES)
def test_stated_memory(tmp_path: Path, case: str, L: int) -> None:
    if case == "three levels" and L == 12:
        pytest.skip("6^4 has no coarser lattice in blocks of 2^4")
    names = [flavour["name"] for flavour in CASES[case].get("fermions", [])]
    levels = {"integrator": [level(1, "gauge", *names, scheme="leapfrog")]}
    text = trajectories(RUN, CASES[case], levels, lattice={"extents": [L, L, L, L]})
    peak, statement = peak_and_statement(tmp_path, text)
    assert peak <= statement <= 1.5 * peak
