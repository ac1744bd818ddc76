"""pyerrors reads the files of this module: sfcf, and openQCD's ms5_xsf.

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

import numpy as np
import pyerrors
from numpy.typing import NDArray

from ..records.errors import AnalysisError, MeasurementFileError
from ..records.foreign_options import ForeignOptions, SfcfOptions
from .foreign_entries import Entry

_XSF = re.compile(r"(?P<run>.+)\.ms5_xsf_(?P<quarks>dd|du|ud|uu)\.dat")
_OF_XSF = ("gS", "gP", "gA", "gV", "gVt", "lA", "lV", "lVt", "lT", "lTt")
_ENSEMBLE = "ensemble"


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
        _require_one_function(path, name, said)
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


def _require_one_function(path: Path, name: str, said: SfcfOptions) -> None:
    """Refuse what pyerrors' reader does not tell apart.

    It takes the first quarks that fit, and reads functions from one boundary alone.

    Raises
    ------
    MeasurementFileError
        Several quarks fit, or the function has two boundaries.
    """
    written = (
        rf"^name +{re.escape(name)}\nquarks +(.*)\noffset +{said.offset}\nwf +{said.wave_function}\n(wf_2)?"
    )
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        found = re.findall(written, file.read_text(errors="replace"), re.MULTILINE)
        found = [(quarks, second) for quarks, second in found if re.match(said.quarks, quarks)]
        if any(second for _, second in found):
            expected = "a function from one boundary to time t"
            raise MeasurementFileError(
                file, name, expected=expected, found="one with wf_2, of two boundaries"
            )
        several = sorted({quarks for quarks, _ in found})
        if len(several) > 1:
            expected = "one pair of quarks (the option foreign.sfcf.quarks names it)"
            raise MeasurementFileError(file, name, expected=expected, found=", ".join(several))
        if found:
            return


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
