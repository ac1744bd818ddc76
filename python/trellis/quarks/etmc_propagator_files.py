"""This module reads propagators that tmLQCD wrote to LIME files, in ETMC's format (its doc/prop_format.tex).

A field has a record `scidac-binary-data`: big-endian numbers [t][z][y][x][spin][colour] in single or double
precision, and `scidac-checksum` behind it. The column 3 spin + colour of the source has a file of its own, or
all twelve stand in one. Files of the type DiracFermion_Source_Sink_Pairs have sources before solutions.

tmLQCD's gamma matrices are gamma_y gamma_mu gamma_y of those here, with gamma5 = - gamma_y gamma5 gamma_y: so
its mu is -mu here. Its boundary phases exp(i pi theta_mu) are spread over all links, a phase
exp(i pi theta_mu / L_mu) each; a transformation of the fields brings them to the boundary.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gauge.geometry import Geometry
from ..ground.arguments import file_path, instance, listed, real
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.parallel import on_root
from .propagator_input import warn_on_root
from .propagators import Propagator, site_of

_HEADER = struct.Struct(">IHHQ128s")
_MAGIC = 0x456789AB
_COLUMNS, _NUMBERS = 12, 12
_LONGEST_TEXT = 1 << 16


@dataclass(frozen=True)
class _Field:
    """This is the place of a field in a file, and its checksums where the file says them."""

    path: str
    at: int
    bits: int
    checksums: tuple[int, int] | None


def read_etmc_propagator(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    geometry: Geometry,
    *,
    source_at: Sequence[int],
    theta: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
) -> Propagator:
    """Read a propagator from a point that tmLQCD wrote. Collective.

    The numbers are brought to the basis of gamma matrices and to the boundary phases here. A field of tmLQCD
    with the twisted mass mu is a solution of :class:`WilsonClover` with ``twisted_mass=-mu``. Fields without
    checksums give a UserWarning on rank 0.

    Parameters
    ----------
    paths
        One file with the twelve columns, or twelve files in the order 3 spin + colour of the source.
    geometry
        The lattice.
    source_at
        x, y, z, t of the source; files do not say it.
    theta
        tmLQCD's ThetaX, ThetaY, ThetaZ and ThetaT; boundary phases are exp(i pi theta).

    Raises
    ------
    FileError
        No such file, a field of another size, another number of fields, or two flavours.
    ChecksumError
        A stored checksum is another one.
    BadArgument
        The source lies outside the lattice, or theta is not four numbers.
    """
    lattice = instance("geometry", geometry, Geometry)
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = [file_path(path) for path in files]
    at, angles = site_of(lattice, source_at), _angles(theta)
    fields, notes = on_root(lambda: _twelve_fields(names, lattice))
    warn_on_root(names[0], notes)
    local = lattice.local_extents
    columns = [_numbers(field, lattice) for field in fields]
    values = np.stack(columns, axis=-1).reshape(*local[::-1], 4, 3, 4, 3)  # sink, then source
    values *= _turns(lattice, at, angles)[..., None, None, None, None]
    gamma_y = np.asarray(load().gamma_matrix("gamma_y"))
    S = np.einsum("ab,tzyxbicj,cd->tzyxadij", gamma_y, values, gamma_y, optimize=True)
    phases = [
        complex(phase) for phase in np.round(np.exp(1j * np.pi * angles), 15)
    ]  # -1 has no imaginary part
    return Propagator.from_numpy(S, lattice, source_at=at, boundary=phases)


def _angles(theta: Sequence[float]) -> NDArray[np.float64]:
    found = [real("theta", value) for value in listed("theta", theta, "four numbers")]
    if len(found) != 4:
        raise BadArgument(f"theta: expected four numbers, found {len(found)}")
    return np.array(found)


def _turns(lattice: Geometry, at: Sequence[int], theta: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Return exp(i pi theta (x - x_source) / L) of this rank's sites, [t, z, y, x]."""
    found = np.ones((1,), dtype=np.complex128)
    for mu in (3, 2, 1, 0):
        sites = lattice.origin[mu] + np.arange(lattice.local_extents[mu])
        phase = np.exp(1j * np.pi * theta[mu] * (sites - at[mu]) / lattice.extents[mu])
        found = found[..., None] * phase
    return found[0]


def _twelve_fields(names: list[str], lattice: Geometry) -> tuple[list[_Field], list[str]]:
    """Return the places of twelve columns, and notes on those that have no checksums."""
    fields = [field for name in names for field in _fields_of(name, lattice)]
    if len(fields) != _COLUMNS:
        listed = names[0] if len(names) == 1 else f"{len(names)} files from {names[0]} on"
        raise FileError(f"{listed}: expected 12 columns, one for each spin and colour of the source, found "
                        f"{len(fields)}")  # fmt: skip
    without = sum(field.checksums is None for field in fields)
    return fields, [f"{without} of 12 columns have no checksums"] if without else []


def _fields_of(path: str, lattice: Geometry) -> list[_Field]:
    """Return the solutions in a file."""
    numbers = lattice.volume * _NUMBERS * 2
    kind = ""
    found: list[_Field] = []
    for name, at, length in _records(path):
        if name in ("propagator-type", "etmc-propagator-format", "scidac-checksum"):
            text = _text(path, at, length)
            if name == "propagator-type":
                kind = text.strip()
            elif name == "scidac-checksum" and found:
                found[-1] = _Field(path, found[-1].at, found[-1].bits, _stated_sums(path, text))
            elif name == "etmc-propagator-format" and (flavours := _element(text, "flavours")) not in (
                None,
                "1",
            ):
                raise FileError(f"{path}: expected fields of one flavour, found {flavours}")
        elif name == "scidac-binary-data":
            bits = {numbers * 4: 32, numbers * 8: 64}.get(length)
            if bits is None:
                raise FileError(
                    f"{path}: expected fields of {4 * numbers} or {8 * numbers} bytes for the lattice "
                    f"{list(lattice.extents)}, found {length}"
                )
            found.append(_Field(path, at, bits, None))
    if kind == "DiracFermion_Source_Sink_Pairs":
        return found[1::2]
    if kind not in ("", "DiracFermion_Sink"):
        raise FileError(
            f"{path}: propagator-type: expected DiracFermion_Sink or DiracFermion_Source_Sink_Pairs, found "
            f"{kind}"
        )
    return found


def _records(path: str) -> list[tuple[str, int, int]]:
    """Return type, place of the data and their length of each record."""
    found = []
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            while header := file.read(_HEADER.size):
                start = file.tell() - len(header)
                magic = length = 0
                if len(header) == _HEADER.size:
                    magic, _, _, length, kind = _HEADER.unpack(header)
                if magic != _MAGIC or file.tell() + length > size:
                    raise FileError(f"{path}: expected a whole LIME record at byte {start}, found none")
                found.append((kind.split(b"\0")[0].decode(errors="replace"), file.tell(), length))
                file.seek(length + -length % 8, os.SEEK_CUR)
    except FileError:  # it is an OSError, too
        raise
    except OSError as error:
        raise FileError(f"{path}: expected a LIME file, found: {error.strerror}") from None
    if not found:
        raise FileError(f"{path}: expected a LIME file, found nothing in it")
    return found


def _text(path: str, at: int, length: int) -> str:
    with open(path, "rb") as file:
        file.seek(at)
        return file.read(min(length, _LONGEST_TEXT)).rstrip(b"\0").decode(errors="replace")


def _element(text: str, name: str) -> str | None:
    found = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return None if found is None else found[1].strip()


def _stated_sums(path: str, text: str) -> tuple[int, int]:
    """Return suma and sumb, which are hexadecimal."""
    try:
        return int(_element(text, "suma") or "", 16), int(_element(text, "sumb") or "", 16)
    except ValueError:
        raise FileError(f"{path}: scidac-checksum: expected suma and sumb, found {text!r}") from None


def _numbers(field: _Field, lattice: Geometry) -> NDArray[np.complex128]:
    """Return a rank's part of a field, [t, z, y, x, 3 spin + colour], and compare checksums. Collective."""
    values, *found = load().read_stored_sites(
        field.path,
        lattice._core,
        field.at,
        2 * _NUMBERS,
        field.bits,
        is_little_endian=False,
        has_milc_sums=False,
    )
    if field.checksums is not None and tuple(found) != field.checksums:
        expected = " ".join(f"{value:08x}" for value in field.checksums)
        said = " ".join(f"{value:08x}" for value in found)
        raise ChecksumError(f"{field.path}: field at byte {field.at}: expected {expected}, found {said}")
    return values.view(np.complex128)
