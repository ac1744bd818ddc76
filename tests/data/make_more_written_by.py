"""This module has the further kinds of files of tests/data/written_by_VERSION; make_written_by.py calls it.

They are a multigrid set-up, propagators of domain walls and staggered quarks, trajectories and a spin glass
that stand in the middle, correlators of arrays with their analysis, and the folder of a campaign.

usage: python tests/data/make_more_written_by.py VERSION      adds them to files that an earlier commit made
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import trellis as tr
from trellis.analysis import Correlator, analyze_correlators, read_measurements, write_correlators
from trellis.analysis.records.results import Results

TRAJECTORIES = """# 2 of 4 trajectories are here.
[lattice]
extents = [2, 2, 2, 4]
[action]
type = "wilson"
beta = 5.5
[start]
type = "hot"
[random]
seed = 5
[molecular_dynamics]
length = 0.5
[[integrator]]
scheme = "omelyan2"
steps = 4
monomials = ["gauge"]
[trajectories]
total = {total}
keep_every = 4
checkpoint_every = 2
[output]
directory = "hmc"
"""
GLASS = """# 2 of 4 steps are here.
[lattice]
extents = [2, 2, 2]
[couplings]
type = "gaussian"
samples = 2
[spins]
temperatures = [0.4, 0.5]
replicas = 2
[steps]
total = {total}
over_relaxation = 1
checkpoint_every = 2
[random]
seed = 7
[output]
directory = "glass"
"""
CAMPAIGN = """[campaign]
name = "c"
root = "work"
[[task]]
name = "made"
command = ["sh", "-c", "echo made > {output}"]
outputs = ["made.txt"]
[[task]]
name = "failed"
command = "false"
"""
MACHINE = '[machine]\nname = "m"\n[[nodes]]\ncount = 1\ncpus = 1\n[allocation]\n'


def trellis(folder: Path, *words: str, may_fail: bool = False) -> None:
    """Run a command of this version."""
    command = [sys.executable, "-m", "trellis", *words]
    subprocess.run(command, cwd=folder, check=not may_fail, stdout=subprocess.DEVNULL)


def operator() -> tr.WilsonClover:
    """Return the operator of the set-up: blocks of 2 need a lattice of 4, whose links need no file."""
    return tr.WilsonClover(tr.weak_field((4, 4, 4, 4), seed=3), kappa=0.12, csw=1.0)


def numbers_of(folder: Path) -> dict[str, Any]:
    """Return what the version that runs reads in the files, as numbers that it has to read for ever."""
    M = operator()
    S = tr.read_propagator(folder / "walls.h5")
    assert S.midpoint is not None
    staggered = tr.read_scidac_staggered_propagator(folder / "staggered.scidac", S.geometry)
    setup = tr.read_multigrid(folder / "multigrid.h5", M)
    solve = tr.gcr(tolerance=1e-9, preconditioner=setup)
    found = solve(M).propagator(tr.point_source(M.geometry, (0, 0, 0, 0)))
    pion = read_measurements(folder / "pion.h5").correlators["pion"]
    results = Results.from_json(folder / "analysis" / "results.json")
    particle = results.particles["pion"]
    return {
        "residual mass": float(tr.residual_mass(S).mean()),
        "staggered": float(np.linalg.norm(staggered.to_numpy())),
        "multigrid": [setup.vectors, list(setup.block), float(np.linalg.norm(found.to_numpy()))],
        "pion": [float(pion.values.real.sum()), *map(int, pion.momenta.ravel())],
        "results": [particle.mass, particle.mass_error, results.configurations.count],
    }


def runs_of(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Return the sum and the first number of each dataset of physics in the runs that went on."""
    found: dict[str, dict[str, list[float]]] = {}
    for path in (folder / "hmc" / "stream.h5", folder / "glass" / "glass.h5"):
        with h5py.File(path) as file:
            names: list[str] = []
            file.visit(names.append)
            numbers = {}
            for name in names:
                is_work = name.startswith("work") or "seconds" in name
                if isinstance(file[name], h5py.Dataset) and file[name].size and not is_work:
                    values = np.abs(file[name][()].astype(complex))
                    numbers[name] = [float(values.sum()), float(values.ravel()[0])]
        found[path.name] = numbers
    return found


def make(folder: Path) -> dict[str, Any]:
    """Write the files into `folder`, beside the links of its parent, and return what is read in them."""
    folder.mkdir()
    U = tr.read_gauge_field(folder.parent / "links.ildg")
    source = tr.point_source(U.geometry, (0, 0, 0, 0))
    walls = tr.MoebiusDomainWall(U, mass=0.2, Ls=2)
    tr.even_odd(tr.cg(tolerance=1e-8))(walls).propagator(source).write(folder / "walls.h5", precision=32)
    of_colours = tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False)
    staggered = tr.Staggered(U, mass=0.4).propagator(of_colours)
    staggered.write(folder / "staggered.scidac", "scidac", precision=32)
    tr.multigrid(operator(), block=(2, 2, 2, 2), vectors=2, smoother="mr").write(folder / "multigrid.h5")
    rng = np.random.default_rng(4)
    t = np.arange(8)
    samples = (np.exp(-0.5 * t) + np.exp(-0.5 * (8 - t))) * (1 + 0.02 * rng.standard_normal((10, 8)))
    pion = Correlator("pion", samples, configurations=range(10, 110, 10), symmetry=1)
    write_correlators(folder / "pion.h5", [pion])
    results = analyze_correlators([pion], options={"max_states": 1})
    (folder / "analysis").mkdir()
    results.to_json(folder / "analysis" / "results.json")
    with tempfile.TemporaryDirectory() as place:  # records have absolute paths
        (Path(place) / "campaign.toml").write_text(CAMPAIGN)
        (Path(place) / "machine.toml").write_text(MACHINE)
        trellis(Path(place), "campaign", "run", "campaign.toml", "--machine", "machine.toml", may_fail=True)
        shutil.copytree(place, folder / "campaign")
    (folder / "hmc.toml").write_text(TRAJECTORIES.format(total=4))
    (folder / "glass.toml").write_text(GLASS.format(total=4))
    trellis(folder, "generate", "hmc.toml")
    trellis(folder, "glass", "glass.toml")
    expected = {"numbers": numbers_of(folder), "runs": runs_of(folder)}
    for name, text, words in (("hmc", TRAJECTORIES, "generate"), ("glass", GLASS, "glass")):
        shutil.rmtree(folder / name)
        (folder / "half.toml").write_text(text.format(total=2))
        trellis(folder, words, "half.toml")
    (folder / "half.toml").unlink()
    return expected


def add_to(folder: Path) -> None:
    """Make the files in `more` below the folder of a version."""
    expected = make(folder / "more")
    (folder / "more" / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    add_to(Path(__file__).resolve().parent / f"written_by_{sys.argv[1]}")
