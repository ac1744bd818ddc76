"""This module reads mesons of Hadrons, as its module MContraction::Meson writes them.

NAME.NUMBER.h5 has the group `meson` with meson_0, meson_1 ..., one for each pair of gamma matrices, which the
attributes gamma_snk and gamma_src name; `corr` holds complex numbers. They are the time slices of the sink as
they are, so that times are those of the lattice: the option source_time shifts them. Each file is opened
once: pyerrors' reader opens all files once for each of up to 256 pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Entry
from .hdf5_files import foreign_hdf5
from .root_attributes import text_of
from .sources import from_the_source

_NUMBERED = re.compile(r"(?P<stem>.+)\.(?P<number>\d+)\.h5")


def read_hadrons(paths: list[Path], options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read all mesons of the files NAME.NUMBER.h5.

    Raises
    ------
    MeasurementFileError
        A name has no number or two files have the same one, or there is no group `meson` with mesons.
    """
    by_stem: dict[Path, dict[int, Path]] = {}
    for path in paths:
        match = _NUMBERED.fullmatch(path.name)
        if match is None:
            raise MeasurementFileError(path, "name", expected="NAME.NUMBER.h5", found=path.name)
        files, number = by_stem.setdefault(path.parent / match["stem"], {}), int(match["number"])
        if number in files:
            expected = f"each number once, {files[number].name} has it, too"
            raise MeasurementFileError(path, "name", expected=expected, found=number)
        files[number] = path
    for stem, files in by_stem.items():
        for number, path in files.items():
            for (source, sink), values in _mesons(path).items():
                name = _name(source, sink, stem.name if len(by_stem) > 1 else "")
                rows = values[np.newaxis, np.newaxis]
                row = from_the_source(name, rows, options.source_time, "meson", options.boundary_t)[0, 0]
                attributes = {
                    "type": "meson",
                    "particle": "pion" if source == sink == "gamma5" else name,
                    "boundary_t": options.boundary_t,
                    "source": source,
                    "sink": sink,
                    "layout": "hadrons",
                }
                yield Entry(path, number, name, row, attributes, stream=stream)


def _mesons(path: Path) -> dict[tuple[str, str], NDArray]:
    """Return the correlators of a file by the gamma matrices at source and sink."""
    with foreign_hdf5(path) as file:
        group = file.get("meson")
        if not isinstance(group, h5py.Group) or "meson_0" not in group:
            raise MeasurementFileError(path, "/meson/meson_0", expected="a group", found="nothing")
        found: dict[tuple[str, str], NDArray] = {}
        for place in range(len(group)):
            meson = group.get(f"meson_{place}")
            if not isinstance(meson, h5py.Group):
                expected = f"meson_0 to meson_{len(group) - 1}"
                raise MeasurementFileError(path, "/meson", expected=expected, found=sorted(group))
            key = (_gamma(path, meson, "gamma_src"), _gamma(path, meson, "gamma_snk"))
            if key in found:
                expected = "each pair of gamma matrices once"
                raise MeasurementFileError(path, meson.name, expected=expected, found=f"{key} again")
            found[key] = _numbers(path, meson)
    return found


def _gamma(path: Path, meson: h5py.Group, key: str) -> str:
    words = text_of(np.ravel(meson.attrs.get(key, [b""]))[0])
    if not words:
        raise MeasurementFileError(path, meson.name, expected=f"the attribute {key}", found="none")
    return gamma_words(words)


def _numbers(path: Path, meson: h5py.Group) -> NDArray:
    """Return complex numbers [time], which are stored as pairs (re, im) or as h5py stores them."""
    corr = meson.get("corr")
    if not isinstance(corr, h5py.Dataset) or corr.ndim != 1:
        said = f"the shape {corr.shape}" if isinstance(corr, h5py.Dataset) else "no dataset"
        raise MeasurementFileError(path, f"{meson.name}/corr", expected="numbers [time]", found=said)
    if corr.shape[0] < 2:
        raise MeasurementFileError(path, corr.name, expected="two times or more", found=corr.shape[0])
    values = corr[()]
    names = values.dtype.names or ()
    parts = [values[name] for name in names] or [values]
    if len(names) not in (0, 2) or any(part.dtype.kind not in "fc" for part in parts):
        expected = "complex numbers"
        raise MeasurementFileError(path, corr.name, expected=expected, found=f"type {values.dtype}")
    return np.asarray(parts[0] + 1j * parts[1] if names else values, dtype=complex)


def gamma_words(name: str) -> str:
    """Return "gamma_t gamma5" for GammaTGamma5; a name that is no product of gammas stays as it is."""
    if name == "Identity":
        return "identity"
    words = re.findall(r"Gamma([XYZT5])", name)
    if "".join(f"Gamma{w}" for w in words) != name or not words:
        return name
    return " ".join("gamma5" if w == "5" else f"gamma_{w.lower()}" for w in words)


def _name(source: str, sink: str, stem: str) -> str:
    words = [stem] if stem else []
    same = {"gamma5": "pion", "gamma_x": "rho_x", "gamma_y": "rho_y", "gamma_z": "rho_z"}
    if source == sink and source in same:
        return "_".join([*words, same[source]])
    return "_".join([*words, source.replace(" ", ""), sink.replace(" ", "")])
