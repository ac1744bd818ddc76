"""This module runs trellis info."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ..gauge.field_files import read_with_report
from ..gauge.fields import GaugeField
from ..gauge.file_report import FileReport
from ..ground.errors import NumericError
from .arguments import parse_lattice
from .output import Output


def info(file: Path, *, lattice: str | None, json: bool) -> int:
    """Print what a gauge file is; the exit status is 0 only if no check failed."""
    output = Output(json)
    U = read_with_report(file, lattice=parse_lattice(lattice), report_only=True)
    report = U.report
    assert report is not None
    notes = list(report.warnings)
    content = describe(report, _loops(U, report, notes.append), notes)
    for note in notes:
        output.warning(f"{file}: {note}")
    for check in report.checksums:
        if check["ok"] is False:
            output.warning(
                f"{file}: checksum {check['kind']}: expected {check['stored']:08x}, found "
                f"{check['computed']:08x}"
            )
    for check in report.values:
        if not check["ok"]:
            output.warning(f"{file}: {check['name']}: expected {check['expected']}, found {check['found']}")
    output.result(content)
    _print(output, file, report, content)
    return 0 if report.ok else 1


def _loops(U: GaugeField, report: FileReport, warn: Callable[[str], None]) -> dict[str, Any]:
    """Return all loops; they are not numbers where a link is too large to sum loops."""
    found: dict[str, Any]
    try:
        found = U.loops()
    except NumericError as error:
        warn(f"plaquettes, rectangle and link trace cannot be computed: {error}")
        names = ("plaquette", "plaquette_spatial", "plaquette_temporal", "rectangle", "link_trace")
        found = dict.fromkeys(names, math.nan)
        found["unitarity_violation"] = next(v["found"] for v in report.values if v["name"] == "unitarity")
        found["polyakov_loop"] = _polyakov_loop(U, "t")
    return found | {"polyakov_loops_spatial": [_polyakov_loop(U, direction) for direction in ("x", "y", "z")]}


def _polyakov_loop(U: GaugeField, direction: Literal["x", "y", "z", "t"]) -> complex:
    try:
        return U.polyakov_loop_along(direction)
    except NumericError:
        return complex(math.nan, math.nan)


def checksums_of(report: FileReport) -> list[dict[str, Any]]:
    """Return a file's checksums for its JSON object; a format without checksums has one entry of nulls."""
    return report.checksums or [{"kind": "none", "stored": None, "computed": None, "ok": None}]


def describe(report: FileReport, loops: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """Return the JSON object of `trellis info`."""
    return {
        "format": report.format,
        "lattice": list(report.lattice),
        "precision_bits": report.precision_bits,
        "plaquette": _finite(loops["plaquette"]),
        "plaquette_spatial": _finite(loops["plaquette_spatial"]),
        "plaquette_temporal": _finite(loops["plaquette_temporal"]),
        "rectangle": _finite(loops["rectangle"]),
        "link_trace": _finite(loops["link_trace"]),
        "polyakov_loop": _pair(loops["polyakov_loop"]),
        "polyakov_loops_spatial": [_pair(loop) for loop in loops["polyakov_loops_spatial"]],
        "unitarity_violation": _finite(loops["unitarity_violation"]),
        "checksums": checksums_of(report),
        "values": [{key: _finite(entry) for key, entry in value.items()} for value in report.values],
        "warnings": warnings,
    }


def _pair(value: complex) -> list[float | None]:
    return [_finite(value.real), _finite(value.imag)]


def _finite(value: Any) -> Any:
    """Return the value, but None for a number that is not finite, since JSON has no such numbers."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _print(output: Output, file: Path, report: FileReport, content: dict[str, Any]) -> None:
    output.line(f"{file}", style="bold")
    extents = "x".join(map(str, report.lattice))
    output.line(f"  {report.format}, {extents}, {report.precision_bits}-bit numbers")
    names = ("plaquette", "plaquette_spatial", "plaquette_temporal", "rectangle", "link_trace")
    for name in (*names, "unitarity_violation"):
        output.line(f"  {name:<20} {_number(content[name])}")
    spatial = zip("xyz", content["polyakov_loops_spatial"], strict=True)
    for name, loop in (
        ("", content["polyakov_loop"]),
        *((f"_{direction}", loop) for direction, loop in spatial),
    ):
        real, imaginary = map(_number, loop)
        sign, size = ("-" if imaginary < 0 else "+"), abs(imaginary)
        output.line(f"  {'polyakov_loop' + name:<20} {real} {sign} {size} i")
    for check in report.checksums:
        stored = "not in the file" if check["stored"] is None else f"stored {check['stored']:08x}"
        _check(output, check["kind"], check["ok"], f"computed {check['computed']:08x}, {stored}")
    if not report.checksums:
        _check(output, "checksum", None, "the format has none")
    for check in report.values:
        text = f"found {check['found']:.15g}, expected {check['expected']:.15g} +- {check['tolerance']:.1e}"
        _check(output, check["name"], check["ok"], text)


def _check(output: Output, name: str, ok: bool | None, text: str) -> None:
    verdict, style = {True: ("ok", None), False: ("WRONG", "bold red"), None: ("-", "yellow")}[ok]
    output.line(f"  {name:<20} {verdict:<6} {text}", style=style)
