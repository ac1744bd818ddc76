"""lalibe's HDF5 files as measurements: /SMEARING/HADRON/SPIN/xX_yY_zZ_tT/pxN_pyN_pzN -> complex [time].

One file for a configuration, or several (spectrum and Feynman-Hellmann ones): what belongs together is told
by the number in the name, "spectrum_120.h5", "fh.cfg120.h5": one that stands between dots, dashes or
underscores, the last of them. Sources are averaged. lalibe counts times from the source and takes the
antiperiodic sign away.

Read are proton, piplus and kplus, and fh_proton_A3, _V4 and _S with UU and DD; the rest is listed in a note.
Spins are summed, for A3 up minus down, with the -i of doc/conventions.md. Files do not say the spatial
extents and the boundary condition: the lattice is (0, 0, 0, T), quarks count as antiperiodic in time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from .errors import MeasurementFileError

_SMEARING = re.compile(r"[A-Z]{2}")
_PLACE = re.compile(r"x\d+_y\d+_z\d+_t\d+")
_MOMENTUM = re.compile(r"px(-?\d+)_py(-?\d+)_pz(-?\d+)")
_NUMBER = re.compile(r"(?:^|[._-])(?:cfg|conf|config|configuration)?(\d+)(?=$|[._-])")


@dataclass(frozen=True)
class _Hadron:
    """Name of the correlator here, its type, factor, and the sign of spin down (None: no spin)."""

    name: str
    kind: str
    factor: complex = 1
    down: int | None = 1


_HADRONS = {
    "proton": _Hadron("nucleon", "baryon"),
    "piplus": _Hadron("pion", "meson", down=None),
    "kplus": _Hadron("kaon", "meson", down=None),
}
for _flavour in ("UU", "DD"):
    _HADRONS[f"fh_proton_V4_{_flavour}"] = _Hadron(f"fh_V4_{_flavour}", "feynman_hellmann")
    _HADRONS[f"fh_proton_S_{_flavour}"] = _Hadron(f"fh_S_{_flavour}", "feynman_hellmann")
    _HADRONS[f"fh_proton_A3_{_flavour}"] = _Hadron(f"fh_A3_{_flavour}", "feynman_hellmann", -1j, -1)


@dataclass
class LalibeCorrelator:
    """values: complex, shape [momentum, time], mean over `sources`."""

    values: NDArray
    momenta: list[tuple[int, ...]]
    sources: int
    attributes: dict[str, str]


@dataclass
class LalibeConfiguration:
    """What the files of one configuration hold."""

    path: Path
    correlators: dict[str, LalibeCorrelator] = field(default_factory=dict)


def is_lalibe(file: h5py.File) -> bool:
    """Whether the root has groups of smearings with hadrons, and no kind of Trellis."""
    groups = [name for name in file if _SMEARING.fullmatch(name) and isinstance(file[name], h5py.Group)]
    return "kind" not in file.attrs and any(set(file[name]) & set(_HADRONS) for name in groups)


def read_lalibe_file(
    path: Path, file: h5py.File, smearing: str | None, found: dict[int, LalibeConfiguration]
) -> list[str]:
    """Adds a file to the configurations; returns the hadrons that were left out.

    Raises
    ------
    MeasurementFileError
        No number in the name, a correlator twice, several smearings where none was chosen, unequal shapes.
    """
    numbers = _NUMBER.findall(path.stem)
    if not numbers:
        raise MeasurementFileError(
            path, "name", expected="the configuration's number, as in spectrum_120.h5", found=path.name
        )
    chosen = _chosen_smearing(path, file, smearing)
    configuration = found.setdefault(int(numbers[-1]), LalibeConfiguration(path))
    left_out = []
    for hadron in file[chosen]:
        entry = _HADRONS.get(hadron)
        if entry is None:
            left_out.append(hadron)
            continue
        if entry.name in configuration.correlators:
            expected = f"each correlator once for configuration {numbers[-1]}"
            raise MeasurementFileError(path, f"/{chosen}/{hadron}", expected=expected, found="it again")
        configuration.correlators[entry.name] = _read(path, file[chosen][hadron], entry)
    return left_out


def _chosen_smearing(path: Path, file: h5py.File, smearing: str | None) -> str:
    there = [n for n in file if _SMEARING.fullmatch(n) and set(file[n]) & set(_HADRONS)]
    if smearing is None and len(there) == 1:
        return there[0]
    if smearing is None or smearing not in there:
        expected = f"/{smearing}"
        if smearing is None:
            line = f'lalibe_smearing = "{there[0]}"'
            expected = (
                f"the option lalibe_smearing ({line} in the TOML file given to --options) to choose one"
            )
        raise MeasurementFileError(path, "smearings", expected=expected, found=", ".join(there))
    return smearing


def _require_group(path: Path, item: h5py.Group | h5py.Dataset) -> None:
    if not isinstance(item, h5py.Group):
        raise MeasurementFileError(path, item.name, expected="a group", found="a dataset")


def _require_numbers(path: Path, item: h5py.Group | h5py.Dataset) -> None:
    if not isinstance(item, h5py.Dataset):
        raise MeasurementFileError(path, item.name, expected="a dataset", found="a group")
    if item.dtype.kind not in "iufc":
        raise MeasurementFileError(path, item.name, expected="numbers", found=f"type {item.dtype}")


def _require_equal(path: Path, item: h5py.Group, what: str, expected: set[str], found: set[str]) -> None:
    """The same sources for both spins and the same momenta for all sources: else the mean is of neither."""
    if found != expected:
        raise MeasurementFileError(
            path, f"{what} of {item.name}", expected=sorted(expected), found=sorted(found)
        )


def _values(path: Path, dataset: h5py.Dataset, hadron: h5py.Group) -> NDArray:
    """One correlator, complex."""
    _require_numbers(path, dataset)
    if dataset.shape is None or dataset.ndim != 1 or dataset.size < 2:
        found = dataset.shape or "nothing in it"
        raise MeasurementFileError(path, dataset.name, expected="one dimension, two times", found=found)
    values = np.asarray(dataset[()], dtype=np.complex128)
    if not np.all(np.isfinite(values)):
        raise MeasurementFileError(path, dataset.name, expected="finite numbers", found="some that are not")
    if "_A3_" in hadron.name and dataset.dtype.kind != "c":  # gamma_z gamma5 gives an imaginary one
        raise MeasurementFileError(path, dataset.name, expected="complex numbers", found=str(dataset.dtype))
    return values


def _read(path: Path, group: h5py.Group, hadron: _Hadron) -> LalibeCorrelator:
    _require_group(path, group)
    if hadron.down is None:
        parts = [(group, 1)]
    else:
        for spin in ("spin_up", "spin_dn"):
            if spin not in group:
                raise MeasurementFileError(
                    path, "dataset", expected=f"{group.name}/{spin}", found="nothing there"
                )
        parts = [(group["spin_up"], 1), (group["spin_dn"], hadron.down)]
    total: dict[tuple[int, ...], NDArray] = {}
    expected: tuple[set[str], set[str]] | None = None  # places and momenta of the first spin
    for part, sign in parts:
        _require_group(path, part)
        places = sorted(name for name in part if _PLACE.fullmatch(name))
        for place in places:
            _require_group(path, part[place])
            there = {name: match for name in part[place] if (match := _MOMENTUM.fullmatch(name))}
            expected = expected or (set(places), set(there))
            _require_equal(path, part[place], "momenta", expected[1], set(there))
            for name, match in there.items():
                values = _values(path, part[place][name], group)
                if total and len(values) != len(next(iter(total.values()))):
                    lengths = len(next(iter(total.values())))
                    raise MeasurementFileError(
                        path, part[place][name].name, expected=f"{lengths} times", found=len(values)
                    )
                n = tuple(map(int, match.groups()))
                total[n] = total.get(n, 0) + sign * hadron.factor * values / len(places)
        if expected is not None:
            _require_equal(path, part, "sources", expected[0], set(places))
    if not total or expected is None:
        raise MeasurementFileError(
            path, group.name, expected="groups xX_yY_zZ_tT with momenta", found=sorted(group)
        )
    sources = len(expected[0])
    momenta = sorted(total, key=lambda n: (sum(k * k for k in n), n))
    is_current = hadron.kind == "feynman_hellmann"
    attributes = {
        "type": hadron.kind,
        "particle": "nucleon" if is_current else hadron.name,
        "boundary_t": "antiperiodic",
        "source": "gamma5" if hadron.kind == "meson" else hadron.name,
        "sink": "gamma5" if hadron.kind == "meson" else hadron.name,
        "layout": "lalibe",
    }
    return LalibeCorrelator(np.array([total[n] for n in momenta]), momenta, sources, attributes)
