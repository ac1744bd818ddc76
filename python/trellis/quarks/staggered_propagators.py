"""Propagators of staggered quarks: three columns of colour vectors, one for each colour of the source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..gauge.fields import GaugeField, require_device
from ..gauge.geometry import Geometry
from ..ground.arguments import complex_array, instance, integer, phases, real
from ..ground.compiled_core import load
from ..ground.operator_records import OperatorRecord
from ..ground.solve_report import SolveReport
from .propagator_metadata import STAGGERED_KIND
from .propagator_output import write_propagator
from .propagators import PropagatorBase, site_of
from .scidac_propagator_records import STAGGERED_RECORD
from .sources import MOST_WIDTH, Source, warn_if_amplifying

if TYPE_CHECKING:
    from .. import _core

_COLOURS = 3
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
#: QIO's name of files with a colour vector of the source in front of each of the solution.
_PAIRS = "USQCD_ColorVector_Source_Sink_Pairs"


class StaggeredPropagator(PropagatorBase):
    """S = M^-1 source of a staggered quark, with its report.

    ``np.asarray(S)`` is :meth:`to_numpy`. Nothing changes the numbers of a propagator, and copies share them.

    Attributes
    ----------
    report : SolveReport or None
        What the solve did; of a solve for several masses with the residuals of this one. None if it was read
        or made from an array.
    operator : object or None
        Name, parameters and plaquette of the operator that it was solved with; None if it was made from an
        array, or read from a file that does not say.
    source : Source or None
        The source that it was solved for, which SciDAC files keep; None if it is not known.
    is_sink_smeared : bool
        True if the sink has been smeared (:meth:`smear_sink`): it is no M^-1 source any more.
    """

    _instead = "write them to files (S.write), which tr.read_staggered_propagator reads"
    _file_kind = STAGGERED_KIND

    def __init__(
        self,
        core: _core.StaggeredPropagator,
        report: SolveReport | None = None,
        operator: OperatorRecord | None = None,
        source: Source | None = None,
        is_sink_smeared: bool = False,
    ) -> None:
        self._core = core
        self.report = report
        self.operator = operator
        self.source = source
        self.is_sink_smeared = is_sink_smeared

    def to(self, device: str) -> StaggeredPropagator:
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
        if device == self.device:
            return self
        moved = self.__copy__()
        moved._core = self._core.on(device)
        return moved

    def to_numpy(self) -> NDArray[np.complex128]:
        """This rank's part: [t, z, y, x, colour sink, colour source]; a copy."""
        return super().to_numpy()

    @classmethod
    def from_numpy(
        cls, values: ArrayLike, geometry: Geometry, *, source_at: Sequence[int], boundary: Sequence[complex]
    ) -> StaggeredPropagator:
        """A propagator from an array (copied).

        Parameters
        ----------
        values
            complex, of the shape of :meth:`to_numpy`; this rank's part.
        geometry
            The lattice.
        source_at
            x, y, z, t from which times and momenta count.
        boundary
            Fermion boundary phases in x, y, z, t.

        Raises
        ------
        BadArgument
            Another shape, no numbers, a site outside the lattice, a phase that is none.
        """
        lattice = instance("geometry", geometry, Geometry)
        at, values = site_of(lattice, source_at), complex_array("values", values)
        core = load().StaggeredPropagator.from_numpy(lattice._core, values, at, phases(boundary))
        return cls(core)

    def smear_sink(self, U: GaugeField, *, width: float, steps: int) -> StaggeredPropagator:
        """The sink smeared by two hops on every time slice; see :func:`gaussian_source`. Collective.

        Parameters
        ----------
        U
            Links that the smearing sees, on the propagator's lattice.
        width, steps
            Lattice units; at least 1 step, and a warning below 3 width^2 / 8 of them.

        Raises
        ------
        BadArgument
            Links of another lattice, a width below 0 or above 1e6, no step.
        """
        width, steps = real("width", width, least=0, most=MOST_WIDTH), integer("steps", steps)
        links = instance("U", U, GaugeField)._core
        warn_if_amplifying(width, steps, hop=2)
        smeared = self.__copy__()
        smeared._core, smeared.is_sink_smeared = self._core.smeared(links, width, steps), True
        return smeared

    def write(
        self,
        path: str | os.PathLike,
        format: Literal["hdf5", "scidac"] | None = None,
        *,
        precision: Literal[32, 64] = 64,
        run_file: str = "",
    ) -> None:
        """Write to a file: under a temporary name, then renamed. Collective.

        A propagator of norm 0 gives a UserWarning.

        Parameters
        ----------
        path
            The file; an older one of that name is replaced once the new one is whole.
        format
            "hdf5": dataset /propagator of the shape of :meth:`to_numpy`, with provenance; "scidac": LIME file
            with three colour vectors, each behind that of its source where `source` is known, as MILC writes
            them (doc/formats.md). None: "scidac" for names that end in .lime or .scidac, "hdf5" for all
            others.
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

    def _norm2(self) -> float:
        found: float = self._core.norm2
        return found

    def _write_scidac(self, path: str, precision: int, note: str) -> None:
        source = None if self.source is None else self.source._core
        texts = []
        for colour in range(_COLOURS):
            if source is not None:
                texts.append(_record("usqcdSourceInfo", colour, source.description))
            texts.append(_record("usqcdKSPropInfo", colour, "staggered propagator of Trellis"))
        name = "usqcdKSPropFile" if source is not None else "trellisStaggeredPropagator"
        kind = f"<type>{_PAIRS}</type>" if source is not None else ""
        info = "<info>solutions of (m + D) x = source</info>"
        about = f"{_XML}<{name}><version>1.0</version>{kind}{info}</{name}>"
        self._core.write_scidac(source, path, precision, texts, about, STAGGERED_RECORD, note)


def _record(name: str, colour: int, info: str) -> str:
    return f"{_XML}<{name}><version>1.0</version><color>{colour}</color><info>{info}</info></{name}>"
