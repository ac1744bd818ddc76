"""This module runs trellis convert."""

from __future__ import annotations

from pathlib import Path

from ..gauge.field_files import read_with_report
from ..ground.arguments import choice
from ..ground.errors import BadArgument
from .arguments import parse_lattice
from .info import checksums_of
from .output import Output


def convert(
    source: Path,
    target: Path,
    *,
    format: str,
    precision: int | None,
    lattice: str | None,
    json: bool,
    byte_order: str = "big",
    logical_file_name: str = "",
    ensemble_id: str = "",
    ensemble_label: str = "",
) -> int:
    """Read, check, write in another format."""
    output = Output(json)
    if precision not in (None, 32, 64):
        raise BadArgument(f"--precision: expected 32 or 64, found {precision}")
    order = choice("--byte-order", byte_order, "big", "little")
    U = read_with_report(source, lattice=parse_lattice(lattice))
    assert U.report is not None
    for warning in U.report.warnings:
        output.warning(f"{source}: {warning}")
    U.write(
        target,
        format,
        precision=precision,
        byte_order="little" if order == "little" else "big",
        logical_file_name=logical_file_name,
        ensemble_id=ensemble_id,
        ensemble_label=ensemble_label,
    )
    extents = "x".join(map(str, U.geometry.extents))
    output.line(f"{source} ({U.report.format}, {extents}) -> {target} ({format})")
    output.result(
        {
            "input": {"file": str(source), "format": U.report.format, "checksums": checksums_of(U.report)},
            "output": {"file": str(target), "format": format},
            "lattice": list(U.geometry.extents),
            "warnings": U.report.warnings,
        }
    )
    return 0
