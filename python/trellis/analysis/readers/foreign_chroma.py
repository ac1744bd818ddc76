"""This module reads Chroma's hadron spectra: the XML of HADRON_SPECTRUM, plain or as a record of a LIME file.

Under Wilson_hadron_measurements each elem is a pair of quarks with groups SOURCE_SINK_Wilson_Mesons (16 gamma
matrices) and SOURCE_SINK_Wilson_Baryons. Conventions are those of Chroma's mesons_w.cc, mesons2_w.cc and
barhqlq_w.cc:

- times count from the source, and the antiperiodic sign of baryons is taken away there;
- mesons have one and the same gamma matrix at source and sink, Gamma(n) = gamma_x^a gamma_y^b gamma_z^c
  gamma_t^d for n = a + 2 b + 4 c + 8 d; so they are symmetric in time;
- with time_rev baryons are averages of the forward and the time-reversed correlator.

Sources of one configuration are elems or files with the same quarks. Headers of propagators tell whether
these are the same, and the boundary condition in time (chroma_headers.py). A log of the hmc program has a
spectrum at each update_no.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .chroma_headers import boundary_of_time, extents, quarks_of
from .foreign_entries import Entry, Extents, Momentum
from .lime_records import is_lime, lime_records
from .packed_files import unpacked

#: A number of 64 bits has no more digits.
_DIGITS = re.compile(r"[0-9]{1,18}")
_GROUP = re.compile(r"(?P<source>[A-Za-z]+)_(?P<sink>[A-Za-z]+)_Wilson_(?P<what>Mesons|Baryons)")
#: Gamma(n) has this name of the correlator; others are called gamma_N.
_MESONS = {0: "scalar", 1: "rho_x", 2: "rho_y", 4: "rho_z", 7: "pion_a4", 15: "pion"}
#: Baryons of barhqlq_w.cc have these names, by their number; others are called baryon_N.
_BARYONS = {0: "nucleon", 9: "nucleon_unpolarised"}
_PARTICLES = {"rho_x": "rho", "rho_y": "rho", "rho_z": "rho", "pion": "pion", "pion_a4": "pion_a4"}


def read_chroma(path: Path, number: int, options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read all correlators of a file of one configuration.

    Raises
    ------
    MeasurementFileError
        The file has no XML or no hadron spectra in it, or parts do not fit.
    """
    spectra = [found for tree in _trees(path) for found in _spectra(tree)]
    if not spectra:
        raise MeasurementFileError(
            path, "content", expected="an element Wilson_hadron_measurements", found="none"
        )
    updates = {spectrum.update for spectrum in spectra}
    groups = [
        (spectrum, pair, group, match)
        for spectrum in spectra
        for pair in spectrum.pairs
        for group in pair
        if (match := _GROUP.fullmatch(group.tag))
    ]
    endings = _endings([(match, pair) for _, pair, _, match in groups])
    for (spectrum, pair, group, match), ending in zip(groups, endings, strict=True):
        read = _mesons if match["what"] == "Mesons" else _baryons
        boundary_t = boundary_of_time(path, pair, options)
        own_number = number if len(updates) == 1 else _update(path, spectrum)
        for name, momentum, values, attributes in read(path, group):
            own = attributes | {"boundary_t": boundary_t, "layout": "chroma"}
            yield Entry(
                path,
                own_number,
                name + ending,
                values,
                own,
                momentum,
                stream,
                extents=spectrum.extents,
                quarks=quarks_of(pair),
            )


def _endings(groups: list[tuple[re.Match[str], ElementTree.Element]]) -> list[str]:
    """Return what names end in: sinks and masses where a file has several, and a number where the headers of
    propagators differ otherwise."""
    sinks = {(match["source"], match["sink"]) for match, _ in groups}
    masses = {_masses(pair) for _, pair in groups}
    made: dict[tuple, list[str]] = {}
    for match, pair in groups:
        known = made.setdefault((match.group(), _masses(pair)), [])
        if quarks_of(pair) not in known:
            known.append(quarks_of(pair))
    found = []
    for match, pair in groups:
        ending = f"_{match['source'].lower()}_{match['sink'].lower()}" if len(sinks) > 1 else ""
        ending += f"_{'_'.join(_masses(pair))}" if len(masses) > 1 else ""
        known = made[match.group(), _masses(pair)]
        found.append(ending + (f"_{known.index(quarks_of(pair)) + 1}" if len(known) > 1 else ""))
    return found


def _trees(path: Path) -> list[ElementTree.Element]:
    """Return the XML of the file, or of all records of a LIME file that are XML with hadron spectra."""
    raw = unpacked(path)
    texts = [raw]
    if is_lime(raw):
        texts = [data for _, data in lime_records(path, raw) if b"Wilson_hadron_measurements" in data]
    trees = []
    for text in texts:
        try:
            trees.append(ElementTree.fromstring(text.rstrip(b"\0")))
        except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: its encoding
            raise MeasurementFileError(path, "file", expected="XML", found=str(error)) from None
    return trees


@dataclass(frozen=True)
class _Spectrum:
    """An element Wilson_hadron_measurements has pairs of quarks; what holds it says update_no and lattice."""

    pairs: list[ElementTree.Element]
    update: str
    extents: Extents | None


def _spectra(tree: ElementTree.Element) -> Iterator[_Spectrum]:
    inside = "Wilson_hadron_measurements"
    holders = [*tree.iter()] if tree.tag != inside else []
    for holder in holders:
        for found in holder.findall(inside):
            pairs = found.findall("elem")
            yield _Spectrum(pairs, holder.findtext("update_no", "").strip(), extents(holder, pairs))
    if not holders:
        yield _Spectrum(tree.findall("elem"), "", None)


def _update(path: Path, spectrum: _Spectrum) -> int:
    if not _DIGITS.fullmatch(spectrum.update):
        expected = "a whole number, for other spectra of the file have others"
        raise MeasurementFileError(path, "update_no", expected=expected, found=repr(spectrum.update))
    return int(spectrum.update)


def _masses(pair: ElementTree.Element) -> tuple[str, str]:
    return pair.findtext("Mass_1", "").strip(), pair.findtext("Mass_2", "").strip()


def _mesons(path: Path, group: ElementTree.Element) -> Iterator[tuple[str, Momentum, NDArray, dict]]:
    for element in group.findall("elem"):
        n = _whole(path, element, "gamma_value")
        name, gamma = _MESONS.get(n, f"gamma_{n}"), gamma_name(n)
        attributes = {"type": "meson", "source": gamma, "sink": gamma}
        if name in _PARTICLES:
            attributes["particle"] = _PARTICLES[name]
        for momentum, values in _momenta(path, element, "mesprop"):
            yield name, momentum, values, attributes


def _baryons(path: Path, group: ElementTree.Element) -> Iterator[tuple[str, Momentum, NDArray, dict]]:
    for element in group.findall("elem"):
        n = _whole(path, element, "baryon_num")
        name = _BARYONS.get(n, f"baryon_{n}")
        attributes = {"type": "baryon", "source": name, "sink": name}
        if n in _BARYONS:
            attributes["particle"] = name
        for momentum, values in _momenta(path, element, "barprop"):
            yield name, momentum, values, attributes


def gamma_name(n: int) -> str:
    """Return the product of gamma matrices that Chroma calls Gamma(n).

    gamma_x gamma_y gamma_z gamma_t is gamma5, and of three spatial ones it is gamma_t gamma5 up to a sign.
    """
    if n == 15:
        return "gamma5"
    if n == 7:
        return "gamma_t gamma5"
    words = [f"gamma_{axis}" for place, axis in enumerate("xyzt") if n >> place & 1]
    return " ".join(words) or "identity"


def _momenta(path: Path, element: ElementTree.Element, what: str) -> Iterator[tuple[Momentum, NDArray]]:
    for entry in element.findall("momenta/elem"):
        words = entry.findtext("sink_mom", "").split()
        try:
            x, y, z = (int(word) for word in words)
        except ValueError:
            raise MeasurementFileError(
                path, "sink_mom", expected="three whole numbers", found=" ".join(words)
            ) from None
        found = entry.find(what)
        if found is None:
            raise MeasurementFileError(path, what, expected="an element", found="none")
        yield (x, y, z), _numbers(path, found)


def _numbers(path: Path, element: ElementTree.Element) -> NDArray:
    """Return real numbers from one line, or complex ones from elem with re and im."""
    try:
        if len(element):
            parts = [(float(e.findtext("re", "")), float(e.findtext("im", ""))) for e in element]
            return np.array([complex(re_part, im_part) for re_part, im_part in parts])
        return np.array([float(word) for word in (element.text or "").split()])
    except ValueError:
        raise MeasurementFileError(
            path, element.tag, expected="numbers, or elem with re and im", found="others"
        ) from None


def _whole(path: Path, element: ElementTree.Element, tag: str) -> int:
    text = element.findtext(tag, "").strip()
    if not _DIGITS.fullmatch(text):
        raise MeasurementFileError(path, tag, expected="a whole number", found=repr(text))
    return int(text)
