"""`trellis measure` takes no more memory than it states, and not much less."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import environment

import trellis as tr

RUN = """\
[configurations]
files = "field.*"
[fermion]
{fermion}
[solver]
tolerance = 1e-9
{solver}
[correlators]
{correlators}
directory = "out"
"""

#: This prints what is stated beside how much the process grew from there on, both in MiB.
PROGRAM = """\
import re, sys
from trellis.commands.cli import main
from trellis.measure import measurement
stated = []
def rss():  # getrusage would begin with the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
def note(needed, *_):
    stated.append((needed / 2**20, rss()))
measurement.require_memory = note
sys.argv = ["trellis", "measure", "run.toml"]
try:
    main()
finally:
    print(stated[0][0], rss() - stated[0][1])
"""

PION = 'mesons = ["pion"]\nbaryons = []'
CASES = {
    "cg": ("", 'type = "cg"\ninner_precision = "double"\neven_odd = "none"', PION),
    "bicgstab": ("", 'type = "bicgstab"\ninner_precision = "double"\neven_odd = "none"', PION),
    "gcr": ("", 'type = "gcr"\ninner_precision = "double"\neven_odd = "none"', PION),
    "gcr of 40 steps": (
        "",
        'type = "gcr"\nrestart_length = 40\ninner_precision = "double"\neven_odd = "none"',
        PION,
    ),
    "a solver inside another": (
        "",
        'type = "gcr"\neven_odd = "none"\npreconditioner = { type = "gcr", iterations = 4 }',
        PION,
    ),
    "mixed, even-odd": ("", 'type = "gcr"\ninner_precision = "half"', PION),
    "multigrid": ("strange_kappa = 0.09", 'type = "multigrid"', PION),
    "multigrid of many vectors": (
        "",
        'type = "multigrid"\nrestart_length = 2\n'
        "[solver.multigrid]\nvectors = 60\nblock = [2, 2, 2, 2]\nsweeps = 1",
        PION,
    ),
    "domain walls in double": (
        'type = "domain_wall"\nmass = 0.5\nLs = 8',
        'inner_precision = "double"',
        PION,
    ),
    "conserved current, fixed sink": (
        'type = "domain_wall"\nmass = 0.5\nLs = 8',
        "",
        PION + '\n[three_point]\ncurrents = ["V4_conserved"]\nseparations = [2, 3]\n[output]',
    ),
    "many mesons": (
        "strange_kappa = 0.09",
        'type = "bicgstab"',
        'mesons = ["all", "kaon"]\nbaryons = []\nmax_momentum_squared = 16',
    ),
    "stored": ("", 'type = "cg"', PION + "\n[output]\npropagators = true"),
    "baryons": ("", 'type = "bicgstab"', 'mesons = []\nbaryons = ["nucleon"]\nmax_momentum_squared = 40'),
    "staggered, many masses": (
        'type = "staggered"\nmass = 0.5\nfurther_masses = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]',
        'inner_precision = "double"',
        "[condensate]\nvectors = 6\nnoise_seed = 1",
    ),
    "staggered in single": (
        'type = "staggered"\nmass = 0.5\nfurther_masses = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2]',
        'inner_precision = "float"',
        "",
    ),
    "hisq, one mass": ('type = "hisq"\nmass = 0.5', "", ""),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_the_stated_memory_covers_the_peak(tmp_path: Path, case: str) -> None:
    """A third of the memory and 96 MiB may be left: the largest parts do not all exist at one time."""
    fermion, solver, correlators = CASES[case]
    # Staggered propagators have a sixteenth of the numbers.
    lattice = (16, 16, 16, 16) if "staggered" in fermion or "hisq" in fermion else (8, 8, 8, 8)
    tr.weak_field(lattice, seed=1).write(tmp_path / "field.1.ildg")
    if "type" not in fermion:
        fermion = f'type = "clover"\nkappa = 0.1\ncsw = 1.0\n{fermion}'
    if "[output]" not in correlators:
        correlators += "\n[output]"
    (tmp_path / "run.toml").write_text(RUN.format(fermion=fermion, solver=solver, correlators=correlators))
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    stated, grown = map(float, found.stdout.splitlines()[-1].split())
    print(f"{case}: stated {stated:.0f} MiB, peak {grown:.0f} MiB")
    assert grown <= stated
    assert 2 / 3 * stated - 96 <= grown
