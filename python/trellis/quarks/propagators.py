"""This module has quark propagators."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..gauge.fields import GaugeField, require_device
from ..gauge.geometry import Geometry, in_four_directions
from ..ground.arguments import complex_array, instance, integer, integers, phases, real
from ..ground.compiled_core import load
from ..ground.copies_and_pickles import SharedByCopies, array_of
from ..ground.errors import BadArgument
from ..ground.operator_records import NEEDS_GAMMA5_HERMITICITY, OperatorRecord
from ..ground.solve_report import SolveReport
from .propagator_output import write_propagator
from .sources import MOST_WIDTH, warn_if_amplifying

if TYPE_CHECKING:
    from .. import _core


class PropagatorBase(SharedByCopies, ABC):
    """This is the base class of the propagators of quarks with spin and of staggered ones."""

    _instead = "write them to files (S.write), which trellis reads again"
    _core: Any
    #: This word stands for the propagator in HDF5 files.
    _file_kind = "propagator"
    #: Hops of Gaussian smearing lead over so many sites.
    _smearing_hop = 1
    report: SolveReport | None
    operator: OperatorRecord | None
    is_sink_smeared: bool

    @cached_property
    def geometry(self) -> Geometry:
        """Return the lattice."""
        return Geometry._of(self._core.lattice)

    @property
    def device(self) -> str:
        """Return the device on which the propagator lies: "cpu" or "cuda"."""
        found: str = self._core.device
        return found

    @property
    def source_at(self) -> tuple[int, int, int, int]:
        """Return x, y, z, t from which times and momenta count."""
        return in_four_directions(self._core.source_at)

    @property
    def boundary(self) -> tuple[complex, complex, complex, complex]:
        """Return the fermion boundary phases in x, y, z, t."""
        return in_four_directions(self._core.boundary)

    def to_numpy(self) -> NDArray[np.complex128]:
        """Return a copy of this rank's part."""
        found: NDArray[np.complex128] = self._core.to_numpy()
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return array_of(self.to_numpy(), type(self).__name__, dtype, copy)

    def to(self, device: str) -> Self:
        """Return the propagator on another device; contractions take propagators of one device.

        Parameters
        ----------
        device
            "cpu" or "cuda".

        Raises
        ------
        NotAvailable
            The build has no CUDA, or no GPU can be used.
        BadArgument
            Another device.
        """
        require_device(device)
        return self if device == self.device else self._moved(device)

    @classmethod
    def from_numpy(
        cls, values: ArrayLike, geometry: Geometry, *, source_at: Sequence[int], boundary: Sequence[complex]
    ) -> Self:
        """Return a propagator from an array (copied).

        Parameters
        ----------
        values
            complex, of the shape of :meth:`to_numpy`; this rank's part.
        geometry
            The lattice.
        source_at
            x, y, z, t from which times and momenta count.
        boundary
            Fermion boundary phases in x, y, z, t; baryons take the one in t out.

        Raises
        ------
        BadArgument
            Another shape, no numbers, a site outside the lattice, a phase that is none.
        """
        lattice = instance("geometry", geometry, Geometry)
        at, numbers = site_of(lattice, source_at), complex_array("values", values)
        return cls._of_numbers(lattice._core, numbers, at, phases(boundary))

    def smear_sink(self, U: GaugeField, *, width: float, steps: int) -> Self:
        """Return the propagator with the sink smeared on every time slice; see :func:`gaussian_source`.

        Collective.

        Parameters
        ----------
        U
            Links that the smearing sees, on the propagator's lattice.
        width, steps
            Lattice units; at least 1 step, and a warning below 3 width^2 / 2 of them (staggered quarks, whose
            smearing has hops over two sites: 3 width^2 / 8).

        Raises
        ------
        BadArgument
            Links of another lattice, a width below 0 or above 1e6, no step.
        """
        width, steps = real("width", width, least=0, most=MOST_WIDTH), integer("steps", steps)
        links = instance("U", U, GaugeField)._core
        warn_if_amplifying(width, steps, hop=self._smearing_hop)
        return self._smeared(links, width, steps)

    def write(
        self,
        path: str | os.PathLike,
        format: Literal["hdf5", "scidac"] | None = None,
        *,
        precision: Literal[32, 64] = 64,
        run_file: str = "",
    ) -> None:
        """Write to a file under a temporary name, and rename it. Collective.

        A propagator of norm 0 gives a UserWarning.

        Parameters
        ----------
        path
            The file; an older one of that name is replaced once the new one is whole.
        format
            "hdf5": dataset /propagator of the shape of :meth:`to_numpy`, with provenance, and /midpoint where
            there is one; "scidac": LIME file. That of a quark with spin is as Chroma writes it and has one
            propagator: write ``S.midpoint`` to a file of its own, and set it on what is read. That of a
            staggered quark has three colour vectors, each behind that of its source where `source` is known,
            as MILC writes them (doc/formats.md). None: "scidac" for names that end in .lime or .scidac,
            "hdf5" for all others.
        precision
            Bits of a number. Both formats hold checksums and the norm.
        run_file
            Text for the provenance.

        Raises
        ------
        FileError
            The file cannot be written; an older file of that name is left alone.
        BadArgument
            Another precision, or a number that is not finite in it.
        """
        write_propagator(self, path, format, precision=precision, run_file=run_file)

    def _require_point_sink(self, name: str) -> None:
        """Raise BadArgument where the sink is known to be smeared."""
        if self.is_sink_smeared:
            raise BadArgument(
                f"{name}: expected a propagator as it was solved, found one with a smeared sink; hand over "
                "the one that smear_sink() was called on"
            )

    @classmethod
    @abstractmethod
    def _of_numbers(
        cls, lattice: _core.Lattice, values: NDArray[np.complex128], at: list[int], boundary: list[complex]
    ) -> Self:
        """Return the propagator with these numbers; `at` is the place of the source."""

    @abstractmethod
    def _moved(self, device: str) -> Self:
        """Return the propagator on a device that it is not on."""

    @abstractmethod
    def _smeared(self, links: _core.GaugeField, width: float, steps: int) -> Self:
        """Return the propagator with a smeared sink. Collective."""

    @abstractmethod
    def _norm2(self) -> float:
        """Return the sum of the squares of all numbers. Collective."""

    @abstractmethod
    def _write_scidac(self, path: str, precision: int, note: str) -> None:
        """Write a LIME file with this text about the propagator. Collective."""

    def __repr__(self) -> str:
        extents = "x".join(map(str, self.geometry.extents))
        return f"<{type(self).__name__} {extents} from {self.source_at}>"


class Propagator(PropagatorBase):
    """This is S = M^-1 source, with its report.

    ``np.asarray(S)`` is :meth:`to_numpy`. Nothing changes the numbers of a propagator, and copies share them.

    Attributes
    ----------
    report : SolveReport or None
        It says what the solves did; None if it was read or made from an array.
    midpoint : Propagator or None
        Domain-wall fermions with an even Ls: the quark of the middle of the fifth dimension, for m_res.
    axial_current : ndarray or None
        Domain-wall fermions, where asked for: A_4(t) of the partially conserved axial current between t and
        t + 1 with the source's pion, shape [time], time from the source.
    fields : object or None
        Domain-wall fermions, where ``keep_fields`` asked for them: the 5-D solutions, for
        :func:`conserved_current_propagator` and as a guess of further solves.
    operator : object or None
        Name, parameters and plaquette of the operator that it was solved with; None if it was made from an
        array, or read from a file that does not say.
    is_sink_smeared : bool
        It is true if the sink has been smeared (:meth:`smear_sink`): it is no M^-1 source any more.
    """

    _instead = "write them to files (S.write), which tr.read_propagator reads"

    def __init__(
        self,
        core: _core.Propagator,
        report: SolveReport | None = None,
        midpoint: _core.Propagator | None = None,
        fields: _core.DomainWallFields | None = None,
        operator: OperatorRecord | None = None,
        is_sink_smeared: bool = False,
    ) -> None:
        self._core = core
        self.report = report
        self.fields = fields
        self.operator = operator
        self.is_sink_smeared = is_sink_smeared
        self.midpoint: Propagator | None = None
        if midpoint is not None:
            self.midpoint = Propagator(midpoint, report, operator=operator)
        self.axial_current: NDArray[np.float64] | None = None

    def to_numpy(self) -> NDArray[np.complex128]:
        """Return a copy of this rank's part: [t, z, y, x, spin sink, spin source, colour sink, colour
        source].

        The spin basis is that of DeGrand and Rossi.
        """
        return super().to_numpy()

    @classmethod
    def _of_numbers(
        cls, lattice: _core.Lattice, values: NDArray[np.complex128], at: list[int], boundary: list[complex]
    ) -> Propagator:
        return cls(load().Propagator.from_numpy(lattice, values, at, boundary))

    def _moved(self, device: str) -> Propagator:
        moved = Propagator(
            self._core.on(device),
            self.report,
            operator=self.operator,
            is_sink_smeared=self.is_sink_smeared,
        )
        if self.midpoint is not None:
            moved.midpoint = self.midpoint.to(device)
        moved.axial_current = self.axial_current
        return moved

    def _smeared(self, links: _core.GaugeField, width: float, steps: int) -> Propagator:
        smeared = load().sink_smeared(self._core, links, width, steps)
        return Propagator(smeared, self.report, operator=self.operator, is_sink_smeared=True)

    def _norm2(self) -> float:
        return float(np.asarray(load().propagator_norm(self._core)).sum())

    def _write_scidac(self, path: str, precision: int, note: str) -> None:
        self._core.write_scidac(path, precision, note)


def site_of(geometry: Geometry, at: Sequence[int]) -> list[int]:
    """Return x, y, z, t of a source; raise BadArgument if it lies outside the lattice."""
    site = integers("source_at", at, 4)
    if any(not 0 <= x < extent for x, extent in zip(site, geometry.extents, strict=True)):
        raise BadArgument(f"source_at {tuple(site)} lies outside the lattice {geometry.extents}")
    return site


def require_conjugate(S: Propagator, other: Propagator | None) -> bool:
    """Return True if a twisted mass makes gamma5 S^dagger gamma5 the other quark; False if it is S itself.

    Any other pair raises BadArgument. Propagators from arrays and other programs' files are not checked, for
    their operator is not known.
    """
    if S.operator is None or (other is not None and other.operator is None):
        return False
    operator = S.operator if other is None else instance("down", other, Propagator).operator
    assert operator is not None
    if S.operator.is_gamma5_hermitian and operator.is_gamma5_hermitian:
        return False
    adjoint = S.operator.adjoint
    if adjoint is None or (difference := operator.difference(adjoint)):
        found = f" with {difference}" if adjoint is not None and other is not None else ""
        raise BadArgument(f"{NEEDS_GAMMA5_HERMITICITY}; found a propagator of {operator}{found}")
    return True
