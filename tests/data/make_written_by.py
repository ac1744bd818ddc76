"""Write small files of this version into tests/data/written_by_VERSION, for the tests of all later versions.

usage: python tests/data/make_written_by.py VERSION

Each version does this once, before its release (doc/howto/release.md); the files are never made again.
tests/python/commands/test_written_by_versions.py reads them, goes on with the run that stands in the middle,
and compares with expected.json, which has what this version itself read and made.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import make_more_written_by
import numpy as np

import trellis as tr

EXTENTS = (2, 2, 2, 4)
GENERATE = """# 4 of 8 sweeps are here.
[lattice]
extents = [2, 2, 2, 4]
[action]
beta = 5.7
[start]
type = "hot"
[random]
seed = 31
[heatbath]
over_relaxation = 2
[sweeps]
total = {total}
thermalisation = 2
keep_every = 2
checkpoint_every = 2
[output]
directory = "heatbath"
"""
MEASURE = """
[configurations]
files = "heatbath/configuration.*.ildg"
last = 4
[fermion]
type = "clover"
kappa = 0.12
csw = 1.2
[solver]
type = "cg"
tolerance = 1e-9
[source]
type = "point"
positions = [[0, 0, 0, 0]]
[correlators]
mesons = ["pion", "rho"]
baryons = ["nucleon"]
[output]
directory = "spectrum"
"""


def trellis(folder: Path, *words: str) -> None:
    """Run a command of this version."""
    command = [sys.executable, "-m", "trellis", *words]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def digest(array: np.ndarray) -> str:
    """Return the first 16 digits of the sha256 of type, shape and numbers."""
    head = f"{array.dtype.str} {array.shape}\n".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def read_fields(folder: Path) -> dict[str, str]:
    """Return digests of the links, propagators and low modes, as the version that runs reads them."""
    links = tr.read_gauge_field(folder / "links.ildg")
    found = {
        path.name: digest(tr.read_gauge_field(path).to_numpy())
        for path in sorted(folder.glob("links.*"))
        if path.suffix != ".openqcd"
    }
    found["links.openqcd"] = digest(tr.read_gauge_field(folder / "links.openqcd").to_numpy())
    found["wilson.h5"] = digest(tr.read_propagator(folder / "wilson.h5").to_numpy())
    found["wilson.scidac"] = digest(
        tr.read_scidac_propagator(folder / "wilson.scidac", links.geometry).to_numpy()
    )
    found["staggered.h5"] = digest(tr.read_staggered_propagator(folder / "staggered.h5").to_numpy())
    M = tr.WilsonClover(links, kappa=0.12, csw=1.0)
    found["modes.h5"] = digest(np.array(tr.read_eigenvectors(folder / "modes.h5", M).values))
    return found


def datasets(path: Path) -> dict[str, str]:
    """Return digests of the numbers of physics in an HDF5 file, without seconds and counts of work."""
    found: dict[str, str] = {}
    with h5py.File(path) as file:
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            parts = name.split("/")
            is_work = parts[0] == "work" or any(part.startswith("seconds") for part in parts)
            if isinstance(file[name], h5py.Dataset) and not is_work:
                found[name] = digest(file[name][()])
    return found


def run_results(folder: Path) -> dict[str, dict[str, str]]:
    """Return digests of the stream, the configurations and the correlators of the runs."""
    found = {"stream.h5": datasets(folder / "heatbath/stream.h5")}
    for path in sorted((folder / "heatbath").glob("*.ildg")):
        found[path.name] = {"links": digest(tr.read_gauge_field(path).to_numpy())}
    for path in sorted((folder / "spectrum").glob("*.h5")):
        found[path.name] = datasets(path)
    return found


def write_fields(folder: Path) -> None:
    """Write one field in all formats, with propagators and low modes on it."""
    U = tr.quenched(EXTENTS, beta=5.7, seed=7, sweeps=3)
    for form in ("ildg", "scidac", "nersc", "milc", "openqcd"):
        U.write(folder / f"links.{form}", format=form)
    M = tr.WilsonClover(U, kappa=0.12, csw=1.0)
    S = tr.even_odd(tr.cg(tolerance=1e-9))(M).propagator(tr.point_source(U.geometry, (0, 0, 0, 0)))
    S.write(folder / "wilson.h5", precision=32)
    S.write(folder / "wilson.scidac", precision=32)
    staggered = tr.Staggered(U, mass=0.4)
    source = tr.point_source(U.geometry, (0, 0, 0, 0), has_spin=False)
    staggered.propagator(source).write(folder / "staggered.h5", precision=32)
    tr.lanczos(M, count=2).write(folder / "modes.h5")


def main() -> int:
    """Write the files that the head of this file names."""
    (version,) = sys.argv[1:]
    if version != tr.__version__:
        print(f"this is version {tr.__version__}, not {version}", file=sys.stderr)
        return 1
    folder = Path(__file__).resolve().parent / f"written_by_{version}"
    folder.mkdir()  # it is never made again
    write_fields(folder)
    (folder / "whole.toml").write_text(GENERATE.format(total=8))
    (folder / "heatbath.toml").write_text(GENERATE.format(total=4))
    (folder / "spectrum.toml").write_text(MEASURE)
    trellis(folder, "generate", "whole.toml")
    trellis(folder, "measure", "spectrum.toml")
    expected = {"fields": read_fields(folder), "runs": run_results(folder)}
    shutil.rmtree(folder / "heatbath")
    shutil.rmtree(folder / "spectrum")
    trellis(folder, "generate", "heatbath.toml")
    trellis(folder, "measure", "spectrum.toml")
    (folder / "heatbath.toml").unlink()
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    make_more_written_by.add_to(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
