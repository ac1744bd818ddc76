"""pyerrors reads the files of this module: mesons of Hadrons, sfcf, and openQCD's ms5_xsf.

Hadrons writes NAME.NUMBER.h5 with the group `meson`. Its module MContraction::Meson writes the time slices of
its sink as they are, so that times are those of the lattice: the option source_time shifts them.

sfcf has Schroedinger functionals. Correlators are those from the boundary at t = 0 to time t; the boundaries
are Dirichlet, so that nothing is folded.

ms5_xsf has chirally rotated Schroedinger functionals: NAME.ms5_xsf_QUARKS.dat with QUARKS dd, du, ud or uu is
one stream of two quarks, with ten correlators from the boundary to time t. Two more, g1 and l1, are numbers
without a time and are not read.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pyerrors
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Entry
from .hdf5_files import open_hdf5
from .root_attributes import text_of
from .sources import from_the_source

_XSF = re.compile(r"(?P<run>.+)\.ms5_xsf_(?P<quarks>dd|du|ud|uu)\.dat")
_OF_XSF = ("gS", "gP", "gA", "gV", "gVt", "lA", "lV", "lVt", "lT", "lTt")
_NUMBERED = re.compile(r"(?P<stem>.+)\.(?P<number>\d+)\.h5")
_ENSEMBLE = "ensemble"


def read_hadrons(paths: list[Path], options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read all mesons of the files NAME.NUMBER.h5 of one folder and NAME; their real parts are taken.

    Raises
    ------
    MeasurementFileError
        A name has no number, there is no group `meson`, or pyerrors cannot read a file.
    """
    by_stem: dict[Path, dict[int, Path]] = {}
    for path in paths:
        match = _NUMBERED.fullmatch(path.name)
        if match is None:
            raise MeasurementFileError(path, "name", expected="NAME.NUMBER.h5", found=path.name)
        by_stem.setdefault(path.parent / match["stem"], {})[int(match["number"])] = path
    for stem, files in by_stem.items():
        first = files[min(files)]
        gammas = _gammas(first)
        for path in files.values():
            if (found := _gammas(path)) != gammas:
                said = f"the gamma matrices {gammas} as in {first}"
                raise MeasurementFileError(path, "/meson", expected=said, found=found)
        for place, (source, sink) in enumerate(gammas):
            values, numbers = _hadrons_samples(stem, place, sorted(files), first)
            name = _name(source, sink, stem.name if len(by_stem) > 1 else "")
            shifted = from_the_source(
                name, values[:, np.newaxis], options.source_time, "meson", options.boundary_t
            )[:, 0]
            attributes = {
                "type": "meson",
                "particle": "pion" if source == sink == "gamma5" else name,
                "boundary_t": options.boundary_t,
                "source": source,
                "sink": sink,
                "layout": "hadrons",
            }
            for number, row in zip(numbers, shifted, strict=True):
                yield Entry(files[number], number, name, row, attributes, stream=stream)


def _gammas(path: Path) -> list[tuple[str, str]]:
    """Return the names of gamma matrices at source and sink of meson_0, meson_1 ..."""
    try:
        handle = open_hdf5(path)
    except OSError as error:
        raise MeasurementFileError(path, "file", expected="an HDF5 file", found=error) from None
    with handle as file:
        group = file.get("meson")
        if not isinstance(group, h5py.Group) or "meson_0" not in group:
            raise MeasurementFileError(path, "/meson/meson_0", expected="a group", found="nothing")
        found = []
        for place in range(len(group)):
            if f"meson_{place}" not in group:
                expected = f"meson_0 to meson_{len(group) - 1}"
                raise MeasurementFileError(path, "/meson", expected=expected, found=sorted(group))
            attributes = group[f"meson_{place}"].attrs
            words = [
                text_of(np.ravel(attributes.get(key, [b""]))[0]) or "" for key in ("gamma_src", "gamma_snk")
            ]
            found.append((gamma_words(words[0]), gamma_words(words[1])))
        return found


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


def _hadrons_samples(stem: Path, place: int, numbers: list[int], first: Path) -> tuple[NDArray, list[int]]:
    try:
        found = pyerrors.input.hadrons.read_hd5(str(stem), _ENSEMBLE, "meson", attrs=place, idl=numbers)
    except Exception as error:  # pyerrors raises Exception itself
        expected = "a meson that pyerrors reads"
        raise MeasurementFileError(first, f"meson_{place}", expected=expected, found=error) from None
    rows, _ = _samples([content[0] for content in found.content])
    return rows, numbers


def read_sfcf(path: Path, options: ForeignOptions) -> Iterator[Entry]:
    """Read the correlation functions of a folder of sfcf; replicas of pyerrors are streams.

    Raises
    ------
    AnalysisError
        The names in the files are not said (foreign.sfcf).
    MeasurementFileError
        pyerrors cannot read the folder.
    """
    said = options.sfcf
    if said is None:
        raise AnalysisError(
            "foreign.sfcf: expected prefix and names of the correlation functions, found none"
        )
    for name in said.names:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found = pyerrors.input.sfcf.read_sfcf(
                    str(path),
                    said.prefix,
                    name,
                    quarks=said.quarks,
                    noffset=said.offset,
                    wf=said.wave_function,
                    version=said.version,
                    cfg_separator=said.separator,
                    silent=True,
                )
        except Exception as error:  # pyerrors raises Exception itself
            expected = "files that pyerrors' reader of sfcf takes"
            raise MeasurementFileError(path, name, expected=expected, found=error) from None
        rows, keys = _samples(found)
        attributes = {"type": options.types.get(name, "meson"), "particle": name, "boundary_t": "dirichlet"}
        for (stream, number), row in zip(keys, rows, strict=True):
            yield Entry(path, number, name, row, attributes, stream=stream)


def read_ms5_xsf(paths: list[Path], streams: dict[Path, str]) -> Iterator[Entry]:
    """Read the correlators from the boundary of chirally rotated Schroedinger functionals.

    Raises
    ------
    MeasurementFileError
        A name is another one, or pyerrors cannot read a file.
    AnalysisError
        Several files have the same quarks and no names of streams.
    """
    seen: dict[tuple[str, str], Path] = {}
    for path in paths:
        match = _XSF.fullmatch(path.name)
        if match is None:
            raise MeasurementFileError(path, "name", expected="NAME.ms5_xsf_QUARKS.dat", found=path.name)
        key = (match["quarks"], streams[path])
        if key in seen:
            raise AnalysisError(
                f"stream: expected a regular expression that tells {seen[key]} from {path}, found none"
            )
        seen[key] = path
        for kind in _OF_XSF:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    found = pyerrors.input.openQCD.read_ms5_xsf(
                        str(path.parent), "", match["quarks"], kind, files=[path.name], names=[_ENSEMBLE]
                    )
            except Exception as error:  # struct.error of files that end too early, and pyerrors' own
                expected = "a file that pyerrors' reader of ms5_xsf takes"
                raise MeasurementFileError(path, kind, expected=expected, found=error) from None
            rows, keys = _samples([content[0].real for content in found.content])
            imaginary, _ = _samples([content[0].imag for content in found.content])
            name = f"{kind}_{match['quarks']}"
            attributes = {"type": "meson", "particle": name, "boundary_t": "dirichlet", "layout": "openqcd"}
            for (_, number), re_part, im_part in zip(keys, rows, imaginary, strict=True):
                yield Entry(path, number, name, re_part + 1j * im_part, attributes, stream=streams[path])


def _samples(observables: list) -> tuple[NDArray, list[tuple[str, int]]]:
    """Return the measurements behind a correlator, shape [configuration, time], and their numbers."""
    first = observables[0]
    keys = [
        (replica.partition("|")[2] if len(first.names) > 1 else "", int(number))
        for replica in first.names
        for number in first.idl[replica]
    ]
    columns = [np.concatenate([o.deltas[r] + o.r_values[r] for r in o.names]) for o in observables]
    return np.array(columns).T, keys
