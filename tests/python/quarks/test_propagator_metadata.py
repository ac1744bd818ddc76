"""These tests cover attributes of propagator files: each of them damaged, changed or missing, and files of
older versions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from command_line import environment

WRITE = """
import trellis as tr
U = tr.quenched((4, 4, 4, 4), beta=6.0, seed=1, sweeps=2)
M = tr.MoebiusDomainWall(U, mass=0.3, Ls=4, boundary=(1, 1, 1, -1))
S = tr.even_odd(tr.cg(tolerance=1e-6))(M).propagator(tr.point_source(U.geometry, (1, 2, 3, 0)))
S.write("whole.h5")
S.write("whole.h5", precision=32)
"""
READ = """
import json, sys, warnings
import trellis as tr
outcomes = {}
for name in sys.argv[1:]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            S = tr.read_propagator(name)
            text = f"{S.source_at} {S.boundary[3].real} {S.operator}"
            outcomes[name] = ["read", text, [str(w.message) for w in found]]
        except tr.Error as error:
            outcomes[name] = [type(error).__name__, str(error), []]
print(json.dumps(outcomes))
"""


def python(script: str, *arguments: str, cwd: Path) -> str:
    """Run a program in a process of its own: this one has h5py and its HDF5."""
    found = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("metadata")
    python(WRITE, cwd=path)
    return path


def outcomes(folder: Path, changes: dict[str, Callable[[h5py.File], Any]]) -> dict[str, list]:
    """Return what the reader reports for changed copies of a file, by name."""
    for name, change in changes.items():
        shutil.copy(folder / "whole.h5", folder / name)
        with h5py.File(folder / name, "r+") as file:
            change(file)
    return json.loads(python(READ, *changes, cwd=folder))


def add_sink_smeared(value: Any) -> Callable[[h5py.File], None]:
    return lambda file: file["propagator"].attrs.create("sink_smeared", value)


def put(of: str, name: str, value: Any) -> Callable[[h5py.File], None]:
    """Replace an attribute; None removes it."""

    def change(file: h5py.File) -> None:
        del file[of].attrs[name]
        if value is not None:
            file[of].attrs[name] = value

    return change


NUMBERS = {
    "text": "abc",
    "short": [1.0, 1.0],
    "scalar": 1,
    "empty": np.zeros(0),
    "nan": [np.nan] * 4,
    "inf": [1, 1, 1, np.inf],
    "bool": [True] * 4,
    "complex": [1j] * 4,
    "texts": ["a", "b", "c", "d"],
    "missing": None,
}
WRONG = {
    ("/", "lattice"): {
        "odd": [3, 4, 4, 4],
        "huge": [2**30] * 4,
        "negative": [-4, -4, 4, 4],
        "half": [4.5] * 4,
    },
    ("propagator", "source_at"): {"outside": [1, 2, 3, 4], "negative": [-1, 0, 0, 0], "half": [0.5, 0, 0, 0]},
    ("propagator", "boundary_real"): {"two": [2.0, 1, 1, 1]},
    ("propagator", "boundary_imag"): {"two": [0, 0, 0, 2.0]},
}


def test_damaged_attributes_are_named(folder: Path) -> None:
    changes = {
        f"{name}.{kind}": put(of, name, value)
        for (of, name), values in WRONG.items()
        for kind, value in (NUMBERS | values).items()
    }
    for of, name in (("propagator", "gamma_basis"), ("/", "kind"), ("/", "conventions_version")):
        changes |= {f"{name}.{kind}": put(of, name, value) for kind, value in (("other", "x"), ("number", 3))}
    changes |= {
        f"operator.{kind}": put("propagator", "operator", value)
        for kind, value in (("other", "x"), ("json", "{}"), ("number", 3.0))
    }
    changes |= {
        f"{name}.{kind}": put("propagator", name, value)
        for name in ("metadata_checksum", "scidac_checksum", "norm2", "precision_bits")
        for kind, value in (("text", "abc"), ("bool", True))
    }
    changes |= {f"sink_smeared.{value}": add_sink_smeared(value) for value in (0, 2, 1.5, "abc")}
    for file, (kind, message, _) in outcomes(folder, changes).items():
        name = file.split(".")[0]
        assert kind == "FileError", (file, kind, message)
        assert message.startswith(f"{file}: /"), message
        named = "boundary_real, boundary_imag" if file.endswith("two") else name
        assert f"attribute {named}: expected " in message
        assert ", found " in message
        assert message.endswith("found none") == file.endswith("missing"), message


def test_changed_attributes_miss_the_checksum(folder: Path) -> None:
    def without_midpoint(file: h5py.File) -> None:
        del file["midpoint"]

    def exchanged(file: h5py.File) -> None:
        file.move("midpoint", "other")
        file.move("propagator", "midpoint")
        file.move("other", "propagator")
        for name in ("source_at", "boundary_real", "boundary_imag", "operator", "metadata_checksum"):
            file["propagator"].attrs[name] = file["midpoint"].attrs[name]

    def other_mass(file: h5py.File) -> None:
        attributes = file["propagator"].attrs
        attributes["operator"] = attributes["operator"].replace(b'"mass": 0.3', b'"mass": 0.4')

    found = outcomes(
        folder,
        {
            "source": put("propagator", "source_at", [1, 2, 3, 1]),
            "phase": put("propagator", "boundary_real", [1.0, 1.0, 1.0, 1.0]),
            "midpoint": without_midpoint,
            "exchanged": exchanged,
            "mass": other_mass,
            "operator": put("propagator", "operator", None),
            "smeared": add_sink_smeared(1),
            "sums": put("propagator", "scidac_checksum", None),
            "midpoint_sums": put("midpoint", "scidac_checksum", None),
            "norm": put("propagator", "norm2", None),
            "bits": put("propagator", "precision_bits", None),
            "basis": put("propagator", "gamma_basis", None),
            "conventions": put("/", "conventions_version", None),
            "checksum": put("propagator", "metadata_checksum", 1),
        },
    )
    for file, (kind, message, _) in found.items():
        assert kind == "ChecksumError", (file, kind, message)
        assert message.startswith(f"{file}: /propagator: metadata_checksum: expected "), message


def test_files_of_older_versions_are_read_with_a_warning(folder: Path) -> None:
    def older(file: h5py.File) -> None:
        for name in ("metadata_checksum", "operator"):
            del file["propagator"].attrs[name]

    found = outcomes(folder, {"whole_copy": lambda file: None, "older": older})
    place = "(1, 2, 3, 0) -1.0 "
    assert found["older"][:2] == ["read", place + "None"]
    (warning,) = found["older"][2]
    assert warning.startswith("older: /propagator has no metadata_checksum")
    assert found["whole_copy"] == [
        "read",
        place + "MoebiusDomainWall(mass=0.3, M5=1.8, Ls=4, b5=1.5, c5=0.5, nu=1.0, xi0=1.0, "
        "boundary=(1.0, 1.0, 1.0, -1.0))",
        [],
    ]


def test_cut_files_are_named(folder: Path) -> None:
    data = (folder / "whole.h5").read_bytes()
    names = []
    for count in (0, 7, 100, 2000, len(data) // 2, len(data) - 1):
        names.append(f"cut{count}")
        (folder / names[-1]).write_bytes(data[:count])
    (folder / "other.h5").unlink(missing_ok=True)
    with h5py.File(folder / "other.h5", "w") as file:
        file["numbers"] = [1.0]
    found = json.loads(python(READ, *names, "other.h5", cwd=folder))
    for name, (kind, message, _) in found.items():
        assert kind == "FileError", (name, message)
        assert name in message
    assert "expected an array /propagator, found numbers" in found["other.h5"][1]
