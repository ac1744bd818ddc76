"""This module reads MILC's text of correlators: ks_spectrum's of staggered quarks, clover_invert2's files.

It takes standard output of ks_spectrum, and correlator files. Standard output has blocks STARTPROP ...
ENDPROP with MOMENTUM, MASSES, SOURCE, SINKOPS and SINKS; files have headers between --- and ... with
correlator, momentum, spin_taste_sink (or gamma_source and gamma_sink) and correlator_key. Then come lines of
time, real part and imaginary part.

Conventions are those of ks_spectrum/spectrum_ks.c: times count from the source by the offset r_offset,
baryons have the antiperiodic sign taken away, and momenta are named p000, p110 and so on. Several blocks
with one key in a file, or several files of a configuration, are sources.

Correlators of staggered quarks have states of the opposite parity with the sign (-1)^t; fits get the term
for them. The pion with spin-taste G5-G5 (pion5) has none where quark and antiquark are the same: its partner
is the charge of a conserved current. Correlators without a staggered (naive) quark have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Entry, Extents, Momentum
from .packed_files import unpacked

_MOMENTUM = re.compile(r"p(-?\d)(-?\d)(-?\d)$")
_KEY = re.compile(r"([A-Za-z_0-9]+):\s*(.*)")
_RESTORED = re.compile(r"^Restored .*gauge configuration .*from .*?file +(\S+)", re.MULTILINE)
_LATTICE = re.compile(r"^lattice_size: +(\d+),(\d+),(\d+),(\d+)\s*$", re.MULTILINE)
_EXTENT = re.compile(r"^n([xyzt]) +(\d+)\s*$", re.MULTILINE)
_GAMMA = re.compile(r"G(1|[XYZT5]+)")
_STAGGERED = ("staggered", "stagered", "naive")
_WITHOUT_PARTNER = ("pion5", "g5-g5", "g5xg5")
_HEADER_WORDS = ("MOMENTUM", "MASSES", "SOURCE", "SINKOPS", "SINKS", "CHARGES")


def read_milc(path: Path, number: int, options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read all correlators of a file of one configuration.

    Raises
    ------
    MeasurementFileError
        There are no correlators, or lines of times do not fit.
    """
    text = unpacked(path).decode(errors="replace").replace("\r\n", "\n")
    blocks = list(_of_output(path, text) if "STARTPROP" in text else _of_files(path, text))
    extents = _extents(text)
    endings = _endings(path, blocks)
    for (header, lines), ending in zip(blocks, endings, strict=True):
        name, momentum, taste = _identity(path, header)
        is_baryon = _is_baryon(header)
        name += ending
        attributes: dict = {"type": "baryon" if is_baryon else "meson", "particle": name, "layout": "milc"}
        attributes["boundary_t"] = options.boundary_t
        if _has_partner(header, taste):
            attributes["partner"] = "opposite parity"
        attributes |= _gammas(header)
        values = _numbers(path, name, lines)
        yield Entry(path, number, name, values, attributes, momentum, stream, extents=extents)
    if not blocks:
        expected = "blocks STARTPROP, or headers with correlator between --- and ..."
        raise MeasurementFileError(path, "content", expected=expected, found="none")


def _of_output(path: Path, text: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the blocks of standard output of one configuration."""
    if "KAPPAS:" in text or "\nSOURCES:" in text:
        expected = "output of ks_spectrum (of clover_invert2 the correlator files are read)"
        raise MeasurementFileError(path, "content", expected=expected, found="blocks with kappas")
    restored = _RESTORED.findall(text)
    if len(set(restored)) > 1:
        expected = "one gauge configuration, which the blocks do not name"
        raise MeasurementFileError(path, "content", expected=expected, found=", ".join(sorted(set(restored))))
    for block in text.split("STARTPROP")[1:]:
        inside, end, _ = block.partition("ENDPROP")
        if not end:
            raise MeasurementFileError(path, "STARTPROP", expected="ENDPROP behind it", found="the end")
        header, lines = {}, []
        for line in filter(str.strip, inside.splitlines()):
            match = _KEY.match(line)
            if match and match[1] in _HEADER_WORDS:
                header[match[1]] = match[2].strip()
            else:
                lines.append(line)
        yield header, lines


def _of_files(path: Path, text: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the correlators of files; the header before them says of the quarks what
    holds for all that follow.
    """
    general: dict[str, str] = {}
    for part in re.split(r"^---\s*$", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n...")
        found = {match[1]: match[2] for line in head.splitlines() if (match := _KEY.match(line))}
        if "correlator" not in found:
            general = found
            continue
        yield general | found, [line for line in body.splitlines() if line.strip()]


def _identity(path: Path, header: dict[str, str]) -> tuple[str, Momentum, str]:
    """Return name, momentum and spin-taste of the sink."""
    label = header.get("correlator", header.get("SINKS", "")).strip()
    if not label:
        raise MeasurementFileError(path, "header", expected="correlator or SINKS", found=sorted(header))
    momentum = header.get("momentum", header.get("MOMENTUM", "p000")).strip()
    match = _MOMENTUM.search(momentum)
    if match is None:
        raise MeasurementFileError(path, f"momentum of {label}", expected="pXYZ", found=repr(momentum))
    x, y, z = (int(n) for n in match.groups())
    key = header.get("correlator_key", "").removesuffix(f"_{momentum}")
    if not key:
        masses = header.get("MASSES", "").split()
        charges = header.get("CHARGES", "").split()
        key = "_".join([label, *(f"m{mass}" for mass in masses), *(f"q{charge}" for charge in charges)])
    return re.sub(r"[^\w.+-]", "_", key), (x, y, z), header.get("spin_taste_sink", label).strip()


def _endings(path: Path, blocks: list[tuple[dict[str, str], list[str]]]) -> list[str]:
    """Return what names end in: sources and sinks where standard output has several for one name."""
    made: dict[tuple[str, Momentum], set[str]] = {}
    words = []
    for header, _ in blocks:
        name, momentum, _ = _identity(path, header)
        words.append(" ".join(header.get(key, "") for key in ("SOURCE", "SINKOPS")).split())
        made.setdefault((name, momentum), set()).add(" ".join(words[-1]))
    several = {name for (name, _), kinds in made.items() if len(kinds) > 1}
    return [
        re.sub(r"[^\w.+-]", "_", "_".join(["", *own])) if _identity(path, header)[0] in several else ""
        for (header, _), own in zip(blocks, words, strict=True)
    ]


def _has_partner(header: dict[str, str], taste: str) -> bool:
    """Return True if states of the opposite parity are in the correlator."""
    types = [header[key] for key in header if re.fullmatch(r"(anti)?quark\d?_type", key)]
    if types and not any(kind.strip() in _STAGGERED for kind in types):
        return False
    return taste.lower() not in _WITHOUT_PARTNER or not _is_of_one_quark(header)


def _is_of_one_quark(header: dict[str, str]) -> bool:
    """Return True if quark and antiquark have the same mass and charge."""
    for of_output, of_files in (("MASSES", "mass"), ("CHARGES", "charge"), ("", "epsilon")):
        found = header.get(of_output, "").split()
        found += [
            header[key].strip() for key in (f"antiquark_{of_files}", f"quark_{of_files}") if key in header
        ]
        if len(set(found)) > 1:
            return False
    return True


def _gammas(header: dict[str, str]) -> dict[str, str]:
    """Return the gamma matrices of quarks with a spin: G5T is gamma5 gamma_t."""
    found = {}
    for end in ("source", "sink"):
        match = _GAMMA.fullmatch(header.get(f"gamma_{end}", "").strip())
        if match is not None:
            letters = match[1].lower()
            words = ["gamma5" if letter == "5" else f"gamma_{letter}" for letter in letters]
            found[end] = "identity" if letters == "1" else " ".join(words)
    return found if len(found) == 2 else {}


def _extents(text: str) -> Extents | None:
    """Return the lattice that headers of files or the input in standard output say."""
    stated = _LATTICE.search(text)
    found = dict(zip("xyzt", stated.groups(), strict=True)) if stated else dict(_EXTENT.findall(text))
    if len(found) < 4:
        return None
    x, y, z, t = (int(found[axis]) for axis in "xyzt")
    return x, y, z, t


def _is_baryon(header: dict[str, str]) -> bool:
    return "baryon_type" in header or len(header.get("MASSES", "").split()) == 3


def _numbers(path: Path, name: str, lines: list[str]) -> np.ndarray:
    """Return the numbers of lines of time, real and imaginary part."""
    try:
        table = np.array([[float(word) for word in line.split()] for line in lines])
    except ValueError:
        raise MeasurementFileError(path, name, expected="lines of numbers", found="others") from None
    if table.ndim != 2 or table.shape[1] != 3 or not np.array_equal(table[:, 0], np.arange(len(table))):
        expected = "lines of time, real and imaginary part, from t = 0 on"
        raise MeasurementFileError(path, name, expected=expected, found=lines[:1])
    return table[:, 1] + 1j * table[:, 2]
