#!/usr/bin/env python3
"""Run the run files of tests/bits and compare the sha256 of all that they write with tests/bits/sha256.json.

usage: tools/check_bits.py [--ranks 1 2 4] [--trellis PROGRAM [--language 1]] [--record]

The digest of a configuration is that of its links as stored; that of an HDF5 file goes over the datasets of
physics: not over attributes (dates, revisions), seconds, and counts of flops and bytes. tests/bits/earlier
holds a run and a result of commit 70dd047: the run goes on from there, and the result is complete. With
`--language 1` the run files are those of tests/bits/first_language, in the words that 70dd047 takes; the list
is the same. `--record` writes the list anew; a commit that does so names in CHANGELOG.md which numbers
change, and why.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
BITS = ROOT / "tests" / "bits"
LIST = BITS / "sha256.json"
#: These are the folders of run files by their language.
LANGUAGES = {1: BITS / "first_language", 3: BITS}
#: They run in this order: what measures needs the configurations of the first.
COMMANDS = {
    "quenched": "generate",
    "stout_2p1": "generate",
    "hisq": "generate",
    "clover": "generate",
    "spectrum": "measure",
    "twisted_mass": "measure",
    "axial_charge": "measure",
}
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def links_digest(path: Path) -> str:
    """Return the sha256 of the record `ildg-binary-data` of a LIME file."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        length = struct.unpack_from(">Q", content, at + 8)[0]
        kind = content[at + 16 : at + 144].split(b"\0")[0]
        if kind == b"ildg-binary-data":
            return hashlib.sha256(content[at + 144 : at + 144 + length]).hexdigest()
        at += 144 + (length + 7) // 8 * 8
    raise ValueError(f"{path}: has no record ildg-binary-data")


def is_physics(name: str) -> bool:
    """Return True for a dataset whose numbers have to stay; the others are clocks and counts."""
    parts = name.split("/")
    return parts[0] != "work" and not any(part.startswith("seconds") for part in parts)


def datasets_digest(path: Path) -> str:
    """Return the sha256 of names, types, shapes and numbers of the datasets of physics of an HDF5 file."""
    digest = hashlib.sha256()

    def add(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and is_physics(name):
            values = np.ascontiguousarray(item[()])
            digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
            digest.update(values.tobytes())

    with h5py.File(path, "r") as file:
        file.visititems(add)
    return digest.hexdigest()


def digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Return the name and the digest of each configuration and HDF5 file of a folder of results."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".ildg":
            yield f"{folder.name}/{path.name}", links_digest(path)
        elif path.suffix == ".h5":
            yield f"{folder.name}/{path.name}", datasets_digest(path)


def trellis(program: str, ranks: int, folder: Path, *arguments: str) -> None:
    """Run a command of trellis in a folder; end this program where it fails."""
    line = [*([] if ranks == 1 else ["mpirun", "-n", str(ranks)]), program, *arguments]
    done = subprocess.run(
        line, cwd=folder, env={**os.environ, **_ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(line)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")


def run_all(program: str, ranks: int, language: int = 3) -> dict[str, str]:
    """Run every run file in an empty folder, and return the digests of all results."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for run, command in COMMANDS.items():
            trellis(program, ranks, folder, command, str(LANGUAGES[language] / f"{run}.toml"))
            found.update(digests(folder / run))
    return found


def go_on(program: str, ranks: int, language: int = 3) -> dict[str, str]:
    """Go on with the run and the result of an earlier version, and return the digests of all results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "earlier"
        shutil.copytree(BITS / "earlier", folder)
        if language == 1:
            for name in ("results.toml", "clover_run.toml"):
                shutil.copy(LANGUAGES[1] / name, folder / name)
        trellis(program, ranks, folder, "measure", "results.toml", "--resume")
        trellis(program, ranks, folder, "generate", "clover_run.toml", "--resume", "--trajectories", "3")
        result = "results/correlators.000001.h5"
        if (folder / result).read_bytes() != (BITS / "earlier" / result).read_bytes():
            return {result: "is measured again"}
        return dict(digests(folder / "clover_run")) | dict(digests(folder / "results"))


def differences(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return a line for each result that is missing, new or different."""
    lines = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            lines.append(f"{name}: is not written")
        elif name not in expected:
            lines.append(f"{name}: is not in the list")
        elif expected[name] != found[name]:
            lines.append(f"{name}: expected {expected[name][:16]}, found {found[name][:16]}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--trellis", default=str(ROOT / ".venv" / "bin" / "trellis"), help="the program to run"
    )
    parser.add_argument(
        "--language",
        type=int,
        choices=sorted(LANGUAGES),
        default=3,
        help="of the run files; 1: up to 70dd047",
    )
    parser.add_argument("--record", action="store_true", help="write the list from a run on one rank")
    options = parser.parse_args()
    if options.record:
        LIST.write_text(json.dumps(run_all(options.trellis, 1) | go_on(options.trellis, 1), indent=1) + "\n")
        return 0
    expected, wrong = json.loads(LIST.read_text()), 0
    for ranks in options.ranks:
        found = run_all(options.trellis, ranks, options.language)
        lines = differences(expected, found | go_on(options.trellis, ranks, options.language))
        print(f"ranks {ranks}: {len(expected) - len(lines)} of {len(expected)} results have their bits")
        print("".join(f"  {line}\n" for line in lines), end="")
        wrong += len(lines)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
