"""This module has propagators of a measurement in files: they are stored, and taken from files instead of
solved for.

``propagator.NNNNNN.I.h5`` (or ``.lime``) is that of the up quark from source I of configuration NNNNNN. Each
says what it is (:mod:`propagator_records`); one that is not what a run needs ends the run.
"""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..gauge.fields import GaugeField
from ..ground.compiled_core import load
from ..ground.errors import BadArgument, ChecksumError, FileError
from ..ground.operator_records import OperatorRecord
from ..ground.parallel import on_root
from ..ground.solve_report import SolveReport
from ..quarks.propagator_files import read_propagator, read_scidac_propagator
from ..quarks.propagator_input import measurement_text
from ..quarks.propagator_output import write_propagator
from ..quarks.propagators import Propagator
from ..quarks.sources import Source
from ..run_files import MeasureRun
from ..run_files.stored import StoredPropagatorsTable
from ..solve.bound import BoundSolver
from .inputs import Content
from .propagator_records import PropagatorRecord, expected_record

_SUFFIXES = {"hdf5": ".h5", "lime": ".lime"}
#: The record that is expected of a file has this report; it is not compared.
_NO_REPORT = SolveReport("", 0, (), True, "", 0.0, 0.0, 0.0)


def propagator_file(folder: Path, flavour: str, number: int, index: int, format: str) -> Path:
    """Return the path of a flavour's propagator; configuration and source have these numbers."""
    name = "propagator" if flavour == "up" else f"propagator_{flavour}"
    return folder / f"{name}.{number:06d}.{index}{_SUFFIXES[format]}"


def has_propagators(folder: Path, run: MeasureRun, number: int) -> bool:
    """Return True if a run that was interrupted left propagators of this configuration. One rank calls
    this."""
    if not run.output.propagators:
        return False
    suffix = _SUFFIXES[run.output.propagator_format]
    return any(folder.glob(f"propagator.{number:06d}.*{suffix}"))


class StoredPropagators(ABC):
    """This is the base class of what stores the propagators of one configuration and takes them from files.

    Parameters
    ----------
    text
        The run file, for the provenance of what is stored.
    number, U
        The configuration.
    folder
        The run's own folder.
    resume
        True if an earlier run may have left propagators in `folder`.
    warn
        It is called with warnings for the user.
    """

    def __init__(
        self,
        run: MeasureRun,
        text: str,
        number: int,
        U: GaugeField,
        folder: Path,
        *,
        resume: bool,
        warn: Callable[[str], None],
    ) -> None:
        self._run, self._text, self._number, self._folder = run, text, number, folder
        self._U, self._content, self._warn = U, Content.of(U), warn
        # Propagators of 32 bits do not have the numbers of a run which is not interrupted.
        self._takes_own = resume and run.output.propagators and run.output.propagator_bits == 64
        self.stored = 0  #: so many files were written of the source in hand

    def _own_file(self, flavour: str, index: int) -> Path:
        format = self._run.output.propagator_format
        return propagator_file(self._folder, flavour, self._number, index, format)

    def _expected_of(
        self, operator: OperatorRecord, source: Source, axial_current: list[float] | None = None
    ) -> PropagatorRecord:
        """Return the record that is expected of a file, whose report is not compared."""
        return expected_record(
            self._run,
            self._number,
            operator=operator,
            at=source.at,
            content=self._content,
            report=_NO_REPORT,
            axial_current=axial_current,
        )

    def _stored(
        self,
        flavour: str,
        index: int,
        source: Source,
        expected: PropagatorRecord,
        require_own: Callable[[Any], None],
        *,
        takes_own: bool = True,
    ) -> tuple[Any, Any]:
        """Return the stored propagator, and the guess of its solve; None where there is none. Collective.

        Parameters
        ----------
        require_own
            Raises BadArgument for a propagator of another operator.
        takes_own
            False if a file of the run's own folder lacks what the run needs.
        """
        own = self._own_file(flavour, index)
        if self._takes_own and takes_own and on_root(own.exists):
            S = self._read_own(own, expected, source, require_own)
            if S is not None:
                return S, None
        table = self._run.stored_propagators
        path = None if table is None else self._find(table, flavour, index)
        if path is None or table is None:
            return None, None
        if table.use == "guess":
            return None, self._read(path, source, "move it away")
        S, record = self._of_earlier_run(path, expected, source, require_own)
        if path.resolve() != own.resolve():
            self._save(S, own, record)
        return S, None

    def _find(self, table: StoredPropagatorsTable, flavour: str, index: int) -> Path | None:
        """Return the file in the folder of stored propagators. Collective."""
        folder = Path(table.directory)
        names = [propagator_file(folder, flavour, self._number, index, format) for format in _SUFFIXES]
        found = on_root(lambda: [path for path in names if path.exists()])
        key = "stored_propagators.directory"
        if len(found) > 1:
            raise BadArgument(f"{key}: {found[0]} and {found[1]} are both there: move one of them away")
        if not found and table.missing == "error":
            raise BadArgument(
                f"{key}: expected {' or '.join(map(str, names))}, found neither; "
                'stored_propagators.missing = "solve" solves for what is missing'
            )
        return found[0] if found else None

    def _of_earlier_run(
        self, path: Path, expected: PropagatorRecord, source: Source, require_own: Callable[[Any], None]
    ) -> tuple[Any, PropagatorRecord]:
        """Read a propagator of [stored_propagators], and its record. Collective."""
        record = self._record(path)
        if record is None:
            raise FileError(
                f"{path}: expected a propagator that trellis measure stored, found one that does not say of "
                'which configuration and source it is; it may be a guess (stored_propagators.use = "guess")'
            )
        way = "choose another stored_propagators.directory, or solve for it"
        self._require(record, expected, path, way, same_solver=False)
        S = self._solution(path, record, source, require_own, "move it away")
        if record.bits < 64:
            self._warn(f"{path} has {record.bits} bits: its correlators have relative errors of about 1e-7")
        return S, record

    def _read_own(
        self, path: Path, expected: PropagatorRecord, source: Source, require_own: Callable[[Any], None]
    ) -> Any:
        """Read a propagator of the run that is resumed; None if an old version wrote it without a record."""
        way = "move it away, and --resume solves for it again"
        try:
            record = self._record(path)
        except FileError as error:
            raise type(error)(f"{error}; {way}") from error
        if record is None:
            return None
        self._require(record, expected, path, f"{way}, or choose another folder", same_solver=True)
        return None if record.bits < 64 else self._solution(path, record, source, require_own, way)

    def _record(self, path: Path) -> PropagatorRecord | None:
        try:
            text = measurement_text(str(path))
        except FileError as error:
            raise type(error)(_named(error, path)) from error
        return PropagatorRecord.from_text(text, str(path)) if text else None

    def _require(
        self,
        record: PropagatorRecord,
        expected: PropagatorRecord,
        path: Path,
        way: str,
        *,
        same_solver: bool,
    ) -> None:
        differences = record.differences(expected, self._U, same_solver=same_solver)
        if differences:
            raise BadArgument(
                f"{path}: not the propagator that this run needs: {'; '.join(differences)}; {way}"
            )

    def _solution(
        self,
        path: Path,
        record: PropagatorRecord,
        source: Source,
        require_own: Callable[[Any], None],
        way: str,
    ) -> Any:
        """Return the propagator from its numbers, with what the record says of them. Collective."""
        S = self._read(path, source, way)
        try:
            require_own(S)
        except BadArgument as error:
            raise BadArgument(f"{path}: {error}") from error
        S.report = record.report
        self._complete(S, path, record, source, way)
        return S

    @abstractmethod
    def _complete(self, S: Any, path: Path, record: PropagatorRecord, source: Source, way: str) -> None:
        """Add what the numbers alone do not have. Collective."""

    @abstractmethod
    def _read_numbers(self, path: Path, source: Source) -> Any:
        """Read the propagator of a file. Collective."""

    def _read(self, path: Path, source: Source, way: str) -> Any:
        """Read the numbers; checksum and norm have to be there and right. Collective."""
        lattice = self._U.geometry
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if path.suffix != ".lime":
                    _require_lattice(path, lattice.extents)
                S = self._read_numbers(path, source)
            except FileError as error:
                raise type(error)(f"{_named(error, path)}; {way}") from error
        # Rank 0 alone is warned of one format; what Python's own library warns of is no matter of the file.
        notes = on_root(lambda: [str(w.message) for w in caught if w.category is UserWarning])
        if notes:
            raise ChecksumError(f"{_named(notes[0], path)}: expected it, as trellis measure writes it; {way}")
        if S.source_at != tuple(source.at):
            raise BadArgument(f"{path}: expected a source at {source.at}, found one at {S.source_at}; {way}")
        return S

    def _save(self, S: Any, path: Path, record: PropagatorRecord) -> None:
        """Save midpoints of LIME files first: who finds a propagator finds its midpoint. Collective."""
        output = self._run.output
        if not output.propagators:
            return
        bits = output.propagator_bits
        text = on_root(lambda: dataclasses.replace(record, bits=min(bits, record.bits)).to_text())
        options: dict[str, Any] = {"precision": bits, "run_file": self._text, "measurement": text}
        if output.propagator_format == "lime":
            midpoint = getattr(S, "midpoint", None)
            if midpoint is not None:
                write_propagator(midpoint, _midpoint_file(path), "scidac", **options)
            write_propagator(S, path, "scidac", **options)
        else:
            write_propagator(S, path, "hdf5", **options)
        self.stored += 1


class ConfigurationPropagators(StoredPropagators):
    """These are the propagators of quarks with spin: they are read if they are stored, and else solved
    for."""

    def get(
        self,
        flavour: str,
        index: int,
        source: Source,
        solve: BoundSolver,
        *,
        keep_fields: bool,
        before_solve: Callable[[], None],
    ) -> tuple[Propagator, bool]:
        """Return the propagator, and True if it was read. Collective.

        A propagator that was solved for is stored if the run file asks for it.

        Parameters
        ----------
        index
            The number of the source among those of the configuration.
        keep_fields
            True if the 5-D solution is needed, which no file has.
        """
        has_axial = flavour == "up" and self._run.correlators.conserved_axial
        expected = self._expected_of(solve.operator._record, source, [] if has_axial else None)
        read, guess = self._stored(
            flavour, index, source, expected, solve._require_own, takes_own=not keep_fields
        )
        if read is not None:
            return read, True
        before_solve()
        S = solve.propagator(source, axial_current=has_axial, keep_fields=keep_fields, guess=guess)
        assert S.report is not None
        axial = None if S.axial_current is None else [float(x) for x in S.axial_current]
        self._save(
            S,
            self._own_file(flavour, index),
            dataclasses.replace(expected, report=S.report, axial_current=axial),
        )
        return S, False

    def _read_numbers(self, path: Path, source: Source) -> Propagator:
        lattice = self._U.geometry
        if path.suffix == ".lime":
            return read_scidac_propagator(path, lattice, source_at=source.at)
        return read_propagator(path, grid=lattice.grid)

    def _complete(
        self, S: Propagator, path: Path, record: PropagatorRecord, source: Source, way: str
    ) -> None:
        """Add the midpoint of domain walls and the axial current."""
        fermion = self._run.fermion
        if fermion is not None and fermion.has_midpoint:
            S.midpoint = S.midpoint or self._midpoint(path, record, source, way)
        if record.axial_current is not None:
            S.axial_current = np.array(record.axial_current)

    def _midpoint(self, path: Path, record: PropagatorRecord, source: Source, way: str) -> Propagator:
        """Read the midpoint of a LIME file, which has a file of its own."""
        own = _midpoint_file(path)
        if path.suffix != ".lime" or not on_root(own.exists):
            raise FileError(f"{path}: expected its midpoint too, for m_res, in {own}; found none; {way}")
        of_midpoint = self._record(own)
        same = dataclasses.replace(record, report=_NO_REPORT)
        if of_midpoint is None or dataclasses.replace(of_midpoint, report=_NO_REPORT) != same:
            raise BadArgument(f"{own}: expected the midpoint of {path}, found another propagator; {way}")
        midpoint: Propagator = self._read(own, source, way)
        return midpoint


def _midpoint_file(path: Path) -> Path:
    return path.with_suffix(".midpoint.lime")


def _require_lattice(path: Path, extents: tuple[int, ...]) -> None:
    root = load().Hdf5File.open(str(path)).root()
    found = root.integers("lattice") if root.has_attribute("lattice") else None
    if found is None or tuple(found) != tuple(extents):
        raise FileError(f"{path}: expected the lattice {list(extents)}, found {found}")


def _named(error: object, path: Path) -> str:
    """Return a message that names the file."""
    said = str(error)
    return said if str(path) in said else f"{path}: {said}"
