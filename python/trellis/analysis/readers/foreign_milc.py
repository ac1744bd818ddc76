"""This module reads MILC's text of correlators of staggered quarks, which its ks_spectrum writes.

It takes standard output and correlator files. Standard output has blocks STARTPROP ... ENDPROP with MOMENTUM,
MASSES, SOURCE, SINKOPS and SINKS; files have headers between --- and ... with correlator, momentum,
spin_taste_sink and correlator_key. Then come lines of time, real part and imaginary part.

Conventions are those of ks_spectrum/spectrum_ks.c: times count from the source by the offset r_offset,
baryons have the antiperiodic sign taken away, and momenta are named p000, p110 and so on. Several blocks
with one key in a file, or several files of a configuration, are sources.

Correlators of staggered quarks have states of the opposite parity with the sign (-1)^t in every channel but
that of the pion with spin-taste G5-G5 (pion5); fits get the term for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..records.errors import MeasurementFileError
from ..records.foreign_options import ForeignOptions
from .foreign_entries import Entry, Momentum

_MOMENTUM = re.compile(r"p(-?\d)(-?\d)(-?\d)$")
_KEY = re.compile(r"([A-Za-z_0-9]+):\s*(.*)")
_WITHOUT_PARTNER = ("pion5", "g5-g5", "g5xg5")
_HEADER_WORDS = ("MOMENTUM", "MASSES", "SOURCE", "SINKOPS", "SINKS", "CHARGES")


def read_milc(path: Path, number: int, options: ForeignOptions, stream: str) -> Iterator[Entry]:
    """Read all correlators of a file of one configuration.

    Raises
    ------
    MeasurementFileError
        There are no correlators, or lines of times do not fit.
    """
    text = path.read_text(errors="replace")
    blocks = _of_output(path, text) if "STARTPROP" in text else _of_files(path, text)
    count = 0
    for header, lines in blocks:
        count += 1
        name, momentum, taste = _identity(path, header)
        is_baryon = _is_baryon(header)
        attributes: dict = {"type": "baryon" if is_baryon else "meson", "particle": name, "layout": "milc"}
        attributes["boundary_t"] = options.boundary_t
        if taste.lower() not in _WITHOUT_PARTNER:
            attributes["partner"] = "opposite parity"
        yield Entry(path, number, name, _numbers(path, name, lines), attributes, momentum, stream)
    if not count:
        expected = "blocks STARTPROP, or headers with correlator between --- and ..."
        raise MeasurementFileError(path, "content", expected=expected, found="none")


def _of_output(path: Path, text: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the blocks of standard output."""
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
        key = "_".join([label, *(f"m{mass}" for mass in masses)])
    return re.sub(r"[^\w.+-]", "_", key), (x, y, z), header.get("spin_taste_sink", label).strip()


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
