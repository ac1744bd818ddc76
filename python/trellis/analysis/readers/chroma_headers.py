"""Headers of propagators in Chroma's hadron spectra say how quarks were made, and their boundary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Extents

#: Sources of one configuration differ in these, and so may configurations.
_OF_A_SOURCE = {"t_srce", "t_source", "t0", "ran_seed", "Seed", "Config_info", "version", "InvertParam"}
_BOUNDARIES = {"-1": "antiperiodic", "1": "periodic", "0": "dirichlet"}


def quarks_of(pair: ElementTree.Element) -> str:
    """Return the action, source and sink of both quarks of a pair; "" without headers.

    The place of the source is left out, and how the solve was done.
    """
    headers = pair.find("Forward_prop_headers")
    return "" if headers is None else " ".join(_words(headers))


def _words(element: ElementTree.Element) -> Iterator[str]:
    text = ",".join(_number(word) for word in (element.text or "").split())
    yield f"{element.tag}={text}"
    for child in element:
        if child.tag not in _OF_A_SOURCE:
            yield from _words(child)


def _number(word: str) -> str:
    """Return numbers in one form: versions of Chroma write 2, 2.0 and 2.00."""
    try:
        return repr(float(word))
    except ValueError:
        return word


def boundary_of_time(path: Path, pair: ElementTree.Element, options: ForeignOptions) -> str:
    """Return the boundary condition in time that the headers of a pair say, or else that of the options.

    Raises
    ------
    MeasurementFileError
        Quarks have several, or another one than the options say.
    """
    every = pair.iterfind("Forward_prop_headers//ForwardProp//FermionBC")
    said = {_boundary(bc, time_direction(pair)) for bc in every} - {""}
    if not said:
        return options.boundary_t
    if len(said) > 1:
        raise MeasurementFileError(
            path, "FermionBC", expected="quarks with one boundary condition in time", found=sorted(said)
        )
    found = said.pop()
    if "boundary_t" in options.model_fields_set and options.boundary_t != found:
        expected = f"{options.boundary_t} quarks in time, as the option boundary_t says"
        raise MeasurementFileError(path, "FermionBC", expected=expected, found=found)
    return found


def time_direction(pair: ElementTree.Element) -> int:
    """Return the direction in which correlators decay, 0 to 3; 3 without headers."""
    text = pair.findtext("Forward_prop_headers//PropSource/j_decay", "3").strip()
    return int(text) if text in ("0", "1", "2", "3") else 3


def _boundary(element: ElementTree.Element, time: int) -> str:
    """Return the condition in time of an element FermionBC; "" for kinds that are not known here."""
    if element.findtext("FermBC", "").strip().startswith("SCHROEDINGER"):
        return "dirichlet"
    words = element.findtext("boundary", "").split()
    return _BOUNDARIES.get(words[time], "") if len(words) == 4 else ""


def extents(holder: ElementTree.Element, pairs: list[ElementTree.Element]) -> Extents | None:
    """Return the lattice that the element around a spectrum says, where pairs decay in the last direction."""
    words = holder.findtext("ProgramInfo/Setgeom/latt_size", "").split()
    if len(words) != 4 or not all(re.fullmatch("[0-9]+", word) for word in words):
        return None
    if {time_direction(pair) for pair in pairs} != {3}:
        return None
    x, y, z, t = map(int, words)
    return x, y, z, t
