"""lalibe's HDF5 files become measurements here.

The path /SMEARING/HADRON/SPIN/xX_yY_zZ_tT/pxN_pyN_pzN of a file leads to complex [time];
lalibe_three_point.py has the paths of three-point functions. A configuration has one file, or several
(spectrum, Feynman-Hellmann and three-point ones, or one for each source); their names tell which belong
together (lalibe_names.py). Sources are averaged. lalibe counts times from
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
from pathlib import Path

import h5py

from ..records.errors import AnalysisError, MeasurementFileError
from .lalibe_currents import CURRENTS
from .lalibe_names import configuration_numbers
from .lalibe_parts import (
    ByMomentum,
    LalibeCorrelator,
    Part,
    mean_over_sources,
    momenta_of,
    numbers_at_times,
    require_group,
    with_more_sources,
)
from .lalibe_three_point import has_three_point, is_three_point, read_three_point

_SMEARING = re.compile(r"[A-Z]{2}")


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
for _name, (_factor, _down) in CURRENTS.items():
    for _flavour in ("UU", "DD"):
        _HADRONS[f"fh_proton_{_name}_{_flavour}"] = _Hadron(
            f"fh_{_name}_{_flavour}", "feynman_hellmann", _factor, _down
        )


def is_lalibe(file: h5py.File) -> bool:
    """Return True if there is no `kind` of Trellis, but smearings with hadrons, or three-point functions."""
    return "kind" not in file.attrs and (bool(_smearings(file)) or has_three_point(file))


def read_lalibe_file(
    path: Path, file: h5py.File, smearing: str | None
) -> tuple[dict[str, LalibeCorrelator], list[str]]:
    """Return the correlators of a file by name, and the hadrons that were left out.

    Raises
    ------
    MeasurementFileError
        There are several smearings and none was chosen, or shapes are unequal.
    """
    correlators, left_out = read_three_point(path, file)
    if not _smearings(file):
        return correlators, left_out
    chosen = file[_chosen_smearing(path, file, smearing)]
    inside, beside = read_three_point(path, chosen)
    for name in inside.keys() & correlators.keys():
        expected = f"it in {chosen.name} or in the root"
        raise MeasurementFileError(path, name, expected=expected, found="it in both")
    correlators |= inside
    left_out += beside
    for hadron in chosen:
        if hadron in _HADRONS:
            entry = _HADRONS[hadron]
            correlators[entry.name] = _read(path, chosen[hadron], entry)
        elif not is_three_point(hadron):
            left_out.append(hadron)
    return correlators, left_out


def _smearings(file: h5py.File) -> list[str]:
    """Return the names of the groups in the root that have hadrons or three-point functions."""
    groups = [name for name in file if _SMEARING.fullmatch(name) and isinstance(file[name], h5py.Group)]
    return [name for name in groups if set(file[name]) & set(_HADRONS) or has_three_point(file[name])]


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
                correlator = with_more_sources(correlators[name], correlator, path, name, of)
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


def _chosen_smearing(path: Path, file: h5py.File, smearing: str | None) -> str:
    there = _smearings(file)
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


def _read(path: Path, group: h5py.Group, hadron: _Hadron) -> LalibeCorrelator:
    require_group(path, group)
    parts: list[Part] = [(group, hadron.factor)]
    if hadron.down is not None:
        for spin in ("spin_up", "spin_dn"):
            if spin not in group:
                raise MeasurementFileError(
                    path, "dataset", expected=f"{group.name}/{spin}", found="nothing there"
                )
        parts = [(group["spin_up"], hadron.factor), (group["spin_dn"], hadron.down * hadron.factor)]
    is_current = hadron.kind == "feynman_hellmann"
    attributes = {
        "type": hadron.kind,
        "particle": "nucleon" if is_current else hadron.name,
        "boundary_t": "antiperiodic",
        "source": "gamma5" if hadron.kind == "meson" else hadron.name,
        "sink": "gamma5" if hadron.kind == "meson" else hadron.name,
        "layout": "lalibe",
    }
    must_be_complex = complex(hadron.factor).imag != 0
    mean = mean_over_sources(path, group.name, parts, _correlators, must_be_complex=must_be_complex)
    return mean.correlator(attributes)


def _correlators(path: Path, place: h5py.Group) -> ByMomentum:
    return {n: numbers_at_times(path, place[name]) for n, name in momenta_of(place).items()}
