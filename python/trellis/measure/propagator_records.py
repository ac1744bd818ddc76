"""This module has the record of a stored propagator, which names the measurement that it belongs to.

A run compares it with its own. The text stands in the file (doc/formats.md): CRC-32, then JSON with operator,
links, source, place, configuration and the report of the solve. The reader of the file's numbers compares
their checksum and norm.
"""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from dataclasses import dataclass
from typing import Any

from ..gauge.fields import GaugeField
from ..ground.errors import FileError
from ..ground.operator_records import OperatorRecord
from ..ground.solve_report import SolveReport
from ..ground.version import run_file_language
from ..run_files import MeasureRun
from ..run_files.earlier import translate_record
from ..run_files.smearing import SmearingTable
from ..runs.changed_keys import differing_keys
from .inputs import Content
from .sources import staggered_sites


@dataclass(frozen=True)
class PropagatorRecord:
    """This is the record of one propagator.

    Attributes
    ----------
    operator
        The operator's record, with the plaquette of the links that it sees.
    tables
        The keys of the run file that decide links and source.
    at
        x, y, z, t of the source.
    content
        Checksums and plaquette of the configuration.
    solver
        The tables [solver] and [deflation] of the run file; only the tolerance has to suit.
    bits
        The fewest bits of a number in any file that the numbers went through.
    report
        The report of the solve.
    axial_current
        conserved_axial over time, if the run asked for it.
    """

    operator: OperatorRecord
    tables: dict[str, Any]
    at: list[int]
    content: Content
    solver: dict[str, Any]
    bits: int
    report: SolveReport
    axial_current: list[float] | None = None

    def to_text(self) -> str:
        """Return the text that stands in a file."""
        content = dataclasses.asdict(self) | {"operator": self.operator.to_text()}
        content["run_file_language"] = run_file_language
        text = json.dumps(content, sort_keys=True).replace("<", "\\u003c").replace("&", "\\u0026")
        return f"{zlib.crc32(text.encode()):08x} {text}"

    @classmethod
    def from_text(cls, text: str, path: str) -> PropagatorRecord:
        """Read the text that :meth:`to_text` wrote.

        Parameters
        ----------
        path
            The file's name, for messages.

        Raises
        ------
        FileError
            The text is damaged, or no record.
        """
        stored, _, json_text = text.partition(" ")
        computed = f"{zlib.crc32(json_text.encode()):08x}"
        if stored != computed:
            raise FileError(
                f"{path}: what it says of its measurement is damaged: expected CRC-32 {stored[:8]!r}, "
                f"found {computed!r}"
            )
        try:
            content = json.loads(json_text)
            content["tables"] = translate_record(content["tables"], content.pop("run_file_language", 1))
            report = content["report"]
            report["relative_residuals"] = tuple(report["relative_residuals"])
            return cls(
                **content
                | {
                    "operator": OperatorRecord.from_text(content["operator"]),
                    "content": Content(**content["content"]),
                    "report": SolveReport(**report),
                }
            )
        except (ValueError, TypeError, KeyError) as error:
            raise FileError(
                f"{path}: what it says of its measurement is of another version: {error!r}"
            ) from None

    def differences(self, expected: PropagatorRecord, U: GaugeField, *, same_solver: bool) -> list[str]:
        """Name the differences from the expected record, each with both values. Collective.

        Parameters
        ----------
        U
            The configuration.
        same_solver
            True if it has to come from the same solver; else its tolerance has to be as small.
        """
        found = []
        if content := self.content.difference(U):
            found.append(f"configuration: {content}")
        changed = differing_keys(
            expected.tables | {"source.at": expected.at}, self.tables | {"source.at": self.at}
        )
        if same_solver:
            changed += differing_keys(expected.solver, self.solver)
        found += [f"{c['key']}: expected {_shown(c['before'])}, found {_shown(c['now'])}" for c in changed]
        if operator := self.operator.difference(expected.operator):
            found.append(f"fermion: expected {expected.operator}, found {operator}")
        limit, tolerance = expected.solver["solver"]["tolerance"], self.solver["solver"]["tolerance"]
        if not same_solver and not tolerance <= limit:
            found.append(f"solver.tolerance: expected at most {limit:g}, found {tolerance:g}")
        if expected.axial_current is not None and self.axial_current is None:
            found.append("correlators.conserved_axial: expected True, found False")
        return found


def expected_record(
    run: MeasureRun,
    number: int,
    *,
    operator: OperatorRecord,
    at: tuple[int, ...],
    content: Content,
    report: SolveReport,
    axial_current: list[float] | None = None,
) -> PropagatorRecord:
    """Return the record that a propagator of this run has in double precision.

    Parameters
    ----------
    number
        The number of the configuration.
    """
    tables = {"smearing": _links(run.smearing), "source": _source(run, number)}
    solver = {
        "solver": run.solver.model_dump(mode="json"),
        "deflation": None if run.deflation is None else run.deflation.model_dump(mode="json"),
    }
    return PropagatorRecord(operator, tables, list(at), content, solver, 64, report, axial_current)


def _links(table: SmearingTable) -> dict[str, Any]:
    """Return the smearing of links as JSON values."""
    return table.model_dump(mode="json", exclude_none=True)


def _source(run: MeasureRun, number: int) -> dict[str, Any]:
    """Return the keys that change the source; noise depends on the configuration's number, too."""
    source = run.source
    table: dict[str, Any] = {"type": source.type}
    if source.is_gaussian:
        table |= {"width": source.width, "steps": source.steps}
        table["links"] = _links(run.smearing if source.links is None else source.links)
    if source.momentum is not None:
        table["momentum"] = list(source.momentum)
    if run.staggered_quark is not None and source.is_slice:
        table["sites"] = staggered_sites(source)
    if source.is_noise:
        table |= {"noise": source.noise or "z4", "noise_seed": source.noise_seed, "index": source.index or 0}
        table["configuration"] = number
    return table


def _shown(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value!r}"
    return "nothing" if value is None else repr(value)
