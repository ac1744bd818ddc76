"""lalibe's HDF5 files become measurements here.

The path /SMEARING/HADRON/SPIN/xX_yY_zZ_tT/pxN_pyN_pzN of a file leads to complex [time]. A
configuration has one file, or several (spectrum and Feynman-Hellmann ones, or one for each source);
their names tell which belong together (lalibe_names.py). Sources are averaged. lalibe counts times from
the source and takes the antiperiodic sign away. Correlators that some configurations lack leave these
configurations out, with a warning.

The reader takes proton, piplus and kplus, and fh_proton_CURRENT with UU and DD for S, P, V1 to V4, A1 to A4
and T12 to T34; a note lists the rest. Spins are summed; P, A and T take up minus down, and A and T get the -i
of doc/conventions.md. Files do not say the spatial extents and the boundary condition: the lattice is (0, 0,
0, T), quarks count as antiperiodic in time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from .lalibe_names import configuration_numbers

_SMEARING = re.compile(r"[A-Z]{2}")
_PLACE = re.compile(r"x\d+_y\d+_z\d+_t\d+")
_MOMENTUM = re.compile(r"px(-?\d+)_py(-?\d+)_pz(-?\d+)")


@dataclass(frozen=True)
class _Hadron:
    """A hadron has a name of its correlator here, a type, a factor, and a sign of
    spin down (None: no spin).
    """

    name: str
    kind: str
    factor: complex = 1
    down: int | None = 1


_HADRONS = {
    "proton": _Hadron("nucleon", "baryon"),
    "piplus": _Hadron("pion", "meson", down=None),
    "kplus": _Hadron("kaon", "meson", down=None),
}
#: A current has a factor and a sign of spin down.
_CURRENTS: dict[str, tuple[complex, int]] = {"S": (1, 1), "P": (1, -1)}
_CURRENTS |= {f"V{n}": (1, 1) for n in range(1, 5)} | {f"A{n}": (-1j, -1) for n in range(1, 5)}
_CURRENTS |= {f"T{m}{n}": (-1j, -1) for m, n in combinations(range(1, 5), 2)}
for _name, (_factor, _down) in _CURRENTS.items():
    for _flavour in ("UU", "DD"):
        _HADRONS[f"fh_proton_{_name}_{_flavour}"] = _Hadron(
            f"fh_{_name}_{_flavour}", "feynman_hellmann", _factor, _down
        )


@dataclass
class LalibeCorrelator:
    """values is complex, shape [momentum, time], and is the mean over the sources at `places`."""

    values: NDArray
    momenta: list[tuple[int, ...]]
    places: frozenset[str]
    attributes: dict[str, str]

    @property
    def sources(self) -> int:
        return len(self.places)


def is_lalibe(file: h5py.File) -> bool:
    """Return True if the root has groups of smearings with hadrons and no `kind` attribute of Trellis."""
    groups = [name for name in file if _SMEARING.fullmatch(name) and isinstance(file[name], h5py.Group)]
    return "kind" not in file.attrs and any(set(file[name]) & set(_HADRONS) for name in groups)


def read_lalibe_file(
    path: Path, file: h5py.File, smearing: str | None
) -> tuple[dict[str, LalibeCorrelator], list[str]]:
    """Return the correlators of a file by name, and the hadrons that were left out.

    Raises
    ------
    MeasurementFileError
        There are several smearings and none was chosen, or shapes are unequal.
    """
    chosen = _chosen_smearing(path, file, smearing)
    correlators, left_out = {}, []
    for hadron in file[chosen]:
        entry = _HADRONS.get(hadron)
        if entry is None:
            left_out.append(hadron)
        else:
            correlators[entry.name] = _read(path, file[chosen][hadron], entry)
    return correlators, left_out


def by_configuration(
    files: dict[Path, dict[str, LalibeCorrelator]], pattern: str | None
) -> tuple[dict[int, tuple[Path, dict[str, LalibeCorrelator]]], list[str]]:
    """Return each configuration's first file and its correlators, where it has all of them; and warnings.

    Parameters
    ----------
    pattern
        AnalysisOptions.lalibe_configuration.

    Raises
    ------
    MeasurementFileError
        A correlator comes twice for a source of a configuration, sources have unequal momenta or times, or
        names have no numbers (lalibe_names.py).
    AnalysisError
        No configuration has all correlators.
    """
    found: dict[int, tuple[Path, dict[str, LalibeCorrelator]]] = {}
    for path, number in configuration_numbers(list(files), pattern).items():
        first, correlators = found.setdefault(number, (path, {}))
        for name, correlator in files[path].items():
            if name in correlators:
                of = f"configuration {number} ({first} is of it too)"
                correlator = _with_more_sources(correlators[name], correlator, path, name, of)
            correlators[name] = correlator
    everything = {name for _, correlators in found.values() for name in correlators}
    whole = {n: entry for n, entry in sorted(found.items()) if entry[1].keys() == everything}
    if found and not whole:
        raise AnalysisError(
            f"lalibe's files: expected a configuration with all of {', '.join(sorted(everything))}, found "
            f"none among {len(found)} (the option lalibe_configuration says which files belong together)"
        )
    lacking = [n for n in sorted(found) if n not in whole]
    if not lacking:
        return whole, []
    missing = ", ".join(sorted(everything - found[lacking[0]][1].keys()))
    listed = ", ".join(map(str, lacking[:8])) + (", ..." if len(lacking) > 8 else "")
    return whole, [
        f"lalibe's files: {len(lacking)} of {len(found)} configurations lack correlators and are left out: "
        f"{listed} (configuration {lacking[0]}: {missing})"
    ]


def _with_more_sources(
    before: LalibeCorrelator, more: LalibeCorrelator, path: Path, name: str, of: str
) -> LalibeCorrelator:
    """Return the mean over the sources of both, which lie in a file each."""
    again = sorted(before.places & more.places)
    if again:
        expected = f"each source once for {of}"
        raise MeasurementFileError(path, name, expected=expected, found=f"{again[0]} again")
    if before.momenta != more.momenta or before.values.shape != more.values.shape:
        expected = (
            f"momenta {before.momenta} and {before.values.shape[-1]} times, as the other sources of {of}"
        )
        found = f"{more.momenta} and {more.values.shape[-1]}"
        raise MeasurementFileError(path, name, expected=expected, found=found)
    places = before.places | more.places
    total = before.sources * before.values + more.sources * more.values
    return LalibeCorrelator(total / len(places), before.momenta, places, before.attributes)


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
    """Require the same sources for both spins and the same momenta for all sources: else
    the mean is of neither.
    """
    if found != expected:
        raise MeasurementFileError(
            path, f"{what} of {item.name}", expected=sorted(expected), found=sorted(found)
        )


def _values(path: Path, dataset: h5py.Dataset, hadron: h5py.Group) -> NDArray:
    """Return one correlator, complex."""
    _require_numbers(path, dataset)
    if dataset.shape is None or dataset.ndim != 1 or dataset.size < 2:
        found = dataset.shape or "nothing in it"
        raise MeasurementFileError(path, dataset.name, expected="one dimension, two times", found=found)
    values = np.asarray(dataset[()], dtype=np.complex128)
    if not np.all(np.isfinite(values)):
        raise MeasurementFileError(path, dataset.name, expected="finite numbers", found="some that are not")
    entry = _HADRONS[hadron.name.rsplit("/", 1)[-1]]
    if entry.factor.imag and dataset.dtype.kind != "c":  # gamma_z gamma5 gives an imaginary one
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
    expected: tuple[set[str], set[str]] | None = None  # it has places and momenta of the first spin
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
    return LalibeCorrelator(
        np.array([total[n] for n in momenta]), momenta, frozenset(expected[0]), attributes
    )
